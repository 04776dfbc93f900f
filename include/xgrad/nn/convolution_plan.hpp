// Plans of convolutions: which elements of the source each window reads.
//
// The kernels read lines in memory on which neighbouring windows read neighbouring elements. A line
// has the zeros of the padding. With a stride s, each line is split into s parts (a polyphase
// decomposition): part r has the elements whose index modulo s is r.
//
// Data structures: an AxisPlan describes one axis; its Phases are results that read the same taps;
// a Tap is one element of the kernel along the axis. Read next: convolution_lines.hpp.
#pragma once

#include <algorithm>

#include <xgrad/base/memory.hpp>
#include <xgrad/base/scratch.hpp>
#include <xgrad/nn/window.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::nn::detail {

/// The extents of input [batch, channels, rows, columns], weight [out_channels, channels / groups,
/// rows, columns] and output [batch, out_channels, rows, columns]. With one spatial axis there is
/// one row.
struct ConvGeometry {
    std::size_t axes = 2, batch = 1, channels = 1, out_channels = 1, groups = 1;
    AxisGeometry rows = {}, columns = {};

    std::size_t channels_of_group() const { return channels / groups; }
    std::size_t out_channels_of_group() const { return out_channels / groups; }
    /// The number of elements of the weight for one output channel and one input channel.
    std::size_t taps() const { return rows.kernel * columns.kernel; }
    /// The number of elements of the weight for one output channel: the length of each dot product.
    std::size_t depth() const { return channels_of_group() * taps(); }
    /// True if the only window covers the whole input: the convolution is a matrix product.
    bool is_matrix_product() const { return rows.is_whole() && columns.is_whole(); }

    Shape input_shape() const { return shape(batch, channels, rows.extent, columns.extent); }
    Shape output_shape() const { return shape(batch, out_channels, rows.windows, columns.windows); }
    Shape weight_shape() const {
        return shape(out_channels, channels_of_group(), rows.kernel, columns.kernel);
    }

private:
    Shape shape(
        std::size_t first, std::size_t second, std::size_t height, std::size_t width) const {
        return axes == 1 ? Shape{first, second, width} : Shape{first, second, height, width};
    }
};

/// A tap of the kernel along an axis: its index, the part of the line that it reads, and its offset
/// there from the window's position.
struct Tap {
    std::size_t index, part, offset;
};

/// The results `first`, `first + step`, ... along an axis. All of them read the same taps.
struct Phase {
    std::size_t first, step, count;
    xgrad::detail::CachedVector<Tap> taps;
};

/// One axis of the source, the operand that windows read. Element h < extent has index u = h +
/// before after `before` zeros of padding. It is element u / stride of part u % stride.
struct AxisPlan {
    std::size_t extent, before, stride, kernel;
    xgrad::detail::CachedVector<std::size_t> parts = {}; // remainders u % stride that a tap reads
    std::size_t length = 0;   // of a part, up to the last element that a window reads
    std::size_t furthest = 0; // the largest offset of a tap
    xgrad::detail::CachedVector<Phase> phases = {};

    void add(Phase phase) {
        length = std::max(length, phase.count);
        for (auto const& tap : phase.taps) {
            furthest = std::max(furthest, tap.offset);
            length = std::max(length, tap.offset + phase.count);
        }
        phases.push_back(std::move(phase));
    }
    std::size_t max_results() const {
        std::size_t most = 0;
        for (auto const& phase : phases) most = std::max(most, phase.count);
        return most;
    }
};

/// The stride between windows; 1 if there is a single window.
inline std::size_t stride_of(AxisGeometry const& s) { return s.windows > 1 ? s.stride : 1; }

/// The plan of an axis for computing the output: windows read the input.
inline AxisPlan output_plan(AxisGeometry const& s) {
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

/// The plan of an axis for computing the input: pixel h reads window t of the output for each tap i
/// with h + padding = t stride + i dilation. Pixels that are a stride apart read the same taps.
inline AxisPlan input_plan(AxisGeometry const& s) {
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
        .parts = {0}};
    for (std::size_t pixel = 0; pixel < phases; ++pixel) {
        Phase phase{pixel, stride, (s.extent - 1 - pixel) / stride + 1, {}};
        each_tap(pixel, [&](std::size_t i, std::ptrdiff_t window) {
            phase.taps.push_back({i, 0, static_cast<std::size_t>(before + window)});
        });
        plan.add(std::move(phase));
    }
    return plan;
}

/// The number of rows and columns of results in a tile.
struct TileSize {
    std::size_t rows, columns;
};

/// The size of a tile in bytes: it should fit the L2 cache.
inline constexpr std::size_t tile_bytes = std::size_t{1} << 19;

/// The tile size for positions of `bytes` bytes: as many whole rows as fit tile_bytes. If too few
/// fit, parts of a few rows, so many that the halo of the tiles copies the source at most about
/// twice.
inline TileSize tile_size(AxisPlan const& rows, AxisPlan const& columns, std::size_t bytes) {
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

} // namespace xgrad::nn::detail
