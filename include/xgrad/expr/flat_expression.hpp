// Flattened expressions: an elementwise Expression whose tensors are replaced by Slots, so its type
// depends on scalar types only. Data: Values<F, P>, a struct that mirrors the tree and has the
// value at each vertex for one batch. evaluate() fills it from the operands to the root;
// backpropagate() walks it from the root to the operands and computes their gradients. Invariant:
// Values is filled in place and never copied, so that compilers keep it in registers. Here,
// "operands" are the tensors of the expression, numbered from left to right. Read next: kernel.hpp,
// the loop around both.
#pragma once

#include <array>

#include <xgrad/expr/expression.hpp>

namespace xgrad::detail {

/// Stands for a tensor in a flattened expression. The number of lanes is in its name, and so in the
/// names of all kernels and tables: files for different instruction sets share none of them.
template <Scalar T, std::size_t lanes = simd::Batch<float>::width> struct Slot {
    using kind = kind_of<T>;
    using precision = precision_of<T>;
    using scalar = T;
    static constexpr std::size_t operand_count = 1;
};

/// flatten() makes the flattened expression, and writes the address of each tensor, from left to
/// right.
template <class X> struct FlatExpressionOf;
template <class X> using flat_expression = typename FlatExpressionOf<X>::type;
template <Number T> struct FlatExpressionOf<Constant<T>> {
    using type = Constant<T>;
    template <class Address> static type flatten(Constant<T> const& c, Address*&) { return c; }
};
template <class X>
    requires requires { typename X::tensor_tag; }
struct FlatExpressionOf<X> {
    using type = Slot<typename X::scalar>;
    template <class Address> static type flatten(X const& x, Address*& tensors) {
        *tensors++ = &x;
        return {};
    }
};
template <class Indices, class Op, class... X> struct FlatOperation;
template <std::size_t... I, class Op, class... X>
struct FlatOperation<std::index_sequence<I...>, Op, X...> {
    using type = Expression<Op, flat_expression<X>...>;
    template <class Address> static type flatten(Expression<Op, X...> const& e, Address*& tensors) {
        return type{e.op, FlatExpressionOf<X>::flatten(get<I>(e.x), tensors)...};
    }
};
template <class Op, class... X>
struct FlatExpressionOf<Expression<Op, X...>>
    : FlatOperation<std::index_sequence_for<X...>, Op, X...> {};

/// The precision in which a whole expression is evaluated: the widest of its parts.
template <class X> struct ComputePrecision {
    using type = typename X::precision;
};
template <class Op, class... X> struct ComputePrecision<Expression<Op, X...>> {
    using type = widest_precision<typename Expression<Op, X...>::precision,
        typename ComputePrecision<X>::type...>;
};
/// An expression of masks alone is evaluated on int64 lanes.
template <class F>
using compute_precision = std::conditional_t<std::same_as<typename ComputePrecision<F>::type, bool>,
    std::int64_t, typename ComputePrecision<F>::type>;

/// The index of the first operand of each operand, relative to the expression; then the number of
/// all operands.
template <class... X> consteval auto first_operands() {
    std::array<std::size_t, sizeof...(X) + 1> first{};
    std::size_t i = 0, n = 0;
    ((first[i++] = n, n += X::operand_count), ...);
    first[i] = n;
    return first;
}

/// A list of scalar types.
template <Scalar... T> struct Scalars {};
template <class... Lists> struct JoinedScalars {
    using type = Scalars<>;
};
template <class... T> struct JoinedScalars<Scalars<T...>> {
    using type = Scalars<T...>;
};
template <class... T, class... U, class... More>
struct JoinedScalars<Scalars<T...>, Scalars<U...>, More...>
    : JoinedScalars<Scalars<T..., U...>, More...> {};

/// The scalar type of each operand, from left to right. What depends on an expression by its
/// operands only is a template of this list: so expressions share it.
template <class X> struct OperandScalars {
    using type = Scalars<>;
};
template <class T> struct OperandScalars<Slot<T>> {
    using type = Scalars<T>;
};
template <class Op, class... X>
struct OperandScalars<Expression<Op, X...>> : JoinedScalars<typename OperandScalars<X>::type...> {};
template <class F> using operand_scalars = typename OperandScalars<F>::type;

/// One vertex of an expression, for printing. Vertices are listed in the order in which they are
/// written: each before its operands.
struct Vertex {
    std::string_view name;    // of an operation; empty for a tensor or a scalar constant
    std::string_view written; // how errors call the operation
    std::uint8_t operands;
    bool is_tensor;
};
template <class X> inline constexpr std::size_t vertices = 1;
template <class Op, class... X>
inline constexpr std::size_t vertices<Expression<Op, X...>> = (vertices<X> + ... + 1);

template <class X> struct VertexOf {
    static constexpr void write(Vertex*& out) { *out++ = {{}, {}, 0, X::operand_count == 1}; }
};
template <class Op, class... X> struct VertexOf<Expression<Op, X...>> {
    static constexpr void write(Vertex*& out) {
        *out++ = {type_name<Op>, written_name<Op>, sizeof...(X), false};
        (VertexOf<X>::write(out), ...);
    }
};
template <class F> constexpr auto make_vertices() {
    std::array<Vertex, vertices<F>> all{};
    Vertex* out = all.data();
    VertexOf<F>::write(out);
    return all;
}
template <class F> inline constexpr auto vertices_of = make_vertices<F>();

/// The name of the i-th tensor in printed expressions: "a", "b", ...
std::string tensor_name(std::size_t i);

/// "Add(Mul(Sin(a), b), number)": prints an expression.
[[gnu::cold]] std::string expression_text(Vertex const*& v, std::size_t& tensors);

template <class L, class P> using batch_for = simd::batch_of<typename L::template over<P>, P>;

/// The derivative that value_and_partial() of a unary operation returns beside the value. Values
/// stores it until the backward pass reads it.
struct NoPartial {};
template <class E, class P> struct FoundTogether : std::false_type {
    using type = NoPartial;
};
template <class E> using FirstArgument = typename ArgumentOf<0, typename E::signature>::type;
template <class Op, class X, class P>
    requires requires(
        Op const op, batch_for<FirstArgument<Expression<Op, X>>, P> x) { op.value_and_partial(x); }
struct FoundTogether<Expression<Op, X>, P> : std::true_type {
    using type = decltype(std::declval<Op const&>()
                              .value_and_partial(
                                  std::declval<batch_for<FirstArgument<Expression<Op, X>>, P>>())
                              .second);
};
template <class E, class P> using PartialOf = typename FoundTogether<E, P>::type;

/// A divisor and its reciprocal. A rule that divides by its second argument several times then
/// multiplies.
template <class Batch> struct Divisor {
    Batch value, inverse;
};
template <class Batch> Divisor(Batch, Batch) -> Divisor<Batch>;
template <class Batch> XGRAD_INLINE Batch reciprocal(Divisor<Batch> d) { return d.inverse; }
template <class E> inline constexpr bool divides = false;
template <class Op, class X, class Y>
inline constexpr bool divides<Expression<Op, X, Y>> = requires { requires Op::divides; };
struct NoInverse {};
template <class E, class P> struct InverseOf {
    using type = NoInverse;
};
template <class E, class P>
    requires divides<E>
struct InverseOf<E, P> {
    using type = batch_for<typename ArgumentOf<1, typename E::signature>::type, P>;
};

/// The values at all vertices of an expression, for one batch. Filled in place: compilers keep the
/// members of a struct in registers only if it is never copied as a whole.
template <class X, class P> struct Values {
    batch_for<typename X::kind, P> y;
};
template <class Indices, class P, class... X> struct ValuesOf;
template <std::size_t... I, class P, class... X>
struct ValuesOf<std::index_sequence<I...>, P, X...> : OperandAt<I, Values<X, P>>... {};
template <class Op, class... X, class P> struct Values<Expression<Op, X...>, P> {
    batch_for<typename Expression<Op, X...>::kind, P> y;
    ValuesOf<std::index_sequence_for<X...>, P, X...> x;
    [[no_unique_address]] PartialOf<Expression<Op, X...>, P> partial;
    [[no_unique_address]] typename InverseOf<Expression<Op, X...>, P>::type inverse;
};

/// The value of operand I, promoted to the argument kind of the operation's signature.
template <class E, std::size_t I, class P, class V> XGRAD_INLINE auto argument(V const& v) {
    return batch_for<typename ArgumentOf<I, typename E::signature>::type, P>(get<I>(v.x).y);
}
/// The argument that a rule gets in a backward pass: a Divisor where the operation divides.
template <class E, std::size_t I, class P, class V> XGRAD_INLINE auto argument_again(V const& v) {
    auto const x = argument<E, I, P>(v);
    if constexpr (I == 1 && divides<E>) return Divisor{x, v.inverse};
    else return x;
}

/// Forward: values are the result. Backward: values are evaluated again for the gradients; the rule
/// may then offer `value_again`, which shares work with its partials and may differ by a rounding,
/// or `value_and_partial`.
enum class Pass { forward, backward };

/// A set of operands, one bit each.
using OperandMask = std::uint64_t;
/// The operands with the numbers from, ..., from + count - 1.
constexpr OperandMask operands_from(std::size_t from, std::size_t count) {
    return (count >= 64 ? ~OperandMask{0} : (OperandMask{1} << count) - 1) << from;
}
template <std::size_t From, std::size_t Count>
inline constexpr OperandMask operand_range = operands_from(From, Count);
template <class E, std::size_t At> XGRAD_INLINE bool covers(OperandMask mask) {
    return E::operand_count > 0 &&
           (mask & operand_range<At, E::operand_count>) == operand_range<At, E::operand_count>;
}

template <class Op>
inline constexpr bool is_transcendental = requires { requires Op::is_transcendental; };
/// True if an expression has expensive parts: these are not evaluated again for the next batch if
/// all their operands are constant in the tile.
template <class X> inline constexpr bool has_invariant_parts = false;
template <class Op, class... X>
inline constexpr bool has_invariant_parts<Expression<Op, X...>> =
    is_transcendental<Op> || divides<Expression<Op, X...>> || (has_invariant_parts<X> || ...);

// `invariant`: the operands that have the same values as in the previous batch.
template <std::size_t At, class P, Pass pass, class T, class Load>
XGRAD_INLINE void evaluate(Slot<T> const&, Load const& load, Values<Slot<T>, P>& v, OperandMask) {
    v.y = load.template operator()<T, At>();
}
template <std::size_t At, class P, Pass pass, class T, class Load>
XGRAD_INLINE void evaluate(Constant<T> const&, Load const&, Values<Constant<T>, P>&, OperandMask) {}

/// A scalar constant as a batch.
template <class P, class T>
XGRAD_INLINE batch_for<kind_of<T>, P> constant_batch(Constant<T> const& c) {
    if constexpr (std::same_as<T, bool>) return simd::Batch<P>(c.value()) != 0;
    else return c.value();
}
/// Writes the scalar constants to v once, before the first batch.
template <class T, class P> XGRAD_INLINE void set_constants(Slot<T> const&, Values<Slot<T>, P>&) {}
template <class T, class P>
XGRAD_INLINE void set_constants(Constant<T> const& c, Values<Constant<T>, P>& v) {
    v.y = constant_batch<P>(c);
}
template <class P, class Op, class... X>
XGRAD_INLINE void set_constants(Expression<Op, X...> const& e, Values<Expression<Op, X...>, P>& v) {
    set_constants(e.x, v.x);
}
template <class P, std::size_t... I, class... X>
XGRAD_INLINE void set_constants(OperandTuple<std::index_sequence<I...>, X...> const& x,
    ValuesOf<std::index_sequence<I...>, P, X...>& v) {
    (set_constants(get<I>(x), get<I>(v)), ...);
}
template <std::size_t At, class P, Pass pass, class Op, class... X, class Load, std::size_t... I>
XGRAD_INLINE void evaluate_operands(Expression<Op, X...> const& e, Load const& load,
    Values<Expression<Op, X...>, P>& v, OperandMask invariant, std::index_sequence<I...>) {
    using E = Expression<Op, X...>;
    constexpr auto first = first_operands<X...>();
    (evaluate<At + first[I], P, pass>(get<I>(e.x), load, get<I>(v.x), invariant), ...);
    if constexpr (pass == Pass::backward && divides<E>)
        if (!covers<std::tuple_element_t<1, std::tuple<X...>>, At + first[1]>(invariant)) [[likely]]
            v.inverse = reciprocal(argument<E, 1, P>(v));
}
template <class P, Pass pass, class Op, class... X, std::size_t... I>
XGRAD_INLINE void apply_operation(
    Expression<Op, X...> const& e, Values<Expression<Op, X...>, P>& v, std::index_sequence<I...>) {
    using E = Expression<Op, X...>;
    using batch = batch_for<typename E::kind, P>;
    if constexpr (pass == Pass::backward && FoundTogether<E, P>::value) {
        auto const [y, partial] = e.op.value_and_partial(argument<E, I, P>(v)...);
        v.y = y;
        v.partial = partial;
    } else if constexpr (pass == Pass::backward &&
                         requires { e.op.value_again(argument_again<E, I, P>(v)...); })
        v.y = batch(e.op.value_again(argument_again<E, I, P>(v)...));
    else v.y = batch(e.op.value(argument<E, I, P>(v)...));
}
template <std::size_t At, class P, Pass pass, class Op, class... X, class Load>
XGRAD_INLINE void evaluate(Expression<Op, X...> const& e, Load const& load,
    Values<Expression<Op, X...>, P>& v, OperandMask invariant) {
    if constexpr (is_transcendental<Op>)
        if (covers<Expression<Op, X...>, At>(invariant)) [[unlikely]]
            return;
    evaluate_operands<At, P, pass>(e, load, v, invariant, std::index_sequence_for<X...>{});
    apply_operation<P, pass>(e, v, std::index_sequence_for<X...>{});
}

/// Evaluates again for a backward pass. If `saved`, the value of the root is loaded instead of
/// evaluated: it comes after the operands and the gradient of the result.
template <class P, class T, class Load>
XGRAD_INLINE void evaluate_again(
    Slot<T> const& f, Load const& load, bool, Values<Slot<T>, P>& v, OperandMask invariant) {
    evaluate<0, P, Pass::backward>(f, load, v, invariant);
}
template <class P, class Op, class... X, class Load>
XGRAD_INLINE void evaluate_again(Expression<Op, X...> const& e, Load const& load, bool saved,
    Values<Expression<Op, X...>, P>& v, OperandMask invariant) {
    using E = Expression<Op, X...>;
    evaluate_operands<0, P, Pass::backward>(e, load, v, invariant, std::index_sequence_for<X...>{});
    if (saved && !FoundTogether<E, P>::value)
        v.y = load.template operator()<typename E::scalar, E::operand_count + 1>();
    else apply_operation<P, Pass::backward>(e, v, std::index_sequence_for<X...>{});
}

/// Projects a gradient to the kind of an operand: its real part if the operand is real.
template <class L, class P> XGRAD_INLINE auto project(simd::Batch<P> g) {
    if constexpr (std::same_as<L, C>) return simd::ComplexBatch<P>(g);
    else return g;
}
template <class L, class P> XGRAD_INLINE auto project(simd::ComplexBatch<P> g) {
    if constexpr (std::same_as<L, C>) return g;
    else return g.re;
}

template <class X>
inline constexpr bool wants_gradient = X::operand_count > 0 && takes_gradients<typename X::kind>;

/// The derivative of a vertex with respect to its argument I.
template <std::size_t I, class P, class Op, class... X, std::size_t... J>
XGRAD_INLINE auto partial_at(Expression<Op, X...> const& e,
    Values<Expression<Op, X...>, P> const& v, std::index_sequence<J...>) {
    using E = Expression<Op, X...>;
    if constexpr (FoundTogether<E, P>::value) return v.partial;
    else return e.op.partial(wrt<I>{}, v.y, argument_again<E, J, P>(v)...);
}

/// Applies the chain rule from the root to the operands. g is the gradient of the root's value. The
/// gradient of operand K goes to destination.template operator()<T, K>(gradient).
template <std::size_t At, class P, class T, class G, class Destination>
XGRAD_INLINE void backpropagate(
    Slot<T> const&, Values<Slot<T>, P> const&, G g, OperandMask, Destination const& destination) {
    destination.template operator()<T, At>(g);
}
template <std::size_t At, class P, class Op, class... X, class G, class Destination>
XGRAD_INLINE void backpropagate(Expression<Op, X...> const& e,
    Values<Expression<Op, X...>, P> const& v, G g, OperandMask wanted,
    Destination const& destination) {
    backpropagate_all<At>(e, v, g, wanted, destination, std::index_sequence_for<X...>{});
}
template <std::size_t At, class P, class Op, class... X, class G, class Destination,
    std::size_t... I>
XGRAD_INLINE void backpropagate_all(Expression<Op, X...> const& e,
    Values<Expression<Op, X...>, P> const& v, G g, OperandMask wanted,
    Destination const& destination, std::index_sequence<I...>) {
    (backpropagate_to<I, At>(e, v, g, wanted, destination), ...);
}
/// The part of operand I.
template <std::size_t I, std::size_t At, class P, class Op, class... X, class G, class Destination>
XGRAD_INLINE void backpropagate_to(Expression<Op, X...> const& e,
    Values<Expression<Op, X...>, P> const& v, G g, OperandMask wanted,
    Destination const& destination) {
    using Xi = std::tuple_element_t<I, std::tuple<X...>>;
    if constexpr (wants_gradient<Xi>) {
        constexpr std::size_t first = At + first_operands<X...>()[I];
        if (!(wanted & operand_range<first, Xi::operand_count>)) return;
        backpropagate<first>(get<I>(e.x), get<I>(v.x),
            project<typename Xi::kind>(
                pull(g, partial_at<I>(e, v, std::index_sequence_for<X...>{}))),
            wanted, destination);
    }
}

} // namespace xgrad::detail

#ifdef XGRAD_IMPLEMENTATION
#    include <xgrad/impl/expr/flat_expression.ipp>
#endif
