// Files of one program that were compiled for different instruction sets, with and without BLAS or
// a sanitizer or XGRAD_WARN_ON_SHARED_WRITES, or with different versions of xgrad do not link: the
// linker keeps one copy of each inline function, and that could have instructions that another file
// was to avoid. Each kind of file defines the symbol below in a section group of its own: files of
// one kind share the group, two kinds define the symbol twice, and the linker says its name.
// XGRAD_ALLOW_MIXED_FLAGS leaves the check out: then the program needs a processor that has the
// instruction sets of all its files. A file that defines XGRAD_IMPLEMENTATION for others, and so
// xgrad::compiled, may differ from them.
#pragma once

#include <xgrad/core/config.hpp>

#if defined(__ELF__) && defined(__GNUC__) && !defined(XGRAD_ALLOW_MIXED_FLAGS) &&                  \
    !defined(XGRAD_HAS_BODIES)

#    if defined(__AVX512BW__)
#        define XGRAD_BUILT_FOR avx512bw
#    elif defined(__AVX512F__)
#        define XGRAD_BUILT_FOR avx512
#    elif defined(__AVX2__)
#        define XGRAD_BUILT_FOR avx2
#    elif defined(__AVX__)
#        define XGRAD_BUILT_FOR avx
#    elif defined(__SSE4_1__)
#        define XGRAD_BUILT_FOR sse4
#    else
#        define XGRAD_BUILT_FOR plain
#    endif
#    if defined(__FMA__)
#        define XGRAD_BUILT_WITH_FMA fma
#    else
#        define XGRAD_BUILT_WITH_FMA no_fma
#    endif
#    if XGRAD_USE_BLAS
#        define XGRAD_BUILT_WITH_BLAS blas
#    else
#        define XGRAD_BUILT_WITH_BLAS no_blas
#    endif
#    if XGRAD_SIMD
#        define XGRAD_BUILT_WITH_SIMD simd
#    else
#        define XGRAD_BUILT_WITH_SIMD no_simd
#    endif
#    if XGRAD_ADDRESS_SANITIZER
#        define XGRAD_BUILT_WITH_SANITIZER address_sanitizer
#    elif XGRAD_THREAD_SANITIZER
#        define XGRAD_BUILT_WITH_SANITIZER thread_sanitizer
#    else
#        define XGRAD_BUILT_WITH_SANITIZER no_sanitizer
#    endif
#    ifdef XGRAD_WARN_ON_SHARED_WRITES
#        define XGRAD_BUILT_WITH_WARNINGS shared_writes
#    else
#        define XGRAD_BUILT_WITH_WARNINGS no_shared_writes
#    endif
#    define XGRAD_JOIN_OF(a, b, c, d, e, f, g, h, i)                                               \
        a##_##b##_##c##_##d##_##e##_##f##_##g##_##h##_##i
#    define XGRAD_JOIN(a, b, c, d, e, f, g, h, i) XGRAD_JOIN_OF(a, b, c, d, e, f, g, h, i)
#    define XGRAD_BUILD                                                                            \
        XGRAD_JOIN(XGRAD_BUILT_FOR, XGRAD_BUILT_WITH_FMA, XGRAD_BUILT_WITH_SIMD,                   \
            XGRAD_BUILT_WITH_BLAS, XGRAD_BUILT_WITH_SANITIZER, XGRAD_BUILT_WITH_WARNINGS,          \
            XGRAD_VERSION_MAJOR, XGRAD_VERSION_MINOR, XGRAD_VERSION_PATCH)
#    define XGRAD_TEXT_OF(name) #name
#    define XGRAD_TEXT(name) XGRAD_TEXT_OF(name)
/// Defines a symbol in the section group of a kind of file.
#    define XGRAD_AGREE(kind, symbol)                                                              \
        asm(".pushsection .rodata.xgrad,\"aG\",%progbits,xgrad_" kind ",comdat\n"                  \
            ".globl " symbol "\n"                                                                  \
            ".hidden " symbol "\n" symbol ":\n"                                                    \
            ".byte 0\n"                                                                            \
            ".popsection\n")
#    define XGRAD_MUST_AGREE                                                                       \
        "xgrad_needs_the_same_version_instruction_set_sanitizer_XGRAD_USE_BLAS_and_XGRAD_USE_"     \
        "SIMD_in_all_files"

namespace xgrad::detail::link_check {
/// Never called. The assembly is in a function since link-time optimisation merges functions.
[[gnu::used, gnu::noinline, gnu::cold]] inline void XGRAD_BUILD() {
    XGRAD_AGREE(XGRAD_TEXT(XGRAD_BUILD), XGRAD_MUST_AGREE);
}
#    if XGRAD_HIGHER_ORDER
#        define XGRAD_ORDERS any_order
#    else
#        define XGRAD_ORDERS second_order
#    endif
[[gnu::used, gnu::noinline, gnu::cold]] inline void XGRAD_ORDERS() {
    XGRAD_AGREE(XGRAD_TEXT(XGRAD_ORDERS), "xgrad_needs_higher_order_hpp_in_all_files_or_in_none");
}
} // namespace xgrad::detail::link_check

#    undef XGRAD_BUILT_FOR
#    undef XGRAD_BUILT_WITH_FMA
#    undef XGRAD_BUILT_WITH_BLAS
#    undef XGRAD_BUILT_WITH_SIMD
#    undef XGRAD_BUILT_WITH_SANITIZER
#    undef XGRAD_BUILT_WITH_WARNINGS
#    undef XGRAD_JOIN_OF
#    undef XGRAD_JOIN
#    undef XGRAD_BUILD
#    undef XGRAD_TEXT_OF
#    undef XGRAD_TEXT
#    undef XGRAD_MUST_AGREE
#    undef XGRAD_AGREE
#    undef XGRAD_ORDERS
#endif

// A program with XGRAD_SEPARATE_COMPILATION that includes a header and has no file with its bodies
// does not link, and among what is undefined is one symbol whose name says what is missing. The
// file with the bodies defines it, and so does a second such file, which is refused by that name.
#if defined(XGRAD_SEPARATE_COMPILATION) && defined(__GNUC__)
#    define XGRAD_HAS_BODIES_ELSEWHERE(header)                                                     \
        extern "C" void the_file_with_XGRAD_IMPLEMENTATION_that_includes_xgrad_##header();         \
        namespace xgrad::detail::link_check {                                                      \
        [[gnu::used]] inline constexpr void (*bodies_of_##header)() =                              \
            the_file_with_XGRAD_IMPLEMENTATION_that_includes_xgrad_##header;                       \
        }
#    define XGRAD_HAS_BODIES_HERE(header)                                                          \
        extern "C" void the_file_with_XGRAD_IMPLEMENTATION_that_includes_xgrad_##header() {}
#else
#    define XGRAD_HAS_BODIES_ELSEWHERE(header)
#    define XGRAD_HAS_BODIES_HERE(header)
#endif
