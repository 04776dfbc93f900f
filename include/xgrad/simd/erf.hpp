// erf and erfc on batches, within about two roundings.
//
// Near 0 a polynomial gives erf. Farther away, erfc is an exponential: e^q(x) in erf (double
// precision), e^(-x^2) times a polynomial in erfc and in single precision. Only erfc keeps its
// relative precision where erf is near 1.
#pragma once

#include <xgrad/simd/exp.hpp>

namespace xgrad::simd {
namespace detail {

/// `near_0`: erf x = x + x p(x^2) for |x| < 1 with a minimax polynomial p.
template <class P> struct ErfConstants;

/// `log_erfc`: erf x = 1 - e^q(x - 1) for x >= 1, where q approximates log erfc. The polynomials
/// are iteratively reweighted least-squares fits with an error below 1e-17 of the result.
template <> struct ErfConstants<double> {
    static constexpr std::array near_0{0x1.06eba8214db68p-3, -0x1.812746b0379c2p-2,
        0x1.ce2f21a041009p-4, -0x1.b82ce31205f38p-6, 0x1.565bccfa93c5ep-8, -0x1.c02db07202015p-11,
        0x1.f9a2bf5eb1a7bp-14, -0x1.f4ca9365689ebp-17, 0x1.b9826fe35a519p-20,
        -0x1.5c16a2013773fp-23, 0x1.d782e7b72ef30p-27, -0x1.acdb38b66f8f5p-31};
    static constexpr std::array log_erfc{-0x1.d97fbf27aa2a1p+0, -0x1.51c9b0006c21ap+1,
        -0x1.afabc11a2b02fp-1, -0x1.5477f099b0a7dp-5, 0x1.48c9d37ed32d1p-7, -0x1.033f59fce1ab5p-9,
        0x1.f1b0452f1fb51p-13, 0x1.b92e4cf70af18p-16, -0x1.c85387158efd6p-16, 0x1.4486cb33409fdp-17,
        -0x1.1e2e44372dabcp-19, 0x1.b8453baa17da6p-23, 0x1.f158d022e574fp-25,
        -0x1.1e71d579578f2p-25, 0x1.244702c47f9cfp-27, -0x1.69f83afd0878cp-30,
        0x1.05dc6d3f568d0p-33, -0x1.5582880313007p-38};
    static constexpr double max = 5.95; // erf x rounds to 1 from here on
};
template <> struct ErfConstants<float> {
    static constexpr std::array near_0{0x1.06eba8p-3f, -0x1.81273ep-2f, 0x1.ce2d20p-4f,
        -0x1.b7fbb6p-6f, 0x1.5419fap-8f, -0x1.a485f8p-11f, 0x1.4ae4c6p-14f};
};

/// `scaled`: minimax polynomial of e^(x^2) erfc(x) (x + 1) in q = (x - 3)/(x + 3) for 1/2 <= x <=
/// max. erfc(max) is below the smallest positive number. A multiple of `unit` below max has an
/// exact square.
template <class P> struct ErfcConstants;
template <> struct ErfcConstants<double> {
    static constexpr double max = 27.3, unit = 0x1p-20;
    static constexpr std::array scaled{0x1.6e9827d229d2dp-1, -0x1.d8f06dfac7990p-3,
        0x1.9596c92adb2a1p-4, -0x1.4f64aa4aa0b75p-7, -0x1.8600d9148cac2p-6, 0x1.67c18994e159dp-6,
        -0x1.3f82b5c82d185p-7, 0x1.a84c55eb97677p-10, 0x1.5297b0d578c77p-11, -0x1.812140038b9cdp-12,
        -0x1.58c6d16b63637p-16, 0x1.d6c2f4761aa56p-15, -0x1.9819f252a191ap-20,
        -0x1.2d99133eaa6dbp-17, 0x1.29c5ec29cd5d5p-22, 0x1.a8ba4cb772d71p-20, 0x1.0f6243cf01f3fp-25,
        -0x1.2cbc842a69997p-22, -0x1.2141ec2e41e8bp-26, 0x1.386a9871151d6p-25};
};
template <> struct ErfcConstants<float> {
    static constexpr float max = 10.2f, unit = 0x1p-8f;
    static constexpr std::array scaled{0x1.6e9828p-1f, -0x1.d8f06cp-3f, 0x1.9596c8p-4f,
        -0x1.4f6baap-7f, -0x1.8600c2p-6f, 0x1.67eb36p-6f, -0x1.3f7992p-7f, 0x1.9c0370p-10f,
        0x1.4d5bc4p-11f, -0x1.225452p-12f};
};

/// erfc x for x >= 1/2. x^2 = h^2 + (x - h)(x + h), where h is x rounded to half its digits: h^2 is
/// exact and the rest is small, so that e^(-x^2) has full relative precision.
template <class P> XGRAD_INLINE Batch<P> erfc_of_positive(Batch<P> x) {
    using Constants = ErfcConstants<P>;
    constexpr P magic = Constants::unit * Format<P>::magic;
    auto const a = smaller(Batch<P>(Constants::max), x); // NaN passes through
    auto const h = (a + Batch<P>(magic)) - Batch<P>(magic), e = (a - h) * (a + h);
    auto const of_rest = e * (1 - e * (P(0.5) - e * (P(1. / 6) - e * P(1. / 24)))); // 1 - e^-e
    auto const scaled = polynomial<0, 1>(Constants::scaled, (a - 3) / (a + 3));
    auto const y = exp(-h * h) * scaled / (a + 1);
    return y - y * of_rest;
}

/// erf x for |x| < 1.
template <class P> XGRAD_INLINE Batch<P> erf_near_0(Batch<P> x) {
    return x + x * polynomial_in_two_chains(ErfConstants<P>::near_0, x * x);
}

} // namespace detail

/// 2/sqrt(pi) times the integral of e^(-t^2) from 0 to x.
template <class P> XGRAD_INLINE Batch<P> erf(Batch<P> x) {
    using Constants = detail::ErfConstants<P>;
    auto const a = abs(x);
    auto const is_small = a < 1;
    if (all_true(is_small)) return detail::erf_near_0(x);
    Batch<P> erfc;
    if constexpr (std::same_as<P, float>) erfc = detail::erfc_of_positive(a);
    else {
        auto const bounded = where(a > Constants::max, Batch<P>(Constants::max), a);
        erfc = exp(detail::polynomial_in_two_chains(Constants::log_erfc, bounded - 1));
    }
    auto const large = copysign(1 - erfc, x);
    return all_true(!is_small) ? large : where(is_small, detail::erf_near_0(x), large);
}
/// 1 - erf x, with full relative precision where it is small.
template <class P> XGRAD_INLINE Batch<P> erfc(Batch<P> x) {
    auto const a = abs(x);
    auto const is_small = a < 0.5;
    if (all_true(is_small)) return 1 - detail::erf_near_0(x);
    auto const y = detail::erfc_of_positive(a), large = where(x < 0, 2 - y, y);
    return all_true(!is_small) ? large : where(is_small, 1 - detail::erf_near_0(x), large);
}

} // namespace xgrad::simd
