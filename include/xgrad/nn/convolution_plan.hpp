// Where the windows of a convolution look. All three of its parts are computed from lines of numbers on which neighbouring
// windows see neighbouring numbers: zeros are put around images, and a stride deals each line out to several.
#pragma once

#include <xgrad/base/memory.hpp>
#include <xgrad/nn/window.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::nn::detail {

/// Images [batch, channels, rows, columns], filters [filters, channels / groups, rows, columns], and their products
/// [batch, filters, rows, columns], a number for each window. Of one spatial axis, there is one row.
struct ConvGeometry {
    std::size_t axes = 2, batch = 1, channels = 1, filters = 1, groups = 1;
    Slide rows = {}, columns = {};

    std::size_t channels_of_group() const { return channels / groups; }
    std::size_t filters_of_group() const { return filters / groups; }
    /// Numbers of a filter for one channel, and for all of a group.
    std::size_t places() const { return rows.kernel * columns.kernel; }
    std::size_t depth() const { return channels_of_group() * places(); }
    /// One window sees an image whole, in order: the convolution is a product of matrices.
    bool is_matrix_product() const { return rows.is_whole() && columns.is_whole(); }

    Shape image_shape() const { return shape(batch, channels, rows.extent, columns.extent); }
    Shape product_shape() const { return shape(batch, filters, rows.windows, columns.windows); }
    Shape filter_shape() const { return shape(filters, channels_of_group(), rows.kernel, columns.kernel); }

private:
    Shape shape(std::size_t first, std::size_t second, std::size_t height, std::size_t width) const { return axes == 1 ? Shape{first, second, width} : Shape{first, second, height, width}; }
};

/// A number of a filter: which, on which of the lines that a stride makes of one, and how far from its window's place there.
struct Place {
    std::size_t index, part, offset;
};

/// Results `first`, `first + step`, ... along an axis, whose windows look at the same places.
struct Phase {
    std::size_t first, step, count;
    xgrad::detail::CachedVector<Place> places;
};

/// One axis of what windows look at, the source.
struct AxisPlan {
    std::size_t extent;            // of the source
    std::size_t before;            // zeros in front of it
    std::size_t parts;             // number u of it, zeros counted, is number u / parts of part u % parts
    std::size_t length = 0;        // of a part, as far as windows see it
    std::size_t furthest = 0;      // offset of a place
    xgrad::detail::CachedVector<Phase> phases = {};

    void add(Phase phase)
    {
        for (auto const& place : phase.places) furthest = std::max(furthest, place.offset);
        length = std::max(length, phase.count);
        for (auto const& place : phase.places) length = std::max(length, place.offset + phase.count);
        phases.push_back(std::move(phase));
    }
};

/// Windows on images.
inline AxisPlan plan_of_products(Slide const& s)
{
    AxisPlan plan{.extent = s.extent, .before = s.padding, .parts = s.stride};
    Phase all{0, 1, s.windows, {}};
    for (std::size_t i = 0; i < s.kernel; ++i) all.places.push_back({i, i * s.dilation % s.stride, i * s.dilation / s.stride});
    plan.add(std::move(all));
    return plan;
}

/// What an image gets from products: pixel h from window t where h + padding = t stride + i dilation. Pixels that are a stride
/// apart get it through the same places i of the filters.
inline AxisPlan plan_of_images(Slide const& s)
{
    struct Pixels {
        std::size_t first, window;                // window: the last that sees the first pixel, were the filter long enough
        xgrad::detail::CachedVector<std::pair<std::size_t, std::size_t>> seen;  // place of the filter, how many windows earlier
    };
    xgrad::detail::CachedVector<Pixels> all;
    std::size_t before = 0;
    for (std::size_t remainder = 0; remainder < s.stride; ++remainder) {
        Pixels pixels{0, remainder < s.padding ? (s.padding - remainder + s.stride - 1) / s.stride : 0, {}};
        pixels.first = pixels.window * s.stride + remainder - s.padding;
        for (std::size_t i = 0; i < s.kernel; ++i)
            if (auto const at = i * s.dilation; at % s.stride == remainder) {
                auto const earlier = (at - remainder) / s.stride;
                pixels.seen.emplace_back(i, earlier);
                if (earlier > pixels.window) before = std::max(before, earlier - pixels.window);
            }
        if (pixels.first < s.extent) all.push_back(std::move(pixels));
    }
    AxisPlan plan{.extent = s.windows, .before = before, .parts = 1};
    for (auto const& pixels : all) {
        Phase phase{pixels.first, s.stride, (s.extent - 1 - pixels.first) / s.stride + 1, {}};
        for (auto const& [index, earlier] : pixels.seen) phase.places.push_back({index, 0, before + pixels.window - earlier});
        plan.add(std::move(phase));
    }
    return plan;
}

}  // namespace xgrad::nn::detail
