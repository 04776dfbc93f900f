// Options of sliding windows along each spatial axis (convolutions and pooling), and their
// geometry.
//
// Shapes: an option has one integer for all spatial axes, or one for each.
// Errors: PerAxis::from() throws ShapeError for a list of another length; another number of
// integers in a constructor does not compile.
#pragma once

#include <algorithm>
#include <array>
#include <initializer_list>

#include <xgrad/core/shape.hpp>

namespace xgrad::nn {

/// An integer for each of D spatial axes: one for all of them, or {one for each}.
template <std::size_t D> struct PerAxis {
    std::array<std::ptrdiff_t, D> along{}; // one for each axis

    template <std::integral I> constexpr PerAxis(I n) {
        along.fill(static_cast<std::ptrdiff_t>(n));
    }
    template <std::integral... I>
        requires(D > 1 && sizeof...(I) == D)
    constexpr PerAxis(I... n) : along{static_cast<std::ptrdiff_t>(n)...} {}
    /// Of a list with one element for each axis.
    static PerAxis from(std::initializer_list<std::ptrdiff_t> list) {
        if (list.size() != D)
            xgrad::detail::fail<ShapeError>(
                "an option for ", D, " axes does not have ", list.size(), " numbers");
        PerAxis all(0);
        std::copy(list.begin(), list.end(), all.along.begin());
        return all;
    }
};

namespace detail {

/// The extent of one input axis and the windows on it.
struct AxisGeometry {
    std::size_t extent = 1, windows = 1, kernel = 1, stride = 1, padding = 0, dilation = 1;

    std::size_t padded() const { return extent + 2 * padding; }
    /// The number of positions from the first to the last element of a window.
    std::size_t reach() const { return dilation * (kernel - 1) + 1; }
    /// True if the only window covers the whole axis.
    bool is_whole() const {
        return windows == 1 && kernel == extent && padding == 0 && dilation == 1;
    }
};

/// "(3 x 3)".
template <std::size_t D> std::string sizes_text(std::array<std::ptrdiff_t, D> const& sizes) {
    std::string text = "(";
    for (auto const n : sizes) text += (text.size() > 1 ? " x " : "") + std::to_string(n);
    return text + ")";
}
/// "(3, 3)", as modules print their options.
template <std::size_t D> std::string option_text(PerAxis<D> const& option) {
    std::string text = "(";
    for (auto const n : option.along) text += (text.size() > 1 ? ", " : "") + std::to_string(n);
    return text + (D == 1 ? ",)" : ")");
}

template <std::size_t D>
void check_window(std::string_view name, PerAxis<D> const& kernel, PerAxis<D> const& stride,
    PerAxis<D> const& padding, PerAxis<D> const& dilation) {
    auto const check = [name](
                           PerAxis<D> const& option, std::ptrdiff_t least, char const* complaint) {
        for (auto const n : option.along) {
            if (n < least)
                xgrad::detail::fail<ShapeError>(name, ": ", complaint, ", not ", option.along);
            if (n > std::ptrdiff_t{1} << 31)
                xgrad::detail::fail<ShapeError>(name, ": no option may be as large as ", n);
        }
    };
    check(kernel, 1, "the kernel size must be positive");
    check(stride, 1, "the stride must be positive");
    check(padding, 0, "the padding must not be negative");
    check(dilation, 1, "the dilation must be positive");
}

/// The geometry of axis d, after check_window(). The caller sets extent and number of windows.
template <std::size_t D>
AxisGeometry axis_geometry(std::size_t d, std::ptrdiff_t kernel, PerAxis<D> const& stride,
    PerAxis<D> const& padding, PerAxis<D> const& dilation) {
    auto const of = [d](PerAxis<D> const& option) {
        return static_cast<std::size_t>(option.along[d]);
    };
    return {.kernel = static_cast<std::size_t>(kernel),
        .stride = of(stride),
        .padding = of(padding),
        .dilation = of(dilation)};
}

/// The last D extents of an input of shape [N, C, ...] or [C, ...].
template <std::size_t D>
std::array<std::size_t, D> spatial_extents(std::string_view name, Shape const& shape) {
    if (shape.size() != D + 1 && shape.size() != D + 2)
        xgrad::detail::fail<ShapeError>("Expected ", D + 1, "D (unbatched) or ", D + 2,
            "D (batched) input to ", name, ", but got input of size: ", shape);
    std::array<std::size_t, D> extents{};
    std::copy(shape.end() - D, shape.end(), extents.begin());
    return extents;
}

} // namespace detail
} // namespace xgrad::nn
