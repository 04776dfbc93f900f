// The compiler's header of intrinsic functions for the processor of this build.
#pragma once

#if defined(__AVX__)
// g++ 12 takes the undefined lanes that its own AVX-512 intrinsics start from for a mistake of
// whoever inlines them.
#    if defined(__GNUC__) && !defined(__clang__)
#        pragma GCC diagnostic push
#        pragma GCC diagnostic ignored "-Wuninitialized"
#        pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#    endif
#    include <immintrin.h>
#    if defined(__GNUC__) && !defined(__clang__)
#        pragma GCC diagnostic pop
#    endif
#elif defined(__SSE2__)
#    include <emmintrin.h> // a tenth of the lines
#elif defined(__ARM_NEON) && defined(__aarch64__)
#    include <arm_neon.h>
#endif
