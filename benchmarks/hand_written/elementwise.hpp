// Values and gradients of sums of elementwise functions, as somebody in need of speed writes them
// for one function: the derivative found on paper, explicit SIMD, results in memory that is
// allocated already. Nothing is left out.
#pragma once

#include "batch.hpp"

namespace hand {

// sum(a*b + 0.5*a - b/(a+2)): in one pass for both value and gradients, or in one for each

/// One division serves the value and both gradients.
template <Stores how = Stores::cached, class T>
[[gnu::noinline]] double rational(T const* a, T const* b, T* ga, T* gb, std::size_t n) {
    auto const sum = sum_of<T>(n, [=]<class V>(std::size_t i, V) HAND_INLINE {
        V const x = load<V>(a + i), y = load<V>(b + i), r = V(T(1)) / (x + V(T(2))), q = y * r;
        put<how>(ga + i, y + V(T(0.5)) + q * r);
        put<how>(gb + i, x - r);
        return x * y + V(T(0.5)) * x - q;
    });
    finish_stores<how>();
    return sum;
}
/// A few elements do not fill a batch. For them the shorter vectors that a compiler chooses are
/// faster.
[[gnu::noinline]] inline double rational_plain(
    double const* a, double const* b, double* __restrict ga, double* __restrict gb, std::size_t n) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
        double const r = 1 / (a[i] + 2), q = b[i] * r;
        ga[i] = b[i] + 0.5 + q * r;
        gb[i] = a[i] - r;
        sum += a[i] * b[i] + 0.5 * a[i] - q;
    }
    return sum;
}
template <class T> [[gnu::noinline]] double rational_value(T const* a, T const* b, std::size_t n) {
    return sum_of<T>(n, [=]<class V>(std::size_t i, V) HAND_INLINE {
        V const x = load<V>(a + i), y = load<V>(b + i);
        return x * y + V(T(0.5)) * x - y / (x + V(T(2)));
    });
}
template <class T>
[[gnu::noinline]] void rational_gradient(T const* a, T const* b, T* ga, T* gb, std::size_t n) {
    for_batches<T>(n, [=]<class V>(std::size_t i, V) HAND_INLINE {
        V const x = load<V>(a + i), y = load<V>(b + i), r = V(T(1)) / (x + V(T(2)));
        put(ga + i, y + V(T(0.5)) + y * r * r);
        put(gb + i, x - r);
    });
}

// sum(sin(a)*b + exp(a))

template <Stores how = Stores::cached, class T>
[[gnu::noinline]] double sine_exp(T const* a, T const* b, T* ga, T* gb, std::size_t n) {
    auto const sum = sum_of<T>(n, [=]<class V>(std::size_t i, V) HAND_INLINE {
        using std::exp;
        V const x = load<V>(a + i), y = load<V>(b + i), e = exp(x);
        auto const [s, c] = sine_cosine(x);
        put<how>(ga + i, c * y + e);
        put<how>(gb + i, s);
        return s * y + e;
    });
    finish_stores<how>();
    return sum;
}

// sum(tanh(a*b) + log(1 + a*a)), and the product of its Hessian with a direction (u, v)

template <Stores how = Stores::cached, class T>
[[gnu::noinline]] double tanh_log(T const* a, T const* b, T* ga, T* gb, std::size_t n) {
    auto const sum = sum_of<T>(n, [=]<class V>(std::size_t i, V) HAND_INLINE {
        using std::log, std::tanh;
        V const x = load<V>(a + i), y = load<V>(b + i), t = tanh(x * y), slope = V(T(1)) - t * t,
                square = V(T(1)) + x * x;
        put<how>(ga + i, slope * y + (x + x) / square);
        put<how>(gb + i, slope * x);
        return t + log(square);
    });
    finish_stores<how>();
    return sum;
}
template <class T>
[[gnu::noinline]] void tanh_log_hvp(
    T const* a, T const* b, T const* u, T const* v, T* ha, T* hb, std::size_t n) {
    for_batches<T>(n, [=]<class V>(std::size_t i, V) HAND_INLINE {
        using std::tanh;
        V const x = load<V>(a + i), y = load<V>(b + i), dx = load<V>(u + i), dy = load<V>(v + i);
        V const t = tanh(x * y), slope = V(T(1)) - t * t,
                bend = V(T(-2)) * t * slope * (dx * y + x * dy), r = V(T(1)) / (V(T(1)) + x * x);
        put(ha + i, bend * y + slope * dy + V(T(2)) * (V(T(1)) - x * x) * r * r * dx);
        put(hb + i, bend * x + slope * dx);
    });
}

// sum(where(a > b, a*b, a - b))

template <class T>
[[gnu::noinline]] double choice(T const* a, T const* b, T* ga, T* gb, std::size_t n) {
    return sum_of<T>(n, [=]<class V>(std::size_t i, V) HAND_INLINE {
        V const x = load<V>(a + i), y = load<V>(b + i);
        auto const first = x > y;
        put(ga + i, select(first, y, V(T(1))));
        put(gb + i, select(first, x, V(T(-1))));
        return select(first, x * y, x - y);
    });
}

// sum(abs2(exp(i*phi)*z - t)), with the gradients for real phi and complex z

/// One sine and cosine serve the value and both gradients.
template <Stores how = Stores::cached, class T>
[[gnu::noinline]] double phase(T const* phi, std::complex<T> const* z, std::complex<T> const* t,
    T* gphi, std::complex<T>* gz, std::size_t n) {
    auto const sum = sum_of<T>(n, [=]<class V>(std::size_t i, V) HAND_INLINE {
        auto const [s, c] = sine_cosine(load<V>(phi + i));
        auto const x = load_complex<V>(z + i), y = load_complex<V>(t + i);
        V const w_re = c * x.re - s * x.im, w_im = c * x.im + s * x.re, re = w_re - y.re,
                im = w_im - y.im, g_re = re + re, g_im = im + im;
        put<how>(gphi + i, g_im * w_re - g_re * w_im);
        store_complex<how>(gz + i, Complex<V>{g_re * c + g_im * s, g_im * c - g_re * s});
        return re * re + im * im;
    });
    finish_stores<how>();
    return sum;
}

// sum(abs2(tanh(z*w) - t)), complex

/// tanh(x + iy) = (sinh 2x + i sin 2y)/(cosh 2x + cos 2y); its derivative is 1 - tanh^2. Only for
/// |x| that do not overflow.
template <class T>
[[gnu::noinline]] double complex_tanh(std::complex<T> const* z, std::complex<T> const* w,
    std::complex<T> const* t, std::complex<T>* gz, std::complex<T>* gw, std::size_t n) {
    return sum_of<T>(n, [=]<class V>(std::size_t i, V) HAND_INLINE {
        using std::exp;
        V const one(T(1)), half(T(0.5));
        auto const x = load_complex<V>(z + i), y = load_complex<V>(w + i),
                   target = load_complex<V>(t + i);
        V const re = x.re * y.re - x.im * y.im, im = x.re * y.im + x.im * y.re, e = exp(re + re),
                inverse = one / e;
        auto const [s, c] = sine_cosine(im + im);
        V const scale = one / (half * (e + inverse) + c), a = half * (e - inverse) * scale,
                b = s * scale;
        V const r = a - target.re, q = b - target.im, g_re = r + r, g_im = q + q;
        V const slope_re = one - (a * a - b * b),
                slope_im = -(a + a) * b; // 1 - tanh^2, conjugated below
        V const h_re = g_re * slope_re + g_im * slope_im, h_im = g_im * slope_re - g_re * slope_im;
        store_complex(gz + i, Complex<V>{h_re * y.re + h_im * y.im, h_im * y.re - h_re * y.im});
        store_complex(gw + i, Complex<V>{h_re * x.re + h_im * x.im, h_im * x.re - h_re * x.im});
        return r * r + q * q;
    });
}

// sum(100*square(x[1:] - square(x[:-1])) + square(1 - x[:-1])), Rosenbrock's function

/// Each element's gradient takes the misfit before it and the one after it; computing both anew
/// costs less than keeping one.
[[gnu::noinline]] inline double rosenbrock(double const* x, double* g, std::size_t n) {
    double const first = x[1] - x[0] * x[0], last = x[n - 1] - x[n - 2] * x[n - 2],
                 slope = 1 - x[0];
    g[0] = -400 * x[0] * first - 2 * slope;
    g[n - 1] = 200 * last;
    return 100 * first * first + slope * slope +
           sum_of<double>(1, n - 1, [=]<class V>(std::size_t i, V) HAND_INLINE {
               V const before = load<V>(x + i - 1), here = load<V>(x + i),
                       after = load<V>(x + i + 1);
               V const t = after - here * here, s = V(1.) - here;
               put(g + i, V(200.) * (here - before * before) - V(400.) * here * t - (s + s));
               return V(100.) * t * t + s * s;
           });
}

} // namespace hand
