// Bodies of traced.hpp.
#pragma once

#include <xgrad/tensor/fused_node.hpp>
#include <xgrad/tensor/traced.hpp>

namespace xgrad::detail {

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
