// Bodies of traced.hpp.
#pragma once

#include <xgrad/tensor/fused_node.hpp>
#include <xgrad/tensor/traced.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION AnyTensor const& Replay::value(std::size_t at) {
    if (values_[at].defined()) return values_[at];
    auto const& v = vertices_[at];
    std::vector<AnyTensor> x(v.table->operands);
    for (std::size_t i = 0, child = at + 1; i < x.size(); ++i, child = vertices_[child].end)
        x[i] = value(child);
    return values_[at] = v.table->value(
               v.object, v.table->is_operand ? operands_ + v.first_operand : x.data());
}

XGRAD_FUNCTION void traced_pass(FusedNode const& node, AnyTensor const* operands,
    AnyTensor const& result, AnyTensor const& gradient, std::span<AnyTensor> results) {
    auto const& table = node.table();
    Replay replay(traced_vertices(table, node.expression_object()), operands, node.wanted());
    if (result.defined()) replay.set_result(table.traced_result(result));
    replay.backpropagate(0, table.traced_grad_output(gradient, node.sum(), node.space()),
        [&](std::size_t operand, TracedTable const& t, AnyTensor const& g) {
            if (!(node.wanted() >> operand & 1)) return;
            add_to(results[node.edge_of(operand)], t.arrive(g, node.operand_shape(operand)));
        });
}

} // namespace xgrad::detail
