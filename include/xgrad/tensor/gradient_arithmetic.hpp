// Definitions of the functions that type_info.hpp declares.
#pragma once

#include <xgrad/autograd/second_order.hpp>
#include <xgrad/tensor/tensor.hpp>

namespace xgrad::detail {

template <Scalar T> AnyTensor row_major_copy(AnyTensor const& t) {
    AnyTensor made(TensorImpl::make(type_info<T>, t.shape()));
    copy_elements(as<T>(made.impl().array), as<T>(t.impl().array));
    return made;
}

template <Scalar T> AnyTensor GradientArithmetic<T>::add(AnyTensor const& a, AnyTensor const& b) {
    if constexpr (Differentiable<T>) {
        AnyTensor const sum = row_major_copy<T>(a);
        scatter_add(sum.impl().array, b.impl().array);
        return linear_combination(sum, 1, a, &b);
    } else return a;
}

template <Scalar T>
void GradientArithmetic<T>::add_in_place(AnyTensor const& to, AnyTensor const& more) {
    auto const& out = to.impl().array;
    scatter_add(out, more.impl().array);
    out.storage->bump();
}

template <Scalar T> AnyTensor GradientArithmetic<T>::copy(AnyTensor const& t) {
    return linear_combination(row_major_copy<T>(t), 1, t);
}

template <Scalar T> AnyTensor GradientArithmetic<T>::filled(Shape const& shape, double value) {
    AnyTensor made(TensorImpl::make(type_info<T>, shape));
    std::uninitialized_fill_n(as<T>(made.impl().array).begin(), made.numel(), converted<T>(value));
    return made;
}

template <Scalar T> AnyTensor GradientArithmetic<T>::scaled(AnyTensor const& t, double factor) {
    if constexpr (Differentiable<T>) {
        AnyTensor const product = row_major_copy<T>(t);
        multiply_in_place(product, factor);
        return linear_combination(product, factor, t);
    } else return t;
}

template <Scalar T>
void GradientArithmetic<T>::multiply_in_place(AnyTensor const& t, double factor) {
    if constexpr (Differentiable<T>) {
        if (factor == 1) return;
        auto const& out = as<T>(t.impl().array);
        auto const product = contiguous(out);
        scale<T>(product.data, product.numel, factor);
        if (!out.contiguous) copy_elements(out, product);
    }
}

template <Scalar T>
void GradientArithmetic<T>::scatter_add(AnyArray const& to, AnyArray const& more) {
    if constexpr (Differentiable<T>) {
        auto const &out = as<T>(to), &in = as<T>(more);
        if (out.contiguous && in.contiguous)
            reduce_strided<Sum<T>, T, T>(in.begin(), out.begin(), 1, out.numel);
        else for_each_pair(out, in, [](T& t, T const& m) { t += m; });
    }
}

} // namespace xgrad::detail
