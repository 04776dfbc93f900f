// Flattened expressions: an elementwise Expression whose tensors are replaced by Slots, so its type
// depends on scalar types only. Here, "operands" are the tensors of the expression, numbered from
// left to right. Read next: walk.hpp, which evaluates and differentiates them.
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
    using indices = std::index_sequence<>;
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
        return type{e.op, FlatExpressionOf<X>::flatten(
                              static_cast<OperandAt<I, X> const&>(e.x).operand, tensors)...};
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
template <Scalar... T> struct Scalars {
    using indices = std::index_sequence_for<T...>;
};
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

/// True if a vertex has a gradient, and so may have a tangent.
template <class X> inline constexpr bool wants_gradient = false;
template <class T> inline constexpr bool wants_gradient<Slot<T>> = Differentiable<T>;
template <class Op, class... X>
inline constexpr bool wants_gradient<Expression<Op, X...>> =
    takes_gradients<typename Expression<Op, X...>::kind> && (wants_gradient<X> || ...);

template <class Op>
inline constexpr bool is_transcendental = requires { requires Op::is_transcendental; };
/// True if the value of an operation is a * factor(b): then a pass that computes gradients computes
/// the factor once, and once for a block in which b is constant.
template <class Op>
inline constexpr bool has_factor = requires(Op const op, simd::Batch<double> b) { op.factor(b); };

/// A set of operands, one bit each.
using OperandMask = std::uint64_t;
/// The operands with the numbers from, ..., from + count - 1.
constexpr OperandMask operands_from(std::size_t from, std::size_t count) {
    return (count >= 64 ? ~OperandMask{0} : (OperandMask{1} << count) - 1) << from;
}
template <std::size_t From, std::size_t Count>
inline constexpr OperandMask operand_range = operands_from(From, Count);
} // namespace xgrad::detail
