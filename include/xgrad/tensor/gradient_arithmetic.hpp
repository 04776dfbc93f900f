// Definitions of the functions that type_info.hpp declares, by means of operations.
#pragma once

#include <xgrad/ops/arithmetic.hpp>
#include <xgrad/tensor/traced.hpp>

namespace xgrad::detail {

template <Scalar T> AnyTensor GradientArithmetic<T>::add(AnyTensor const& a, AnyTensor const& b) {
    if constexpr (Differentiable<T>) return Tensor<T>(a.as<T>() + b.as<T>());
    else return a;
}

template <Scalar T>
void GradientArithmetic<T>::add_in_place(AnyTensor const& to, AnyTensor const& more) {
    auto const& out = to.impl().array;
    scatter_add(out, more.impl().array);
    out.storage->bump();
}

template <Scalar T> AnyTensor GradientArithmetic<T>::copy(AnyTensor const& t) {
    return t.as<T>().clone();
}

template <Scalar T> AnyTensor GradientArithmetic<T>::filled(Shape const& shape, double value) {
    AnyTensor made(TensorImpl::make(type_info<T>, shape));
    std::uninitialized_fill_n(as<T>(made.impl().array).begin(), made.numel(), converted<T>(value));
    return made;
}

template <Scalar T> AnyTensor GradientArithmetic<T>::scaled(AnyTensor const& t, double factor) {
    if constexpr (Differentiable<T>)
        return Tensor<T>(t.as<T>() * static_cast<precision_of<T>>(factor));
    else return t;
}

template <Scalar T>
void GradientArithmetic<T>::multiply_in_place(AnyTensor const& t, double factor) {
    if constexpr (Differentiable<T>) {
        auto const& out = as<T>(t.impl().array);
        if (factor == 1) return;
        if (out.contiguous) scale<T>(out, factor);
        else
            for_each_pair(
                out, out, [by = static_cast<precision_of<T>>(factor)](T& x, T const&) { x *= by; });
    }
}

template <Scalar T>
void GradientArithmetic<T>::scatter_add(AnyArray const& to, AnyArray const& more) {
    if constexpr (Differentiable<T>) {
        auto const &out = as<T>(to), &in = as<T>(more);
        if (out.contiguous && in.contiguous)
            accumulate_strided<T, T>(in.begin(), out.begin(), 1, out.numel);
        else for_each_pair(out, in, [](T& t, T const& m) { t += m; });
    }
}

template <Scalar T> bool GradientArithmetic<T>::has_nan(AnyArray const& a) {
    bool found = false;
    Strides const* const strides[] = {&a.strides};
    std::ptrdiff_t const step = a.strides.empty() ? 0 : a.strides.back();
    for_each_run(a.shape, strides, [&](std::size_t n, std::ptrdiff_t const* at) {
        T const* in = as<T>(a).begin() + at[0];
        for (std::size_t i = 0; i < n; ++i, in += step) found |= !(*in == *in);
    });
    return found;
}

} // namespace xgrad::detail
