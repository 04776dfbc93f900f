// The gamma function's logarithm and its derivatives.
#pragma once

#include <xgrad/ops/dual.hpp>
#include <xgrad/ops/probe.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad {

namespace detail {

inline double log_gamma(double x) {
#if __has_include(<unistd.h>)
    int sign; // std::lgamma writes it to a variable that all threads share
    return ::lgamma_r(x, &sign);
#else
    return std::lgamma(x);
#endif
}

inline double digamma(double x) {
    if (x == 0) return std::copysign(HUGE_VAL, -x);
    if (x < 0) { // by reflection at 1/2
        double const part = x - std::nearbyint(x);
        return part == 0 ? std::numeric_limits<double>::quiet_NaN()
                         : digamma(1 - x) - std::numbers::pi / std::tan(std::numbers::pi * part);
    }
    double sum = 0;
    for (; x < 10; ++x) sum -= 1 / x;
    double const t = 1 / (x * x); // Stirling's series
    return sum + std::log(x) - 0.5 / x -
           t * (1. / 12 -
                   t * (1. / 120 -
                           t * (1. / 252 -
                                   t * (1. / 240 - t * (1. / 132 - t * (691. / 32760 - t / 12))))));
}

/// The sum of (x / (x + k))^s over k = 0, 1, ..., for s >= 2 and x > 0, by Euler and Maclaurin: x^s
/// times Hurwitz' zeta function, which itself may overflow or underflow.
inline double scaled_zeta(double s, double x) {
    double const first = x;
    auto const power = [&](double at) { return std::pow(first / at, s); };
    double sum = 0;
    for (; x < 10 + 2 * s; ++x) {
        double const term = power(x);
        sum += term;
        if (term < 1e-19 * sum) return sum; // all later terms together are less than 15 of this
    }
    double term = power(x);
    sum += term * (x / (s - 1) + 0.5);
    term *= s / x;
    double next = s;
    for (double const factor : {1. / 12, -1. / 720, 1. / 30240, -1. / 1209600, 1. / 47900160,
             -691. / 1307674368000, 1. / 74724249600}) {
        sum += factor * term;
        term *= (next + 1.) / x * ((next + 2.) / x);
        next += 2;
    }
    return sum;
}
/// n! x^-(n + 1) times a factor; n! and the power alone may overflow or underflow.
inline double scaled_factorial(int n, double x, double factor) {
    double const s = n + 1., power = std::pow(x, -s);
    constexpr int largest = 170; // whose factorial is finite
    if (n <= largest && std::isnormal(power)) return std::tgamma(s) * (power * factor);
    double const size = log_gamma(s) - s * std::log(x) + std::log(std::abs(factor));
    return std::copysign(std::exp(size), factor);
}

/// Derivative n + 1 of the logarithm of the gamma function.
inline double polygamma(int n, double x) {
    if (n == 0) return digamma(x);
    double const s = n + 1., even = n % 2 == 0 ? -1 : 1;
    if (x == HUGE_VAL) return even * 0;
    if (x > 0) return even * scaled_factorial(n, x, scaled_zeta(s, x));
    // Of the terms (x + k)^-s, that of the pole nearby stands alone, those after it are one sum,
    // and those before it a difference of two.
    double const part = x - std::nearbyint(x), size = std::abs(part);
    if (size == 0) return even * HUGE_VAL;
    auto const zeta = [&](double at) { return std::pow(size / at, s) * scaled_zeta(s, at); };
    double const nearest = part > 0 ? 1 : even;
    return even * scaled_factorial(
                      n, size, nearest + zeta(1 + part) + even * (zeta(1 - part) - zeta(1 - x)));
}

} // namespace detail

namespace simd {
template <class P> XGRAD_INLINE Batch<P> lgamma(Batch<P> x) {
    return detail::each([](P v) { return static_cast<P>(xgrad::detail::log_gamma(v)); }, x);
}
template <class P> XGRAD_INLINE Batch<P> polygamma(int n, Batch<P> x) {
    return detail::each([n](P v) { return static_cast<P>(xgrad::detail::polygamma(n, v)); }, x);
}
} // namespace simd
namespace detail {
inline RealProbe lgamma(RealProbe x) { return x; }
inline RealProbe polygamma(int, RealProbe x) { return x; }
} // namespace detail

/// Derivative order + 1 of the logarithm of the gamma function: digamma for order 0, trigamma for
/// order 1. It is infinite at 0 and at the negative whole numbers, but digamma is NaN at these.
struct Polygamma : Transcendental<R(R)> {
    static constexpr std::string_view written = "polygamma";
    int order = 0;
    XGRAD_INLINE auto value(auto x) const { return polygamma(order, x); }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto x) const { return polygamma(order + 1, x); }
};
/// Throws an Error for n < 0, and for n > 2^30.
template <Operand X> auto polygamma(int n, X const& x) {
    if (n < 0) detail::fail("polygamma: there is no order ", n);
    if (n > 1 << 30) detail::fail("polygamma: order ", n, " is too large");
    return express(Polygamma{{}, n}, x);
}
template <detail::DualNumber X> XGRAD_INLINE auto polygamma(int n, X x) {
    return detail::on_duals(Polygamma{{}, n}, x);
}
template <Operand X> auto digamma(X const& x) {
    detail::check_defined("digamma", x);
    return polygamma(0, x);
}

/// The logarithm of |gamma(x)|; infinite at 0, at the negative whole numbers and at both
/// infinities.
struct Lgamma : Transcendental<R(R)> {
    static constexpr std::string_view written = "lgamma";
    XGRAD_INLINE auto value(auto x) const { return lgamma(x); }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto x) const { return polygamma(0, x); }
};
template <Operand X> auto lgamma(X const& x) { return express(Lgamma{}, x); }
template <detail::DualNumber X> XGRAD_INLINE auto lgamma(X x) {
    return detail::on_duals(Lgamma{}, x);
}

} // namespace xgrad
