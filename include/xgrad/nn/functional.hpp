// nn::functional: functions of modules that are composed of other operations.
//
// Shapes: those of x; cosine_similarity() broadcasts and removes the axis, flatten() makes one axis
// of several. dropout2d() takes [N, C, H, W].
// Gradients: of any order, in backward and forward mode. Elements that were dropped get 0.
// softmax() takes the largest element, which it subtracts, for constant: the gradient is the same.
// Errors: a probability outside of [0, 1], an unknown name of an approximation, and an undefined
// tensor are an Error; an axis out of range is an IndexError; a shape that does not fit is a
// ShapeError.
#pragma once

#include <xgrad/core/choice.hpp>
#include <xgrad/ops/activation.hpp>
#include <xgrad/ops/comparison.hpp>
#include <xgrad/ops/padding.hpp>
#include <xgrad/ops/reduction.hpp>
#include <xgrad/ops/trigonometric.hpp>
#include <xgrad/tensor/create.hpp>
#include <xgrad/tensor/reduce.hpp>

namespace xgrad::nn {

/// How GELU computes the normal distribution function: `none` exactly, `tanh` as
/// functional::gelu_tanh() does.
enum class Approximate : unsigned char { none, tanh };
constexpr std::string_view choice_names(Approximate) { return "approximate: none tanh"; }

/// Options of dropout().
struct DropoutFuncOptions {
    double p = 0.5; // Probability that an element becomes 0. Outside of [0, 1] it is an Error.
    Flag training = true; // false to return x
};

namespace detail {
/// A probability, or an Error that names the function.
double checked_probability(std::string_view name, double p);
/// Sets elements to zero with probability p; a mask of shape `mask` is broadcast to x.
template <Differentiable T>
Tensor<T> dropped(
    std::string_view name, Tensor<T> const& x, Shape const& mask, double p, bool training) {
    if (checked_probability(name, p) == 0 || !training) return x;
    Tensor<bool> const kept = rand<precision_of<T>>(mask) >= static_cast<precision_of<T>>(p);
    return where(kept, x * static_cast<precision_of<T>>(p < 1 ? 1 / (1 - p) : 0), T(0));
}
/// The axis of a softmax; a tensor of no dimensions counts as a vector.
Axes softmax_axis(std::string_view name, Shape const& shape, std::ptrdiff_t axis);
} // namespace detail

namespace functional {

/// x times the logistic function of x (Elfwing, Uchibe and Doya, 2017).
template <Operand X> auto silu(X const& x) {
    xgrad::detail::check_defined("silu", x);
    return x * sigmoid(x);
}

/// The approximation 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) of gelu(x).
template <Operand X> auto gelu_tanh(X const& x) {
    xgrad::detail::check_defined("gelu_tanh", x);
    constexpr double c = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
    return 0.5 * x * (1 + tanh(c * (x + 0.044715 * (x * square(x)))));
}

/// gelu(x), or its approximation: gelu(x, "tanh").
template <Operand X> auto gelu(X const& x, Choice<Approximate> approximate) {
    using Result = decltype(materialize_expression(xgrad::gelu(x)));
    return approximate == Approximate::none ? Result(xgrad::gelu(x)) : Result(gelu_tanh(x));
}

/// log(1 + e^(beta x)) / beta.
template <Operand X> auto softplus(X const& x, double beta) {
    xgrad::detail::check_defined("softplus", x);
    return xgrad::softplus(beta * x) / beta;
}

/// e^x divided by its sum over an axis; it does not overflow.
template <Operand X> auto softmax(X const& x, std::ptrdiff_t axis) {
    auto const values = materialize_expression(x);
    auto const over = detail::softmax_axis("softmax", values.shape(), axis);
    auto const e = materialize_expression(exp(values - largest_over(values, over)));
    return materialize_expression(e / sum(e, over, keepdims));
}
/// The logarithm of softmax, which does not underflow.
template <Operand X> auto log_softmax(X const& x, std::ptrdiff_t axis) {
    auto const values = materialize_expression(x);
    auto const over = detail::softmax_axis("log_softmax", values.shape(), axis);
    auto const largest = largest_over(values, over);
    auto const all = materialize_expression(log(sum(exp(values - largest), over, keepdims)));
    return materialize_expression(
        (values - largest) - all); // this order keeps the digits of a small result
}

/// If `training`, each element is 0 with probability p, else multiplied by 1/(1 - p).
template <Differentiable T>
Tensor<T> dropout(Tensor<T> const& x, double p = 0.5, Flag training = true) {
    return detail::dropped("dropout", x, x.shape(), p, training);
}
template <Differentiable T> Tensor<T> dropout(Tensor<T> const& x, DropoutFuncOptions const& o) {
    return dropout(x, o.p, o.training);
}

// Functions that deduce the scalar type of a tensor, of an expression.
#define XGRAD_OF_EXPRESSION(f)                                                                     \
    template <class Op, class... X, class... A>                                                    \
    auto f(Expression<Op, X...> const& x, A const&... a) {                                         \
        return f(materialize_expression(x), a...);                                                 \
    }
XGRAD_OF_EXPRESSION(dropout)

/// Dropout of whole channels of x, of shape [N, C, H, W] (Tompson et al., 2015).
template <Differentiable T>
Tensor<T> dropout2d(Tensor<T> const& x, double p = 0.5, Flag training = true) {
    if (x.dim() != 4)
        xgrad::detail::fail<ShapeError>(
            "dropout2d: an input [N, C, H, W] is needed, not one of shape ", x.shape());
    return detail::dropped("dropout2d", x, {x.shape()[0], x.shape()[1], 1, 1}, p, training);
}

/// Flattens the axes first to last (inclusive) to one; a tensor of no dimensions becomes a vector.
/// The result is a view if the strides allow.
template <Scalar T>
Tensor<T> flatten(Tensor<T> const& x, std::ptrdiff_t first = 1, std::ptrdiff_t last = -1) {
    return xgrad::flatten(x, x.dim() ? first : 0, x.dim() ? last : -1);
}

/// x / max(norm, eps) with the p-norm along an axis.
template <Operand X>
auto normalize(X const& x, double p = 2, std::ptrdiff_t axis = 1, double eps = 1e-12) {
    auto const values = materialize_expression(x);
    using P = precision_of<typename X::scalar>;
    return materialize_expression(
        values / clamp_min(norm(values, p, {axis}, keepdims), static_cast<P>(eps)));
}
/// Of vectors along an axis: x1 . x2 / (max(|x1|, eps) max(|x2|, eps)).
template <Operand X, Operand Y>
auto cosine_similarity(X const& x1, Y const& x2, std::ptrdiff_t axis = 1, double eps = 1e-8) {
    using P = precision_of<typename X::scalar>;
    auto const length = [&](auto const& x) {
        return materialize_expression(clamp_min(norm(x, 2., {axis}), static_cast<P>(eps)));
    };
    return materialize_expression(sum(x1 * x2, {axis}) / (length(x1) * length(x2)));
}

// Functions of arrays that xgrad has, too.
using xgrad::elu;
using xgrad::gelu;
using xgrad::leaky_relu;
using xgrad::one_hot;
using xgrad::pad;
using xgrad::relu;
using xgrad::sigmoid;
using xgrad::tanh;

} // namespace functional
} // namespace xgrad::nn

namespace xgrad {
// Found by their arguments, as functions of arrays are: softmax(x, 1).
using nn::functional::cosine_similarity;
using nn::functional::dropout;
using nn::functional::gelu;
using nn::functional::log_softmax;
using nn::functional::normalize;
using nn::functional::silu;
using nn::functional::softmax;
using nn::functional::softplus;
} // namespace xgrad
