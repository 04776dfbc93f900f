// The matrix product of strided, possibly conjugated operands: one function, gemm, for the four
// floating scalar types.
//
// With XGRAD_USE_BLAS defined to 1 it calls a BLAS (gemm_blas.hpp); otherwise, and for what a BLAS
// cannot do or is too slow to start for, it runs kernels of our own (gemm_kernel.hpp,
// gemm_small.hpp, gemv_kernel.hpp).
#pragma once

#include <complex>
#include <cstddef>

#include <xgrad/base/gemm_kernel.hpp>
#include <xgrad/base/gemm_small.hpp>
#include <xgrad/base/gemv_kernel.hpp>
#include <xgrad/base/scalar.hpp>
#if defined(XGRAD_USE_BLAS) && XGRAD_USE_BLAS
#    include <xgrad/base/gemm_blas.hpp>
#endif

namespace xgrad::detail {
namespace kernel {

/// Whether our own kernel reads a matrix as fast as one core can: in vectors of wide registers. Of
/// what is larger than the caches of a core the threads of a BLAS read more.
template <class T> bool is_read_fast(VectorProduct<T> const& product) {
    constexpr std::size_t max_bytes = std::size_t{2} << 20,
                          lanes = width<SimdVector<real_of<T>>, real_of<T>>;
    auto const& m = product.m;
    bool const in_vectors = m.rs == 1 || (m.cs == 1 && parts<T> * product.columns >= lanes);
    return register_bytes >= 32 && in_vectors &&
           product.rows <= max_bytes / sizeof(T) / product.columns;
}

template <class T> void multiply_by_vector(VectorProduct<T> const& product) {
#if defined(XGRAD_USE_BLAS) && XGRAD_USE_BLAS
    if constexpr (Differentiable<T>) // BLAS has no integers
        if (!is_read_fast(product) && blas_multiply_vector(product)) return;
#endif
    multiply_vector(product);
}

template <class T> void multiply(Product<T> const& product) {
    if constexpr (parts<T> == 1)
        if (multiply_small(product)) return;
    if (product.k == 1) return multiply_outer(product);
#if defined(XGRAD_USE_BLAS) && XGRAD_USE_BLAS
    if constexpr (Differentiable<T>)
        if (blas_multiply(product)) return;
#endif
    BlockedProduct<T>(product).run();
}

#ifdef XGRAD_SEPARATE_COMPILATION
extern template void multiply_by_vector(VectorProduct<float> const&);
extern template void multiply_by_vector(VectorProduct<double> const&);
extern template void multiply_by_vector(VectorProduct<std::complex<float>> const&);
extern template void multiply_by_vector(VectorProduct<std::complex<double>> const&);
extern template void multiply(Product<float> const&);
extern template void multiply(Product<double> const&);
extern template void multiply(Product<std::complex<float>> const&);
extern template void multiply(Product<std::complex<double>> const&);
#endif
} // namespace kernel

/// C = op(A) op(B), or C += op(A) op(B) if `accumulate`; op conjugates where the flag says so.
/// C is m x n, row-major with leading dimension ldc >= n, and overlaps neither operand. A is m x k
/// with row stride ars and column stride acs, B is k x n likewise; strides count elements and may
/// be anything. T is float, double, or std::complex of them. With k == 0 the product is zero.
/// Throws std::bad_alloc only.
template <class T>
void gemm(std::size_t m, std::size_t n, std::size_t k, T const* a, std::ptrdiff_t ars,
    std::ptrdiff_t acs, bool conj_a, T const* b, std::ptrdiff_t brs, std::ptrdiff_t bcs,
    bool conj_b, T* c, std::ptrdiff_t ldc, bool accumulate) {
    constexpr bool complex = kernel::parts<T> == 2;
    if (m == 0 || n == 0) return;
    // How many multiplications are not worth preparations; matrices of real numbers need few.
    std::size_t const tiny = complex || m == 1 || n == 1 ? 64 : 8;
    kernel::Operand<T> const left{a, ars, acs, complex && conj_a},
        right{b, brs, bcs, complex && conj_b};
    kernel::VectorOperand<T> const row{a, acs, left.conj}, column{b, brs, right.conj};
    if (k == 0 || ((m | n | k) <= tiny && m * n * k <= tiny))
        kernel::multiply_tiny<T>({m, n, k, left, right, c, ldc, accumulate});
    else if (k == 1 && n == 1 && ldc == 1) // a column times a number: a row
        kernel::multiply_outer<T>({1, m, 1, right.transposed(), left.transposed(), c,
            static_cast<std::ptrdiff_t>(m), accumulate});
    else if (k == 1 && (m == 1 || n == 1))
        kernel::multiply_outer<T>({m, n, k, left, right, c, ldc, accumulate});
    else if (n == 1) kernel::multiply_by_vector<T>({m, k, left, column, c, ldc, accumulate});
    else if (m == 1)
        kernel::multiply_by_vector<T>({n, k, right.transposed(), row, c, 1, accumulate});
    else kernel::multiply<T>({m, n, k, left, right, c, ldc, accumulate});
}
} // namespace xgrad::detail
