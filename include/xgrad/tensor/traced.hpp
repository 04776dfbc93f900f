// Derivatives of any order. Where fused passes do not suffice
// (fused_gradient_node.hpp), the backward pass of a FusedNode is replayed operation by
// operation. Each operation is applied to Traced operands by the same gradient rules and records a
// Node of one operation. The unit of compilation is an operation on operands of given kinds, not a
// whole expression: so there is little code, and the set of Node types is finite.
//
// Shapes: those of the operation that is applied.
// Gradients: recorded, one Node for each operation; this is how third and higher orders are
// computed.
// Errors: those of the operation; the functions are for the rules of operations, not for programs.
//
// Read next: TracedVertices in shared_tables.hpp, apply_recorded() in fused_gradient_node.hpp.
#pragma once

#include <xgrad/ops/shaping.hpp>
#include <xgrad/tensor/arraywise.hpp>
#include <xgrad/tensor/shared_tables.hpp>

namespace xgrad {

/// A tensor to which operations are applied eagerly.
template <Scalar T> struct Traced {
    using operand_tag = void;
    using evaluated_at_once = void;
    using scalar = T;
    using kind = kind_of<T>;
    using precision = precision_of<T>;
    static constexpr std::size_t operand_count = 1;
    Tensor<T> tensor; // the value, recorded
};

namespace detail {
template <class X> inline constexpr bool is_traced = false;
template <class T> inline constexpr bool is_traced<Traced<T>> = true;
} // namespace detail

/// A recorded constant 0, of the same element type.
template <class T> auto zero_like(Traced<T> const& x) {
    return Traced<T>{Tensor<T>(detail::Array<T>(x.tensor.shape(), T(0)))};
}

namespace detail {

/// Converts a scalar constant to a tensor of the operands' precision, so that there are few Node
/// types.
template <class P, class T> Tensor<T> const& traced_operand(Traced<T> const& t) { return t.tensor; }
template <class P, Number N> auto traced_operand(N n) {
    using L = std::conditional_t<RealScalar<P> && std::same_as<kind_of<N>, Z>, R, kind_of<N>>;
    using S = typename L::template over<result_precision<L, P>>;
    Tensor<S> const t(converted<S>(n));
    t.impl().is_constant = true;
    return t;
}

} // namespace detail

/// Called by express() where an operand is Traced.
template <class Op, class... X>
    requires(detail::is_traced<X> || ...)
[[gnu::cold]] auto evaluate_at_once(Op op, X const&... x) {
    using P = widest_precision<typename detail::operand_type<X>::precision...>;
    auto const record_one = [&]<class... O>(O const&... operands) {
        return detail::record(Expression<Op, O...>(std::move(op), operands...));
    };
    auto const y = record_one(detail::traced_operand<P>(x)...);
    return Traced<typename decltype(y)::scalar>{y};
}

namespace detail {

/// The element type of kind L in an expression of precision P.
template <class L, class P> using traced_scalar = typename L::template over<result_precision<L, P>>;

/// Converts a gradient to the type of its operand.
template <class To, class From> Tensor<To> projected(Traced<From> const& g) {
    if constexpr (std::same_as<To, From>) return g.tensor;
    else if constexpr (is_complex<From> && !is_complex<To>)
        return projected<To>(Traced<precision_of<From>>(real(g)));
    else return cast<To>(g.tensor);
}

template <class T, class P> struct TracedOperand {
    using S = traced_scalar<kind_of<T>, P>;
    [[gnu::cold]] static AnyTensor value(void const*, AnyTensor const* x) {
        return cast<S>(x->as<T>());
    }
    [[gnu::cold]] static AnyTensor arrive(AnyTensor const& g, Shape const& shape) {
        return sum_to(projected<T>(Traced<S>{g.as<S>()}), shape);
    }
    [[gnu::cold]] static AnyTensor spread(
        AnyTensor const& g, SumOver const& sum, Shape const& space) {
        auto const scaled = g.impl().type->scaled(g, sum.scale).template as<T>();
        return broadcast_to(reshape(scaled, Axes(sum.reduced(space, true))), space);
    }
    static constexpr TracedTable make() {
        TracedTable t{0, &value};
        if constexpr (Differentiable<T>) t.arrive = &arrive, t.spread = &spread;
        return t;
    }
    static constexpr TracedTable table = make();
};
template <class N, class P> struct TracedNumber {
    [[gnu::cold]] static AnyTensor value(void const* number, AnyTensor const*) {
        return traced_operand<P>(static_cast<Constant<N> const*>(number)->value());
    }
    static constexpr TracedTable table{0, &value};
};

/// Op with its signature in an expression of precision P, on operands of kinds L.
template <class Op, class Signature, class P, class Indices, class... L> struct TracedOperationAt;
template <class Op, class Y, class... A, class P, std::size_t... I, class... L>
struct TracedOperationAt<Op, Y(A...), P, std::index_sequence<I...>, L...> {
    using result = traced_scalar<Y, P>;

    [[gnu::cold]] static AnyTensor value(void const* op, AnyTensor const* x) {
        return cast<result>(record(Expression<Op, Tensor<traced_scalar<L, P>>...>(
            *static_cast<Op const*>(op), x[I].template as<traced_scalar<L, P>>()...)));
    }
    /// A vertex of kind From as an argument of kind To; undefined where a rule does not read it.
    template <class To, class From>
    [[gnu::cold]] static Traced<traced_scalar<To, P>> read(
        TracedVertices& all, std::size_t vertex, Uses is_read) {
        if (!is_read) return {};
        return {cast<traced_scalar<To, P>>(all.value(vertex).as<traced_scalar<From, P>>())};
    }
    template <std::size_t J, class Aj, class Lj>
    [[gnu::cold]] static AnyTensor pull_to(
        TracedVertices& all, std::size_t at, AnyTensor const& g) {
        if constexpr (takes_gradients<Y> && takes_gradients<Aj> && takes_gradients<Lj>) {
            auto const& op = *static_cast<Op const*>(all.object(at));
            Uses const uses =
                partial_uses<J>(op, std::type_identity<Y(A...)>{}, std::index_sequence<I...>{});
            auto const d = op.partial(wrt<J>{}, read<Y, Y>(all, at, uses & uses_result),
                read<A, L>(all, all.operand(at, I), uses & uses_argument(I))...);
            return projected<traced_scalar<Lj, P>>(detail::pull(Traced<result>{g.as<result>()}, d));
        } else return {};
    }
    [[gnu::cold]] static AnyTensor pull(
        TracedVertices& all, std::size_t at, std::size_t j, AnyTensor const& g) {
        AnyTensor gradient;
        ((j == I ? void(gradient = pull_to<I, A, L>(all, at, g)) : void()), ...);
        return gradient;
    }
    static constexpr TracedTable table{sizeof...(L), &value, &pull};
};
template <class Op, class Signature, class P, class... L>
struct TracedOperation : TracedOperationAt<Op, Signature, P, std::index_sequence_for<L...>, L...> {
};

/// Appends the vertices at and below X, in an expression of precision P.
template <class X, class P, class Indices = typename X::indices> struct VerticesOf;
template <class T, class P> struct VerticesOf<Slot<T>, P, std::index_sequence<>> {
    using kind = kind_of<T>;
    [[gnu::cold]] static void append(void const* x, TracedVertices& out) {
        out.append(table_of<TracedOperand<T, P>>(), x, true);
    }
};
template <class N, class P> struct VerticesOf<Constant<N>, P, std::index_sequence<>> {
    using kind = kind_of<typename decltype(traced_operand<P>(N{}))::value_type>;
    [[gnu::cold]] static void append(void const* x, TracedVertices& out) {
        out.append(table_of<TracedNumber<N, P>>(), x);
    }
};
template <class Op, class... X, class P, std::size_t... I>
struct VerticesOf<Expression<Op, X...>, P, std::index_sequence<I...>> {
    using E = Expression<Op, X...>;
    using kind = typename E::kind;
    using Root = TracedOperation<Op, typename E::signature, P, typename VerticesOf<X, P>::kind...>;
    [[gnu::cold]] static void append(void const* expression, TracedVertices& out) {
        auto const& e = *static_cast<E const*>(expression);
        out.append(table_of<Root>(), &e.op);
        (VerticesOf<X, P>::append(&static_cast<OperandAt<I, X> const&>(e.x).operand, out), ...);
    }
};

/// What TracedVertices calls for an expression of one type.
struct TracedExpression {
    void (*append)(void const* expression, TracedVertices& vertices);
    TracedTable const* (*result)();
};

template <class F>
TracedExpression const TracedExpressionOf<F>::value = {&VerticesOf<F, compute_precision<F>>::append,
    &table_of<TracedOperand<typename F::scalar, compute_precision<F>>>};

} // namespace detail
} // namespace xgrad
