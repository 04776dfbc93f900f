// Bodies of record.hpp.
#pragma once

#include <xgrad/tensor/fused_gradient_node.hpp>
#include <xgrad/tensor/record.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION Edge fused_edge(void const* expression, AnyTensor const* const* operands,
    BoundOperands const& in, AnyTensor const& result) {
    return {FusedNode::make(expression, operands, in, nullptr, result), 0};
}

XGRAD_FUNCTION AnyTensor record_flat(
    RecordTable const& table, void const* expression, AnyTensor const* const* operands) {
    BoundOperands const in(table, expression, operands, true);
    bool const own_block = in.plan; // a later Node may save the array: see TensorImpl::make()
    AnyTensor result(
        in.same_shape && in.arrays[0]->contiguous
            ? TensorImpl::make(table.result_type, AnyArray::Layout{*in.arrays[0]}, own_block)
            : TensorImpl::make(table.result_type, in.space(), own_block));
    auto const& out = result.handle()->array;
    KernelCall call(table.kernels, expression, Pass::value, out.shape, out.numel);
    call.bind_operands(in.arrays, in.contiguous);
    call.bind(call.layout.result(), out);
    call.run();
    if (in.plan)
        result.handle()->grad_fn = FusedNode::make(expression, operands, in, nullptr, result);
    return result;
}

XGRAD_FUNCTION AnyTensor record_flat_sum(std::string_view operation, RecordTable const& table,
    Kernel kernel, void const* expression, AnyTensor const* const* operands, Axes const* over,
    bool keepdims, bool mean) {
    BoundOperands const in(table, expression, operands, false);
    auto const& space = in.space();
    double const count = static_cast<double>(in.count());
    SumOver sum{mean ? std::string_view("Mean") : std::string_view("Sum"), {}};
    if (kernel && in.plan && !over && !keepdims && FusedNode::sums_at_once(in)) {
        sum.kernel = kernel;
        if (mean) sum.scale = 1 / count;
        auto node = FusedNode::make(expression, operands, in, &sum, AnyTensor());
        double const total = static_cast<FusedNode&>(*node).sum_at_once(in);
        AnyTensor result = real_scalar(table.result_type, total);
        result.handle()->grad_fn = std::move(node);
        return result;
    }
    sum.axes = over ? normalize_axes(operation, *over, space) : all_axes(space.size());
    sum.keeps_dims = keepdims;
    AnyTensor result(TensorImpl::make(table.result_type, sum.reduced(space, true), in.plan));
    auto& sums = result.handle()->array;
    if (mean) sum.scale = static_cast<double>(sums.numel) / count;
    KernelCall call(table.kernels, expression, Pass::value, space, in.count());
    call.bind_operands(in.arrays);
    call.bind(call.layout.result(), sums, sum.scale);
    call.run();
    if (!keepdims) sums.reshape(sum.reduced(space, false));
    if (in.plan) result.impl().grad_fn = FusedNode::make(expression, operands, in, &sum, result);
    return result;
}

} // namespace xgrad::detail
