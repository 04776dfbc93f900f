// Elements in another order along axes: reversed (flip) or rotated (roll).
//
// Shapes: the result has the shape of x; it is a copy.
// Gradients: of any order, in backward and forward mode: the gradient is flipped, or rolled back.
// Errors: an axis out of range or given twice is an IndexError; shifts that are not one for each
// axis are a ShapeError; an undefined tensor is an Error.
#pragma once

#include <xgrad/ops/shaping.hpp>

namespace xgrad {

/// Reverses the elements along some axes. Flip is its own adjoint.
struct Flip : Arraywise {
    Axes axes; // normalised
    static constexpr auto dependence = Dependence::selection;

    template <Scalar T> auto value(detail::Array<T> const& x) const {
        detail::Array<T> out(x.shape);
        if (x.numel == 0) return out;
        Strides backwards = out.strides;
        std::ptrdiff_t last = 0;
        for (auto const axis : axes) {
            auto& stride = backwards[static_cast<std::size_t>(axis)];
            last +=
                static_cast<std::ptrdiff_t>(x.shape[static_cast<std::size_t>(axis)] - 1) * stride;
            stride = -stride;
        }
        detail::copy_elements(out.view(x.shape, std::move(backwards), last), x);
        return out;
    }
    auto pullback(wrt<0>, auto const& g, auto const&, auto const&) const {
        return express(*this, g);
    }
};

/// Reverses the elements along axes. A copy.
template <Operand X> auto flip(X const& x, AxisList const& axes) {
    return express(Flip{{}, detail::normalize_axes("flip", axes, x.shape())}, x);
}

/// Rotates the elements along axes: those shifted past the end return at the beginning. The adjoint
/// shifts back.
struct Roll : Arraywise {
    Shape shifts; // for each axis, less than its extent
    static constexpr auto dependence = Dependence::selection;

    template <Scalar T> auto value(detail::Array<T> const& x) const {
        detail::Array<T> out(x.shape);
        if (x.numel) copy_parts(out, x, 0);
        return out;
    }
    auto pullback(wrt<0>, auto const& g, auto const&, auto const& x) const {
        Roll back = *this;
        for (std::size_t d = 0; d < shifts.size(); ++d)
            if (shifts[d]) back.shifts[d] = x.shape()[d] - shifts[d];
        return express(std::move(back), g);
    }

private:
    /// Copies two parts along each axis that is shifted, from `axis` on.
    template <class T>
    void copy_parts(
        detail::Array<T> const& to, detail::Array<T> const& from, std::size_t axis) const {
        while (axis < shifts.size() && shifts[axis] == 0) ++axis;
        if (axis == shifts.size()) return detail::copy_elements(to, from);
        auto const shift = shifts[axis], rest = from.shape[axis] - shift;
        copy_parts(detail::part_along(to, axis, shift, rest),
            detail::part_along(from, axis, 0, rest), axis + 1);
        copy_parts(detail::part_along(to, axis, 0, shift),
            detail::part_along(from, axis, rest, shift), axis + 1);
    }
};

namespace detail {
/// A shift modulo the extent.
inline std::size_t shift_within(std::ptrdiff_t shift, std::size_t extent) {
    auto const n = static_cast<std::ptrdiff_t>(extent);
    return n ? static_cast<std::size_t>((shift % n + n) % n) : 0;
}
} // namespace detail

/// Rotates the elements by a shift along each of some axes, backwards if it is negative. A copy.
template <Operand X> auto roll(X const& x, AxisList const& shifts, AxisList const& axes) {
    Shape const extents = x.shape();
    detail::normalize_axes("roll", axes, extents); // each at most once
    if (shifts.size() != axes.size())
        detail::fail<ShapeError>(
            "roll: shifts ", shifts, " are not one for each of the axes ", axes);
    Shape distances(extents.size(), 0);
    for (std::size_t i = 0; i < axes.size(); ++i) {
        auto const d = detail::normalize_axis("roll", axes[i], extents);
        distances[d] = detail::shift_within(shifts[i], extents[d]);
    }
    return express(Roll{{}, std::move(distances)}, x);
}
template <Operand X> auto roll(X const& x, std::ptrdiff_t shift, std::ptrdiff_t axis) {
    return roll(x, Axes{shift}, Axes{axis});
}
/// Rotates all elements in row-major order.
template <Operand X> auto roll(X const& x, std::ptrdiff_t shift) {
    auto const row = detail::in_one_row("roll", x);
    return detail::only_reshaped(reshape(roll(row, shift, 0), Axes(x.shape())));
}

namespace detail {
template <Operand X>
auto shifted_by_half(
    std::string_view operation, X const& x, Axes const& axes, std::ptrdiff_t sign) {
    check_defined(operation, x);
    Shape const extents = x.shape();
    auto const over =
        axes.empty() ? all_axes(extents.size()) : normalize_axes(operation, axes, extents);
    Axes shifts;
    for (auto const axis : over)
        shifts.push_back(
            sign * static_cast<std::ptrdiff_t>(extents[static_cast<std::size_t>(axis)] / 2));
    return roll(x, shifts, over);
}
} // namespace detail

/// Shifts frequency 0 of a spectrum of fft() to the middle of each of some axes, by default all.
template <Operand X> auto fftshift(X const& x, AxisList const& axes = {}) {
    return detail::shifted_by_half("fftshift", x, axes, 1);
}
/// The inverse of fftshift. The two differ if an extent is odd.
template <Operand X> auto ifftshift(X const& x, AxisList const& axes = {}) {
    return detail::shifted_by_half("ifftshift", x, axes, -1);
}

} // namespace xgrad
