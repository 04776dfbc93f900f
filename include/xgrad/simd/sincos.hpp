// Sine, cosine and tangent on batches. Sine and cosine share one reduction of the argument. Giants
// are left to the C library.
#pragma once

#include <xgrad/simd/exp.hpp>

namespace xgrad::simd {
namespace detail {

/// Half of pi in parts, all but the last of so few digits that their products with integers up to
/// those of `max` are exact; the coefficients in sin r = r + r^3 (s0 + s1 r^2 + ...) and cos r = 1
/// - r^2/2 + r^4 (c0 + c1 r^2 + ...) that are best for |r| <= pi/4.
template <class P> struct SineConstants;
template <> struct SineConstants<double> {
    static constexpr double max = 1e5;
    static constexpr double half_pi[] = {
        0x1.921fb5444p+0, 0x1.68c234c4cp-39, 0x1.98a2e03707345p-77};
    static constexpr std::array sine{-0x1.5555555555549p-3, 0x1.111111110f87ap-7,
        -0x1.a01a019c118bdp-13, 0x1.71de3577acb26p-19, -0x1.ae5e6633c3432p-26,
        0x1.5d92ff36ba70dp-33};
    static constexpr std::array cosine{0x1.555555555554cp-5, -0x1.6c16c16c1517ep-10,
        0x1.a01a019cb1c7ap-16, -0x1.27e4f809f70bfp-22, 0x1.1ee9ebed23947p-29,
        -0x1.8fae9e591eacep-37};
};
template <> struct SineConstants<float> {
    static constexpr float max = 3000;
    static constexpr float half_pi[] = {0x1.921p+0f, 0x1.f6ap-13f, 0x1.11p-26f, 0x1.68c234p-39f};
    static constexpr std::array sine{-0x1.555546p-3f, 0x1.11076p-7f, -0x1.994e5ap-13f};
    static constexpr std::array cosine{0x1.55554ap-5f, -0x1.6c0c8ap-10f, 0x1.9a020cp-16f};
};

} // namespace detail

template <class P> struct SineAndCosine {
    Batch<P> sine, cosine;
};

namespace detail {

/// Also of infinity and NaN.
template <class P, std::size_t width> XGRAD_NOINLINE SineAndCosine<P> sincos_of_giants(Batch<P> x) {
    return {each([](P v) { return std::sin(v); }, x), each([](P v) { return std::cos(v); }, x)};
}

} // namespace detail

/// Both to about one rounding up to 100, and two farther away. With |x| = k pi/2 + r and an integer
/// k, they are those of r, in turn and with signs.
template <class P> XGRAD_INLINE SineAndCosine<P> sincos(Batch<P> x) {
    using Constants = detail::SineConstants<P>;
    using bits = typename Batch<P>::bits;
    auto const size = abs(x);
    if (!all_true(size < Constants::max)) [[unlikely]]
        return detail::sincos_of_giants<P, Batch<P>::width>(x);
    detail::Nearest<P> const nearest(size * Batch<P>(2 * std::numbers::inv_pi_v<P>));
    auto r = size;
    for (P const part : Constants::half_pi) r = r - nearest.number * Batch<P>(part);
    auto const square = r * r;
    auto const sine_of_r = r + r * square * detail::polynomial<0, 1>(Constants::sine, square);
    auto const tail = square * detail::polynomial<0, 1>(Constants::cosine, square) - P(0.5);
    bits const sine = sine_of_r.to_bits(), cosine = (1 + square * tail).to_bits();

    constexpr int sign = 8 * sizeof(P) - 1;
    constexpr auto sign_bit = detail::bits_of<P>{1} << sign;
    // The last bit of k says which is which: it is moved to all bits. The one before it has the
    // sign.
    bits const odd = nearest.integer << sign, half = nearest.integer << (sign - 1);
    bits const swap = bits{} - (nearest.integer & 1), difference = (sine ^ cosine) & swap;
    auto const with_sign = [](bits value, bits of) XGRAD_LAMBDA_INLINE {
        return Batch<P>::from_bits(value ^ (of & sign_bit));
    };
    return {with_sign(sine ^ difference, half ^ x.to_bits()),
        with_sign(cosine ^ difference, half ^ odd)};
}

/// Of an angle in radians.
template <class P> XGRAD_INLINE Batch<P> sin(Batch<P> x) { return sincos(x).sine; }
/// Of an angle in radians.
template <class P> XGRAD_INLINE Batch<P> cos(Batch<P> x) { return sincos(x).cosine; }
/// Of an angle in radians.
template <class P> XGRAD_INLINE Batch<P> tan(Batch<P> x) {
    auto const [s, c] = sincos(x);
    return s / c;
}

} // namespace xgrad::simd
