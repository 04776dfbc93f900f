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

/// Some words of some rows of C = A B, in registers; row 0 of B starts at `row`, and the next one `step` numbers on.
template <std::size_t rows, std::size_t words, class T> XGRAD_INLINE void multiply_words(Product<T> const& product, std::size_t i, std::size_t j, T const* row, std::ptrdiff_t step)
{
    constexpr std::size_t width = RealPack<T>::width;
    RealPack<T> sum[rows][words];
    T* const to = product.c_at(i, j);
    auto const each = [&](auto f) XGRAD_LAMBDA_INLINE {
        unroll<rows>([&](auto r) XGRAD_LAMBDA_INLINE { unroll<words>([&](auto q) XGRAD_LAMBDA_INLINE { f(sum[r][q], to + static_cast<std::ptrdiff_t>(r) * product.ldc + q * width); }); });
    };
    each([](RealPack<T>& s, T*) XGRAD_LAMBDA_INLINE { s = 0; });
    if (product.add) each([](RealPack<T>& s, T const* c) XGRAD_LAMBDA_INLINE { s = RealPack<T>::load(c); });
    T const* factor = product.a.at(i, 0);
    for (std::size_t p = 0; p < product.k; ++p, factor += product.a.cs, row += step) {
        RealPack<T> of_b[words];
        unroll<words>([&](auto q) XGRAD_LAMBDA_INLINE { of_b[q] = RealPack<T>::load(row + q * width); });
        unroll<rows>([&](auto r) XGRAD_LAMBDA_INLINE {
            RealPack<T> const of_a(factor[static_cast<std::ptrdiff_t>(r) * product.a.rs]);
            unroll<words>([&](auto q) XGRAD_LAMBDA_INLINE { sum[r][q] = sum[r][q] + of_a * of_b[q]; });
        });
    }
    each([](RealPack<T>& s, T* c) XGRAD_LAMBDA_INLINE { s.store(c); });
}
/// Some rows of C from row i on.
template <std::size_t rows, class T> XGRAD_INLINE void multiply_rows(Product<T> const& product, std::size_t i, T const* b, std::ptrdiff_t step)
{
    constexpr std::size_t width = RealPack<T>::width;
    std::size_t j = 0;
    for (; j + 2 * width <= product.n; j += 2 * width) multiply_words<rows, 2>(product, i, j, b + j, step);
    for (; j + width <= product.n; j += width) multiply_words<rows, 1>(product, i, j, b + j, step);
    for (std::size_t r = i; r < i + rows; ++r)
        for (std::size_t column = j; column < product.n; ++column) {
            T& to = *product.c_at(r, column);
            T sum = product.add ? to : T(0);
            for (std::size_t p = 0; p < product.k; ++p) sum += *product.a.at(r, p) * b[static_cast<std::ptrdiff_t>(p) * step + static_cast<std::ptrdiff_t>(column)];
            to = sum;
        }
}

/// Real factors that are smaller than what a BLAS, or blocks, must do before they begin.
inline constexpr std::size_t most_small = 8192, most_copied = 1024;  // multiplications; numbers of B
template <class T> bool multiply_small(Product<T> const& given)
{
    auto const product = given;  // a copy that C cannot alias
    std::size_t const m = product.m, n = product.n, k = product.k;
    Operand<T> const b = product.b;
    if (n < RealPack<T>::width || m * n > most_small / k || k * n > most_copied) return false;
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
    std::size_t i = 0;
    for (; i + 4 <= m; i += 4) multiply_rows<4>(product, i, rows, step);
    for (; i < m; ++i) multiply_rows<1>(product, i, rows, step);
    return true;
}

/// Whether our own kernel reads a matrix as fast as one core can: in words of wide registers. Of what is larger than the caches of a core
/// the threads of a BLAS read more.
template <class T> bool is_read_fast(VectorProduct<T> const& product)
{
    constexpr std::size_t most_bytes = std::size_t{2} << 20, lanes = width<Vec<real_of<T>>, real_of<T>>;
    auto const& m = product.m;
    bool const in_words = m.rs == 1 || (m.cs == 1 && parts<T> * product.columns >= lanes);
    return register_bytes >= 32 && in_words && product.rows <= most_bytes / sizeof(T) / product.columns;
}

template <class T> void multiply_by_vector(VectorProduct<T> const& product)
{
#if defined(XGRAD_USE_BLAS) && XGRAD_USE_BLAS
    if (!is_read_fast(product) && blas_multiply_vector(product)) return;
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
