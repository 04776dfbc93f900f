// The walk over a flattened expression. Data: Values<X, V>, a struct that mirrors the tree and has
// the value at each vertex for one batch. V is a batch, or a dual number of a batch.
// Its evaluate() fills it from the operands to the root; backpropagate() walks from the root to the
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

/// True if an expression calls a function of the program number by number.
template <class X> inline constexpr bool calls_numbers = false;
template <class Op, class... X>
inline constexpr bool calls_numbers<Expression<Op, X...>> =
    requires { requires Op::calls_numbers; } || (calls_numbers<X> || ...);

/// True if all of at least one operand are in `mask`.
XGRAD_INLINE bool covers(OperandMask mask, OperandMask operands) {
    return operands && (mask & operands) == operands;
}

/// The values at all vertices of an expression, for one batch, and the walk over them. A function
/// of Values knows the types and the numbers of the operands, so that a vertex takes few functions:
/// without optimisation most of the compile time is that of functions.
template <class X, class V, class Indices = typename X::indices> struct Values;
template <class T, class V> struct Values<Slot<T>, V, std::index_sequence<>> {
    value_at<Slot<T>, V> y;

    XGRAD_INLINE void set_constants(Slot<T> const&) {}
    template <std::size_t At, bool gradients, class Load>
    XGRAD_INLINE void evaluate(Slot<T> const&, Load const& load, OperandMask, bool = false) {
        y = load.template operator()<T, At>();
    }
    template <std::size_t At, class G, class Destination>
    XGRAD_INLINE void backpropagate(
        Slot<T> const&, G g, OperandMask, Destination& destination) const {
        if constexpr (is_dual<V>) destination.template operator()<At>(tangent_of(g));
        else destination.template operator()<At>(g);
    }
};
template <class T, class V> struct Values<Constant<T>, V, std::index_sequence<>> {
    value_at<Constant<T>, V> y;

    XGRAD_INLINE void set_constants(Constant<T> const& c) {
        if constexpr (std::same_as<T, bool>) y = simd::Batch<typename V::precision>(c.value()) != 0;
        else y = c.value();
    }
    template <std::size_t At, bool gradients, class Load>
    XGRAD_INLINE void evaluate(Constant<T> const&, Load const&, OperandMask) {}
};
template <class Op, class... X, class V, std::size_t... I>
struct Values<Expression<Op, X...>, V, std::index_sequence<I...>> : OperandAt<I, Values<X, V>>... {
    using E = Expression<Op, X...>;
    value_at<E, V> y;
    [[no_unique_address]] typename SharedPartial<E, V>::type partial;

    /// Writes the scalar constants once, before the first batch.
    XGRAD_INLINE void set_constants(E const& e) {
        (At<I, X>::operand.set_constants(static_cast<OperandAt<I, X> const&>(e.x).operand), ...);
    }

    /// Computes the values from the operands to the root. load.template operator()<T, K>() gives
    /// the batch of operand K. `gradients`: the pass computes gradients; its values may differ by a
    /// rounding. `invariant`: the operands that have the same values as in the previous batch.
    /// `saved`: the value of the root is loaded instead of computed.
    template <std::size_t from, bool gradients, class Load>
    XGRAD_INLINE void evaluate(
        E const& e, Load const& load, OperandMask invariant, bool saved = false) {
        constexpr auto first = first_operands<X...>();
        if constexpr (is_transcendental<Op>)
            if (!saved && covers(invariant, operand_range<from, E::operand_count>)) [[unlikely]]
                return;
        (At<I, X>::operand.template evaluate<from + first[I], gradients>(
             static_cast<OperandAt<I, X> const&>(e.x).operand, load, invariant),
            ...);
        if constexpr (is_dual<V>) {
            using On = OnDuals<typename E::signature, V>;
            auto const value = saved ? load.template saved_result<typename E::scalar>()
                                     : On::value(e.op, Argument<I, X>(At<I, X>::operand.y)...);
            if constexpr (wants_gradient<E>) {
                constexpr bool alone = (std::size_t{wants_gradient<X>} + ...) == 1;
                y.value = value;
                y.tangent = On::template tangent<!alone>(
                    e.op, value, Argument<I, X>(At<I, X>::operand.y)...);
                if (alone && has_poles<Op, std::index_sequence<I...>> &&
                    !load.moves(operand_range<from, E::operand_count>))
                    y.tangent = 0; // even where the derivative is infinite
            } else y = value;
        } else if constexpr (gradients && has_factor<Op>) {
            using A = std::tuple_element_t<0, std::tuple<X...>>;
            using B = std::tuple_element_t<1, std::tuple<X...>>;
            if (!covers(invariant, operand_range<from + first[1], B::operand_count>)) [[likely]]
                partial = e.op.factor(Argument<1, B>(At<1, B>::operand.y));
            y = Argument<0, A>(At<0, A>::operand.y) * partial;
        } else if constexpr (gradients && has_partials<Op>) {
            y = e.op.value_and_partials(partial, Argument<I, X>(At<I, X>::operand.y)...);
        } else if constexpr (gradients && shares_partial<E, V>) {
            auto const [value, derivative] =
                e.op.value_and_partial(Argument<I, X>(At<I, X>::operand.y)...);
            y = value;
            partial = derivative;
        } else if (saved) y = load.template saved_result<typename E::scalar>();
        else y = value_at<E, V>(e.op.value(Argument<I, X>(At<I, X>::operand.y)...));
    }

    /// Applies the chain rule from the root to the operands. g is the gradient of the root's value.
    /// destination.template operator()<K>() receives the gradient of operand K, or its tangent.
    template <std::size_t from, class G, class Destination>
    XGRAD_INLINE void backpropagate(
        E const& e, G g, OperandMask wanted, Destination& destination) const {
        constexpr auto first = first_operands<X...>();
        (backpropagate_to<I, from + first[I], X>(e, g, wanted, destination), ...);
    }

private:
    template <std::size_t J, class Xj> using At = OperandAt<J, Values<Xj, V>>;
    /// The value of operand J, promoted to the argument kind of the operation's signature.
    template <std::size_t J, class Xj>
    using Argument = of_kind<typename ArgumentOf<J, typename E::signature>::type, value_at<Xj, V>>;

    /// The part of operand J, whose first tensor has the number `from`.
    template <std::size_t J, std::size_t from, class Xj, class G, class Destination>
    XGRAD_INLINE void backpropagate_to(
        E const& e, G g, OperandMask wanted, Destination& destination) const {
        if constexpr (wants_gradient<Xj>)
            if (wanted & operand_range<from, Xj::operand_count>) {
                auto const& x = At<J, Xj>::operand;
                auto const& of = static_cast<OperandAt<J, Xj> const&>(e.x).operand;
                using K = typename Xj::kind;
                if constexpr (shares_partial<E, V>)
                    x.template backpropagate<from>(
                        of, project<K>(pull(g, shared_partial<J>(e))), wanted, destination);
                else
                    x.template backpropagate<from>(of,
                        project<K>(pull(
                            g, e.op.partial(wrt<J>{}, y, Argument<I, X>(At<I, X>::operand.y)...))),
                        wanted, destination);
            }
    }
    /// The derivative with respect to operand J, where evaluate() found a part of it.
    template <std::size_t J> XGRAD_INLINE auto shared_partial(E const& e) const {
        if constexpr (has_partials<Op>) return partial.template at<J>();
        else if constexpr (J == 0) return partial;
        else return e.op.partial(wrt<J>{}, y, Argument<I, X>(At<I, X>::operand.y)..., partial);
    }
};

} // namespace xgrad::detail
