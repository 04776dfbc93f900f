// Bodies of kernel_call.hpp.
#pragma once

#include <bit>
#include <cstring>
#include <span>

#include <xgrad/fuse/kernel_call.hpp>
#include <xgrad/fuse/nd_loop.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION KernelCall::KernelCall(KernelTable const& kernels, void const* expression, Pass pass,
    Shape const& space, std::size_t count)
    : layout{kernels.operand_count}, kernels_(kernels),
      kernel_(pass == Pass::value      ? kernels.value
              : pass == Pass::gradient ? kernels.gradient
                                       : kernels.tangent),
      space_(space), block_{expression, at_, count, pass},
      arguments_(pass == Pass::value     ? layout.result() + 1
                 : pass == Pass::tangent ? layout.total()
                                         : layout.tangent()),
      plain_(kernels.in_place && (pass == Pass::value || kernels.result->in_place)
                 ? count
                 : ~std::size_t{0}) {
    // What is not bound; a pass of values has its result.
    for (std::size_t k = layout.grad_output(); pass != Pass::value && k < arguments_; ++k)
        at_[k] = nullptr;
}

XGRAD_FUNCTION void KernelCall::bind_zeros(std::size_t k) {
    static Shape const of_a_number;
    bool const is_plain = block_.n <= zero_elements && plain_ == block_.n;
    bind(k, {zero_buffer.elements, is_plain ? plain_ : 1, of_a_number});
}

/// How the kernel sees the elements of an argument.
XGRAD_FUNCTION ElementType const& KernelCall::type(std::size_t k) const {
    std::size_t const n = layout.operand_count;
    if (k < n) return *kernels_.operand[k];
    if (k < layout.gradients())
        return block_.pass == Pass::value ? *kernels_.written : *kernels_.result;
    k -= layout.gradients();
    return k == n ? *kernels_.result : *kernels_.operand[k < n ? k : k - n - 1];
}

XGRAD_NOINLINE XGRAD_FUNCTION void KernelCall::bind_other(
    std::size_t k, ArraySpan a, double factor) {
    auto const& info = type(k);
    at_[k] = nullptr;
    auto& other = others_[other_count_++];
    if (!is_output(k)) other = {k, {a, info.gather, Role::input}, nullptr, 1};
    else if (a.numel == block_.n) other = {k, {a, info.scatter, Role::output}, nullptr, 1};
    else {
        bool const is_gradient = k >= layout.gradients() && k < layout.tangent();
        other = {
            k, {a, info.accumulate, is_gradient ? Role::sum : Role::reduction}, a.data, factor};
    }
}

/// A pass with arguments that are not plain. Sums have memory of their own where they are made in a
/// wider type. Where each such argument is one element, and has a buffer, it is one call.
XGRAD_NOINLINE XGRAD_FUNCTION double KernelCall::run_others() {
    std::span const others(others_, other_count_);
    std::size_t const n = block_.n, row = (16 * n + 63) / 64 * 64;
    bool one_call = n <= part_size && others.size() * row <= buffer_bytes;
    std::size_t wide_sums = 0;
    for (auto const& [k, o, sums_of, factor] : others) {
        one_call &= o.array.numel == 1;
        if (sums_of && type(k).wide_element > type(k).element) wide_sums += o.array.numel;
    }
    AnyArray const wide({wide_sums}, sizeof(std::complex<double>));
    auto* next = wide.data;
    for (auto& [k, o, sums_of, factor] : others) {
        if (!sums_of) continue;
        auto const& info = type(k);
        std::size_t const bytes = o.array.numel * info.wide_element;
        if (info.wide_element > info.element) o.array.data = std::exchange(next, next + bytes);
        std::memset(o.array.data, 0, bytes);
    }
    double sum;
    if (!one_call) sum = run_in_loop();
    else {
        alignas(64) std::byte buffers[buffer_bytes];
        auto* buffer = buffers;
        for (auto const& [k, o, sums_of, factor] : others) {
            at_[k] = std::exchange(buffer, buffer + row);
            if (o.is_input()) (*o.transfer)(at_[k], o.array.data, 0, n);
            if (k < layout.operand_count) block_.constant |= OperandMask{1} << k;
        }
        sum = run_kernel(block_);
        for (auto const& [k, o, sums_of, factor] : others)
            if (!o.is_input()) (*o.transfer)(at_[k], o.array.data, 0, n);
    }
    for (auto const& [k, o, sums_of, factor] : others)
        if (sums_of) type(k).finish(o.array.data, sums_of, o.array.numel, factor);
    return sum;
}

[[gnu::noinline]] XGRAD_FUNCTION double KernelCall::run_in_loop() {
    NdLoop loop(space_, arguments_, !kernels_.is_expensive);
    for (std::size_t k = 0; k < arguments_; ++k) {
        if (!at_[k]) continue;
        auto const& info = type(k);
        ArraySpan const plain(static_cast<std::byte*>(at_[k]), block_.n, space_);
        if (!is_output(k)) loop.add(k, {plain, info.gather, Role::input});
        else {
            bool const adds =
                k >= layout.gradients() && block_.added_to >> (k - layout.gradients()) & 1;
            loop.add(k, {plain, info.scatter, adds ? Role::sum : Role::output});
        }
    }
    for (auto& [k, o, sums_of, factor] : std::span(others_, other_count_)) {
        // The values of a tensor that stands alone: the loop copies them, without a kernel.
        if (!o.is_input() && kernels_.is_identity && block_.pass == Pass::value)
            if (o.copies = !(o.in_place() && !o.array.strides); o.copies) kernel_ = nullptr;
        loop.add(k, o);
    }
    auto const call = [](void const* context, void** at, std::size_t count, LoopFacts facts) {
        auto const& self = *static_cast<KernelCall const*>(context);
        if (!self.kernel_) return 0.;
        KernelBlock block = self.block_;
        block.arguments = at;
        block.n = count;
        block.constant = facts.constant;
        auto const first = self.layout.gradients();
        block.added_to = first < 64 ? facts.added_to >> first : 0;
        return self.run_kernel(block);
    };
    return loop.run({call, this});
}

/// Copies less than max_batch_bytes in pieces whose sizes are compile-time constants.
XGRAD_INLINE void copy_few(std::byte const* from, std::size_t n, std::byte* to) {
    [&]<std::size_t... I>(std::index_sequence<I...>) XGRAD_LAMBDA_INLINE {
        ((n & (std::size_t{1} << I) ? (std::memcpy(to, from, std::size_t{1} << I),
                                          from += std::size_t{1} << I, to += std::size_t{1} << I)
                                    : nullptr),
            ...);
    }(std::make_index_sequence<std::bit_width(max_batch_bytes) - 1>());
}

/// Fills a batch of real numbers with copies of the first one, or of the first two.
template <class Bits> XGRAD_INLINE void fill_batch(std::byte* to, std::byte const* from) {
    Bits bits;
    std::memcpy(&bits, from, sizeof bits);
    auto const copies = bits + kernel::SimdVector<Bits>{};
    for (std::size_t at = 0; at < 64; at += sizeof copies)
        std::memcpy(to + at, &copies, sizeof copies);
}

/// Copies elements to a batch of `size` bytes, and some of them to the other lanes: kernels
/// compute with values of operands only. Masked stores of a batch, and scalar loads of what the
/// previous step may have stored alone, keep store-to-load forwarding.
XGRAD_NOINLINE XGRAD_FUNCTION void fill_batch(std::byte* to, std::byte const* from,
    std::size_t bytes, std::size_t element, std::size_t size) {
    if (bytes == 4) return fill_batch<std::uint32_t>(to, from);
#if defined(__AVX2__)
    auto const* const p = reinterpret_cast<double const*>(from);
    auto const one = _mm_castpd_si128(element == 16 ? _mm_loadu_pd(p) : _mm_loaddup_pd(p));
#endif
#if defined(__AVX512BW__)
    if (size % 64 == 0) {
        auto const first = _mm512_broadcast_i32x4(one);
        if (bytes == element) _mm512_storeu_si512(to, first);
        for (std::size_t at = bytes == element ? 64 : 0; at < size; at += 64)
            _mm512_storeu_si512(to + at, _mm512_mask_loadu_epi8(first,
                                             bytes >= at + 64 ? ~std::uint64_t{0}
                                             : bytes > at ? (std::uint64_t{1} << (bytes - at)) - 1
                                                          : 0,
                                             from + at));
        return;
    }
#elif defined(__AVX2__)
    if (size % 32 == 0) {
        auto const first = _mm256_broadcastsi128_si256(one);
        if (bytes == element) _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), first);
        for (std::size_t at = bytes == element ? 32 : 0; at < size; at += 32) {
            auto const mask = _mm256_cmpgt_epi32(
                _mm256_set1_epi32(static_cast<int>(bytes / 4) - static_cast<int>(at / 4)),
                _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + at),
                _mm256_blendv_epi8(first,
                    _mm256_maskload_epi32(reinterpret_cast<int const*>(from + at), mask), mask));
        }
        return;
    }
#endif
    copy_few(from, bytes, to);
    for (std::size_t at = bytes; at < size; at += element) copy_few(from, element, to + at);
}

[[gnu::noinline]] XGRAD_FUNCTION void KernelCall::run_tail(
    KernelBlock& block, std::size_t whole) const {
    std::size_t const n = block.n, lanes = kernels_.lanes;
    auto* const* const originals = reinterpret_cast<std::byte* const*>(block.arguments);
    void* arguments[max_arguments];
    alignas(64) std::byte copies[max_arguments][max_batch_bytes];
    // One real number is the tail of each step of a recurrence (benchmarks/instructions).
    std::size_t const real = n * kernels_.real_element, skipped = whole * kernels_.real_element;
    auto const fill = [&](std::size_t k, std::size_t element) XGRAD_LAMBDA_INLINE {
        if (real == 8) return fill_batch<std::uint64_t>(copies[k], originals[k] + skipped);
        fill_batch(
            copies[k], originals[k] + whole * element, n * element, element, lanes * element);
    };
    auto const write = [&](std::size_t k) XGRAD_LAMBDA_INLINE {
        return arguments[k] = originals[k] ? copies[k] : nullptr;
    };
    auto const copy_back = [&](std::size_t k, std::size_t element) XGRAD_LAMBDA_INLINE {
        if (!originals[k]) return;
        auto* const original = originals[k] + whole * element;
        if (n * element == 8) std::memcpy(original, copies[k], 8);
        else copy_few(copies[k], n * element, original);
    };
    for (std::size_t k = 0; k < layout.operand_count; ++k) {
        arguments[k] = copies[k];
        fill(k, kernels_.operand[k]->tile_element);
    }
    if (block.pass == Pass::value) write(layout.result());
    else {
        for (std::size_t k = 0; k < layout.operand_count; ++k)
            if (write(layout.gradients() + k) && block.added_to >> k & 1)
                fill(layout.gradients() + k, kernels_.operand[k]->tile_element);
        for (std::size_t k = layout.grad_output(); k < layout.gradients(); ++k)
            if (write(k)) fill(k, kernels_.result->tile_element);
        if (block.pass == Pass::tangent) write(layout.tangent());
        for (std::size_t k = 0; block.pass == Pass::tangent && k < layout.operand_count; ++k)
            if (write(layout.tangents() + k))
                fill(layout.tangents() + k, kernels_.operand[k]->tile_element);
    }
    block.arguments = arguments;
    block.constant = 0;
    kernel_(block);
    if (block.pass == Pass::value) return copy_back(layout.result(), kernels_.written->element);
    for (std::size_t k = 0; k < layout.operand_count; ++k)
        copy_back(layout.gradients() + k, kernels_.operand[k]->tile_element);
    if (block.pass == Pass::tangent) copy_back(layout.tangent(), kernels_.result->tile_element);
}

} // namespace xgrad::detail
