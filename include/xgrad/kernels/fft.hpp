// The discrete Fourier transform of one line or of many lines, for any length.
#pragma once

#include <complex>
#include <cstddef>

#include <xgrad/core/config.hpp>

namespace xgrad::detail {

/// Computes `howmany` unnormalised DFTs of n points for T = float or double, n >= 1: line i starts
/// at in + i * in_dist, its transform at out + i * out_dist; see fft. Interleaved lines (the
/// columns of a matrix) are transformed together.
template <class T>
void fft_many(std::complex<T> const* in, std::ptrdiff_t is, std::ptrdiff_t in_dist,
    std::complex<T>* out, std::ptrdiff_t os, std::ptrdiff_t out_dist, std::size_t n,
    std::size_t howmany, int sign);

/// Unnormalised DFT of n points for T = float or double, any n >= 1: out[k*os] = sum_j in[j*is]
/// exp(sign*2*pi*i*j*k/n). in and out may be the same (with equal strides), and must not overlap
/// otherwise.
template <class T>
void fft(std::complex<T> const* in, std::ptrdiff_t is, std::complex<T>* out, std::ptrdiff_t os,
    std::size_t n, int sign);

} // namespace xgrad::detail
