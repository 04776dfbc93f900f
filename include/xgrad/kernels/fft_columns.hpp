// The discrete Fourier transform of all columns of a tile at once, for lengths without large prime
// factors.
//
// Real and imaginary parts are stored in separate arrays (Split), and a row of the tile is
// contiguous. So every pass is a loop over contiguous lanes with scalar twiddle factors and without
// shuffles. Each pass handles one factor of the length (decimation in frequency) and writes its
// results in the order in which the next pass reads them (Stockham), so that there is no bit
// reversal. The code knows only exp(-2 pi i / n): a caller that exchanges real and imaginary parts
// of input and output gets the other sign. Read Columns, at the end, first.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <type_traits>
#include <utility>
#include <vector>

#include <xgrad/core/vector.hpp>

namespace xgrad::detail::kernel {

/// A complex number or a vector of complex numbers. Its product is 4 multiplications and 2
/// additions; that of std::complex also handles infinities.
template <class V> struct Cx {
    V re, im;
};

template <class V> [[gnu::always_inline]] inline Cx<V> operator+(Cx<V> const& a, Cx<V> const& b) {
    return {a.re + b.re, a.im + b.im};
}
template <class V> [[gnu::always_inline]] inline Cx<V> operator-(Cx<V> const& a, Cx<V> const& b) {
    return {a.re - b.re, a.im - b.im};
}
template <class V, class T> [[gnu::always_inline]] inline Cx<V> scaled(Cx<V> const& a, T s) {
    return {a.re * s, a.im * s};
}
template <class V> [[gnu::always_inline]] inline Cx<V> times_minus_i(Cx<V> const& a) {
    return {a.im, -a.re};
}
template <class V, class W>
[[gnu::always_inline]] inline Cx<V> times(Cx<V> const& a, Cx<W> const& w) {
    return {a.re * w.re - a.im * w.im, a.re * w.im + a.im * w.re};
}

/// A pointer to an array of complex numbers whose real and imaginary parts are in separate arrays.
template <class T> struct Split {
    T* re;
    T* im;

    Split operator+(std::size_t i) const { return {re + i, im + i}; }
    /// Exchanges real and imaginary parts if `yes`. Exchanged input and output invert the sign of
    /// the transform.
    Split exchanged(bool yes) const { return yes ? Split{im, re} : *this; }
    template <class V> [[gnu::always_inline]] inline Cx<V> get(std::size_t i) const {
        return {load<V>(re + i), load<V>(im + i)};
    }
    template <class V> [[gnu::always_inline]] inline void set(std::size_t i, Cx<V> const& x) const {
        store(re + i, x.re);
        store(im + i, x.im);
    }
};

/// exp(-2 pi i k / n), computed in the next higher precision from angles of at most pi / 4, so that
/// it is almost always correctly rounded.
template <class T> class Roots {
    using Wide = std::conditional_t<std::is_same_v<T, float>, double, long double>;

public:
    explicit Roots(std::size_t n) : n_(n) {
        while (step_ * step_ < n) step_ *= 2;
        for (std::size_t k = 0; k < step_; ++k) low_.push_back(root(k % n));
        for (std::size_t k = 0; k < n; k += step_) high_.push_back(root(k));
    }
    /// exp(-2 pi i k / n) for k < n.
    Cx<T> operator()(std::size_t k) const {
        auto const w = times(high_[k / step_], low_[k % step_]);
        return {static_cast<T>(w.re), static_cast<T>(w.im)};
    }

private:
    Cx<Wide> root(std::size_t k) const {
        std::size_t x = 8 * k; // the angle; 8 n is the full circle
        bool const below = x > 4 * n_;
        if (below) x = 8 * n_ - x;
        bool const left = x > 2 * n_;
        if (left) x = 4 * n_ - x;
        bool const steep = x > n_;
        if (steep) x = 2 * n_ - x;
        auto const angle =
            std::numbers::pi_v<Wide> * static_cast<Wide>(x) / static_cast<Wide>(4 * n_);
        Wide c = std::cos(angle), s = std::sin(angle);
        if (steep) std::swap(c, s);
        return {left ? -c : c, below ? s : -s};
    }

    std::size_t n_, step_ = 1;
    std::vector<Cx<Wide>> low_, high_;
};

// ───────── butterflies: transforms of a few points in registers

template <class T, class V> [[gnu::always_inline]] inline void butterfly(Cx<V> (&x)[2]) {
    auto const a = x[0];
    x[0] = a + x[1];
    x[1] = a - x[1];
}

template <class T, class V> [[gnu::always_inline]] inline void butterfly(Cx<V> (&x)[4]) {
    auto const a = x[0] + x[2], b = x[0] - x[2], c = x[1] + x[3], d = times_minus_i(x[1] - x[3]);
    x[0] = a + c;
    x[1] = b + d;
    x[2] = a - c;
    x[3] = b - d;
}

template <class T, class V> [[gnu::always_inline]] inline void butterfly(Cx<V> (&x)[8]) {
    constexpr T half = std::numbers::sqrt2_v<T> / 2;
    Cx<V> even[4] = {x[0], x[2], x[4], x[6]}, odd[4] = {x[1], x[3], x[5], x[7]};
    butterfly<T>(even);
    butterfly<T>(odd);
    odd[1] = scaled(odd[1] + times_minus_i(odd[1]), half);
    odd[2] = times_minus_i(odd[2]);
    odd[3] = scaled(times_minus_i(odd[3]) - odd[3], half);
    unroll<4>([&](auto k) XGRAD_INLINE_LAMBDA {
        x[k] = even[k] + odd[k];
        x[k + 4] = even[k] - odd[k];
    });
}

template <class T, class V> [[gnu::always_inline]] inline void butterfly(Cx<V> (&x)[3]) {
    constexpr T sine = std::numbers::sqrt3_v<T> / 2;
    auto const sum = x[1] + x[2], exchanged = scaled(times_minus_i(x[1] - x[2]), sine);
    auto const middle = x[0] - scaled(sum, T(0.5));
    x[0] = x[0] + sum;
    x[1] = middle + exchanged;
    x[2] = middle - exchanged;
}

template <class T, class V> [[gnu::always_inline]] inline void butterfly(Cx<V> (&x)[5]) {
    constexpr T c1 = T(0.309016994374947424102293417182819059L),
                s1 = T(0.951056516295153572116439333379382143L);
    constexpr T c2 = T(-0.809016994374947424102293417182819059L),
                s2 = T(0.587785252292473129168705954639072769L);
    auto const a = x[1] + x[4], b = x[2] + x[3], c = x[1] - x[4], d = x[2] - x[3], x0 = x[0];
    auto const u = x0 + scaled(a, c1) + scaled(b, c2),
               v = times_minus_i(scaled(c, s1) + scaled(d, s2));
    auto const w = x0 + scaled(a, c2) + scaled(b, c1),
               z = times_minus_i(scaled(c, s2) - scaled(d, s1));
    x[0] = x0 + a + b;
    x[1] = u + v;
    x[4] = u - v;
    x[2] = w + z;
    x[3] = w - z;
}

// ───────── passes

/// A pass for one factor of the length: input x[radix][rows][lanes], output y[rows][radix][lanes].
struct Pass {
    std::size_t radix, rows, repeat; // lanes = repeat * columns of the tile
    std::size_t twiddles;            // index of its first twiddle factor
};

template <std::size_t R, bool Twiddled, class T>
void butterfly_row(Split<T> x, std::size_t x_gap, Split<T> y, std::size_t lanes, Cx<T> const* w) {
    cover<T>(lanes, [=]<class V>(std::size_t i) XGRAD_INLINE_LAMBDA {
        Cx<V> v[R];
        unroll<R>([&](auto j) XGRAD_INLINE_LAMBDA { v[j] = x.template get<V>(i + j * x_gap); });
        butterfly<T>(v);
        unroll<R>([&](auto k) XGRAD_INLINE_LAMBDA {
            if constexpr (Twiddled && k > 0) v[k] = times(v[k], w[k - 1]);
            y.set(i + k * lanes, v[k]);
        });
    });
}

/// A pass of radix R; row r of the input starts at x + r * gap.
template <std::size_t R, class T>
void run_pass(
    Pass const& pass, Split<T> x, std::size_t gap, Split<T> y, std::size_t lanes, Cx<T> const* w) {
    butterfly_row<R, false>(x, pass.rows * gap, y, lanes, w);
    for (std::size_t p = 1; p < pass.rows; ++p)
        butterfly_row<R, true>(
            x + p * gap, pass.rows * gap, y + p * R * lanes, lanes, w + p * (R - 1));
}

inline constexpr std::size_t largest_radix = 61;

/// A pass for any odd prime radix; the roots of unity of that prime follow the twiddle factors.
template <class T>
void run_prime_pass(
    Pass const& pass, Split<T> x, std::size_t gap, Split<T> y, std::size_t lanes, Cx<T> const* w) {
    auto const r = pass.radix, half = r / 2, x_gap = pass.rows * gap;
    auto const* const root = w + pass.rows * (r - 1);
    for (std::size_t p = 0; p < pass.rows; ++p, x = x + gap, y = y + r * lanes, w += r - 1) {
        cover<T>(lanes, [=]<class V>(std::size_t i) XGRAD_INLINE_LAMBDA {
            Cx<V> sum[largest_radix / 2], difference[largest_radix / 2];
            auto const x0 = x.template get<V>(i);
            auto total = x0;
            for (std::size_t j = 0; j < half; ++j) {
                auto const a = x.template get<V>(i + (j + 1) * x_gap),
                           b = x.template get<V>(i + (r - 1 - j) * x_gap);
                sum[j] = a + b;
                difference[j] = times_minus_i(a - b);
                total = total + sum[j];
            }
            y.set(i, total);
            for (std::size_t k = 1; k <= half; ++k) {
                auto even = x0, odd = Cx<V>{};
                for (std::size_t j = 0, e = k; j < half; ++j, e = e + k < r ? e + k : e + k - r) {
                    even = even + scaled(sum[j], root[e].re);
                    odd = odd - scaled(difference[j], root[e].im);
                }
                y.set(i + k * lanes, times(even + odd, w[k - 1]));
                y.set(i + (r - k) * lanes, times(even - odd, w[r - k - 1]));
            }
        });
    }
}

/// The transform of every column of an n x width tile, for n without prime factors above
/// largest_radix.
template <class T> class Columns {
public:
    explicit Columns(std::size_t n) {
        Roots<T> const roots(n);
        std::size_t rows = n, repeat = 1;
        for (auto const radix : radices(n)) {
            rows /= radix;
            passes_.push_back({radix, rows, repeat, twiddles_.size()});
            for (std::size_t p = 0; p < rows; ++p)
                for (std::size_t k = 1; k < radix; ++k) twiddles_.push_back(roots(p * k * repeat));
            if (radix > 5 && radix != 8)
                for (std::size_t k = 0; k < radix; ++k) twiddles_.push_back(roots(k * (n / radix)));
            repeat *= radix;
        }
    }

    std::size_t table_size() const { return twiddles_.size(); }

    static bool can(std::size_t n) {
        auto const all = radices(n);
        return std::all_of(
            all.begin(), all.end(), [](std::size_t radix) { return radix <= largest_radix; });
    }

    /// Transforms the columns of x, whose rows are `gap` elements apart. Returns where the result
    /// is: in a or in b, with contiguous rows. x may be the same as a; else x is not written.
    Split<T> run(Split<T> x, std::size_t gap, Split<T> a, Split<T> b, std::size_t columns) const {
        for (auto const& pass : passes_) {
            run_pass(pass, x, gap, b, pass.repeat * columns, twiddles_.data() + pass.twiddles);
            x = b;
            gap = pass.repeat * pass.radix * columns;
            std::swap(a, b);
        }
        return x;
    }

private:
    static void run_pass(Pass const& pass, Split<T> x, std::size_t gap, Split<T> y,
        std::size_t lanes, Cx<T> const* w) {
        switch (pass.radix) {
        case 2:
            return kernel::run_pass<2>(pass, x, gap, y, lanes, w);
        case 3:
            return kernel::run_pass<3>(pass, x, gap, y, lanes, w);
        case 4:
            return kernel::run_pass<4>(pass, x, gap, y, lanes, w);
        case 5:
            return kernel::run_pass<5>(pass, x, gap, y, lanes, w);
        case 8:
            return kernel::run_pass<8>(pass, x, gap, y, lanes, w);
        default:
            return run_prime_pass(pass, x, gap, y, lanes, w);
        }
    }

    /// The factors of n: 8 and 4 as long as possible, then ascending primes.
    static std::vector<std::size_t> radices(std::size_t n) {
        std::vector<std::size_t> found;
        auto const take = [&](std::size_t radix) { found.push_back(radix), n /= radix; };
        while (n % 32 == 0 || n % 16 == 8) take(8);
        while (n % 4 == 0) take(4);
        std::size_t p = 2;
        while (n > 1) {
            if (n % p == 0) take(p);
            else p = p * p > n ? n : p + 1;
        }
        return found;
    }

    std::vector<Pass> passes_;
    std::vector<Cx<T>> twiddles_;
};
} // namespace xgrad::detail::kernel
