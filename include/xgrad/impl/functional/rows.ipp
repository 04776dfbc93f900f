// What the option `rows` of jacobian() and hessian() checks.
#pragma once

#include <xgrad/functional/forward_pass.hpp>
#include <xgrad/functional/jacobian.hpp>

namespace xgrad::detail {

/// The rows of all tensors; throws ShapeError where their numbers differ.
XGRAD_LAZY Problems rows_of(Evaluation const& e) {
    AnyTensor const* first = nullptr;
    for (TensorSpan const all : {e.inputs, e.outputs})
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (!first) first = &all[i];
            if (all[i].dim() == 0 || all[i].shape()[0] != first->shape()[0])
                fail<ShapeError>(e.transform,
                    ": The first axis of all inputs and outputs numbers the rows, but ",
                    all.data() == e.inputs.data() ? "input " : "output ", i, " has shape ",
                    all[i].shape(), ", and input 0 ", first->shape());
        }
    return {true, first ? first->shape()[0] : 1};
}

/// Throws GraphError where a vector in half of the rows has an effect in the others.
XGRAD_LAZY void check_rows(Evaluation const& e, Problems const& rows) {
    auto const is_moved = [](std::size_t row) {
        return row < 2 ? row == 0 : (row * 0x9E3779B97F4A7C15u >> 40 & 1) != 0;
    };
    auto const visit = [&rows](AnyTensor const& t, auto const& f) {
        bool const pairs = xgrad::is_complex(t.dtype());
        std::size_t const size = t.numel() / rows.count * (pairs ? 2 : 1);
        auto* const data = t.impl().array.data;
        for (std::size_t row = 0; row < rows.count; ++row)
            is_single(t.dtype()) ? f(reinterpret_cast<float*>(data) + row * size, size, row)
                                 : f(reinterpret_cast<double*>(data) + row * size, size, row);
    };
    if (rows.count < 2) return;
    NoGradGuard const off;
    std::optional<ForwardPass> forward(std::in_place, e.inputs, e.outputs);
    if (forward->prefers_reverse()) forward.reset();
    TensorSpan const from = forward ? e.inputs : e.outputs, to = forward ? e.outputs : e.inputs;
    Tensors vector, product(to.size());
    for (auto const& t : from) {
        vector.push_back(t.impl().type->filled(t.shape(), 0));
        visit(vector.back(), [&]<class P>(P* at, std::size_t n, std::size_t row) {
            for (std::size_t i = 0; i < n && is_moved(row); ++i)
                at[i] = P(1) + static_cast<P>(i * 633 % 1024) / 1024;
        });
    }
    if (forward) forward->run(vector, product);
    else pull_back(e, vector, false, true, product);
    for (auto const& t : product)
        if (t.defined())
            visit(t.impl().type->copy(t), [&]<class P>(P* at, std::size_t n, std::size_t row) {
                bool const moves = std::any_of(at, at + n, [](P x) { return x < 0 || x > 0; });
                if (moves && !is_moved(row))
                    fail<GraphError>(e.transform, ": Row ", row, " of the ",
                        forward ? "outputs depends on other rows of the inputs"
                                : "inputs has an effect on other rows of the outputs",
                        ": with `rows`, each row is a problem of its own");
            });
}

} // namespace xgrad::detail
