// The interface of recording: all that operations call in tensor/, the layer above them. Here are
// the declarations; the definitions stand in tensor/reduce.hpp and tensor/arraywise.hpp, and are
// chosen by the types of the operands (tensors, expressions, traced tensors). tools/check_layers
// fails when a function is missing on one of the sides.
//
// Shapes: reduced axes are removed, or kept with extent 1 if `keep`; finite_largest() keeps them.
// Gradients: materialize_expression(), record_arraywise() and record_sum() record them; the others
// do not.
// Errors: an axis of record_sum() that is out of range or given twice is an IndexError. An
// undefined tensor is an Error.
#pragma once

#include <string_view>

#include <xgrad/core/shape.hpp>
#include <xgrad/expr/operation_check.hpp>

namespace xgrad {

/// Tensors, Expressions, and the types on which rules are called beside batches.
template <class X>
concept Operand = requires { typename std::remove_cvref_t<X>::operand_tag; };

/// Evaluates and records an expression; returns a tensor itself.
template <Operand X> auto materialize_expression(X const& x);

/// Applies an operation on whole arrays, and records a Node for it.
template <class Op, class... X> auto record_arraywise(Op const& op, X const&... x);

/// Sums over axes (over all where `axes` is null) without storing the values of x, and records a
/// Node. Masks are summed as int64; the mean of integers is double.
template <Operand X>
auto record_sum(std::string_view operation, X const& x, Axes const* axes, bool keep, bool mean);

/// True where the result of an operation on x would get a Node.
template <Operand X> bool needs_graph(X const& x);

/// Reduces x over axes without recording.
template <template <class> class Combine, Operand X>
auto fold(X const& x, Axes const& axes, bool keep);

/// x as a constant: without a grad_fn where that would be recorded.
template <Operand X> auto unrecorded(X const& x);
/// True at row-major index j of the axes `over`, broadcast along the other axes.
template <Operand X> auto position_mask(X const& x, Axes const& over, std::size_t j);

/// The largest real parts along axes, with 0 in place of infinite ones, without recording.
template <Operand X> auto finite_largest(X const& x, Axes const& axes);
/// The largest real part of all elements, 0 in place of an infinite one.
template <Operand X> double finite_largest(X const& x);

} // namespace xgrad
