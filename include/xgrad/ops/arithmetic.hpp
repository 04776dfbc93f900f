// Sums, products, quotients and powers.
#pragma once

#include <xgrad/ops/expression.hpp>

namespace xgrad {

/// Negative, -x.
struct Neg : Elementwise<Z(Z), R(R), C(C)> {
    XGRAD_INLINE auto value(auto x) const { return -x; }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto) const { return minus_one; }
};
template <Operand X> auto operator-(X&& x) { return express(Neg{}, std::forward<X>(x)); }

/// Sum of two operands.
struct Add : Elementwise<Z(Z, Z), R(R, R), C(C, C), C(R, C), C(C, R)> {
    XGRAD_INLINE auto value(auto a, auto b) const { return a + b; }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto, auto) const { return one; }
    XGRAD_INLINE auto partial(wrt<1>, auto, auto, auto) const { return one; }
};
template <class A, class B>
    requires AnyOperand<A, B>
auto operator+(A&& a, B&& b)
{
    return express(Add{}, std::forward<A>(a), std::forward<B>(b));
}

/// Difference of two operands.
struct Sub : Elementwise<Z(Z, Z), R(R, R), C(C, C), C(R, C), C(C, R)> {
    XGRAD_INLINE auto value(auto a, auto b) const { return a - b; }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto, auto) const { return one; }
    XGRAD_INLINE auto partial(wrt<1>, auto, auto, auto) const { return minus_one; }
};
template <class A, class B>
    requires AnyOperand<A, B>
auto operator-(A&& a, B&& b)
{
    return express(Sub{}, std::forward<A>(a), std::forward<B>(b));
}

/// Product of two operands, each real or complex.
struct Mul : Elementwise<Z(Z, Z), R(R, R), C(C, C), C(R, C), C(C, R)> {
    XGRAD_INLINE auto value(auto a, auto b) const { return a * b; }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto, auto b) const { return b; }
    XGRAD_INLINE auto partial(wrt<1>, auto, auto a, auto) const { return a; }
};
template <class A, class B>
    requires AnyOperand<A, B>
auto operator*(A&& a, B&& b)
{
    return express(Mul{}, std::forward<A>(a), std::forward<B>(b));
}

/// Quotient of two operands, each real or complex; of integers too it is a real number.
struct Div : Elementwise<R(R, R), C(C, C), C(R, C), C(C, R)> {
    XGRAD_INLINE auto value(auto a, auto b) const { return a / b; }
    static constexpr bool divides = true;  // a backward pass finds the reciprocal of b once
    XGRAD_INLINE auto value_again(auto a, auto b) const { return a * reciprocal(b); }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto, auto b) const { return reciprocal(b); }
    XGRAD_INLINE auto partial(wrt<1>, auto y, auto, auto b) const { return -(y * reciprocal(b)); }
};
template <class A, class B>
    requires AnyOperand<A, B>
auto operator/(A&& a, B&& b)
{
    return express(Div{}, std::forward<A>(a), std::forward<B>(b));
}

/// a + w (b - a), which is exactly b at w = 1.
struct Lerp : Elementwise<R(R, R, R), C(C, C, R), C(C, C, C)> {
    static constexpr std::string_view written = "lerp";
    XGRAD_INLINE auto value(auto a, auto b, auto w) const { return where(abs(w) < 0.5, a + w * (b - a), b - (b - a) * (1 - w)); }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto, auto, auto w) const { return 1 - w; }
    XGRAD_INLINE auto partial(wrt<1>, auto, auto, auto, auto w) const { return w; }
    XGRAD_INLINE auto partial(wrt<2>, auto, auto a, auto b, auto) const { return b - a; }
};
template <class A, class B, class W>
    requires AnyOperand<A, B, W>
auto lerp(A&& a, B&& b, W&& w)
{
    return express(Lerp{}, std::forward<A>(a), std::forward<B>(b), std::forward<W>(w));
}

/// 1/x.
struct Reciprocal : Elementwise<R(R), C(C)> {
    XGRAD_INLINE auto value(auto x) const { return reciprocal(x); }
    XGRAD_INLINE auto partial(wrt<0>, auto y, auto) const { return -(y * y); }
};
template <Operand X> auto reciprocal(X const& x) { return express(Reciprocal{}, x); }

/// x * x.
struct Square : Elementwise<Z(Z), R(R), C(C)> {
    XGRAD_INLINE auto value(auto x) const { return x * x; }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto x) const { return 2 * x; }
};
template <Operand X> auto square(X const& x) { return express(Square{}, x); }

/// Square root; the gradient at 0 is infinite.
struct Sqrt : Elementwise<R(R), C(C)> {
    XGRAD_INLINE auto value(auto x) const { return sqrt(x); }
    XGRAD_INLINE auto partial(wrt<0>, auto y, auto) const { return 0.5 * reciprocal(y); }
};
template <Operand X> auto sqrt(X const& x) { return express(Sqrt{}, x); }

/// 1 / sqrt(x).
struct Rsqrt : Elementwise<R(R), C(C)> {
    XGRAD_INLINE auto value(auto x) const { return reciprocal(sqrt(x)); }
    XGRAD_INLINE auto partial(wrt<0>, auto y, auto) const { return -0.5 * (y * y * y); }
};
template <Operand X> auto rsqrt(X const& x) { return express(Rsqrt{}, x); }

/// Power a^b. The gradient for the base of a^0 is 0, and for the exponent of 0^b it is 0 where b >= 0.
struct Pow : Transcendental<R(R, R), C(C, C)> {
    static constexpr std::string_view written = "pow";
    XGRAD_INLINE auto value(auto a, auto b) const { return pow(a, b); }
    // b a^(b-1) is 0 at b = 0, but its derivative for b is not: only where it would be NaN is it replaced, as its derivatives are.
    XGRAD_INLINE auto partial(wrt<0>, auto y, auto a, auto b) const
    {
        auto const flat = b == 0 && (a == 0 || a != a);
        return where(flat, 0, b * power_below(y, where(flat, 1, a), b));
    }
    XGRAD_INLINE auto partial(wrt<1>, auto y, auto a, auto b) const { return where(a == 0 && real(b) >= 0, 0, y * log(a)); }
};

/// Power x^p with a real number p; small whole ones are products.
struct PowNumber : Transcendental<R(R), C(C)> {
    double p = 1;

    XGRAD_INLINE auto value(auto x) const { return pow(x, p); }
    XGRAD_INLINE auto partial(wrt<0>, auto y, auto x) const { return p * power_below(y, x, p == 0 ? 1. : p); }
};

template <class A, class B>
    requires AnyOperand<A, B>
auto pow(A&& a, B&& b)
{
    if constexpr (std::is_arithmetic_v<std::remove_cvref_t<B>>) return express(PowNumber{{}, static_cast<double>(b)}, std::forward<A>(a));
    else return express(Pow{}, std::forward<A>(a), std::forward<B>(b));
}

}  // namespace xgrad
