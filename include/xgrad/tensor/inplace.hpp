// Changes in place, outside the graph: to tensors that need no gradient, and under NoGradGuard to any. Each counts as one
// new version of the memory, so that a backward pass that needed the old values says so.
#pragma once

#include <xgrad/tensor/views.hpp>

namespace xgrad {

namespace detail {

template <Scalar T> void check_may_change(Tensor<T> const& t, std::string_view operation, bool operand_requires_grad)
{
    if (!grad_mode) return;
    if (t.requires_grad() && t.is_leaf()) fail<GraphError>(operation, ": a leaf Variable that requires grad is being used in an in-place operation.");
    if (t.requires_grad() || operand_requires_grad)
        fail<GraphError>(operation, ": in-place operations are not recorded; assign to a new tensor, or use NoGradGuard to change values outside the graph");
}

template <class X> bool wants_grad(X const& x)
{
    bool any = false;
    if constexpr (Operand<X>) each_tensor<0>(x, [&](std::size_t, AnyTensor const& t) { any |= is_differentiable(t.dtype()) && t.requires_grad(); });
    return any;
}

/// Evaluates e into t's memory. Where e reads that memory in another order than it is written, it is evaluated aside first.
template <Scalar T, class E> void assign(Tensor<T> const& t, E const& e, std::string_view operation)
{
    Array<T> const& out = t.array_of();
    NoGradGuard const off;
    TakenApart<E> const apart(e);
    Gathered const in(apart.table, &apart.formula, apart.operands);
    if (!broadcasts_to(in.space, out.shape)) fail<ShapeError>(operation, ": output with shape ", out.shape, " doesn't match the broadcast shape ", in.space);
    bool aside = !(in.space == out.shape) || !out.contiguous;
    for (std::size_t k = 0; k < E::leaves; ++k) {
        AnyArray const& leaf = *in.arrays[k];
        aside |= leaf.storage == out.storage && (leaf.data != out.data || !(leaf.shape == out.shape) || !leaf.contiguous);
    }
    if constexpr (std::same_as<typename E::scalar, T>) {
        if (aside) copy_elements(out, broadcast_window(record(e).array_of(), out.shape));
        else run_forward(apart.table.kernels, &apart.formula, in.arrays, in.space, output_operand(out, leaf_info<T>));
    } else {
        static_assert(letter_rank<letter_of<typename E::scalar>> <= letter_rank<letter_of<T>>, "in-place: the result type can't be cast to the type of the tensor that is changed");
        copy_elements(out, broadcast_window(record(e).array_of(), out.shape));
    }
    out.storage->bump();
}

}  // namespace detail

/// Takes over values, broadcast to this tensor's shape.
template <Scalar T> template <detail::OperandLike X> Tensor<T>& Tensor<T>::copy_(X const& x)
{
    if constexpr (Number<X>) return fill_(static_cast<T>(x));
    else {
        detail::check_may_change(*this, "copy_", detail::wants_grad(x));
        detail::assign(*this, detail::OperandTraits<X>::make(x), "copy_");
        return *this;
    }
}
template <Scalar T> Tensor<T>& Tensor<T>::fill_(T value)
{
    detail::check_may_change(*this, "fill_", false);
    auto const& a = array_of();
    detail::Array<T> const number(Shape{}, value);
    detail::copy_elements(a, detail::broadcast_window(number, a.shape));
    a.storage->bump();
    return *this;
}
template <Scalar T> template <detail::OperandLike X> Tensor<T>& Tensor<T>::operator+=(X const& x)
{
    detail::check_may_change(*this, "+=", detail::wants_grad(x));
    detail::assign(*this, *this + x, "+=");
    return *this;
}
template <Scalar T> template <detail::OperandLike X> Tensor<T>& Tensor<T>::operator-=(X const& x)
{
    detail::check_may_change(*this, "-=", detail::wants_grad(x));
    detail::assign(*this, *this - x, "-=");
    return *this;
}
template <Scalar T> template <detail::OperandLike X> Tensor<T>& Tensor<T>::operator*=(X const& x)
{
    detail::check_may_change(*this, "*=", detail::wants_grad(x));
    detail::assign(*this, *this * x, "*=");
    return *this;
}
template <Scalar T> template <detail::OperandLike X> Tensor<T>& Tensor<T>::operator/=(X const& x)
{
    detail::check_may_change(*this, "/=", detail::wants_grad(x));
    detail::assign(*this, *this / x, "/=");
    return *this;
}

}  // namespace xgrad
