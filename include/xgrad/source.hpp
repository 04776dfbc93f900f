// Templates that a program with XGRAD_SEPARATE_COMPILATION compiles once; xgrad.hpp includes this where XGRAD_SOURCE is defined.
#pragma once

#include <xgrad/base/fft.hpp>
#include <xgrad/base/gemm.hpp>
#include <xgrad/tensor/gradient_arithmetic.hpp>

namespace xgrad::detail {
namespace kernel {
template void multiply_by_vector(VectorProduct<float> const&);
template void multiply_by_vector(VectorProduct<double> const&);
template void multiply_by_vector(VectorProduct<std::complex<float>> const&);
template void multiply_by_vector(VectorProduct<std::complex<double>> const&);
template void multiply(Product<float> const&);
template void multiply(Product<double> const&);
template void multiply(Product<std::complex<float>> const&);
template void multiply(Product<std::complex<double>> const&);
}  // namespace kernel

template std::shared_ptr<FftPlan<float> const> fft_plan(std::size_t);
template std::shared_ptr<FftPlan<double> const> fft_plan(std::size_t);
template class FftPlan<float>;
template class FftPlan<double>;

template struct GradientArithmetic<bool>;
template struct GradientArithmetic<std::int64_t>;
template struct GradientArithmetic<float>;
template struct GradientArithmetic<double>;
template struct GradientArithmetic<std::complex<float>>;
template struct GradientArithmetic<std::complex<double>>;
}  // namespace xgrad::detail
