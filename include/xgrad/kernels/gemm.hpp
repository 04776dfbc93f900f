// gemm: the matrix product of strided, possibly conjugated operands, for the numeric scalar
// types.
//
// With XGRAD_USE_BLAS=1 it calls a BLAS (gemm_blas.hpp). Without one, and for small or unusual
// operands, it runs our own kernels: gemm_kernel.hpp (blocked), gemm_small.hpp (small matrices,
// outer products) and gemv_kernel.hpp (matrix times vector). benchmarks/matmul.cpp compares them.
// impl/kernels/gemm.ipp chooses among them. The header that a program includes has none of them.
#pragma once

#include <complex>
#include <cstddef>

#include <xgrad/core/scalar.hpp>

namespace xgrad::detail {

/// C = op(A) op(B), or C += op(A) op(B) if `accumulate`; op conjugates where the flag says so.
/// C is m x n, row-major with leading dimension ldc >= n, and overlaps neither operand. A is m x k
/// with row stride ars and column stride acs, B is k x n likewise; strides count elements and may
/// be anything. T is std::int64_t, float, double, or std::complex of one of the last two. With
/// k == 0 the product
/// is zero. Throws std::bad_alloc only.
template <class T>
void gemm(std::size_t m, std::size_t n, std::size_t k, T const* a, std::ptrdiff_t ars,
    std::ptrdiff_t acs, bool conj_a, T const* b, std::ptrdiff_t brs, std::ptrdiff_t bcs,
    bool conj_b, T* c, std::ptrdiff_t ldc, bool accumulate);

} // namespace xgrad::detail
