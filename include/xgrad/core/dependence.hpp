// Dependence: what an operation on whole arrays says of itself, without values, so that patterns of
// sparse derivatives are supersets, and rows that may meet are found.
#pragma once

#include <algorithm>

#include <xgrad/core/shape.hpp>

namespace xgrad {

/// On which elements of an operand those of a result depend. `unknown`, `all`: each on each.
/// `elements`: on those at the same position, where both are broadcast to one space. `selection`:
/// each is a copy of one element of one operand, or a constant. `transposed`: the transpose of a
/// selection, a sum of elements. `axes`: on those with the same index along the kept axes.
enum class Dependence : std::uint8_t { unknown, all, elements, selection, transposed, axes };

namespace detail {

/// The axes that an operation keeps which joins elements along the axes `over`: for each axis of
/// the result that of the operand, or -1. One of both may have no joined axes.
inline Axes kept_beside(Axes const& over, std::size_t rank_of_operand, std::size_t rank) {
    Axes kept(rank, -1);
    std::size_t const full = std::max(rank_of_operand, rank);
    std::ptrdiff_t from = 0;
    if (std::min(rank_of_operand, rank) != full && rank_of_operand + rank + over.size() != 2 * full)
        return kept; // none of them is what it should be
    for (std::size_t axis = 0, to = 0; axis < full; ++axis) {
        bool const works =
            std::find(over.begin(), over.end(), static_cast<std::ptrdiff_t>(axis)) != over.end();
        if (!works) kept[to] = from;
        from += !works || rank_of_operand == full;
        to += !works || rank == full;
    }
    return kept;
}

} // namespace detail
} // namespace xgrad
