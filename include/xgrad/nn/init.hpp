// Random initialisation that layers share.
#pragma once

#include <xgrad/tensor/create.hpp>
#include <xgrad/tensor/inplace.hpp>

namespace xgrad::nn {

/// Overwrites a tensor, without recording, by uniform numbers on [low, high); for complex types
/// both parts.
template <Differentiable T> void uniform_(Tensor<T> t, double low, double high) {
    using P = precision_of<T>;
    NoGradGuard const off;
    Tensor<T> values = rand<T>(t.shape());
    if constexpr (xgrad::detail::is_complex<T>)
        t.copy_(values * static_cast<P>(high - low) + T(P(low), P(low)));
    else t.copy_(values * static_cast<P>(high - low) + static_cast<P>(low));
}

/// Overwrites a tensor, without recording, by normal numbers; for complex types each part has half
/// the variance.
template <Differentiable T> void normal_(Tensor<T> t, double mean = 0, double deviation = 1) {
    using P = precision_of<T>;
    NoGradGuard const off;
    t.copy_(randn<T>(t.shape()) * static_cast<P>(deviation) + static_cast<P>(mean));
}

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
