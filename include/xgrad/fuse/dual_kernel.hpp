// The kernel of second derivatives and of forward mode: forward over reverse. It evaluates an
// expression on dual numbers and backpropagates the gradient of the result through them. The
// tangent of the result is the derivative of the gradients with respect to grad_output; the
// tangents of the operands' gradients are the derivatives with respect to the operands, since
// second derivatives are symmetric. Read kernel.hpp first.
#pragma once

#include <xgrad/expr/dual.hpp>
#include <xgrad/fuse/kernel.hpp>

namespace xgrad::detail {

/// The order of the kernel's arguments: the values of the operands, their tangents, the gradient of
/// the result, the saved result, then destinations for the gradients of the operands and for the
/// tangent of the result.
struct DualLayout {
    std::size_t operand_count;
    constexpr std::size_t tangents() const { return operand_count; }
    constexpr std::size_t grad_output() const { return 2 * operand_count; }
    constexpr std::size_t result() const { return 2 * operand_count + 1; }
    constexpr std::size_t gradients() const { return 2 * operand_count + 2; }
    constexpr std::size_t tangent() const { return 3 * operand_count + 2; }
    constexpr std::size_t total() const { return 3 * operand_count + 3; }
};

/// `moving`: the operands with a tangent. `gradients`: the gradients that the kernel writes.
struct DualPlan {
    OperandMask moving = 0;
    BackwardPlan gradients;
    bool saved_result = false, wants_tangent = false;
    void const* constant_grad_output =
        nullptr; // a batch with the gradient of all elements, if it is one value
};

/// True if a vertex can have a tangent.
template <class X> inline constexpr bool is_dual_vertex = false;
template <class T> inline constexpr bool is_dual_vertex<Slot<T>> = Differentiable<T>;
template <class Op, class... X>
inline constexpr bool is_dual_vertex<Expression<Op, X...>> =
    takes_gradients<typename Expression<Op, X...>::kind> && (is_dual_vertex<X> || ...);

template <class E> inline constexpr std::size_t dual_operands = 0;
template <class Op, class... X>
inline constexpr std::size_t dual_operands<Expression<Op, X...>> =
    (std::size_t{is_dual_vertex<X>} + ...);

template <class X, class P>
using dual_batch = std::conditional_t<is_dual_vertex<X>, Dual<batch_for<typename X::kind, P>>,
    batch_for<typename X::kind, P>>;

/// The values and tangents at all vertices, filled in place like Values.
template <class X, class P> struct DualValues {
    dual_batch<X, P> y;
};
template <class Indices, class P, class... X> struct DualValuesOf;
template <std::size_t... I, class P, class... X>
struct DualValuesOf<std::index_sequence<I...>, P, X...> : OperandAt<I, DualValues<X, P>>... {};
template <class Op, class... X, class P> struct DualValues<Expression<Op, X...>, P> {
    dual_batch<Expression<Op, X...>, P> y;
    DualValuesOf<std::index_sequence_for<X...>, P, X...> x;
};

template <class E, std::size_t I, class P, class V> XGRAD_INLINE auto dual_argument(V const& v) {
    return lifted<typename ArgumentOf<I, typename E::signature>::type, P>(get<I>(v.x).y);
}

/// The arguments of a kernel, and the index of a batch in them.
struct DualTile {
    void const* const* at;
    std::size_t i;
    OperandMask moving;
};

template <std::size_t At, std::size_t operand_count, class P, class T>
XGRAD_INLINE void evaluate_dual(Slot<T> const&, DualTile tile, DualValues<Slot<T>, P>& v) {
    if constexpr (Differentiable<T>) {
        v.y.value = load_batch<T, P>(tile.at[At], tile.i);
        v.y.tangent = load_batch<T, P>(tile.at[operand_count + At], tile.i);
    } else v.y = load_batch<T, P>(tile.at[At], tile.i);
}
template <std::size_t At, std::size_t operand_count, class P, class T>
XGRAD_INLINE void evaluate_dual(Constant<T> const& c, DualTile, DualValues<Constant<T>, P>& v) {
    v.y = constant_batch<P>(c);
}
template <std::size_t At, std::size_t operand_count, class P, class Op, class... X>
XGRAD_INLINE void evaluate_dual(Expression<Op, X...> const& e, DualTile tile,
    DualValues<Expression<Op, X...>, P>& v, bool saved = false) {
    evaluate_dual_at<At, operand_count>(e, tile, v, saved, std::index_sequence_for<X...>{});
}
template <std::size_t At, std::size_t operand_count, class P, class Op, class... X,
    std::size_t... I>
XGRAD_INLINE void evaluate_dual_at(Expression<Op, X...> const& e, DualTile tile,
    DualValues<Expression<Op, X...>, P>& v, bool saved, std::index_sequence<I...>) {
    using E = Expression<Op, X...>;
    using On = OnDuals<typename E::signature>;
    constexpr auto first = first_operands<X...>();
    (evaluate_dual<At + first[I], operand_count>(get<I>(e.x), tile, get<I>(v.x)), ...);
    auto const y = saved ? load_batch<typename E::kind::template over<P>, P>(
                               tile.at[DualLayout{operand_count}.result()], tile.i)
                         : On::template value<P>(e.op, dual_argument<E, I, P>(v)...);
    if constexpr (is_dual_vertex<E>) {
        constexpr bool alone = dual_operands<E> == 1;
        v.y.value = y;
        v.y.tangent = On::template tangent<P, !alone>(e.op, y, dual_argument<E, I, P>(v)...);
        if (alone && has_poles<Op, std::index_sequence<I...>> &&
            !(tile.moving & operand_range<At, E::operand_count>))
            v.y.tangent = 0; // even where the derivative is infinite
    } else v.y = y;
}

/// The tangent of a gradient: 0 if the gradient is no dual number.
template <class Batch> XGRAD_INLINE Batch tangent_of(Dual<Batch> g) { return g.tangent; }
template <class Batch> XGRAD_INLINE Batch tangent_of(Batch) { return 0; }

/// Applies the chain rule from the root to the operands. `destination` gets the tangents of the
/// operands' gradients.
template <std::size_t At, class P, class T, class G, class Destination>
XGRAD_INLINE void backpropagate_dual(Slot<T> const&, DualValues<Slot<T>, P> const&, G g,
    OperandMask, Destination const& destination) {
    destination.template operator()<T, At>(tangent_of(g));
}
template <std::size_t At, class P, class Op, class... X, class G, class Destination>
XGRAD_INLINE void backpropagate_dual(Expression<Op, X...> const& e,
    DualValues<Expression<Op, X...>, P> const& v, G g, OperandMask wanted,
    Destination const& destination) {
    backpropagate_dual_all<At>(e, v, g, wanted, destination, std::index_sequence_for<X...>{});
}
template <std::size_t At, class P, class Op, class... X, class G, class Destination,
    std::size_t... I>
XGRAD_INLINE void backpropagate_dual_all(Expression<Op, X...> const& e,
    DualValues<Expression<Op, X...>, P> const& v, G g, OperandMask wanted,
    Destination const& destination, std::index_sequence<I...> all) {
    (backpropagate_dual_to<I, At>(e, v, g, wanted, destination, all), ...);
}
template <std::size_t I, std::size_t At, class P, class Op, class... X, class G, class Destination,
    std::size_t... J>
XGRAD_INLINE void backpropagate_dual_to(Expression<Op, X...> const& e,
    DualValues<Expression<Op, X...>, P> const& v, G g, OperandMask wanted,
    Destination const& destination, std::index_sequence<J...>) {
    using E = Expression<Op, X...>;
    using Xi = std::tuple_element_t<I, std::tuple<X...>>;
    if constexpr (is_dual_vertex<Xi>) {
        constexpr std::size_t first = At + first_operands<X...>()[I];
        if (!(wanted & operand_range<first, Xi::operand_count>)) return;
        auto const gi = pull(g, e.op.partial(wrt<I>{}, v.y, dual_argument<E, J, P>(v)...));
        backpropagate_dual<first>(
            get<I>(e.x), get<I>(v.x), project<typename Xi::kind, P>(gi), wanted, destination);
    }
}

/// Computes the tangents of the result and of the gradients for one tile.
template <class F>
XGRAD_NO_SLP_VECTORIZER XGRAD_NOINLINE void dual_kernel(
    void const* expression, DualPlan const& plan, void* const* arguments, std::size_t n) {
    F const f = *static_cast<F const*>(expression); // a copy that no output can alias
    using P = compute_precision<F>;
    using Y = typename F::scalar;
    constexpr DualLayout layout{F::operand_count};
    void const* in[layout.gradients()];
    copy_pointers(arguments, layout.gradients(), in);
    auto* const tangent = static_cast<tile_type<Y, P>*>(arguments[layout.tangent()]);
    GradientDestination<P, operand_scalars<F>> destination(plan.gradients, 0);
    if (destination.wanted)
        destination.set_destinations(plan.gradients, arguments + layout.gradients());
    auto const moving = plan.moving;
    bool const saved = plan.saved_result, wants_tangent = plan.wants_tangent,
               has_constant_grad_output = plan.constant_grad_output;
    if (has_constant_grad_output) in[layout.grad_output()] = plan.constant_grad_output;
    for (std::size_t i = 0; i < n; i += simd::Batch<P>::width) {
        DualTile const tile{in, i, moving};
        DualValues<F, P> v;
        if constexpr (requires { v.x; }) evaluate_dual<0, F::operand_count>(f, tile, v, saved);
        else evaluate_dual<0, F::operand_count>(f, tile, v);
        if (wants_tangent) tangent_of(v.y).store(tangent + i);
        if (!destination.wanted) continue;
        typename decltype(destination)::Batches batches{};
        backpropagate_dual<0>(f, v,
            load_batch<Y, P>(in[layout.grad_output()], has_constant_grad_output ? 0 : i),
            destination.wanted, destination.taking(batches, i));
        destination.store(batches, i);
    }
}

} // namespace xgrad::detail
