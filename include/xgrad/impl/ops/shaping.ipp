// Bodies of shaping.hpp, indexing.hpp and padding.hpp.
#pragma once

#include <xgrad/ops/indexing.hpp>
#include <xgrad/ops/padding.hpp>
#include <xgrad/ops/shaping.hpp>

namespace xgrad::detail {

XGRAD_LAZY_BODY Axes inverse_of(Axes const& order) {
    Axes inverse(order.size());
    for (std::size_t i = 0; i < order.size(); ++i)
        inverse[static_cast<std::size_t>(order[i])] = static_cast<std::ptrdiff_t>(i);
    return inverse;
}

XGRAD_LAZY_BODY AxisPart part_of_axis(std::ptrdiff_t i, std::size_t n, std::size_t axis) {
    auto const extent = static_cast<std::ptrdiff_t>(n);
    if (i < -extent || i >= extent)
        fail<IndexError>(
            "x(index): index ", i, " is out of range for axis ", axis, " with extent ", n);
    return {static_cast<std::size_t>(i < 0 ? i + extent : i), 1, 0};
}

XGRAD_LAZY_BODY AxisPart part_of_axis(Slice const& s, std::size_t n, std::size_t axis) {
    if (s.step < 1)
        fail<IndexError>("a slice of axis ", axis, " has step ", s.step,
            "; it must be positive: flip(x, ", axis, ") reverses the axis");
    auto const extent = static_cast<std::ptrdiff_t>(n);
    auto const bounded = [extent](std::ptrdiff_t i) {
        return std::clamp<std::ptrdiff_t>(i < 0 ? i + extent : i, 0, extent);
    };
    auto const start = bounded(s.start.value_or(0)),
               stop = std::max(start, bounded(s.stop.value_or(extent)));
    return {static_cast<std::size_t>(start),
        static_cast<std::size_t>(stop > start ? (stop - start - 1) / s.step + 1 : 0), s.step};
}

XGRAD_LAZY_BODY Window WindowBuilder::finish() {
    while (axis_ < shape_.size()) whole();
    return std::move(window_);
}

XGRAD_LAZY_BODY Axes negative_ones(Axes widths) {
    for (auto& width : widths) width = std::min<std::ptrdiff_t>(width, 0);
    return widths;
}

XGRAD_LAZY_BODY std::size_t if_positive(std::ptrdiff_t width) {
    return static_cast<std::size_t>(std::max<std::ptrdiff_t>(width, 0));
}

XGRAD_LAZY_BODY PadWidths::PadWidths(Axes const& widths, Shape const& extents)
    : before(extents.size(), 0), after(extents.size(), 0) {
    auto const rank = extents.size();
    if (widths.size() % 2 || widths.size() > 2 * rank)
        fail<ShapeError>("pad: widths ", widths, " are not two for each of at most ", rank,
            " axes of shape ", extents);
    for (std::size_t i = 0; i < widths.size() / 2; ++i) {
        auto const d = rank - 1 - i;
        auto const first = before[d] = widths[2 * i], last = after[d] = widths[2 * i + 1];
        cut |= std::min(first, last) < 0;
        add |= std::max(first, last) > 0;
        constexpr auto most = static_cast<std::ptrdiff_t>(max_elements);
        if (std::max(first, last) > most || std::min(first, last) < -most ||
            static_cast<std::ptrdiff_t>(extents[d]) + std::min<std::ptrdiff_t>(first, 0) +
                    std::min<std::ptrdiff_t>(last, 0) <
                0)
            fail<ShapeError>("pad: widths ", widths, " take away more than there is in shape ",
                extents, ", or add more than any memory holds");
    }
}

XGRAD_LAZY_BODY void check_border(PadBorder const& b, std::size_t extent) {
    auto const longest = std::max(b.before, b.after);
    if (b.mode == PadMode::reflect && longest >= extent)
        fail<ShapeError>("pad: axis ", b.axis, " with extent ", extent, " cannot be reflected to ",
            longest, " positions, which must be fewer");
    if (b.mode == PadMode::circular && longest > extent)
        fail<ShapeError>("pad: axis ", b.axis, " with extent ", extent, " does not go round ",
            longest, " positions, which must be no more");
    if (b.mode == PadMode::replicate && extent == 0)
        fail<ShapeError>("pad: axis ", b.axis, " with extent 0 has nothing to be replicated");
}

} // namespace xgrad::detail

namespace xgrad {

XGRAD_LAZY_BODY Shape Reshape::resolve(Shape const& from) const {
    auto const n = numel(from);
    Shape shape(to.size(), 1);
    std::optional<std::size_t> open;
    for (std::size_t i = 0; i < to.size(); ++i) {
        if (to[i] < -1 || (to[i] == -1 && open))
            detail::fail<ShapeError>(asked_by, ": ", to, " is no shape; one extent may be -1");
        if (to[i] == -1) open = i;
        else shape[i] = static_cast<std::size_t>(to[i]);
    }
    auto known = numel(shape);
    bool const found = !open || (known != 0 && n % known == 0);
    if (open && found) known *= shape[*open] = n / known;
    if (!found || known != n)
        detail::fail<ShapeError>(
            asked_by, ": shape ", to, " does not hold the ", n, " elements of shape ", from);
    return shape;
}

XGRAD_LAZY_BODY Axes Permute::normalized(Shape const& shape) const {
    Axes order = axes;
    for (auto& a : order)
        a = static_cast<std::ptrdiff_t>(detail::normalize_axis("permute", a, shape));
    return order;
}

XGRAD_LAZY_BODY void Window::add(detail::AxisPart const& part) {
    start.push_back(part.start);
    count.push_back(part.count);
    step.push_back(part.step);
}

XGRAD_LAZY_BODY void Window::look(
    detail::AnyArray const& x, detail::AnyArray& out, std::size_t element) const {
    std::size_t const indices = step.size(), kept = indices - static_cast<std::size_t>(std::count(
                                                                  step.begin(), step.end(), 0));
    Shape shape;
    Strides strides;
    shape.reserve_exactly(kept);
    strides.reserve_exactly(kept);
    std::ptrdiff_t offset = 0;
    bool const has_elements = x.numel != 0;
    for (std::size_t i = 0, axis = 0, at = 0; i < indices; ++i) {
        bool const is_new = step[i] == new_axis;
        auto const stride = is_new ? 0 : x.strides[axis++];
        if (has_elements) offset += static_cast<std::ptrdiff_t>(start[i]) * stride;
        if (step[i] == 0) continue;
        shape[at] = count[i];
        // For a single position the step is ignored: the product with it might overflow.
        strides[at++] = is_new ? 0 : count[i] > 1 && has_elements ? stride * step[i] : stride;
    }
    if (numel(shape) == 0) {
        offset = 0;
        strides = detail::row_major(shape);
    }
    out.storage = x.storage;
    out.data = x.data;
    out.set_view(
        std::move(shape), std::move(strides), offset * static_cast<std::ptrdiff_t>(element));
    out.keep_padding(x);
}

} // namespace xgrad
