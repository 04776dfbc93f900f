// The error function on packs of double precision, to about one rounding (xsimd's is off by up to 70), and its complement.
#pragma once

#include <array>
#include <concepts>

#include <xgrad/base/exponential.hpp>

namespace xgrad::detail {

/// c[0] + c[1] x + c[2] x^2 + ..., as two chains.
template <class P, std::size_t n> XGRAD_INLINE RealPack<P> polynomial_of_two(std::array<P, n> const& c, RealPack<P> x)
{
    auto const square = x * x;
    return polynomial<0, 2>(c, square) + x * polynomial<1, 2>(c, square);
}

/// Below 1 it is x + x p(x^2); from there on 1 - e^q(x - 1), where q is the logarithm of erfc. Both are least-squares fits, weighted until their
/// errors level out, below 1e-17 of the result.
template <std::same_as<double> P> XGRAD_INLINE RealPack<P> erf_of_any(RealPack<P> x)
{
    static constexpr std::array p{0x1.06eba8214db68p-3,  -0x1.812746b0379c2p-2, 0x1.ce2f21a041009p-4,  -0x1.b82ce31205f38p-6, 0x1.565bccfa93c5ep-8,  -0x1.c02db07202015p-11,
                                  0x1.f9a2bf5eb1a7bp-14, -0x1.f4ca9365689ebp-17, 0x1.b9826fe35a519p-20, -0x1.5c16a2013773fp-23, 0x1.d782e7b72ef30p-27, -0x1.acdb38b66f8f5p-31};
    static constexpr std::array q{-0x1.d97fbf27aa2a1p+0, -0x1.51c9b0006c21ap+1, -0x1.afabc11a2b02fp-1, -0x1.5477f099b0a7dp-5, 0x1.48c9d37ed32d1p-7,  -0x1.033f59fce1ab5p-9,
                                  0x1.f1b0452f1fb51p-13, 0x1.b92e4cf70af18p-16, -0x1.c85387158efd6p-16, 0x1.4486cb33409fdp-17, -0x1.1e2e44372dabcp-19, 0x1.b8453baa17da6p-23,
                                  0x1.f158d022e574fp-25, -0x1.1e71d579578f2p-25, 0x1.244702c47f9cfp-27, -0x1.69f83afd0878cp-30, 0x1.05dc6d3f568d0p-33, -0x1.5582880313007p-38};
    using lanes = typename RealPack<P>::lanes;
    static constexpr double last = 5.95;  // where it is 1 in double precision
    auto const a = abs(x);
    auto const is_small = a < 1;
    auto const small = [&] { return x + x * polynomial_of_two(p, x * x); };
    if (lanes::all(is_small.m)) return small();
    auto const large = copysign(1 - exp_of_any(polynomial_of_two(q, where(a > last, RealPack<P>(last), a) - 1)), x);
    return lanes::all((!is_small).m) ? large : where(is_small, small(), large);
}

/// e^(x^2) erfc(x) (x + 3) as a polynomial in q = (x - 3)/(x + 3), from a Chebyshev series for
/// 0 <= x <= last, where erfc(last) is below the smallest number; `unit` divides x so coarsely that
/// the square of a multiple of it is exact.
template <class P> struct ErfcFacts;
template <> struct ErfcFacts<double> {
    static constexpr double last = 27.3, unit = 0x1p-20;
    static constexpr std::array scaled{0x1.12f21ddd9f5e2p+0, -0x1.c44c471baa377p-1,
        0x1.2e326945de2a7p-1, -0x1.3deb21415dc3fp-2, 0x1.e995f11b18cd4p-4, -0x1.b78993d6c004bp-6,
        -0x1.3dd3e71a9ceebp-10, 0x1.8dae3a2c93756p-9, -0x1.1f78e049f232bp-11,
        -0x1.2238fef6b3c34p-12, 0x1.c324fcf691d39p-14, 0x1.fdffb0e929805p-16,
        -0x1.2516a71d7dd27p-16, -0x1.3ebbe15b7a011p-18, 0x1.72be92048db1ep-19,
        0x1.0c29614e36274p-20, -0x1.b028adcf63a6dp-22, -0x1.f3793063241f4p-23,
        0x1.597710fd0e5dep-25, 0x1.9ff3de3637c85p-25, 0x1.416b17dd0fbb8p-29, -0x1.af486f7c24a00p-28,
        -0x1.ac906e39f38c6p-30};
};
template <> struct ErfcFacts<float> {
    static constexpr float last = 10.2f, unit = 0x1p-8f;
    static constexpr std::array scaled{0x1.12f21ep+0f, -0x1.c44c48p-1f, 0x1.2e326ap-1f,
        -0x1.3deaccp-2f, 0x1.e99610p-4f, -0x1.b7c14cp-6f, -0x1.4024e6p-10f, 0x1.946408p-9f,
        -0x1.00a560p-11f, -0x1.5f4510p-12f, -0x1.a36300p-19f};
};

/// erfc x to about two roundings, for all x; erfc(-x) is 2 - erfc(x). Of x^2 = h^2 + (x - h)(x + h),
/// where h has half the digits of x, the first square is exact and the rest is small, so that
/// e^(-x^2) keeps its digits.
template <class P> XGRAD_INLINE RealPack<P> erfc_of_any(RealPack<P> x) {
    using Facts = ErfcFacts<P>;
    constexpr P magic =
        Facts::unit * static_cast<P>(std::uint64_t{3} << (std::numeric_limits<P>::digits - 2));
    auto const a = smaller(RealPack<P>(Facts::last), abs(x)); // in this order, so that NaN stays
    auto const h = (a + RealPack<P>(magic)) - RealPack<P>(magic), e = (a - h) * (a + h);
    auto const of_rest = 1 - e * (1 - e * (P(0.5) - e * (P(1. / 6) - e * P(1. / 24))));
    auto const inverse = 1 / (a + 3);
    auto const y = exp_of_any(-h * h) * of_rest *
                   (polynomial_of_two(Facts::scaled, (a - 3) * inverse) * inverse);
    return where(x < 0, 2 - y, y);
}

}  // namespace xgrad::detail
