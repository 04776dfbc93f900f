// Windows of pooling layers: the positions of each window along each axis.
#pragma once

#include <memory>
#include <vector>

#include <xgrad/nn/window.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::nn::detail {

/// The positions start, start + step, ... below stop, and the weight of each in a mean.
struct AxisWindow {
    std::size_t start = 0, stop = 1, step = 1;
    double weight = 1;
};

/// All windows on planes of one extent.
struct Windows {
    std::size_t axes, height = 1, width = 1;
    std::vector<AxisWindow> rows{AxisWindow{}}, columns{AxisWindow{}};

    std::size_t count() const { return rows.size() * columns.size(); }
    /// The shape of the output for an input of this shape: an element for each window.
    Shape pooled(Shape shape) const {
        shape.back() = columns.size();
        if (axes == 2) shape[shape.size() - 2] = rows.size();
        return shape;
    }
    Shape unpooled(Shape shape) const {
        shape.back() = width;
        if (axes == 2) shape[shape.size() - 2] = height;
        return shape;
    }
};
using SharedWindows = std::shared_ptr<Windows const>;

/// The options of pooling for one axis.
struct PoolAxis {
    AxisGeometry geometry;
    bool ceil_mode = false, count_include_pad = true;
};

/// Windows at multiples of the stride. With ceil_mode there is another one at the end if it starts
/// inside the input or its left padding.
inline std::vector<AxisWindow> sliding_windows(
    std::string_view name, Shape const& shape, PoolAxis const& axis) {
    AxisGeometry const& s = axis.geometry;
    if (2 * s.padding > s.kernel)
        xgrad::detail::fail<ShapeError>(name,
            ": pad should be at most half of kernel size, but got padding ", s.padding,
            " and kernel size ", s.kernel);
    std::size_t const room = s.padded() + (axis.ceil_mode ? s.stride - 1 : 0);
    std::size_t count = room >= s.reach() && s.extent > 0 ? (room - s.reach()) / s.stride + 1 : 0;
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

/// `count` windows that cover the extent as evenly as possible and overlap by at most one position.
inline std::vector<AxisWindow> adaptive_windows(std::size_t extent, std::size_t count) {
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
