// The discrete Fourier transform of one long line by the four-step algorithm: view n1 * n2 points
// as an n1 x n2 matrix, transform its columns, multiply by twiddle factors, transpose, transform
// the columns again. Both times `Columns` (fft_columns.hpp) transforms a tile of columns that fits
// the L1 cache. All SIMD lanes are used, and memory is traversed only twice.
//
// load_tile and store_tile copy tiles from and to memory with any strides.
#pragma once

#include <algorithm>
#include <complex>
#include <cstddef>
#include <vector>

#include <xgrad/core/vector.hpp>
#include <xgrad/kernels/fft_columns.hpp>

namespace xgrad::detail::kernel {

/// A matrix of complex numbers in memory: element (i, j) is data[i * down + j * right].
template <class Z> struct Grid {
    Z* data;
    std::ptrdiff_t down, right;

    Z* at(std::size_t i, std::size_t j) const {
        return data + static_cast<std::ptrdiff_t>(i) * down +
               static_cast<std::ptrdiff_t>(j) * right;
    }
    Grid from(std::size_t i, std::size_t j) const { return {at(i, j), down, right}; }
};

template <class T>
void transpose_both(std::size_t rows, std::size_t columns, Split<T> from, Split<T> to) {
    transpose(rows, columns, from.re, columns, to.re, rows);
    transpose(rows, columns, from.im, columns, to.im, rows);
}

/// Reads a rows x columns matrix into a tile; `spare` is as large as the tile.
template <class T>
void load_tile(Grid<std::complex<T> const> from, std::size_t rows, std::size_t columns,
    Split<T> tile, Split<T> spare) {
    auto const line = [&](std::size_t i, std::size_t j, std::size_t count, Split<T> to) {
        deinterleave(count, reinterpret_cast<T const*>(from.at(i, j)), to.re, to.im);
    };
    if (from.right == 1) {
        for (std::size_t i = 0; i < rows; ++i) line(i, 0, columns, tile + i * columns);
    } else if (from.down == 1 && columns == 1) {
        line(0, 0, rows, tile);
    } else if (from.down == 1) {
        for (std::size_t j = 0; j < columns; ++j) line(0, j, rows, spare + j * rows);
        transpose_both(columns, rows, spare, tile);
    } else {
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t j = 0; j < columns; ++j) line(i, j, 1, tile + (i * columns + j));
    }
}

/// Writes a tile to a rows x columns matrix; `spare` is as large as the tile.
template <class T>
void store_tile(Split<T> tile, std::size_t rows, std::size_t columns, Grid<std::complex<T>> to,
    Split<T> spare) {
    auto const line = [&](Split<T> from, std::size_t i, std::size_t j, std::size_t count) {
        interleave(count, from.re, from.im, reinterpret_cast<T*>(to.at(i, j)));
    };
    if (to.right == 1) {
        for (std::size_t i = 0; i < rows; ++i) line(tile + i * columns, i, 0, columns);
    } else if (to.down == 1 && columns == 1) {
        line(tile, 0, 0, rows);
    } else if (to.down == 1) {
        transpose_both(rows, columns, tile, spare);
        for (std::size_t j = 0; j < columns; ++j) line(spare + j * rows, 0, j, rows);
    } else {
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t j = 0; j < columns; ++j) line(tile + (i * columns + j), i, j, 1);
    }
}

/// Divides a scratch buffer into arrays aligned to cache lines. One cache line of padding between
/// real and imaginary parts avoids conflicts in a cache set if sizes are powers of two.
template <class T> class ScratchParts {
public:
    explicit ScratchParts(T* begin) : next_(begin) {}

    static std::size_t needed(std::size_t count) { return 2 * padded(count); }
    Split<T> take(std::size_t count) {
        Split<T> const part{next_, next_ + padded(count)};
        next_ += needed(count);
        return part;
    }

private:
    static std::size_t padded(std::size_t count) { return (count + 31) / 16 * 16; }

    T* next_;
};

/// The number of columns in a tile of `rows` rows: two tiles fit the L1 cache, and the width is a
/// multiple of every SIMD vector.
inline std::size_t tile_width(std::size_t rows) {
    constexpr std::size_t points = 512, widest_vector = 16;
    return std::max(points / rows / widest_vector, std::size_t{1}) * widest_vector;
}

/// Divides columns into tiles of equal width; the last tile may overlap the one before.
struct Tiling {
    std::size_t columns, width;

    Tiling(std::size_t rows, std::size_t count)
        : columns(count), width(std::min(count, tile_width(rows))) {}
    std::size_t tiles() const { return (columns + width - 1) / width; }
    std::size_t begin(std::size_t tile) const { return std::min(tile * width, columns - width); }
};

/// The four-step transform of one line of n1 * n2 points.
template <class T> class FourStep {
public:
    FourStep(std::size_t n1, std::size_t n2)
        : n1_(n1), n2_(n2), first_(n1), second_(n2), phases_(2 * n1 * first_tiling().width) {
        Roots<T> const roots(n1 * n2);
        auto const tiling = first_tiling();
        for (std::size_t tile = 0; tile < tiling.tiles(); ++tile)
            for (std::size_t k = 0; k < n1; ++k) starts_.push_back(roots(k * tiling.begin(tile)));
        for (std::size_t k = 0; k < n1; ++k)
            for (std::size_t j = 0; j < tiling.width; ++j) {
                auto const w = roots(k * j);
                phases_[k * tiling.width + j] = w.re;
                phases_[(n1 + k) * tiling.width + j] = w.im;
            }
    }

    std::size_t scratch_size() const {
        return ScratchParts<T>::needed(n1_ * n2_) + 2 * ScratchParts<T>::needed(tile_size());
    }
    std::size_t table_size() const {
        return first_.table_size() + second_.table_size() + starts_.size() + phases_.size() / 2;
    }

    void run(std::complex<T> const* in, std::ptrdiff_t is, std::complex<T>* out, std::ptrdiff_t os,
        bool backward, T* scratch) const {
        ScratchParts<T> parts(scratch);
        auto const matrix = parts.take(n1_ * n2_), a = parts.take(tile_size()),
                   b = parts.take(tile_size());
        transform_columns_of_input(in, is, backward, matrix, a, b);
        transform_columns_to_output(matrix, out, os, backward, a, b);
    }

private:
    Tiling first_tiling() const { return {n1_, n2_}; }
    Tiling second_tiling() const { return {n2_, n1_}; }
    std::size_t tile_size() const {
        return std::max(n1_ * first_tiling().width, n2_ * second_tiling().width);
    }
    Split<T const> phases() const { return {phases_.data(), phases_.data() + phases_.size() / 2}; }

    /// Transforms the columns of the line as an n1 x n2 matrix, multiplies by twiddle factors and
    /// transposes: `matrix` is n2 x n1.
    void transform_columns_of_input(std::complex<T> const* in, std::ptrdiff_t is, bool backward,
        Split<T> matrix, Split<T> a, Split<T> b) const {
        auto const tiling = first_tiling();
        auto const width = tiling.width;
        for (std::size_t tile = 0; tile < tiling.tiles(); ++tile) {
            auto const begin = tiling.begin(tile);
            Grid<std::complex<T> const> const line{in, static_cast<std::ptrdiff_t>(n2_) * is, is};
            load_tile(
                line.from(0, begin), n1_, width, a.exchanged(backward), b.exchanged(backward));
            auto const done = first_.run(a, width, a, b, width), other = done.re == a.re ? b : a;
            multiply_phases(tile, done, other);
            transpose_both(n1_, width, other, matrix + begin * n1_);
        }
    }

    /// Transforms the columns of `matrix` and writes the result row by row.
    void transform_columns_to_output(Split<T> matrix, std::complex<T>* out, std::ptrdiff_t os,
        bool backward, Split<T> a, Split<T> b) const {
        auto const tiling = second_tiling();
        auto const width = tiling.width;
        for (std::size_t tile = 0; tile < tiling.tiles(); ++tile) {
            auto const begin = tiling.begin(tile);
            auto const done = second_.run(matrix + begin, n1_, a, b, width),
                       other = done.re == a.re ? b : a;
            Grid<std::complex<T>> const line{out, static_cast<std::ptrdiff_t>(n1_) * os, os};
            store_tile(done.exchanged(backward), n2_, width, line.from(0, begin),
                other.exchanged(backward));
        }
    }

    /// to[k, j] = from[k, j] * exp(-2 pi i k (begin + j) / n). The twiddle factor is a product of
    /// one for tile and row and one for the position in the tile: reading a table of all n factors
    /// would take longer than the multiplication.
    void multiply_phases(std::size_t tile, Split<T> from, Split<T> to) const {
        auto const width = first_tiling().width;
        for (std::size_t k = 0; k < n1_; ++k) {
            auto const start = starts_[tile * n1_ + k];
            auto const x = from + k * width, y = to + k * width;
            auto const phase = phases() + k * width;
            cover<T>(width, [=]<class V>(std::size_t j) XGRAD_INLINE_LAMBDA {
                y.set(j, times(x.template get<V>(j), times(phase.template get<V>(j), start)));
            });
        }
    }

    std::size_t n1_, n2_;
    Columns<T> first_, second_;
    std::vector<Cx<T>> starts_;
    std::vector<T> phases_;
};
} // namespace xgrad::detail::kernel
