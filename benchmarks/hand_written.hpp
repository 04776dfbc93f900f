// Values and gradients as somebody in need of speed writes them for one formula: the derivative found on paper, explicit
// SIMD, results in memory that is there already. Nothing is left out. Where it may matter there are two ways, one pass for
// both value and gradient, or one for each.
#pragma once

#include <cmath>
#include <complex>
#include <cstddef>
#include <vector>

#if XGRAD_USE_XSIMD
#    include <xsimd/xsimd.hpp>
#endif

namespace hand {

#if XGRAD_USE_XSIMD
using Word = xsimd::batch<double>;
template <class V> V load(double const* p)
{
    if constexpr (std::is_same_v<V, double>) return *p;
    else return V::load_unaligned(p);
}
inline void store(double* p, Word v) { v.store_unaligned(p); }
inline double total(Word v) { return xsimd::hadd(v); }
#else
using Word = double;
template <class V> V load(double const* p) { return *p; }
inline double total(double v) { return v; }
#endif
inline void store(double* p, double v) { *p = v; }

inline constexpr std::size_t width = sizeof(Word) / sizeof(double);

/// Adds up body(i, word) for i < n, four words at a time: fewer would wait for the additions.
template <class Body> [[gnu::always_inline]] inline double sum_of(std::size_t n, Body const& body)
{
    Word s0(0.), s1(0.), s2(0.), s3(0.);
    double rest = 0;
    std::size_t i = 0;
    for (; i + 4 * width <= n; i += 4 * width) {
        s0 += body(i, Word());
        s1 += body(i + width, Word());
        s2 += body(i + 2 * width, Word());
        s3 += body(i + 3 * width, Word());
    }
    for (; i + width <= n; i += width) s0 += body(i, Word());
    for (; i < n; ++i) rest += body(i, double());
    return total((s0 + s1) + (s2 + s3)) + rest;
}

// sum(a*b + 0.5*a - b/(a+2))

/// One division serves the value and both gradients.
[[gnu::noinline]] inline double rational(double const* a, double const* b, double* ga, double* gb, std::size_t n)
{
    return sum_of(n, [=]<class V>(std::size_t i, V) __attribute__((always_inline)) {
        V const x = load<V>(a + i), y = load<V>(b + i), r = V(1.) / (x + V(2.)), q = y * r;
        store(ga + i, y + V(0.5) + q * r);
        store(gb + i, x - r);
        return x * y + V(0.5) * x - q;
    });
}
[[gnu::noinline]] inline double rational_value(double const* a, double const* b, std::size_t n)
{
    return sum_of(n, [=]<class V>(std::size_t i, V) __attribute__((always_inline)) {
        V const x = load<V>(a + i), y = load<V>(b + i);
        return x * y + V(0.5) * x - y / (x + V(2.));
    });
}
[[gnu::noinline]] inline void rational_gradient(double const* a, double const* b, double* ga, double* gb, std::size_t n)
{
    auto const step = [=]<class V>(std::size_t i, V) __attribute__((always_inline)) {
        V const x = load<V>(a + i), y = load<V>(b + i), r = V(1.) / (x + V(2.));
        store(ga + i, y + V(0.5) + y * r * r);
        store(gb + i, x - r);
    };
    std::size_t i = 0;
    for (; i + width <= n; i += width) step(i, Word());
    for (; i < n; ++i) step(i, double());
}

// sum(square(a + b)) and sum(square(a * b)), for an (m, n) matrix a and b of the same shape, or a row, or a column

[[gnu::noinline]] inline double square_sum(double const* a, double const* b, double* ga, double* gb, std::size_t n)
{
    return sum_of(n, [=]<class V>(std::size_t i, V) __attribute__((always_inline)) {
        V const u = load<V>(a + i) + load<V>(b + i), g = u + u;
        store(ga + i, g);
        store(gb + i, g);
        return u * u;
    });
}
[[gnu::noinline]] inline double square_product(double const* a, double const* b, double* ga, double* gb, std::size_t n)
{
    return sum_of(n, [=]<class V>(std::size_t i, V) __attribute__((always_inline)) {
        V const x = load<V>(a + i), y = load<V>(b + i), u = x * y, g = u + u;
        store(ga + i, g * y);
        store(gb + i, g * x);
        return u * u;
    });
}
[[gnu::noinline]] inline double square_sum_row(double const* a, double const* b, double* ga, double* gb, std::size_t m, std::size_t n)
{
    double s = 0;
    std::fill_n(gb, n, 0.);
    for (std::size_t row = 0; row < m; ++row, a += n, ga += n)
        s += sum_of(n, [=]<class V>(std::size_t i, V) __attribute__((always_inline)) {
            V const u = load<V>(a + i) + load<V>(b + i), g = u + u;
            store(ga + i, g);
            store(gb + i, load<V>(gb + i) + g);
            return u * u;
        });
    return s;
}
[[gnu::noinline]] inline double square_product_column(double const* a, double const* b, double* ga, double* gb, std::size_t m, std::size_t n)
{
    double s = 0;
    for (std::size_t row = 0; row < m; ++row, a += n, ga += n) {
        // sum u^2 over the row is b^2 sum a^2, but a hand that is honest about the formula keeps to it
        double const y = b[row];
        Word gy(0.);
        double gy_rest = 0;
        s += sum_of(n, [=, &gy, &gy_rest]<class V>(std::size_t i, V) __attribute__((always_inline)) {
            V const x = load<V>(a + i), u = x * V(y), g = u + u;
            store(ga + i, g * V(y));
            if constexpr (std::is_same_v<V, Word>) gy += g * x;
            else gy_rest += g * x;
            return u * u;
        });
        gb[row] = total(gy) + gy_rest;
    }
    return s;
}

// sum(abs2(exp(i*phi)*z - t)), with the gradients for real phi and complex z

template <class V> struct Complex {
    V re, im;
};

#if XGRAD_USE_XSIMD && defined(__GNUC__) && (defined(__clang__) || __GNUC__ >= 12)
template <std::size_t... I> [[gnu::always_inline]] inline Complex<Word> parted(Word lo, Word hi, std::index_sequence<I...>)
{
    return {Word(__builtin_shufflevector(lo.data, hi.data, static_cast<int>(2 * I)...)),
        Word(__builtin_shufflevector(lo.data, hi.data, static_cast<int>(2 * I + 1)...))};
}
template <std::size_t... I> [[gnu::always_inline]] inline void store_joined(double* p, Complex<Word> z, std::index_sequence<I...>)
{
    store(p, Word(__builtin_shufflevector(z.re.data, z.im.data, static_cast<int>(I / 2 + (I % 2) * width)...)));
    store(p + width, Word(__builtin_shufflevector(z.re.data, z.im.data, static_cast<int>((I + width) / 2 + (I % 2) * width)...)));
}
#endif

template <class V> [[gnu::always_inline]] inline Complex<V> load_complex(std::complex<double> const* z)
{
    auto const* const p = reinterpret_cast<double const*>(z);
    if constexpr (std::is_same_v<V, double>) return {p[0], p[1]};
#if XGRAD_USE_XSIMD && defined(__GNUC__) && (defined(__clang__) || __GNUC__ >= 12)
    else return parted(load<V>(p), load<V>(p + width), std::make_index_sequence<width>{});
#elif XGRAD_USE_XSIMD
    else {
        auto const w = xsimd::batch<std::complex<double>>::load_unaligned(z);
        return {w.real(), w.imag()};
    }
#endif
}
template <class V> [[gnu::always_inline]] inline void store_complex(std::complex<double>* z, Complex<V> v)
{
    auto* const p = reinterpret_cast<double*>(z);
    if constexpr (std::is_same_v<V, double>) p[0] = v.re, p[1] = v.im;
#if XGRAD_USE_XSIMD && defined(__GNUC__) && (defined(__clang__) || __GNUC__ >= 12)
    else store_joined(p, v, std::make_index_sequence<width>{});
#elif XGRAD_USE_XSIMD
    else xsimd::batch<std::complex<double>>(v.re, v.im).store_unaligned(z);
#endif
}
template <class V> [[gnu::always_inline]] inline Complex<V> unit(double const* phi)
{
    if constexpr (std::is_same_v<V, double>) return {std::cos(*phi), std::sin(*phi)};
#if XGRAD_USE_XSIMD
    else {
        auto const [s, c] = xsimd::sincos(load<V>(phi));
        return {c, s};
    }
#endif
}

/// One sine and cosine serve the value and both gradients.
[[gnu::noinline]] inline double phase(double const* phi, std::complex<double> const* z, std::complex<double> const* t, double* gphi,
    std::complex<double>* gz, std::size_t n)
{
    return sum_of(n, [=]<class V>(std::size_t i, V) __attribute__((always_inline)) {
        auto const e = unit<V>(phi + i), x = load_complex<V>(z + i), y = load_complex<V>(t + i);
        V const w_re = e.re * x.re - e.im * x.im, w_im = e.re * x.im + e.im * x.re, re = w_re - y.re, im = w_im - y.im, g_re = re + re, g_im = im + im;
        store(gphi + i, g_im * w_re - g_re * w_im);
        store_complex<V>(gz + i, {g_re * e.re + g_im * e.im, g_im * e.re - g_re * e.im});
        return re * re + im * im;
    });
}

// x = x + dt*sin(x)*p, again and again: the last x, and its derivatives for the first x and for p

struct Recurrence {
    double x, gx, gp;
};
[[gnu::noinline]] inline Recurrence recurrence(double x, double p, double dt, std::size_t steps, std::vector<double>& tape)
{
    tape.resize(steps);
    for (auto& saved : tape) {
        saved = x;
        x += dt * std::sin(x) * p;
    }
    double gx = 1, gp = 0;
    for (std::size_t k = steps; k-- > 0;) {
        gp += gx * dt * std::sin(tape[k]);
        gx += gx * dt * p * std::cos(tape[k]);
    }
    return {x, gx, gp};
}
/// The same with the sines and cosines kept from the way there.
[[gnu::noinline]] inline Recurrence recurrence_kept(double x, double p, double dt, std::size_t steps, std::vector<double>& tape)
{
    tape.resize(2 * steps);
    for (std::size_t k = 0; k < steps; ++k) {
        double const s = std::sin(x), c = std::cos(x);
        tape[2 * k] = dt * s;
        tape[2 * k + 1] = 1 + dt * p * c;
        x += dt * s * p;
    }
    double gx = 1, gp = 0;
    for (std::size_t k = steps; k-- > 0;) {
        gp += gx * tape[2 * k];
        gx *= tape[2 * k + 1];
    }
    return {x, gx, gp};
}

}  // namespace hand
