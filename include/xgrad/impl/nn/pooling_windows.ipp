// Bodies of pooling_windows.hpp.
#pragma once

#include <xgrad/nn/pooling_windows.hpp>

namespace xgrad::nn::detail {

XGRAD_FUNCTION Shape Windows::pooled(Shape shape) const {
    shape.back() = columns.size();
    if (axes == 2) shape[shape.size() - 2] = rows.size();
    return shape;
}

XGRAD_FUNCTION Shape Windows::unpooled(Shape shape) const {
    shape.back() = width;
    if (axes == 2) shape[shape.size() - 2] = height;
    return shape;
}

XGRAD_FUNCTION std::vector<AxisWindow> sliding_windows(
    std::string_view name, Shape const& shape, PoolAxis const& axis) {
    AxisGeometry const& s = axis.geometry;
    if (2 * s.padding > s.kernel)
        xgrad::detail::fail<ShapeError>(name,
            ": pad should be at most half of kernel size, but got padding ", s.padding,
            " and kernel size ", s.kernel);
    std::size_t const available = s.padded() + (axis.ceil_mode ? s.stride - 1 : 0);
    std::size_t count =
        available >= s.reach() && s.extent > 0 ? (available - s.reach()) / s.stride + 1 : 0;
    if (axis.ceil_mode && count > 0 && (count - 1) * s.stride >= s.extent + s.padding) --count;
    if (count == 0)
        xgrad::detail::fail<ShapeError>(name, ": a window of ", s.reach(),
            " positions does not fit an extent of ", s.extent, " with padding ", s.padding,
            ", in shape ", shape);
    std::vector<AxisWindow> windows(count);
    for (std::size_t i = 0; i < count; ++i) {
        std::size_t const from = i * s.stride, to = std::min(from + s.reach(),
                                                   s.padded()); // from the start of the padding
        std::size_t const skipped =
            from < s.padding ? (s.padding - from + s.dilation - 1) / s.dilation : 0;
        auto& w = windows[i];
        w.start = from + skipped * s.dilation - s.padding;
        w.stop = std::max(w.start, std::min(to, s.extent + s.padding) - s.padding);
        if (w.start >= w.stop)
            xgrad::detail::fail<ShapeError>(name, ": a window of kernel size ", s.kernel,
                " and dilation ", s.dilation, " sees nothing but padding");
        w.step = s.dilation;
        w.weight = 1 / static_cast<double>(axis.count_include_pad ? to - from : w.stop - w.start);
    }
    return windows;
}

XGRAD_FUNCTION std::vector<AxisWindow> adaptive_windows(std::size_t extent, std::size_t count) {
    std::vector<AxisWindow> windows(count);
    for (std::size_t i = 0; i < count; ++i) {
        auto& w = windows[i];
        w.start = i * extent / count;
        w.stop = ((i + 1) * extent + count - 1) / count;
        w.weight = 1 / static_cast<double>(w.stop - w.start);
    }
    return windows;
}

} // namespace xgrad::nn::detail
