// Bodies of join.hpp.
#pragma once

#include <xgrad/tensor/join.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION Window Joint::part(std::size_t i, std::size_t start) const {
    Window w(shape);
    w.start[axis] = start;
    w.count[axis] = counts[i];
    if (stacked) w.step[axis] = 0;
    return w;
}

} // namespace xgrad::detail
