// The version of xgrad and the macros that a build can define. Predefined macros of the compiler
// say everything else.
#pragma once

#include <xgrad/core/compiler.hpp>

#define XGRAD_VERSION_MAJOR 0
#define XGRAD_VERSION_MINOR 2
#define XGRAD_VERSION_PATCH 0
#define XGRAD_VERSION_STRING "0.2.0"
#define XGRAD_VERSION                                                                              \
    (XGRAD_VERSION_MAJOR * 10000 + XGRAD_VERSION_MINOR * 100 + XGRAD_VERSION_PATCH)

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

// With -ffast-math a compiler takes NaN and infinity for values that do not occur, which elementary
// functions, extrema and checks of gradients rely on. begin_headers.inc keeps them for the
// functions of xgrad. What is beyond them is said once for each file; XGRAD_ALLOW_FAST_MATH
// silences that.
#if XGRAD_FAST_MATH && !defined(XGRAD_ALLOW_FAST_MATH)
#    if !defined(XGRAD_HEADERS_BEGUN)
#        pragma message(                                                                           \
                "xgrad: -ffast-math breaks NaN and infinity here: include <xgrad/xgrad.hpp> "      \
                "before headers of its folders. XGRAD_ALLOW_FAST_MATH silences this")
#    elif defined(__clang__) && __clang_major__ >= 17 && __FINITE_MATH_ONLY__
#        pragma message(                                                                           \
                "xgrad: -ffast-math: this clang loses NaN and infinity at calls of functions: "    \
                "add -fno-finite-math-only. XGRAD_ALLOW_FAST_MATH silences this")
#    else
#        pragma message(                                                                           \
                "xgrad: -ffast-math: functions of xgrad keep NaN and infinity, those of xtensor "  \
                "and of the program do not. XGRAD_ALLOW_FAST_MATH silences this")
#    endif
#endif

// The elementary functions need sums and products that are rounded to their type. The x87 unit,
// which 32-bit x86 compilers use unless they are told otherwise, keeps more digits: wrong sines.
#if defined(__FLT_EVAL_METHOD__) && (__FLT_EVAL_METHOD__ == 1 || __FLT_EVAL_METHOD__ == 2)
#    error "xgrad: results keep too many digits; on 32-bit x86 compile with -msse2 -mfpmath=sse"
#endif

// XGRAD_USE_BLAS: matrix products call a BLAS that the program links, by its Fortran symbols.
#ifndef XGRAD_USE_BLAS
#    define XGRAD_USE_BLAS 0
#endif

// XGRAD_USE_LAPACK: the program links a LAPACK, which xgrad/linalg.hpp calls.
#ifndef XGRAD_USE_LAPACK
#    define XGRAD_USE_LAPACK 1
#endif

// XGRAD_HIGHER_ORDER: expressions bring what derivatives of third and higher order need, which is
// two fifths of the code of an expression. A program of headers only sets it in all files, by
// including <xgrad/higher_order.hpp> first, or by a flag; with XGRAD_SEPARATE_COMPILATION it is
// always set.
#ifndef XGRAD_HIGHER_ORDER
#    if defined(XGRAD_SEPARATE_COMPILATION) || defined(XGRAD_IMPLEMENTATION)
#        define XGRAD_HIGHER_ORDER 1
#    else
#        define XGRAD_HIGHER_ORDER 0
#    endif
#endif

// Functions that are no templates have their bodies in impl/. The headers that programs include
// (xgrad.hpp, nn.hpp and so on) include the bodies of all that they consist of where
// XGRAD_IMPLEMENTATION is defined. A header-only program, which is the default, has it everywhere.
// Where all files of a program define XGRAD_SEPARATE_COMPILATION, one file for each of the headers
// xgrad.hpp, nn.hpp and so on that the program includes, or one for several or all of them, defines
// XGRAD_IMPLEMENTATION and includes them. It has the bodies of those headers that it names itself,
// and not of those that these include: begin_headers.inc takes the macro away from them. (CMake:
// xgrad::compiled is a library of such files.)
//
// A virtual function says XGRAD_FUNCTION in its class as well: if the first one were not inline
// there, a header-only program would emit the class's functions in each file.
#ifdef XGRAD_IMPLEMENTATION
#    define XGRAD_HAS_BODIES // for other files of the program
#    ifndef XGRAD_SEPARATE_COMPILATION
#        define XGRAD_SEPARATE_COMPILATION // as they have
#    endif
#endif
// A function that few programs call says XGRAD_LAZY where it is declared, and XGRAD_LAZY_BODY in
// impl/. In a header-only program it is a template: what its body uses is instantiated by a call.
#ifndef XGRAD_SEPARATE_COMPILATION
#    define XGRAD_FUNCTION inline
#    define XGRAD_LAZY template <class = void>
#    define XGRAD_LAZY_BODY template <class>
#    ifndef XGRAD_IMPLEMENTATION
#        define XGRAD_IMPLEMENTATION
#    endif
#else
#    define XGRAD_FUNCTION
#    define XGRAD_LAZY
#    define XGRAD_LAZY_BODY
#endif
