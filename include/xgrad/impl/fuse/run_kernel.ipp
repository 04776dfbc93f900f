// Bodies of run_kernel.hpp.
#pragma once

#include <cstring>

#include <xgrad/fuse/run_kernel.hpp>

namespace xgrad::detail {

/// Copies n < 2 * Most bytes in pieces whose sizes are compile-time constants.
template <std::size_t Most>
XGRAD_INLINE void copy_few(std::byte const* from, std::size_t n, std::byte* to) {
    if (n & Most) std::memcpy(to, from, Most), from += Most, to += Most;
    if constexpr (Most > 1) copy_few<Most / 2>(from, n, to);
}
#if defined(__AVX2__)
/// Loads one element of 4, 8 or 16 bytes into all lanes.
XGRAD_INLINE __m128i load_one(std::byte const* from, std::size_t element) {
    if (element == 8) [[likely]]
        return _mm_castpd_si128(_mm_loaddup_pd(reinterpret_cast<double const*>(from)));
    if (element == 16) return _mm_loadu_si128(reinterpret_cast<__m128i const*>(from));
    return _mm_castps_si128(_mm_load1_ps(reinterpret_cast<float const*>(from)));
}
#endif

/// Copies n elements to a batch of `size` bytes, and the first of them to the other lanes: kernels
/// compute with values that operands have, and with no others.
///
/// A masked store writes the batch at once where the processor has one: store-to-load forwarding
/// fails if the kernel reads a batch that was stored in pieces. One element is loaded by a scalar
/// load for the same reason: the previous step may have stored it alone just before.
XGRAD_NOINLINE XGRAD_FUNCTION void fill_batch(
    std::byte* to, std::byte const* from, std::size_t n, std::size_t element, std::size_t size) {
    std::size_t const bytes = n * element;
#if defined(__AVX512BW__)
    if (size % 64 == 0) {
        auto const first = _mm512_broadcast_i32x4(load_one(from, element));
        if (n == 1) _mm512_storeu_si512(to, first);
        for (std::size_t at = n == 1 ? 64 : 0; at < size; at += 64)
            _mm512_storeu_si512(to + at, _mm512_mask_loadu_epi8(first,
                                             bytes >= at + 64 ? ~std::uint64_t{0}
                                             : bytes > at ? (std::uint64_t{1} << (bytes - at)) - 1
                                                          : 0,
                                             from + at));
        return;
    }
#elif defined(__AVX2__)
    if (size % 32 == 0) {
        auto* const batches = reinterpret_cast<__m256i*>(to);
        auto const first = _mm256_broadcastsi128_si256(load_one(from, element));
        if (n == 1) {
            for (std::size_t at = 0; at < size; at += 32)
                _mm256_storeu_si256(batches + at / 32, first);
            return;
        }
        for (std::size_t at = 0; at < size; at += 32) {
            auto const mask = _mm256_cmpgt_epi32(
                _mm256_set1_epi32(static_cast<int>(bytes / 4) - static_cast<int>(at / 4)),
                _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
            _mm256_storeu_si256(batches + at / 32,
                _mm256_blendv_epi8(first,
                    _mm256_maskload_epi32(reinterpret_cast<int const*>(from + at), mask), mask));
        }
        return;
    }
#endif
    copy_few<max_batch_bytes / 2>(from, bytes, to);
    for (std::size_t at = bytes; at < size; at += element) copy_few<16>(from, element, to + at);
}

[[gnu::noinline]] XGRAD_FUNCTION void run_tail(
    KernelTable const& table, Kernel kernel, KernelBlock& block, std::size_t whole) {
    KernelLayout const layout{table.operand_count};
    auto const pass = block.pass;
    std::size_t const n = block.n, lanes = table.lanes;
    void* const* const originals = block.arguments;
    void* arguments[KernelLayout{max_operands}.total()];
    alignas(64) std::byte copies[std::size(arguments)][max_batch_bytes];
    auto const write = [&](std::size_t k) XGRAD_LAMBDA_INLINE {
        return arguments[k] = originals[k] ? copies[k] : nullptr;
    };
    auto const read = [&](std::size_t k, std::size_t element) XGRAD_LAMBDA_INLINE {
        if (write(k))
            fill_batch(copies[k], static_cast<std::byte*>(originals[k]) + whole * element, n,
                element, lanes * element);
    };
    auto const copy_back = [&](std::size_t k, std::size_t element) XGRAD_LAMBDA_INLINE {
        if (!originals[k]) return;
        auto* const original = static_cast<std::byte*>(originals[k]) + whole * element;
        // One number is the tail of each step of a recurrence (benchmarks/instructions).
        if (n * element == 8) std::memcpy(original, copies[k], 8);
        else copy_few<max_batch_bytes / 2>(copies[k], n * element, original);
    };
    for (std::size_t k = 0; k < layout.operand_count; ++k) read(k, table.operand[k]->tile_element);
    if (pass == Pass::value) write(layout.result());
    else {
        for (std::size_t k = 0; k < layout.operand_count; ++k)
            if (write(layout.gradients() + k) && block.added_to >> k & 1)
                read(layout.gradients() + k, table.operand[k]->tile_element);
        for (std::size_t k = layout.grad_output(); k < layout.gradients(); ++k)
            if (pass != Pass::value_and_gradient) read(k, table.result->tile_element);
        if (pass == Pass::tangent) {
            write(layout.tangent());
            for (std::size_t k = 0; k < layout.operand_count; ++k)
                read(layout.tangents() + k, table.operand[k]->tile_element);
        }
    }
    block.arguments = arguments;
    block.constant = 0;
    kernel(block);
    if (pass == Pass::value) return copy_back(layout.result(), table.result->element);
    for (std::size_t k = 0; k < layout.operand_count; ++k)
        copy_back(layout.gradients() + k, table.operand[k]->tile_element);
    if (pass == Pass::tangent) copy_back(layout.tangent(), table.result->tile_element);
}

} // namespace xgrad::detail
