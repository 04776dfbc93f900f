// Bodies of gemm.hpp. impl/instances.ipp has their instances.
#pragma once

#include <xgrad/kernels/gemm.hpp>
#include <xgrad/kernels/gemm_kernel.hpp>
#include <xgrad/kernels/gemm_small.hpp>
#include <xgrad/kernels/gemv_kernel.hpp>
#if defined(XGRAD_USE_BLAS) && XGRAD_USE_BLAS
#    include <xgrad/kernels/gemm_blas.hpp>
#endif

namespace xgrad::detail {
namespace kernel {

/// True if our own kernel is as fast as a BLAS for this matrix-vector product: it reads the matrix
/// by wide vectors. For a matrix larger than the caches of a core, a BLAS with threads is faster.
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

} // namespace kernel

template <class T>
void gemm(std::size_t m, std::size_t n, std::size_t k, T const* a, std::ptrdiff_t ars,
    std::ptrdiff_t acs, bool conj_a, T const* b, std::ptrdiff_t brs, std::ptrdiff_t bcs,
    bool conj_b, T* c, std::ptrdiff_t ldc, bool accumulate) {
    constexpr bool complex = kernel::parts<T> == 2;
    if (m == 0 || n == 0) return;
    // Up to this many multiplications, plain loops are fastest.
    std::size_t const tiny = complex || m == 1 || n == 1 ? 64 : 8;
    kernel::Operand<T> const left{a, ars, acs, complex && conj_a},
        right{b, brs, bcs, complex && conj_b};
    kernel::VectorOperand<T> const row{a, acs, left.conj}, column{b, brs, right.conj};
    if (k == 0 || ((m | n | k) <= tiny && m * n * k <= tiny))
        kernel::multiply_tiny<T>({m, n, k, left, right, c, ldc, accumulate});
    else if (k == 1 && n == 1 && ldc == 1) // a column times one element: computed as a row
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
