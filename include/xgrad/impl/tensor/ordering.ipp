// Bodies of ordering.hpp.
#pragma once

#include <xgrad/tensor/ordering.hpp>

namespace xgrad::detail {

XGRAD_LAZY_BODY void check_choice(std::string_view name, Shape const& shape, std::size_t axis) {
    if (shape[axis] == 0 &&
        numel(reduced_shape(shape, {static_cast<std::ptrdiff_t>(axis)}, false)) != 0)
        fail<ShapeError>(name, ": nothing to choose from in shape ", shape, " along axis ", axis);
}

} // namespace xgrad::detail
