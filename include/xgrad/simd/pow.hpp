// pow on batches with one exponent a lane: x^p = 2^(p log2 x).
//
// The error of log2 x is multiplied by the exponent, so that the logarithm needs 64 bits. It is a
// DoubleDouble: an unevaluated sum of two doubles, whose products need FMA. The C library computes
// the power if the processor has no FMA, and for batches with zeros, negative or subnormal numbers
// or results near the limits of the range.
#pragma once

#include <xgrad/simd/log.hpp>

namespace xgrad::simd {
namespace detail {

/// True if a * b + c is one vector instruction with one rounding.
inline constexpr bool has_fma =
#if defined(__FMA__) || defined(__AVX512F__) || (defined(__ARM_NEON) && defined(__aarch64__))
    Batch<double>::width > 1;
#else
    false;
#endif

/// a * b + c, rounded once where has_fma.
XGRAD_INLINE Batch<double> fma(Batch<double> a, Batch<double> b, Batch<double> c) {
#if XGRAD_SIMD && defined(__AVX512F__)
    return Batch<double>::from(_mm512_fmadd_pd(a.v, b.v, c.v));
#elif XGRAD_SIMD && defined(__FMA__)
    return Batch<double>::from(_mm256_fmadd_pd(a.v, b.v, c.v));
#elif XGRAD_SIMD && defined(__ARM_NEON) && defined(__aarch64__)
    return Batch<double>::from(vfmaq_f64(c.v, a.v, b.v));
#else
    return a * b + c;
#endif
}

/// The unevaluated sum high + low, which has about 106 bits.
struct DoubleDouble {
    Batch<double> high, low;

    XGRAD_INLINE friend DoubleDouble operator*(DoubleDouble a, DoubleDouble b) {
        auto const product = a.high * b.high;
        return {product, fma(a.high, b.high, -product) + (a.high * b.low + a.low * b.high)};
    }
};
/// a + b + c, where |a| >= |b| or a is 0, and c is about as small as the rounding error of a.
XGRAD_INLINE DoubleDouble sum(Batch<double> a, Batch<double> b, Batch<double> c = 0) {
    auto const rounded = a + b;
    return {rounded, (a - rounded) + b + c};
}

/// 1/first + x/(first + 2) + x^2/(first + 4) + ... up to 1/last.
template <int first, int last> XGRAD_INLINE Batch<double> odd_inverses(Batch<double> x) {
    if constexpr (first + 2 > last) return 1. / first;
    else return 1. / first + x * odd_inverses<first + 2, last>(x);
}

/// log2(x) for normal x > 0. With x = 2^n m and s = (m - 1)/(m + 1) it is n + 2 atanh(s)/ln(2),
/// where atanh(s) = s + s z (1/3 + z/5 + z^2/7 + ...) and z = s^2.
XGRAD_INLINE DoubleDouble accurate_log2(Batch<double> x) {
    constexpr double third = 1. / 3, third_low = 0x1.5555555555555p-56;
    constexpr double factor = 0x1.71547652b82fep+1, factor_low = 0x1.777d0ffda0d24p-55; // 2/ln(2)
    BinaryParts<double> const p(x);
    auto const f = p.m - 1;
    auto const u = sum(1, p.m);
    auto const inverse = 1 / u.high, quotient = f * inverse;
    auto const rest = (fma(-quotient, u.high, f) - quotient * u.low) * inverse;
    DoubleDouble const s{quotient, rest}, z = s * s;
    auto const w = sum(third, z.high * odd_inverses<5, 23>(z.high), third_low);
    auto const cube = s * (z * w);
    auto const atanh = sum(s.high, cube.high, s.low + cube.low);
    auto const fraction = atanh * DoubleDouble{factor, factor_low};
    return sum(p.n, fraction.high, fraction.low);
}

/// Evaluates f(x, y) in double precision, half a batch at a time.
template <class F>
XGRAD_INLINE Batch<float> in_double_precision(F f, Batch<float> x, Batch<float> y) {
    constexpr std::size_t width = Batch<float>::width, half = Batch<double>::width;
    float a[width], b[width];
    x.store(a);
    y.store(b);
    for (std::size_t i = 0; i < width; i += half) {
        auto const widened = [i](float const* from) XGRAD_LAMBDA_INLINE {
            double to[half];
            for (std::size_t k = 0; k < half; ++k) to[k] = static_cast<double>(from[i + k]);
            return Batch<double>::load(to);
        };
        double to[half];
        f(widened(a), widened(b)).store(to);
        for (std::size_t k = 0; k < half; ++k) a[i + k] = static_cast<float>(to[k]);
    }
    return Batch<float>::load(a);
}

} // namespace detail

/// x^p within about two roundings.
template <class P> XGRAD_INLINE Batch<P> pow(Batch<P> x, Batch<P> p) {
    auto const each_power = [=]() XGRAD_LAMBDA_INLINE {
        return detail::each_aside<P, Batch<P>::width>(
            [](P a, P b) { return std::pow(a, b); }, x, p);
    };
    if constexpr (std::same_as<P, float> && Batch<P>::width > 1) {
        if (!all_true(x > 0 && x < HUGE_VALF && abs(p) < HUGE_VALF)) [[unlikely]]
            return each_power();
        return detail::in_double_precision([](auto a, auto b) { return exp(b * log(a)); }, x, p);
    } else if constexpr (std::same_as<P, double> && detail::has_fma) {
        using detail::DoubleDouble;
        auto const exponent = detail::accurate_log2(x) * DoubleDouble{p, 0};
        if (!all_true(x >= std::numeric_limits<P>::min() && x < HUGE_VAL &&
                      abs(exponent.high) < 1020)) [[unlikely]]
            return each_power();
        // 2^k e^(rest ln 2).
        detail::Nearest<P> const nearest(exponent.high);
        auto const rest = (exponent.high - nearest.number) + exponent.low;
        auto const expm1 = detail::expm1_near_0<13>(rest * std::numbers::ln2);
        auto const power =
            detail::Reduced<P>::power_of_2(nearest.integer + detail::Format<P>::bias);
        return power + power * expm1;
    } else return each_power();
}

} // namespace xgrad::simd
