// Exponentials and logarithms, and the sigmoid family.
//
// Shapes: elementwise, the result has the shape of x; integers and masks are computed in double,
// but relu() of these gives integers.
// Gradients: of any order, in backward and forward mode. Functions of complex numbers are
// holomorphic: the gradient is g conj(f'). At 0 it is 0 for relu() and infinite for log().
// Errors: an undefined tensor is an Error where the expression is evaluated. softplus() and relu()
// of complex numbers do not compile.
#pragma once

#include <xgrad/ops/arithmetic.hpp>

namespace xgrad {

/// e^x.
struct Exp : Transcendental<R(R), C(C)> {
    static constexpr std::string_view written = "exp";
    XGRAD_INLINE auto value(auto x) const { return exp(x); }
    XGRAD_INLINE auto partial(wrt<0>, auto y, auto) const { return y; }
};
template <Operand X> XGRAD_INLINE auto exp(X const& x) { return express(Exp{}, x); }

/// e^x - 1, accurate near 0.
struct Expm1 : Transcendental<R(R), C(C)> {
    static constexpr std::string_view written = "expm1";
    XGRAD_INLINE auto value(auto x) const { return expm1(x); }
    XGRAD_INLINE auto partial(wrt<0>, auto y, auto) const { return y + 1; }
};
template <Operand X> XGRAD_INLINE auto expm1(X const& x) { return express(Expm1{}, x); }

/// Natural logarithm.
struct Log : Transcendental<R(R), C(C)> {
    static constexpr std::string_view written = "log";
    XGRAD_INLINE auto value(auto x) const { return log(x); }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto x) const { return reciprocal(x); }
    XGRAD_INLINE auto value_and_partial(auto x) const { return std::pair(log(x), reciprocal(x)); }
};
template <Operand X> XGRAD_INLINE auto log(X const& x) { return express(Log{}, x); }

/// log(1 + x), accurate near 0.
struct Log1p : Transcendental<R(R), C(C)> {
    static constexpr std::string_view written = "log1p";
    XGRAD_INLINE auto value(auto x) const { return log1p(x); }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto x) const { return reciprocal(1 + x); }
};
template <Operand X> XGRAD_INLINE auto log1p(X const& x) { return express(Log1p{}, x); }

/// Logarithm to base 2.
struct Log2 : Transcendental<R(R), C(C)> {
    static constexpr std::string_view written = "log2";
    XGRAD_INLINE auto value(auto x) const { return log2(x); }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto x) const {
        return reciprocal(std::numbers::ln2 * x);
    }
};
template <Operand X> XGRAD_INLINE auto log2(X const& x) { return express(Log2{}, x); }

/// Logarithm to base 10.
struct Log10 : Transcendental<R(R), C(C)> {
    static constexpr std::string_view written = "log10";
    XGRAD_INLINE auto value(auto x) const { return log10(x); }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto x) const {
        return reciprocal(std::numbers::ln10 * x);
    }
};
template <Operand X> XGRAD_INLINE auto log10(X const& x) { return express(Log10{}, x); }

/// Logistic function 1 / (1 + e^-x).
struct Sigmoid : Transcendental<R(R), C(C)> {
    static constexpr std::string_view written = "sigmoid";
    XGRAD_INLINE auto value(auto x) const { return sigmoid(x); }
    XGRAD_INLINE auto partial(wrt<0>, auto y, auto) const { return y * (1 - y); }
};
template <Operand X> XGRAD_INLINE auto sigmoid(X const& x) { return express(Sigmoid{}, x); }

/// log(1 + e^x), without overflow.
struct Softplus : Transcendental<R(R)> {
    static constexpr std::string_view written = "softplus";
    XGRAD_INLINE auto value(auto x) const { return where(x > 0, x, 0) + log1p(exp(-abs(x))); }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto x) const { return sigmoid(x); }
};
template <Operand X> XGRAD_INLINE auto softplus(X const& x) { return express(Softplus{}, x); }

/// x where it is positive, else 0; gradient 0 at 0.
struct Relu : Elementwise<Z(Z), R(R)> {
    static constexpr std::string_view written = "relu";
    XGRAD_INLINE auto value(auto x) const { return where(x <= 0, 0, x); }
    XGRAD_INLINE auto partial(wrt<0>, auto y, auto) const { return selected{!(y <= 0)}; }
};
template <Operand X> XGRAD_INLINE auto relu(X const& x) { return express(Relu{}, x); }

} // namespace xgrad
