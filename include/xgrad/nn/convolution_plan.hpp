// Where the windows of a convolution look. All three of its parts are computed from lines of
// numbers on which neighbouring windows see neighbouring numbers: zeros are put around images, and
// a stride deals each line out to several.
#pragma once

#include <algorithm>

#include <xgrad/base/memory.hpp>
#include <xgrad/base/scratch.hpp>
#include <xgrad/nn/window.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::nn::detail {

/// Images [batch, channels, rows, columns], filters [filters, channels / groups, rows, columns],
/// and their products [batch, filters, rows, columns], a number for each window. Of one spatial
/// axis, there is one row.
struct ConvGeometry {
    std::size_t axes = 2, batch = 1, channels = 1, out_channels = 1, groups = 1;
    AxisGeometry rows = {}, columns = {};

    std::size_t channels_of_group() const { return channels / groups; }
    std::size_t out_channels_of_group() const { return out_channels / groups; }
    /// Numbers of a filter for one channel, and for all of a group.
    std::size_t taps() const { return rows.kernel * columns.kernel; }
    std::size_t depth() const { return channels_of_group() * taps(); }
    /// One window sees an image whole, in order: the convolution is a product of matrices.
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

/// A number of a filter: which, on which of the parts of a line, and how far from its window's
/// place there.
struct Tap {
    std::size_t index, part, offset;
};

/// Results `first`, `first + step`, ... along an axis, whose windows look at the same places.
struct Phase {
    std::size_t first, step, count;
    xgrad::detail::CachedVector<Tap> taps;
};

/// One axis of what windows look at, the source: its number h, of `extent`, is u = h + before with
/// the zeros in front of it, and number u / stride of the part that has those u of which u % stride
/// is the same.
struct AxisPlan {
    std::size_t extent, before, stride, kernel;
    xgrad::detail::CachedVector<std::size_t> parts =
        {};                   // their remainders, where windows look at them
    std::size_t length = 0;   // of a part, as far as windows see it
    std::size_t furthest = 0; // the largest offset of a place
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

/// Windows that are a stride apart; a single one has none.
inline std::size_t stride_of(AxisGeometry const& s) { return s.windows > 1 ? s.stride : 1; }

/// Windows on images.
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

/// What an image gets from products: pixel h from window t where h + padding = t stride + i
/// dilation. Pixels that are a stride apart get it through the same places i of the filters.
inline AxisPlan input_plan(AxisGeometry const& s) {
    std::size_t const stride = stride_of(s), phases = std::min(stride, s.extent);
    auto const each_tap = [&](std::size_t pixel,
                              auto f) { // f(place, the window in which it sees the pixel, were
                                        // there windows before the first one)
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

/// Rows and columns of results that are computed at a time.
struct TileSize {
    std::size_t rows, columns;
};

/// Bytes of a tile, which should stay in the second cache.
inline constexpr std::size_t tile_bytes = std::size_t{1} << 19;

/// As many whole rows as there is room for where a place takes so many bytes; or else few rows, of
/// which the source is not laid out more than about twice, and parts of them.
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
