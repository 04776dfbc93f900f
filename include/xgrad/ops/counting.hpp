// Counts of nonzero elements, and whether any or all are nonzero.
//
// Shapes: x is reduced over all axes, or over `axes`, which are removed, or kept with extent 1 if
// `keep`. An empty list of axes reduces nothing.
// Errors: an axis out of range or given twice is an IndexError, an undefined tensor an Error.
#pragma once

#include <xgrad/ops/comparison.hpp>
#include <xgrad/ops/reduction.hpp>

namespace xgrad {

/// Counts the elements over axes that are true or not 0, as int64; NaN counts. Not differentiable.
template <Operand X> auto count_nonzero(X const& x, AxisList const& axes, Flag keep = false) {
    auto const over = detail::checked_axes("count_nonzero", x, axes);
    if constexpr (std::same_as<typename X::kind, B>) return sum(x, over, keep);
    else return sum(x != typename X::scalar(0), over, keep);
}
template <Operand X> auto count_nonzero(X const& x) {
    return count_nonzero(x, detail::all_axes(x.dim()));
}

/// Whether any of the elements over axes is true, or not 0; false where there are none. (PyTorch's
/// name for it is taken by hooks.)
template <Operand X> auto any_of(X const& x, AxisList const& axes, Flag keep = false) {
    return materialize_expression(
        count_nonzero(x, detail::checked_axes("any_of", x, axes), keep) != 0);
}
template <Operand X> auto any_of(X const& x) { return any_of(x, detail::all_axes(x.dim())); }

/// Whether all of the elements over axes are true, or not 0; true where there are none.
template <Operand X> auto all_of(X const& x, AxisList const& axes, Flag keep = false) {
    auto const over = detail::checked_axes("all_of", x, axes);
    return materialize_expression(count_nonzero(x, over, keep) ==
                                  static_cast<std::int64_t>(detail::count_over(x.shape(), over)));
}
template <Operand X> auto all_of(X const& x) { return all_of(x, detail::all_axes(x.dim())); }

} // namespace xgrad
