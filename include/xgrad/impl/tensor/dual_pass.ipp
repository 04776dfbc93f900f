// Bodies of dual_pass.hpp.
#pragma once

#include <xgrad/fuse/nd_loop.hpp>
#include <xgrad/fuse/run_kernel.hpp>
#include <xgrad/tensor/dual_pass.hpp>
#include <xgrad/tensor/local_jacobian.hpp>

namespace xgrad::detail {

XGRAD_LAZY_BODY DualPass::DualPass(FusedNode const& node, AnyArray const* const* values,
    AnyArray const* result, std::span<AnyTensor const> tangents, std::size_t directions)
    : node_(node), kernels_(node.table().kernels), layout_{kernels_.operand_count},
      directions_(directions), space_(shape_of(node.space())),
      aligned_(directions ? layout_.operand_count : 0), operands_(layout_.total()),
      targets_(node.gradients().only(0)) {
    for (std::size_t k = 0; k < layout_.operand_count; ++k) {
        auto const& info = *kernels_.operand[k];
        operands_[k] = node.is_read(k) ? input_operand(*values[k], info) : absent_input(info);
        bool const moves = node.wanted() >> k & 1 && tangents[node.edge_of(k)].defined();
        operands_[layout_.tangents() + k] = absent_input(info);
        if (!moves) continue;
        moving_ |= OperandMask{1} << k;
        auto const* tangent = &tangents[node.edge_of(k)].impl().array;
        if (directions) tangent = &(aligned_[k] = aligned_batch(*tangent, node.space().size()));
        operands_[layout_.tangents() + k] = input_operand(*tangent, info);
    }
    if (result) operands_[layout_.saved_result()] = input_operand(*result, *kernels_.result);
}

XGRAD_LAZY_BODY Shape DualPass::shape_of(Shape const& one) const {
    return directions_ ? batch_shape(directions_, one) : one;
}

XGRAD_LAZY_BODY void DualPass::want_tangent() {
    auto const& info = *kernels_.result;
    auto const* const sum = node_.sum();
    tangent_ = sum ? zeroed(sum->reduced(space_, true), info.wide_element)
                   : AnyArray(space_, info.element);
    operands_[layout_.tangent()] =
        sum ? sum_operand(tangent_, info) : output_operand(tangent_, info);
}

XGRAD_LAZY_BODY void DualPass::want_gradients(OperandMask wanted, AnyTensor const& gradient) {
    targets_ = node_.gradients().only(wanted);
    grad_outputs_ =
        node_.sum() ? node_.sum()->spread(gradient, node_.space()) : gradient.impl().array;
    operands_[layout_.grad_output()] = input_operand(grad_outputs_, *kernels_.result);
    gradients_.resize(layout_.operand_count);
    for (std::size_t k = 0; k < layout_.operand_count; ++k) {
        if (!makes_gradient(k)) continue;
        auto const& info = *kernels_.operand[k];
        bool const sums = node_.is_broadcast(k);
        gradients_[k] = sums ? zeroed(shape_of(node_.operand_shape(k)), info.wide_element)
                             : AnyArray(space_, info.element);
        if (sums && directions_)
            gradients_[k] = aligned_batch(std::move(gradients_[k]), node_.space().size());
        operands_[layout_.gradients() + k] =
            sums ? sum_operand(gradients_[k], info) : output_operand(gradients_[k], info);
    }
}

XGRAD_LAZY_BODY void DualPass::run() {
    auto body = [this](void* const* at, std::size_t count, LoopFacts) {
        KernelBlock block{
            node_.expression_object(), at, count, Pass::tangent, 0, &targets_, 0, moving_};
        run_kernel(kernels_, kernels_.tangent, block);
    };
    NdLoop loop(space_, layout_.total());
    for (std::size_t k = 0; k < layout_.total(); ++k) loop.add(k, operands_[k]);
    loop.run(loop_body(body));
}

XGRAD_LAZY_BODY AnyTensor DualPass::tangent() {
    auto const* const sum = node_.sum();
    if (sum) {
        if (sum->scale != 1) kernels_.result->scale(tangent_, sum->scale);
        kernels_.result->narrow(tangent_);
        if (!sum->keeps_dims) tangent_.reshape(sum->reduced(space_, false));
    }
    return AnyTensor(TensorImpl::make(node_.table().result_type, std::move(tangent_)));
}

XGRAD_LAZY_BODY AnyTensor DualPass::gradient(std::size_t k) {
    if (!makes_gradient(k)) return {};
    if (node_.is_broadcast(k)) kernels_.operand[k]->narrow(gradients_[k]);
    if (directions_) gradients_[k].reshape(shape_of(node_.operand_shape(k)));
    return AnyTensor(TensorImpl::make(*node_.table().operand_types[k], std::move(gradients_[k])));
}

} // namespace xgrad::detail
