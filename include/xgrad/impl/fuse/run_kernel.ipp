// Bodies of run_kernel.hpp.
#pragma once

#include <cstring>

#include <xgrad/fuse/run_kernel.hpp>

namespace xgrad::detail {

/// Copies n < 2 * Most bytes in pieces whose sizes are compile-time constants.
template <std::size_t Most>
XGRAD_INLINE void copy_few(std::byte const* from, std::size_t n, std::byte* to) {
    if (n & Most) {
        std::memcpy(to, from, Most);
        from += Most;
        to += Most;
    }
    if constexpr (Most > 1) copy_few<Most / 2>(from, n, to);
}
#if defined(__AVX2__)
/// Loads one element of 4, 8 or 16 bytes and zeros the rest.
XGRAD_INLINE __m128i load_one(std::byte const* from, std::size_t element) {
    if (element == 8) [[likely]]
        return _mm_loadl_epi64(reinterpret_cast<__m128i const*>(from));
    if (element == 16) return _mm_loadu_si128(reinterpret_cast<__m128i const*>(from));
    return _mm_castps_si128(_mm_load_ss(reinterpret_cast<float const*>(from)));
}
#endif

/// Copies n elements to a batch of `size` bytes and zeros the rest.
///
/// A masked store writes the batch at once where the processor has one: store-to-load forwarding
/// fails if the kernel reads a batch that was stored in pieces. One element is loaded by a scalar
/// load for the same reason: the previous step may have stored it alone just before.
XGRAD_INLINE void fill_batch(
    std::byte* to, std::byte const* from, std::size_t n, std::size_t element, std::size_t size) {
    std::size_t const bytes = n * element;
#if defined(__AVX512BW__)
    if (size % 64 == 0) {
        if (n == 1) _mm512_storeu_si512(to, _mm512_zextsi128_si512(load_one(from, element)));
        for (std::size_t at = n == 1 ? 64 : 0; at < size; at += 64)
            _mm512_storeu_si512(to + at,
                _mm512_maskz_loadu_epi8(bytes >= at + 64 ? ~std::uint64_t{0}
                                        : bytes > at     ? (std::uint64_t{1} << (bytes - at)) - 1
                                                         : 0,
                    from + at));
        return;
    }
#elif defined(__AVX2__)
    if (size % 32 == 0) {
        auto* const batches = reinterpret_cast<__m256i*>(to);
        if (n == 1) _mm256_storeu_si256(batches, _mm256_zextsi128_si256(load_one(from, element)));
        for (std::size_t at = n == 1 ? 32 : 0; at < size; at += 32)
            _mm256_storeu_si256(batches + at / 32,
                _mm256_maskload_epi32(reinterpret_cast<int const*>(from + at),
                    _mm256_cmpgt_epi32(
                        _mm256_set1_epi32(static_cast<int>(bytes / 4) - static_cast<int>(at / 4)),
                        _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))));
        return;
    }
#endif
    std::memset(to, 0, size);
    copy_few<max_batch_bytes / 2>(from, bytes, to);
}

XGRAD_INLINE void TailCopies::read(TailRange range, std::size_t k, std::size_t element) noexcept {
    write(range, k);
    if (range.arguments[k])
        fill_batch(copies_[k], range.first(k, element), range.n, element, range.lanes * element);
}
XGRAD_INLINE void TailCopies::write(TailRange range, std::size_t k) noexcept {
    arguments_[k] = range.arguments[k] ? copies_[k] : nullptr;
}
XGRAD_INLINE void TailCopies::copy_back(
    TailRange range, std::size_t k, std::size_t element) const noexcept {
    if (range.arguments[k])
        copy_few<max_batch_bytes / 2>(copies_[k], range.n * element, range.first(k, element));
}

[[gnu::noinline]] XGRAD_FUNCTION void run_forward_tail(
    KernelTable const& kernels, void const* expression, TailRange range) {
    TailCopies copies;
    std::size_t const count = kernels.operand_count;
    for (std::size_t k = 0; k < count; ++k) copies.read(range, k, kernels.operand[k]->tile_element);
    copies.write(range, count);
    kernels.forward(expression, copies.arguments(), range.n, 0);
    copies.copy_back(range, count, kernels.result->element);
}

/// The operands and gradients of a backward kernel or a sum kernel.
XGRAD_INLINE void take_operands(TailCopies& copies, TailRange range, KernelTable const& kernels,
    std::size_t gradients, OperandMask added_to) {
    for (std::size_t k = 0; k < kernels.operand_count; ++k) {
        auto const element = kernels.operand[k]->tile_element;
        copies.read(range, k, element);
        if (added_to >> k & 1) copies.read(range, gradients + k, element);
        else copies.write(range, gradients + k);
    }
}
XGRAD_INLINE void copy_gradients_back(
    TailCopies const& copies, TailRange range, KernelTable const& kernels, std::size_t gradients) {
    for (std::size_t k = 0; k < kernels.operand_count; ++k)
        copies.copy_back(range, gradients + k, kernels.operand[k]->tile_element);
}

[[gnu::noinline]] XGRAD_FUNCTION void run_backward_tail(KernelTable const& kernels,
    void const* expression, BackwardPlan const& plan, TailRange range, OperandMask added_to) {
    BackwardLayout const layout{kernels.operand_count};
    TailCopies copies;
    copies.read(range, layout.grad_output(), kernels.result->tile_element);
    copies.read(range, layout.result(), kernels.result->tile_element);
    take_operands(copies, range, kernels, layout.gradients(), added_to);
    kernels.backward(expression, plan, copies.arguments(), range.n, 0, added_to);
    copy_gradients_back(copies, range, kernels, layout.gradients());
}

[[gnu::noinline]] XGRAD_FUNCTION double run_sum_tail(KernelTable const& kernels, SumKernel sum,
    void const* expression, BackwardPlan const& plan, TailRange range, double factor,
    OperandMask added_to) {
    BackwardLayout const layout{kernels.operand_count};
    TailCopies copies;
    take_operands(copies, range, kernels, layout.gradients(), added_to);
    double const total = sum(expression, plan, copies.arguments(), factor, range.n, 0, added_to);
    copy_gradients_back(copies, range, kernels, layout.gradients());
    return total;
}

XGRAD_FUNCTION void run_dual(KernelTable const& kernels, void const* expression,
    DualPlan const& plan, void* const* arguments, std::size_t n) {
    DualLayout const layout{kernels.operand_count};
    TailRange range{arguments, kernels.in_whole_batches(n), 0, kernels.lanes};
    range.n = n - range.whole;
    if (range.whole) kernels.dual(expression, plan, arguments, range.whole);
    if (range.n == 0) return;
    TailCopies copies;
    for (std::size_t k = 0; k < layout.operand_count; ++k) {
        auto const element = kernels.operand[k]->tile_element;
        copies.read(range, k, element);
        copies.read(range, layout.tangents() + k, element);
        copies.write(range, layout.gradients() + k);
    }
    auto const element = kernels.result->tile_element;
    copies.read(range, layout.grad_output(), element);
    copies.read(range, layout.result(), element);
    copies.write(range, layout.tangent());
    kernels.dual(expression, plan, copies.arguments(), range.n);
    copy_gradients_back(copies, range, kernels, layout.gradients());
    copies.copy_back(range, layout.tangent(), element);
}

} // namespace xgrad::detail
