// e^x and e^x - 1 on packs. A kernel's division costs as much as ten products, and xsimd's exponentials have one or two in double precision;
// here is none. Nor is infinity reached too early, or 0.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include <xgrad/base/simd.hpp>
#include <xgrad/base/vec.hpp>

namespace xgrad::detail {

/// c[first] + c[first + step] x + c[first + 2 step] x^2 + ...
template <std::size_t first, std::size_t step, class P, std::size_t n> XGRAD_INLINE RealPack<P> polynomial(std::array<P, n> const& c, RealPack<P> x)
{
    if constexpr (first + step >= n) return c[first];
    else return c[first] + x * polynomial<first + step, step>(c, x);
}

template <class P> struct Exponentials {
    RealPack<P> exp, expm1;
};

template <class P> struct ExponentialFacts;
template <> struct ExponentialFacts<double> {
    using word = std::uint64_t;
    static constexpr int mantissa_bits = 52, degree = 13;
    static constexpr double least = -708, least_of_all = -746, most = 710, ln2_high = 0x1.62e42fee00000p-1, ln2_low = 0x1.a39ef35793c76p-33;
};
template <> struct ExponentialFacts<float> {
    using word = std::uint32_t;
    static constexpr int mantissa_bits = 23, degree = 8;
    static constexpr float least = -87, least_of_all = -104, most = 89, ln2_high = 0x1.63p-1f, ln2_low = -0x1.bd0106p-13f;
};

/// 1/n! + x/(n + 2)! + x^2/(n + 4)! + ... up to 1/last!.
template <int n, int last, class P> XGRAD_INLINE RealPack<P> every_other_term(RealPack<P> x)
{
    constexpr P coefficient = static_cast<P>(1 / [] {
        long double factorial = 1;
        for (int i = 2; i <= n; ++i) factorial *= i;
        return factorial;
    }());
    if constexpr (n + 2 > last) return coefficient;
    else return coefficient + x * every_other_term<n + 2, last>(x);
}

#if XGRAD_SIMD
template <class P> XGRAD_INLINE RealPack<P> nearest_integer(RealPack<P> x) { return RealPack<P>::from(xsimd::nearbyint(x.v)); }

/// x = k ln 2 + r with an integer k and |r| <= ln(2)/2, as k and e^r - 1, a sum of powers.
template <class P> struct Reduced {
    using Facts = ExponentialFacts<P>;
    using word = typename Facts::word;
    using Words = kernel::Vec<word, sizeof(RealPack<P>::v.data)>;
    using SignedWords = kernel::Vec<std::make_signed_t<word>, sizeof(RealPack<P>::v.data)>;

    Words k;  // plus the bits of `magic`
    RealPack<P> expm1;

    XGRAD_INLINE explicit Reduced(RealPack<P> x)
    {
        auto const n = nearest_integer(x * RealPack<P>(std::numbers::log2e_v<P>)), shifted = n + RealPack<P>(magic);
        auto const r = x - n * RealPack<P>(Facts::ln2_high) - n * RealPack<P>(Facts::ln2_low), square = r * r;
        k = std::bit_cast<Words>(shifted.v.data);
        expm1 = r + square * (every_other_term<2, Facts::degree>(square) + r * every_other_term<3, Facts::degree>(square));
    }
    static constexpr P magic = static_cast<P>(word{3} << (Facts::mantissa_bits - 1));  // the last bits of a sum with it are the other, an integer
    static constexpr word bias = std::numeric_limits<P>::max_exponent - 1;

    /// The number with this exponent, which counts from `bias`.
    XGRAD_INLINE static RealPack<P> power_of_2(Words exponent) { return RealPack<P>::from(std::bit_cast<decltype(RealPack<P>::v.data)>(exponent << Facts::mantissa_bits)); }
};
#endif

/// Both to about one rounding; e^x is 0 where it is below 2^-1021 (2^-125 in single precision). With x = k ln 2 + r and p = e^r - 1, they are
/// 2^k (1 + p) and 2^k p + (2^k - 1).
template <class P> XGRAD_INLINE Exponentials<P> exp_of_negative(RealPack<P> x)
{
    if constexpr (RealPack<P>::width == 1) return {std::exp(x.v), std::expm1(x.v)};
#if XGRAD_SIMD
    else {
        RealPack<P> const least(ExponentialFacts<P>::least);
        Reduced<P> const reduced(larger(least, x));  // in this order, so that NaN stays
        auto const power = Reduced<P>::power_of_2(reduced.k + Reduced<P>::bias), p = reduced.expm1;
        return {where(x < least, RealPack<P>(0), power + power * p), power * p + (power - 1)};
    }
#endif
}

#if XGRAD_SIMD
/// e^x to about one rounding, from infinity down to the smallest numbers, which are not normal: 2^k is taken in two halves, as it may have
/// no place itself.
template <class P> XGRAD_INLINE RealPack<P> exp_of_any(RealPack<P> x)
{
    using R = Reduced<P>;
    RealPack<P> const most(R::Facts::most), least(R::Facts::least_of_all);
    R const reduced(smaller(most, larger(least, x)));  // in this order, so that NaN stays
    auto const exponent = reduced.k - (std::bit_cast<typename R::word>(R::magic) - 2 * R::bias), half = exponent >> 1;
    return (1 + reduced.expm1) * R::power_of_2(half) * R::power_of_2(exponent - half);
}
/// e^x - 1 to about one rounding: twice (2^(k - 1) (e^r - 1) + 2^(k - 1) - 1/2).
template <class P> XGRAD_INLINE RealPack<P> expm1_of_any(RealPack<P> x)
{
    using R = Reduced<P>;
    RealPack<P> const most(R::Facts::most), least(-40);  // where all digits of -1 are there
    R const reduced(smaller(most, larger(least, x)));
    auto const half = R::power_of_2(reduced.k + (R::bias - 1));
    return where(x == 0, x, 2 * (half * reduced.expm1 + (half - P(0.5))));
}
#    if defined(__AVX512F__)
/// The same for eight numbers of double precision.
XGRAD_INLINE RealPack<double> exp_of_any(RealPack<double> x)
{
    using R = Reduced<double>;
    RealPack<double> const bounded = smaller(RealPack<double>(R::Facts::most), larger(RealPack<double>(R::Facts::least_of_all), x));
    // With x = k ln(2)/16 + r it is 2^(k/16) e^r, of which a register pair holds the 16 fractions and one instruction takes the whole part.
    alignas(64) static constexpr double fractions[] = {0x1.0000000000000p+0, 0x1.0b5586cf9890fp+0, 0x1.172b83c7d517bp+0, 0x1.2387a6e756238p+0,
                                                 0x1.306fe0a31b715p+0, 0x1.3dea64c123422p+0, 0x1.4bfdad5362a27p+0, 0x1.5ab07dd485429p+0,
                                                 0x1.6a09e667f3bcdp+0, 0x1.7a11473eb0187p+0, 0x1.8ace5422aa0dbp+0, 0x1.9c49182a3f090p+0,
                                                 0x1.ae89f995ad3adp+0, 0x1.c199bdd85529cp+0, 0x1.d5818dcfba487p+0, 0x1.ea4afa2a490dap+0};
    auto const k = nearest_integer(bounded * RealPack<double>(16 * std::numbers::log2e)), shifted = k + RealPack<double>(R::magic);
    auto const r = bounded - k * RealPack<double>(R::Facts::ln2_high / 16) - k * RealPack<double>(R::Facts::ln2_low / 16), square = r * r;
    auto const p = r + square * (every_other_term<2, 7>(square) + r * every_other_term<3, 7>(square));
    auto const fraction = RealPack<double>::from(_mm512_permutex2var_pd(_mm512_load_pd(fractions), _mm512_castpd_si512(shifted.v), _mm512_load_pd(fractions + 8)));
    auto const y = fraction + fraction * p, whole = k * RealPack<double>(1. / 16);
    return RealPack<double>::from(_mm512_scalef_pd(y.v, whole.v));
}
#    endif
#else  // where a pack is one number nothing calls these
template <class P> RealPack<P> exp_of_any(RealPack<P> x);
template <class P> RealPack<P> expm1_of_any(RealPack<P> x);
#endif

/// tanh x near 0: Lambert's continued fraction x/(1 + x^2/(3 + x^2/(5 + ...))), up to 17 (9 in single precision).
template <class P> XGRAD_INLINE RealPack<P> tanh_near_0(RealPack<P> x)
{
    auto const z = x * x;
    if constexpr (std::same_as<P, float>) return x * (1 - z * (14 * z + 315) / ((15 * z + 420) * z + 945));
    else return x * (1 - z * (((44 * z + 12870) * z + 810810) * z + 11486475) / ((((45 * z + 13860) * z + 945945) * z + 16216200) * z + 34459425));
}

}  // namespace xgrad::detail
