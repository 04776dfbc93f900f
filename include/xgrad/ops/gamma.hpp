// The gamma function's logarithm and its derivatives.
//
// Shapes: elementwise, the result has the shape of x; integers and masks are computed in double.
// Gradients: polygamma functions, of any order, in backward and forward mode.
// Errors: an order of polygamma() that is negative or above 2^30 is an Error, and so is an
// undefined tensor. Complex numbers do not compile.
#pragma once

#include <xgrad/ops/arithmetic.hpp>

namespace xgrad {

namespace detail {

/// The C library's.
double log_gamma(double x);

/// digamma(1 + y) for 0 <= y <= 1: y minus the zero z, which is a sum of two numbers, times
/// (1/((1 + z) (1 + y)) + a polynomial in y - 1/2). The first term has the pole at -1, where
/// digamma(1 + y) = digamma(2 + y) - 1/(1 + y). The polynomial interpolates the rest of the
/// quotient at Chebyshev's nodes; its error is below 0.1 ulp.
double digamma_after_1(double y);
/// Within 4 ulp for x > 0; for x < 0 within 4 epsilon of the larger term of the reflection,
/// digamma(1 - x) - pi cot(pi x).
double digamma(double x);

/// The sum of (x / (x + k))^s over k = 0, 1, ..., for s >= 2 and x > 0, by Euler and Maclaurin: x^s
/// times Hurwitz' zeta function, which itself may overflow or underflow.
double scaled_zeta(double s, double x);
/// n! x^-(n + 1) times a factor; n! and the power alone may overflow or underflow.
double scaled_factorial(int n, double x, double factor);

/// Derivative n + 1 of the logarithm of the gamma function. For n > 0 and x > 0 it is within 4 + n
/// ulp, and within 4 for n = 1 and n = 2; for x < 0 within 4 + n epsilon of the term of the nearest
/// pole, n! / |x - pole|^(n + 1).
double polygamma(int n, double x);

} // namespace detail

namespace simd {
template <class P> XGRAD_INLINE Batch<P> lgamma(Batch<P> x) {
    return detail::each([](P v) { return static_cast<P>(xgrad::detail::log_gamma(v)); }, x);
}
template <class P> XGRAD_INLINE Batch<P> polygamma(int n, Batch<P> x) {
    return detail::each([n](P v) { return static_cast<P>(xgrad::detail::polygamma(n, v)); }, x);
}
} // namespace simd

/// Derivative order + 1 of the logarithm of the gamma function: digamma for order 0, trigamma for
/// order 1. It is infinite at 0 and at the negative whole numbers, but digamma is NaN at these.
/// For x > 0 orders 0 to 2 are within 4 ulp, order n above within 4 + n. For x < 0 the error is
/// that of the largest term: next to its zeros there the function has fewer digits.
struct Polygamma : Transcendental<R(R)> {
    static constexpr std::string_view written = "polygamma";
    int order = 0; // not negative
    XGRAD_INLINE auto value(auto x) const { return polygamma(order, x); }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto x) const { return polygamma(order + 1, x); }
};
/// Throws an Error for n < 0, and for n > 2^30.
template <Operand X> XGRAD_INLINE auto polygamma(int n, X const& x) {
    if (n < 0) detail::fail("polygamma: there is no order ", n);
    if (n > 1 << 30) detail::fail("polygamma: order ", n, " is too large");
    return express(Polygamma{{}, n}, x);
}
template <Operand X> auto digamma(X const& x) {
    detail::check_defined("digamma", x);
    return polygamma(0, x);
}

/// The logarithm of |gamma(x)|; infinite at 0, at the negative whole numbers and at both
/// infinities. With glibc it is within 4 ulp for x > 0, and within 4 epsilon of the larger of 1 and
/// the result for x < 0.
struct Lgamma : Transcendental<R(R)> {
    static constexpr std::string_view written = "lgamma";
    XGRAD_INLINE auto value(auto x) const { return lgamma(x); }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto x) const { return polygamma(0, x); }
};
template <Operand X> XGRAD_INLINE auto lgamma(X const& x) { return express(Lgamma{}, x); }

} // namespace xgrad
