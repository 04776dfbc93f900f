// sin, cos and tan on batches.
//
// Method (Cody and Waite): |x| = k pi/2 + r with an integer k and |r| <= pi/4. Polynomials give sin
// r and cos r. The lowest two bits of k say which of the two is sin x and what its sign is. The C
// library computes arguments above `max`, where k has too many digits.
#pragma once

#include <xgrad/simd/polynomial.hpp>

namespace xgrad::simd {
namespace detail {

/// half_pi is pi/2 as a sum of parts. All parts but the last have so few digits that their products
/// with k are exact for |x| < max. The other constants are minimax coefficients for |r| <= pi/4 of
/// sin r = r + r^3 (s0 + s1 r^2 + ...) and cos r = 1 - r^2/2 + r^4 (c0 + c1 r^2 + ...).
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

/// sin x and cos x of one argument.
template <class P> struct SineAndCosine {
    Batch<P> sine, cosine;
};

namespace detail {

/// The C library's sin and cos for large arguments, infinity and NaN.
template <class P, std::size_t width> XGRAD_NOINLINE SineAndCosine<P> sincos_of_giants(Batch<P> x) {
    return {each([](P v) { return std::sin(v); }, x), each([](P v) { return std::cos(v); }, x)};
}

} // namespace detail

/// sin x and cos x, within about one rounding for |x| <= 100 and two above.
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
    // k odd: sin and cos are exchanged (`swap` has all bits set). The second bit of k is the sign
    // of the sine; the sign of the cosine is that bit xor the first.
    bits const odd = nearest.integer << sign, half = nearest.integer << (sign - 1);
    bits const swap = bits{} - (nearest.integer & 1), difference = (sine ^ cosine) & swap;
    auto const with_sign = [](bits value, bits of) XGRAD_LAMBDA_INLINE {
        return Batch<P>::from_bits(value ^ (of & sign_bit));
    };
    return {with_sign(sine ^ difference, half ^ x.to_bits()),
        with_sign(cosine ^ difference, half ^ odd)};
}

/// The sine of an angle in radians.
template <class P> XGRAD_INLINE Batch<P> sin(Batch<P> x) { return sincos(x).sine; }
/// The cosine of an angle in radians.
template <class P> XGRAD_INLINE Batch<P> cos(Batch<P> x) { return sincos(x).cosine; }
/// The tangent of an angle in radians.
template <class P> XGRAD_INLINE Batch<P> tan(Batch<P> x) {
    auto const [s, c] = sincos(x);
    return s / c;
}

} // namespace xgrad::simd
