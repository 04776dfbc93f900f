// Gradients of gradients. Where the backward pass itself is recorded, a fused Node replays its formula operation by operation
// on Traced operands, each of which records a Node of one operation, and applies the same rules to them. So second and
// higher derivatives need no rule of their own, and the set of Node types that the compiler meets stays finite.
#pragma once

#include <xgrad/ops/shaping.hpp>
#include <xgrad/tensor/arraywise.hpp>

namespace xgrad {

/// A tensor to which operations are applied at once, not lazily.
template <Scalar T> struct Traced {
    using operand_tag = void;
    using records_at_once = void;
    using scalar = T;
    using letter = letter_of<T>;
    using precision = precision_of<T>;
    static constexpr std::size_t leaves = 1;
    Tensor<T> tensor;
};

template <class T> auto zero_like(Traced<T> const& x) { return Traced<T>{Tensor<T>(detail::Array<T>(x.tensor.shape(), T(0)))}; }

namespace detail {

/// A number among Traced operands: a tensor of their precision, so that few Node types arise.
template <class P, class T> Tensor<T> const& traced_operand(Traced<T> const& t) { return t.tensor; }
template <class P, Number N> auto traced_operand(N n)
{
    using L = std::conditional_t<RealScalar<P> && std::same_as<letter_of<N>, Z>, R, letter_of<N>>;
    using S = typename L::template over<result_precision<L, P>>;
    Tensor<S> const t(converted<S>(n));
    t.impl().is_number = true;
    return t;
}

template <class T> Traced<T> traced(Tensor<T> t) { return {std::move(t)}; }

}  // namespace detail

/// Called by express() where an operand is Traced.
template <class Op, class... X> [[gnu::cold]] auto record_traced(Op op, X const&... x)
{
    using P = widest_precision<typename detail::operand_type<X>::precision...>;
    auto const record_one = [&]<class... O>(O const&... operands) { return detail::record(Expression<Op, O...>(std::move(op), operands...)); };
    return detail::traced(record_one(detail::traced_operand<P>(x)...));
}

namespace detail {

/// The values at the vertices of a formula as Traced tensors, each computed when a rule first asks for it.
template <class X, class P> struct Replay;
template <class T, class P> struct Replay<Slot<T>, P> {
    AnyTensor const* leaf = nullptr;
    Traced<T> value() { return {leaf->as<T>()}; }
};
template <class N, class P> struct Replay<Constant<N>, P> {
    N number{};
    auto value() { return traced(traced_operand<P>(number)); }
};
template <class Indices, class P, class... X> struct ReplayPack;
template <std::size_t... I, class P, class... X> struct ReplayPack<std::index_sequence<I...>, P, X...> : OperandAt<I, Replay<X, P>>... {};
template <class Op, class... X, class P> struct Replay<Expression<Op, X...>, P> {
    using Y = typename Expression<Op, X...>::scalar;
    Expression<Op, X...> const* e = nullptr;
    ReplayPack<std::index_sequence_for<X...>, P, X...> x;
    AnyTensor y = {};

    [[gnu::cold]] Traced<Y> value()
    {
        if (!y.defined()) compute(std::index_sequence_for<X...>{});
        return {y.as<Y>()};
    }

private:
    template <std::size_t... I> void compute(std::index_sequence<I...>) { y = cast<Y>(express(e->op, get<I>(x).value()...).tensor); }
};

template <std::size_t At, class P, class T> void prepare(Slot<T> const&, AnyTensor const* leaves, Replay<Slot<T>, P>& r) { r.leaf = leaves + At; }
template <std::size_t At, class P, class N> void prepare(Constant<N> const& c, AnyTensor const*, Replay<Constant<N>, P>& r) { r.number = c.value; }
template <std::size_t At, class P, class Op, class... X> void prepare(Expression<Op, X...> const& e, AnyTensor const* leaves, Replay<Expression<Op, X...>, P>& r)
{
    r.e = &e;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        constexpr auto first = first_leaves<X...>();
        (prepare<At + first[I], P>(get<I>(e.x), leaves, get<I>(r.x)), ...);
    }(std::index_sequence_for<X...>{});
}

/// The gradient as an operand of type T takes it.
template <class To, class From> Tensor<To> projected(Traced<From> const& g)
{
    if constexpr (std::same_as<To, From>) return g.tensor;
    else if constexpr (is_complex<From> && !is_complex<To>) return projected<To>(Traced<precision_of<From>>(real(g)));
    else return cast<To>(g.tensor);
}

/// An operand as the signature takes it: complex where that says so.
template <class L, class T> auto promoted(Traced<T> const& x)
{
    if constexpr (std::same_as<L, C> && !is_complex<T>) return traced(cast<std::complex<T>>(x.tensor));
    else return x;
}

template <std::size_t At, class P, class T, class G, class Sink> void send_traced(Slot<T> const&, Replay<Slot<T>, P>&, G const& g, LeafMask, Sink const& sink)
{
    sink(At, projected<T>(g));
}
template <std::size_t At, class P, class Op, class... X, class G, class Sink>
[[gnu::cold]] void send_traced(Expression<Op, X...> const& e, Replay<Expression<Op, X...>, P>& replayed, G const& g, LeafMask wanted, Sink const& sink)
{
    using E = Expression<Op, X...>;
    constexpr auto first = first_leaves<X...>();
    auto const to_operand = [&]<std::size_t I>(wrt<I> argument) {
        using Xi = std::tuple_element_t<I, std::tuple<X...>>;
        if constexpr (wants_gradient<Xi>) {
            if (!(wanted & leaf_range<At + first[I], Xi::leaves>)) return;
            auto const uses = partial_uses<I>(e.op, std::type_identity<typename E::signature>{});
            auto const only_if = [&]<class L>(std::type_identity<L>, Uses bit, auto& vertex) {
                using V = decltype(promoted<L>(vertex.value()));
                return uses & bit ? promoted<L>(vertex.value()) : V{};
            };
            auto const d = [&]<std::size_t... J>(std::index_sequence<J...>) {
                return pull(g, e.op.partial(argument, only_if(std::type_identity<typename E::letter>{}, uses_result, replayed),
                                                      only_if(std::type_identity<typename ArgumentOf<J, typename E::signature>::type>{}, uses_argument(J), get<J>(replayed.x))...));
            }(std::index_sequence_for<X...>{});
            if constexpr (is_complex<typename decltype(d)::scalar> && !std::same_as<typename Xi::letter, C>)
                send_traced<At + first[I], P>(get<I>(e.x), get<I>(replayed.x), real(d), wanted, sink);
            else send_traced<At + first[I], P>(get<I>(e.x), get<I>(replayed.x), d, wanted, sink);
        }
    };
    [&]<std::size_t... I>(std::index_sequence<I...>) { (to_operand(wrt<I>{}), ...); }(std::index_sequence_for<X...>{});
}

/// The backward pass of a FusedNode, recorded.
template <class F> [[gnu::cold]] void traced_pass(FusedNode& node, AnyTensor const& gradient, std::span<AnyTensor> results)
{
    using P = compute_precision<F>;
    using Y = typename F::scalar;
    F const& formula = *static_cast<F const*>(node.formula_object());
    Shape const& space = node.space();
    AnyTensor leaf[F::leaves];
    each_leaf<0, F>([&]<class T, std::size_t K>() {
        if (!node.is_needed(K)) leaf[K] = shape_only<T>(node.leaf_shape(K));
        else if (auto const first = node.first_of(K); first < K && node.is_needed(first)) leaf[K] = leaf[first];
        else leaf[K] = node.unpack_leaf(first);
    });
    Tensor<Y> g = gradient.as<Y>();
    if (auto const* const sum = node.sum()) {
        if (sum->scale != 1) g = gradient.impl().type->scaled(g, sum->scale).template as<Y>();
        g = broadcast_to(reshape(g, Axes(reduced_shape(space, sum->axes, true))), space);
    }
    Replay<F, P> replayed;
    prepare<0, P>(formula, leaf, replayed);
    if constexpr (requires { replayed.y; })
        if (node.saves_result()) replayed.y = node.unpack_result();
    send_traced<0, P>(formula, replayed, Traced<Y>{g}, node.wanted(), [&]<class T>(std::size_t k, Tensor<T> const& part) {
        auto& sum = results[node.edge_of(k)];
        auto const reduced = sum_to(part, node.leaf_shape(k));
        sum = sum.defined() ? sum.impl().type->add(sum, reduced) : AnyTensor(reduced);
    });
}

}  // namespace detail
}  // namespace xgrad
