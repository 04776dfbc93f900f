// Matrix products for which a BLAS call or packing takes longer than the multiplications. A tile of
// C stays in registers; the operands are read in place. Read multiply_small, at the end, first.
// Benchmark: matmul, small sizes.
#pragma once

#include <cstddef>

#include <xgrad/core/scratch.hpp>
#include <xgrad/core/vector.hpp>
#include <xgrad/kernels/gemm_kernel.hpp>
#include <xgrad/kernels/gemv_kernel.hpp>

namespace xgrad::detail::kernel {

/// The product by plain loops, for a few elements.
template <class T> void multiply_tiny(Product<T> const& product) {
    auto const& [m, n, k, a, b, c, ldc, add] = product;
    for (std::size_t i = 0; i < m; ++i)
        for (std::size_t j = 0; j < n; ++j) {
            VectorOperand<T> const row{a.at(i, 0), a.cs, a.conj}, column{b.at(0, j), b.rs, b.conj};
            auto const sum = dot(k, row, column);
            T& to = *product.c_at(i, j);
            to = add ? to + sum : sum;
        }
}

/// Computes `vectors` vectors of C in each row from row i on, `rows` rows at a time: at column j
/// and, if there are two, at column j + next. Rows of B must be contiguous. Returns the first row
/// that is not computed: fewer than `rows` remain.
template <class Vector, std::size_t rows, std::size_t vectors, class T>
[[gnu::noinline]] std::size_t multiply_vectors(
    Product<T> const& product, std::size_t i, std::size_t j, std::size_t next) {
    std::size_t const m = product.m, k = product.k; // copies that C cannot alias
    Operand<T> const a = product.a, b = product.b;
    std::ptrdiff_t const ldc = product.ldc;
    bool const add = product.add;
    T const *factors = a.at(i, 0), *const first_row = b.at(0, j);
    T* to = product.c_at(i, j);
    for (; i + rows <= m; i += rows, factors += static_cast<std::ptrdiff_t>(rows) * a.rs,
         to += static_cast<std::ptrdiff_t>(rows) * ldc) {
        Vector sum[rows][vectors];
        auto const each = [&](auto f) XGRAD_INLINE_LAMBDA {
            unroll<rows>([&](auto r) XGRAD_INLINE_LAMBDA {
                unroll<vectors>([&](auto q) XGRAD_INLINE_LAMBDA {
                    f(sum[r][q], to + static_cast<std::ptrdiff_t>(r()) * ldc + q * next);
                });
            });
        };
        if (add) each([](Vector& s, T const* from) XGRAD_INLINE_LAMBDA { s = load<Vector>(from); });
        else
            each([](Vector& s, T*)
                     XGRAD_INLINE_LAMBDA { s = -Vector{}; }); // as in dot(); there is a product
        T const *factor = factors, *row = first_row;
        for (std::size_t p = k; p > 0; --p, factor += a.cs, row += b.rs) {
            Vector of_b[vectors];
            unroll<vectors>(
                [&](auto q) XGRAD_INLINE_LAMBDA { of_b[q] = load<Vector>(row + q * next); });
            unroll<rows>([&](auto r) XGRAD_INLINE_LAMBDA {
                T const of_a = factor[static_cast<std::ptrdiff_t>(r()) * a.rs];
                unroll<vectors>([&](auto q) XGRAD_INLINE_LAMBDA { sum[r][q] += of_a * of_b[q]; });
            });
        }
        each([](Vector const& s, T* into) XGRAD_INLINE_LAMBDA { store(into, s); });
    }
    return i;
}
/// multiply_vectors for all rows of C. Without `add` the last tile may overlap the one before.
template <class Vector, std::size_t vectors, class T>
void multiply_all_rows(Product<T> const& product, std::size_t j, std::size_t next) {
    std::size_t i = 0;
    if constexpr (vectors == 1 && sizeof(Vector) == register_bytes)
        i = multiply_vectors<Vector, 8, vectors>(
            product, i, j, next); // with fewer accumulators the latency of additions would dominate
    if (i < product.m) i = multiply_vectors<Vector, 4, vectors>(product, i, j, next);
    if (i == product.m) return;
    if (product.m >= 4 && !product.add)
        multiply_vectors<Vector, 4, vectors>(product, product.m - 4, j, next);
    else multiply_vectors<Vector, 1, vectors>(product, i, j, next);
}

/// The product for rows of C of at least one vector. If the row length is not a multiple of the
/// width, the last vector overlaps the one before.
template <class Vector, class T> void multiply_in_vectors(Product<T> const& product) {
    constexpr std::size_t w = width<Vector, T>;
    std::size_t const n = product.n;
    std::size_t j = 0;
    for (; j + 2 * w <= n; j += 2 * w) multiply_all_rows<Vector, 2>(product, j, w);
    std::size_t const left = n - j;
    if (left == 0) return;
    if (left == w || (left < w && !product.add))
        return multiply_all_rows<Vector, 1>(product, n - w, 0);
    if (!product.add) return multiply_all_rows<Vector, 2>(product, j, left - w);
    for (std::size_t i = 0; i < product.m; ++i)
        for (std::size_t column = j; column < n; ++column)
            *product.c_at(i, column) +=
                dot(product.k, VectorOperand<T>{product.a.at(i, 0), product.a.cs, false},
                    VectorOperand<T>{product.b.at(0, column), product.b.rs, false});
}
template <class T, std::size_t bytes = register_bytes>
bool multiply_in_widest_vectors(Product<T> const& product) {
    if constexpr (bytes > sizeof(T)) {
        if (product.n < bytes / sizeof(T)) return multiply_in_widest_vectors<T, bytes / 2>(product);
        multiply_in_vectors<SimdVector<T, bytes>>(product);
        return true;
    } else {
        return false;
    }
}

/// multiply_in_widest_vectors with a contiguous copy of B.
template <class T> [[gnu::noinline]] bool multiply_with_copy(Product<T> const& product) {
    constexpr std::size_t most = 1024; // numbers of B
    auto const& [m, n, k, a, b, c, ldc, add] = product;
    if (k * n > most) return false;
    T copy[most];
    if (b.rs == 1 && b.cs > 0) transpose(n, k, b.data, static_cast<std::size_t>(b.cs), copy, n);
    else
        for (std::size_t p = 0; p < k; ++p)
            for (std::size_t j = 0; j < n; ++j) copy[p * n + j] = *b.at(p, j);
    return multiply_in_widest_vectors<T>(
        {m, n, k, a, {copy, static_cast<std::ptrdiff_t>(n), 1, false}, c, ldc, add});
}

/// to[j] = value(j), or += if `add`, for j < n; value.operator()<Vector>(j) gives a vector from j
/// on.
template <class R, class F> void fill_row(R* to, std::size_t n, bool add, F value) {
    using Vector = SimdVector<R>;
    constexpr std::size_t w = width<Vector, R>;
    std::size_t const whole = n / w * w;
    if (add) {
        for (std::size_t j = 0; j < whole; j += w)
            store(to + j, load<Vector>(to + j) + value.template operator()<Vector>(j));
        for (std::size_t j = whole; j < n; ++j) to[j] += value.template operator()<R>(j);
    } else {
        for (std::size_t j = 0; j < whole; j += w)
            store(to + j, value.template operator()<Vector>(j));
        for (std::size_t j = whole; j < n; ++j) to[j] = value.template operator()<R>(j);
    }
}

/// The outer product of a column and a row; a BLAS would pack both first. A complex row is
/// processed as 2n real numbers: C's row is re(a) B + im(a) (i B), where `rotated` holds i B.
template <class T> void multiply_outer(Product<T> const& product) {
    using R = real_of<T>;
    constexpr std::size_t of_each = parts<T>;
    std::size_t const m = product.m, n = product.n;
    Operand<T> const a = product.a, b = product.b;
    bool const in_place = of_each == 1 && b.cs == 1;
    Scratch<R> const copy(in_place ? 0 : of_each * of_each * n);
    for (std::size_t j = 0; !in_place && j < n; ++j) {
        T const of_b = *b.at(0, j);
        if constexpr (of_each == 1) copy.data()[j] = of_b;
        else {
            R const re = of_b.real(), im = b.conj ? -of_b.imag() : of_b.imag();
            copy.data()[2 * j] = re, copy.data()[2 * j + 1] = im;
            copy.data()[2 * n + 2 * j] = -im, copy.data()[2 * n + 2 * j + 1] = re;
        }
    }
    for (std::size_t i = 0; i < m; ++i) {
        T const factor = *a.at(i, 0);
        auto* const to = reinterpret_cast<R*>(product.c_at(i, 0));
        if constexpr (of_each == 1) {
            T const* const row = in_place ? b.data : copy.data();
            fill_row(to, n, product.add, [=]<class V>(std::size_t j) XGRAD_INLINE_LAMBDA {
                return factor * load<V>(row + j);
            });
        } else {
            R const *const row = copy.data(), *const rotated = row + 2 * n, re = factor.real(),
                           im = a.conj ? -factor.imag() : factor.imag();
            fill_row(to, 2 * n, product.add, [=]<class V>(std::size_t j) XGRAD_INLINE_LAMBDA {
                return re * load<V>(row + j) + im * load<V>(rotated + j);
            });
        }
    }
}

/// Multiplies small real matrices; returns false if another kernel is faster.
template <class T> bool multiply_small(Product<T> const& product) {
    constexpr std::size_t most = 8192; // multiplications
    std::size_t const m = product.m, n = product.n, k = product.k;
    if ((m | n | k) > most || m * n * k > most || n < 2) return false;
    return product.b.cs == 1 ? multiply_in_widest_vectors(product) : multiply_with_copy(product);
}
} // namespace xgrad::detail::kernel
