// Members of Tensor that give views and copies.
#pragma once

#include <xgrad/ops/indexing.hpp>
#include <xgrad/tensor/reduce.hpp>

namespace xgrad {

/// The window that indices, slices (xg::slice or xt::range), xt::all(), xt::newaxis() and xt::ellipsis() name.
template <Scalar T> template <class... Index> Tensor<T> Tensor<T>::operator()(Index const&... index) const
{
    return express(detail::window(shape(), index...), *this);
}

template <Scalar T> Tensor<T> Tensor<T>::reshape(Axes const& shape) const { return xgrad::reshape(*this, shape); }
template <Scalar T> Tensor<T> Tensor<T>::view(Axes const& shape) const
{
    if (!is_contiguous()) detail::fail<ShapeError>("view: a tensor with strides ", strides(), " has no view of another shape; use reshape, which may copy");
    return xgrad::reshape(*this, shape);
}
template <Scalar T> Tensor<T> Tensor<T>::transpose() const { return xgrad::transpose(*this); }
template <Scalar T> Tensor<T> Tensor<T>::transpose(std::ptrdiff_t axis0, std::ptrdiff_t axis1) const { return xgrad::transpose(*this, axis0, axis1); }
template <Scalar T> Tensor<T> Tensor<T>::permute(Axes const& axes) const { return xgrad::permute(*this, axes); }

/// A copy with memory of its own; the gradient passes unchanged.
struct Clone : Arraywise {
    template <Scalar T> auto value(detail::Array<T> const& x) const
    {
        detail::Array<T> out(x.shape);
        detail::copy_elements(out, x);
        return out;
    }
    auto pullback(wrt<0>, auto const& g, auto const&, auto const&) const { return g; }
};
template <Scalar T> Tensor<T> Tensor<T>::clone() const { return express(Clone{}, *this); }

}  // namespace xgrad
