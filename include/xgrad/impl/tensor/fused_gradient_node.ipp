// Bodies of fused_gradient_node.hpp, traced.hpp and record_table.hpp: forward mode, derivatives of
// gradients, and gradients of sums over axes.
#pragma once

#include <xgrad/tensor/fused_gradient_node.hpp>
#include <xgrad/tensor/fused_node.hpp>
#include <xgrad/tensor/record_table.hpp>
#include <xgrad/tensor/traced.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION Shape SumOver::reduced(Shape const& space, bool keep) const {
    if (kernel) return keep ? Shape(space.size(), 1) : Shape();
    return reduced_shape(space, axes, keep);
}

XGRAD_FUNCTION AnyArray SumOver::spread(AnyTensor const& gradient, Shape const& space) const {
    AnyArray g = scale == 1 ? gradient.impl().array
                            : gradient.impl().type->scaled(gradient, scale).impl().array;
    if (g.numel == 1) {
        g.shape = {};
        g.strides = {};
        return g;
    }
    Strides strides(space.size(), 0);
    bool const keepdims = g.shape.size() == space.size();
    for (std::size_t d = 0, at = 0, axis = 0; d < space.size(); ++d) {
        bool const summed = axis < axes.size() && static_cast<std::size_t>(axes[axis]) == d;
        axis += summed;
        if (!summed && space[d] != 1) strides[d] = g.strides[at];
        at += !summed || keepdims;
    }
    g.numel = numel(space); // no set_view(): only loops read it
    g.contiguous = is_row_major(space, strides);
    g.shape = space;
    g.strides = std::move(strides);
    return g;
}

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
    auto const guard = open_saved();
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
    auto const guard = open_saved();
    return LocalJacobian(*this, operands, into);
}

XGRAD_LAZY_BODY void FusedNode::apply_recorded(
    AnyTensor const& gradient, std::span<AnyTensor> results) {
    auto const guard = open_saved();
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

XGRAD_LAZY_BODY AnyTensor const& Replay::value(std::size_t at) {
    if (values_[at].defined()) return values_[at];
    auto const& v = vertices_[at];
    std::vector<AnyTensor> x(v.table->operands);
    for (std::size_t i = 0, child = at + 1; i < x.size(); ++i, child = vertices_[child].end)
        x[i] = value(child);
    return values_[at] = v.table->value(
               v.object, v.table->is_operand ? operands_ + v.first_operand : x.data());
}

XGRAD_LAZY_BODY void append_vertex(
    CachedVector<TracedVertex>& vertices, TracedTable const* table, void const* object) {
    vertices.push_back({table, object});
}

XGRAD_LAZY_BODY void measure(
    CachedVector<TracedVertex>& vertices, std::size_t at, std::size_t& operand) {
    auto& v = vertices[at];
    v.first_operand = operand;
    v.end = at + 1;
    if (v.table->is_operand) v.operand_mask = OperandMask{1} << operand++;
    for (std::size_t i = 0; i < v.table->operands; ++i) {
        auto const child = v.end;
        measure(vertices, child, operand);
        v.end = vertices[child].end;
        v.operand_mask |= vertices[child].operand_mask;
    }
}

XGRAD_LAZY_BODY void traced_pass(TracedExpression const& traced, FusedNode const& node,
    AnyTensor const* operands, AnyTensor const& result, AnyTensor const& gradient,
    std::span<AnyTensor> results) {
    CachedVector<TracedVertex> vertices; // in prefix order: each before its operands
    traced.list_vertices(node.expression_object(), vertices);
    std::size_t operand_count = 0;
    measure(vertices, 0, operand_count);
    Replay replay(std::move(vertices), operands, node.wanted());
    if (result.defined()) replay.set_result(traced.result(result));
    replay.backpropagate(0, traced.grad_output(gradient, node.sum(), node.space()),
        [&](std::size_t operand, TracedTable const& t, AnyTensor const& g) {
            if (!(node.wanted() >> operand & 1)) return;
            add_to(results[node.edge_of(operand)], t.arrive(g, node.operand_shape(operand)));
        });
}

} // namespace xgrad::detail
