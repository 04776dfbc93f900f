// The algorithms of the discrete Fourier transform of one line or of many lines, for any length.
//
// FftPlan chooses the algorithm. Lengths without large prime factors use Columns (fft_columns.hpp),
// which transforms all columns of a tile at once: one short line is one column, many short lines
// are the columns of a tile, and a long line is a matrix whose columns are transformed twice
// (fft_four_step.hpp). A length with a large prime factor becomes a convolution of a smooth length
// (Bluestein's algorithm). fft_plan, at the end, caches plans by length.
#pragma once

#include <algorithm>
#include <bit>
#include <complex>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

#include <xgrad/core/scratch.hpp>
#include <xgrad/kernels/fft_columns.hpp>
#include <xgrad/kernels/fft_four_step.hpp>

namespace xgrad::detail {

template <class T> class FftPlan;

namespace kernel {

/// Bluestein's algorithm for lengths with a large prime factor: jk = (j^2 + k^2 - (k - j)^2) / 2
/// makes the transform a convolution with exp(pi i j^2 / n), computed by transforms of a smooth
/// length.
template <class T> class Convolution {
    using Complex = std::complex<T>;

public:
    explicit Convolution(std::size_t n) : plan_(smooth_length(2 * n - 1)), spectrum_(plan_.size()) {
        Roots<T> const roots(2 * n);
        for (std::size_t j = 0, square = 0; j < n; square = (square + 2 * j + 1) % (2 * n), ++j) {
            auto const w = roots(square);
            chirp_.emplace_back(w.re, w.im);
        }
        auto const m = plan_.size();
        auto const scale = 1 / static_cast<T>(m);
        for (std::size_t j = 0; j < n; ++j)
            spectrum_[j] = spectrum_[(m - j) % m] = std::conj(chirp_[j]) * scale;
        Scratch<T> const scratch(plan_.scratch_size());
        plan_.transform(spectrum_.data(), 1, spectrum_.data(), 1, -1, scratch.data());
    }

    std::size_t scratch_size() const {
        return ScratchParts<T>::needed(plan_.size()) + plan_.scratch_size();
    }
    std::size_t table_size() const { return plan_.table_size() + chirp_.size() + spectrum_.size(); }

    void run(Complex const* in, std::ptrdiff_t is, Complex* out, std::ptrdiff_t os, bool backward,
        T* scratch) const {
        auto const m = plan_.size(), n = chirp_.size();
        auto* const y = reinterpret_cast<Complex*>(scratch);
        auto const exchanged = [=](Complex z) {
            return backward ? Complex(z.imag(), z.real()) : z;
        };
        auto const times = [](Complex a, Complex b) {
            return Complex(a.real() * b.real() - a.imag() * b.imag(),
                a.real() * b.imag() + a.imag() * b.real());
        };
        scratch += ScratchParts<T>::needed(m);
        for (std::size_t j = 0; j < n; ++j)
            y[j] = times(exchanged(in[static_cast<std::ptrdiff_t>(j) * is]), chirp_[j]);
        std::fill(y + n, y + m, Complex());
        plan_.transform(y, 1, y, 1, -1, scratch);
        for (std::size_t j = 0; j < m; ++j) y[j] = times(y[j], spectrum_[j]);
        plan_.transform(y, 1, y, 1, 1, scratch);
        for (std::size_t j = 0; j < n; ++j)
            out[static_cast<std::ptrdiff_t>(j) * os] = exchanged(times(y[j], chirp_[j]));
    }

private:
    /// The smallest length of at least n that is a power of two times 1, 9/8, 5/4, 3/2 or 15/8.
    static std::size_t smooth_length(std::size_t n) {
        std::size_t const power = std::bit_floor(n), some_eighths[] = {8, 9, 10, 12, 15};
        for (auto const eighths : some_eighths)
            if (power % 8 == 0 && power / 8 * eighths >= n) return power / 8 * eighths;
        return 2 * power;
    }

    FftPlan<T> plan_;
    std::vector<Complex> chirp_, spectrum_;
};
} // namespace kernel

/// A plan for transforms of n points: the algorithm, the factors of n and the twiddle factors. It
/// is immutable, so that threads may share it.
template <class T> class FftPlan {
    using Complex = std::complex<T>;

public:
    /// A plan for n >= 1 points.
    explicit FftPlan(std::size_t n) : n_(n) {
        if (!kernel::Columns<T>::can(n)) {
            convolution_ = std::make_unique<kernel::Convolution<T>>(n);
            return;
        }
        auto const n1 = middle_divisor(n);
        if (n <= longest_column) columns_.emplace(n);
        if (!columns_ || (n >= shortest_four_step && n1 >= 4)) four_step_.emplace(n1, n / n1);
    }

    std::size_t size() const { return n_; }

    /// The size of the scratch memory of a transform, in elements T.
    std::size_t scratch_size() const {
        if (convolution_) return convolution_->scratch_size();
        return std::max(four_step_ ? four_step_->scratch_size() : 0,
            columns_ ? 2 * kernel::ScratchParts<T>::needed(n_ * kernel::tile_width(n_)) : 0);
    }
    /// The number of complex numbers in the plan's tables.
    std::size_t table_size() const {
        return (convolution_ ? convolution_->table_size() : 0) +
               (four_step_ ? four_step_->table_size() : 0) +
               (columns_ ? columns_->table_size() : 0);
    }

    /// out[k * os] = sum_j in[j * is] exp(sign 2 pi i j k / n). in and out may be the same, with
    /// equal strides.
    void transform(Complex const* in, std::ptrdiff_t is, Complex* out, std::ptrdiff_t os, int sign,
        T* scratch) const {
        bool const backward = sign > 0;
        if (convolution_) convolution_->run(in, is, out, os, backward, scratch);
        else if (four_step_) four_step_->run(in, is, out, os, backward, scratch);
        else transform_tile({in, is, 0}, {out, os, 0}, 1, backward, scratch);
    }

    /// Computes `count` transforms: line i starts at in + i * in_distance, its transform at out + i
    /// * out_distance.
    void transform_many(Complex const* in, std::ptrdiff_t is, std::ptrdiff_t in_distance,
        Complex* out, std::ptrdiff_t os, std::ptrdiff_t out_distance, std::size_t count, int sign,
        T* scratch) const {
        bool const lines_lie_close = std::abs(in_distance) < std::abs(is);
        bool const as_tiles = columns_ && (!four_step_ || (count > 1 && lines_lie_close));
        auto const step = as_tiles ? kernel::tile_width(n_) : 1;
        for (std::size_t i = 0; i < count; i += step) {
            auto const* const from = in + static_cast<std::ptrdiff_t>(i) * in_distance;
            auto* const to = out + static_cast<std::ptrdiff_t>(i) * out_distance;
            auto const columns = std::min(step, count - i);
            if (!as_tiles) transform(from, is, to, os, sign, scratch);
            else
                transform_tile(
                    {from, is, in_distance}, {to, os, out_distance}, columns, sign > 0, scratch);
        }
    }

private:
    void transform_tile(kernel::Grid<Complex const> in, kernel::Grid<Complex> out,
        std::size_t columns, bool backward, T* scratch) const {
        kernel::ScratchParts<T> parts(scratch);
        auto const a = parts.take(n_ * columns), b = parts.take(n_ * columns);
        kernel::load_tile(in, n_, columns, a.exchanged(backward), b.exchanged(backward));
        auto const done = columns_->run(a, columns, a, b, columns), other = done.re == a.re ? b : a;
        kernel::store_tile(done.exchanged(backward), n_, columns, out, other.exchanged(backward));
    }

    /// The largest divisor of n up to sqrt(n).
    static std::size_t middle_divisor(std::size_t n) {
        std::size_t best = 1;
        for (std::size_t d = 1; d * d <= n; ++d)
            if (n % d == 0) best = d;
        return best;
    }

    static constexpr std::size_t longest_column = 32768, shortest_four_step = 128;

    std::size_t n_;
    std::optional<kernel::Columns<T>> columns_;
    std::optional<kernel::FourStep<T>> four_step_;
    std::unique_ptr<kernel::Convolution<T>> convolution_;
};

/// The plan for n points from this thread's cache (least recently used plans are dropped), or a new
/// one.
template <class T> std::shared_ptr<FftPlan<T> const> fft_plan(std::size_t n) {
    using Plan = std::shared_ptr<FftPlan<T> const>;
    constexpr std::size_t max_plans = 16, max_numbers = std::size_t{1} << 22;
    thread_local std::vector<Plan> plans; // the one used last comes first

    auto const found =
        std::find_if(plans.begin(), plans.end(), [n](Plan const& p) { return p->size() == n; });
    if (found != plans.end()) {
        std::rotate(plans.begin(), found, found + 1);
        return plans.front();
    }
    Plan plan = std::make_shared<FftPlan<T>>(n);
    plans.reserve(max_plans + 1);
    plans.insert(plans.begin(), plan);
    std::size_t kept = 0, numbers = 0;
    while (kept < std::min(plans.size(), max_plans) &&
           (numbers += plans[kept]->table_size()) <= max_numbers)
        ++kept;
    plans.resize(std::max(kept, std::size_t{1}));
    return plan;
}

} // namespace xgrad::detail
