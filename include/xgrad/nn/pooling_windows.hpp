// Windows of pooling layers: the positions of each window along each axis.
#pragma once

#include <memory>
#include <vector>

#include <xgrad/nn/window.hpp>

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
    Shape pooled(Shape shape) const;
    Shape unpooled(Shape shape) const;
    Axes kept_axes(std::size_t rank) const; // all but those of a plane
};
using SharedWindows = std::shared_ptr<Windows const>;

/// The options of pooling for one axis.
struct PoolAxis {
    AxisGeometry geometry;
    bool ceil_mode = false, count_include_pad = true;
};

/// Windows at multiples of the stride. With ceil_mode there is another one at the end if it starts
/// inside the input or its left padding.
std::vector<AxisWindow> sliding_windows(
    std::string_view name, Shape const& shape, PoolAxis const& axis);

/// `count` windows that cover the extent as evenly as possible and overlap by at most one position.
std::vector<AxisWindow> adaptive_windows(std::size_t extent, std::size_t count);

} // namespace xgrad::nn::detail
