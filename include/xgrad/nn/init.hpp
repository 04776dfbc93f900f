// Random initialisation that layers share.
#pragma once

#include <xgrad/tensor/create.hpp>
#include <xgrad/tensor/inplace.hpp>

namespace xgrad::nn {

using xgrad::normal_;
using xgrad::uniform_;

namespace detail {
/// A tensor uniform on +-1/sqrt(inputs), the initialisation of PyTorch's linear layers
/// (kaiming_uniform with a = sqrt(5)).
template <Differentiable T> Tensor<T> uniform_for(std::size_t inputs, Shape const& shape) {
    Tensor<T> t = Tensor<T>::empty(shape);
    double const bound = inputs ? 1 / std::sqrt(static_cast<double>(inputs)) : 0;
    uniform_(t, -bound, bound);
    return t;
}
} // namespace detail

} // namespace xgrad::nn
