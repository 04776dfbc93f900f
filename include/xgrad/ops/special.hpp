// Functions that an expression of elementary ones would compute badly: error functions, sinc, x log
// y, sums of logarithms.
//
// Shapes: elementwise, two operands broadcast as in NumPy; integers and masks are computed in
// double.
// Gradients: of any order, in backward and forward mode. sinc() of complex numbers is holomorphic.
// xlogy() has 0 for x at x = 0 where y <= 0; equal infinities in logaddexp() get half each.
// Errors: shapes that do not broadcast are a ShapeError and an undefined tensor is an Error, both
// where the expression is evaluated. Complex operands of all but sinc() do not compile.
#pragma once

#include <xgrad/ops/arithmetic.hpp>

#include <xgrad/expr/dual.hpp>
#include <xgrad/ops/rounding.hpp>
#include <xgrad/simd/erf.hpp>

namespace xgrad {

/// Error function: 2/sqrt(pi) times the integral of e^(-t^2) from 0 to x.
struct Erf : Transcendental<R(R)> {
    static constexpr std::string_view written = "erf";
    XGRAD_INLINE auto value(auto x) const { return erf(x); }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto x) const {
        return 2 * std::numbers::inv_sqrtpi * exp(-x * x);
    }
};
template <Operand X> XGRAD_INLINE auto erf(X const& x) { return express(Erf{}, x); }

/// 1 - erf(x), accurate where it is small.
struct Erfc : Transcendental<R(R)> {
    static constexpr std::string_view written = "erfc";
    XGRAD_INLINE auto value(auto x) const { return erfc(x); }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto x) const {
        return -2 * std::numbers::inv_sqrtpi * exp(-x * x);
    }
};
template <Operand X> XGRAD_INLINE auto erfc(X const& x) { return express(Erfc{}, x); }

/// sin(pi x) / (pi x), 1 at 0.
struct Sinc : Transcendental<R(R), C(C)> {
    static constexpr std::string_view written = "sinc";
    XGRAD_INLINE auto value(auto x) const {
        auto const [sign, angle] = half_turn(x);
        return where(x == 0, 1, sign * sin(angle) / (std::numbers::pi * x));
    }
    // Near 0 the power series, of which no digits cancel; it differentiates to that of the second
    // derivative.
    XGRAD_INLINE auto partial(wrt<0>, auto, auto x) const {
        auto const t = std::numbers::pi * x;
        auto const is_near = abs(t) < 1;
        auto const near = where(is_near, t, 0), far = where(is_near, 1, t), s = near * near;
        auto const [sign, angle] = half_turn(x);
        auto const series =
            near *
            (-1. / 3 +
                s * (1. / 30 +
                        s * (-1. / 840 +
                                s * (1. / 45360 +
                                        s * (-1. / 3991680 +
                                                s * (1. / 518918400 +
                                                        s * (-1. / 93405312000 +
                                                                s * (1. / 22230464256000 +
                                                                        s * (-1. /
                                                                                6758061133824000)))))))));
        auto const slope = sign * (cos(angle) - sin(angle) / far) / far;
        return std::numbers::pi * where(is_near, series, slope);
    }

private:
    /// (-1)^n, and pi x less n times pi, for the nearest whole number n: functions of pi x are
    /// those of this angle, times that sign. The difference x - n is exact.
    XGRAD_INLINE static auto half_turn(auto x) {
        auto const n = round(real(x)), odd = n - 2 * round(0.5 * n);
        return std::pair(1 - 2 * odd * odd, std::numbers::pi * (x - n));
    }
};
template <Operand X> XGRAD_INLINE auto sinc(X const& x) { return express(Sinc{}, x); }

/// The gradient of x log(y) for x: log(y), but 0 at x = 0 where y <= 0. Its derivatives are those
/// of log(y) there, too, so that mixed derivatives of x log(y) are equal.
struct XLogYSlope : Transcendental<R(R, R)> {
    static constexpr std::string_view written = "xlogy";
    XGRAD_INLINE auto value(auto x, auto y) const { return where(x == 0 && y <= 0, 0, log(y)); }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto, auto) const { return nothing; }
    XGRAD_INLINE auto partial(wrt<1>, auto, auto, auto y) const { return reciprocal(y); }
};
// Called by the rule of xlogy.
XGRAD_INLINE auto xlogy_slope(auto x, auto y)
    requires(!AnyOperand<decltype(x), decltype(y)>)
{
    if constexpr (detail::Undifferentiated<decltype(x), decltype(y)>)
        return XLogYSlope().value(x, y);
    else return detail::on_duals(XLogYSlope(), x, y);
}
template <class X, class Y>
    requires AnyOperand<X, Y>
XGRAD_INLINE auto xlogy_slope(X const& x, Y const& y) {
    return express(XLogYSlope(), x, y);
}

/// x log(y), 0 where x is, unless y is NaN. The gradient for x is 0 at x = 0 where y <= 0; mixed
/// second derivatives are 1/y everywhere, infinite at y = 0.
struct XLogY : Transcendental<R(R, R)> {
    static constexpr std::string_view written = "xlogy";
    XGRAD_INLINE auto value(auto x, auto y) const {
        return where(isnan(y), y, where(x == 0, 0, x * log(y)));
    }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto x, auto y) const { return xlogy_slope(x, y); }
    XGRAD_INLINE auto partial(wrt<1>, auto, auto x, auto y) const { return x / y; }
};
template <class X, class Y>
    requires AnyOperand<X, Y>
XGRAD_INLINE auto xlogy(X&& x, Y&& y) {
    return express(XLogY{}, std::forward<X>(x), std::forward<Y>(y));
}

/// log(e^a + e^b), without overflow. Equal infinities get half the gradient each, as equal numbers
/// do.
struct LogAddExp : Transcendental<R(R, R)> {
    static constexpr std::string_view written = "logaddexp";
    XGRAD_INLINE auto value(auto a, auto b) const {
        return where(a > b, a, b) + log1p(exp(-abs(apart(a, b))));
    }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto a, auto b) const { return sigmoid(apart(a, b)); }
    XGRAD_INLINE auto partial(wrt<1>, auto, auto a, auto b) const { return sigmoid(apart(b, a)); }

private:
    /// a - b, but 0 for equal infinities. Equal finite numbers keep a - b, which has the right
    /// derivatives.
    XGRAD_INLINE static auto apart(auto a, auto b) { return where(a == b && a - a != 0, 0, a - b); }
};
template <class A, class B>
    requires AnyOperand<A, B>
XGRAD_INLINE auto logaddexp(A&& a, B&& b) {
    return express(LogAddExp{}, std::forward<A>(a), std::forward<B>(b));
}

} // namespace xgrad
