// The walk over a flattened expression. Data: Values<X, V>, a struct that mirrors the tree and has
// the value at each vertex for one batch. V is a batch, or a dual number of a batch.
// evaluate() fills Values from the operands to the root; backpropagate() walks from the root to the
// operands and computes their gradients. Invariant: Values is filled in place and never copied, so
// that compilers keep it in registers. Read next: fuse/kernel.hpp, the loop around both.
#pragma once

#include <xgrad/expr/dual.hpp>

namespace xgrad::detail {

/// The value of a vertex: a dual number only where it may have a tangent.
template <class X, class V>
using value_at = std::conditional_t<is_dual<V> && wants_gradient<X>,
    Dual<batch_for<typename X::kind, typename V::precision>>,
    batch_for<typename X::kind, typename V::precision>>;

/// The partial with respect to the first argument, where a rule computes it together with the
/// value: by value_and_partial(x), or by factor(b), which says that the value is a * factor(b).
/// Or those of all arguments, by value_and_partials(p, x...), which sets p of type partials.
/// Values stores it from evaluate() to backpropagate().
struct NoPartial {};
template <class E, class V> struct SharedPartial {
    using type = NoPartial;
};
template <class Op>
inline constexpr bool has_partials = requires { typename Op::template partials<double>; };
template <class E, std::size_t I, class V>
using argument_batch =
    batch_for<typename ArgumentOf<I, typename E::signature>::type, typename V::precision>;
template <class Op, class X, class V>
    requires(
        !is_dual<V> && requires(Op const op,
                           argument_batch<Expression<Op, X>, 0, V> x) { op.value_and_partial(x); })
struct SharedPartial<Expression<Op, X>, V> {
    using type =
        decltype(std::declval<Op const&>()
                     .value_and_partial(std::declval<argument_batch<Expression<Op, X>, 0, V>>())
                     .second);
};
template <class Op, class... X, class V>
    requires(!is_dual<V> && has_partials<Op>)
struct SharedPartial<Expression<Op, X...>, V> {
    using type = typename Op::template partials<typename V::precision>;
};
template <class Op, class X, class Y, class V>
    requires(!is_dual<V> && has_factor<Op>)
struct SharedPartial<Expression<Op, X, Y>, V> {
    using type = argument_batch<Expression<Op, X, Y>, 1, V>;
};
template <class E, class V>
inline constexpr bool shares_partial = !std::same_as<typename SharedPartial<E, V>::type, NoPartial>;

/// The values at all vertices of an expression, for one batch.
template <class X, class V> struct Values {
    value_at<X, V> y;
};
template <class Indices, class V, class... X> struct ValuesOf;
template <std::size_t... I, class V, class... X>
struct ValuesOf<std::index_sequence<I...>, V, X...> : OperandAt<I, Values<X, V>>... {};
template <class Op, class... X, class V> struct Values<Expression<Op, X...>, V> {
    value_at<Expression<Op, X...>, V> y;
    ValuesOf<std::index_sequence_for<X...>, V, X...> x;
    [[no_unique_address]] typename SharedPartial<Expression<Op, X...>, V>::type partial;
};

/// The value of operand I, promoted to the argument kind of the operation's signature.
template <std::size_t I, class E, class V> XGRAD_INLINE auto argument(Values<E, V> const& v) {
    auto const& y = get<I>(v.x).y;
    return of_kind<typename ArgumentOf<I, typename E::signature>::type,
        std::remove_cvref_t<decltype(y)>>(y);
}

/// True if an expression has expensive parts: these are not evaluated again for the next batch if
/// all their operands are constant in the block.
template <class X> inline constexpr bool has_invariant_parts = false;
template <class Op, class... X>
inline constexpr bool has_invariant_parts<Expression<Op, X...>> =
    is_transcendental<Op> || has_factor<Op> || (has_invariant_parts<X> || ...);

/// True if an expression has an operation with an expensive value.
template <class X> inline constexpr bool is_expensive = false;
template <class Op, class... X>
inline constexpr bool is_expensive<Expression<Op, X...>> =
    is_transcendental<Op> || (is_expensive<X> || ...);

template <class E, std::size_t At> XGRAD_INLINE bool covers(OperandMask mask) {
    return E::operand_count > 0 &&
           (mask & operand_range<At, E::operand_count>) == operand_range<At, E::operand_count>;
}

/// Writes the scalar constants to v once, before the first batch.
template <class T, class V> XGRAD_INLINE void set_constants(Slot<T> const&, Values<Slot<T>, V>&) {}
template <class T, class V>
XGRAD_INLINE void set_constants(Constant<T> const& c, Values<Constant<T>, V>& v) {
    if constexpr (std::same_as<T, bool>) v.y = simd::Batch<typename V::precision>(c.value()) != 0;
    else v.y = c.value();
}
template <class Op, class... X, class V>
XGRAD_INLINE void set_constants(Expression<Op, X...> const& e, Values<Expression<Op, X...>, V>& v) {
    set_constants(e.x, v.x);
}
template <class V, std::size_t... I, class... X>
XGRAD_INLINE void set_constants(OperandTuple<std::index_sequence<I...>, X...> const& x,
    ValuesOf<std::index_sequence<I...>, V, X...>& v) {
    (set_constants(get<I>(x), get<I>(v)), ...);
}

// evaluate() reads the batch of operand K by load.template operator()<T, K>(). `gradients`: the
// pass computes gradients; its values may differ by a rounding. `invariant`: the operands that have
// the same values as in the previous batch. `saved`: the value of the root is loaded instead of
// computed.

template <std::size_t At, bool gradients, class T, class V, class Load>
XGRAD_INLINE void evaluate(
    Slot<T> const&, Load const& load, Values<Slot<T>, V>& v, OperandMask, bool = false) {
    v.y = load.template operator()<T, At>();
}
template <std::size_t At, bool gradients, class T, class V, class Load>
XGRAD_INLINE void evaluate(Constant<T> const&, Load const&, Values<Constant<T>, V>&, OperandMask) {}
template <std::size_t At, bool gradients, class Op, class... X, class V, class Load>
XGRAD_INLINE void evaluate(Expression<Op, X...> const& e, Load const& load,
    Values<Expression<Op, X...>, V>& v, OperandMask invariant, bool saved = false) {
    if constexpr (is_transcendental<Op>)
        if (!saved && covers<Expression<Op, X...>, At>(invariant)) [[unlikely]]
            return;
    evaluate_at<At, gradients>(e, load, v, invariant, saved, std::index_sequence_for<X...>{});
}
template <std::size_t At, bool gradients, class Op, class... X, class V, class Load,
    std::size_t... I>
XGRAD_INLINE void evaluate_at(Expression<Op, X...> const& e, Load const& load,
    Values<Expression<Op, X...>, V>& v, OperandMask invariant, bool saved,
    std::index_sequence<I...>) {
    using E = Expression<Op, X...>;
    using P = typename V::precision;
    constexpr auto first = first_operands<X...>();
    (evaluate<At + first[I], gradients>(get<I>(e.x), load, get<I>(v.x), invariant), ...);
    if constexpr (is_dual<V>) {
        using On = OnDuals<typename E::signature, V>;
        auto const y = saved ? load.template saved_result<E>() : On::value(e.op, argument<I>(v)...);
        if constexpr (wants_gradient<E>) {
            constexpr bool alone = (std::size_t{wants_gradient<X>} + ...) == 1;
            v.y.value = y;
            v.y.tangent = On::template tangent<!alone>(e.op, y, argument<I>(v)...);
            if (alone && has_poles<Op, std::index_sequence<I...>> &&
                !load.moves(operand_range<At, E::operand_count>))
                v.y.tangent = 0; // even where the derivative is infinite
        } else v.y = y;
    } else if constexpr (gradients && has_factor<Op>) {
        if (!covers<std::tuple_element_t<1, std::tuple<X...>>, At + first[1]>(invariant)) [[likely]]
            v.partial = e.op.factor(argument<1>(v));
        v.y = argument<0>(v) * v.partial;
    } else if constexpr (gradients && has_partials<Op>) {
        v.y = e.op.value_and_partials(v.partial, argument<I>(v)...);
    } else if constexpr (gradients && shares_partial<E, V>) {
        auto const [y, partial] = e.op.value_and_partial(argument<I>(v)...);
        v.y = y;
        v.partial = partial;
    } else if (saved) v.y = load.template saved_result<E>();
    else v.y = batch_for<typename E::kind, P>(e.op.value(argument<I>(v)...));
}

/// The derivative of a vertex with respect to its argument I.
template <std::size_t I, class Op, class... X, class V, std::size_t... J>
XGRAD_INLINE auto partial_at(Expression<Op, X...> const& e,
    Values<Expression<Op, X...>, V> const& v, std::index_sequence<J...>) {
    if constexpr (!shares_partial<Expression<Op, X...>, V>)
        return e.op.partial(wrt<I>{}, v.y, argument<J>(v)...);
    else if constexpr (has_partials<Op>) return v.partial.template at<I>();
    else if constexpr (I == 0) return v.partial;
    else return e.op.partial(wrt<I>{}, v.y, argument<J>(v)..., v.partial);
}

/// Applies the chain rule from the root to the operands. g is the gradient of the root's value.
/// destination.template operator()<K>() receives the gradient of operand K, or its tangent.
template <std::size_t At, class T, class V, class G, class Destination>
XGRAD_INLINE void backpropagate(
    Slot<T> const&, Values<Slot<T>, V> const&, G g, OperandMask, Destination& destination) {
    if constexpr (is_dual<V>) destination.template operator()<At>(tangent_of(g));
    else destination.template operator()<At>(g);
}
template <std::size_t At, class Op, class... X, class V, class G, class Destination>
XGRAD_INLINE void backpropagate(Expression<Op, X...> const& e,
    Values<Expression<Op, X...>, V> const& v, G g, OperandMask wanted, Destination& destination) {
    backpropagate_all<At>(e, v, g, wanted, destination, std::index_sequence_for<X...>{});
}
template <std::size_t At, class Op, class... X, class V, class G, class Destination,
    std::size_t... I>
XGRAD_INLINE void backpropagate_all(Expression<Op, X...> const& e,
    Values<Expression<Op, X...>, V> const& v, G g, OperandMask wanted, Destination& destination,
    std::index_sequence<I...> all) {
    constexpr auto first = first_operands<X...>();
    (backpropagate_to<I, At + first[I]>(e, v, g, wanted, destination, all), ...);
}
/// The part of operand I, whose first tensor has the number At.
template <std::size_t I, std::size_t At, class Op, class... X, class V, class G, class Destination,
    class Indices>
XGRAD_INLINE void backpropagate_to(Expression<Op, X...> const& e,
    Values<Expression<Op, X...>, V> const& v, G g, OperandMask wanted, Destination& destination,
    Indices all) {
    using Xi = std::tuple_element_t<I, std::tuple<X...>>;
    if constexpr (wants_gradient<Xi>)
        if (wanted & operand_range<At, Xi::operand_count>)
            backpropagate<At>(get<I>(e.x), get<I>(v.x),
                project<typename Xi::kind>(pull(g, partial_at<I>(e, v, all))), wanted, destination);
}

} // namespace xgrad::detail
