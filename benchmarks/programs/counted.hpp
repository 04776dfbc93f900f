// The frame of a program whose instructions benchmarks/instructions counts: the argument says how
// often the work is done. Without an argument it says on what such a count depends.
#pragma once

#include <xgrad/xgrad.hpp>

#include <cstdio>
#include <cstdlib>

#ifdef __GLIBC__
#    include <gnu/libc-version.h>
#endif

namespace xg = xgrad;

/// Adds up the results of iteration(), so that none can be left out.
template <class Iteration> int counted(int argc, char** argv, Iteration iteration) {
    if (argc < 2) {
#ifdef __clang__
        std::printf("Clang %d", __clang_major__);
#else
        std::printf("GNU %d", __GNUC__);
#endif
#ifdef __GLIBC__
        std::printf(", glibc %s", gnu_get_libc_version());
#endif
#if XGRAD_USE_BLAS
        std::printf(", BLAS");
#endif
#ifdef __AVX2__
        std::printf(", AVX2");
#endif
        std::printf("\n");
        return 0;
    }
    double total = 0;
    for (int i = std::atoi(argv[1]); i > 0; --i) total += iteration();
    std::printf("%.17g\n", total);
    return 0;
}
