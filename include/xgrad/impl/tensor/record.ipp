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
    auto const& out = result.impl().array;
    evaluate_into(
        table.kernels, expression, in.arrays, in.space(), output_operand(out, table.result));
    if (in.plan)
        result.handle()->grad_fn = FusedNode::make(expression, operands, in, nullptr, result);
    return result;
}

XGRAD_FUNCTION AnyTensor record_flat_sum(std::string_view operation, RecordTable const& table,
    Kernel kernel, void const* expression, AnyTensor const* const* operands, Axes const* over,
    bool keepdims, bool mean) {
    BoundOperands const in(table, expression, operands, false);
    auto const& space = in.space();
    if (kernel && in.plan && !over && !keepdims && FusedNode::sums_at_once(in)) {
        SumOver const full{
            sum_name(mean), {}, mean ? 1 / static_cast<double>(in.count()) : 1, false, kernel};
        auto node = FusedNode::make(expression, operands, in, &full, AnyTensor());
        AnyTensor result =
            real_scalar(table.result_type, static_cast<FusedNode&>(*node).sum_at_once(in));
        result.handle()->grad_fn = std::move(node);
        return result;
    }
    SumOver sum{
        sum_name(mean), over ? normalize_axes(operation, *over, space) : all_axes(space.size())};
    AnyArray sums = zeroed(over ? reduced_shape(space, sum.axes, true) : Shape(space.size(), 1),
        table.result.wide_element);
    if (mean) sum.scale = static_cast<double>(sums.numel) / static_cast<double>(in.count());
    auto const target = sum_operand(sums, table.result);
    if (sums.numel) evaluate_into(table.kernels, expression, in.arrays, space, target);
    if (mean) table.result.scale(sums, sum.scale);
    table.result.narrow(sums);
    sum.keeps_dims = keepdims;
    if (!keepdims) sums.reshape(over ? reduced_shape(space, sum.axes, false) : Shape());
    AnyTensor result(TensorImpl::make(table.result_type, std::move(sums)));
    if (in.plan) result.impl().grad_fn = FusedNode::make(expression, operands, in, &sum, result);
    return result;
}

} // namespace xgrad::detail
