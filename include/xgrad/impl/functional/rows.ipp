// What the option `rows` of jacobian() and hessian() checks.
#pragma once

#include <bit>
#include <random>

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

/// Throws GraphError where a row has an effect on another one. A direction is a random vector that
/// is 0 in half of the rows. Up to 70 rows are moved in half of the directions each, and no two in
/// the same ones (Sperner, 1928): for each pair, one direction moves only the first row. Of more
/// rows a random half is moved, and then the other half.
XGRAD_LAZY void check_rows(Evaluation const& e, Problems const& rows) {
    std::size_t const n = rows.count;
    if (n < 2) return;
    std::size_t const directions = n == 2 || n > 70 ? 2 : n <= 6 ? 4 : 8; // d: n <= d! / (d/2)!^2
    std::vector<unsigned> codes, moved(n); // with a bit for each direction
    for (unsigned code = 0; code >> directions == 0; ++code)
        if (std::popcount(code) == static_cast<int>(directions / 2)) codes.push_back(code);
    std::minstd_rand random;
    for (std::size_t row = 0; row < n; ++row)
        moved[row] = codes[n <= codes.size() ? row : random() % 2];
    NoGradGuard const off;
    std::optional<ForwardPass> forward(std::in_place, e.inputs, e.outputs);
    if (forward->prefers_reverse()) forward.reset();
    TensorSpan const from = forward ? e.inputs : e.outputs, to = forward ? e.outputs : e.inputs;
    std::size_t const count = forward ? directions : 1; // in a pass
    for (std::size_t first = 0; first < directions; first += count) {
        // calls f(element, row, 1 where this direction moves it)
        auto const visit = [&](AnyTensor const& t, auto const& f) {
            with_reals(t, [&](auto* at, std::size_t reals) {
                for (std::size_t d = first; d < first + count; ++d)
                    for (std::size_t row = 0; row < n; ++row)
                        for (std::size_t i = 0; i < reals / (n * count); ++i)
                            f(*at++, row, moved[row] >> d & 1);
            });
        };
        Tensors vector, product(to.size());
        for (auto const& t : from) {
            Shape const shape = forward ? batch_shape(count, t.shape()) : t.shape();
            vector.push_back(t.impl().type->filled(shape, 0));
            visit(vector.back(), [&]<class P>(P& x, std::size_t, unsigned moves) {
                x = static_cast<P>(moves * (0x100000 + random() % 0x100000));
            });
        }
        if (forward) forward->run(vector, product, count);
        else pull_back(e, vector, false, true, product);
        for (auto const& t : product)
            if (t.defined())
                visit(t.is_contiguous() ? t : t.impl().type->copy(t),
                    [&]<class P>(P const& x, std::size_t row, unsigned moves) {
                        if (!(std::abs(x) * static_cast<P>(1 - moves) > 0)) return;
                        fail<GraphError>(e.transform, ": Row ", row,
                            forward ? " depends" : " has an effect",
                            " on other rows: with `rows`, each row is a problem of its own");
                    });
    }
}

} // namespace xgrad::detail
