// Dual numbers: a batch and its tangent, the derivative in one direction. The same rules that give
// gradients, called with dual numbers, give tangents (forward mode) and second derivatives.
//
// Shapes: none are needed: an element is a number of a batch.
// Gradients: the tangent is the derivative in the direction of the tangents of the arguments. Where
// several arguments are dual numbers, one with the tangent 0 contributes 0, also if its derivative
// is infinite.
// Errors: none are thrown. Arguments outside of the domain of the operation do not compile.
//
// Read next: walk.hpp.
#pragma once

#include <xgrad/expr/flat_expression.hpp>

namespace xgrad {

namespace detail {

// The kinds and the precisions of batches in rules.
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
} // namespace detail

/// A batch and its tangent. The functions that rules call take it as they take a tensor: express()
/// applies their operations at once.
template <class Batch> struct Dual {
    using operand_tag = void;
    using evaluated_at_once = void;
    using kind = typename detail::RuleValue<Batch>::kind;
    using precision = typename detail::RuleValue<Batch>::precision;
    Batch value, tangent; // `value` is the batch, `tangent` its directional derivative
};
template <class Batch> XGRAD_INLINE Batch zero_like(Dual<Batch>) { return 0; }

namespace detail {

template <class X> inline constexpr bool is_dual = false;
template <class Batch> inline constexpr bool is_dual<Dual<Batch>> = true;
template <class... X> inline constexpr std::size_t count_duals = (std::size_t{is_dual<X>} + ...);

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

/// Projects a gradient to the kind of an operand: its real part if the operand is real.
template <class L, class P> XGRAD_INLINE batch_for<L, P> project(simd::Batch<P> g) { return g; }
template <class L, class P> XGRAD_INLINE batch_for<L, P> project(simd::ComplexBatch<P> g) {
    if constexpr (std::same_as<L, C>) return g;
    else return g.re;
}
template <class L, class P, class Batch> XGRAD_INLINE Dual<batch_for<L, P>> project(Dual<Batch> g) {
    return {project<L, P>(g.value), project<L, P>(g.tangent)};
}

/// The tangent of a gradient: 0 if the gradient is no dual number.
template <class Batch> XGRAD_INLINE Batch tangent_of(Dual<Batch> g) { return g.tangent; }
template <class Batch> XGRAD_INLINE Batch tangent_of(Batch) { return 0; }

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
        return batch_for<Y, P>(op.value(value_of(x)...));
    }
    template <class P, class Op, class A, class B>
        requires has_factor<Op>
    XGRAD_INLINE static batch_for<Y, P> value(Op const& op, A a, B b) {
        return value_of(a) * op.factor(value_of(b));
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

} // namespace detail

/// Called by express() where an argument is a dual number.
template <class Op, class... X>
    requires(detail::count_duals<X...> > 0)
XGRAD_INLINE auto evaluate_at_once(Op const& op, X... x) {
    return detail::on_duals(op, x...);
}
// A rule may combine a dual number with values that have no tangent.
template <class P> struct detail::OperandTraits<simd::Mask<P>> {
    using type = simd::Mask<P>;
};
template <class P> struct detail::OperandTraits<simd::Batch<P>> {
    using type = simd::Batch<P>;
};
template <class P> struct detail::OperandTraits<simd::ComplexBatch<P>> {
    using type = simd::ComplexBatch<P>;
};

} // namespace xgrad
