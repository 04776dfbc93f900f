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
// Read next: Replay at the end, and traced_pass() in fused_gradient_node.hpp.
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

template <class T> Traced<T> traced(Tensor<T> t) { return {std::move(t)}; }

} // namespace detail

/// Called by express() where an operand is Traced.
template <class Op, class... X>
    requires(detail::is_traced<X> || ...)
[[gnu::cold]] auto evaluate_at_once(Op op, X const&... x) {
    using P = widest_precision<typename detail::operand_type<X>::precision...>;
    auto const record_one = [&]<class... O>(O const&... operands) {
        return detail::record(Expression<Op, O...>(std::move(op), operands...));
    };
    return detail::traced(record_one(detail::traced_operand<P>(x)...));
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

/// Converts an operand to complex where the signature says so.
template <class L, class P, class T> auto promoted(Traced<T> const& x) {
    if constexpr (std::same_as<L, C> && !is_complex<T>) {
        using Z = traced_scalar<L, P>;
        return traced(x.tensor.defined() ? cast<Z>(x.tensor) : Tensor<Z>());
    } else return x;
}
template <class T> Traced<T> traced_as(AnyTensor const& t) {
    return {t.defined() ? t.as<T>() : Tensor<T>()};
}

template <class T, class P> struct TracedOperand {
    using S = traced_scalar<kind_of<T>, P>;
    [[gnu::cold]] static AnyTensor value(void const*, AnyTensor const* x) {
        return cast<S>(x->as<T>());
    }
    [[gnu::cold]] static AnyTensor arrive(AnyTensor const& g, Shape const& shape) {
        return sum_to(projected<T>(Traced<S>{g.as<S>()}), shape);
    }
    static constexpr TracedTable make() {
        TracedTable t{0, true, &value};
        if constexpr (Differentiable<T>) t.arrive = &arrive;
        return t;
    }
    static constexpr TracedTable table = make();
};
template <class N, class P> struct TracedNumber {
    [[gnu::cold]] static AnyTensor value(void const* number, AnyTensor const*) {
        return traced_operand<P>(static_cast<Constant<N> const*>(number)->value());
    }
    static constexpr TracedTable table{0, false, &value};
};

/// Op with its signature in an expression of precision P, on operands of kinds L.
template <class Op, class Signature, class P, class Indices, class... L> struct TracedOperationAt;
template <class Op, class Y, class... A, class P, std::size_t... I, class... L>
struct TracedOperationAt<Op, Y(A...), P, std::index_sequence<I...>, L...> {
    using result = traced_scalar<Y, P>;
    template <std::size_t J> using operand = std::tuple_element_t<J, std::tuple<L...>>;

    [[gnu::cold]] static AnyTensor value(void const* op, AnyTensor const* x) {
        return cast<result>(record(Expression<Op, Tensor<traced_scalar<L, P>>...>(
            *static_cast<Op const*>(op), x[I].template as<traced_scalar<L, P>>()...)));
    }
    template <std::size_t J> [[gnu::cold]] static Uses uses(void const* op) {
        return partial_uses<J>(*static_cast<Op const*>(op), std::type_identity<Y(A...)>{},
            std::index_sequence<I...>{});
    }
    template <std::size_t J>
    [[gnu::cold]] static AnyTensor pull(
        void const* op, AnyTensor const& g, AnyTensor const& y, AnyTensor const* x) {
        auto const d = static_cast<Op const*>(op)->partial(wrt<J>{}, traced_as<result>(y),
            promoted<A, P>(traced_as<traced_scalar<L, P>>(x[I]))...);
        return projected<traced_scalar<operand<J>, P>>(detail::pull(traced_as<result>(g), d));
    }
    template <std::size_t J> static constexpr TracedTable::Gradient gradient() {
        if constexpr (takes_gradients<std::tuple_element_t<J, std::tuple<A...>>> &&
                      takes_gradients<operand<J>>)
            return {&uses<J>, &pull<J>};
        else return {};
    }
    static constexpr TracedTable make() {
        TracedTable t{sizeof...(L), false, &value};
        if constexpr (takes_gradients<Y>) t.gradients = gradients.data();
        return t;
    }
    static constexpr std::array<TracedTable::Gradient, sizeof...(L)> make_gradients() {
        if constexpr (takes_gradients<Y>) return {gradient<I>()...};
        else return {};
    }
    static constexpr auto gradients = make_gradients();
    static constexpr TracedTable table = make();
};
template <class Op, class Signature, class P, class... L>
struct TracedOperation : TracedOperationAt<Op, Signature, P, std::index_sequence_for<L...>, L...> {
};

/// The kind of a vertex; a scalar constant has the precision of the expression.
template <class X, class P> struct TracedKind {
    using type = typename X::kind;
};
template <class N, class P> struct TracedKind<Constant<N>, P> {
    using type = kind_of<typename decltype(traced_operand<P>(N{}))::value_type>;
};

/// What a vertex of an expression of precision P is.
template <class X, class P> struct TracedVertexOf;
template <class T, class P> struct TracedVertexOf<Slot<T>, P> {
    using type = TracedOperand<T, P>;
};
template <class N, class P> struct TracedVertexOf<Constant<N>, P> {
    using type = TracedNumber<N, P>;
};
template <class Op, class... X, class P> struct TracedVertexOf<Expression<Op, X...>, P> {
    using type = TracedOperation<Op, typename Expression<Op, X...>::signature, P,
        typename TracedKind<X, P>::type...>;
};

/// Appends a vertex: compiled once, since each type of expression calls it.
XGRAD_LAZY [[gnu::cold]] void append_vertex(
    CachedVector<TracedVertex>& vertices, TracedTable const* table, void const* object);
/// Computes `end`, `first_operand` and `operands` of a vertex and of those below it.
XGRAD_LAZY [[gnu::cold]] void measure(
    CachedVector<TracedVertex>& vertices, std::size_t at, std::size_t& operand);

/// Lists the vertices in prefix order: each before its operands.
template <class X, class P, class Indices = typename X::indices> struct TracedVertices {
    [[gnu::cold]] static void list(void const* x, CachedVector<TracedVertex>& out) {
        append_vertex(out, table_of<typename TracedVertexOf<X, P>::type>(), x);
    }
};
template <class Op, class... X, class P, std::size_t... I>
struct TracedVertices<Expression<Op, X...>, P, std::index_sequence<I...>> {
    using E = Expression<Op, X...>;
    [[gnu::cold]] static void list(void const* expression, CachedVector<TracedVertex>& out) {
        auto const& e = *static_cast<E const*>(expression);
        append_vertex(out, table_of<typename TracedVertexOf<E, P>::type>(), &e.op);
        (TracedVertices<X, P>::list(&static_cast<OperandAt<I, X> const&>(e.x).operand, out), ...);
    }
};

/// Conversions at the root of an expression of type Y and precision P.
template <class Y, class P> struct TracedEnds {
    /// The gradient of the result, or of a sum of it, in precision P.
    static AnyTensor grad_output(AnyTensor const& gradient, SumOver const* sum, Shape const& space);
    static AnyTensor result(AnyTensor const& y);
};
template <class Y, class P>
[[gnu::cold]] AnyTensor TracedEnds<Y, P>::grad_output(
    AnyTensor const& gradient, SumOver const* sum, Shape const& space) {
    if (!sum) return result(gradient);
    auto const g = gradient.impl().type->scaled(gradient, sum->scale).template as<Y>();
    return result(broadcast_to(reshape(g, Axes(sum->reduced(space, true))), space));
}
template <class Y, class P> [[gnu::cold]] AnyTensor TracedEnds<Y, P>::result(AnyTensor const& y) {
    return cast<traced_scalar<kind_of<Y>, P>>(y.as<Y>());
}
#ifdef XGRAD_SEPARATE_COMPILATION
extern template struct TracedEnds<double, double>;
extern template struct TracedEnds<std::complex<double>, double>;
#endif

/// Evaluates vertices lazily: when a gradient rule first reads them.
class Replay {
public:
    Replay(CachedVector<TracedVertex> vertices, AnyTensor const* operands, OperandMask wanted)
        : vertices_(std::move(vertices)), values_(vertices_.size()), operands_(operands),
          wanted_(wanted) {}
    void set_result(AnyTensor y) { values_[0] = std::move(y); }

    /// Sends the gradient of a vertex to the operands: destination(operand, its table, gradient).
    template <class Destination>
    [[gnu::cold]] void backpropagate(
        std::size_t at, AnyTensor const& g, Destination const& destination) {
        auto const& table = *vertices_[at].table;
        if (table.is_operand) return destination(vertices_[at].first_operand, table, g);
        std::size_t child = at + 1;
        for (std::size_t i = 0; i < table.operands; ++i, child = vertices_[child].end) {
            if (!(wanted_ & vertices_[child].operand_mask)) continue;
            auto const gradient = table.gradients[i];
            if (!gradient.pull) continue;
            Uses const uses = gradient.uses(vertices_[at].object);
            std::vector<AnyTensor> x(table.operands);
            for (std::size_t j = 0, c = at + 1; j < table.operands; ++j, c = vertices_[c].end)
                if (uses & uses_argument(j)) x[j] = value(c);
            AnyTensor const part = gradient.pull(
                vertices_[at].object, g, uses & uses_result ? value(at) : AnyTensor(), x.data());
            if (part.defined()) backpropagate(child, part, destination);
        }
    }

private:
    XGRAD_LAZY [[gnu::cold]] AnyTensor const& value(std::size_t at);

    CachedVector<TracedVertex> vertices_;
    CachedVector<AnyTensor> values_;
    AnyTensor const* operands_;
    OperandMask wanted_;
};

/// What traced_pass() calls for an expression of one type.
struct TracedExpression {
    void (*list_vertices)(void const* expression, CachedVector<TracedVertex>& vertices);
    AnyTensor (*grad_output)(AnyTensor const& gradient, SumOver const* sum, Shape const& space);
    AnyTensor (*result)(AnyTensor const& result);
};

template <class F>
TracedExpression const TracedExpressionOf<F>::value = {
    &TracedVertices<F, compute_precision<F>>::list,
    &TracedEnds<typename F::scalar, compute_precision<F>>::grad_output,
    &TracedEnds<typename F::scalar, compute_precision<F>>::result};

} // namespace detail
} // namespace xgrad
