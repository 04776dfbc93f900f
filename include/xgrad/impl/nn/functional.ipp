// Bodies of functional.hpp.
#pragma once

#include <xgrad/nn/functional.hpp>

namespace xgrad::nn::detail {

XGRAD_FUNCTION Axes softmax_axis(std::string_view name, Shape const& shape, std::ptrdiff_t axis) {
    auto const at = xgrad::detail::normalize_axis(name, axis, shape, shape.empty());
    return shape.empty() ? Axes{} : Axes{static_cast<std::ptrdiff_t>(at)};
}

} // namespace xgrad::nn::detail
