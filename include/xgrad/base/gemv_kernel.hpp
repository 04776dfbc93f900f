// The product of a matrix and a vector without a BLAS: the matrix is read once, where it is.
//
// Complex numbers cost no shuffles here either: a line of the matrix is taken as twice as many real ones and meets two
// real vectors, made of x once, so that the sums are the real and the imaginary part of the result. Read
// multiply_vector, at the end, first.
#pragma once

#include <algorithm>
#include <complex>
#include <cstddef>
#include <type_traits>

#include <xgrad/base/gemm_kernel.hpp>
#include <xgrad/base/scratch.hpp>
#include <xgrad/base/vec.hpp>

namespace xgrad::detail::kernel {

/// A vector operand: element i is data[i * stride], or its conjugate.
template <class T> struct VectorOperand {
    T const* data;
    std::ptrdiff_t stride;
    bool conj;

    T operator[](std::size_t i) const
    {
        auto const x = data[static_cast<std::ptrdiff_t>(i) * stride];
        if constexpr (parts<T> == 1) return x;
        else return conj ? std::conj(x) : x;
    }
};

/// What is to be computed: y = M x, or y += M x if `add`, for a matrix M of rows x columns; y has a stride as well.
template <class T> struct VectorProduct {
    std::size_t rows, columns;
    Operand<T> m;
    VectorOperand<T> x;
    T* y;
    std::ptrdiff_t ys;
    bool add;

    T& y_at(std::size_t i) const { return y[static_cast<std::ptrdiff_t>(i) * ys]; }
    void put(std::size_t i, T value) const { y_at(i) = add ? y_at(i) + value : value; }
};

/// sum_i a[i] b[i] for any strides, without preparations.
template <class T> T dot(std::size_t count, VectorOperand<T> a, VectorOperand<T> b)
{
    if constexpr (parts<T> == 1) {
        T sum = 0;
        for (std::size_t i = 0; i < count; ++i) sum += a[i] * b[i];
        return sum;
    } else {
        // The four products are summed apart and the signs of conjugation come last.
        real_of<T> rr = 0, ri = 0, ir = 0, ii = 0;
        for (std::size_t i = 0; i < count; ++i, a.data += a.stride, b.data += b.stride) {
            auto const* const x = reinterpret_cast<real_of<T> const*>(a.data);
            auto const* const y = reinterpret_cast<real_of<T> const*>(b.data);
            rr += x[0] * y[0], ri += x[0] * y[1];
            ir += x[1] * y[0], ii += x[1] * y[1];
        }
        return {a.conj == b.conj ? rr - ii : rr + ii, (b.conj ? -ri : ri) + (a.conj ? -ir : ir)};
    }
}

/// to[part] = sum_i line[i] x[part][i] for the vectors x that follow one another.
template <std::size_t Vectors, class Real>
void dots(std::size_t count, Real const* line, Real const* x, Real (&to)[Vectors])
{
    using Word = Vec<Real>;
    constexpr std::size_t lanes = width<Word, Real>, chains = 4;  // sums that do not wait for one another
    Word sum[Vectors][chains] = {};
    std::size_t i = 0;
    auto const add_word = [&](std::size_t at, auto chain) XGRAD_INLINE_LAMBDA {
        auto const word = load<Word>(line + at);
        unroll<Vectors>([&](auto v) XGRAD_INLINE_LAMBDA { sum[v][chain] += word * load<Word>(x + v * count + at); });
    };
    for (; i + chains * lanes <= count; i += chains * lanes)
        unroll<chains>([&](auto c) XGRAD_INLINE_LAMBDA { add_word(i + c * lanes, c); });
    for (; i + lanes <= count; i += lanes) add_word(i, std::integral_constant<std::size_t, 0>{});
    for (std::size_t v = 0; v < Vectors; ++v) {
        auto word = sum[v][0];
        for (std::size_t c = 1; c < chains; ++c) word += sum[v][c];
        Real all[lanes];
        store(all, word);
        to[v] = 0;
        for (auto const lane : all) to[v] += lane;
        for (std::size_t j = i; j < count; ++j) to[v] += line[j] * x[v * count + j];
    }
}

/// For a matrix whose rows are contiguous.
template <class T> void multiply_rows(VectorProduct<T> const& product)
{
    using Real = real_of<T>;
    auto const& [rows, columns, m, x, y, ys, add] = product;
    Scratch<Real> const scratch(parts<T> * parts<T> * columns);
    Real* const re = scratch.data();
    for (std::size_t j = 0; j < columns; ++j) {
        if constexpr (parts<T> == 1) {
            re[j] = x[j];
        } else {
            Real const sign = m.conj ? -1 : 1, p = x[j].real(), q = x[j].imag();
            Real* const im = re + 2 * columns;
            re[2 * j] = p, re[2 * j + 1] = -sign * q;
            im[2 * j] = q, im[2 * j + 1] = sign * p;
        }
    }
    for (std::size_t i = 0; i < rows; ++i) {
        Real sums[parts<T>];
        dots(parts<T> * columns, reinterpret_cast<Real const*>(m.at(i, 0)), re, sums);
        if constexpr (parts<T> == 1) product.put(i, sums[0]);
        else product.put(i, T(sums[0], sums[1]));
    }
}

/// sum[part] += column[c] * x[c][part] for N columns and all parts of x.
template <std::size_t N, class T>
void add_columns(std::size_t rows, Operand<T> m, VectorOperand<T> x, std::size_t first, real_of<T>* sum)
{
    using Real = real_of<T>;
    auto const count = parts<T> * rows;
    Real const* column[N];
    Real factor[N][parts<T>];
    for (std::size_t c = 0; c < N; ++c) {
        T const value = x[first + c];
        std::copy_n(reinterpret_cast<Real const*>(&value), parts<T>, factor[c]);
        column[c] = reinterpret_cast<Real const*>(m.at(0, first + c));
    }
    cover_once<Real>(count, [&]<class V>(std::size_t i) XGRAD_INLINE_LAMBDA {
        V total[parts<T>];
        unroll<parts<T>>([&](auto part) XGRAD_INLINE_LAMBDA { total[part] = load<V>(sum + part * count + i); });
        unroll<N>([&](auto c) XGRAD_INLINE_LAMBDA {
            auto const word = load<V>(column[c] + i);
            unroll<parts<T>>([&](auto part) XGRAD_INLINE_LAMBDA { total[part] += factor[c][part] * word; });
        });
        unroll<parts<T>>([&](auto part) XGRAD_INLINE_LAMBDA { store(sum + part * count + i, total[part]); });
    });
}

/// For a matrix whose columns are contiguous.
template <class T> void multiply_columns(VectorProduct<T> const& product)
{
    using Real = real_of<T>;
    auto const& [rows, columns, m, x, y, ys, add] = product;
    auto const count = parts<T> * rows;
    Scratch<Real> const scratch(parts<T> * count);
    Real* const sum = scratch.data();
    std::fill(sum, sum + parts<T> * count, Real(0));
    std::size_t j = 0;
    for (; j + 4 <= columns; j += 4) add_columns<4>(rows, m, x, j, sum);
    for (; j < columns; ++j) add_columns<1>(rows, m, x, j, sum);
    for (std::size_t i = 0; i < rows; ++i) {
        if constexpr (parts<T> == 1) {
            product.put(i, sum[i]);
        } else {
            Real const sign = m.conj ? -1 : 1;
            Real const* const by_re = sum + 2 * i;
            Real const* const by_im = by_re + count;
            product.put(i, T(by_re[0] - sign * by_im[1], by_im[0] + sign * by_re[1]));
        }
    }
}

template <class T> void multiply_vector(VectorProduct<T> const& product)
{
    constexpr std::size_t shortest_row = 24;  // below, adding up the lanes costs more than they save
    auto const& m = product.m;
    if (m.cs == 1 && product.columns >= shortest_row) return multiply_rows(product);
    if (m.rs == 1) return multiply_columns(product);
    for (std::size_t i = 0; i < product.rows; ++i)
        product.put(i, dot(product.columns, VectorOperand<T>{m.at(i, 0), m.cs, m.conj}, product.x));
}
}  // namespace xgrad::detail::kernel
