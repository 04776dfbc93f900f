#include <doctest/doctest.h>
#include <xgrad/simd/batch.hpp>

TEST_CASE("a batch is as wide as a register of the processor that the file is compiled for") {
    using xgrad::simd::Batch;
#if !XGRAD_SIMD
    constexpr std::size_t bytes = 0; // single numbers
#elif defined(__AVX512F__)
    constexpr std::size_t bytes = 64;
#elif defined(__AVX__)
    constexpr std::size_t bytes = 32;
#else // SSE2, NEON, SIMD of WebAssembly
    constexpr std::size_t bytes = 16;
#endif
    CHECK(Batch<double>::width == (bytes ? bytes / sizeof(double) : 1));
    CHECK(Batch<float>::width == (bytes ? bytes / sizeof(float) : 1));
#if defined(__aarch64__) || defined(__x86_64__) || defined(__wasm_simd128__)
    CHECK(Batch<float>::width == (XGRAD_USE_SIMD ? 2 * Batch<double>::width : 1));
    CHECK((Batch<double>::width > 1) == bool(XGRAD_USE_SIMD));
#endif
}
