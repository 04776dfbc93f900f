// Concatenation: cat and stack.
//
// Shapes: cat() adds the extents along the axis, all others are equal; stack() takes equal shapes
// and adds an axis. Results are copies.
// Gradients: each tensor gets its slice of the gradient; of any order, in backward and forward
// mode.
// Errors: no tensors, and shapes that do not fit together, are a ShapeError; an axis out of range
// is an IndexError; an undefined tensor is an Error. Tensors of different scalar types do not
// compile.
#pragma once

#include <xgrad/tensor/views.hpp>

namespace xgrad {

namespace detail {

using JoinAny = AnyTensor(
    std::string_view name, std::span<AnyTensor const* const> x, std::ptrdiff_t axis);
XGRAD_LAZY JoinAny cat_any;
XGRAD_LAZY JoinAny stack_any;

/// `name` is the function that a program called, for messages.
template <Scalar T>
Tensor<T> joined(
    JoinAny* join, std::string_view name, std::vector<Tensor<T>> const& x, std::ptrdiff_t axis) {
    LocalArray<AnyTensor const*, 8> all(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) all[i] = &x[i];
    return Tensor<T>(join(name, all.span(), axis).handle());
}

} // namespace detail

/// Concatenates tensors along an axis; their other extents must agree.
template <Scalar T> Tensor<T> cat(std::vector<Tensor<T>> const& x, std::ptrdiff_t axis = 0) {
    return detail::joined(detail::cat_any, "cat", x, axis);
}

/// Concatenates tensors of one shape along a new axis.
template <Scalar T> Tensor<T> stack(std::vector<Tensor<T>> const& x, std::ptrdiff_t axis = 0) {
    return detail::joined(detail::stack_any, "stack", x, axis);
}

// Lists in braces: cat({a, b}). With expressions beside tensors, as in cat({a, 2. * b}), the
// element type is double; another one is named: cat<float>({a, 2.f * b}).
template <Scalar T> Tensor<T> cat(std::initializer_list<Tensor<T>> x, std::ptrdiff_t axis = 0) {
    return cat(std::vector<Tensor<T>>(x), axis);
}
template <Scalar T> Tensor<T> stack(std::initializer_list<Tensor<T>> x, std::ptrdiff_t axis = 0) {
    return stack(std::vector<Tensor<T>>(x), axis);
}
// (Templates, so that only programs that call them compile them.)
template <class = void>
Tensor<double> cat(std::initializer_list<Tensor<double>> x, std::ptrdiff_t axis = 0) {
    return cat(std::vector<Tensor<double>>(x), axis);
}
template <class = void>
Tensor<double> stack(std::initializer_list<Tensor<double>> x, std::ptrdiff_t axis = 0) {
    return stack(std::vector<Tensor<double>>(x), axis);
}
template <Operand A, Operand... More>
    requires(sizeof...(More) > 0)
void cat(A const&, More const&...) = delete; // write cat({a, b})
template <Operand A, Operand... More>
    requires(sizeof...(More) > 0)
void stack(A const&, More const&...) = delete; // write stack({a, b})

namespace detail {
template <class V> inline constexpr bool is_tensor_vector = false;
template <Scalar T> inline constexpr bool is_tensor_vector<std::vector<Tensor<T>>> = true;
/// A span, an array or another range of tensors of one scalar type.
template <class V>
concept RangeOfTensors = PlainRange<V> && !is_tensor_vector<V> &&
                         requires { typename std::ranges::range_value_t<V>::tensor_tag; };
template <RangeOfTensors V> auto vector_of(V const& x) {
    return std::vector<Tensor<typename std::ranges::range_value_t<V>::scalar>>(
        std::ranges::begin(x), std::ranges::end(x));
}
} // namespace detail

/// The same of a span, an array or another range of tensors.
template <detail::RangeOfTensors V> auto cat(V const& x, std::ptrdiff_t axis = 0) {
    return cat(detail::vector_of(x), axis);
}
template <detail::RangeOfTensors V> auto stack(V const& x, std::ptrdiff_t axis = 0) {
    return stack(detail::vector_of(x), axis);
}
/// NumPy's name of cat.
template <detail::RangeOfTensors V> auto concatenate(V const& x, std::ptrdiff_t axis = 0) {
    return cat(detail::vector_of(x), axis);
}
template <Scalar T>
Tensor<T> concatenate(std::vector<Tensor<T>> const& x, std::ptrdiff_t axis = 0) {
    return cat(x, axis);
}
template <Scalar T>
Tensor<T> concatenate(std::initializer_list<Tensor<T>> x, std::ptrdiff_t axis = 0) {
    return cat(std::vector<Tensor<T>>(x), axis);
}
namespace detail {
/// Makes x the tensor of a nested list with tensors; see join.
template <Scalar T>
void take_tensors(Tensor<T>& x, std::initializer_list<NestedList<T>> const& values) {
    if (x.requires_grad())
        fail<GraphError>("Tensor: a list with tensors is no leaf, and has their gradients");
    std::vector<Tensor<T>> all;
    ArrayOf<T>::for_each(values, [&all](auto const& element) {
        if (element.tensor.defined() && element.tensor.dim() != 0)
            fail<ShapeError>(
                "Tensor: a tensor in a list has no dimensions, not shape ", element.tensor.shape());
        all.push_back(element.tensor.defined() ? Tensor<T>(element.tensor.handle())
                                               : Tensor<T>(element.value));
    });
    x = only_reshaped(reshape(stack(all), Axes(x.shape())));
}
} // namespace detail

/// A matrix of blocks: each list is a row of them, joined along the last axis; the rows are joined
/// along the axis before it.
template <Scalar T>
Tensor<T> block(std::initializer_list<std::initializer_list<Tensor<T>>> blocks) {
    std::vector<Tensor<T>> rows;
    for (auto const& row : blocks)
        rows.push_back(detail::joined(detail::cat_any, "block", std::vector<Tensor<T>>(row), -1));
    return detail::joined(detail::cat_any, "block", rows, -2);
}

} // namespace xgrad
