// The version of xgrad, and the switches a build can set. Everything else is found out from the
// compiler.
#pragma once

#define XGRAD_VERSION_MAJOR 0
#define XGRAD_VERSION_MINOR 1
#define XGRAD_VERSION_PATCH 0

// XGRAD_USE_SIMD: vector types of the compiler in elementwise kernels. 0 is for tests of what other
// compilers run.
#ifndef XGRAD_USE_SIMD
#    define XGRAD_USE_SIMD 1
#endif
#if XGRAD_USE_SIMD && defined(__GNUC__)
#    define XGRAD_SIMD 1
#else
#    define XGRAD_SIMD 0
#endif

// XGRAD_USE_BLAS: matrix products through the Fortran symbols of a BLAS that the program links.
#ifndef XGRAD_USE_BLAS
#    define XGRAD_USE_BLAS 0
#endif

// XGRAD_USE_LAPACK: whether there is a LAPACK, which the program links, for xgrad/linalg.hpp.
#ifndef XGRAD_USE_LAPACK
#    define XGRAD_USE_LAPACK 1
#endif

// Sanitizers see through neither the buffer cache nor plain reference counts, so both step aside
// for them.
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

// A kernel is one chain of tiny functions per element: it is only fast if all of them are inlined.
// With a sanitizer's checks in each it is not fast anyway, and would take twice as long to compile.
#if XGRAD_ADDRESS_SANITIZER || XGRAD_THREAD_SANITIZER
#    define XGRAD_INLINE inline
#    define XGRAD_LAMBDA_INLINE
#else
#    define XGRAD_INLINE [[gnu::always_inline]] inline
#    define XGRAD_LAMBDA_INLINE __attribute__((always_inline))
#endif
#define XGRAD_NOINLINE [[gnu::noinline]]

// XGRAD_SEPARATE_COMPILATION, for programs of many files: with it in all of them, and XGRAD_SOURCE
// before <xgrad/xgrad.hpp> in one, that one alone compiles, for all headers of xgrad, the functions
// that are no templates, in headers where XGRAD_COMPILED_ONCE stands (g++; no other compiler can
// leave them out elsewhere), and the templates in source.hpp.
#if defined(XGRAD_SEPARATE_COMPILATION) && defined(__GNUC__) && !defined(__clang__)
#    define XGRAD_COMPILED_ONCE _Pragma("interface \"xgrad\"")
#    ifdef XGRAD_SOURCE
#        pragma implementation "xgrad"
#    endif
#else
#    define XGRAD_COMPILED_ONCE
#endif
