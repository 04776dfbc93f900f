// Sums, products, quotients and powers.
//
// Shapes: elementwise, operands broadcast as in NumPy. A scalar constant takes the precision of the
// tensors beside it.
// Gradients: of all real and complex operands, of any order, in backward and forward mode; summed
// over axes along which an operand was broadcast. A complex operand gets dL/dRe + i dL/dIm, as in
// PyTorch; a real one beside complex ones gets the real part. Infinite for sqrt() and rsqrt() at 0;
// 0 for the base of pow(x, 0).
// Errors: shapes that do not broadcast are a ShapeError and an undefined tensor is an Error, both
// where the expression is evaluated.
#pragma once

#include <xgrad/expr/expression.hpp>

namespace xgrad {

/// Negative, -x.
struct Neg : Elementwise<Z(Z), R(R), C(C)> {
    static constexpr std::string_view written = "-";
    XGRAD_INLINE auto value(auto x) const { return -x; }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto) const { return minus_one; }
};
template <Operand X> XGRAD_INLINE auto operator-(X&& x) {
    return express(Neg{}, std::forward<X>(x));
}

/// Sum of two operands.
struct Add : Elementwise<Z(Z, Z), R(R, R), C(C, C), C(R, C), C(C, R)> {
    static constexpr std::string_view written = "+";
    XGRAD_INLINE auto value(auto a, auto b) const { return a + b; }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto, auto) const { return one; }
    XGRAD_INLINE auto partial(wrt<1>, auto, auto, auto) const { return one; }
};
template <class A, class B>
    requires AnyOperand<A, B>
XGRAD_INLINE auto operator+(A&& a, B&& b) {
    return express(Add{}, std::forward<A>(a), std::forward<B>(b));
}

/// Difference of two operands.
struct Sub : Elementwise<Z(Z, Z), R(R, R), C(C, C), C(R, C), C(C, R)> {
    static constexpr std::string_view written = "-";
    XGRAD_INLINE auto value(auto a, auto b) const { return a - b; }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto, auto) const { return one; }
    XGRAD_INLINE auto partial(wrt<1>, auto, auto, auto) const { return minus_one; }
};
template <class A, class B>
    requires AnyOperand<A, B>
XGRAD_INLINE auto operator-(A&& a, B&& b) {
    return express(Sub{}, std::forward<A>(a), std::forward<B>(b));
}

/// Product of two operands, each real or complex.
struct Mul : Elementwise<Z(Z, Z), R(R, R), C(C, C), C(R, C), C(C, R)> {
    static constexpr std::string_view written = "*";
    XGRAD_INLINE auto value(auto a, auto b) const { return a * b; }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto, auto b) const { return b; }
    XGRAD_INLINE auto partial(wrt<1>, auto, auto a, auto) const { return a; }
};
template <class A, class B>
    requires AnyOperand<A, B>
XGRAD_INLINE auto operator*(A&& a, B&& b) {
    return express(Mul{}, std::forward<A>(a), std::forward<B>(b));
}

/// Quotient of two operands, each real or complex; of integers too it is a real number.
struct Div : Elementwise<R(R, R), C(C, C), C(R, C), C(C, R)> {
    static constexpr std::string_view written = "/";
    XGRAD_INLINE auto value(auto a, auto b) const { return a / b; }
    XGRAD_INLINE auto factor(auto b) const {
        if constexpr (Number<decltype(b)>) return decltype(b)(1) / b; // beside a Dual of a Dual
        else return reciprocal(b);
    }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto, auto b) const { return factor(b); }
    XGRAD_INLINE auto partial(wrt<1>, auto y, auto, auto b) const { return -(y * factor(b)); }
    XGRAD_INLINE auto partial(wrt<1>, auto y, auto, auto, auto r) const { return -(y * r); }
};
template <class A, class B>
    requires AnyOperand<A, B>
XGRAD_INLINE auto operator/(A&& a, B&& b) {
    return express(Div{}, std::forward<A>(a), std::forward<B>(b));
}

/// a + w (b - a), which is exactly b at w = 1.
struct Lerp : Elementwise<R(R, R, R), C(C, C, R), C(C, C, C)> {
    static constexpr std::string_view written = "lerp";
    XGRAD_INLINE auto value(auto a, auto b, auto w) const {
        return where(abs(w) < 0.5, a + w * (b - a), b - (b - a) * (1 - w));
    }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto, auto, auto w) const { return 1 - w; }
    XGRAD_INLINE auto partial(wrt<1>, auto, auto, auto, auto w) const { return w; }
    XGRAD_INLINE auto partial(wrt<2>, auto, auto a, auto b, auto) const { return b - a; }
};
template <class A, class B, class W>
    requires AnyOperand<A, B, W>
XGRAD_INLINE auto lerp(A&& a, B&& b, W&& w) {
    return express(Lerp{}, std::forward<A>(a), std::forward<B>(b), std::forward<W>(w));
}

/// 1/x.
struct Reciprocal : Elementwise<R(R), C(C)> {
    static constexpr std::string_view written = "reciprocal";
    XGRAD_INLINE auto value(auto x) const { return reciprocal(x); }
    XGRAD_INLINE auto partial(wrt<0>, auto y, auto) const { return -(y * y); }
};
template <Operand X> XGRAD_INLINE auto reciprocal(X const& x) { return express(Reciprocal{}, x); }

/// x * x.
struct Square : Elementwise<Z(Z), R(R), C(C)> {
    static constexpr std::string_view written = "square";
    XGRAD_INLINE auto value(auto x) const { return x * x; }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto x) const { return 2 * x; }
};
template <Operand X> XGRAD_INLINE auto square(X const& x) { return express(Square{}, x); }

/// Square root; the gradient at 0 is infinite.
struct Sqrt : Elementwise<R(R), C(C)> {
    static constexpr std::string_view written = "sqrt";
    XGRAD_INLINE auto value(auto x) const { return sqrt(x); }
    XGRAD_INLINE auto partial(wrt<0>, auto y, auto) const { return 0.5 * reciprocal(y); }
};
template <Operand X> XGRAD_INLINE auto sqrt(X const& x) { return express(Sqrt{}, x); }

/// 1 / sqrt(x).
struct Rsqrt : Elementwise<R(R), C(C)> {
    static constexpr std::string_view written = "rsqrt";
    XGRAD_INLINE auto value(auto x) const { return reciprocal(sqrt(x)); }
    XGRAD_INLINE auto partial(wrt<0>, auto y, auto) const { return -0.5 * (y * y * y); }
};
template <Operand X> XGRAD_INLINE auto rsqrt(X const& x) { return express(Rsqrt{}, x); }

namespace detail {
/// Batches and probes: the types on which a rule's result is not differentiated.
template <class... X>
concept Undifferentiated = ((simd::AnyBatch<X> || is_probe<X>)&&...);
/// A power a^b that is not computed yet.
struct NoPower {};

template <simd::AnyBatch X> X high_power_factor(int m, int n, X b, X log_a);
/// (b)_m a^(b-m), with (b)_m = b (b-1) ... (b-m+1), is derivative m of a^b for a. This is
/// derivative n of that for b without its factor a^(b-m): a polynomial in b and log(a).
template <simd::AnyBatch X> XGRAD_INLINE X power_factor(int m, int n, X b, X log_a) {
    X factor = 1;
    if (n == 0) {
        for (int j = 0; j < m; ++j) factor = factor * (b - j);
        return factor;
    }
    for (int k = 1; k < n; ++k) factor = factor * log_a;
    if (m == 0) return factor * log_a;
    if (m == 1) return factor * (n + b * log_a);
    return high_power_factor(m, n, b, log_a);
}
template <simd::AnyBatch X> X high_power_factor(int m, int n, X b, X log_a) {
    return (b - (m - 1)) * power_factor(m - 1, n, b, log_a) +
           n * power_factor(m - 1, n - 1, b, log_a);
}
} // namespace detail

// The derivative of a^b, m times for a and n times for b, given the power itself.
template <class Y, simd::AnyBatch X>
XGRAD_INLINE X pow_derivative(int m, int n, Y power, X a, X b) {
    X below; // a^(b-m)
    if constexpr (simd::AnyBatch<Y>) {
        below = power;
        for (int j = 0; j < m; ++j) below = power_below(below, a, b - j);
    } else below = pow(a, b - m);
    auto const falling = detail::power_factor(m, 0, b, b);
    if (n == 0) return where(falling == 0, 0, falling * below);
    auto const is_flat = a == 0 && (m == 0 ? real(b) >= 0 : real(b) > m);
    auto const regular = where(is_flat, 0, below * detail::power_factor(m, n, b, log(a)));
    if constexpr (requires { a.im; }) return regular; // complex powers have no other limits at 0
    else {
        // log(a) tends to -infinity; its highest power is n, or n - 1 where (b)_m has a root.
        auto const slope = detail::power_factor(m, 1, b, X(0));
        auto const leading = where(falling == 0, -slope, falling);
        auto const pole = (n % 2 ? -HUGE_VAL : HUGE_VAL) * leading;
        return where(a == 0 && (m == 0 ? b < 0 : b <= m), pole, regular);
    }
}

/// The derivative of a^b, m times for a and n times for b. Being one function, it does not depend
/// on the order of differentiation. At a = 0 it is the limit from above, which may be infinite; but
/// the derivatives for b alone are 0 at 0^0.
template <class Y = detail::NoPower> struct PowDerivative : Transcendental<R(R, R), C(C, C)> {
    static constexpr std::string_view written = "pow";
    int m = 0, n = 0; // derivative `m` with respect to a, and `n` with respect to b
    [[no_unique_address]] Y power = {}; // the power itself, where it is known

    XGRAD_INLINE auto value(auto a, auto b) const { return pow_derivative(m, n, power, a, b); }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto a, auto b) const {
        return pow_derivative(m + 1, n, power, a, b);
    }
    XGRAD_INLINE auto partial(wrt<1>, auto, auto a, auto b) const {
        return pow_derivative(m, n + 1, power, a, b);
    }
};
template <class Y, class A, class B>
    requires AnyOperand<A, B>
XGRAD_INLINE auto pow_derivative(int m, int n, Y const&, A const& a, B const& b) {
    return express(PowDerivative<>{{}, m, n}, a, b);
}

/// Power a^b. The gradient for the base of a^0 is 0, and for the exponent of 0^b it is 0 where b >=
/// 0. Mixed second derivatives at a = 0 are the limits from above, infinite where these are.
struct Pow : Transcendental<R(R, R), C(C, C)> {
    static constexpr std::string_view written = "pow";
    XGRAD_INLINE auto value(auto a, auto b) const { return pow(a, b); }
    XGRAD_INLINE auto partial(wrt<0>, auto y, auto a, auto b) const {
        if constexpr (detail::Undifferentiated<decltype(a), decltype(b)>) {
            auto const flat = b == 0 && (a == 0 || a != a);
            return where(flat, 0, b * power_below(y, where(flat, 1, a), b));
        } else return pow_derivative(1, 0, y, a, b);
    }
    XGRAD_INLINE auto partial(wrt<1>, auto y, auto a, auto b) const {
        if constexpr (detail::Undifferentiated<decltype(a), decltype(b)>)
            return where(a == 0 && real(b) >= 0, 0, y * log(a));
        else return pow_derivative(0, 1, y, a, b);
    }
};

/// Power x^p with a real constant p; small integer powers are products.
struct PowNumber : Transcendental<R(R), C(C)> {
    static constexpr std::string_view written = "pow";
    double p = 1; // the exponent

    XGRAD_INLINE auto value(auto x) const { return pow(x, p); }
    XGRAD_INLINE auto partial(wrt<0>, auto y, auto x) const {
        return p * power_below(y, x, p == 0 ? 1. : p);
    }
};

/// a^b, broadcast. A real base below 0 has a value for whole powers only, NaN otherwise; then the
/// gradient of a tensor b is NaN, too.
template <class A, class B>
    requires AnyOperand<A, B>
XGRAD_INLINE auto pow(A&& a, B&& b) {
    if constexpr (std::is_arithmetic_v<std::remove_cvref_t<B>>)
        return express(PowNumber{{}, static_cast<double>(b)}, std::forward<A>(a));
    else return express(Pow{}, std::forward<A>(a), std::forward<B>(b));
}

} // namespace xgrad
