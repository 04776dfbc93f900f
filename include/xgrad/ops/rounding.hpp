// Rounding to integers, and remainders.
//
// Shapes: elementwise, two operands broadcast as in NumPy. Integers stay integers.
// Gradients: 0 for floor(), ceil(), trunc() and round(). fmod() and remainder() have 1 for a and
// minus the whole quotient for b, in backward and forward mode.
// Errors: shapes that do not broadcast are a ShapeError and an undefined tensor is an Error, both
// where the expression is evaluated. Complex numbers do not compile.
#pragma once

#include <xgrad/ops/arithmetic.hpp>

namespace xgrad {

/// The largest integer that is not above x; gradient 0.
struct Floor : Elementwise<Z(Z), R(R)> {
    static constexpr std::string_view written = "floor";
    XGRAD_INLINE auto value(auto x) const { return floor(x); }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto) const { return nothing; }
};
template <Operand X> XGRAD_INLINE auto floor(X const& x) { return express(Floor{}, x); }

/// The smallest integer that is not below x; gradient 0.
struct Ceil : Elementwise<Z(Z), R(R)> {
    static constexpr std::string_view written = "ceil";
    XGRAD_INLINE auto value(auto x) const { return ceil(x); }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto) const { return nothing; }
};
template <Operand X> XGRAD_INLINE auto ceil(X const& x) { return express(Ceil{}, x); }

/// x rounded toward 0; gradient 0.
struct Trunc : Elementwise<Z(Z), R(R)> {
    static constexpr std::string_view written = "trunc";
    XGRAD_INLINE auto value(auto x) const { return trunc(x); }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto) const { return nothing; }
};
template <Operand X> XGRAD_INLINE auto trunc(X const& x) { return express(Trunc{}, x); }

/// x rounded to the nearest integer, ties to even; gradient 0.
struct Round : Elementwise<Z(Z), R(R)> {
    static constexpr std::string_view written = "round";
    XGRAD_INLINE auto value(auto x) const { return round(x); }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto) const { return nothing; }
};
template <Operand X> XGRAD_INLINE auto round(X const& x) { return express(Round{}, x); }

/// a - b trunc(a/b), with the sign of a, as in C. For b = 0 it is NaN, and of integers 0, as in
/// NumPy. The gradient treats trunc(a/b) as constant.
struct Fmod : Transcendental<Z(Z, Z), R(R, R)> {
    static constexpr std::string_view written = "fmod";
    XGRAD_INLINE auto value(auto a, auto b) const { return fmod(a, b); }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto, auto) const { return one; }
    // a/b may be rounded up to the next integer.
    XGRAD_INLINE auto partial(wrt<1>, auto y, auto a, auto b) const { return -round((a - y) / b); }
};
template <class A, class B>
    requires AnyOperand<A, B>
XGRAD_INLINE auto fmod(A&& a, B&& b) {
    return express(Fmod{}, std::forward<A>(a), std::forward<B>(b));
}

/// a - b floor(a/b), with the sign of b, as in Python. For b = 0 it is NaN, and of integers 0, as
/// in NumPy. The gradient treats floor(a/b) as constant.
struct Remainder : Transcendental<Z(Z, Z), R(R, R)> {
    static constexpr std::string_view written = "remainder";
    XGRAD_INLINE auto value(auto a, auto b) const {
        auto const rest = fmod(a, b);
        return where((rest < 0 && b > 0) || (rest > 0 && b < 0), rest + b, rest);
    }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto, auto) const { return one; }
    // Beside an infinite b of the other sign, the multiple is -1.
    XGRAD_INLINE auto partial(wrt<1>, auto y, auto a, auto b) const {
        return where(abs(y) == HUGE_VAL, 1, -round((a - y) / b));
    }
};
template <class A, class B>
    requires AnyOperand<A, B>
XGRAD_INLINE auto remainder(A&& a, B&& b) {
    return express(Remainder{}, std::forward<A>(a), std::forward<B>(b));
}
/// remainder(), as Python's operator: -7 % 3 is 2. (That of C++ is fmod().)
template <class A, class B>
    requires AnyOperand<A, B>
XGRAD_INLINE auto operator%(A&& a, B&& b) {
    return remainder(std::forward<A>(a), std::forward<B>(b));
}

} // namespace xgrad
