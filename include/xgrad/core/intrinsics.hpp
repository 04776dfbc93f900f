// Includes the compiler's header of intrinsics for the target processor.
#pragma once

#if defined(__AVX__)
// g++ 12 warns about uninitialised lanes in its own AVX-512 intrinsics where they are inlined.
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

namespace xgrad::detail {

/// True where the program traps floating-point exceptions, as feenableexcept() of glibc does.
inline bool traps_exceptions() noexcept {
#if defined(__SSE2__)
    return ~_mm_getcsr() & _MM_MASK_MASK;
#else
    return false;
#endif
}

} // namespace xgrad::detail
