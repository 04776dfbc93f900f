// Matrix products by a BLAS that the program links: the Fortran symbols with 32-bit integers. It
// calls no BLAS function with a complex result, because there are two calling conventions for
// those.
//
// BLAS is column-major, so it computes the transpose of our row-major C, which is B' A'. BLAS
// accepts an operand if one of its strides is 1, and conjugates only a transposed operand. Any
// other operand is copied first.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <optional>

#include <xgrad/core/scratch.hpp>
#include <xgrad/kernels/gemm_kernel.hpp>
#include <xgrad/kernels/gemv_kernel.hpp>

namespace xgrad::detail::kernel {

template <class T>
using BlasGemm = void(char const* op_a, char const* op_b, int const* m, int const* n, int const* k,
    T const* alpha, T const* a, int const* lda, T const* b, int const* ldb, T const* beta, T* c,
    int const* ldc);
template <class T>
using BlasGemv = void(char const* op, int const* m, int const* n, T const* alpha, T const* a,
    int const* lda, T const* x, int const* incx, T const* beta, T* y, int const* incy);

template <class T> struct Blas;
#define XGRAD_BLAS(T, p)                                                                           \
    extern "C" {                                                                                   \
    BlasGemm<T> p##gemm_;                                                                          \
    BlasGemv<T> p##gemv_;                                                                          \
    }                                                                                              \
    template <> struct Blas<T> {                                                                   \
        static constexpr auto gemm = &p##gemm_;                                                    \
        static constexpr auto gemv = &p##gemv_;                                                    \
    };
XGRAD_BLAS(float, s)
XGRAD_BLAS(double, d)
XGRAD_BLAS(std::complex<float>, c)
XGRAD_BLAS(std::complex<double>, z)
#undef XGRAD_BLAS

inline bool blas_can_count(std::size_t n) {
    return n <= static_cast<std::size_t>(std::numeric_limits<int>::max());
}
inline bool blas_can_count(std::ptrdiff_t n) {
    return std::abs(n) <= std::numeric_limits<int>::max();
}

/// The arguments op and ld with which BLAS reads the transpose of an operand.
struct BlasForm {
    char op;
    int ld;
};

template <class T>
std::optional<BlasForm> blas_form(Operand<T> x, std::size_t rows, std::size_t columns) {
    using Form = std::optional<BlasForm>;
    auto const form = [](char op, std::size_t lines, std::size_t length,
                          std::ptrdiff_t gap) -> Form {
        auto const least = static_cast<std::ptrdiff_t>(length);
        if (lines == 1) gap = least; // the stride is never used
        if (gap < least || !blas_can_count(gap)) return {};
        return BlasForm{op, static_cast<int>(gap)};
    };
    Form found;
    if (!x.conj && (x.cs == 1 || columns == 1)) found = form('N', rows, columns, x.rs);
    if (!found && (x.rs == 1 || rows == 1)) found = form(x.conj ? 'C' : 'T', columns, rows, x.cs);
    return found;
}

/// A row-major copy of op(x).
template <class T> Operand<T> copied(Operand<T> x, std::size_t rows, std::size_t columns, T* to) {
    for (std::size_t i = 0; i < rows; ++i) {
        VectorOperand<T> const row{x.at(i, 0), x.cs, x.conj};
        for (std::size_t j = 0; j < columns; ++j) to[i * columns + j] = row[j];
    }
    return {to, static_cast<std::ptrdiff_t>(columns), 1, false};
}

/// C = A B, or += ; no size may be 0. Returns false if a size does not fit the integers of BLAS.
template <class T> bool blas_multiply(Product<T> const& product) {
    auto [m, n, k, a, b, c, ldc, add] = product;
    if (!blas_can_count(m) || !blas_can_count(n) || !blas_can_count(k) || !blas_can_count(ldc))
        return false;
    auto a_form = blas_form(a, m, k), b_form = blas_form(b, k, n);
    auto const a_size = a_form ? 0 : m * k, b_size = b_form ? 0 : k * n;
    Scratch<T> const scratch(a_size + b_size);
    if (!a_form) {
        a = copied(a, m, k, scratch.data());
        a_form = blas_form(a, m, k);
    }
    if (!b_form) {
        b = copied(b, k, n, scratch.data() + a_size);
        b_form = blas_form(b, k, n);
    }
    int const rows = static_cast<int>(m), columns = static_cast<int>(n),
              depth = static_cast<int>(k);
    int const gap = static_cast<int>(ldc);
    T const one(1), beta(add ? 1 : 0);
    Blas<T>::gemm(&b_form->op, &a_form->op, &columns, &rows, &depth, &one, b.data, &b_form->ld,
        a.data, &a_form->ld, &beta, c, &gap);
    return true;
}

template <class T> void conjugate_y(VectorProduct<T> const& product) {
    if constexpr (parts<T> == 2)
        for (std::size_t i = 0; i < product.rows; ++i) product.y_at(i) = std::conj(product.y_at(i));
}

/// y = M x, or += ; no size may be 0. Returns false if BLAS would need a copy of M or larger
/// integers.
template <class T> bool blas_multiply_vector(VectorProduct<T> const& product) {
    auto [rows, columns, m, x, y, ys, add] = product;
    auto form = blas_form(m.transposed(), columns, rows);
    bool const conjugate_all = !form && m.conj; // conj(M) x is the conjugate of M conj(x)
    if (conjugate_all) {
        m.conj = false;
        x.conj = !x.conj;
        form = blas_form(m.transposed(), columns, rows);
    }
    if (!form || ys <= 0 || !blas_can_count(ys) || !blas_can_count(rows) ||
        !blas_can_count(columns))
        return false;

    bool const copy_x = x.conj || x.stride == 0 || !blas_can_count(x.stride);
    Scratch<T> const scratch(copy_x ? columns : 0);
    if (copy_x) {
        for (std::size_t j = 0; j < columns; ++j) scratch.data()[j] = x[j];
        x = {scratch.data(), 1, false};
    }
    // BLAS wants the lowest address of a vector with a negative stride.
    if (x.stride < 0) x.data += static_cast<std::ptrdiff_t>(columns - 1) * x.stride;
    bool const as_stored = form->op == 'N';
    int const stored_rows = static_cast<int>(as_stored ? rows : columns);
    int const stored_columns = static_cast<int>(as_stored ? columns : rows);
    int const incx = static_cast<int>(x.stride), incy = static_cast<int>(ys);
    T const one(1), beta(add ? 1 : 0);
    if (conjugate_all && add) conjugate_y(product);
    Blas<T>::gemv(&form->op, &stored_rows, &stored_columns, &one, m.data, &form->ld, x.data, &incx,
        &beta, y, &incy);
    if (conjugate_all) conjugate_y(product);
    return true;
}
} // namespace xgrad::detail::kernel
