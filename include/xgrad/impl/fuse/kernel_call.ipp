// Bodies of kernel_call.hpp.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>

#include <xgrad/core/scratch.hpp>
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
                 : ~std::size_t{0}),
      padding_(count & (kernels.lanes - 1) ? kernels.register_bytes : 0) {
    // What is not bound; a pass of values has its result.
    for (std::size_t k = layout.grad_output(); pass != Pass::value && k < arguments_; ++k)
        at_[k] = nullptr;
}

XGRAD_FUNCTION void KernelCall::bind_zeros(std::size_t k) {
    static Shape const of_a_number;
    bool const is_plain = block_.n <= zero_elements && plain_ == block_.n;
    bind(k, {zero_buffer.elements, is_plain ? plain_ : 1, of_a_number, kernels_.register_bytes});
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
    if (a.numel == plain_ && !a.strides) return void(is_padded_ = false); // memory of others
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
/// wider type. Where each such argument is one element, which fills a buffer, no loop is needed.
XGRAD_NOINLINE XGRAD_FUNCTION double KernelCall::run_others() {
    std::span const others(others_, other_count_);
    std::size_t const n = block_.n, row = kernel::rounded_up(n, 16);
    bool one_call = n <= part_size;
    std::size_t wide_sums = 0, buffered = 0;
    for (auto const& [k, o, sums_of, factor] : others) {
        one_call &= o.array.numel == 1;
        buffered += row * o.transfer->tile_element;
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
    if (!one_call || buffered > buffer_bytes) sum = run_in_loop();
    else {
        alignas(64) std::byte buffers[buffer_bytes];
        auto* buffer = buffers;
        for (auto const& [k, o, sums_of, factor] : others) {
            at_[k] = std::exchange(buffer, buffer + row * o.transfer->tile_element);
            if (o.is_input())
                (*o.transfer)(at_[k], o.array.data, 0, kernel::rounded_up(n, kernels_.lanes));
            if (k < layout.operand_count) block_.constant |= OperandMask{1} << k;
        }
        sum = run_kernel(block_, is_padded_ && may_pad());
        for (auto const& [k, o, sums_of, factor] : others)
            if (!o.is_input()) (*o.transfer)(at_[k], o.array.data, 0, n);
    }
    for (auto const& [k, o, sums_of, factor] : others)
        if (sums_of) type(k).finish(o.array.data, sums_of, o.array.numel, factor);
    return sum;
}

[[gnu::noinline]] XGRAD_FUNCTION double KernelCall::run_in_loop() {
    NdLoop loop(space_, arguments_, !kernels_.is_expensive);
    // A tensor that stands alone, or its gradient: the loop copies, and reads no operand but one.
    bool const copies = kernels_.is_identity && block_.pass <= Pass::gradient && !block_.added_to &&
                        block_.factor == 1;
    auto const add = [&](std::size_t k, LoopOperand o) {
        if (copies && block_.pass == Pass::gradient && k < layout.operand_count) return;
        o.copies = copies && !o.is_input();
        if (o.copies && o.role == Role::sum) o.role = Role::reduction; // no kernel adds to it
        loop.add(k, o);
    };
    for (std::size_t k = 0; k < arguments_; ++k) {
        if (!at_[k]) continue;
        auto const& info = type(k);
        ArraySpan const plain(static_cast<std::byte*>(at_[k]), block_.n, space_, 0);
        if (!is_output(k)) add(k, {plain, info.gather, Role::input});
        else {
            bool const adds =
                k >= layout.gradients() && block_.added_to >> (k - layout.gradients()) & 1;
            add(k, {plain, info.scatter, adds ? Role::sum : Role::output});
        }
    }
    for (auto const& other : std::span(others_, other_count_)) add(other.argument, other.operand);
    auto const call = [](void const* context, void** at, std::size_t count, LoopFacts facts) {
        auto const& self = *static_cast<KernelCall const*>(context);
        KernelBlock block = self.block_;
        block.arguments = at;
        block.n = count;
        block.constant = facts.constant;
        auto const first = self.layout.gradients();
        block.added_to = first < 64 ? facts.added_to >> first : 0;
        return self.run_kernel(block, false);
    };
    return loop.run({call, this});
}

/// The elements after the last whole batch are one more batch, on copies. They fill its other lanes
/// too: a kernel computes with values of operands only.
[[gnu::noinline]] XGRAD_FUNCTION void KernelCall::run_unpadded(KernelBlock& block) const {
    std::size_t const lanes = kernels_.lanes, n = block.n & (lanes - 1), whole = block.n - n;
    block.n = whole;
    if (whole) kernel_(block);
    void* arguments[max_arguments];
    alignas(64) std::byte copies[max_arguments][max_batch_bytes];
    auto const original = [&](std::size_t k) {
        return static_cast<std::byte*>(block.arguments[k]) + whole * type(k).tile_element;
    };
    for (std::size_t k = 0; k < arguments_; ++k) {
        arguments[k] = block.arguments[k] ? copies[k] : nullptr;
        std::size_t const size = n * type(k).tile_element, all = lanes * type(k).tile_element;
        if (arguments[k] && (!is_output(k) || block.added_to))
            std::memcpy(copies[k], original(k), size);
        for (std::size_t at = size; at < all; at *= 2)
            std::memcpy(copies[k] + at, copies[k], std::min(at, all - at));
    }
    KernelBlock tail = block;
    tail.arguments = arguments;
    tail.n = n;
    tail.constant = 0;
    kernel_(tail);
    block.sum = tail.sum;
    for (std::size_t k = 0; k < arguments_; ++k)
        if (arguments[k] && is_output(k))
            std::memcpy(original(k), copies[k], n * type(k).tile_element);
}

} // namespace xgrad::detail
