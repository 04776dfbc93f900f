// What differs between compilers and standard libraries: attributes, builtins, and what other
// compilers have for them. The branches for MSVC follow its documentation. tools/check (compiler)
// holds GNU extensions here, and in the files of vector types, which stand behind XGRAD_SIMD.
#pragma once

#include <concepts>
#include <limits>
#include <string_view>
#include <version>

#if defined(_LIBCPP_VERSION)
#    include <ranges> // other libraries have the concepts of ranges in smaller headers, too
#endif

#if defined(__SANITIZE_ADDRESS__)
#    define XGRAD_ADDRESS_SANITIZER 1
#elif defined(__SANITIZE_THREAD__)
#    define XGRAD_THREAD_SANITIZER 1
#elif defined(__has_feature)
#    if __has_feature(address_sanitizer)
#        define XGRAD_ADDRESS_SANITIZER 1
#    elif __has_feature(thread_sanitizer)
#        define XGRAD_THREAD_SANITIZER 1
#    endif
#endif
#ifndef XGRAD_ADDRESS_SANITIZER
#    define XGRAD_ADDRESS_SANITIZER 0
#endif
#ifndef XGRAD_THREAD_SANITIZER
#    define XGRAD_THREAD_SANITIZER 0
#endif

// XGRAD_FAST_MATH: the file is compiled with -ffast-math or a part of it. It stays as the first
// header of xgrad found it: begin_headers.inc switches it off for xgrad's own functions, and with
// it the macros of the compiler.
#ifndef XGRAD_FAST_MATH
#    if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || \
        defined(__NO_SIGNED_ZEROS__) || defined(_M_FP_FAST)
#        define XGRAD_FAST_MATH 1
#    elif defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#        define XGRAD_FAST_MATH 1
#    else
#        define XGRAD_FAST_MATH 0
#    endif
#endif

// MinGW-w64 frees the thread_local variables of a thread before it calls their destructors.
#if defined(__MINGW32__)
#    define XGRAD_THREAD_DESTRUCTORS 0
#else
#    define XGRAD_THREAD_DESTRUCTORS 1
#endif

// A kernel calls many tiny functions for each batch; it is fast only if all of them are inlined.
// With a sanitizer or without optimisation it is slow anyway, and forced inlining would double the
// compile time. With XGRAD_ALLOW_MIXED_FLAGS it is forced: files for different instruction sets
// must not share these functions.
#if XGRAD_ADDRESS_SANITIZER || XGRAD_THREAD_SANITIZER ||                                           \
    (defined(__GNUC__) && !defined(__OPTIMIZE__) && !defined(XGRAD_ALLOW_MIXED_FLAGS))
#    define XGRAD_INLINE inline
#    define XGRAD_LAMBDA_INLINE
#elif defined(__GNUC__)
#    define XGRAD_INLINE [[gnu::always_inline]] inline
#    define XGRAD_LAMBDA_INLINE __attribute__((always_inline))
#elif defined(_MSC_VER)
#    define XGRAD_INLINE __forceinline
#    define XGRAD_LAMBDA_INLINE
#else
#    define XGRAD_INLINE inline
#    define XGRAD_LAMBDA_INLINE
#endif
// With a sanitizer, too: a lambda in a function for another instruction set must be a part of it.
#if defined(__GNUC__)
#    define XGRAD_INLINE_LAMBDA __attribute__((always_inline))
#else
#    define XGRAD_INLINE_LAMBDA
#endif
// A struct whose objects are also accessed as another struct of the same layout.
#if defined(__GNUC__)
#    define XGRAD_MAY_ALIAS __attribute__((may_alias))
#else
#    define XGRAD_MAY_ALIAS
#endif
// Before the constructor of a guard. GCC 12 ignores the attribute of the class there.
#define XGRAD_GUARD                                                                                \
    [[nodiscard("a guard acts until its scope ends: give it a name, as in NoGradGuard guard;")]]
#if defined(_MSC_VER) && !defined(__clang__)
#    define XGRAD_NOINLINE __declspec(noinline)
#else
#    define XGRAD_NOINLINE [[gnu::noinline]]
#endif
// A loop on batches has nothing for the vectoriser of straight-line code, and that of GCC 12 does
// not end for some such loops with -O3 and AVX-512: lerp of a scalar constant, second derivative.
#if defined(__GNUC__) && !defined(__clang__)
#    define XGRAD_NO_SLP_VECTORIZER [[gnu::optimize("no-tree-slp-vectorize")]]
#else
#    define XGRAD_NO_SLP_VECTORIZER
#endif

namespace xgrad::detail {

/// True where a + b is beyond T; the sum is computed otherwise. Neither is negative.
template <std::integral T> constexpr bool add_overflows(T a, T b, T& sum) noexcept {
#if defined(__GNUC__)
    return __builtin_add_overflow(a, b, &sum);
#else
    if (b > std::numeric_limits<T>::max() - a) return true;
    sum = a + b;
    return false;
#endif
}
/// True where a * b is beyond T; the product is computed otherwise. Neither is negative.
template <std::integral T> constexpr bool multiply_overflows(T a, T b, T& product) noexcept {
#if defined(__GNUC__)
    return __builtin_mul_overflow(a, b, &product);
#else
    if (a != 0 && b > std::numeric_limits<T>::max() / a) return true;
    product = a * b;
    return false;
#endif
}

/// Asks for a cache line that is read soon.
XGRAD_INLINE void prefetch([[maybe_unused]] void const* p) noexcept {
#if defined(__GNUC__)
    __builtin_prefetch(p);
#endif
}

/// Returns v, an integer or a pointer; the compiler does not know that the result equals v. It
/// stops GCC from merging adjacent scalar loads into a vector load, which would defeat
/// store-to-load forwarding: if the values were stored one by one just before, the vector load
/// waits until all of these stores have reached the cache, about as long as sixty instructions
/// take (bench_rational, n = 4). It also stops loop unswitching.
template <class T> XGRAD_INLINE T optimisation_barrier(T v) noexcept {
#if defined(__GNUC__)
    asm("" : "+r"(v));
#endif
    return v;
}

/// The name of the calling function, for messages: the default argument of a parameter `Caller in =
/// {}`.
struct Caller {
    char const* name;
    constexpr Caller(char const* function = __builtin_FUNCTION()) noexcept : name(function) {}
};

/// A text that contains the name of T as this compiler writes it.
template <class T> consteval std::string_view pretty_function() {
#if defined(_MSC_VER) && !defined(__clang__)
    return __FUNCSIG__;
#else
    return __PRETTY_FUNCTION__;
#endif
}

} // namespace xgrad::detail
