// Bodies of expression.hpp.
#pragma once

#include <xgrad/expr/expression.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION void check_broadcasts(std::string_view operation, std::string_view argument,
    Shape const& shape, std::string_view other, Shape const& shape_of_other) {
    Shape both = shape;
    if (!widen(both, shape_of_other))
        fail<ShapeError>(operation, ": ", argument, " of shape ", shape,
            " does not broadcast with ", other, " of shape ", shape_of_other);
}

} // namespace xgrad::detail
