// Bodies of nd_loop.hpp and kernel_call.hpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <xgrad/core/parallel.hpp>
#include <xgrad/core/scratch.hpp>
#include <xgrad/core/transposed.hpp>
#include <xgrad/fuse/kernel_call.hpp>
#include <xgrad/fuse/nd_loop.hpp>

namespace xgrad::detail {

/// Allocates the buffers of all operands.
XGRAD_FUNCTION void NdLoop::make_buffers() {
    for (auto const& walk : walks_) bytes_ += walk.bytes;
    if (bytes_ == 0) return;
    auto* free = buffers_ = static_cast<std::byte*>(allocate(bytes_));
    for (auto& walk : walks_) walk.buffer = std::exchange(free, free + walk.bytes);
}

/// Transfers `columns` elements along the first axis of a box and `last` along its last one between
/// a buffer, whose rows are `gap` bytes apart, and an array.
XGRAD_FUNCTION void NdLoop::transfer(Walk const& walk, std::byte* tile, std::ptrdiff_t gap,
    std::byte* array, std::size_t columns, std::size_t last) const {
    auto const& o = walk.operand;
    auto const across = walk.stride[0];
    if (last_ == 0) return (*o.transfer)(tile, array, across, columns);
    std::size_t const rows = last_ == 1 ? last : axis_[1].extent;
    bool const reduces_columns =
        o.transfer->columns && across == 1 && walk.stride[1] == 0 &&
        gap == static_cast<std::ptrdiff_t>(columns * o.transfer->tile_element);
    auto const plane = [&] {
        if (walk.access == Access::transposed) {
            auto const pitch = gap / static_cast<std::ptrdiff_t>(o.transfer->tile_element);
            return !o.is_input() ? copy_transposed(o.transfer->element, array, across, tile, pitch,
                                       columns, rows)
                                 : copy_transposed(o.transfer->element, tile, pitch, array, across,
                                       rows, columns);
        }
        if (reduces_columns) return o.transfer->columns(tile, array, columns, rows);
        o.transfer->rows(
            tile, static_cast<std::size_t>(gap), array, walk.step(1), across, columns, rows);
    };
    if (last_ == 1) return plane();
    LocalArray<std::size_t, 6> index(last_ + 1);
    for (;;) {
        plane();
        tile += static_cast<std::ptrdiff_t>(rows) * gap;
        std::size_t d = 2;
        for (; d <= last_; ++d) {
            std::size_t const extent = d == last_ ? last : axis_[d].extent;
            array += walk.step(d);
            if (++index[d] < extent) break;
            array -= walk.step(d) * static_cast<std::ptrdiff_t>(extent);
            index[d] = 0;
        }
        if (d > last_) return;
    }
}

XGRAD_FUNCTION void NdLoop::open_input(Walk& walk) const {
    if (std::exchange(walk.held, walk.at) == walk.at) return;
    if (walk.access == Access::constant)
        (*walk.operand.transfer)(
            walk.buffer, walk.at, 0, by_row_ ? axis_[0].step : inner_* axis_[last_].step);
    else transfer(walk, walk.buffer, walk.row_gap, walk.at, columns_, positions_);
}

/// Decides whether the kernel stores to the buffer of a sum or adds to it.
XGRAD_FUNCTION void NdLoop::open_sum(Walk& walk) const {
    std::size_t const calls = by_row_ ? positions_ : 1;
    if (walk.held == walk.at && walk.calls < max_accumulated) {
        walk.added_to = true;
        walk.calls += calls;
        return;
    }
    flush_sum(walk);
    // Along an axis on which the array does not move, all of the buffer is owed.
    walk.held = walk.at;
    walk.held_columns = walk.stride[0] ? columns_ : axis_[0].step;
    walk.held_last = walk.stride[last_] ? positions_ : axis_[last_].step;
    walk.calls = calls;
    walk.added_to = by_row_ || columns_ < axis_[0].step || positions_ < axis_[last_].step;
    if (walk.added_to) std::memset(walk.buffer, 0, walk.bytes);
}

XGRAD_FUNCTION void NdLoop::flush_sum(Walk const& walk) const {
    if (walk.held)
        transfer(walk, walk.buffer, walk.row_gap, walk.held, walk.held_columns, walk.held_last);
}

/// Scatters an output that is no sum of a kernel, or reduces it into its array.
XGRAD_FUNCTION void NdLoop::scatter(Walk const& walk) {
    auto const& source = walk.operand.copies ? walks_[0] : walk;
    auto* const tile = source.access <= Access::rows ? source.at : source.buffer;
    if (walk.access == Access::streamed)
        return stream(walk.at, tile, columns_ * walk.operand.transfer->element);
    if (walk.access == Access::constant)
        (*walk.operand.transfer)(tile, walk.at, 0, last_ ? inner_* positions_ : columns_);
    else transfer(walk, tile, source.row_gap, walk.at, columns_, positions_);
}

/// Moves to the next box; false after the last one.
XGRAD_FUNCTION bool NdLoop::next_box() {
    for (std::size_t d = 0; d < axes_; ++d) {
        auto& axis = axis_[d];
        if (axis.step == axis.extent) continue;
        bool const carries = axis.index + axis.step >= axis.extent;
        auto const by = carries ? -static_cast<std::ptrdiff_t>(axis.index)
                                : static_cast<std::ptrdiff_t>(axis.step);
        axis.index = carries ? 0 : axis.index + axis.step;
        for (auto& walk : walks_) walk.at += by * walk.step(d);
        if (!carries) return true;
    }
    return false;
}

/// Prefetches the cache lines of an output that a kernel writes in place. Stores retire in order,
/// so stores to tiles, which hit the L1 cache, would wait behind a store that misses. AMD's
/// processors since Zen 3 lose by it.
inline void prefetch_for_stores(
    [[maybe_unused]] std::byte const* place, [[maybe_unused]] std::size_t bytes) {
#if defined(__GNUC__) && !(defined(__znver3__) || defined(__znver4__) || defined(__znver5__))
    for (std::size_t at = 0; at < bytes; at += 64) prefetch_for_writing(place + at);
#endif
}

/// Processes all boxes of this part.
XGRAD_FUNCTION double NdLoop::run_boxes(LoopBody body) {
    double sum = 0;
    auto const call = [&](std::size_t elements) {
        for (auto const [k, as] : same_) at_[k] = at_[as];
        sum += body.call(body.context, at_.data(), elements, facts_);
    };
    auto const here = [&](std::size_t d) {
        return std::min(axis_[d].step, axis_[d].extent - axis_[d].index);
    };
    do {
        columns_ = here(0), positions_ = here(last_);
        std::size_t const elements = by_row_ || last_ == 0 ? columns_ : inner_ * positions_;
        facts_.added_to = 0;
        for (auto& walk : walks_) {
            auto const& o = walk.operand;
            at_[walk.index] = walk.buffer;
            if (walk.access <= Access::rows) {
                at_[walk.index] = walk.at;
                if (!o.is_input() && copies_boxes_ && !by_row_)
                    prefetch_for_stores(walk.at, elements * o.transfer->element);
            } else if (o.is_input()) open_input(walk);
            else if (walk.adds) open_sum(walk);
            if (walk.added_to) facts_.added_to |= walk.bit();
        }
        call(elements);
        for (std::size_t row = 1; by_row_ && row < positions_; ++row) {
            for (auto const& walk : walks_)
                at_[walk.index] = static_cast<std::byte*>(at_[walk.index]) + walk.row_gap;
            call(elements);
        }
        for (auto const& walk : walks_)
            if (!walk.operand.is_input() && walk.access > Access::rows && !walk.adds) scatter(walk);
    } while (next_box());
    for (auto const& walk : walks_)
        if (walk.adds && walk.access > Access::rows) flush_sum(walk);
    if (streams_) finish_streaming();
    return sum;
}

/// Processes part i. Between parts, the walks are at the first index of one.
XGRAD_FUNCTION double NdLoop::run_part(LoopBody body, std::size_t i) {
    std::size_t const first = i * part_extent_;
    for (auto& walk : walks_) {
        walk.at += (static_cast<std::ptrdiff_t>(first) - static_cast<std::ptrdiff_t>(first_)) *
                   walk.step(part_axis_);
        walk.held = nullptr;
    }
    first_ = first;
    axis_[part_axis_].extent = std::min(part_extent_, whole_ - first);
    return run_boxes(body);
}

/// Each thread has a copy of the loop, with buffers of its own.
XGRAD_LAZY_BODY void NdLoop::run_on_threads(
    NdLoop& loop, LoopBody body, std::span<double> sums, std::size_t threads) {
    struct Worker {
        explicit Worker(NdLoop const& plan) : loop(plan) {}
        NdLoop loop;
        std::atomic_flag is_busy;
    };
    std::deque<Worker> workers;
    for (std::size_t i = 0; i < threads; ++i) workers.emplace_back(loop);
    for_each_index(
        sums.size(),
        [&](std::size_t i) {
            auto worker = workers.begin();
            while (worker->is_busy.test_and_set(std::memory_order_acquire))
                if (++worker == workers.end()) worker = workers.begin();
            sums[i] = worker->loop.run_part(body, i);
            worker->is_busy.clear(std::memory_order_release);
        },
        Wake::for_long_work);
}

XGRAD_FUNCTION double NdLoop::run(LoopBody body) {
    std::size_t const parts = make();
    if (parts == 0) return 0;
    std::vector<double> sums(parts > 1 ? parts : 0);
    std::size_t const threads = std::min(pool_size.load(std::memory_order_relaxed), parts);
    auto* const on_threads = threads > 1 ? threaded.load(std::memory_order_acquire) : nullptr;
    if (on_threads) on_threads(*this, body, sums, threads);
    else {
        make_buffers();
        if (parts == 1) return run_boxes(body);
        for (std::size_t i = 0; i < parts; ++i) sums[i] = run_part(body, i);
    }
    return std::accumulate(sums.begin(), sums.end(), 0.);
}

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
    std::size_t const n = block_.n, row = 16 * kernel::rounded_up(n, 16);
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
            if (o.is_input())
                (*o.transfer)(at_[k], o.array.data, 0, kernel::rounded_up(n, kernels_.lanes));
            if (k < layout.operand_count) block_.constant |= OperandMask{1} << k;
        }
        sum = run_kernel(block_, may_pad());
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
        ArraySpan const plain(static_cast<std::byte*>(at_[k]), block_.n, space_, 0);
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
        return self.run_kernel(block, (count & (self.kernels_.lanes - 1)) == 0);
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

namespace xgrad {

XGRAD_LAZY_BODY void set_num_threads(std::size_t n) {
    detail::NdLoop::threaded.store(&detail::NdLoop::run_on_threads, std::memory_order_release);
    detail::WorkerPool::instance().set_size(
        n ? n : std::max(1u, std::thread::hardware_concurrency()));
}

} // namespace xgrad
