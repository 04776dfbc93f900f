// Bodies of reducing.hpp.
#pragma once

#include <xgrad/ops/reducing.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION std::size_t count_over(Shape const& shape, Axes const& axes) {
    std::size_t n = 1;
    for (auto const axis : axes) n *= shape[static_cast<std::size_t>(axis)];
    return n;
}

XGRAD_FUNCTION Axes axes_with_last(Axes const& over, std::size_t rank) {
    Axes order;
    for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(rank); ++i)
        if (!std::ranges::binary_search(over, i)) order.push_back(i);
    for (auto const axis : over) order.push_back(axis);
    return order;
}

XGRAD_FUNCTION bool are_last(Axes const& over, std::size_t rank) {
    return over.empty() || static_cast<std::size_t>(over[0]) + over.size() == rank;
}

} // namespace xgrad::detail
