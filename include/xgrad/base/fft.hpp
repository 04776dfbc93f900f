// The discrete Fourier transform of one line, or of many, for any length.
//
// A long line of n1 * n2 points is seen as an n1 x n2 matrix: transform its columns, multiply by phases and transpose,
// transform the columns again. Both times `Columns` (fft_columns.hpp) takes a tile of some columns that fits the cache and
// fills its SIMD lanes with them; many short lines are columns of a tile from the start. A length with a large prime
// factor becomes a convolution of a smooth length (Bluestein). FftPlan chooses; the functions at the end keep its plans.
#pragma once

#include <algorithm>
#include <bit>
#include <complex>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <xgrad/base/fft_columns.hpp>
#include <xgrad/base/scratch.hpp>
#include <xgrad/base/vec.hpp>

namespace xgrad::detail {
namespace kernel {

/// A matrix of complex numbers in memory: element (i, j) is data[i * down + j * right].
template <class Z> struct Grid {
    Z* data;
    std::ptrdiff_t down, right;

    Z* at(std::size_t i, std::size_t j) const
    {
        return data + static_cast<std::ptrdiff_t>(i) * down + static_cast<std::ptrdiff_t>(j) * right;
    }
};

template <class T> void transpose_both(std::size_t rows, std::size_t columns, Split<T> from, Split<T> to)
{
    transpose(rows, columns, from.re, columns, to.re, rows);
    transpose(rows, columns, from.im, columns, to.im, rows);
}

/// Reads a rows x columns matrix into a tile; `spare` is as large.
template <class T>
void load_tile(Grid<std::complex<T> const> from, std::size_t rows, std::size_t columns, Split<T> tile, Split<T> spare)
{
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

/// The way back.
template <class T>
void store_tile(Split<T> tile, std::size_t rows, std::size_t columns, Grid<std::complex<T>> to, Split<T> spare)
{
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

/// Hands out parts of a scratch memory, each at a cache line. The line between real and imaginary parts keeps those of
/// the same element out of the same cache set where sizes are powers of two.
template <class T> class Room {
public:
    explicit Room(T* begin) : next_(begin) {}

    static std::size_t needed(std::size_t count) { return 2 * padded(count); }
    Split<T> take(std::size_t count)
    {
        Split<T> const part{next_, next_ + padded(count)};
        next_ += needed(count);
        return part;
    }

private:
    static std::size_t padded(std::size_t count) { return (count + 31) / 16 * 16; }

    T* next_;
};

/// Columns lie in tiles [begin, begin + width); the last tile may overlap the one before, to be as wide as the others.
struct Tiling {
    std::size_t count, width;

    Tiling(std::size_t columns, std::size_t rows) : count(columns), width(std::min(columns, std::max(fit / rows / 16, std::size_t{1}) * 16)) {}
    std::size_t tiles() const { return (count + width - 1) / width; }
    std::size_t begin(std::size_t tile) const { return std::min(tile * width, count - width); }

    static constexpr std::size_t fit = 512;            // complex numbers; two tiles of them are in the L1 cache together
};

/// The transform of one line of n1 * n2 points.
template <class T> class FourStep {
public:
    FourStep(std::size_t n1, std::size_t n2) : n1_(n1), n2_(n2), first_(n1), second_(n2), phases_(2 * n1 * first_tiling().width)
    {
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

    std::size_t scratch_size() const { return Room<T>::needed(n1_ * n2_) + 2 * Room<T>::needed(tile_size()); }
    std::size_t table_size() const { return first_.table_size() + second_.table_size() + starts_.size() + phases_.size() / 2; }

    void run(std::complex<T> const* in, std::ptrdiff_t is, std::complex<T>* out, std::ptrdiff_t os, bool backward, T* scratch) const
    {
        Room<T> room(scratch);
        auto const matrix = room.take(n1_ * n2_), a = room.take(tile_size()), b = room.take(tile_size());
        auto const n1 = static_cast<std::ptrdiff_t>(n1_), n2 = static_cast<std::ptrdiff_t>(n2_);
        auto const turned = [&](Split<T> x) { return backward ? x.swapped() : x; };

        auto tiling = first_tiling();
        for (std::size_t tile = 0; tile < tiling.tiles(); ++tile) {
            auto const begin = tiling.begin(tile);
            Grid<std::complex<T> const> const columns{in + static_cast<std::ptrdiff_t>(begin) * is, n2 * is, is};
            load_tile(columns, n1_, tiling.width, turned(a), turned(b));
            auto const done = first_.run(a, tiling.width, a, b, tiling.width), other = done.re == a.re ? b : a;
            multiply_phases(tile, done, other);
            transpose_both(n1_, tiling.width, other, matrix + begin * n1_);
        }
        tiling = second_tiling();
        for (std::size_t tile = 0; tile < tiling.tiles(); ++tile) {
            auto const begin = tiling.begin(tile);
            auto const done = second_.run(matrix + begin, n1_, a, b, tiling.width), other = done.re == a.re ? b : a;
            Grid<std::complex<T>> const columns{out + static_cast<std::ptrdiff_t>(begin) * os, n1 * os, os};
            store_tile(turned(done), n2_, tiling.width, columns, turned(other));
        }
    }

private:
    Tiling first_tiling() const { return {n2_, n1_}; }
    Tiling second_tiling() const { return {n1_, n2_}; }
    std::size_t tile_size() const { return std::max(n1_ * first_tiling().width, n2_ * second_tiling().width); }
    Split<T const> phases() const { return {phases_.data(), phases_.data() + phases_.size() / 2}; }

    /// to[k, j] = from[k, j] * exp(-2 pi i k (begin + j) / n), the root being a product of one per tile and row, and one
    /// per place in the tile: a table of all n would cost more to read than the product.
    void multiply_phases(std::size_t tile, Split<T> from, Split<T> to) const
    {
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
}  // namespace kernel

template <class T> class FftPlan;

namespace kernel {

/// A length with a large prime factor: jk = (j^2 + k^2 - (k - j)^2) / 2 turns the transform into a convolution with
/// exp(pi i j^2 / n), done with transforms of a smooth length.
template <class T> class Convolution {
    using Complex = std::complex<T>;

public:
    explicit Convolution(std::size_t n) : plan_(smooth_length(2 * n - 1)), spectrum_(plan_.size())
    {
        Roots<T> const roots(2 * n);
        for (std::size_t j = 0, square = 0; j < n; square = (square + 2 * j + 1) % (2 * n), ++j) {
            auto const w = roots(square);
            chirp_.emplace_back(w.re, w.im);
        }
        auto const m = plan_.size();
        auto const scale = 1 / static_cast<T>(m);
        for (std::size_t j = 0; j < n; ++j) spectrum_[j] = spectrum_[(m - j) % m] = std::conj(chirp_[j]) * scale;
        Scratch<T> const scratch(plan_.scratch_size());
        plan_.transform(spectrum_.data(), 1, spectrum_.data(), 1, -1, scratch.data());
    }

    std::size_t scratch_size() const { return Room<T>::needed(plan_.size()) + plan_.scratch_size(); }
    std::size_t table_size() const { return plan_.table_size() + chirp_.size() + spectrum_.size(); }

    void run(Complex const* in, std::ptrdiff_t is, Complex* out, std::ptrdiff_t os, bool backward, T* scratch) const
    {
        auto const m = plan_.size(), n = chirp_.size();
        auto* const y = reinterpret_cast<Complex*>(scratch);
        auto const turned = [=](Complex z) { return backward ? Complex(z.imag(), z.real()) : z; };
        auto const times = [](Complex a, Complex b) {
            return Complex(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
        };
        scratch += Room<T>::needed(m);
        for (std::size_t j = 0; j < n; ++j) y[j] = times(turned(in[static_cast<std::ptrdiff_t>(j) * is]), chirp_[j]);
        std::fill(y + n, y + m, Complex());
        plan_.transform(y, 1, y, 1, -1, scratch);
        for (std::size_t j = 0; j < m; ++j) y[j] = times(y[j], spectrum_[j]);
        plan_.transform(y, 1, y, 1, 1, scratch);
        for (std::size_t j = 0; j < n; ++j) out[static_cast<std::ptrdiff_t>(j) * os] = turned(times(y[j], chirp_[j]));
    }

private:
    /// The next length of at least n that is a power of two, or one times 9/8, 5/4, 3/2 or 15/8.
    static std::size_t smooth_length(std::size_t n)
    {
        std::size_t const power = std::bit_floor(n);
        for (std::size_t const eighths : {8, 9, 10, 12, 15})
            if (power % 8 == 0 && power / 8 * eighths >= n) return power / 8 * eighths;
        return 2 * power;
    }

    FftPlan<T> plan_;
    std::vector<Complex> chirp_, spectrum_;
};
}  // namespace kernel

/// The transforms of n points, prepared: factors, roots of unity, the way to go. Threads may share a plan.
template <class T> class FftPlan {
    using Complex = std::complex<T>;

public:
    /// For n >= 1 points.
    explicit FftPlan(std::size_t n) : n_(n)
    {
        if (n < 2) return;
        if (!kernel::Columns<T>::can(n)) {
            convolution_ = std::make_unique<kernel::Convolution<T>>(n);
            return;
        }
        auto const n1 = middle_divisor(n);
        if (n <= longest_column) columns_.emplace(n);
        if (n >= shortest_four_step && n1 >= 4) four_step_.emplace(n1, n / n1);
    }

    std::size_t size() const { return n_; }

    /// Numbers T of working memory that a transform needs.
    std::size_t scratch_size() const
    {
        if (convolution_) return convolution_->scratch_size();
        return std::max(four_step_ ? four_step_->scratch_size() : 0, 2 * kernel::Room<T>::needed(n_ * (columns_ ? tile_width() : 0)));
    }
    /// Complex numbers in its tables.
    std::size_t table_size() const
    {
        return (convolution_ ? convolution_->table_size() : 0) + (four_step_ ? four_step_->table_size() : 0)
               + (columns_ ? columns_->table_size() : 0);
    }

    /// out[k * os] = sum_j in[j * is] exp(sign 2 pi i j k / n). in and out may be the same, with equal strides.
    void transform(Complex const* in, std::ptrdiff_t is, Complex* out, std::ptrdiff_t os, int sign, T* scratch) const
    {
        bool const backward = sign > 0;
        if (convolution_) convolution_->run(in, is, out, os, backward, scratch);
        else if (four_step_) four_step_->run(in, is, out, os, backward, scratch);
        else transform_tile({in, is, 0}, {out, os, 0}, 1, backward, scratch);
    }

    /// `count` transforms: line i begins at in + i * in_distance and goes to out + i * out_distance.
    void transform_many(Complex const* in, std::ptrdiff_t is, std::ptrdiff_t in_distance, Complex* out, std::ptrdiff_t os,
                        std::ptrdiff_t out_distance, std::size_t count, int sign, T* scratch) const
    {
        bool const lines_lie_close = std::abs(in_distance) < std::abs(is);
        bool const as_tiles = n_ == 1 || (columns_ && ((count > 1 && lines_lie_close) || !four_step_));
        auto const step = as_tiles ? tile_width() : 1;
        for (std::size_t i = 0; i < count; i += step) {
            auto const* const from = in + static_cast<std::ptrdiff_t>(i) * in_distance;
            auto* const to = out + static_cast<std::ptrdiff_t>(i) * out_distance;
            if (as_tiles)
                transform_tile({from, is, in_distance}, {to, os, out_distance}, std::min(step, count - i), sign > 0, scratch);
            else
                transform(from, is, to, os, sign, scratch);
        }
    }

private:
    void transform_tile(kernel::Grid<Complex const> in, kernel::Grid<Complex> out, std::size_t columns, bool backward, T* scratch) const
    {
        kernel::Room<T> room(scratch);
        auto const a = room.take(n_ * columns), b = room.take(n_ * columns);
        auto const turned = [&](kernel::Split<T> x) { return backward ? x.swapped() : x; };
        kernel::load_tile(in, n_, columns, turned(a), turned(b));
        auto const done = columns_ ? columns_->run(a, columns, a, b, columns) : a;
        kernel::store_tile(turned(done), n_, columns, out, turned(done.re == a.re ? b : a));
    }

    std::size_t tile_width() const { return std::max(tile_points / n_ / 16, std::size_t{1}) * 16; }

    /// The largest divisor up to the root of n.
    static std::size_t middle_divisor(std::size_t n)
    {
        std::size_t best = 1;
        for (std::size_t d = 1; d * d <= n; ++d)
            if (n % d == 0) best = d;
        return best;
    }

    static constexpr std::size_t longest_column = 32768, shortest_four_step = 128, tile_points = 512;

    std::size_t n_;
    std::optional<kernel::Columns<T>> columns_;
    std::optional<kernel::FourStep<T>> four_step_;
    std::unique_ptr<kernel::Convolution<T>> convolution_;
};

/// The plan for n points that this thread used lately, or a new one.
template <class T> std::shared_ptr<FftPlan<T> const> fft_plan(std::size_t n)
{
    using Plan = std::shared_ptr<FftPlan<T> const>;
    constexpr std::size_t most_plans = 16, most_numbers = std::size_t{1} << 21;
    thread_local std::vector<Plan> plans;               // the one used last comes first

    auto const found = std::find_if(plans.begin(), plans.end(), [n](Plan const& p) { return p->size() == n; });
    if (found != plans.end()) {
        std::rotate(plans.begin(), found, found + 1);
        return plans.front();
    }
    Plan plan = std::make_shared<FftPlan<T>>(n);
    plans.reserve(most_plans + 1);
    plans.insert(plans.begin(), plan);
    std::size_t kept = 0, numbers = 0;
    while (kept < std::min(plans.size(), most_plans) && (numbers += plans[kept]->table_size()) <= most_numbers) ++kept;
    plans.resize(std::max(kept, std::size_t{1}));
    return plan;
}

/// `howmany` unnormalised DFTs of n points, T = float or double, n >= 1: line i begins at in + i * in_dist and its
/// transform at out + i * out_dist; see fft. Lines that lie side by side (a column pass) are taken together.
template <class T>
void fft_many(std::complex<T> const* in, std::ptrdiff_t is, std::ptrdiff_t in_dist, std::complex<T>* out, std::ptrdiff_t os,
              std::ptrdiff_t out_dist, std::size_t n, std::size_t howmany, int sign)
{
    if (n == 0 || howmany == 0) return;
    auto const plan = fft_plan<T>(n);
    kernel::Scratch<T> const scratch(plan->scratch_size());
    plan->transform_many(in, is, in_dist, out, os, out_dist, howmany, sign, scratch.data());
}

/// Unnormalised DFT of n points for T = float or double, any n >= 1: out[k*os] = sum_j in[j*is] exp(sign*2*pi*i*j*k/n).
/// in and out may be the same (with equal strides), and must not overlap otherwise.
template <class T>
void fft(std::complex<T> const* in, std::ptrdiff_t is, std::complex<T>* out, std::ptrdiff_t os, std::size_t n, int sign)
{
    if (n == 0) return;
    auto const plan = fft_plan<T>(n);
    kernel::Scratch<T> const scratch(plan->scratch_size());
    plan->transform(in, is, out, os, sign, scratch.data());
}
}  // namespace xgrad::detail
