// NumPy's names of functions that have another name here, and what both have beside tensors.
//
// Shapes: those of the function that a name stands for.
// Gradients: those of the function that a name stands for.
// Errors: those of the function that a name stands for.
#pragma once

#include <xgrad/ops/comparison.hpp>
#include <xgrad/ops/complex.hpp>
#include <xgrad/ops/counting.hpp>
#include <xgrad/ops/extremum.hpp>
#include <xgrad/ops/linalg.hpp>
#include <xgrad/ops/rounding.hpp>
#include <xgrad/ops/trigonometric.hpp>
#include <xgrad/tensor/reduce.hpp>

namespace xgrad {

// Other names of functions: of NumPy, and of PyTorch, which has them beside the operators.
/// `alias(x, ...)` is `name(x, ...)`.
#define XGRAD_ALIAS(alias, name)                                                                   \
    template <class... X>                                                                          \
        requires AnyOperand<X...>                                                                  \
    auto alias(X const&... x) {                                                                    \
        return name(x...);                                                                         \
    }
// clang-format off
XGRAD_ALIAS(absolute, abs) XGRAD_ALIAS(arccos, acos) XGRAD_ALIAS(arccosh, acosh)
XGRAD_ALIAS(arcsin, asin) XGRAD_ALIAS(arcsinh, asinh) XGRAD_ALIAS(arctan, atan)
XGRAD_ALIAS(arctan2, atan2) XGRAD_ALIAS(arctanh, atanh) XGRAD_ALIAS(arg, angle)
XGRAD_ALIAS(clip, clamp) XGRAD_ALIAS(expand_dims, unsqueeze) XGRAD_ALIAS(mod, remainder)
XGRAD_ALIAS(negative, neg) XGRAD_ALIAS(power, pow) XGRAD_ALIAS(ravel, flatten)
XGRAD_ALIAS(swapaxes, transpose)
// clang-format on
#undef XGRAD_ALIAS
/// `name(a, b)` is `a op b`.
#define XGRAD_OPERATOR(name, op)                                                                   \
    template <class A, class B>                                                                    \
        requires AnyOperand<A, B>                                                                  \
    auto name(A const& a, B const& b) {                                                            \
        return a op b;                                                                             \
    }
    // clang-format off
XGRAD_OPERATOR(add, +) XGRAD_OPERATOR(sub, -) XGRAD_OPERATOR(subtract, -) XGRAD_OPERATOR(mul, *)
XGRAD_OPERATOR(multiply, *) XGRAD_OPERATOR(div, /) XGRAD_OPERATOR(divide, /)
XGRAD_OPERATOR(logical_and, &&) XGRAD_OPERATOR(logical_or, ||)
// clang-format on
#undef XGRAD_OPERATOR
    /// -x and !x.
    template <Operand X>
    auto neg(X const& x) {
    return -x;
}
template <Operand X> auto logical_not(X const& x) { return !x; }
/// x itself: +x.
template <Operand X> auto operator+(X const& x) {
    return detail::operand_type<X>(detail::OperandTraits<X>::make(x));
}
/// stddev(); a function of this name is no obstacle for names in namespace std.
template <Operand X, class... A> auto std(X const& x, A const&... a) { return stddev(x, a...); }
template <Operand X, class... A> auto std(X const& x, AxisList const& axes, A const&... a) {
    return stddev(x, axes, a...);
}
/// The axes in another order: permute(). An axis at another place: movedim().
template <Operand X> auto transpose(X const& x, AxisList const& axes) { return permute(x, axes); }
template <Operand X> auto moveaxis(X const& x, AxisList const& from, AxisList const& to) {
    return movedim(x, from, to);
}
/// amax().
template <Operand X> auto max(X const& x) { return amax(x); }
template <Operand X> auto max(X const& x, AxisList const& axes, Flag keep = false) {
    return detail::extremum<Amax>("max", x, axes, keep);
}
/// amin().
template <Operand X> auto min(X const& x) { return amin(x); }
template <Operand X> auto min(X const& x, AxisList const& axes, Flag keep = false) {
    return detail::extremum<Amin>("min", x, axes, keep);
}
/// maximum() and minimum() of two tensors.
template <Operand A, Operand B> auto max(A const& a, B const& b) { return maximum(a, b); }
template <Operand A, Operand B> auto min(A const& a, B const& b) { return minimum(a, b); }
// More specialised than std::max and std::min, beside which a using-declaration may put them.
template <Scalar T> auto max(Tensor<T> const& a, Tensor<T> const& b) { return maximum(a, b); }
template <Scalar T> auto min(Tensor<T> const& a, Tensor<T> const& b) { return minimum(a, b); }

/// `f(a, b)` of a tensor and an xtensor expression.
#define XGRAD_BESIDE_XTENSOR(f)                                                                    \
    template <class A, class B>                                                                    \
        requires detail::TensorBesideXtensor<A, B>                                                 \
    auto f(A const& a, B const& b) {                                                               \
        return f(detail::materialize(a), detail::materialize(b));                                  \
    }
XGRAD_BESIDE_XTENSOR(matmul)
XGRAD_BESIDE_XTENSOR(dot)
XGRAD_BESIDE_XTENSOR(vdot)
XGRAD_BESIDE_XTENSOR(outer)
#undef XGRAD_BESIDE_XTENSOR

} // namespace xgrad
