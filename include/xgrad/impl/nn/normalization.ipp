// Bodies of normalization.hpp.
#pragma once

#include <xgrad/nn/normalization.hpp>

namespace xgrad::nn::detail {

XGRAD_FUNCTION StandardizeGeometry channel_geometry(std::string_view name, Shape const& shape) {
    if (shape.size() < 2)
        xgrad::detail::fail<ShapeError>(name, ": expected at least 2D input (got ", shape.size(),
            "D input), not of shape ", shape);
    std::size_t positions = 1;
    for (std::size_t d = 2; d < shape.size(); ++d) positions *= shape[d];
    return {.samples = shape[0], .groups = shape[1], .positions = positions};
}

} // namespace xgrad::nn::detail
