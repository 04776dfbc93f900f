// The matrix product of strided, possibly conjugated operands: one function, gemm, for the four floating scalar types.
//
// With XGRAD_USE_BLAS defined to 1 it calls a BLAS (gemm_blas.hpp); otherwise, and for what a BLAS cannot do or is too
// slow to start for, it runs kernels of our own (gemm_kernel.hpp, gemv_kernel.hpp).
#pragma once

#include <complex>
#include <cstddef>

#include <xgrad/base/gemm_kernel.hpp>
#include <xgrad/base/gemv_kernel.hpp>
#include <xgrad/base/simd.hpp>
#if defined(XGRAD_USE_BLAS) && XGRAD_USE_BLAS
#    include <xgrad/base/gemm_blas.hpp>
#endif

namespace xgrad::detail {
namespace kernel {

/// Without preparations, for a handful of numbers.
template <class T> void multiply_tiny(Product<T> const& product)
{
    auto const& [m, n, k, a, b, c, ldc, add] = product;
    for (std::size_t i = 0; i < m; ++i)
        for (std::size_t j = 0; j < n; ++j) {
            VectorOperand<T> const row{a.at(i, 0), a.cs, a.conj}, column{b.at(0, j), b.rs, b.conj};
            auto const sum = dot(k, row, column);
            T& to = *product.c_at(i, j);
            to = add ? to + sum : sum;
        }
}

/// Real factors that are smaller than what a BLAS, or blocks, must do before they begin.
inline constexpr std::size_t most_small = 8192, most_copied = 1024;  // multiplications; numbers of B
template <class T> bool multiply_small(Product<T> const& product)
{
    constexpr std::size_t width = RealPack<T>::width;
    std::size_t const m = product.m, n = product.n, k = product.k;
    Operand<T> const a = product.a, b = product.b;
    bool const add = product.add;
    if (n < width || m * n > most_small / k || k * n > most_copied) return false;
    T copy[most_copied];
    T const* rows = b.data;
    auto step = b.rs;
    if (b.cs != 1) {
        if (b.rs == 1 && b.cs > 0) transpose(n, k, b.data, static_cast<std::size_t>(b.cs), copy, n);
        else
            for (std::size_t p = 0; p < k; ++p)
                for (std::size_t j = 0; j < n; ++j) copy[p * n + j] = *b.at(p, j);
        rows = copy;
        step = static_cast<std::ptrdiff_t>(n);
    }
    for (std::size_t i = 0; i < m; ++i) {
        T* const to = product.c_at(i, 0);
        auto const words = [&]<std::size_t count>(std::integral_constant<std::size_t, count>, std::size_t j) XGRAD_LAMBDA_INLINE {
            RealPack<T> sum[count];
#pragma GCC unroll 2
            for (std::size_t q = 0; q < count; ++q) sum[q] = add ? RealPack<T>::load(to + j + q * width) : RealPack<T>(0);
            T const *factor = a.at(i, 0), *row = rows + j;
            for (std::size_t p = 0; p < k; ++p, factor += a.cs, row += step)
#pragma GCC unroll 2
                for (std::size_t q = 0; q < count; ++q) sum[q] = sum[q] + RealPack<T>(*factor) * RealPack<T>::load(row + q * width);
#pragma GCC unroll 2
            for (std::size_t q = 0; q < count; ++q) sum[q].store(to + j + q * width);
        };
        std::size_t j = 0;
        for (; j + 2 * width <= n; j += 2 * width) words(std::integral_constant<std::size_t, 2>(), j);
        for (; j + width <= n; j += width) words(std::integral_constant<std::size_t, 1>(), j);
        for (; j < n; ++j) {
            T sum = add ? to[j] : T(0);
            for (std::size_t p = 0; p < k; ++p) sum += *a.at(i, p) * rows[static_cast<std::ptrdiff_t>(p) * step + static_cast<std::ptrdiff_t>(j)];
            to[j] = sum;
        }
    }
    return true;
}

template <class T> void multiply_by_vector(VectorProduct<T> const& product)
{
#if defined(XGRAD_USE_BLAS) && XGRAD_USE_BLAS
    if (blas_multiply_vector(product)) return;
#endif
    multiply_vector(product);
}

template <class T> void multiply(Product<T> const& product)
{
    if constexpr (parts<T> == 1)
        if (multiply_small(product)) return;
#if defined(XGRAD_USE_BLAS) && XGRAD_USE_BLAS
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
}  // namespace kernel

/// C = op(A) op(B), or C += op(A) op(B) if `accumulate`; op conjugates where the flag says so.
/// C is m x n, row-major with leading dimension ldc >= n, and overlaps neither operand. A is m x k with row stride ars
/// and column stride acs, B is k x n likewise; strides count elements and may be anything. T is float, double, or
/// std::complex of them. With k == 0 the product is zero. Throws std::bad_alloc only.
template <class T>
void gemm(std::size_t m, std::size_t n, std::size_t k, T const* a, std::ptrdiff_t ars, std::ptrdiff_t acs, bool conj_a,
    T const* b, std::ptrdiff_t brs, std::ptrdiff_t bcs, bool conj_b, T* c, std::ptrdiff_t ldc, bool accumulate)
{
    constexpr std::size_t tiny = 64;  // multiplications: a larger product is worth its preparations
    constexpr bool complex = kernel::parts<T> == 2;
    if (m == 0 || n == 0) return;
    kernel::Operand<T> const left{a, ars, acs, complex && conj_a}, right{b, brs, bcs, complex && conj_b};
    kernel::VectorOperand<T> const row{a, acs, left.conj}, column{b, brs, right.conj};
    if (k <= tiny / m / n) kernel::multiply_tiny<T>({m, n, k, left, right, c, ldc, accumulate});
    else if (n == 1) kernel::multiply_by_vector<T>({m, k, left, column, c, ldc, accumulate});
    else if (m == 1) kernel::multiply_by_vector<T>({n, k, right.transposed(), row, c, 1, accumulate});
    else kernel::multiply<T>({m, n, k, left, right, c, ldc, accumulate});
}
}  // namespace xgrad::detail
