// Dual numbers: a batch and its tangent, the derivative in one direction. The same rules that give
// gradients, called with dual numbers, give tangents (forward mode) and second derivatives. Read
// next: dual_kernel.hpp.
#pragma once

#include <xgrad/ops/complex.hpp>
#include <xgrad/ops/exponential.hpp>
#include <xgrad/ops/flat_expression.hpp>
#include <xgrad/ops/trigonometric.hpp>

namespace xgrad {

/// A batch and its tangent.
template <class Batch> struct Dual {
    Batch value, tangent;
};
template <class Batch> XGRAD_INLINE Batch zero_like(Dual<Batch>) { return 0; }

namespace detail {

template <class X> inline constexpr bool is_dual = false;
template <class Batch> inline constexpr bool is_dual<Dual<Batch>> = true;
template <class... X> inline constexpr std::size_t count_duals = (std::size_t{is_dual<X>} + ...);

/// The kind and the precision of a value in a rule; a plain number has no precision.
template <class X> struct RuleValue {
    using kind = kind_of<X>;
    using precision = bool;
};
template <std::integral X> struct RuleValue<X> {
    using kind = R;
    using precision = bool;
};
template <class P> struct RuleValue<simd::Mask<P>> {
    using kind = B;
    using precision = P;
};
template <class P> struct RuleValue<simd::Batch<P>> {
    using kind = R;
    using precision = P;
};
template <class P> struct RuleValue<simd::ComplexBatch<P>> {
    using kind = C;
    using precision = P;
};
template <class Batch> struct RuleValue<Dual<Batch>> : RuleValue<Batch> {};

template <class X> XGRAD_INLINE X value_of(X x) { return x; }
template <class Batch> XGRAD_INLINE Batch value_of(Dual<Batch> x) { return x.value; }

/// Promotes a value to a batch of kind L.
template <class L, class P, class X> XGRAD_INLINE batch_for<L, P> lifted(X x) {
    return batch_for<L, P>(x);
}
template <class L, class P, class Batch> XGRAD_INLINE Dual<batch_for<L, P>> lifted(Dual<Batch> x) {
    return {batch_for<L, P>(x.value), batch_for<L, P>(x.tangent)};
}

template <class L, class P, class Batch> XGRAD_INLINE Dual<batch_for<L, P>> project(Dual<Batch> g) {
    return {project<L, P>(g.value), project<L, P>(g.tangent)};
}

template <std::size_t> using Integer = Z;
/// True if a derivative may be infinite where the value is finite. An operation that maps integers
/// to integers has no such poles.
template <class Op, class Indices> inline constexpr bool has_poles = true;
template <class Op, std::size_t... I>
    requires(!std::same_as<signature_for<Op, Integer<I>...>, NoSignature>)
inline constexpr bool has_poles<Op, std::index_sequence<I...>> =
    !std::same_as<typename ResultOf<signature_for<Op, Integer<I>...>>::type, Z>;

/// True if a derivative is finite for all arguments.
template <class D>
inline constexpr bool is_unit = std::same_as<D, One> || std::same_as<D, MinusOne> ||
                                std::same_as<D, ImaginaryUnit> || std::same_as<D, Nothing>;
template <class M, class W> inline constexpr bool is_unit<selected<M, W>> = is_unit<W>;

XGRAD_INLINE auto operator+(Nothing, auto t) { return t; }
XGRAD_INLINE auto operator+(auto t, Nothing) { return t; }
XGRAD_INLINE Nothing operator+(Nothing, Nothing) { return {}; }

/// Applies an operation to arguments of its signature, some of which are dual numbers.
template <class Signature> struct OnDuals;
template <class Y, class... L> struct OnDuals<Y(L...)> {
    /// The value; it may differ by a rounding, as in any backward pass.
    template <class P, class Op, class... X>
    XGRAD_INLINE static batch_for<Y, P> value(Op const& op, X... x) {
        if constexpr (requires { op.value_again(value_of(x)...); })
            return batch_for<Y, P>(op.value_again(value_of(x)...));
        else return batch_for<Y, P>(op.value(value_of(x)...));
    }
    /// The tangent of the result y. If `guarded`, an argument whose tangent is 0 contributes 0 even
    /// if its derivative is infinite, because it may be a constant.
    template <class P, bool guarded, class Op, class... X>
    XGRAD_INLINE static batch_for<Y, P> tangent(Op const& op, batch_for<Y, P> y, X... x) {
        return [&]<std::size_t... I>(std::index_sequence<I...>) XGRAD_LAMBDA_INLINE {
            return (Nothing{} + ... + part<I, P, guarded>(op, x, y, x...));
        }(std::index_sequence_for<X...>{});
    }
    /// The result for arguments of any kinds, promoted as the signature says.
    template <class P, class Op, class... X> XGRAD_INLINE static auto result(Op const& op, X... x) {
        return promoted<P>(op, lifted<L, P>(x)...);
    }

private:
    template <class P, class Op, class... X>
    XGRAD_INLINE static auto promoted(Op const& op, X... x) {
        auto const y = value<P>(op, x...);
        if constexpr (takes_gradients<Y> && count_duals<X...> > 0) {
            constexpr bool guarded =
                count_duals<X...> > 1 && has_poles<Op, std::index_sequence_for<X...>>;
            return Dual<batch_for<Y, P>>{y, tangent<P, guarded>(op, y, x...)};
        } else return y;
    }
    /// The contribution of argument I to the tangent.
    template <std::size_t I, class P, bool guarded, class Op, class Xi, class... X>
    XGRAD_INLINE static auto part(Op const& op, Xi xi, batch_for<Y, P> y, X... x) {
        if constexpr (is_dual<Xi>) {
            auto const d = op.partial(wrt<I>{}, y, value_of(x)...);
            auto const t = project<Y, P>(push(xi.tangent, d));
            if constexpr (guarded && !is_unit<std::remove_const_t<decltype(d)>>)
                return where(xi.tangent == 0, zero_like(t), t);
            else return t;
        } else return nothing;
    }
};

template <class Op, class... X> XGRAD_INLINE auto on_duals(Op const& op, X... x) {
    return OnDuals<signature_for<Op, typename RuleValue<X>::kind...>>::template result<
        widest_precision<typename RuleValue<X>::precision...>>(op, x...);
}

template <class X>
concept DualNumber = is_dual<X>;
template <class A, class B>
concept DualPair = (is_dual<A> || is_dual<B>)&&requires {
    typename RuleValue<A>::kind;
    typename RuleValue<B>::kind;
};

} // namespace detail

// The functions that rules call, applied to dual numbers.
template <detail::DualNumber X> XGRAD_INLINE auto operator-(X x) {
    return detail::on_duals(Neg{}, x);
}
template <class A, class B>
    requires detail::DualPair<A, B>
XGRAD_INLINE auto operator+(A a, B b) {
    return detail::on_duals(Add{}, a, b);
}
template <class A, class B>
    requires detail::DualPair<A, B>
XGRAD_INLINE auto operator-(A a, B b) {
    return detail::on_duals(Sub{}, a, b);
}
template <class A, class B>
    requires detail::DualPair<A, B>
XGRAD_INLINE auto operator*(A a, B b) {
    return detail::on_duals(Mul{}, a, b);
}
template <class A, class B>
    requires detail::DualPair<A, B>
XGRAD_INLINE auto operator/(A a, B b) {
    return detail::on_duals(Div{}, a, b);
}
template <class A, class B>
    requires detail::DualPair<A, B>
XGRAD_INLINE auto pow(A a, B b) {
    if constexpr (std::is_arithmetic_v<B>)
        return detail::on_duals(PowNumber{{}, static_cast<double>(b)}, a);
    else return detail::on_duals(Pow{}, a, b);
}
template <class Y, class A, class B>
    requires detail::DualPair<A, B>
XGRAD_INLINE auto pow_derivative(int m, int n, Y y, A a, B b) {
    auto const power = detail::value_of(y);
    return detail::on_duals(
        PowDerivative<std::remove_const_t<decltype(power)>>{{}, m, n, power}, a, b);
}
template <class A, class B>
    requires detail::DualPair<A, B>
XGRAD_INLINE auto atan2(A a, B b) {
    return detail::on_duals(Atan2{}, a, b);
}
template <class A, class B>
    requires detail::DualPair<A, B>
XGRAD_INLINE auto copysign(A a, B b) {
    return detail::on_duals(Copysign{}, a, b);
}
template <class A, class B>
    requires detail::DualPair<A, B>
XGRAD_INLINE auto complex(A a, B b) {
    return detail::on_duals(Complex{}, a, b);
}
template <class A, class B>
    requires detail::DualPair<A, B>
XGRAD_INLINE auto polar(A a, B b) {
    return detail::on_duals(Polar{}, a, b);
}
template <class P, class A, class B>
    requires detail::DualPair<A, B>
XGRAD_INLINE auto where(simd::Mask<P> m, A a, B b) {
    return detail::on_duals(Where{}, m, a, b);
}
template <class A, class B>
    requires detail::DualPair<A, B>
XGRAD_INLINE auto operator<(A a, B b) {
    return detail::value_of(a) < detail::value_of(b);
}
template <class A, class B>
    requires detail::DualPair<A, B>
XGRAD_INLINE auto operator<=(A a, B b) {
    return detail::value_of(a) <= detail::value_of(b);
}
template <class A, class B>
    requires detail::DualPair<A, B>
XGRAD_INLINE auto operator>(A a, B b) {
    return detail::value_of(a) > detail::value_of(b);
}
template <class A, class B>
    requires detail::DualPair<A, B>
XGRAD_INLINE auto operator>=(A a, B b) {
    return detail::value_of(a) >= detail::value_of(b);
}
template <class A, class B>
    requires detail::DualPair<A, B>
XGRAD_INLINE auto operator==(A a, B b) {
    return detail::value_of(a) == detail::value_of(b);
}
template <class A, class B>
    requires detail::DualPair<A, B>
XGRAD_INLINE auto operator!=(A a, B b) {
    return detail::value_of(a) != detail::value_of(b);
}
template <detail::DualNumber X> XGRAD_INLINE auto isnan(X x) { return isnan(x.value); }
template <detail::DualNumber X> XGRAD_INLINE auto reciprocal(X x) {
    return detail::on_duals(Reciprocal{}, x);
}
template <detail::DualNumber X> XGRAD_INLINE auto sqrt(X x) { return detail::on_duals(Sqrt{}, x); }
template <detail::DualNumber X> XGRAD_INLINE auto exp(X x) { return detail::on_duals(Exp{}, x); }
template <detail::DualNumber X> XGRAD_INLINE auto expm1(X x) {
    return detail::on_duals(Expm1{}, x);
}
template <detail::DualNumber X> XGRAD_INLINE auto sigmoid(X x) {
    return detail::on_duals(Sigmoid{}, x);
}
template <detail::DualNumber X> XGRAD_INLINE auto log(X x) { return detail::on_duals(Log{}, x); }
template <detail::DualNumber X> XGRAD_INLINE auto log1p(X x) {
    return detail::on_duals(Log1p{}, x);
}
template <detail::DualNumber X> XGRAD_INLINE auto log2(X x) { return detail::on_duals(Log2{}, x); }
template <detail::DualNumber X> XGRAD_INLINE auto log10(X x) {
    return detail::on_duals(Log10{}, x);
}
template <detail::DualNumber X> XGRAD_INLINE auto sin(X x) { return detail::on_duals(Sin{}, x); }
template <detail::DualNumber X> XGRAD_INLINE auto cos(X x) { return detail::on_duals(Cos{}, x); }
template <detail::DualNumber X> XGRAD_INLINE auto tan(X x) { return detail::on_duals(Tan{}, x); }
template <detail::DualNumber X> XGRAD_INLINE auto asin(X x) { return detail::on_duals(Asin{}, x); }
template <detail::DualNumber X> XGRAD_INLINE auto acos(X x) { return detail::on_duals(Acos{}, x); }
template <detail::DualNumber X> XGRAD_INLINE auto atan(X x) { return detail::on_duals(Atan{}, x); }
template <detail::DualNumber X> XGRAD_INLINE auto sinh(X x) { return detail::on_duals(Sinh{}, x); }
template <detail::DualNumber X> XGRAD_INLINE auto cosh(X x) { return detail::on_duals(Cosh{}, x); }
template <detail::DualNumber X> XGRAD_INLINE auto tanh(X x) { return detail::on_duals(Tanh{}, x); }
template <detail::DualNumber X> XGRAD_INLINE auto asinh(X x) {
    return detail::on_duals(Asinh{}, x);
}
template <detail::DualNumber X> XGRAD_INLINE auto acosh(X x) {
    return detail::on_duals(Acosh{}, x);
}
template <detail::DualNumber X> XGRAD_INLINE auto atanh(X x) {
    return detail::on_duals(Atanh{}, x);
}
template <detail::DualNumber X> XGRAD_INLINE auto abs(X x) { return detail::on_duals(Abs{}, x); }
template <detail::DualNumber X> XGRAD_INLINE auto abs2(X x) { return detail::on_duals(Abs2{}, x); }
template <detail::DualNumber X> XGRAD_INLINE auto angle(X x) {
    return detail::on_duals(Angle{}, x);
}
template <class P> XGRAD_INLINE auto sgn(Dual<simd::Batch<P>> x) {
    return detail::on_duals(Sign{}, x);
}
template <class P> XGRAD_INLINE auto sgn(Dual<simd::ComplexBatch<P>> x) {
    return detail::on_duals(Sgn{}, x);
}
template <class P> XGRAD_INLINE auto real(Dual<simd::Batch<P>> x) { return x; }
template <class P> XGRAD_INLINE auto real(Dual<simd::ComplexBatch<P>> x) {
    return detail::on_duals(RealPart{}, x);
}
template <detail::DualNumber X> XGRAD_INLINE auto imag(X x) {
    return detail::on_duals(ImagPart{}, x);
}
template <class P> XGRAD_INLINE auto conj(Dual<simd::Batch<P>> x) { return x; }
template <class P> XGRAD_INLINE auto conj(Dual<simd::ComplexBatch<P>> x) {
    return detail::on_duals(Conj{}, x);
}

} // namespace xgrad
