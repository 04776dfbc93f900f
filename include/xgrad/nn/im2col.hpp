// The parts of images that windows see, as the columns of a matrix: a convolution is then a product of matrices. Some
// windows at a time, so that their matrix stays in the cache.
#pragma once

#include <cstring>

#include <xgrad/base/scratch.hpp>
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
    std::size_t windows() const { return rows.windows * columns.windows; }
    /// How many numbers a window sees.
    std::size_t depth() const { return channels_of_group() * rows.kernel * columns.kernel; }
    bool is_padded() const { return rows.padding || columns.padding; }
    /// Each window is one pixel: the images themselves are the matrix.
    bool is_pointwise() const { return rows.kernel == 1 && columns.kernel == 1 && rows.stride == 1 && columns.stride == 1 && !is_padded() && rows.windows == rows.extent && columns.windows == columns.extent; }

    Shape image_shape() const { return shape(batch, channels, rows.extent, columns.extent); }
    Shape product_shape() const { return shape(batch, filters, rows.windows, columns.windows); }
    Shape filter_shape() const { return shape(filters, channels_of_group(), rows.kernel, columns.kernel); }

private:
    Shape shape(std::size_t first, std::size_t second, std::size_t height, std::size_t width) const { return axes == 1 ? Shape{first, second, width} : Shape{first, second, height, width}; }
};

/// The windows of several whole images, or of some rows of windows on one.
struct Chunk {
    std::size_t sample = 0, samples = 1, row = 0, rows = 1;

    std::size_t windows(ConvGeometry const& g) const { return samples * rows * g.columns.windows; }
};

/// How many windows at a time: their columns should stay in the second cache.
inline Chunk largest_chunk(ConvGeometry const& g, std::size_t element)
{
    constexpr std::size_t room = std::size_t{1} << 18;
    std::size_t const fitting = std::max<std::size_t>(1, room / element / std::max<std::size_t>(1, g.depth()));
    if (g.is_pointwise() && g.windows() >= 64) return {.rows = g.rows.windows};
    if (fitting < g.windows()) return {.rows = std::clamp<std::size_t>(fitting / g.columns.windows, 1, g.rows.windows)};
    return {.samples = std::min(g.batch, fitting / g.windows()), .rows = g.rows.windows};
}

/// Calls f for each chunk of all windows.
template <class F> void for_each_chunk(ConvGeometry const& g, Chunk const& largest, F f)
{
    for (std::size_t sample = 0; sample < g.batch; sample += largest.samples)
        for (std::size_t row = 0; row < g.rows.windows; row += largest.rows)
            f(Chunk{sample, std::min(largest.samples, g.batch - sample), row, std::min(largest.rows, g.rows.windows - row)});
}

/// Visits columns and images of one group side by side: f(numbers in the matrix, numbers in the image) for the same place in all
/// windows of one sample. `images` has its padding.
template <class T, class Image, class F> void for_each_place(ConvGeometry const& g, Chunk const& chunk, T* matrix, Image* images, std::size_t image_step, F f)
{
    std::size_t const width = g.columns.padded(), plane = g.rows.padded() * width;
    for (std::size_t c = 0; c < g.channels_of_group(); ++c)
        for (std::size_t i = 0; i < g.rows.kernel; ++i)
            for (std::size_t j = 0; j < g.columns.kernel; ++j) {
                Image* image = images + c * plane + (chunk.row * g.rows.stride + i * g.rows.dilation) * width + j * g.columns.dilation;
                for (std::size_t s = 0; s < chunk.samples; ++s, image += image_step, matrix += chunk.rows * g.columns.windows) f(matrix, image);
            }
}

/// One row of n numbers, by fours where it has as many: short rows are what a small image is made of.
template <class T> XGRAD_INLINE void copy_row(T* to, T const* from, std::size_t n)
{
    constexpr std::size_t step = 4;
    if (n < step) {
        for (std::size_t q = 0; q < n; ++q) to[q] = from[q];
        return;
    }
    for (std::size_t q = 0; q + step <= n; q += step) std::memcpy(static_cast<void*>(to + q), from + q, step * sizeof(T));
    std::memcpy(static_cast<void*>(to + n - step), from + n - step, step * sizeof(T));
}
template <class T> XGRAD_INLINE void add_row(T* to, T const* from, std::size_t n)
{
    constexpr std::size_t step = 4;
    std::size_t q = 0;
    for (; q + step <= n; q += step) {  // through registers: compilers need not ask whether the rows overlap
        T sum[step], more[step];
        std::memcpy(static_cast<void*>(sum), to + q, sizeof sum);
        std::memcpy(static_cast<void*>(more), from + q, sizeof more);
        for (std::size_t k = 0; k < step; ++k) sum[k] += more[k];
        std::memcpy(static_cast<void*>(to + q), sum, sizeof sum);
    }
    for (; q < n; ++q) to[q] += from[q];
}

/// The columns of the windows of a chunk.
template <class T> void gather_columns(ConvGeometry const& g, Chunk const& chunk, T* matrix, T const* images, std::size_t image_step)
{
    std::size_t const n = g.columns.windows, step = g.columns.stride, line = g.rows.stride * g.columns.padded();
    if (step == 1)
        for_each_place(g, chunk, matrix, images, image_step, [=](T* to, T const* from) {
            for (std::size_t r = 0; r < chunk.rows; ++r, to += n, from += line) copy_row(to, from, n);
        });
    else
        for_each_place(g, chunk, matrix, images, image_step, [=](T* to, T const* from) {
            for (std::size_t r = 0; r < chunk.rows; ++r, to += n, from += line)
                for (std::size_t q = 0; q < n; ++q) to[q] = from[q * step];
        });
}
/// Adds each column to where its numbers come from: the adjoint of gather_columns().
template <class T> void scatter_columns(ConvGeometry const& g, Chunk const& chunk, T const* matrix, T* images, std::size_t image_step)
{
    std::size_t const n = g.columns.windows, step = g.columns.stride, line = g.rows.stride * g.columns.padded();
    if (step == 1)
        for_each_place(g, chunk, matrix, images, image_step, [=](T const* from, T* to) {
            for (std::size_t r = 0; r < chunk.rows; ++r, from += n, to += line) add_row(to, from, n);
        });
    else
        for_each_place(g, chunk, matrix, images, image_step, [=](T const* from, T* to) {
            for (std::size_t r = 0; r < chunk.rows; ++r, from += n, to += line)
                for (std::size_t q = 0; q < n; ++q) to[q * step] += from[q];
        });
}

/// Visits the lines of images without padding and with it: f(line of the plain one, line of the padded one). `padded` has the
/// channels of one group only.
template <class P, class Q, class F> void for_each_line(ConvGeometry const& g, std::size_t samples, P* plain, Q* padded, F f)
{
    std::size_t const height = g.rows.extent, width = g.columns.extent, line = g.columns.padded();
    for (std::size_t s = 0; s < samples; ++s)
        for (std::size_t c = 0; c < g.channels_of_group(); ++c, padded += g.rows.padded() * line) {
            P* at = plain + (s * g.channels + c) * height * width;
            for (std::size_t h = 0; h < height; ++h, at += width) f(at, padded + (h + g.rows.padding) * line + g.columns.padding);
        }
}

}  // namespace xgrad::nn::detail
