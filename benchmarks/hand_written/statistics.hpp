// Log densities of many observations and misfits of linear models, by hand: value and gradient in
// one pass over the data.
#pragma once

#include "batch.hpp"

namespace hand {

inline double const log_root_two_pi = 0.5 * std::log(2 * 3.141592653589793);

struct NormalGradient {
    double mu, sigma;
};
/// The sum of the normal log densities of n observations, and its gradient for mean and deviation:
/// two sums make all three.
[[gnu::noinline]] inline double normal(
    double const* x, double mu, double sigma, NormalGradient* g, std::size_t n) {
    constexpr std::size_t w = width<double>;
    using V = Batch<double>;
    double const inverse = 1 / sigma, count = static_cast<double>(n);
    V sums[4] = {V(0.), V(0.), V(0.), V(0.)}, squares[4] = {V(0.), V(0.), V(0.), V(0.)};
    std::size_t i = 0;
    for (; i + 4 * w <= n; i += 4 * w)
        for (std::size_t j = 0; j < 4; ++j) {
            V const r = (load<V>(x + i + j * w) - V(mu)) * V(inverse);
            sums[j] += r;
            squares[j] += r * r;
        }
    double sum = total<double>((sums[0] + sums[1]) + (sums[2] + sums[3])),
           square = total<double>((squares[0] + squares[1]) + (squares[2] + squares[3]));
    for (; i < n; ++i) {
        double const r = (x[i] - mu) * inverse;
        sum += r;
        square += r * r;
    }
    *g = {sum * inverse, (square - count) * inverse};
    return -0.5 * square - count * (std::log(sigma) + log_root_two_pi);
}

/// The columns of a matrix in batches. Where their number is no multiple of the width, the last
/// batch overlaps the one before it, and the columns that both have count in the first.
struct Columns {
    std::size_t count, batches = (count + width<double> - 1) / width<double>;
    std::size_t operator[](std::size_t j) const {
        return std::min(j * width<double>, count - width<double>);
    }
    std::size_t counted_already(std::size_t j) const { return j * width<double> - (*this)[j]; }
};

/// -0.5 exp(-2 s) |y - X w|^2 - n s - 0.5 |w|^2: the log posterior, but for constants, of weights w
/// that are normal a priori and of the logarithm s of the deviation of the noise, given n
/// observations. Four rows at a time; `weights` and `sums` are buffers for k numbers rounded up to
/// whole batches. Writes the gradient for w to `gw` and that for s to `gs`.
[[gnu::noinline]] inline double regression(double const* x, double const* y, double const* w,
    double s, double* gw, double* gs, double* weights, double* sums, std::size_t n, std::size_t k) {
    constexpr std::size_t each = width<double>, rows = 4;
    using V = Batch<double>;
    Columns const columns{k};
    for (std::size_t j = 0; j < columns.batches; ++j)
        for (std::size_t lane = 0; lane < each; ++lane) {
            weights[j * each + lane] = lane < columns.counted_already(j) ? 0 : w[columns[j] + lane];
            sums[j * each + lane] = 0;
        }
    double misfit = 0;
    auto const pass = [&]<std::size_t count>(
                          std::size_t i, std::integral_constant<std::size_t, count>) HAND_INLINE {
        double const* const row = x + i * k;
        V dots[count], residuals[count];
        for (auto& dot : dots) dot = V(0.);
        for (std::size_t j = 0; j < columns.batches; ++j)
            for (std::size_t r = 0; r < count; ++r)
                dots[r] += load<V>(row + r * k + columns[j]) * load<V>(weights + j * each);
        for (std::size_t r = 0; r < count; ++r) {
            double const residual = y[i + r] - total<double>(dots[r]);
            misfit += residual * residual;
            residuals[r] = V(residual);
        }
        for (std::size_t j = 0; j < columns.batches; ++j) {
            V sum = load<V>(sums + j * each);
            for (std::size_t r = 0; r < count; ++r)
                sum += residuals[r] * load<V>(row + r * k + columns[j]);
            put(sums + j * each, sum);
        }
    };
    std::size_t i = 0;
    for (; i + rows <= n; i += rows) pass(i, std::integral_constant<std::size_t, rows>{});
    for (; i < n; ++i) pass(i, std::integral_constant<std::size_t, 1>{});

    double const precision = std::exp(-2 * s), count = static_cast<double>(n);
    for (std::size_t j = 0; j < columns.batches; ++j)
        for (std::size_t lane = columns.counted_already(j); lane < each; ++lane) {
            auto const at = columns[j] + lane;
            gw[at] = precision * sums[j * each + lane] - w[at];
        }
    *gs = precision * misfit - count;
    return -0.5 * precision * misfit - count * s -
           0.5 * sum_of<double>(k, [=]<class V>(std::size_t j, V)
                                       HAND_INLINE { return load<V>(w + j) * load<V>(w + j); });
}

/// |A z - b|^2 for a complex (n, n) matrix, and its gradient for z. Four rows at a time; n is a
/// multiple of four and of the width of a batch; `buffer` has 4 n numbers, where real and imaginary
/// parts are separate.
[[gnu::noinline]] inline double complex_misfit(std::complex<double> const* a,
    std::complex<double> const* z, std::complex<double> const* b, std::complex<double>* gz,
    double* buffer, std::size_t n) {
    constexpr std::size_t rows = 4;
    using V = Batch<double>;
    double *const re = buffer, *const im = re + n, *const g_re = im + n, *const g_im = g_re + n;
    for (std::size_t j = 0; j < n; ++j) re[j] = z[j].real(), im[j] = z[j].imag();
    std::fill_n(g_re, 2 * n, 0.);
    double misfit = 0;
    for (std::size_t i = 0; i < n; i += rows, a += rows * n) {
        Complex<V> y[rows];
        for (auto& sum : y) sum = {V(0.), V(0.)};
        for (std::size_t j = 0; j < n; j += width<double>) {
            V const p = load<V>(re + j), q = load<V>(im + j);
            for (std::size_t r = 0; r < rows; ++r) {
                auto const v = load_complex<V>(a + r * n + j);
                y[r].re += v.re * p - v.im * q;
                y[r].im += v.re * q + v.im * p;
            }
        }
        for (std::size_t r = 0; r < rows; ++r) {
            double const y_re = total<double>(y[r].re) - b[i + r].real(),
                         y_im = total<double>(y[r].im) - b[i + r].imag();
            misfit += y_re * y_re + y_im * y_im;
            y[r] = {V(2 * y_re), V(2 * y_im)};
        }
        for (std::size_t j = 0; j < n; j += width<double>) {
            V p = load<V>(g_re + j), q = load<V>(g_im + j);
            for (std::size_t r = 0; r < rows; ++r) {
                auto const v = load_complex<V>(a + r * n + j);
                p += v.re * y[r].re + v.im * y[r].im;
                q += v.re * y[r].im - v.im * y[r].re;
            }
            put(g_re + j, p);
            put(g_im + j, q);
        }
    }
    for (std::size_t j = 0; j < n; ++j) gz[j] = {g_re[j], g_im[j]};
    return misfit;
}

} // namespace hand
