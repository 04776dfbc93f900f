// Bodies of nd_loop.hpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <numeric>
#include <utility>
#include <vector>

#include <xgrad/core/parallel.hpp>
#include <xgrad/core/transposed.hpp>
#include <xgrad/fuse/nd_loop.hpp>

namespace xgrad::detail {

/// Allocates the buffers of all operands.
XGRAD_FUNCTION void NdLoop::make_buffers() {
    for (auto const& walk : walks_) bytes_ += walk.bytes;
    if (bytes_ == 0) return;
    auto* free = buffers_ = static_cast<std::byte*>(allocate(bytes_));
    for (auto& walk : walks_) walk.buffer = std::exchange(free, free + walk.bytes);
}

/// Copies or reduces `columns` elements along the first axis of a box and `last` along its last one
/// between a buffer, whose rows are `gap` bytes apart, and an array.
XGRAD_FUNCTION void NdLoop::transfer(Walk const& walk, std::byte* tile, std::ptrdiff_t gap,
    std::byte* array, std::size_t columns, std::size_t last) const {
    auto const& o = walk.operand;
    auto const across = walk.stride[0];
    if (walk.access == Access::streamed) return stream(array, tile, columns * o.transfer->element);
    if (walk.access == Access::constant)
        return (*o.transfer)(tile, array, 0, by_row_ || !last_ ? columns : inner_ * last);
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

/// Gathers an input. The first box with these elements is the largest one.
XGRAD_FUNCTION void NdLoop::open_input(Walk& walk) const {
    if (std::exchange(walk.held, walk.at) != walk.at)
        transfer(walk, walk.buffer, walk.row_gap, walk.at, columns_, positions_);
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

/// Copies a box of the input to the output: straight into an output that is in place.
XGRAD_FUNCTION void NdLoop::copy_box() {
    bool const is_first = walks_[0].operand.is_input();
    auto &in = walks_[!is_first], &out = walks_[is_first];
    if (out.access <= Access::rows)
        return transfer(in, out.at, out.row_gap, in.at, columns_, positions_);
    if (in.access > Access::rows) open_input(in);
    transfer(out, in.access <= Access::rows ? in.at : in.buffer, in.row_gap, out.at, columns_,
        positions_);
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
        if (copies_) {
            copy_box();
            continue;
        }
        facts_.added_to = 0;
        for (auto& walk : walks_) {
            auto const& o = walk.operand;
            at_[walk.index] = walk.buffer;
            if (walk.access <= Access::rows) {
                at_[walk.index] = walk.at;
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
            if (!walk.operand.is_input() && walk.access > Access::rows && !walk.adds)
                transfer(walk, walk.buffer, walk.row_gap, walk.at, columns_, positions_);
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

} // namespace xgrad::detail

namespace xgrad {

XGRAD_LAZY_BODY void set_num_threads(std::size_t n) {
    detail::NdLoop::threaded.store(&detail::NdLoop::run_on_threads, std::memory_order_release);
    detail::WorkerPool::instance().set_size(
        n ? n : std::max(1u, std::thread::hardware_concurrency()));
}

} // namespace xgrad
