// The tail of a tile: the elements after its last whole batch. Remainder copies them to a padded
// buffer, so that the kernel computes one more whole batch and touches nothing outside of the tile.
#pragma once

#include <cstddef>
#include <cstring>

#include <xgrad/simd/batch.hpp>

namespace xgrad::detail {

/// Copies n < 2 * Most elements in pieces whose sizes are compile-time constants. Most is a power
/// of two.
template <std::size_t Most, class E>
XGRAD_INLINE void copy_few(E const* from, std::size_t n, E* to) {
    if constexpr (Most > 0) {
        if (n & Most) {
            std::memcpy(static_cast<void*>(to), from, Most * sizeof(E));
            from += Most;
            to += Most;
        }
        copy_few<Most / 2>(from, n, to);
    }
}

#if defined(__AVX2__)
/// Loads one element into the lowest lane and zeros the rest.
template <class E> XGRAD_INLINE __m128i load_one(E const* from) {
    if constexpr (sizeof(E) == 16) return _mm_loadu_si128(reinterpret_cast<__m128i const*>(from));
    else if constexpr (sizeof(E) == 8)
        return _mm_loadl_epi64(reinterpret_cast<__m128i const*>(from));
    else return _mm_castps_si128(_mm_load_ss(reinterpret_cast<float const*>(from)));
}
#endif

/// Copies n < width elements to a buffer of `width` and zeros the rest.
///
/// A masked store writes the buffer at once where the processor has one: store-to-load forwarding
/// fails if the kernel reads a batch that was stored in pieces. One element is loaded by a scalar
/// load for the same reason: the previous step may have stored it alone just before.
template <std::size_t width, class E>
XGRAD_INLINE void fill_batch(E* to, E const* from, std::size_t n) {
    constexpr std::size_t size = width * sizeof(E);
#if defined(__AVX512BW__) && defined(__BMI2__)
    if constexpr (size % 64 == 0) {
        if (n == 1) {
            _mm512_storeu_si512(to, _mm512_zextsi128_si512(load_one(from)));
            for (std::size_t byte = 64; byte < size; byte += 64)
                _mm512_storeu_si512(
                    reinterpret_cast<std::byte*>(to) + byte, _mm512_setzero_si512());
            return;
        }
        for (std::size_t byte = 0, bytes = n * sizeof(E); byte < size; byte += 64) {
            auto const mask =
                _bzhi_u64(~0ull, static_cast<unsigned>(bytes > byte ? bytes - byte : 0));
            _mm512_storeu_si512(reinterpret_cast<std::byte*>(to) + byte,
                _mm512_maskz_loadu_epi8(mask, reinterpret_cast<std::byte const*>(from) + byte));
        }
        return;
    }
#elif defined(__AVX2__)
    if constexpr (size % 32 == 0 && sizeof(E) % 4 == 0) {
        if (n == 1) {
            _mm256_storeu_si256(
                reinterpret_cast<__m256i*>(to), _mm256_zextsi128_si256(load_one(from)));
            for (std::size_t byte = 32; byte < size; byte += 32)
                _mm256_storeu_si256(
                    reinterpret_cast<__m256i*>(reinterpret_cast<std::byte*>(to) + byte),
                    _mm256_setzero_si256());
            return;
        }
        auto const lanes = _mm256_set1_epi32(static_cast<int>(n * (sizeof(E) / 4)));
        for (int lane = 0; lane < static_cast<int>(size / 4); lane += 8) {
            auto const mask =
                _mm256_cmpgt_epi32(lanes, _mm256_setr_epi32(lane, lane + 1, lane + 2, lane + 3,
                                              lane + 4, lane + 5, lane + 6, lane + 7));
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(to) + lane / 8,
                _mm256_maskload_epi32(reinterpret_cast<int const*>(from) + lane, mask));
        }
        return;
    }
#endif
    std::memset(static_cast<void*>(to), 0, size);
    copy_few<width / 2>(from, n, to);
}

/// Padded copies of the last, incomplete batch of `Count` operands.
template <class P, std::size_t Count> struct Remainder {
    static constexpr std::size_t width = simd::Batch<P>::width;
    alignas(64) std::byte buffer[Count][width * sizeof(std::complex<P>)];

    /// Copies the n elements of operand k from index `at` on; returns the padded copy.
    template <class E>
    XGRAD_INLINE void const* copy(std::size_t k, void const* tile, std::size_t at, std::size_t n) {
        fill_batch<width>(reinterpret_cast<E*>(buffer[k]), static_cast<E const*>(tile) + at, n);
        return buffer[k];
    }
};

} // namespace xgrad::detail
