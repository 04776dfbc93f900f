// Rules on dual numbers (simd/dual_number.hpp). The same rules that give gradients, called with
// dual numbers, give tangents (forward mode) and second derivatives. on_duals() applies an
// operation to dual numbers of any kind by its rule. A rule computes on batches: a C++ number is
// one lane of a batch.
//
// Gradients: tangent i is the derivative in the direction of the tangents i of the arguments. Where
// several arguments are dual numbers, one with the tangent 0 contributes 0, also if its derivative
// is infinite.
// Errors: none are thrown. Arguments outside of the domain of the operation, and dual numbers of
// different numbers of tangents or precisions in one operation, do not compile.
//
// Read next: walk.hpp.
#pragma once

#include <xgrad/expr/flat_expression.hpp>

namespace xgrad {

namespace detail {

// Rules see batches and dual numbers.
template <class V>
    requires requires { PartOf<V>::is_part; }
struct RuleValue<V> : PartOf<V> {};
template <> struct RuleValue<bool> : PartOf<bool> {}; // compared numbers

/// The tangent of a gradient: 0 if the gradient is no dual number.
template <class V> XGRAD_INLINE V tangent_of(Dual<V> const& g) { return g.tangent[0]; }
template <class V> XGRAD_INLINE V tangent_of(V const&) { return 0; }

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

// <xgrad/dual.hpp>
template <class Signature, class V> struct OnNumbers;
template <class X> struct WrongNumber;
template <class Op, class... X> auto on_duals(Op const& op, X const&... x);

/// An argument beside dual numbers, as a value of type To.
template <class To, class X> XGRAD_INLINE To number_as(X const& x) {
    constexpr bool narrows = requires {
        requires is_dual<X>;
        requires !std::same_as<typename X::precision, typename PartOf<To>::precision>;
    };
    if constexpr (std::convertible_to<X, To> && !narrows) return To(x);
    else return WrongNumber<X>::report(), To();
}
/// The tangents of a result that are due to those of one argument; d is the derivative by it.
/// `of_operand`: a tangent 0 of an operand of a kernel contributes 0, even if d is infinite;
/// `other`: so does one of other dual numbers. All operations whose d has this type share it.
template <class Y, class Value, bool of_operand, bool other, class W, std::size_t N, class D>
XGRAD_INLINE Tangents<Value, N> pushed(Tangents<W, N> const& tangent, D const& d) {
    return Tangents<Value, N>(tangent.support(), [&](std::size_t i) XGRAD_LAMBDA_INLINE {
        Value const part = project<Y>(push(tangent[i], d));
        if constexpr ((of_operand || other) && !is_unit<D>)
            if (tangent.support().of_operand ? of_operand : other)
                return Value(where(tangent[i] == 0, zero_like(part), part));
        return part;
    });
}

/// Applies an operation to arguments of its signature, some of which are dual numbers of this type,
/// up to their kinds.
template <class Signature, class Argument, class Indices = argument_indices<Signature>>
struct OnDuals;
template <class Y, class... L, class V, std::size_t N, std::size_t... I>
struct OnDuals<Y(L...), Dual<V, N>, std::index_sequence<I...>> {
    using Value = of_kind<Y, V>;
    static constexpr bool of_numbers = Number<V>;

    /// The value; on batches with tangents it may differ by a rounding, as in any backward pass.
    template <class Op, class... X> XGRAD_INLINE static Value value(Op const& op, X const&... x) {
        if constexpr ((is_dual<decltype(inner(x))> || ...)) return on_duals(op, inner(x)...);
        else if constexpr (of_numbers) return OnNumbers<Y(L...), V>::value(op, inner(x)...);
        else if constexpr (has_factor<Op> && N > 0) return divide(op, inner(x)...);
        else return Value(op.value(inner(x)...));
    }
    /// The tangents of y. If `guarded`, an argument whose tangent is 0 contributes 0 even if its
    /// derivative is infinite: it may be constant. Of an `alone` operand a kernel knows it.
    template <bool guarded, bool alone = false, class Op, class... X>
    XGRAD_INLINE static Tangents<Value, N> tangent(Op const& op, Value const& y, X const&... x) {
        if constexpr (N > 0) return (nothing + ... + part<I, guarded, alone>(op, x, y, x...));
        else return Tangents<Value, N>();
    }
    template <class Op, class... X> XGRAD_INLINE static auto result(Op const& op, X const&... x) {
        auto const y = value(op, x...);
        constexpr std::size_t duals = (std::size_t{is_tangent<X>} + ...);
        if constexpr (takes_gradients<Y> && duals > 0) {
            constexpr bool guarded = has_poles<Op, std::index_sequence_for<X...>>;
            return Dual<Value, N>{y, tangent<guarded, duals == 1>(op, y, x...)};
        } else return y;
    }
    /// An argument of kind A: a dual number, or a value of type V, which has no tangents here.
    template <class A, class X> XGRAD_INLINE static auto argument(X const& x) {
        return number_as<of_kind<A, std::conditional_t<is_tangent<X>, Dual<V, N>, V>>>(x);
    }

private:
    template <class X> static constexpr bool is_tangent = dual_depth<X> == dual_depth<Dual<V, N>>;
    /// The argument without its tangents of this level.
    template <class X> XGRAD_INLINE static auto inner(X const& x) {
        if constexpr (is_tangent<X>) return x.value;
        else return x;
    }
    template <class Op, class A, class D>
    XGRAD_INLINE static Value divide(Op const& op, A const& a, D const& b) {
        return a * op.factor(b);
    }
    /// The contribution of argument J to the tangents.
    template <std::size_t J, bool guarded, bool alone, class Op, class Xj, class... X>
    XGRAD_INLINE static auto part(Op const& op, Xj const& xj, Value const& y, X const&... x) {
        if constexpr (!is_tangent<Xj> || N == 0) return nothing;
        else if constexpr (of_numbers || (guarded && is_dual<V>))
            return OnNumbers<Y(L...), V>::template part<J, guarded>(op, xj.tangent, y, inner(x)...);
        else {
            constexpr bool of_operand = guarded && !alone,
                           other = guarded && !has_factor<Op>; // x / 0 itself is infinite
            return pushed<Y, Value, of_operand, other>(
                xj.tangent, op.partial(wrt<J>{}, y, inner(x)...));
        }
    }
};

/// The first argument with the most levels of dual numbers.
template <class Found> constexpr auto deepest_dual() { return std::type_identity<Found>{}; }
template <class Found, class X, class... More> constexpr auto deepest_dual() {
    return deepest_dual<std::conditional_t<(dual_depth<X> > dual_depth<Found>), X, Found>,
        More...>();
}

template <class Op, class... X> XGRAD_INLINE auto on_duals(Op const& op, X const&... x) {
    using Deepest = typename decltype(deepest_dual<X...>())::type;
    using Signature = signature_for<Op, typename RuleValue<X>::kind...>;
    if constexpr (std::same_as<Signature, NoSignature>)
        return ReportDiagnostic<verdict::is_not_defined_on<Op, typename RuleValue<X>::kind...>>(),
               WrongNumber<Deepest>::template result_of<Op>();
    else
        return [&]<class Y, class... L>(std::type_identity<Y(L...)>) XGRAD_LAMBDA_INLINE {
            using On = OnDuals<Signature, Deepest>;
            return On::result(op, On::template argument<L>(x)...);
        }(std::type_identity<Signature>{});
}

} // namespace detail

/// Called by express() where an argument is a dual number.
template <class Op, class... X>
    requires(detail::is_dual<X> || ...)
XGRAD_INLINE auto evaluate_at_once(Op const& op, X const&... x) {
    return detail::on_duals(op, x...);
}
// A rule may combine a dual number with values that have no tangent.
template <class X>
    requires requires { X::width, detail::PartOf<X>::is_part; }
struct detail::OperandTraits<X> {
    using type = X;
};

} // namespace xgrad
