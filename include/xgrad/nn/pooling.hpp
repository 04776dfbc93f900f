// Pooling: the maximum or the mean of each window, and adaptive mean pooling to a given output
// size.
//
// Shapes: x: [N, C, L] or [C, L], [N, C, H, W] or [C, H, W]; the last axes get floor((L + 2 padding
// - dilation (K-1) - 1) / stride) + 1 windows (ceil with ceil_mode), or the given output size.
// Gradients: a maximum sends it to the first of equal elements, a mean to all elements of the
// window; of any order, in backward and forward mode. Indices have none.
// Errors: shapes and options that do not fit, a padding above half of the kernel, and a window
// without elements are a ShapeError; a divisor of 0 and an undefined input are an Error. A maximum
// of complex numbers does not compile.
#pragma once

#include <algorithm>
#include <bit>
#include <functional>
#include <optional>

#include <xgrad/nn/pooling_windows.hpp>
#include <xgrad/tensor/views.hpp>

namespace xgrad::nn {

namespace detail {

/// The weighted sum of the elements of each window. It sums rows first; `line` is a buffer for a
/// row.
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
/// Adds the number of each window, times its weights, to the elements of the window: the transpose
/// of average_windows.
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

/// The first column of each window along a row, then the second column of each, and so on. A window
/// with fewer columns repeats its last one.
std::vector<std::int64_t> columns_in_turn(Windows const& w);
/// a where the bits of a mask are ones, b where they are zeros.
template <RealScalar T> T chosen(std::int64_t mask, T a, T b) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
    auto const bits = static_cast<Bits>(mask);
    return std::bit_cast<T>((bits & std::bit_cast<Bits>(a)) | (~bits & std::bit_cast<Bits>(b)));
}
/// The index in its plane of the maximum of each window: the first of equal ones; NaN counts as
/// largest. It compares all windows of a row in one loop; `largest` is a buffer with an element for
/// each window.
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
                        (v > largest[j]) | (v != v)); // no branch, which would be mispredicted
                    largest[j] = chosen(mask, v, largest[j]);
                    out[j] = (mask & (line_begin + turn[j])) | (~mask & out[j]);
                }
            }
        out += count;
    }
}

} // namespace detail

/// The operation of average_windows().
struct AverageWindows : Arraywise {
    detail::SharedWindows windows; // the windows on a plane
    Axes kept_axes(std::size_t, std::size_t, std::size_t rank) const {
        return windows->kept_axes(rank);
    }

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
    detail::SharedWindows windows; // the windows on a plane
    Axes kept_axes(std::size_t, std::size_t, std::size_t rank) const {
        return windows->kept_axes(rank);
    }

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

/// Gathers one element of each plane for each window.
struct PickFromPlanes : Arraywise {
    detail::SharedWindows windows;              // the windows on a plane
    xgrad::detail::Array<std::int64_t> indices; // in the plane
    static constexpr auto dependence = Dependence::selection;

    template <Scalar T> auto value(xgrad::detail::Array<T> const& x) const {
        auto const from = xgrad::detail::contiguous(x);
        xgrad::detail::Array<T> out(windows->pooled(x.shape));
        std::size_t const plane = windows->height * windows->width, count = windows->count();
        T const* numbers = from.begin();
        for (std::size_t i = 0; i < out.numel; i += count, numbers += plane)
            for (std::size_t j = i; j < i + count; ++j)
                out.begin()[j] = numbers[indices.begin()[j]];
        return out;
    }
    auto pullback(wrt<0>, auto const& g, auto const&, auto const&) const;
};
/// Scatters the number of each window to its index in a plane of zeros: the transpose of
/// PickFromPlanes.
struct PlaceOnPlanes : Arraywise {
    detail::SharedWindows windows;              // the windows on a plane
    xgrad::detail::Array<std::int64_t> indices; // in the plane
    static constexpr auto dependence = Dependence::transposed;

    template <Scalar T> auto value(xgrad::detail::Array<T> const& x) const {
        auto const from = xgrad::detail::contiguous(x);
        xgrad::detail::Array<T> out(windows->unpooled(x.shape), T(0));
        std::size_t const plane = windows->height * windows->width, count = windows->count();
        T* numbers = out.begin();
        for (std::size_t i = 0; i < x.numel; i += count, numbers += plane)
            for (std::size_t j = i; j < i + count; ++j)
                numbers[indices.begin()[j]] += from.begin()[j];
        return out;
    }
    auto pullback(wrt<0>, auto const& g, auto const&, auto const&) const {
        return express(PickFromPlanes{{}, windows, indices}, g);
    }
};
auto PickFromPlanes::pullback(wrt<0>, auto const& g, auto const&, auto const&) const {
    return express(PlaceOnPlanes{{}, windows, indices}, g);
}

/// The stride of a pooling; by default it is the kernel size.
template <std::size_t D> struct PoolStride : std::optional<PerAxis<D>> {
    PoolStride() = default;
    PoolStride(PerAxis<D> const& stride) : std::optional<PerAxis<D>>(stride) {}
    template <std::integral... I>
        requires(sizeof...(I) == 1 || sizeof...(I) == D)
    PoolStride(I... n) : std::optional<PerAxis<D>>(PerAxis<D>(n...)) {}
};
/// Options of MaxPool1d, MaxPool2d, max_pool1d() and max_pool2d().
template <std::size_t D> struct MaxPoolOptions {
    PoolStride<D> stride = {}; // from window to window; by default the kernel size
    /// `padding` is the number of positions on both sides of the axis that are never the maximum,
    /// at most half of the kernel size. `dilation` is the step between the elements of a window.
    /// Others are a ShapeError.
    PerAxis<D> padding = 0, dilation = 1;
    bool ceil_mode = false; // true if the last window may exceed the input
};
/// Options of AvgPool1d, AvgPool2d, avg_pool1d() and avg_pool2d().
template <std::size_t D> struct AvgPoolOptions {
    PoolStride<D> stride = {}; // from window to window; by default the kernel size
    /// Zeros on both sides of the axis. More than half of the kernel size is a ShapeError.
    PerAxis<D> padding = 0;
    /// With `ceil_mode` the last window may exceed the input. With `count_include_pad` the zeros of
    /// the padding count in the mean.
    bool ceil_mode = false, count_include_pad = true;
    std::optional<double> divisor_override = {}; // Replaces the number of elements. 0 is an Error.
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

/// The maxima and their indices.
template <RealScalar T>
std::pair<Tensor<T>, Tensor<std::int64_t>> max_pool(Tensor<T> const& x, SharedWindows windows) {
    auto const from = xgrad::detail::contiguous(x.array_of());
    xgrad::detail::Array<std::int64_t> indices(windows->pooled(x.shape()));
    std::size_t const plane = windows->height * windows->width, count = windows->count();
    auto const turns = columns_in_turn(*windows);
    std::vector<T> largest(windows->columns.size());
    for (std::size_t i = 0, planes = indices.numel / count; i < planes; ++i)
        find_largest(
            *windows, turns, from.begin() + i * plane, largest.data(), indices.begin() + i * count);
    return {
        express(PickFromPlanes{{}, std::move(windows), indices}, x), Tensor<std::int64_t>(indices)};
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
/// The maximum of each window over two axes: x of shape [N, C, H, W] or [C, H, W].
template <RealScalar T>
Tensor<T> max_pool2d(
    Tensor<T> const& x, PerAxis<2> kernel_size, MaxPoolOptions<2> const& options = {}) {
    return detail::max_pool(
        x, detail::max_pool_windows("max_pool2d", x.shape(), kernel_size, options))
        .first;
}
/// max_pool2d(), and the index w + h W of each maximum in its plane.
template <RealScalar T>
std::pair<Tensor<T>, Tensor<std::int64_t>> max_pool2d_with_indices(
    Tensor<T> const& x, PerAxis<2> kernel_size, MaxPoolOptions<2> const& options = {}) {
    auto windows =
        detail::max_pool_windows("max_pool2d_with_indices", x.shape(), kernel_size, options);
    auto [largest, indices] = detail::max_pool(x, std::move(windows));
    return {std::move(largest), indices.clone()}; // the caller may change the indices
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

/// The means of n windows, where n is the output size: window i on an extent L is from floor(i L/n)
/// to ceil((i+1) L/n).
template <Differentiable T>
Tensor<T> adaptive_avg_pool1d(Tensor<T> const& x, PerAxis<1> output_size) {
    return express(
        AverageWindows{{}, detail::even_windows("adaptive_avg_pool1d", x.shape(), output_size)}, x);
}
/// adaptive_avg_pool1d() over two axes.
template <Differentiable T>
Tensor<T> adaptive_avg_pool2d(Tensor<T> const& x, PerAxis<2> output_size) {
    return express(
        AverageWindows{{}, detail::even_windows("adaptive_avg_pool2d", x.shape(), output_size)}, x);
}

} // namespace functional
} // namespace xgrad::nn
