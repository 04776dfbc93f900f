// Trigonometric and hyperbolic functions and their inverses, and polar coordinates; complex ones
// have the branch cuts of the C++ standard.
//
// Shapes: elementwise, two operands broadcast as in NumPy; integers and masks are computed in
// double.
// Gradients: of any order, in backward and forward mode. Functions of complex numbers are
// holomorphic: the gradient is g conj(f'). At the origin it is NaN for atan2() and 0 for hypot().
// Errors: shapes that do not broadcast are a ShapeError and an undefined tensor is an Error, both
// where the expression is evaluated. atan2() and hypot() of complex numbers do not compile.
#pragma once

#include <xgrad/ops/arithmetic.hpp>

namespace xgrad {

/// Sine.
struct Sin : Transcendental<R(R), C(C)> {
    static constexpr std::string_view written = "sin";
    XGRAD_INLINE auto value(auto x) const { return sin(x); }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto x) const { return cos(x); }
    template <class P> XGRAD_INLINE auto value_and_partial(simd::Batch<P> x) const {
        auto const [s, c] = sincos(x);
        return std::pair(s, c);
    }
    template <class P> XGRAD_INLINE auto value_and_partial(simd::ComplexBatch<P> z) const {
        auto const [s, c] = simd::detail::circular(z);
        return std::pair(s, c);
    }
};
template <Operand X> XGRAD_INLINE auto sin(X const& x) { return express(Sin{}, x); }

/// Cosine.
struct Cos : Transcendental<R(R), C(C)> {
    static constexpr std::string_view written = "cos";
    XGRAD_INLINE auto value(auto x) const { return cos(x); }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto x) const { return -sin(x); }
    template <class P> XGRAD_INLINE auto value_and_partial(simd::Batch<P> x) const {
        auto const [s, c] = sincos(x);
        return std::pair(c, -s);
    }
    template <class P> XGRAD_INLINE auto value_and_partial(simd::ComplexBatch<P> z) const {
        auto const [s, c] = simd::detail::circular(z);
        return std::pair(c, -s);
    }
};
template <Operand X> XGRAD_INLINE auto cos(X const& x) { return express(Cos{}, x); }

/// Tangent.
struct Tan : Transcendental<R(R), C(C)> {
    static constexpr std::string_view written = "tan";
    XGRAD_INLINE auto value(auto x) const { return tan(x); }
    XGRAD_INLINE auto partial(wrt<0>, auto y, auto) const { return 1 + y * y; }
};
template <Operand X> XGRAD_INLINE auto tan(X const& x) { return express(Tan{}, x); }

/// Arc sine.
struct Asin : Transcendental<R(R), C(C)> {
    static constexpr std::string_view written = "asin";
    XGRAD_INLINE auto value(auto x) const { return asin(x); }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto x) const { return reciprocal(sqrt(1 - x * x)); }
};
template <Operand X> XGRAD_INLINE auto asin(X const& x) { return express(Asin{}, x); }

/// Arc cosine.
struct Acos : Transcendental<R(R), C(C)> {
    static constexpr std::string_view written = "acos";
    XGRAD_INLINE auto value(auto x) const { return acos(x); }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto x) const { return -reciprocal(sqrt(1 - x * x)); }
};
template <Operand X> XGRAD_INLINE auto acos(X const& x) { return express(Acos{}, x); }

/// Arc tangent.
struct Atan : Transcendental<R(R), C(C)> {
    static constexpr std::string_view written = "atan";
    XGRAD_INLINE auto value(auto x) const { return atan(x); }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto x) const { return reciprocal(1 + x * x); }
};
template <Operand X> XGRAD_INLINE auto atan(X const& x) { return express(Atan{}, x); }

/// Hyperbolic sine.
struct Sinh : Transcendental<R(R), C(C)> {
    static constexpr std::string_view written = "sinh";
    XGRAD_INLINE auto value(auto x) const { return sinh(x); }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto x) const { return cosh(x); }
    template <class P> XGRAD_INLINE auto value_and_partial(simd::ComplexBatch<P> z) const {
        auto const [s, c] = simd::detail::hyperbolic(z);
        return std::pair(s, c);
    }
};
template <Operand X> XGRAD_INLINE auto sinh(X const& x) { return express(Sinh{}, x); }

/// Hyperbolic cosine.
struct Cosh : Transcendental<R(R), C(C)> {
    static constexpr std::string_view written = "cosh";
    XGRAD_INLINE auto value(auto x) const { return cosh(x); }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto x) const { return sinh(x); }
    template <class P> XGRAD_INLINE auto value_and_partial(simd::ComplexBatch<P> z) const {
        auto const [s, c] = simd::detail::hyperbolic(z);
        return std::pair(c, s);
    }
};
template <Operand X> XGRAD_INLINE auto cosh(X const& x) { return express(Cosh{}, x); }

/// Hyperbolic tangent.
struct Tanh : Transcendental<R(R), C(C)> {
    static constexpr std::string_view written = "tanh";
    XGRAD_INLINE auto value(auto x) const { return tanh(x); }
    XGRAD_INLINE auto partial(wrt<0>, auto y, auto) const { return 1 - y * y; }
};
template <Operand X> XGRAD_INLINE auto tanh(X const& x) { return express(Tanh{}, x); }

/// Inverse hyperbolic sine.
struct Asinh : Transcendental<R(R), C(C)> {
    static constexpr std::string_view written = "asinh";
    XGRAD_INLINE auto value(auto x) const { return asinh(x); }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto x) const { return reciprocal(sqrt(1 + x * x)); }
};
template <Operand X> XGRAD_INLINE auto asinh(X const& x) { return express(Asinh{}, x); }

/// Inverse hyperbolic cosine.
struct Acosh : Transcendental<R(R), C(C)> {
    static constexpr std::string_view written = "acosh";
    XGRAD_INLINE auto value(auto x) const { return acosh(x); }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto x) const {
        return reciprocal(sqrt(x - 1) * sqrt(x + 1));
    }
};
template <Operand X> XGRAD_INLINE auto acosh(X const& x) { return express(Acosh{}, x); }

/// Inverse hyperbolic tangent.
struct Atanh : Transcendental<R(R), C(C)> {
    static constexpr std::string_view written = "atanh";
    XGRAD_INLINE auto value(auto x) const { return atanh(x); }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto x) const { return reciprocal(1 - x * x); }
};
template <Operand X> XGRAD_INLINE auto atanh(X const& x) { return express(Atanh{}, x); }

/// The angle of the point (x, y), in (-pi, pi]; the gradient at the origin is NaN.
struct Atan2 : Transcendental<R(R, R)> {
    static constexpr std::string_view written = "atan2";
    XGRAD_INLINE auto value(auto y, auto x) const { return atan2(y, x); }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto y, auto x) const {
        return x * reciprocal(x * x + y * y);
    }
    XGRAD_INLINE auto partial(wrt<1>, auto, auto y, auto x) const {
        return -y * reciprocal(x * x + y * y);
    }
};
template <class Y, class X>
    requires AnyOperand<Y, X>
XGRAD_INLINE auto atan2(Y&& y, X&& x) {
    return express(Atan2{}, std::forward<Y>(y), std::forward<X>(x));
}

/// The distance of the point (a, b) from the origin, without overflow; the gradient there is 0, as
/// that of the modulus of a complex number.
struct Hypot : Elementwise<R(R, R)> {
    static constexpr std::string_view written = "hypot";
    XGRAD_INLINE auto value(auto a, auto b) const { return abs(complex(a, b)); }
    XGRAD_INLINE auto partial(wrt<0>, auto y, auto a, auto) const { return cosine(y, a); }
    XGRAD_INLINE auto partial(wrt<1>, auto y, auto, auto b) const { return cosine(y, b); }

private:
    // The divisor is 1 at the origin, so that the derivatives of the quotient are finite there.
    XGRAD_INLINE static auto cosine(auto y, auto side) {
        return where(y == 0, 0, side / where(y == 0, 1, y));
    }
};
template <class A, class B>
    requires AnyOperand<A, B>
XGRAD_INLINE auto hypot(A&& a, B&& b) {
    return express(Hypot{}, std::forward<A>(a), std::forward<B>(b));
}

} // namespace xgrad
