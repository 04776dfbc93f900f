// Reductions, broadcasting and moves by hand, with the gradient of each. Matrices are (m, n), in
// rows.
#pragma once

#include "batch.hpp"

namespace hand {

// sum(square(a + b)) and sum(square(a * b)), for an (m, n) matrix a and b of the same shape, or a
// row, or a column

[[gnu::noinline]] inline double square_sum(
    double const* a, double const* b, double* ga, double* gb, std::size_t n) {
    return sum_of<double>(n, [=]<class V>(std::size_t i, V) HAND_INLINE {
        V const u = load<V>(a + i) + load<V>(b + i), g = u + u;
        put(ga + i, g);
        put(gb + i, g);
        return u * u;
    });
}
[[gnu::noinline]] inline double square_product(
    double const* a, double const* b, double* ga, double* gb, std::size_t n) {
    return sum_of<double>(n, [=]<class V>(std::size_t i, V) HAND_INLINE {
        V const x = load<V>(a + i), y = load<V>(b + i), u = x * y, g = u + u;
        put(ga + i, g * y);
        put(gb + i, g * x);
        return u * u;
    });
}
[[gnu::noinline]] inline double square_sum_row(
    double const* a, double const* b, double* ga, double* gb, std::size_t m, std::size_t n) {
    double s = 0;
    std::fill_n(gb, n, 0.);
    for (std::size_t row = 0; row < m; ++row, a += n, ga += n)
        s += sum_of<double>(n, [=]<class V>(std::size_t i, V) HAND_INLINE {
            V const u = load<V>(a + i) + load<V>(b + i), g = u + u;
            put(ga + i, g);
            put(gb + i, load<V>(gb + i) + g);
            return u * u;
        });
    return s;
}
[[gnu::noinline]] inline double square_product_column(
    double const* a, double const* b, double* ga, double* gb, std::size_t m, std::size_t n) {
    double s = 0;
    for (std::size_t row = 0; row < m; ++row, a += n, ga += n) {
        // sum u^2 over the row is b^2 sum a^2; to compare like with like, the loop does not use it
        double const y = b[row];
        Batch<double> gy(0.);
        double gy_rest = 0;
        s += sum_of<double>(n, [=, &gy, &gy_rest]<class V>(std::size_t i, V) HAND_INLINE {
            V const x = load<V>(a + i), u = x * V(y), g = u + u;
            put(ga + i, g * V(y));
            if constexpr (std::is_same_v<V, Batch<double>>) gy += g * x;
            else gy_rest += g * x;
            return u * u;
        });
        gb[row] = total<double>(gy) + gy_rest;
    }
    return s;
}

/// y = x + b with a row b, and the gradients of both from a given one of y.
[[gnu::noinline]] inline void bias(double const* x, double const* b, double const* g, double* y,
    double* gx, double* gb, std::size_t m, std::size_t n) {
    std::fill_n(gb, n, 0.);
    for (std::size_t row = 0; row < m; ++row, x += n, g += n, y += n, gx += n)
        for_batches<double>(n, [=]<class V>(std::size_t i, V) HAND_INLINE {
            V const upstream = load<V>(g + i);
            put(y + i, load<V>(x + i) + load<V>(b + i));
            put(gx + i, upstream);
            put(gb + i, load<V>(gb + i) + upstream);
        });
}

// sum(square(sum(x, {0}))) and sum(square(sum(x, {1})))

[[gnu::noinline]] inline double column_sums(
    double const* x, double* gx, double* sums, std::size_t m, std::size_t n) {
    std::fill_n(sums, n, 0.);
    for (std::size_t row = 0; row < m; ++row)
        for_batches<double>(n, [=]<class V>(std::size_t i, V) HAND_INLINE {
            put(sums + i, load<V>(sums + i) + load<V>(x + row * n + i));
        });
    double const value = sum_of<double>(n, [=]<class V>(std::size_t i, V) HAND_INLINE {
        V const s = load<V>(sums + i);
        put(sums + i, s + s);
        return s * s;
    });
    for (std::size_t row = 0; row < m; ++row) std::copy_n(sums, n, gx + row * n);
    return value;
}
[[gnu::noinline]] inline double row_sums(
    double const* x, double* gx, std::size_t m, std::size_t n) {
    double value = 0;
    for (std::size_t row = 0; row < m; ++row, x += n, gx += n) {
        double const s = sum_of<double>(
            n, [=]<class V>(std::size_t i, V) HAND_INLINE { return load<V>(x + i); });
        std::fill_n(gx, n, 2 * s);
        value += s * s;
    }
    return value;
}

/// The largest of n elements, four batches at a time.
[[gnu::always_inline]] inline double largest_of(double const* x, std::size_t n) {
    constexpr std::size_t w = width<double>;
    using V = Batch<double>;
    double most = x[0];
    std::size_t i = 0;
    if (n >= 4 * w) {
        V m0 = load<V>(x), m1 = load<V>(x + w), m2 = load<V>(x + 2 * w), m3 = load<V>(x + 3 * w);
        for (i = 4 * w; i + 4 * w <= n; i += 4 * w) {
            m0 = larger(m0, load<V>(x + i));
            m1 = larger(m1, load<V>(x + i + w));
            m2 = larger(m2, load<V>(x + i + 2 * w));
            m3 = larger(m3, load<V>(x + i + 3 * w));
        }
        for (; i + w <= n; i += w) m0 = larger(m0, load<V>(x + i));
        most = largest<double>(larger(larger(m0, m1), larger(m2, m3)));
    }
    for (; i < n; ++i) most = std::max(most, x[i]);
    return most;
}

/// sum(square(amax(x, {1}))): elements that share the largest value share its gradient.
[[gnu::noinline]] inline double row_maxima(
    double const* x, double* gx, std::size_t m, std::size_t n) {
    double value = 0;
    for (std::size_t row = 0; row < m; ++row, x += n, gx += n) {
        double const most = largest_of(x, n);
        double const count = sum_of<double>(n, [=]<class V>(std::size_t i, V) HAND_INLINE {
            return select(load<V>(x + i) == V(most), V(1.), V(0.));
        });
        for_batches<double>(n, [=]<class V>(std::size_t i, V) HAND_INLINE {
            put(gx + i, select(load<V>(x + i) == V(most), V(2 * most / count), V(0.)));
        });
        value += most * most;
    }
    return value;
}

/// logsumexp(x): the exponentials are the gradient but for a factor.
[[gnu::noinline]] inline double logsumexp(double const* x, double* gx, std::size_t n) {
    double const most = largest_of(x, n);
    double const sum = sum_of<double>(n, [=]<class V>(std::size_t i, V) HAND_INLINE {
        using std::exp;
        V const e = exp(load<V>(x + i) - V(most));
        put(gx + i, e);
        return e;
    });
    for_batches<double>(n, [=, scale = 1 / sum]<class V>(std::size_t i, V)
                               HAND_INLINE { put(gx + i, V(scale) * load<V>(gx + i)); });
    return std::log(sum) + most;
}

/// prod(x): each gradient is the product of the others, without a division, so that zeros do no
/// harm. Each lane of four batches is a chain of its own, and so is the tail. A pass forward
/// multiplies the elements before each one, and a pass back those after it and all other chains.
[[gnu::noinline]] inline double product(double const* x, double* gx, std::size_t n) {
    constexpr std::size_t w = width<double>, lanes = 4 * w;
    using V = Batch<double>;
    V p[4] = {V(1.), V(1.), V(1.), V(1.)};
    std::size_t const end = n - n % lanes;
    for (std::size_t i = 0; i < end; i += lanes)
        for (std::size_t j = 0; j < 4; ++j) {
            put(gx + i + j * w, p[j]);
            p[j] = p[j] * load<V>(x + i + j * w);
        }
    double chain[lanes + 1], others[lanes + 1], value = 1, after = 1;
    for (std::size_t j = 0; j < 4; ++j) put(chain + j * w, p[j]);
    chain[lanes] = 1;
    for (std::size_t i = end; i < n; ++i) gx[i] = chain[lanes], chain[lanes] *= x[i];
    for (std::size_t j = 0; j <= lanes; ++j) others[j] = value, value *= chain[j];
    for (std::size_t j = lanes + 1; j-- > 0;) others[j] *= after, after *= chain[j];
    for (std::size_t i = n; i-- > end;) gx[i] *= others[lanes], others[lanes] *= x[i];
    for (std::size_t j = 0; j < 4; ++j) p[j] = load<V>(others + j * w);
    for (std::size_t i = end; i > 0;) {
        i -= lanes;
        for (std::size_t j = 0; j < 4; ++j) {
            put(gx + i + j * w, load<V>(gx + i + j * w) * p[j]);
            p[j] = p[j] * load<V>(x + i + j * w);
        }
    }
    return value;
}

// sum(square(transpose(x) + y)) for an (m, n) matrix x

/// Transposes a square of batches: exchanges blocks of 1, 2, 4, ... elements.
template <class V, std::size_t w> [[gnu::always_inline]] inline void transpose(V (&rows)[w]) {
#if HAND_SHUFFLES
    auto const exchange = [&rows]<std::size_t block, std::size_t... I>(
                              std::integral_constant<std::size_t, block>,
                              std::index_sequence<I...>) HAND_INLINE {
        for (std::size_t i = 0; i < w; ++i) {
            if (i & block) continue;
            auto const p = rows[i].data, q = rows[i + block].data;
            rows[i] = V(
                __builtin_shufflevector(p, q, static_cast<int>(I & block ? w + I - block : I)...));
            rows[i + block] = V(
                __builtin_shufflevector(p, q, static_cast<int>(I & block ? w + I : I + block)...));
        }
    };
    auto const all = std::make_index_sequence<w>{};
    if constexpr (w > 1) exchange(std::integral_constant<std::size_t, 1>{}, all);
    if constexpr (w > 2) exchange(std::integral_constant<std::size_t, 2>{}, all);
    if constexpr (w > 4) exchange(std::integral_constant<std::size_t, 4>{}, all);
    static_assert(w <= 8);
#else
    using T = double;
    T numbers[w][w];
    for (std::size_t i = 0; i < w; ++i) put(numbers[i], rows[i]);
    for (std::size_t i = 0; i < w; ++i)
        for (std::size_t j = 0; j < i; ++j) std::swap(numbers[i][j], numbers[j][i]);
    for (std::size_t i = 0; i < w; ++i) rows[i] = load<V>(numbers[i]);
#endif
}
/// In squares; m and n are multiples of the width of a batch.
[[gnu::noinline]] inline double transposed_sum(
    double const* x, double const* y, double* gx, double* gy, std::size_t m, std::size_t n) {
    constexpr std::size_t w = width<double>;
    using V = Batch<double>;
    V sum[4] = {V(0.), V(0.), V(0.), V(0.)};
    for (std::size_t i = 0; i < m; i += w)
        for (std::size_t j = 0; j < n; j += w) {
            V square[w];
            for (std::size_t k = 0; k < w; ++k) square[k] = load<V>(x + (i + k) * n + j);
            transpose(square);
            for (std::size_t k = 0; k < w; ++k) {
                auto const at = (j + k) * m + i;
                V const u = square[k] + load<V>(y + at);
                sum[k % 4] += u * u;
                square[k] = u + u;
                put(gy + at, square[k]);
            }
            transpose(square);
            for (std::size_t k = 0; k < w; ++k) put(gx + (i + k) * n + j, square[k]);
        }
    return total<double>((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

} // namespace hand
