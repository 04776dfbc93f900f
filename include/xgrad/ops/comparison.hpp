// Comparisons (to bool tensors), choices between operands, and bounds.
//
// Shapes: elementwise, operands broadcast as in NumPy. Comparisons and isnan(), isinf(), isfinite()
// give bool tensors.
// Gradients: comparisons have none. The others have gradients of any order, in backward and forward
// mode: the operand that an element was chosen from gets the gradient, and equal operands of
// maximum() and minimum() get half each. An operand that was not chosen gets 0, but 0 times an
// infinite inner derivative is NaN: where() does not protect a branch.
// Errors: shapes that do not broadcast are a ShapeError and an undefined tensor is an Error, both
// where the expression is evaluated. Complex operands compile in ==, !=, isnan(), isinf(),
// isfinite() and where() only; a mask that is not bool does not compile.
#pragma once

#include <optional>

#include <xgrad/ops/arithmetic.hpp>

namespace xgrad {

namespace detail {
using OfOrdered = Elementwise<B(Z, Z), B(R, R)>;
using OfNumbers = Elementwise<B(Z, Z), B(R, R), B(C, C)>;
using OfMasks = Elementwise<B(B, B)>;
} // namespace detail

/// `a op b`, elementwise.
#define XGRAD_COMPARISON(Name, op, Domain)                                                         \
    struct Name : detail::Domain {                                                                 \
        static constexpr std::string_view written = #op;                                           \
        XGRAD_INLINE auto value(auto a, auto b) const { return a op b; }                           \
    };                                                                                             \
    template <class A, class B>                                                                    \
        requires AnyOperand<A, B>                                                                  \
    XGRAD_INLINE auto operator op(A&& a, B&& b) {                                                  \
        return express(Name{}, std::forward<A>(a), std::forward<B>(b));                            \
    }
XGRAD_COMPARISON(Less, <, OfOrdered)
XGRAD_COMPARISON(LessEqual, <=, OfOrdered)
XGRAD_COMPARISON(Greater, >, OfOrdered)
XGRAD_COMPARISON(GreaterEqual, >=, OfOrdered)
XGRAD_COMPARISON(Equal, ==, OfNumbers)
XGRAD_COMPARISON(NotEqual, !=, OfNumbers)
XGRAD_COMPARISON(And, &&, OfMasks)
XGRAD_COMPARISON(Or, ||, OfMasks)
#undef XGRAD_COMPARISON

/// The opposite of a mask.
struct Not : Elementwise<B(B)> {
    static constexpr std::string_view written = "!";
    XGRAD_INLINE auto value(auto a) const { return !a; }
};
template <Operand A> XGRAD_INLINE auto operator!(A&& a) {
    return express(Not{}, std::forward<A>(a));
}

/// True where x, or a part of it, is not a number.
struct IsNan : Elementwise<B(R), B(C)> {
    static constexpr std::string_view written = "isnan";
    XGRAD_INLINE auto value(auto x) const { return x != x; }
};
template <Operand X> XGRAD_INLINE auto isnan(X const& x) { return express(IsNan{}, x); }

/// True where x, or a part of it, is infinite.
struct IsInf : Elementwise<B(R), B(C)> {
    static constexpr std::string_view written = "isinf";
    XGRAD_INLINE auto value(auto x) const {
        return abs(real(x)) == HUGE_VAL || abs(imag(x)) == HUGE_VAL;
    }
};
template <Operand X> XGRAD_INLINE auto isinf(X const& x) { return express(IsInf{}, x); }

/// True where x, with all its parts, is neither infinite nor NaN.
struct IsFinite : Elementwise<B(R), B(C)> {
    static constexpr std::string_view written = "isfinite";
    XGRAD_INLINE auto value(auto x) const { return x - x == 0; }
};
template <Operand X> XGRAD_INLINE auto isfinite(X const& x) { return express(IsFinite{}, x); }

/// a where the mask is true, else b.
struct Where : Elementwise<Z(B, Z, Z), R(B, R, R), C(B, C, C)> {
    static constexpr std::string_view written = "where";
    XGRAD_INLINE auto value(auto mask, auto a, auto b) const { return where(mask, a, b); }
    XGRAD_INLINE auto partial(wrt<1>, auto, auto mask, auto, auto) const { return selected{mask}; }
    XGRAD_INLINE auto partial(wrt<2>, auto, auto mask, auto, auto) const { return selected{!mask}; }
};
template <class M, class A, class B>
    requires AnyOperand<M, A, B>
XGRAD_INLINE auto where(M&& mask, A&& a, B&& b) {
    return express(Where{}, std::forward<M>(mask), std::forward<A>(a), std::forward<B>(b));
}
/// The same of plain numbers, which partials of dual numbers choose from.
template <std::same_as<bool> M, Number A, Number B> XGRAD_INLINE auto where(M mask, A a, B b) {
    return mask ? a : b;
}

/// The larger of two; where they are equal each gets half the gradient. NaN is propagated, and both
/// get the gradient.
struct Maximum : Elementwise<Z(Z, Z), R(R, R)> {
    static constexpr std::string_view written = "maximum";
    XGRAD_INLINE auto value(auto a, auto b) const { return where(a > b || isnan(a), a, b); }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto a, auto b) const {
        return selected{!(a < b), where(a == b, 0.5, 1.)};
    }
    XGRAD_INLINE auto partial(wrt<1>, auto, auto a, auto b) const {
        return selected{!(a > b), where(a == b, 0.5, 1.)};
    }
};
template <class A, class B>
    requires AnyOperand<A, B>
XGRAD_INLINE auto maximum(A&& a, B&& b) {
    return express(Maximum{}, std::forward<A>(a), std::forward<B>(b));
}

/// The smaller of two; ties and NaN as for maximum.
struct Minimum : Elementwise<Z(Z, Z), R(R, R)> {
    static constexpr std::string_view written = "minimum";
    XGRAD_INLINE auto value(auto a, auto b) const { return where(a < b || isnan(a), a, b); }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto a, auto b) const {
        return selected{!(a > b), where(a == b, 0.5, 1.)};
    }
    XGRAD_INLINE auto partial(wrt<1>, auto, auto a, auto b) const {
        return selected{!(a < b), where(a == b, 0.5, 1.)};
    }
};
template <class A, class B>
    requires AnyOperand<A, B>
XGRAD_INLINE auto minimum(A&& a, B&& b) {
    return express(Minimum{}, std::forward<A>(a), std::forward<B>(b));
}

/// Clamps x to [lower, upper]; NaN where any of them is. The gradient is 1 at both bounds; where a
/// bound is the result, the bound gets the gradient instead of x; where lower > upper, upper gets
/// all of it.
struct Clamp : Elementwise<Z(Z, Z, Z), R(R, R, R)> {
    static constexpr std::string_view written = "clamp";
    XGRAD_INLINE auto value(auto x, auto lower, auto upper) const {
        auto const raised = where(x >= lower || x != x, x, lower);
        return where(raised <= upper || raised != raised, raised, upper);
    }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto x, auto lower, auto upper) const {
        return selected{x >= lower && x <= upper};
    }
    XGRAD_INLINE auto partial(wrt<1>, auto, auto x, auto lower, auto upper) const {
        return selected{x < lower && lower < upper};
    }
    XGRAD_INLINE auto partial(wrt<2>, auto, auto x, auto lower, auto upper) const {
        return selected{x > upper || upper < lower};
    }
};
template <class X, class L, class U>
    requires AnyOperand<X, L, U>
XGRAD_INLINE auto clamp(X&& x, L&& lower, U&& upper) {
    return express(Clamp{}, std::forward<X>(x), std::forward<L>(lower), std::forward<U>(upper));
}

/// Clamps x to a lower bound; gradient 1 for x at the bound.
struct ClampMin : Elementwise<Z(Z, Z), R(R, R)> {
    static constexpr std::string_view written = "clamp_min";
    XGRAD_INLINE auto value(auto x, auto lower) const {
        return where(x >= lower || x != x, x, lower);
    }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto x, auto lower) const {
        return selected{x >= lower};
    }
    XGRAD_INLINE auto partial(wrt<1>, auto, auto x, auto lower) const {
        return selected{x < lower};
    }
};
template <class X, class L>
    requires AnyOperand<X, L>
XGRAD_INLINE auto clamp_min(X&& x, L&& lower) {
    return express(ClampMin{}, std::forward<X>(x), std::forward<L>(lower));
}

/// Clamps x to an upper bound; gradient 1 for x at the bound.
struct ClampMax : Elementwise<Z(Z, Z), R(R, R)> {
    static constexpr std::string_view written = "clamp_max";
    XGRAD_INLINE auto value(auto x, auto upper) const {
        return where(x <= upper || x != x, x, upper);
    }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto x, auto upper) const {
        return selected{x <= upper};
    }
    XGRAD_INLINE auto partial(wrt<1>, auto, auto x, auto upper) const {
        return selected{x > upper};
    }
};
template <class X, class U>
    requires AnyOperand<X, U>
XGRAD_INLINE auto clamp_max(X&& x, U&& upper) {
    return express(ClampMax{}, std::forward<X>(x), std::forward<U>(upper));
}

/// Replaces NaN and infinities by other numbers; gradient 0 where x was replaced.
struct NanToNum : Elementwise<R(R)> {
    static constexpr std::string_view written = "nan_to_num";
    /// `nan` replaces NaN, `posinf` infinity, and `neginf` minus infinity.
    double nan = 0, posinf = std::numeric_limits<double>::max(),
           neginf = std::numeric_limits<double>::lowest();
    XGRAD_INLINE auto value(auto x) const {
        return where(x != x, nan, where(x == HUGE_VAL, posinf, where(x == -HUGE_VAL, neginf, x)));
    }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto x) const { return selected{x - x == 0}; }
};
/// By default NaN becomes 0, and an infinity the largest number of its sign that x's type has.
template <Operand X>
XGRAD_INLINE auto nan_to_num(X const& x, double nan = 0, std::optional<double> posinf = {},
    std::optional<double> neginf = {}) {
    double const largest =
        std::numeric_limits<detail::result_precision<R, typename X::precision>>::max();
    return express(NanToNum{{}, nan, posinf.value_or(largest), neginf.value_or(-largest)}, x);
}

} // namespace xgrad
