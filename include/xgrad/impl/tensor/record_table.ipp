// Bodies of record_table.hpp.
#pragma once

#include <xgrad/tensor/record_table.hpp>

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

} // namespace xgrad::detail
