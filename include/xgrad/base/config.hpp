// The version of xgrad and the macros that a build can define. Predefined macros of the compiler
// say everything else.
#pragma once

#define XGRAD_VERSION_MAJOR 0
#define XGRAD_VERSION_MINOR 1
#define XGRAD_VERSION_PATCH 0

// XGRAD_USE_SIMD: elementwise kernels use vector types of the compiler. 0 selects the scalar code
// that other compilers get; tests use it.
#ifndef XGRAD_USE_SIMD
#    define XGRAD_USE_SIMD 1
#endif
#if XGRAD_USE_SIMD && defined(__GNUC__)
#    define XGRAD_SIMD 1
#else
#    define XGRAD_SIMD 0
#endif

// XGRAD_USE_BLAS: matrix products call a BLAS that the program links, by its Fortran symbols.
#ifndef XGRAD_USE_BLAS
#    define XGRAD_USE_BLAS 0
#endif

// XGRAD_USE_LAPACK: the program links a LAPACK, which xgrad/linalg.hpp calls.
#ifndef XGRAD_USE_LAPACK
#    define XGRAD_USE_LAPACK 1
#endif

// AddressSanitizer cannot check memory that the buffer cache reuses, and ThreadSanitizer does not
// understand plain reference counts, so both are disabled for them.
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

// A kernel calls many tiny functions for each batch; it is fast only if all of them are inlined.
// With a sanitizer it is slow anyway, and forced inlining would double the compile time.
#if XGRAD_ADDRESS_SANITIZER || XGRAD_THREAD_SANITIZER
#    define XGRAD_INLINE inline
#    define XGRAD_LAMBDA_INLINE
#else
#    define XGRAD_INLINE [[gnu::always_inline]] inline
#    define XGRAD_LAMBDA_INLINE __attribute__((always_inline))
#endif
#define XGRAD_NOINLINE [[gnu::noinline]]

// XGRAD_SEPARATE_COMPILATION is for programs of many files. All files define it; one file defines
// XGRAD_SOURCE too, before it includes <xgrad/xgrad.hpp>. Only that file compiles the templates in
// source.hpp and, with g++, the non-template functions of headers that say XGRAD_COMPILED_ONCE.
// (Other compilers cannot leave those functions out of the other files.)
#if defined(XGRAD_SEPARATE_COMPILATION) && defined(__GNUC__) && !defined(__clang__)
#    define XGRAD_COMPILED_ONCE _Pragma("interface \"xgrad\"")
#    ifdef XGRAD_SOURCE
#        pragma implementation "xgrad"
#    endif
#else
#    define XGRAD_COMPILED_ONCE
#endif
