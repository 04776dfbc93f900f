// Bodies of fft.hpp. impl/instances.ipp has their instances.
#pragma once

#include <xgrad/kernels/fft.hpp>
#include <xgrad/kernels/fft_plan.hpp>

namespace xgrad::detail {

template <class T>
void fft_many(std::complex<T> const* in, std::ptrdiff_t is, std::ptrdiff_t in_dist,
    std::complex<T>* out, std::ptrdiff_t os, std::ptrdiff_t out_dist, std::size_t n,
    std::size_t howmany, int sign) {
    if (n == 0 || howmany == 0) return;
    auto const plan = fft_plan<T>(n);
    kernel::Scratch<T> const scratch(plan->scratch_size());
    plan->transform_many(in, is, in_dist, out, os, out_dist, howmany, sign, scratch.data());
}

template <class T>
void fft(std::complex<T> const* in, std::ptrdiff_t is, std::complex<T>* out, std::ptrdiff_t os,
    std::size_t n, int sign) {
    if (n == 0) return;
    auto const plan = fft_plan<T>(n);
    kernel::Scratch<T> const scratch(plan->scratch_size());
    plan->transform(in, is, out, os, sign, scratch.data());
}

} // namespace xgrad::detail
