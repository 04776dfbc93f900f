// Bodies of shape.hpp.
#pragma once

#include <xgrad/core/shape.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION bool has_zero(Shape const& shape) noexcept {
    for (auto const extent : shape)
        if (extent == 0) return true;
    return false;
}

XGRAD_NOINLINE XGRAD_FUNCTION std::size_t numel_of_large(Shape const& shape) {
    if (has_zero(shape)) return 0;
    bool is_negative = false;
    for (auto const extent : shape) is_negative |= was_negative(extent);
    fail<ShapeError>("an array of shape ", shape, " has more elements than any memory",
        is_negative ? ", or a negative extent" : "");
}

XGRAD_FUNCTION std::size_t add_extents(std::string_view operation, std::size_t a, std::size_t b) {
    std::size_t sum;
    if (add_overflows(a, b, sum) || sum > max_elements) fail_extents(operation, a, " + ", b);
    return sum;
}

XGRAD_FUNCTION std::size_t multiply_extents(
    std::string_view operation, std::size_t a, std::size_t b) {
    std::size_t product;
    if (multiply_overflows(a, b, product) || product > max_elements)
        fail_extents(operation, a, " * ", b);
    return product;
}

XGRAD_FUNCTION std::size_t lay_out(Shape const& shape, Strides& strides) {
    std::size_t const rank = shape.size();
    strides.reserve_exactly(rank);
    auto* const s = strides.data();
    auto const* const extent = shape.data();
    std::size_t step = 1;
    bool fits = true;
    for (std::size_t i = rank; i-- > 0;) {
        s[i] = static_cast<std::ptrdiff_t>(step);
        fits &= !multiply_overflows(step, extent[i], step);
    }
    if (!fits || step > max_elements) [[unlikely]]
        return numel_of_large(shape);
    return step;
}

XGRAD_FUNCTION std::size_t extent_of(Shape const& shape, Strides const& strides) noexcept {
    std::size_t extent = numel(shape) ? 1 : 0;
    for (std::size_t i = 0; extent && i < shape.size(); ++i)
        extent += (shape[i] - 1) * static_cast<std::size_t>(strides[i]);
    return extent;
}

XGRAD_FUNCTION std::size_t step_along(Shape const& shape, std::size_t axis) {
    std::size_t step = 1;
    for (std::size_t d = axis + 1; d < shape.size(); ++d) step *= shape[d];
    return step;
}

XGRAD_FUNCTION bool is_row_major(Shape const& shape, Strides const& strides) noexcept {
    std::size_t step = 1;
    for (std::size_t i = shape.size(); i-- > 0;) {
        if (shape[i] == 0) return true;
        if (shape[i] != 1 && static_cast<std::size_t>(strides[i]) != step) return has_zero(shape);
        step *= shape[i];
    }
    return true;
}

XGRAD_LAZY_BODY std::optional<Strides> reshaped_strides(
    Shape const& shape, Strides const& strides, Shape const& to) {
    if (numel(shape) == 0) return row_major(to);
    Strides result(to.size(), 1);
    std::size_t next = to.size();
    for (std::size_t last = shape.size();
         last-- > 0;) { // a block of axes that follow each other without gaps
        auto const step = strides[last];
        auto count = static_cast<std::ptrdiff_t>(shape[last]), taken = std::ptrdiff_t{1};
        for (; last > 0 && (shape[last - 1] == 1 || strides[last - 1] == count * step); --last)
            count *= static_cast<std::ptrdiff_t>(shape[last - 1]);
        for (; next > 0 && (taken < count || to[next - 1] == 1); --next) {
            result[next - 1] = taken * step;
            taken *= static_cast<std::ptrdiff_t>(to[next - 1]);
        }
        if (taken != count) return {};
    }
    return result;
}

XGRAD_FUNCTION bool broadcasts_to(Shape const& from, Shape const& to) noexcept {
    if (from.size() > to.size()) return false;
    for (std::size_t i = 0, lead = to.size() - from.size(); i < from.size(); ++i)
        if (from[i] != to[lead + i] && from[i] != 1) return false;
    return true;
}

XGRAD_FUNCTION bool widen(Shape& shape, Shape const& other) {
    if (other.size() > shape.size()) {
        auto const shorter = std::exchange(shape, other);
        return widen(shape, shorter);
    }
    for (std::size_t i = 0, lead = shape.size() - other.size(); i < other.size(); ++i) {
        auto& d = shape[lead + i];
        if (d == 1) d = other[i];
        else if (other[i] != 1 && other[i] != d) return false;
    }
    return true;
}

XGRAD_FUNCTION void check_broadcasts(std::string_view operation, std::string_view argument,
    Shape const& shape, std::string_view other, Shape const& shape_of_other) {
    Shape both = shape;
    if (!widen(both, shape_of_other))
        fail<ShapeError>(operation, ": ", argument, " of shape ", shape,
            " does not broadcast with ", other, " of shape ", shape_of_other);
}
XGRAD_FUNCTION Shape broadcast(std::string_view operation, Shape const& a, Shape const& b) {
    Shape out = a;
    if (!widen(out, b))
        fail<ShapeError>(operation, ": shapes ", a, " and ", b, " do not broadcast");
    return out;
}

XGRAD_FUNCTION Strides broadcast_strides(
    Shape const& shape, Strides const& strides, Shape const& to) {
    Strides out(to.size(), 0);
    for (std::size_t i = 0, lead = to.size() - shape.size(); i < shape.size(); ++i)
        out[lead + i] = shape[i] == 1 ? 0 : strides[i];
    return out;
}

XGRAD_FUNCTION std::size_t normalize_axis(
    std::string_view operation, std::ptrdiff_t axis, Shape const& shape, std::size_t new_axes) {
    auto const rank = static_cast<std::ptrdiff_t>(shape.size() + new_axes);
    if (axis < -rank || axis >= rank)
        fail<IndexError>(operation, ": axis ", axis, " is out of range for an array with ", rank,
            " dimensions, ", new_axes ? "made of" : "of", " shape ", shape);
    return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
}

XGRAD_FUNCTION Axes normalize_axes(std::string_view operation, Axes axes, Shape const& shape) {
    for (auto& axis : axes)
        axis = static_cast<std::ptrdiff_t>(normalize_axis(operation, axis, shape));
    for (std::size_t i = 1; i < axes.size(); ++i) // they are few
        for (std::size_t j = i; j > 0 && axes[j - 1] > axes[j]; --j)
            std::swap(axes[j - 1], axes[j]);
    for (std::size_t i = 1; i < axes.size(); ++i)
        if (axes[i - 1] == axes[i])
            fail<IndexError>(operation, ": an axis is given twice in ", axes, " of shape ", shape);
    return axes;
}

XGRAD_FUNCTION Axes all_axes(std::size_t rank) {
    Axes axes(rank, 0);
    for (std::size_t i = 0; i < rank; ++i) axes[i] = static_cast<std::ptrdiff_t>(i);
    return axes;
}

XGRAD_FUNCTION Shape reduced_shape(Shape const& shape, Axes const& axes, bool keepdims) {
    Shape out = shape;
    for (std::size_t i = axes.size(); i-- > 0;) {
        auto const axis = static_cast<std::size_t>(axes[i]);
        if (keepdims) out[axis] = 1;
        else out.erase(axis);
    }
    return out;
}

} // namespace xgrad::detail

namespace xgrad {

XGRAD_NOINLINE XGRAD_FUNCTION std::size_t numel(Shape const& shape) {
    std::size_t n = 1;
    bool fits = true;
    for (auto const d : shape) fits &= !detail::multiply_overflows(n, d, n);
    if (!fits || n > detail::max_elements) [[unlikely]]
        return detail::numel_of_large(shape);
    return n;
}

} // namespace xgrad
