// Functions of matrix products, by hand: the BLAS computes the products, loops compute the rest,
// and nothing is computed twice.
#pragma once

#include "batch.hpp"

extern "C" {
void sgemm_(char const*, char const*, int const*, int const*, int const*, float const*,
    float const*, int const*, float const*, int const*, float const*, float*, int const*);
void dgemm_(char const*, char const*, int const*, int const*, int const*, double const*,
    double const*, int const*, double const*, int const*, double const*, double*, int const*);
void cgemm_(char const*, char const*, int const*, int const*, int const*,
    std::complex<float> const*, std::complex<float> const*, int const*, std::complex<float> const*,
    int const*, std::complex<float> const*, std::complex<float>*, int const*);
void zgemm_(char const*, char const*, int const*, int const*, int const*,
    std::complex<double> const*, std::complex<double> const*, int const*,
    std::complex<double> const*, int const*, std::complex<double> const*, std::complex<double>*,
    int const*);
}

namespace hand {

/// C = op(A) op(B), with C (m, n) and k numbers in each product; op is N, T or C as for a BLAS. All
/// lie in rows, while a BLAS thinks in columns: it is asked for the transpose.
template <class T>
void gemm(char op_a, char op_b, std::size_t m, std::size_t n, std::size_t k, T const* a, T const* b,
    T* c) {
    auto const size = [](std::size_t i) { return static_cast<int>(i); };
    int const rows = size(n), columns = size(m), inner = size(k), lda = size(op_a == 'N' ? k : m),
              ldb = size(op_b == 'N' ? n : k);
    T const one(1), zero(0);
    auto const call = [&](auto const& gemm) {
        gemm(&op_b, &op_a, &rows, &columns, &inner, &one, b, &ldb, a, &lda, &zero, c, &rows);
    };
    if constexpr (std::is_same_v<T, float>) call(sgemm_);
    else if constexpr (std::is_same_v<T, double>) call(dgemm_);
    else if constexpr (std::is_same_v<T, std::complex<float>>) call(cgemm_);
    else call(zgemm_);
}

// sum(square(matmul(A, B))), or sum(abs2(...)) of complex matrices, for (n, n) matrices: c is a
// buffer for the product, and then for its gradient

template <class T>
double squared_product(T const* a, T const* b, T* c, T* ga, T* gb, std::size_t n) {
    gemm('N', 'N', n, n, n, a, b, c);
    constexpr bool complex = !std::is_floating_point_v<T>;
    using R = decltype(std::abs(T()));
    auto* const numbers = reinterpret_cast<R*>(c);
    double const sum =
        sum_of<R>((complex ? 2 : 1) * n * n, [=]<class V>(std::size_t i, V) HAND_INLINE {
            V const u = load<V>(numbers + i);
            put(numbers + i, u + u);
            return u * u;
        });
    gemm('N', complex ? 'C' : 'T', n, n, n, c, b, ga);
    gemm(complex ? 'C' : 'T', 'N', n, n, n, a, c, gb);
    return sum;
}

/// squared_product() of 8 x 8 matrices: a call of a BLAS costs more than the product, so that a
/// loop keeps each row of it in batches.
[[gnu::noinline]] inline double squared_product_8(
    double const* a, double const* b, double* ga, double* gb) {
    constexpr std::size_t n = 8, w = width<double>, batches = n / w;
    using V = Batch<double>;
    double transposed[n * n];
    alignas(64) double g[n * n];
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) transposed[j * n + i] = b[i * n + j];
    // A row of a product: the rows of the right factor, times the numbers x, x + step, ...
    auto const row = [](double const* x, std::size_t step, double const* right, V(&out)[batches])
                         HAND_INLINE {
                             for (auto& batch : out) batch = V(0.);
                             for (std::size_t k = 0; k < n; ++k)
                                 for (std::size_t j = 0; j < batches; ++j)
                                     out[j] += V(x[k * step]) * load<V>(right + k * n + j * w);
                         };
    V sum(0.);
    for (std::size_t i = 0; i < n; ++i) {
        V out[batches];
        row(a + i * n, 1, b, out);
        for (std::size_t j = 0; j < batches; ++j) {
            sum += out[j] * out[j];
            put(g + i * n + j * w, out[j] + out[j]);
        }
    }
    for (std::size_t i = 0; i < n; ++i) {
        V out[batches];
        row(g + i * n, 1, transposed, out);
        for (std::size_t j = 0; j < batches; ++j) put(ga + i * n + j * w, out[j]);
        row(a + i, n, g, out);
        for (std::size_t j = 0; j < batches; ++j) put(gb + i * n + j * w, out[j]);
    }
    return total<double>(sum);
}

/// A perceptron with one hidden layer: x (m, in), hidden = relu(x w1 + b1), z = hidden w2 + b2, and
/// the mean cross entropy of softmax(z) with the labels. All gradients, with the values that they
/// need, in memory of the caller.
struct Perceptron {
    std::size_t m, in, width, out;
    double const *x, *w1, *b1, *w2, *b2;
    std::size_t const* labels;
    double *hidden, *z, *g_hidden, *g_w1, *g_b1, *g_w2, *g_b2;

    [[gnu::noinline]] double operator()() const {
        gemm('N', 'N', m, width, in, x, w1, hidden);
        for (std::size_t i = 0; i < m; ++i)
            for_batches<double>(width,
                [this, h = hidden + i * width]<class V>(std::size_t j, V)
                    HAND_INLINE { put(h + j, larger(load<V>(h + j) + load<V>(b1 + j), V(0.))); });
        gemm('N', 'N', m, out, width, hidden, w2, z);
        double const loss = cross_entropy();
        gemm('T', 'N', width, out, m, hidden, z, g_w2);
        gemm('N', 'T', m, width, out, z, w2, g_hidden);
        std::fill_n(g_b1, width, 0.);
        for (std::size_t i = 0; i < m; ++i)
            for_batches<double>(width,
                [this, h = hidden + i * width, g = g_hidden + i * width]<class V>(std::size_t j, V)
                    HAND_INLINE {
                        V const through = select(load<V>(h + j) > V(0.), load<V>(g + j), V(0.));
                        put(g + j, through);
                        put(g_b1 + j, load<V>(g_b1 + j) + through);
                    });
        gemm('T', 'N', in, width, m, x, g_hidden, g_w1);
        return loss;
    }

private:
    /// Of z without its bias, which becomes the gradient in place. All exponentials in one loop,
    /// since rows are short.
    double cross_entropy() const {
        double loss = 0;
        for (std::size_t i = 0; i < m; ++i) {
            double* const row = z + i * out;
            double most = row[0] += b2[0];
            for (std::size_t j = 1; j < out; ++j) most = std::max(most, row[j] += b2[j]);
            for (std::size_t j = 0; j < out; ++j) row[j] -= most;
            loss -= row[labels[i]];
        }
        for_batches<double>(m * out, [this]<class V>(std::size_t i, V) HAND_INLINE {
            using std::exp;
            put(z + i, exp(load<V>(z + i)));
        });
        double const share = 1 / static_cast<double>(m);
        std::fill_n(g_b2, out, 0.);
        for (std::size_t i = 0; i < m; ++i) {
            double* const row = z + i * out;
            double sum = 0;
            for (std::size_t j = 0; j < out; ++j) sum += row[j];
            loss += std::log(sum);
            for (std::size_t j = 0; j < out; ++j) row[j] *= share / sum;
            row[labels[i]] -= share;
            for (std::size_t j = 0; j < out; ++j) g_b2[j] += row[j];
        }
        return share * loss;
    }
};

} // namespace hand
