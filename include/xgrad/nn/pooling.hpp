// Pooling: the largest number or the mean of each window, and the mean over windows that share an
// image evenly.
#pragma once

#include <algorithm>
#include <bit>
#include <functional>
#include <optional>

#include <xgrad/nn/pooling_windows.hpp>
#include <xgrad/tensor/views.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::nn {

namespace detail {

/// Adds up the numbers that each window sees, times the weights of the window: rows first. `line`
/// is room for one.
template <class T> void average_windows(Windows const& w, T const* plane, T* line, T* out) {
    using P = precision_of<T>;
    for (auto const& row : w.rows) {
        T const* sums = plane + row.start * w.width;
        for (std::size_t h = row.start + row.step; h < row.stop; h += row.step) {
            std::transform(sums, sums + w.width, plane + h * w.width, line, std::plus());
            sums = line;
        }
        for (auto const& column : w.columns) {
            T total = sums[column.start];
            for (std::size_t k = column.start + column.step; k < column.stop; k += column.step)
                total += sums[k];
            *out++ = total * static_cast<P>(row.weight * column.weight);
        }
    }
}
/// Adds a number for each window, times its weights, to the positions that it sees.
template <class T> void spread_windows(Windows const& w, T const* numbers, T* line, T* plane) {
    using P = precision_of<T>;
    std::fill_n(plane, w.height * w.width, T(0));
    for (auto const& row : w.rows) {
        std::fill_n(line, w.width, T(0));
        for (auto const& column : w.columns) {
            T const part = *numbers++ * static_cast<P>(row.weight * column.weight);
            for (std::size_t k = column.start; k < column.stop; k += column.step) line[k] += part;
        }
        for (std::size_t h = row.start; h < row.stop; h += row.step)
            std::transform(
                line, line + w.width, plane + h * w.width, plane + h * w.width, std::plus());
    }
}

/// The first column of each window along a row, then the second of each, and so on; from a window
/// that has fewer its last again.
inline std::vector<std::int64_t> columns_in_turn(Windows const& w) {
    std::vector<std::int64_t> all;
    for (std::size_t turn = 0, most = 1; turn < most; ++turn)
        for (auto const& c : w.columns) {
            std::size_t const count = (c.stop - c.start + c.step - 1) / c.step;
            most = std::max(most, count);
            all.push_back(static_cast<std::int64_t>(c.start + std::min(turn, count - 1) * c.step));
        }
    return all;
}
/// a where a mask is all ones, b where it is 0.
template <RealScalar T> T chosen(std::int64_t mask, T a, T b) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
    auto const bits = static_cast<Bits>(mask);
    return std::bit_cast<T>((bits & std::bit_cast<Bits>(a)) | (~bits & std::bit_cast<Bits>(b)));
}
/// Where in its plane the largest number of each window is: the first of equal ones, NaN before all
/// others. All windows of a row are looked at side by side; `largest` is room for a number of each.
template <RealScalar T>
void find_largest(Windows const& w, std::vector<std::int64_t> const& turns, T const* plane,
    T* largest, std::int64_t* out) {
    std::size_t const count = w.columns.size();
    for (auto const& row : w.rows) {
        auto const begin = static_cast<std::int64_t>(row.start * w.width);
        for (std::size_t j = 0; j < count; ++j) largest[j] = plane[out[j] = begin + turns[j]];
        for (std::size_t h = row.start; h < row.stop; h += row.step)
            for (auto const* turn = turns.data(); turn != turns.data() + turns.size();
                 turn += count) {
                T const* const line = plane + h * w.width;
                auto const line_begin = static_cast<std::int64_t>(h * w.width);
                for (std::size_t j = 0; j < count; ++j) {
                    T const v = line[turn[j]];
                    auto const mask = -static_cast<std::int64_t>(
                        (v > largest[j]) | (v != v)); // no jump, which could not be foreseen
                    largest[j] = chosen(mask, v, largest[j]);
                    out[j] = (mask & (line_begin + turn[j])) | (~mask & out[j]);
                }
            }
        out += count;
    }
}

} // namespace detail

/// The weighted sum of what each window sees.
struct AverageWindows : Arraywise {
    detail::SharedWindows windows;

    template <Scalar T> auto value(xgrad::detail::Array<T> const& x) const {
        auto const from = xgrad::detail::contiguous(x);
        xgrad::detail::Array<T> out(windows->pooled(x.shape));
        std::size_t const plane = windows->height * windows->width, count = windows->count();
        std::vector<T> line(windows->width);
        for (std::size_t i = 0, planes = plane ? x.numel / plane : 0; i < planes; ++i)
            detail::average_windows(
                *windows, from.begin() + i * plane, line.data(), out.begin() + i * count);
        return out;
    }
    auto pullback(wrt<0>, auto const& g, auto const&, auto const&) const;
};
/// The transpose of AverageWindows.
struct SpreadWindows : Arraywise {
    detail::SharedWindows windows;

    template <Scalar T> auto value(xgrad::detail::Array<T> const& x) const {
        auto const from = xgrad::detail::contiguous(x);
        std::size_t const plane = windows->height * windows->width, count = windows->count();
        auto const shape = windows->unpooled(x.shape);
        if (count == 0) return xgrad::detail::Array<T>(shape, T(0));
        xgrad::detail::Array<T> out(shape);
        std::vector<T> line(windows->width);
        for (std::size_t i = 0, planes = x.numel / count; i < planes; ++i)
            detail::spread_windows(
                *windows, from.begin() + i * count, line.data(), out.begin() + i * plane);
        return out;
    }
    auto pullback(wrt<0>, auto const& g, auto const&, auto const&) const {
        return express(AverageWindows{{}, windows}, g);
    }
};
auto AverageWindows::pullback(wrt<0>, auto const& g, auto const&, auto const&) const {
    return express(SpreadWindows{{}, windows}, g);
}

/// One number of each plane for each window.
struct PickFromPlanes : Arraywise {
    detail::SharedWindows windows;
    xgrad::detail::Array<std::int64_t> places; // in the plane

    template <Scalar T> auto value(xgrad::detail::Array<T> const& x) const {
        auto const from = xgrad::detail::contiguous(x);
        xgrad::detail::Array<T> out(windows->pooled(x.shape));
        std::size_t const plane = windows->height * windows->width, count = windows->count();
        T const* numbers = from.begin();
        for (std::size_t i = 0; i < out.numel; i += count, numbers += plane)
            for (std::size_t j = i; j < i + count; ++j) out.begin()[j] = numbers[places.begin()[j]];
        return out;
    }
    auto pullback(wrt<0>, auto const& g, auto const&, auto const&) const;
};
/// Zeros, to which the number of each window is added at its place: the transpose of
/// PickFromPlanes.
struct PlaceOnPlanes : Arraywise {
    detail::SharedWindows windows;
    xgrad::detail::Array<std::int64_t> places;

    template <Scalar T> auto value(xgrad::detail::Array<T> const& x) const {
        auto const from = xgrad::detail::contiguous(x);
        xgrad::detail::Array<T> out(windows->unpooled(x.shape), T(0));
        std::size_t const plane = windows->height * windows->width, count = windows->count();
        T* numbers = out.begin();
        for (std::size_t i = 0; i < x.numel; i += count, numbers += plane)
            for (std::size_t j = i; j < i + count; ++j)
                numbers[places.begin()[j]] += from.begin()[j];
        return out;
    }
    auto pullback(wrt<0>, auto const& g, auto const&, auto const&) const {
        return express(PickFromPlanes{{}, windows, places}, g);
    }
};
auto PickFromPlanes::pullback(wrt<0>, auto const& g, auto const&, auto const&) const {
    return express(PlaceOnPlanes{{}, windows, places}, g);
}

/// The stride of windows is their size where it is not given. With ceil_mode the last window may
/// hang over the edge.
template <std::size_t D> struct MaxPoolOptions {
    std::optional<PerAxis<D>> stride = {};
    PerAxis<D> padding = 0, dilation = 1;
    bool ceil_mode = false;
};
/// count_include_pad says whether zeros around the image count in the mean. divisor_override
/// replaces the number of elements.
template <std::size_t D> struct AvgPoolOptions {
    std::optional<PerAxis<D>> stride = {};
    PerAxis<D> padding = 0;
    bool ceil_mode = false, count_include_pad = true;
    std::optional<double> divisor_override = {};
};

namespace detail {

template <std::size_t D, class Make>
SharedWindows make_windows(std::string_view name, Shape const& shape, Make make) {
    auto const extents = spatial_extents<D>(name, shape);
    Windows w{.axes = D};
    if constexpr (D == 2) w.height = extents[0], w.rows = make(std::size_t{0}, extents[0]);
    w.width = extents[D - 1];
    w.columns = make(D - 1, w.width);
    return std::make_shared<Windows const>(std::move(w));
}

template <std::size_t D>
SharedWindows max_pool_windows(std::string_view name, Shape const& shape, PerAxis<D> const& kernel,
    MaxPoolOptions<D> const& o) {
    auto const stride = o.stride.value_or(kernel);
    check_window(name, kernel, stride, o.padding, o.dilation);
    return make_windows<D>(name, shape, [&](std::size_t d, std::size_t extent) {
        auto s = axis_geometry(d, kernel.along[d], stride, o.padding, o.dilation);
        s.extent = extent;
        return sliding_windows(name, shape, {.geometry = s, .ceil_mode = o.ceil_mode});
    });
}

template <std::size_t D>
SharedWindows avg_pool_windows(std::string_view name, Shape const& shape, PerAxis<D> const& kernel,
    AvgPoolOptions<D> const& o) {
    auto const stride = o.stride.value_or(kernel);
    check_window<D>(name, kernel, stride, o.padding, 1);
    if (o.divisor_override && *o.divisor_override == 0)
        xgrad::detail::fail(name, ": divisor must be not zero");
    return make_windows<D>(name, shape, [&](std::size_t d, std::size_t extent) {
        auto s = axis_geometry<D>(d, kernel.along[d], stride, o.padding, 1);
        s.extent = extent;
        auto windows = sliding_windows(name, shape,
            {.geometry = s, .ceil_mode = o.ceil_mode, .count_include_pad = o.count_include_pad});
        if (o.divisor_override)
            for (auto& w : windows) w.weight = d == 0 ? 1 / *o.divisor_override : 1;
        return windows;
    });
}

template <std::size_t D>
SharedWindows even_windows(std::string_view name, Shape const& shape, PerAxis<D> const& size) {
    for (auto const n : size.along)
        if (n < 0)
            xgrad::detail::fail<ShapeError>(
                name, ": an output size must not be negative, not ", size.along);
    return make_windows<D>(name, shape, [&](std::size_t d, std::size_t extent) {
        if (extent == 0)
            xgrad::detail::fail<ShapeError>(name,
                ": Expected input to have non-zero size for non-batch dimensions, but input has "
                "sizes ",
                shape);
        return adaptive_windows(extent, static_cast<std::size_t>(size.along[d]));
    });
}

/// The largest numbers, and where they are.
template <RealScalar T>
std::pair<Tensor<T>, Tensor<std::int64_t>> max_pool(Tensor<T> const& x, SharedWindows windows) {
    auto const from = xgrad::detail::contiguous(x.array_of());
    xgrad::detail::Array<std::int64_t> places(windows->pooled(x.shape()));
    std::size_t const plane = windows->height * windows->width, count = windows->count();
    auto const turns = columns_in_turn(*windows);
    std::vector<T> largest(windows->columns.size());
    for (std::size_t i = 0, planes = places.numel / count; i < planes; ++i)
        find_largest(
            *windows, turns, from.begin() + i * plane, largest.data(), places.begin() + i * count);
    return {
        express(PickFromPlanes{{}, std::move(windows), places}, x), Tensor<std::int64_t>(places)};
}

} // namespace detail

namespace functional {

/// The largest number of each window: x of shape [N, C, L] or [C, L]. Of equal ones the first has
/// the gradient; NaN is passed on. Padding is never larger than anything.
template <RealScalar T>
Tensor<T> max_pool1d(
    Tensor<T> const& x, PerAxis<1> kernel_size, MaxPoolOptions<1> const& options = {}) {
    return detail::max_pool(
        x, detail::max_pool_windows("max_pool1d", x.shape(), kernel_size, options))
        .first;
}
/// The same over two axes: x of shape [N, C, H, W] or [C, H, W].
template <RealScalar T>
Tensor<T> max_pool2d(
    Tensor<T> const& x, PerAxis<2> kernel_size, MaxPoolOptions<2> const& options = {}) {
    return detail::max_pool(
        x, detail::max_pool_windows("max_pool2d", x.shape(), kernel_size, options))
        .first;
}
/// The same, and where in its plane each number was: w + h W.
template <RealScalar T>
std::pair<Tensor<T>, Tensor<std::int64_t>> max_pool2d_with_indices(
    Tensor<T> const& x, PerAxis<2> kernel_size, MaxPoolOptions<2> const& options = {}) {
    auto windows =
        detail::max_pool_windows("max_pool2d_with_indices", x.shape(), kernel_size, options);
    auto [largest, places] = detail::max_pool(x, std::move(windows));
    return {std::move(largest), places.clone()}; // whose caller may change them
}

/// The mean of each window: x of shape [N, C, L] or [C, L].
template <Differentiable T>
Tensor<T> avg_pool1d(
    Tensor<T> const& x, PerAxis<1> kernel_size, AvgPoolOptions<1> const& options = {}) {
    return express(
        AverageWindows{{}, detail::avg_pool_windows("avg_pool1d", x.shape(), kernel_size, options)},
        x);
}
/// The same over two axes: x of shape [N, C, H, W] or [C, H, W].
template <Differentiable T>
Tensor<T> avg_pool2d(
    Tensor<T> const& x, PerAxis<2> kernel_size, AvgPoolOptions<2> const& options = {}) {
    return express(
        AverageWindows{{}, detail::avg_pool_windows("avg_pool2d", x.shape(), kernel_size, options)},
        x);
}

/// The means of as many windows as wanted: window i of n on an extent L goes from floor(i L/n) to
/// ceil((i+1) L/n).
template <Differentiable T>
Tensor<T> adaptive_avg_pool1d(Tensor<T> const& x, PerAxis<1> output_size) {
    return express(
        AverageWindows{{}, detail::even_windows("adaptive_avg_pool1d", x.shape(), output_size)}, x);
}
/// The same over two axes.
template <Differentiable T>
Tensor<T> adaptive_avg_pool2d(Tensor<T> const& x, PerAxis<2> output_size) {
    return express(
        AverageWindows{{}, detail::even_windows("adaptive_avg_pool2d", x.shape(), output_size)}, x);
}

} // namespace functional
} // namespace xgrad::nn
