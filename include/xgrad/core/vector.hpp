// SimdVector<T>: a SIMD register of elements T, with the loads, stores and shuffles that the
// hand-written kernels (fft.hpp, gemm.hpp) need. simd/batch.hpp builds elementwise kernels on it.
//
// It is a vector type of GCC and Clang: + - * work as on numbers, and a kernel is vectorised at
// -O2, without the auto-vectoriser. For other compilers SimdVector<T> is T, and the same code runs
// on scalars.
//
// The width follows the compiler's flags. A type whose layout depends on the width must have it as
// a template argument, so that translation units with different flags can be linked together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <xgrad/core/compiler.hpp>
#include <xgrad/core/intrinsics.hpp>

/// Before a function whose vectors are as wide as a register: without it, Clang splits 64-byte
/// vectors in two for some processors.
#if defined(__clang__)
#    define XGRAD_FULL_WIDTH __attribute__((min_vector_width(8 * register_bytes)))
#else
#    define XGRAD_FULL_WIDTH
#endif

namespace xgrad::detail::kernel {

#if !defined(__GNUC__)
inline constexpr std::size_t register_bytes = 0;
#elif defined(__AVX512F__)
inline constexpr std::size_t register_bytes = 64;
#elif defined(__AVX__)
inline constexpr std::size_t register_bytes = 32;
#else
inline constexpr std::size_t register_bytes = 16;
#endif

#if defined(__GNUC__) && defined(__x86_64__) && !defined(__AVX512F__)
#    define XGRAD_WIDER_REGISTERS // the processor may have wider registers than the build assumes
/// The variants of a loop that this processor can run, the fastest last, as a std::vector.
template <class Loops, class Loop = typename Loops::value_type>
Loops runnable(Loop const& plain, Loop const& avx2, Loop const& avx512) {
    Loops loops{plain};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) loops.push_back(avx2);
    if (__builtin_cpu_supports("avx512f")) loops.push_back(avx512);
    return loops;
}
#endif

template <class T, std::size_t Bytes> struct SimdVectorOf {
    using type = T;
};
#if defined(__GNUC__)
template <class T, std::size_t Bytes>
    requires(Bytes > sizeof(T))
struct SimdVectorOf<T, Bytes> {
    typedef T type __attribute__((vector_size(Bytes)));
};
#endif

template <class T, std::size_t Bytes = register_bytes>
using SimdVector = typename SimdVectorOf<T, Bytes>::type;

/// The number of lanes T in a vector V.
template <class V, class T> inline constexpr std::size_t width = sizeof(V) / sizeof(T);

/// A vector in memory at any alignment that may alias the array's elements. (It is a struct because
/// templates drop the attributes of a typedef.)
template <class V>
#if defined(__GNUC__)
struct __attribute__((packed, may_alias)) UnalignedVector {
#else
struct UnalignedVector {
#endif
    V vector;
};
template <class V, class T> [[gnu::always_inline]] inline UnalignedVector<V>* unaligned(T* p) {
    return reinterpret_cast<UnalignedVector<V>*>(p);
}
template <class V, class T>
[[gnu::always_inline]] inline UnalignedVector<V> const* unaligned(T const* p) {
    return reinterpret_cast<UnalignedVector<V> const*>(p);
}

template <class V, class T> [[gnu::always_inline]] inline V load(T const* from) {
    return unaligned<V>(from)->vector;
}
template <class V, class T> [[gnu::always_inline]] inline void store(T* to, V const& v) {
    unaligned<V>(to)->vector = v;
}

template <class F, std::size_t... I>
[[gnu::always_inline]] inline void unroll(F const& f, std::index_sequence<I...>) {
    (f(std::integral_constant<std::size_t, I>{}), ...);
}

/// Calls f(0), ..., f(N-1) with compile-time constants: at -O2 GCC does not unroll a loop over
/// registers.
template <std::size_t N, class F> [[gnu::always_inline]] inline void unroll(F const& f) {
    unroll(f, std::make_index_sequence<N>{});
}

/// Calls f.operator()<V>(i) for vectors V at i that cover the indices below count. Instead of a
/// scalar tail, the last vector may overlap the one before: f must be idempotent.
template <class T, std::size_t Bytes = register_bytes, class F>
[[gnu::always_inline]] inline void cover(std::size_t count, F const& f) {
    using V = SimdVector<T, Bytes>;
    constexpr std::size_t n = width<V, T>;
    if (count >= n)
        for (std::size_t i = 0; i < count; i += n)
            f.template operator()<V>(i < count - n ? i : count - n);
    else if constexpr (n > 1) cover<T, (Bytes > 16 ? Bytes / 2 : 0)>(count, f);
}

/// Calls f.operator()<V>(i) for vectors at i, then f.operator()<T>(i) for each index of the tail.
template <class T, class F>
[[gnu::always_inline]] inline void cover_once(std::size_t count, F const& f) {
    constexpr std::size_t n = width<SimdVector<T>, T>;
    std::size_t i = 0;
    if constexpr (n > 1)
        for (; i + n <= count; i += n) f.template operator()<SimdVector<T>>(i);
    for (; i < count; ++i) f.template operator()<T>(i);
}

/// Lane i of the result is lane F{}(i) of the concatenation of a and b; F is a lambda without
/// captures.
template <class V, class F, int... I>
[[gnu::always_inline]] inline V shuffle(
    V const& a, V const& b, F, std::integer_sequence<int, I...>) {
#if defined(__clang__) || __GNUC__ >= 12
    return __builtin_shufflevector(a, b, F{}(I)...);
#else
    using Index = std::conditional_t<sizeof(a[0]) == 4, std::int32_t, std::int64_t>;
    return __builtin_shuffle(a, b, SimdVector<Index, sizeof(V)>{F{}(I)...});
#endif
}

/// Interleaves a and b: (low, high) = (a0, b0, a1, b1, ...).
template <class T, class V>
[[gnu::always_inline]] inline void zip(V const& a, V const& b, V& low, V& high) {
    static constexpr int n = width<V, T>;
    constexpr std::make_integer_sequence<int, n> all;
    constexpr auto in_low = [](int i) { return i % 2 * n + i / 2; };
    constexpr auto in_high = [](int i) { return i % 2 * n + (n + i) / 2; };
    low = shuffle(a, b, in_low, all);
    high = shuffle(a, b, in_high, all);
}

/// The inverse of zip.
template <class T, class V>
[[gnu::always_inline]] inline void unzip(V const& low, V const& high, V& a, V& b) {
    constexpr std::make_integer_sequence<int, width<V, T>> all;
    constexpr auto even = [](int i) { return 2 * i; };
    constexpr auto odd = [](int i) { return 2 * i + 1; };
    a = shuffle(low, high, even, all);
    b = shuffle(low, high, odd, all);
}

/// Separates an array of `count` pairs into two arrays.
template <class T> void deinterleave(std::size_t count, T const* pairs, T* even, T* odd) {
    cover<T>(count, [=]<class V>(std::size_t i) XGRAD_INLINE_LAMBDA {
        if constexpr (constexpr auto n = width<V, T>; n == 1) {
            even[i] = pairs[2 * i];
            odd[i] = pairs[2 * i + 1];
        } else {
            V a, b;
            unzip<T>(load<V>(pairs + 2 * i), load<V>(pairs + 2 * i + n), a, b);
            store(even + i, a);
            store(odd + i, b);
        }
    });
}

/// Interleaves two arrays of `count` elements into one array of pairs.
template <class T> void interleave(std::size_t count, T const* even, T const* odd, T* pairs) {
    cover<T>(count, [=]<class V>(std::size_t i) XGRAD_INLINE_LAMBDA {
        if constexpr (constexpr auto n = width<V, T>; n == 1) {
            pairs[2 * i] = even[i];
            pairs[2 * i + 1] = odd[i];
        } else {
            V a, b;
            zip<T>(load<V>(even + i), load<V>(odd + i), a, b);
            store(pairs + 2 * i, a);
            store(pairs + 2 * i + n, b);
        }
    });
}

/// Concatenates two half vectors.
template <class V, class Half, int... I>
[[gnu::always_inline]] inline V join(
    Half const& low, Half const& high, std::integer_sequence<int, I...>) {
#if defined(__AVX512F__)
    if constexpr (sizeof(V) == 64)
        return reinterpret_cast<V>(
            _mm512_inserti64x4(_mm512_castsi256_si512(reinterpret_cast<__m256i>(low)),
                reinterpret_cast<__m256i>(high), 1)); // takes `high` from memory
#endif
#if defined(__clang__) || __GNUC__ >= 12
    return __builtin_shufflevector(low, high, I...);
#else
    Half const halves[] = {low, high};
    return load<V>(halves);
#endif
}

/// Transposes a square matrix of n vectors of n lanes in place. Step `block` = 1, 2, 4, ... below
/// `end`: rows that are `block` apart exchange blocks of that many lanes.
template <class T, std::size_t end, std::size_t block = 1, class V, std::size_t n>
[[gnu::always_inline]] inline void transpose_registers(V (&row)[n]) {
    if constexpr (block < end) {
        constexpr std::make_integer_sequence<int, n> all;
        constexpr auto first = [](int i) { return i & int(block) ? int(n - block) + i : i; };
        constexpr auto second = [](int i) { return i & int(block) ? int(n) + i : int(block) + i; };
        unroll<n>([&](auto i) XGRAD_INLINE_LAMBDA {
            if constexpr (!(i & block)) {
                V const a = row[i], b = row[i + block];
                row[i] = shuffle(a, b, first, all);
                row[i + block] = shuffle(a, b, second, all);
            }
        });
        transpose_registers<T, end, 2 * block>(row);
    }
}
/// to[j * to_gap + i] = from[i * from_gap + j] for a square of as many rows as V has lanes. From 32
/// bytes on, the loads of half vectors do the last step of transpose_registers.
template <class T, class V = SimdVector<T>>
[[gnu::always_inline]] inline void transpose_square(
    T const* from, std::ptrdiff_t from_gap, T* to, std::ptrdiff_t to_gap) {
    constexpr auto n = width<V, T>, half = n / 2;
    V row[n];
    if constexpr (sizeof(V) < 32) {
        unroll<n>([&](auto r) XGRAD_INLINE_LAMBDA {
            row[r] = load<V>(from + static_cast<std::ptrdiff_t>(r()) * from_gap);
        });
        if constexpr (n > 1) transpose_registers<T, n>(row);
    } else {
        constexpr std::make_integer_sequence<int, n> all;
        auto const* const middle = from + static_cast<std::ptrdiff_t>(half) * from_gap;
        unroll<half>([&](auto r) XGRAD_INLINE_LAMBDA {
            using Half = SimdVector<T, sizeof(V) / 2>;
            auto const at = static_cast<std::ptrdiff_t>(r()) * from_gap;
            row[r] = join<V>(load<Half>(from + at), load<Half>(middle + at), all);
            row[r + half] =
                join<V>(load<Half>(from + at + half), load<Half>(middle + at + half), all);
        });
        transpose_registers<T, half>(row);
    }
    auto* const middle = to + static_cast<std::ptrdiff_t>(half) * to_gap;
    unroll<n>([&](auto r) XGRAD_INLINE_LAMBDA {
        store((r < half ? to : middle) +
                  static_cast<std::ptrdiff_t>(r < half ? r() : r - half) * to_gap,
            row[r]);
    });
}

/// to[j * to_gap + i] = from[i * from_gap + j] for a matrix of rows x columns; from and to must not
/// overlap.
template <class T, std::size_t Bytes = register_bytes>
void transpose(std::size_t rows, std::size_t columns, T const* from, std::size_t from_gap, T* to,
    std::size_t to_gap) {
    using V = SimdVector<T, Bytes>;
    constexpr auto n = width<V, T>;
    if constexpr (n > 2)
        if (rows < n || columns < n)
            return transpose<T, Bytes / 2>(rows, columns, from, from_gap, to, to_gap);
    if (n == 1 || rows < n || columns < n) {
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t j = 0; j < columns; ++j) to[j * to_gap + i] = from[i * from_gap + j];
        return;
    }
    auto const block = [=](std::size_t i, std::size_t j) XGRAD_INLINE_LAMBDA {
        transpose_square<T, V>(from + i * from_gap + j, static_cast<std::ptrdiff_t>(from_gap),
            to + j * to_gap + i, static_cast<std::ptrdiff_t>(to_gap));
    };
    for (std::size_t i = 0; i < rows; i += n) // the last block may overlap the one before
        for (std::size_t j = 0; j < columns; j += n)
            block(i < rows - n ? i : rows - n, j < columns - n ? j : columns - n);
}
} // namespace xgrad::detail::kernel
