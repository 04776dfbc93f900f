// Bodies of stream.hpp and transposed.hpp.
#pragma once

#include <xgrad/core/stream.hpp>
#include <xgrad/core/transposed.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION void stream(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
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

XGRAD_FUNCTION void copy_transposed(std::size_t element, std::byte* to, std::ptrdiff_t to_row,
    std::byte const* from, std::ptrdiff_t from_column, std::size_t rows, std::size_t columns) {
    with_element_size(element, [&]<std::size_t Bytes>(Opaque<Bytes>) {
        copy_transposed_elements<Bytes>(reinterpret_cast<Opaque<Bytes>*>(to), to_row,
            reinterpret_cast<Opaque<Bytes> const*>(from), from_column, rows, columns);
    });
}

} // namespace xgrad::detail
