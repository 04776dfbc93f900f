// Bodies of record_table.hpp.
#pragma once

#include <xgrad/tensor/record_table.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION void append_vertex(
    std::vector<TracedVertex>& vertices, TracedTable const* table, void const* object) {
    vertices.push_back({table, object});
}

XGRAD_FUNCTION void measure(
    std::vector<TracedVertex>& vertices, std::size_t at, std::size_t& operand) {
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

XGRAD_FUNCTION std::vector<TracedVertex> traced_vertices(
    RecordTable const& table, void const* expression) {
    std::vector<TracedVertex> vertices;
    table.list_vertices(expression, vertices);
    std::size_t operand_count = 0;
    measure(vertices, 0, operand_count);
    return vertices;
}

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
    g.set_view(space, std::move(strides));
    return g;
}

} // namespace xgrad::detail
