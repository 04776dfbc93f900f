// Stores past the caches, for results that no cache can hold: the memory that they overwrite is not
// read first.
#pragma once

#include <cstddef>
#include <cstring>

#include <xgrad/base/config.hpp>
#include <xgrad/base/intrinsics.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::detail {

/// From how many bytes on an array may be written past the caches: where its end would push its
/// beginning out. Never where a processor has no such stores.
#ifdef __SSE2__
inline constexpr std::size_t streamed_bytes = std::size_t{16} << 20;
#else
inline constexpr std::size_t streamed_bytes = ~std::size_t{0};
#endif

/// Copies to memory that starts at a cache line.
inline void stream(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
#ifdef __SSE2__
#    if defined(__AVX512F__)
    using Register = __m512i;
    auto const move = [](void* t, void const* f) {
        _mm512_stream_si512(static_cast<Register*>(t), _mm512_loadu_si512(f));
    };
#    elif defined(__AVX__)
    using Register = __m256i;
    auto const move = [](void* t, void const* f) {
        _mm256_stream_si256(
            static_cast<Register*>(t), _mm256_loadu_si256(static_cast<Register const*>(f)));
    };
#    else
    using Register = __m128i;
    auto const move = [](void* t, void const* f) {
        _mm_stream_si128(
            static_cast<Register*>(t), _mm_loadu_si128(static_cast<Register const*>(f)));
    };
#    endif
    for (; bytes >= sizeof(Register);
         bytes -= sizeof(Register), to += sizeof(Register), from += sizeof(Register))
        move(to, from);
#endif
    std::memcpy(to, from, bytes);
}

/// To be called before anybody else is told that what was streamed is there.
inline void finish_streaming() noexcept {
#ifdef __SSE2__
    _mm_sfence();
#endif
}

} // namespace xgrad::detail
