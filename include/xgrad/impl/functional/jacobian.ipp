// Bodies of jacobian.hpp.
#pragma once

#include <xgrad/functional/forward_pass.hpp>
#include <xgrad/functional/jacobian.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION AnyArray parts_of(TypeInfo const& type, AnyArray a, bool imaginary) {
    if (!xgrad::is_complex(type.dtype)) return a;
    Strides twice = a.strides;
    for (auto& step : twice) step *= 2;
    Shape shape = a.shape;
    a.set_view(std::move(shape), std::move(twice),
        imaginary ? static_cast<std::ptrdiff_t>(type.size / 2) : 0);
    return a;
}

XGRAD_FUNCTION void copy_parts(
    TypeInfo const& to_type, AnyArray const& to, TypeInfo const& from_type, AnyArray const& from) {
    auto const is_single = [](TypeInfo const& t) {
        return t.dtype == DType::float32 || t.dtype == DType::complex64;
    };
    if (is_single(to_type))
        is_single(from_type) ? copy_elements(as<float>(to), as<float>(from))
                             : copy_elements(as<float>(to), as<double>(from));
    else
        is_single(from_type) ? copy_elements(as<double>(to), as<float>(from))
                             : copy_elements(as<double>(to), as<double>(from));
}

XGRAD_FUNCTION AnyTensor unit_vector(AnyTensor const& like, std::size_t place, bool imaginary) {
    auto const& type = *like.impl().type;
    AnyTensor const unit = type.filled(like.shape(), 0), one = type.filled({}, 1);
    AnyArray at = unit.impl().array;
    at.set_view({}, {}, static_cast<std::ptrdiff_t>(place * type.size));
    copy_parts(type, parts_of(type, at, imaginary), type, parts_of(type, one.impl().array, false));
    return unit;
}

XGRAD_FUNCTION Tensors reverse_rows(
    Evaluation const& e, AnyTensor const& output, std::size_t index) {
    PassMode const mode(e.create_graph);
    Evaluation const of_output = e.with_outputs({&output, 1});
    std::vector<RowStack> blocks;
    for (auto const& x : e.inputs) blocks.emplace_back(*x.impl().type, output.shape(), x.shape());
    for (std::size_t row = 0, rows = output.requires_grad() ? output.numel() : 0; row < rows;
         ++row) {
        AnyTensor const grad_output = unit_vector(output, row);
        Tensors gradients(e.inputs.size());
        pull_back(of_output, {&grad_output, 1}, e.create_graph, true, gradients);
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            if (gradients[i].defined()) blocks[i].put(row, gradients[i]);
            else if (e.strict)
                fail<GraphError>(e.transform, ": Output ", index,
                    " of the user-provided function is independent of input ", i,
                    ". This is not allowed in strict mode.");
        }
    }
    Tensors all;
    for (auto& block : blocks) all.push_back(block.finish());
    if (e.strict && e.create_graph)
        for (std::size_t i = 0; i < all.size(); ++i)
            if (all[i].numel() && !all[i].requires_grad())
                fail<GraphError>(e.transform,
                    ": The jacobian of the user-provided function is independent of input ", i,
                    ". This is not allowed in strict mode when create_graph=True.");
    return all;
}

XGRAD_FUNCTION std::vector<Tensors> forward_columns(Evaluation const& e) {
    NoGradGuard const off;
    std::vector<Tensors> blocks(e.outputs.size());
    for (std::size_t k = 0; k < e.outputs.size(); ++k)
        for (auto const& x : e.inputs)
            blocks[k].push_back(RowStack(*x.impl().type, e.outputs[k].shape(), x.shape()).finish());
    for (std::size_t i = 0; i < e.inputs.size(); ++i) {
        auto const& type = *e.inputs[i].impl().type;
        std::size_t const columns = e.inputs[i].numel();
        for (std::size_t column = 0; column < columns; ++column)
            for (bool const imaginary : {false, true}) {
                if (imaginary && !xgrad::is_complex(type.dtype)) continue;
                Tensors tangents(e.inputs.size());
                tangents[i] = unit_vector(e.inputs[i], column, imaginary);
                Tensors along(e.outputs.size());
                ForwardPass(e.inputs, e.outputs).run(tangents, along);
                for (std::size_t k = 0; k < along.size(); ++k) {
                    if (!along[k].defined()) continue;
                    AnyArray to = blocks[k][i].impl().array;
                    Strides steps = row_major(along[k].shape());
                    for (auto& step : steps) step *= static_cast<std::ptrdiff_t>(columns);
                    to.set_view(along[k].shape(), std::move(steps),
                        static_cast<std::ptrdiff_t>(column * type.size));
                    auto const& from_type = *along[k].impl().type;
                    copy_parts(type, parts_of(type, to, imaginary), from_type,
                        parts_of(from_type, along[k].impl().array, false));
                }
            }
    }
    return blocks;
}

XGRAD_FUNCTION std::vector<Tensors> jacobian_blocks(Evaluation const& e, Mode strategy) {
    check_outputs(e);
    auto const passes = [](TensorSpan all, std::size_t for_complex) {
        std::size_t n = 0;
        for (auto const& t : all) n += t.numel() * (xgrad::is_complex(t.dtype()) ? for_complex : 1);
        return n;
    };
    bool const must_reverse = e.create_graph || e.strict;
    if (strategy == Mode::forward && must_reverse)
        fail<GraphError>(
            e.transform, ": create_graph or strict and Mode::forward are not supported together");
    if (strategy == Mode::forward || (strategy == Mode::automatic && !must_reverse &&
                                         passes(e.inputs, 2) < passes(e.outputs, 1)))
        return forward_columns(e);
    std::vector<Tensors> blocks;
    for (std::size_t k = 0; k < e.outputs.size(); ++k)
        blocks.push_back(reverse_rows(e, e.outputs[k], k));
    return blocks;
}

XGRAD_FUNCTION Tensors recorded_gradient(Evaluation const& e) {
    check_outputs(e);
    if (e.outputs[0].numel() != 1)
        fail<ShapeError>(e.transform, ": The Tensor returned by the function given to ",
            e.transform, " should contain a single element, its shape is ", e.outputs[0].shape());
    Tensors gradient(e.inputs.size());
    pull_back(e, {}, true, true, gradient);
    for (std::size_t i = 0; i < gradient.size(); ++i) {
        auto& y = gradient[i];
        if (e.strict && !y.defined())
            fail<GraphError>(e.transform,
                ": The output of the user-provided function is independent of input ", i,
                ". This is not allowed in strict mode.");
        if (e.strict && !y.requires_grad())
            fail<GraphError>(e.transform,
                ": the jacobian of the user-provided function with respect to input ", i,
                " does not require gradients. This is not allowed in strict mode. You should "
                "ensure that your function is twice differentiable and the jacobian "
                "depends on the inputs (this would be violated by a linear function for example).");
        if (!y.defined()) y = e.inputs[i].impl().type->filled(e.inputs[i].shape(), 0);
    }
    return gradient;
}

} // namespace xgrad::detail
