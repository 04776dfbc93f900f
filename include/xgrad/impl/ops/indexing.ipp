// Bodies of indexing.hpp.
#pragma once

#include <xgrad/ops/indexing.hpp>

namespace xgrad {

XGRAD_LAZY_BODY void Window::add(detail::AxisPart const& part) {
    start.push_back(part.start);
    count.push_back(part.count);
    step.push_back(part.step);
}

XGRAD_LAZY_BODY void Window::look(
    detail::AnyArray const& x, detail::AnyArray& out, std::size_t element) const {
    std::size_t const indices = step.size(),
                      kept = indices - static_cast<std::size_t>(std::ranges::count(step, 0));
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
}

} // namespace xgrad

namespace xgrad::detail {

XGRAD_LAZY_BODY AxisPart part_of_axis(std::ptrdiff_t i, std::size_t n, std::size_t axis) {
    auto const extent = static_cast<std::ptrdiff_t>(n);
    if (i < -extent || i >= extent)
        fail<IndexError>("index ", i, " is out of range for axis ", axis, " with extent ", n);
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

} // namespace xgrad::detail
