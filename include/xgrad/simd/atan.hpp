// atan, atan2, asin and acos on batches. Identities reduce the argument to a short interval around
// 0; a minimax polynomial gives the function there.
#pragma once

#include <xgrad/simd/exp.hpp>

namespace xgrad::simd {
namespace detail {

/// pi/2 as a sum of two numbers, and minimax coefficients (Remez' algorithm) of
/// atan t = t + t^3 (a0 + a1 t^2 + ...) for |t| <= tan(pi/8) and
/// asin t = t + t^3 (b0 + b1 t^2 + ...) for |t| <= 1/2. Their errors are below 0.02 ulp of the
/// result.
template <class P> struct AtanConstants;
template <> struct AtanConstants<double> {
    static constexpr double half_pi = 0x1.921fb54442d18p+0, half_pi_low = 0x1.1a62633145c07p-54;
    static constexpr std::array atan{-0x1.555555555553ep-2, 0x1.9999999995a34p-3,
        -0x1.24924922b7f64p-3, 0x1.c71c70e9f8fa6p-4, -0x1.745cf947417c5p-4, 0x1.3b11202e68affp-4,
        -0x1.10ec05031c3c9p-4, 0x1.df13776fa5e59p-5, -0x1.9ce4c11a77d68p-5, 0x1.380192b73aaeep-5,
        -0x1.25c6d35e1226bp-6};
    static constexpr std::array asin{0x1.5555555555577p-3, 0x1.333333332e07ep-4,
        0x1.6db6db721d9e0p-5, 0x1.f1c71a900a3f9p-6, 0x1.6e8bdf787f74ep-6, 0x1.1c49e4f5f3e42p-6,
        0x1.ca20abf345f6ep-7, 0x1.757c0cf9c65a4p-7, 0x1.61733693933c8p-7, 0x1.e2a90335dac74p-9,
        0x1.64a211b37b785p-6, -0x1.59758a2ff4d2bp-6, 0x1.0bbdebf2beabep-5};
};
template <> struct AtanConstants<float> {
    static constexpr float half_pi = 0x1.921fb6p+0f, half_pi_low = -0x1.777a5cp-25f;
    static constexpr std::array atan{
        -0x1.55554ap-2f, 0x1.9991b4p-3f, -0x1.23b72ap-3f, 0x1.b2079ap-4f, -0x1.f26dcap-5f};
    static constexpr std::array asin{0x1.55554cp-3f, 0x1.33388cp-4f, 0x1.6cac5cp-5f, 0x1.04a63ep-5f,
        0x1.d7e812p-7f, 0x1.33c2cap-5f};
};

/// atan(y/x) for x, y >= 0. Above pi/4 it is pi/2 - atan(x/y); from pi/8 to pi/4 it is
/// pi/4 + atan((y - x)/(y + x)). Numerator and denominator are selected before the only division.
template <class P> XGRAD_INLINE Batch<P> atan_of_quotient(Batch<P> y, Batch<P> x) {
    using Constants = AtanConstants<P>;
    using B = Batch<P>;
    auto const is_steep = y > x;
    B const big = where(is_steep, y, x), small = where(is_steep, x, y);
    auto const is_middle = small > big * P(std::numbers::sqrt2 - 1);
    B const t = where(is_middle, small - big, small) / where(is_middle, small + big, big),
            z = t * t;
    B const p = t * z * polynomial_in_two_chains(Constants::atan, z);
    B const parts = where(is_middle, P(0.5), where(is_steep, B(1), B(0))); // of pi/2
    auto const with_sign = [&](B v) XGRAD_LAMBDA_INLINE { return where(is_steep, -v, v); };
    return parts * Constants::half_pi +
           (with_sign(t) + (with_sign(p) + parts * Constants::half_pi_low));
}

/// asin s = s + rest, where s = |x| for |x| <= 1/2, else s = sqrt((1 - |x|)/2).
template <class P> struct ArcSine {
    Mask<P> is_big;
    Batch<P> s, rest;

    XGRAD_INLINE explicit ArcSine(Batch<P> x) {
        auto const a = abs(x);
        is_big = a > 0.5;
        auto const z = where(is_big, 0.5 * (1 - a), a * a);
        s = where(is_big, sqrt(z), a);
        rest = s * z * polynomial_in_two_chains(AtanConstants<P>::asin, z);
    }
};

} // namespace detail

/// The angle of the point (x, y) in [-pi, pi]; signed zeros and infinities as in the C library.
template <class P> XGRAD_INLINE Batch<P> atan2(Batch<P> y, Batch<P> x) {
    using Constants = detail::AtanConstants<P>;
    using B = Batch<P>;
    auto a = abs(y), b = abs(x);
    auto const are_infinite = a == HUGE_VAL && b == HUGE_VAL, are_zero = a == 0 && b == 0;
    auto const scale = where(a > 1 || b > 1, P(0.25), P(1)); // their sum is finite
    a = where(are_infinite, B(1), a * scale);
    b = where(are_infinite || are_zero, B(1), b * scale);
    auto const angle = detail::atan_of_quotient(a, b);
    auto const is_left = copysign(B(1), x) < 0;
    auto const left = 2 * Constants::half_pi - (angle - 2 * Constants::half_pi_low);
    return copysign(where(is_left, left, angle), y);
}
template <class P> XGRAD_INLINE Batch<P> atan(Batch<P> x) {
    return copysign(detail::atan_of_quotient<P>(abs(x), 1), x);
}
/// asin x; for |x| > 1/2 it is pi/2 - 2 asin(sqrt((1 - |x|)/2)) with the sign of x.
template <class P> XGRAD_INLINE Batch<P> asin(Batch<P> x) {
    using Constants = detail::AtanConstants<P>;
    detail::ArcSine<P> const r(x);
    auto const big = Constants::half_pi - (2 * r.s + (2 * r.rest - Constants::half_pi_low));
    return copysign(where(r.is_big, big, r.s + r.rest), x);
}
/// acos x = pi/2 - asin x. It is 2 asin(sqrt((1 - |x|)/2)) for x > 1/2, and pi minus that for x <
/// -1/2.
template <class P> XGRAD_INLINE Batch<P> acos(Batch<P> x) {
    using Constants = detail::AtanConstants<P>;
    detail::ArcSine<P> const r(x);
    auto const of_small = Constants::half_pi - (x + (copysign(r.rest, x) - Constants::half_pi_low));
    auto const twice = 2 * (r.s + r.rest);
    auto const of_negative =
        2 * Constants::half_pi - (2 * r.s + 2 * (r.rest - Constants::half_pi_low));
    return where(r.is_big, where(x < 0, of_negative, twice), of_small);
}

} // namespace xgrad::simd
