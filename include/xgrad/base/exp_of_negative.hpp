// e^x and e^x - 1 for x <= 0 on packs: what tanh is made of. A kernel's division costs as much as ten products, and xsimd's exponentials
// have one or two; here is none.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include <xgrad/base/simd.hpp>
#include <xgrad/base/vec.hpp>

namespace xgrad::detail {

template <class P> struct Exponentials {
    RealPack<P> exp, expm1;
};

template <class P> struct ExponentialFacts;
template <> struct ExponentialFacts<double> {
    using word = std::uint64_t;
    static constexpr int mantissa_bits = 52, degree = 13;
    static constexpr double least = -708, ln2_high = 0x1.62e42fee00000p-1, ln2_low = 0x1.a39ef35793c76p-33;
};
template <> struct ExponentialFacts<float> {
    using word = std::uint32_t;
    static constexpr int mantissa_bits = 23, degree = 8;
    static constexpr float least = -87, ln2_high = 0x1.63p-1f, ln2_low = -0x1.bd0106p-13f;
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

/// Both to about one rounding; e^x is 0 where it is below 2^-1021 (2^-125 in single precision). With x = k ln 2 + r, |r| <= ln(2)/2, they are
/// 2^k (1 + p) and 2^k p + (2^k - 1), where p = e^r - 1 is a sum of powers.
template <class P> XGRAD_INLINE Exponentials<P> exp_of_negative(RealPack<P> x)
{
    if constexpr (RealPack<P>::width == 1) return {std::exp(x.v), std::expm1(x.v)};
#if XGRAD_SIMD
    else {
        using Facts = ExponentialFacts<P>;
        using word = typename Facts::word;
        using Words = kernel::Vec<word, sizeof x.v.data>;
        constexpr P magic = static_cast<P>(word{3} << (Facts::mantissa_bits - 1));  // the last bits of a sum with it are the other, an integer
        RealPack<P> const least(Facts::least), bounded = larger(least, x);          // in this order, so that NaN stays
        auto const k = RealPack<P>::from(xsimd::nearbyint((bounded * RealPack<P>(std::numbers::log2e_v<P>)).v)), shifted = k + RealPack<P>(magic);
        auto const r = bounded - k * RealPack<P>(Facts::ln2_high) - k * RealPack<P>(Facts::ln2_low), square = r * r;
        auto const p = r + square * (every_other_term<2, Facts::degree>(square) + r * every_other_term<3, Facts::degree>(square));
        auto const exponent = std::bit_cast<Words>(shifted.v.data) + word{std::numeric_limits<P>::max_exponent - 1};
        auto const power = RealPack<P>::from(std::bit_cast<decltype(x.v.data)>(exponent << Facts::mantissa_bits));
        return {where(x < least, RealPack<P>(0), power + power * p), power * p + (power - 1)};
    }
#endif
}

/// tanh x near 0: Lambert's continued fraction x/(1 + x^2/(3 + x^2/(5 + ...))), up to 17 (9 in single precision).
template <class P> XGRAD_INLINE RealPack<P> tanh_near_0(RealPack<P> x)
{
    auto const z = x * x;
    if constexpr (std::same_as<P, float>) return x * (1 - z * (14 * z + 315) / ((15 * z + 420) * z + 945));
    else return x * (1 - z * (((44 * z + 12870) * z + 810810) * z + 11486475) / ((((45 * z + 13860) * z + 945945) * z + 16216200) * z + 34459425));
}

}  // namespace xgrad::detail
