// The TypeInfo of each scalar type: how the graph adds, copies and creates gradients.
// gradient_arithmetic.hpp defines the functions.
#pragma once

#include <xgrad/autograd/any_tensor.hpp>

namespace xgrad::detail {

template <Scalar T> struct GradientArithmetic {
    static AnyTensor add(AnyTensor const& a, AnyTensor const& b);
    static void add_in_place(AnyTensor const& to, AnyTensor const& more);
    static AnyTensor copy(AnyTensor const& t);
    static AnyTensor filled(Shape const& shape, double value);
    static AnyTensor scaled(AnyTensor const& t, double factor);
    static void multiply_in_place(AnyTensor const& t, double factor);
    static void scatter_add(AnyArray const& to, AnyArray const& more);
};

#ifdef XGRAD_SEPARATE_COMPILATION
extern template struct GradientArithmetic<bool>;
extern template struct GradientArithmetic<std::int64_t>;
extern template struct GradientArithmetic<float>;
extern template struct GradientArithmetic<double>;
extern template struct GradientArithmetic<std::complex<float>>;
extern template struct GradientArithmetic<std::complex<double>>;
#endif

template <Scalar T>
inline constexpr TypeInfo type_info{dtype_of<T>, sizeof(T), &GradientArithmetic<T>::add,
    &GradientArithmetic<T>::add_in_place, &GradientArithmetic<T>::copy,
    &GradientArithmetic<T>::filled, &GradientArithmetic<T>::scaled,
    &GradientArithmetic<T>::multiply_in_place, &GradientArithmetic<T>::scatter_add};

} // namespace xgrad::detail
