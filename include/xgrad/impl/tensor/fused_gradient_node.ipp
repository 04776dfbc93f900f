// Bodies of fused_gradient_node.hpp.
#pragma once

#include <xgrad/tensor/fused_gradient_node.hpp>

namespace xgrad::detail {

XGRAD_LAZY_BODY void FusedNode::push_tangents(
    std::span<AnyTensor const> tangents, std::span<AnyTensor> results) {
    if (recording()) {
        auto const shape = sum_ ? sum_->reduced(space_, sum_->keeps_dims) : space_;
        return push_by_transposing(
            *this, {table().result_type.filled(shape, 0)}, tangents, results);
    }
    std::size_t const n = operand_count();
    if (directions_of(*this, tangents)) {
        OperandMask moving = 0;
        for (std::size_t k = 0; k < n; ++k)
            if (wanted() >> k & 1 && tangents[edge_of(k)].defined()) moving |= OperandMask{1} << k;
        results[0] = local_jacobian(moving).push(tangents);
        return;
    }
    UnpackGuard const guard(*this);
    KernelCall call(table().kernels, expression_object(), Pass::tangent, space_, count_);
    GradientTargets const none = gradients().only(0);
    CachedVector<AnyArray> aligned;
    call.differentiate(none);
    bind_saved(call);
    bind_tangents(call, tangents, aligned);
    results[0] = run_for_tangent(call);
}

XGRAD_LAZY_BODY void FusedNode::bind_tangents(
    KernelCall& call, std::span<AnyTensor const> tangents, CachedVector<AnyArray>& aligned) const {
    aligned.resize(operand_count());
    for (std::size_t k = 0; k < operand_count(); ++k) {
        bool const moves = wanted() >> k & 1 && tangents[edge_of(k)].defined();
        if (moves) {
            auto const& t = tangents[edge_of(k)].impl().array;
            bool const is_batch = t.shape.size() > operand_shape(k).size();
            aligned[k] = is_batch ? aligned_batch(t, space_.size()) : t;
        }
        call.bind_tangent(k, moves ? &aligned[k] : nullptr);
    }
}

XGRAD_LAZY_BODY AnyTensor FusedNode::run_for_tangent(KernelCall& call) const {
    AnyTensor tangent(
        TensorImpl::make(table().result_type, sum_ ? sum_->reduced(space_, true) : space_));
    auto& array = tangent.impl().array;
    call.bind(call.layout.tangent(), array, sum_ ? sum_->scale : 1);
    call.run();
    if (sum_) array.reshape(sum_->reduced(space_, sum_->keeps_dims));
    return tangent;
}

XGRAD_LAZY_BODY LocalJacobian FusedNode::local_jacobian(
    OperandMask operands, AnyArray const* into) {
    UnpackGuard const guard(*this);
    return LocalJacobian(*this, operands, into);
}

XGRAD_LAZY_BODY void FusedNode::apply_recorded(
    AnyTensor const& gradient, std::span<AnyTensor> results) {
    UnpackGuard const guard(*this);
    {
        NoGradGuard const off;
        auto grad_output = gradient; // a second reference: no result overwrites it
        apply_unrecorded(grad_output, results);
    }
    Ref<Node> const node(new FusedGradientNode<>(*this, gradient));
    if (node->next_edges().empty()) return;
    for (std::uint32_t i = 0; i < results.size(); ++i) {
        results[i].impl().grad_fn = node;
        results[i].impl().output_nr = i;
    }
}

XGRAD_LAZY_BODY void link_second_order() noexcept {
    static constexpr SecondOrder all{
        [](Node& node, AnyTensor const& gradient, std::span<AnyTensor> results) {
            static_cast<FusedNode&>(node).apply_recorded(gradient, results);
        },
        [](AnyTensor const& value, double factor, AnyTensor const& a, AnyTensor const* b) {
            record_linear(value, factor, a, b);
        },
    };
    SecondOrder::linked.store(&all, std::memory_order_release);
}

XGRAD_LAZY_BODY void link_forward_mode() noexcept {
    static constexpr ForwardMode all{
        [](Node& node, std::span<AnyTensor const> tangents, std::span<AnyTensor> results) {
            static_cast<FusedNode&>(node).push_tangents(tangents, results);
        },
        [](Node& node, std::span<AnyTensor const> tangents, std::span<AnyTensor> results) {
            static_cast<FusedGradientNode<>&>(node).push_tangents(tangents, results);
        },
        [](Node& node, std::span<AnyTensor const> tangents, std::span<AnyTensor> results) {
            static_cast<ArraywiseRecord&>(node).push_tangents(tangents, results);
        },
        &push_transposed,
    };
    link_second_order();
    ForwardMode::linked.store(&all, std::memory_order_release);
}

} // namespace xgrad::detail
