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
    if (element == 16) return _mm_loadu_si128(reinterpret_cast<__m128i const*>(from));
    if (element == 8) return _mm_loadl_epi64(reinterpret_cast<__m128i const*>(from));
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
#if defined(__AVX512BW__) && defined(__BMI2__)
    if (size % 64 == 0) {
        for (std::size_t at = 0; at < size; at += 64) {
            auto const mask = _bzhi_u64(~0ull, static_cast<unsigned>(bytes > at ? bytes - at : 0));
            _mm512_storeu_si512(to + at, n == 1 && at == 0
                                             ? _mm512_zextsi128_si512(load_one(from, element))
                                             : _mm512_maskz_loadu_epi8(mask, from + at));
        }
        return;
    }
#elif defined(__AVX2__)
    if (size % 32 == 0) {
        auto const words = _mm256_set1_epi32(static_cast<int>(bytes / 4));
        for (std::size_t at = 0; at < size; at += 32) {
            auto const word = _mm256_add_epi32(_mm256_set1_epi32(static_cast<int>(at / 4)),
                _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + at),
                n == 1 && at == 0 ? _mm256_zextsi128_si256(load_one(from, element))
                                  : _mm256_maskload_epi32(reinterpret_cast<int const*>(from + at),
                                        _mm256_cmpgt_epi32(words, word)));
        }
        return;
    }
#endif
    std::memset(to, 0, size);
    copy_few<64>(from, bytes, to);
}

XGRAD_INLINE void Tail::read(std::size_t k, std::size_t element) noexcept {
    if (!from_[k]) return;
    fill_batch(copies_[k], static_cast<std::byte const*>(from_[k]) + whole_ * element, n_, element,
        lanes_ * element);
    arguments_[k] = copies_[k];
}
XGRAD_INLINE void Tail::write(std::size_t k, std::size_t element) noexcept {
    if (!from_[k]) return;
    arguments_[k] = copies_[k];
    index_[written_] = static_cast<std::uint8_t>(k);
    element_[written_++] = static_cast<std::uint8_t>(element);
}
XGRAD_INLINE void Tail::copy_back() const noexcept {
    for (std::size_t i = 0; i < written_; ++i) {
        auto const k = index_[i], element = element_[i];
        copy_few<64>(
            copies_[k], n_ * element, static_cast<std::byte*>(from_[k]) + whole_ * element);
    }
}

[[gnu::noinline]] XGRAD_FUNCTION void run_forward_tail(KernelTable const& kernels,
    void const* expression, void* const* arguments, std::size_t n, OperandMask constant) {
    std::size_t const count = kernels.operand_count, whole = kernels.in_whole_batches(n);
    Tail tail(arguments, count + 1, whole, n - whole, kernels.lanes);
    for (std::size_t k = 0; k < count; ++k) tail.read(k, kernels.operand[k]->tile_element);
    tail.write(count, kernels.result->element);
    kernels.forward(expression, tail.arguments(), n - whole, constant);
    tail.copy_back();
}

/// What a backward kernel and a sum kernel have in common.
XGRAD_INLINE void add_operands(
    Tail& tail, KernelTable const& kernels, std::size_t gradients, OperandMask added_to) {
    for (std::size_t k = 0; k < kernels.operand_count; ++k) {
        auto const element = kernels.operand[k]->tile_element;
        tail.read(k, element);
        if (added_to >> k & 1) tail.read(gradients + k, element);
        tail.write(gradients + k, element);
    }
}

[[gnu::noinline]] XGRAD_FUNCTION void run_backward_tail(KernelTable const& kernels,
    void const* expression, BackwardPlan const& plan, void* const* arguments, std::size_t n,
    OperandMask constant, OperandMask added_to) {
    BackwardLayout const layout{kernels.operand_count};
    std::size_t const whole = kernels.in_whole_batches(n);
    Tail tail(arguments, layout.total(), whole, n - whole, kernels.lanes);
    tail.read(layout.grad_output(), kernels.result->tile_element);
    if (plan.saved_result) tail.read(layout.result(), kernels.result->tile_element);
    add_operands(tail, kernels, layout.gradients(), added_to);
    kernels.backward(expression, plan, tail.arguments(), n - whole, constant, added_to);
    tail.copy_back();
}

[[gnu::noinline]] XGRAD_FUNCTION double run_sum_tail(KernelTable const& kernels, SumKernel sum,
    void const* expression, BackwardPlan const& plan, void* const* arguments, double factor,
    std::size_t n, OperandMask constant, OperandMask added_to) {
    BackwardLayout const layout{kernels.operand_count};
    std::size_t const whole = kernels.in_whole_batches(n);
    Tail tail(arguments, layout.total(), whole, n - whole, kernels.lanes);
    add_operands(tail, kernels, layout.gradients(), added_to);
    double const total =
        sum(expression, plan, tail.arguments(), factor, n - whole, constant, added_to);
    tail.copy_back();
    return total;
}

XGRAD_FUNCTION void run_dual(KernelTable const& kernels, void const* expression,
    DualPlan const& plan, void* const* arguments, std::size_t n) {
    DualLayout const layout{kernels.operand_count};
    std::size_t const whole = kernels.in_whole_batches(n);
    if (whole) kernels.dual(expression, plan, arguments, whole);
    if (whole == n) return;
    Tail tail(arguments, layout.total(), whole, n - whole, kernels.lanes);
    for (std::size_t k = 0; k < layout.operand_count; ++k) {
        auto const element = kernels.operand[k]->tile_element;
        tail.read(k, element);
        tail.read(layout.tangents() + k, element);
        tail.write(layout.gradients() + k, element);
    }
    tail.read(layout.grad_output(), kernels.result->tile_element);
    tail.read(layout.result(), kernels.result->tile_element);
    tail.write(layout.tangent(), kernels.result->tile_element);
    kernels.dual(expression, plan, tail.arguments(), n - whole);
    tail.copy_back();
}

} // namespace xgrad::detail
