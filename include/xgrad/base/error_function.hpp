// The error function on packs of double precision, to about one rounding; xsimd's is off by up to 70.
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

}  // namespace xgrad::detail
