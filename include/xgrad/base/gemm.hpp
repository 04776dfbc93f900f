// The matrix product of strided, possibly conjugated operands: one function, gemm, for the four floating scalar types.
//
// With XGRAD_USE_BLAS defined to 1 it calls a BLAS (gemm_blas.hpp); otherwise, and for what a BLAS cannot do or is too slow to
// start for, it runs kernels of our own (gemm_kernel.hpp, gemv_kernel.hpp).
#pragma once

#include <complex>
#include <cstddef>

#include <xgrad/base/gemm_kernel.hpp>
#include <xgrad/base/gemv_kernel.hpp>
#if defined(XGRAD_USE_BLAS) && XGRAD_USE_BLAS
#    include <xgrad/base/gemm_blas.hpp>
#endif

namespace xgrad::detail {
namespace kernel {

/// C = A B, or +=, without preparations: for a handful of numbers.
template <class T>
void tiny_product(std::size_t m, std::size_t n, std::size_t k, Operand<T> a, Operand<T> b, T* c, std::ptrdiff_t ldc, bool add)
{
    for (std::size_t i = 0; i < m; ++i, c += ldc)
        for (std::size_t j = 0; j < n; ++j)
            put_number(dot(k, VectorOperand<T>{a.at(i, 0), a.cs, a.conj}, VectorOperand<T>{b.at(0, j), b.rs, b.conj}), c[j], add);
}

template <class T>
void vector_product(std::size_t rows, std::size_t columns, Operand<T> m, VectorOperand<T> x, T* y, std::ptrdiff_t ys, bool add)
{
#if defined(XGRAD_USE_BLAS) && XGRAD_USE_BLAS
    if (blas_matrix_vector(rows, columns, m, x, y, ys, add)) return;
#endif
    matrix_vector(rows, columns, m, x, y, ys, add);
}

template <class T>
void large_product(std::size_t m, std::size_t n, std::size_t k, Operand<T> a, Operand<T> b, T* c, std::ptrdiff_t ldc, bool add)
{
#if defined(XGRAD_USE_BLAS) && XGRAD_USE_BLAS
    if (blas_product(m, n, k, a, b, c, ldc, add)) return;
#endif
    blocked_product(m, n, k, a, b, c, ldc, add);
}
}  // namespace kernel

/// C = op(A) op(B), or C += op(A) op(B) if `accumulate`; op conjugates where the flag says so.
/// C is m x n, row-major with leading dimension ldc >= n, and overlaps neither operand. A is m x k with row stride ars and
/// column stride acs, B is k x n likewise; strides count elements and may be anything. T is float, double, or
/// std::complex of them. With k == 0 the product is zero. Throws std::bad_alloc only.
template <class T>
void gemm(std::size_t m, std::size_t n, std::size_t k, T const* a, std::ptrdiff_t ars, std::ptrdiff_t acs, bool conj_a,
          T const* b, std::ptrdiff_t brs, std::ptrdiff_t bcs, bool conj_b, T* c, std::ptrdiff_t ldc, bool accumulate)
{
    constexpr std::size_t tiny = 64;                     // multiplications, about as long as a call of BLAS takes to start
    constexpr bool complex = kernel::parts<T> == 2;
    kernel::Operand<T> const left{a, ars, acs, complex && conj_a}, right{b, brs, bcs, complex && conj_b};
    if (m == 0 || n == 0) return;
    if (k <= tiny / m / n) kernel::tiny_product(m, n, k, left, right, c, ldc, accumulate);
    else if (n == 1) kernel::vector_product(m, k, left, {b, brs, complex && conj_b}, c, ldc, accumulate);
    else if (m == 1) kernel::vector_product(n, k, right.transposed(), {a, acs, complex && conj_a}, c, 1, accumulate);
    else kernel::large_product(m, n, k, left, right, c, ldc, accumulate);
}
}  // namespace xgrad::detail
