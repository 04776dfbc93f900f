// exp, expm1, the hyperbolic functions and sigmoid on batches.
//
// Method: x = k ln 2 + r with an integer k and |r| <= ln(2)/2. Taylor's polynomial gives e^r - 1.
// Shifting k into the exponent bits gives 2^k. The result is 2^k (1 + (e^r - 1)).
// exp and expm1 do not divide: a division costs as much as ten multiplications. They reach
// infinity and 0 only where the exact result rounds to them.
//
// Read next: log.hpp (the inverse), pow.hpp (twice the precision).
#pragma once

#include <bit>

#include <xgrad/simd/polynomial.hpp>

namespace xgrad::simd {
namespace detail {

/// e^x and e^x - 1.
template <class P> struct Exponentials {
    Batch<P> exp, expm1;
};

/// `degree` is that of the polynomial in r. exp(x) is 0 below `min`, subnormal below `min_normal`
/// and infinite above `max`. ln2_high has trailing zeros, so that k * ln2_high is exact.
template <class P> struct ExpConstants;
template <> struct ExpConstants<double> {
    static constexpr int degree = 13;
    static constexpr double min_normal = -708, min = -746, max = 710;
    static constexpr double ln2_high = 0x1.62e42fee00000p-1, ln2_low = 0x1.a39ef35793c76p-33;
};
template <> struct ExpConstants<float> {
    static constexpr int degree = 8;
    static constexpr float min_normal = -87, min = -104, max = 89;
    static constexpr float ln2_high = 0x1.63p-1f, ln2_low = -0x1.bd0106p-13f;
};

/// 1/n! + x/(n + 2)! + x^2/(n + 4)! + ... up to 1/last!.
template <int n, int last, class P> XGRAD_INLINE Batch<P> every_other_term(Batch<P> x) {
    constexpr P coefficient = static_cast<P>(1 / [] {
        long double factorial = 1;
        for (int i = 2; i <= n; ++i) factorial *= i;
        return factorial;
    }());
    if constexpr (n + 2 > last) return coefficient;
    else return coefficient + x * every_other_term<n + 2, last>(x);
}

/// e^r - 1 for |r| <= ln(2)/2, by Taylor's polynomial. The even and the odd powers are two
/// dependency chains.
template <int degree, class P> XGRAD_INLINE Batch<P> expm1_near_0(Batch<P> r) {
    auto const square = r * r;
    return r +
           square * (every_other_term<2, degree>(square) + r * every_other_term<3, degree>(square));
}

/// The reduced argument: k and e^r - 1, where x = k ln 2 + r with an integer k and |r| <= ln(2)/2.
template <class P> struct Reduced {
    using Constants = ExpConstants<P>;
    using bits = typename Batch<P>::bits;

    bits k; // plus the bits of `magic`
    Batch<P> expm1;

    XGRAD_INLINE explicit Reduced(Batch<P> x) {
        Nearest<P> const nearest(x * Batch<P>(std::numbers::log2e_v<P>));
        auto const n = nearest.number;
        auto const r = x - n * Batch<P>(Constants::ln2_high) - n * Batch<P>(Constants::ln2_low);
        k = nearest.integer;
        expm1 = expm1_near_0<Constants::degree>(r);
    }

    /// 2^(exponent - bias), for a biased exponent of a normal number.
    XGRAD_INLINE static Batch<P> power_of_2(bits exponent) {
        return Batch<P>::from_bits(exponent << Format<P>::mantissa_bits);
    }
};

/// e^x and e^x - 1 for x <= 0, each within about one rounding. e^x is 0 where it is below 2^-1021
/// (2^-125 in single precision). With x = k ln 2 + r and p = e^r - 1, they are 2^k (1 + p) and
/// 2^k p + (2^k - 1).
template <class P> XGRAD_INLINE Exponentials<P> exp_of_negative(Batch<P> x) {
    Batch<P> const min(ExpConstants<P>::min_normal);
    Reduced<P> const reduced(larger(min, x)); // larger returns its second argument if it is NaN
    auto const power = Reduced<P>::power_of_2(reduced.k + Format<P>::bias), p = reduced.expm1;
    return {where(x < min, Batch<P>(0), power + power * p), power * p + (power - 1)};
}

/// tanh x for |x| < 0.55: Lambert's continued fraction x/(1 + x^2/(3 + x^2/(5 + ...))), up to the
/// term 17 (9 in single precision).
template <class P> XGRAD_INLINE Batch<P> tanh_near_0(Batch<P> x) {
    auto const z = x * x;
    if constexpr (std::same_as<P, float>)
        return x * (1 - z * (14 * z + 315) / ((15 * z + 420) * z + 945));
    else
        return x * (1 - z * (((44 * z + 12870) * z + 810810) * z + 11486475) /
                            ((((45 * z + 13860) * z + 945945) * z + 16216200) * z + 34459425));
}

} // namespace detail

/// e^x within about one rounding, subnormal results included. It multiplies by two powers of 2,
/// because 2^k itself may be out of range.
template <class P> XGRAD_INLINE Batch<P> exp(Batch<P> x) {
    using R = detail::Reduced<P>;
    using Format = detail::Format<P>;
    Batch<P> const max(R::Constants::max), min(R::Constants::min);
    R const reduced(smaller(max, larger(min, x))); // NaN passes through
    constexpr auto offset = std::bit_cast<typename Format::bits>(Format::magic) - 2 * Format::bias;
    typename R::bits const exponent = reduced.k - offset, half = exponent >> 1;
    return (1 + reduced.expm1) * R::power_of_2(half) * R::power_of_2(exponent - half);
}
#if XGRAD_SIMD && defined(__AVX512F__)
/// e^x for eight doubles: 2^(k/16) e^r with x = k ln(2)/16 + r. One permutation looks up the 16
/// values of 2^(k/16 mod 1) in two registers; vscalefpd multiplies by the integer power of 2. The
/// polynomial has half the degree (bench_transcendental, exp).
XGRAD_INLINE Batch<double> exp(Batch<double> x) {
    using Constants = detail::ExpConstants<double>;
    using B = Batch<double>;
    alignas(64) static constexpr double fractions[] = {0x1.0000000000000p+0, 0x1.0b5586cf9890fp+0,
        0x1.172b83c7d517bp+0, 0x1.2387a6e756238p+0, 0x1.306fe0a31b715p+0, 0x1.3dea64c123422p+0,
        0x1.4bfdad5362a27p+0, 0x1.5ab07dd485429p+0, 0x1.6a09e667f3bcdp+0, 0x1.7a11473eb0187p+0,
        0x1.8ace5422aa0dbp+0, 0x1.9c49182a3f090p+0, 0x1.ae89f995ad3adp+0, 0x1.c199bdd85529cp+0,
        0x1.d5818dcfba487p+0, 0x1.ea4afa2a490dap+0};
    B const bounded = smaller(B(Constants::max), larger(B(Constants::min), x));
    detail::Nearest<double> const nearest(bounded * B(16 * std::numbers::log2e));
    auto const k = nearest.number;
    auto const r = bounded - k * B(Constants::ln2_high / 16) - k * B(Constants::ln2_low / 16);
    auto const p = detail::expm1_near_0<7>(r);
    auto const fraction = B::from(_mm512_permutex2var_pd(_mm512_load_pd(fractions),
        reinterpret_cast<__m512i>(nearest.integer), _mm512_load_pd(fractions + 8)));
    auto const y = fraction + fraction * p, whole = k * B(1. / 16);
    return B::from(_mm512_scalef_pd(y.v, whole.v));
}
#endif

/// e^x - 1 within about one rounding: 2 (2^(k - 1) (e^r - 1) + 2^(k - 1) - 1/2), in which 2^(k - 1)
/// does not overflow. For |x| below a quarter of epsilon the result is x.
template <class P> XGRAD_INLINE Batch<P> expm1(Batch<P> x) {
    using R = detail::Reduced<P>;
    Batch<P> const max(R::Constants::max), min(-40); // e^-40 - 1 rounds to -1
    R const reduced(smaller(max, larger(min, x)));
    auto const half = R::power_of_2(reduced.k + (detail::Format<P>::bias - 1));
    auto const is_tiny = abs(x) < std::numeric_limits<P>::epsilon() / 4;
    return where(is_tiny, x, 2 * (half * reduced.expm1 + (half - P(0.5))));
}

/// tanh x = -e/(2 + e) with the sign of x, where e = exp(-2|x|) - 1.
template <class P> XGRAD_INLINE Batch<P> tanh(Batch<P> x) {
    auto const size = abs(x);
    if (all_true(size < 0.55)) return detail::tanh_near_0(x);
    auto const e = detail::exp_of_negative(-2 * size).expm1;
    return copysign(e / (2 + e), x);
}
/// sinh x = (e + e/(1 + e))/2 with the sign of x, where e = exp|x| - 1.
template <class P> XGRAD_INLINE Batch<P> sinh(Batch<P> x) {
    auto const size = abs(x);
    if (!all_true(size < detail::ExpConstants<P>::max - 2)) [[unlikely]]
        return detail::each_aside<P, Batch<P>::width>([](P v) { return std::sinh(v); }, x);
    auto const e = expm1(size);
    return copysign(0.5 * (e + e / (1 + e)), x);
}
template <class P> XGRAD_INLINE Batch<P> cosh(Batch<P> x) {
    auto const size = abs(x);
    if (!all_true(size < detail::ExpConstants<P>::max - 2)) [[unlikely]]
        return detail::each_aside<P, Batch<P>::width>([](P v) { return std::cosh(v); }, x);
    auto const e = exp(size);
    return 0.5 * e + 0.5 / e;
}

/// e^x / (1 + e^x), subnormal results included; 1 from x = 40 on.
template <class P> XGRAD_INLINE Batch<P> sigmoid(Batch<P> x) {
    auto const e = exp(smaller(Batch<P>(40), x)); // smaller returns its second argument if NaN
    return e / (1 + e);
}

} // namespace xgrad::simd
