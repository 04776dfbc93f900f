// Sine and cosine on packs, which need one reduction of the argument for both. Of numbers of ordinary size; those of giants are xsimd's.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

#include <xgrad/base/exponential.hpp>

namespace xgrad::detail {

template <class P> struct SineAndCosine {
    RealPack<P> sine, cosine;
};

/// Half of pi in parts, all but the last of so few digits that their products with integers up to those of `most` are exact; the coefficients
/// in sin r = r + r^3 (s0 + s1 r^2 + ...) and cos r = 1 - r^2/2 + r^4 (c0 + c1 r^2 + ...) that are best for |r| <= pi/4.
template <class P> struct SineFacts;
template <> struct SineFacts<double> {
    static constexpr double most = 1e5;
    static constexpr double half_pi[] = {0x1.921fb5444p+0, 0x1.68c234c4cp-39, 0x1.98a2e03707345p-77};
    static constexpr std::array sine{-0x1.5555555555549p-3, 0x1.111111110f87ap-7, -0x1.a01a019c118bdp-13, 0x1.71de3577acb26p-19, -0x1.ae5e6633c3432p-26, 0x1.5d92ff36ba70dp-33};
    static constexpr std::array cosine{0x1.555555555554cp-5, -0x1.6c16c16c1517ep-10, 0x1.a01a019cb1c7ap-16, -0x1.27e4f809f70bfp-22, 0x1.1ee9ebed23947p-29, -0x1.8fae9e591eacep-37};
};
template <> struct SineFacts<float> {
    static constexpr float most = 3000;
    static constexpr float half_pi[] = {0x1.921p+0f, 0x1.f6ap-13f, 0x1.11p-26f, 0x1.68c234p-39f};
    static constexpr std::array sine{-0x1.555546p-3f, 0x1.11076p-7f, -0x1.994e5ap-13f};
    static constexpr std::array cosine{0x1.55554ap-5f, -0x1.6c0c8ap-10f, 0x1.9a020cp-16f};
};

#if XGRAD_SIMD
/// Also of infinity and NaN. Not part of the loops that call it; its name has the width, which differs between files with different flags.
template <class P, std::size_t width = RealPack<P>::width> XGRAD_NOINLINE SineAndCosine<P> sine_and_cosine_of_any(RealPack<P> x)
{
    auto const [s, c] = xsimd::sincos(x.v);
    return {RealPack<P>::from(s), RealPack<P>::from(c)};
}
#endif

/// Both to about one rounding up to 100, and two farther away. With |x| = k pi/2 + r and an integer k, they are those of r, in turn and with
/// signs.
template <class P> XGRAD_INLINE SineAndCosine<P> sine_and_cosine(RealPack<P> x)
{
    if constexpr (RealPack<P>::width == 1) return {std::sin(x.v), std::cos(x.v)};
#if XGRAD_SIMD
    else {
        using Facts = SineFacts<P>;
        using R = Reduced<P>;
        using Words = typename R::Words;
        auto const size = RealPack<P>::from(xsimd::abs(x.v));
        if (!RealPack<P>::lanes::all((size < Facts::most).m)) [[unlikely]]
            return sine_and_cosine_of_any(x);
        auto const n = nearest_integer(size * RealPack<P>(2 * std::numbers::inv_pi_v<P>));
        auto r = size;
        for (P const part : Facts::half_pi) r = RealPack<P>::from(xsimd::fnma(n.v, typename RealPack<P>::lanes::vector(part), r.v));
        auto const square = r * r;
        auto const sine = std::bit_cast<Words>((r + r * square * polynomial<0, 1>(Facts::sine, square)).v.data);
        auto const cosine = std::bit_cast<Words>((1 + square * (square * polynomial<0, 1>(Facts::cosine, square) - P(0.5))).v.data);
        auto const k = std::bit_cast<Words>((n + RealPack<P>(R::magic)).v.data);
        constexpr int sign = 8 * sizeof(P) - 1;
        auto const odd = k << sign, half = k << (sign - 1);  // the last bit and the one before it, where signs are
        auto const first = std::bit_cast<typename R::SignedWords>(odd) < 0 ? cosine : sine, second = first ^ sine ^ cosine;
        auto const with_sign = [](Words value, Words of) XGRAD_LAMBDA_INLINE {
            return RealPack<P>::from(std::bit_cast<decltype(RealPack<P>::v.data)>(value ^ (of & (typename R::word{1} << sign))));
        };
        return {with_sign(first, half ^ std::bit_cast<Words>(x.v.data)), with_sign(second, half ^ odd)};
    }
#endif
}

}  // namespace xgrad::detail
