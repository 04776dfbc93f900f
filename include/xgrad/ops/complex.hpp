// Operations on complex numbers: parts, modulus, direction, conjugate. Real operands are complex
// numbers with imaginary part 0.
//
// Shapes: elementwise; two operands broadcast as in NumPy. abs(), abs2(), angle(), real() and
// imag() of complex tensors are real.
// Gradients: of any order, in backward and forward mode. A complex operand gets dL/dRe + i dL/dIm,
// twice the Wirtinger derivative dL/d(conj z), as in PyTorch. At 0 it is 0 for abs(), sgn() and
// angle(); it is 0 everywhere for sign(), for the second operand of copysign() and for angle() of
// real numbers.
// Errors: shapes that do not broadcast are a ShapeError and an undefined tensor is an Error, both
// where the expression is evaluated. copysign(), complex() and polar() of complex operands do not
// compile.
#pragma once

#include <xgrad/ops/comparison.hpp>

namespace xgrad {

/// Modulus |x|; gradient 0 at 0.
struct Abs : Elementwise<Z(Z), R(R), R(C)> {
    static constexpr std::string_view written = "abs";
    XGRAD_INLINE auto value(auto x) const { return abs(x); }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto x) const { return gradient{sgn(x)}; }
    template <class P> XGRAD_INLINE auto value_and_partial(simd::ComplexBatch<P> z) const {
        auto const r = abs(z);
        return std::pair(r, gradient{sgn(z, r)});
    }
};
template <Operand X> XGRAD_INLINE auto abs(X const& x) { return express(Abs{}, x); }

/// |x|^2, without a root.
struct Abs2 : Elementwise<Z(Z), R(R), R(C)> {
    static constexpr std::string_view written = "abs2";
    XGRAD_INLINE auto value(auto x) const { return abs2(x); }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto x) const { return gradient{2 * x}; }
};
template <Operand X> XGRAD_INLINE auto abs2(X const& x) { return express(Abs2{}, x); }

/// Sign of a real number: -1, 0 or 1.
struct Sign : Elementwise<Z(Z), R(R)> {
    static constexpr std::string_view written = "sign";
    XGRAD_INLINE auto value(auto x) const { return sgn(x); }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto) const { return nothing; }
};
template <Operand X> XGRAD_INLINE auto sign(X const& x) { return express(Sign{}, x); }

/// |a| with the sign of b, where -0 and NaN have one, too; gradient 0 at a = 0, and for b.
struct Copysign : Elementwise<R(R, R)> {
    static constexpr std::string_view written = "copysign";
    XGRAD_INLINE auto value(auto a, auto b) const { return copysign(a, b); }
    XGRAD_INLINE auto partial(wrt<0>, auto y, auto a, auto) const { return sgn(a) * sgn(y); }
    XGRAD_INLINE auto partial(wrt<1>, auto, auto, auto) const { return nothing; }
};
template <class A, class B>
    requires AnyOperand<A, B>
XGRAD_INLINE auto copysign(A&& a, B&& b) {
    return express(Copysign{}, std::forward<A>(a), std::forward<B>(b));
}

namespace detail {
/// 1/x in a rule, and 0 where x is 0: with derivatives there that are finite, of each order.
XGRAD_INLINE auto reciprocal_or_zero(auto x) {
    return where(x == 0, 0, reciprocal(where(x == 0, 1, x)));
}
} // namespace detail

/// Direction z/|z|, 0 at 0; neither holomorphic nor real. That of a real number is its sign.
struct Sgn : Elementwise<C(C)> {
    static constexpr std::string_view written = "sgn";
    XGRAD_INLINE auto value(auto x) const { return sgn(x); }
    XGRAD_INLINE auto partial(wrt<0>, auto y, auto x) const {
        auto const r = abs(x);
        auto const h = 0.5 * detail::reciprocal_or_zero(r);
        return wirtinger{h, -(h * y * y)};
    }
};
template <Operand X> XGRAD_INLINE auto sgn(X const& x) {
    if constexpr (std::same_as<typename X::kind, C>) return express(Sgn{}, x);
    else {
        detail::check_defined("sgn", x);
        return express(Sign{}, x);
    }
}

namespace detail {
/// True if a value in a rule is real: then real() returns its own type.
template <class X>
inline constexpr bool is_real_value = std::same_as<decltype(real(std::declval<X>())), X>;
} // namespace detail

/// Argument, in (-pi, pi]; gradient 0 at 0, and for a real number.
struct Angle : Transcendental<R(R), R(C)> {
    static constexpr std::string_view written = "angle";
    XGRAD_INLINE auto value(auto x) const { return angle(x); }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto x) const {
        if constexpr (detail::is_real_value<decltype(x)>) return nothing;
        else {
            auto const w = detail::reciprocal_or_zero(conj(x));
            return gradient{complex(-imag(w), real(w))};
        }
    }
};
template <Operand X> XGRAD_INLINE auto angle(X const& x) { return express(Angle{}, x); }

/// Real part; a real operand is its own.
struct RealPart : Elementwise<R(C)> {
    static constexpr std::string_view written = "real";
    XGRAD_INLINE auto value(auto x) const { return real(x); }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto) const { return gradient{one}; }
};
template <Operand X> XGRAD_INLINE auto real(X const& x) {
    if constexpr (std::same_as<typename X::kind, C>) return express(RealPart{}, x);
    else return x;
}

/// Imaginary part; that of a real operand is 0.
struct ImagPart : Elementwise<R(R), R(C)> {
    static constexpr std::string_view written = "imag";
    XGRAD_INLINE auto value(auto x) const { return imag(x); }
    XGRAD_INLINE auto partial(wrt<0>, auto, [[maybe_unused]] auto x) const {
        if constexpr (detail::is_real_value<decltype(x)>) return nothing;
        else return gradient{imaginary_unit};
    }
};
template <Operand X> XGRAD_INLINE auto imag(X const& x) { return express(ImagPart{}, x); }

/// Conjugate; a real operand is its own.
struct Conj : Elementwise<C(C)> {
    static constexpr std::string_view written = "conj";
    XGRAD_INLINE auto value(auto x) const { return conj(x); }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto) const { return conjugate{one}; }
};
template <Operand X> XGRAD_INLINE auto conj(X const& x) {
    if constexpr (std::same_as<typename X::kind, C>) return express(Conj{}, x);
    else return x;
}

/// re + i im.
struct Complex : Elementwise<C(R, R)> {
    static constexpr std::string_view written = "complex";
    XGRAD_INLINE auto value(auto re, auto im) const { return complex(re, im); }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto, auto) const { return one; }
    XGRAD_INLINE auto partial(wrt<1>, auto, auto, auto) const { return imaginary_unit; }
};
template <class Re, class Im>
    requires AnyOperand<Re, Im>
XGRAD_INLINE auto complex(Re&& re, Im&& im) {
    return express(Complex{}, re, im);
}

/// r e^(i phi).
struct Polar : Transcendental<C(R, R)> {
    static constexpr std::string_view written = "polar";
    XGRAD_INLINE auto value(auto r, auto phi) const { return polar(r, phi); }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto, auto phi) const {
        return complex(cos(phi), sin(phi));
    }
    XGRAD_INLINE auto partial(wrt<1>, auto y, auto, auto) const {
        return complex(-imag(y), real(y));
    }
};
template <class R_, class Phi>
    requires AnyOperand<R_, Phi>
XGRAD_INLINE auto polar(R_&& r, Phi&& phi) {
    return express(Polar{}, r, phi);
}

} // namespace xgrad
