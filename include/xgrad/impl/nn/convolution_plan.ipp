// Bodies of convolution_plan.hpp and pooling_windows.hpp.
#pragma once

#include <xgrad/nn/convolution_plan.hpp>
#include <xgrad/nn/pooling_windows.hpp>

namespace xgrad::nn::detail {

XGRAD_FUNCTION Shape ConvGeometry::shape(
    std::size_t first, std::size_t second, std::size_t height, std::size_t width) const {
    return axes == 1 ? Shape{first, second, width} : Shape{first, second, height, width};
}

XGRAD_FUNCTION void AxisPlan::add(Phase phase) {
    length = std::max(length, phase.count);
    for (auto const& tap : phase.taps) {
        furthest = std::max(furthest, tap.offset);
        length = std::max(length, tap.offset + phase.count);
    }
    phases.push_back(std::move(phase));
}

XGRAD_FUNCTION std::size_t AxisPlan::max_results() const {
    std::size_t most = 0;
    for (auto const& phase : phases) most = std::max(most, phase.count);
    return most;
}

XGRAD_FUNCTION AxisPlan output_plan(AxisGeometry const& s) {
    AxisPlan plan{
        .extent = s.extent, .before = s.padding, .stride = stride_of(s), .kernel = s.kernel};
    Phase all{0, 1, s.windows, {}};
    for (std::size_t i = 0; i < s.kernel; ++i) {
        std::size_t const at = i * s.dilation, remainder = at % plan.stride;
        auto const part =
            static_cast<std::size_t>(std::ranges::find(plan.parts, remainder) - plan.parts.begin());
        if (part == plan.parts.size()) plan.parts.push_back(remainder);
        all.taps.push_back({i, part, at / plan.stride});
    }
    plan.add(std::move(all));
    return plan;
}

XGRAD_FUNCTION AxisPlan input_plan(AxisGeometry const& s) {
    std::size_t const stride = stride_of(s), phases = std::min(stride, s.extent);
    auto const each_tap = [&](std::size_t pixel,
                              auto f) { // f(tap, window that the pixel reads; may be < 0)
        for (std::size_t i = 0; i < s.kernel; ++i)
            if (auto const at = i * s.dilation; at % stride == (pixel + s.padding) % stride)
                f(i, static_cast<std::ptrdiff_t>((pixel + s.padding) / stride) -
                         static_cast<std::ptrdiff_t>(at / stride));
    };
    std::ptrdiff_t before = 0;
    for (std::size_t pixel = 0; pixel < phases; ++pixel)
        each_tap(
            pixel, [&](std::size_t, std::ptrdiff_t window) { before = std::max(before, -window); });
    AxisPlan plan{.extent = s.windows,
        .before = static_cast<std::size_t>(before),
        .stride = 1,
        .kernel = s.kernel,
        .parts = xgrad::detail::CachedVector<std::size_t>(1)}; // a 0
    for (std::size_t pixel = 0; pixel < phases; ++pixel) {
        Phase phase{pixel, stride, (s.extent - 1 - pixel) / stride + 1, {}};
        each_tap(pixel, [&](std::size_t i, std::ptrdiff_t window) {
            phase.taps.push_back({i, 0, static_cast<std::size_t>(before + window)});
        });
        plan.add(std::move(phase));
    }
    return plan;
}

XGRAD_FUNCTION TileSize tile_size(
    AxisPlan const& rows, AxisPlan const& columns, std::size_t bytes) {
    using xgrad::detail::kernel::divided_up;
    auto const evenly = [](std::size_t all, std::size_t most) {
        return divided_up(all, divided_up(all, most));
    };
    std::size_t const all_rows = std::max<std::size_t>(1, rows.max_results()),
                      all_columns = std::max<std::size_t>(1, columns.max_results());
    std::size_t const positions = tile_bytes / std::max<std::size_t>(1, bytes),
                      fitting = positions / std::max<std::size_t>(1, columns.length),
                      least = std::min(all_rows, rows.furthest + 1);
    if (fitting >= least + rows.furthest)
        return {evenly(all_rows, std::min(all_rows, fitting - rows.furthest)), all_columns};
    std::size_t const min_columns =
        std::min(all_columns, std::max<std::size_t>(256, 4 * columns.furthest));
    return {least, evenly(all_columns,
                       std::clamp(positions / (least + rows.furthest), min_columns, all_columns))};
}

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

XGRAD_FUNCTION Axes Windows::kept_axes(std::size_t rank) const {
    Axes kept = xgrad::detail::all_axes(rank);
    std::fill(kept.end() - axes, kept.end(), -1);
    return kept;
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
