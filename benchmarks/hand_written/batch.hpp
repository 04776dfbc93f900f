// The parts of a loop by hand: SIMD batches, their loads and stores, and sums.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <type_traits>
#include <utility>

#if __has_include(<xsimd/xsimd.hpp>) && (defined(__AVX2__) || defined(__ARM_NEON))
#    define HAND_WRITTEN_SIMD 1
#    include <xsimd/xsimd.hpp>
#endif
#if defined(__x86_64__)
#    include <immintrin.h>
#endif

namespace hand {

#ifdef HAND_WRITTEN_SIMD
#    if XSIMD_VERSION_MAJOR < 9 && XSIMD_WITH_AVX512BW
using Architecture = xsimd::avx512dq; // select() of 64-bit integers does not compile for avx512bw
#    else
using Architecture = xsimd::default_arch;
#    endif
template <class T> using Batch = xsimd::batch<T, Architecture>;
template <class T> inline constexpr std::size_t width = Batch<T>::size;
template <class T> T total(Batch<T> v) { return xsimd::hadd(v); }
#else
template <class T> using Batch = T;
template <class T> inline constexpr std::size_t width = 1;
template <class T> T total(T v) { return v; }
#endif

/// V is a batch, or a scalar for the elements of the tail.
template <class V, class T> V load(T const* p) {
    if constexpr (std::is_same_v<V, T>) return *p;
    else return V::load_unaligned(p);
}

/// Streaming stores are non-temporal: for results that do not fit in the caches. They need aligned
/// addresses.
enum class Stores { cached, streaming };

template <Stores how = Stores::cached, class T, class V> void put(T* p, V v) {
    if constexpr (std::is_same_v<V, T>) *p = v;
#if defined(__AVX512F__)
    else if constexpr (how == Stores::streaming && std::is_same_v<T, double>)
        _mm512_stream_pd(p, v);
    else if constexpr (how == Stores::streaming && std::is_same_v<T, float>) _mm512_stream_ps(p, v);
#elif defined(__AVX__)
    else if constexpr (how == Stores::streaming && std::is_same_v<T, double>)
        _mm256_stream_pd(p, v);
    else if constexpr (how == Stores::streaming && std::is_same_v<T, float>) _mm256_stream_ps(p, v);
#endif
    else v.store_unaligned(p);
}
template <Stores how> void finish_stores() {
#if defined(__x86_64__)
    if constexpr (how == Stores::streaming) _mm_sfence();
#endif
}

template <class V, class M> V select(M mask, V a, V b) {
    if constexpr (std::is_same_v<M, bool>) return mask ? a : b;
#ifdef HAND_WRITTEN_SIMD
    else return xsimd::select(mask, a, b);
#endif
}
template <class V> V larger(V a, V b) { return select(a > b, a, b); }

/// The largest element of a batch.
template <class T> T largest(Batch<T> v) {
    if constexpr (width<T> == 1) return v;
    else {
        T numbers[width<T>];
        put(numbers, v);
        return *std::max_element(numbers, numbers + width<T>);
    }
}

template <class V> struct SineCosine {
    V sine, cosine;
};
template <class V> [[gnu::always_inline]] inline SineCosine<V> sine_cosine(V x) {
    if constexpr (std::is_floating_point_v<V>) return {std::sin(x), std::cos(x)};
#ifdef HAND_WRITTEN_SIMD
    else {
        auto const [s, c] = xsimd::sincos(x);
        return {s, c};
    }
#endif
}

/// Calls body(i, V()) for i < n: V is a batch while a whole batch is left, and a scalar in the
/// tail.
template <class T, class Body>
[[gnu::always_inline]] inline void for_batches(std::size_t n, Body const& body) {
    std::size_t i = 0;
    for (; i + width<T> <= n; i += width<T>) body(i, Batch<T>());
    for (; i < n; ++i) body(i, T());
}

/// Adds up body(i, V()) for begin <= i < end in four batches: with fewer of them the loop would
/// wait for the latency of the additions.
template <class T, class Body>
[[gnu::always_inline]] inline T sum_of(std::size_t begin, std::size_t end, Body const& body) {
    constexpr std::size_t w = width<T>;
    Batch<T> s0(T(0)), s1(T(0)), s2(T(0)), s3(T(0));
    T rest = 0;
    std::size_t i = begin;
    for (; i + 4 * w <= end; i += 4 * w) {
        s0 += body(i, Batch<T>());
        s1 += body(i + w, Batch<T>());
        s2 += body(i + 2 * w, Batch<T>());
        s3 += body(i + 3 * w, Batch<T>());
    }
    for (; i + w <= end; i += w) s0 += body(i, Batch<T>());
    for (; i < end; ++i) rest += body(i, T());
    return total<T>((s0 + s1) + (s2 + s3)) + rest;
}
/// The same for all i < n. Millions of floats are added up block by block, since one sum of them
/// would not be accurate.
template <class T, class Body>
[[gnu::always_inline]] inline double sum_of(std::size_t n, Body const& body) {
    if constexpr (std::is_same_v<T, double>) return sum_of<T>(0, n, body);
    else {
        constexpr std::size_t block = 1 << 14;
        double sum = 0;
        for (std::size_t i = 0; i < n; i += block)
            sum += static_cast<double>(sum_of<T>(i, std::min(n, i + block), body));
        return sum;
    }
}

/// A lambda body(i, V()) that is inlined wherever it is called.
#define HAND_INLINE __attribute__((always_inline))

template <class V> struct Complex {
    V re, im;
};

#if defined(HAND_WRITTEN_SIMD) && defined(__GNUC__) && (defined(__clang__) || __GNUC__ >= 12)
#    define HAND_SHUFFLES 1
template <class V, std::size_t... I>
[[gnu::always_inline]] inline Complex<V> parted(V lo, V hi, std::index_sequence<I...>) {
    return {V(__builtin_shufflevector(lo.data, hi.data, static_cast<int>(2 * I)...)),
        V(__builtin_shufflevector(lo.data, hi.data, static_cast<int>(2 * I + 1)...))};
}
template <Stores how, class T, class V, std::size_t... I>
[[gnu::always_inline]] inline void store_joined(T* p, Complex<V> z, std::index_sequence<I...>) {
    constexpr std::size_t w = sizeof...(I);
    put<how>(p,
        V(__builtin_shufflevector(z.re.data, z.im.data, static_cast<int>(I / 2 + (I % 2) * w)...)));
    put<how>(p + w, V(__builtin_shufflevector(
                        z.re.data, z.im.data, static_cast<int>((I + w) / 2 + (I % 2) * w)...)));
}
#else
#    define HAND_SHUFFLES 0
#endif

template <class V, class T>
[[gnu::always_inline]] inline Complex<V> load_complex(std::complex<T> const* z) {
    auto const* const p = reinterpret_cast<T const*>(z);
    if constexpr (std::is_same_v<V, T>) return {p[0], p[1]};
#if HAND_SHUFFLES
    else return parted(load<V>(p), load<V>(p + width<T>), std::make_index_sequence<width<T>>{});
#elif defined(HAND_WRITTEN_SIMD)
    else {
        auto const w = Batch<std::complex<T>>::load_unaligned(z);
        return {w.real(), w.imag()};
    }
#endif
}
template <Stores how = Stores::cached, class V, class T>
[[gnu::always_inline]] inline void store_complex(std::complex<T>* z, Complex<V> v) {
    auto* const p = reinterpret_cast<T*>(z);
    if constexpr (std::is_same_v<V, T>) p[0] = v.re, p[1] = v.im;
#if HAND_SHUFFLES
    else store_joined<how>(p, v, std::make_index_sequence<width<T>>{});
#elif defined(HAND_WRITTEN_SIMD)
    else Batch<std::complex<T>>(v.re, v.im).store_unaligned(z);
#endif
}

} // namespace hand
