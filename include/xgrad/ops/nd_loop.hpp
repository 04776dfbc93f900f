// NdLoop: the loop driver. It brings operands of any shape, strides and element type to a kernel,
// as NumPy's nditer and ATen's TensorIterator do.
//
// Data structures: an axis has an extent; a LoopOperand becomes a Walk, which has a stride for each
// axis (0 where it is broadcast) and says how it meets a box. A box is the part of the index space
// that a kernel processes at once, in row-major order: the inner axes as a whole while they are
// short, and a part of the next one. It fits in the L1 cache.
//
// Invariant: a kernel sees contiguous elements only. An operand that is contiguous in the box is
// used in place; any other has a buffer. An input is gathered into it, an output is scattered or
// accumulated from it. A buffer whose elements do not move from box to box is kept: an input is not
// gathered again, and a kernel that can add to an output does so until it is flushed. So one kernel
// serves all shapes, and the gradient of a broadcast operand is summed in the same pass.
//
// bench_broadcast and bench_permutations measure it. Read next: run(), then evaluate_into.hpp.
#pragma once

#include <xgrad/ops/loop_plan.hpp>

namespace xgrad::detail {

class NdLoop : LoopPlan {
public:
    /// A loop over all positions of an index space.
    using LoopPlan::LoopPlan;

    /// Calls the kernel on all elements, box by box.
    void run(LoopBody body);

private:
    void transfer(Walk const& walk, std::byte* tile, std::ptrdiff_t gap, std::byte* array,
        std::size_t columns, std::size_t last);
    void open_input(Walk& walk);
    void open_sum(Walk& walk);
    void flush_sum(Walk& walk);
    void scatter(Walk& walk);
    bool next_box();
};

/// Transfers a box between a buffer and an array. It has `columns` elements along the first axis
/// and `last` along the last one; rows are `gap` bytes apart in the buffer.
inline void NdLoop::transfer(Walk const& walk, std::byte* tile, std::ptrdiff_t gap,
    std::byte* array, std::size_t columns, std::size_t last) {
    auto const& o = *walk.operand;
    auto const across = walk.stride[0];
    if (last_ == 0) return (*o.transfer)(tile, array, across, columns);
    std::size_t const rows = last_ == 1 ? last : axis_[1].extent;
    bool const reduces_columns =
        o.transfer->columns && across == 1 && walk.stride[1] == 0 &&
        gap == static_cast<std::ptrdiff_t>(columns * o.transfer->tile_element);
    auto const transpose = [&] {
        auto const pitch = gap / static_cast<std::ptrdiff_t>(o.transfer->tile_element);
        o.output ? copy_transposed(o.transfer->element, array, across, tile, pitch, columns, rows)
                 : copy_transposed(o.transfer->element, tile, pitch, array, across, rows, columns);
    };
    LocalArray<std::size_t, 6> index(last_ + 1);
    for (;;) {
        if (walk.access == Access::transposed) transpose();
        else if (reduces_columns) o.transfer->columns(tile, array, columns, rows);
        else
            o.transfer->rows(
                tile, static_cast<std::size_t>(gap), array, walk.step(1), across, columns, rows);
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

inline void NdLoop::open_input(Walk& walk) {
    if (std::exchange(walk.held, walk.at) == walk.at) return;
    if (walk.access == Access::constant)
        (*walk.operand->transfer)(
            walk.buffer, walk.at, 0, by_row_ ? axis_[0].step : inner_* axis_[last_].step);
    else transfer(walk, walk.buffer, walk.row_gap, walk.at, columns_, positions_);
}

/// Decides whether the kernel stores to the buffer of a sum or adds to it.
inline void NdLoop::open_sum(Walk& walk) {
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
inline void NdLoop::flush_sum(Walk& walk) {
    if (walk.held)
        transfer(walk, walk.buffer, walk.row_gap, walk.held, walk.held_columns, walk.held_last);
}

/// Scatters an output that is no sum of a kernel, or reduces it into its array.
inline void NdLoop::scatter(Walk& walk) {
    auto const from = walk.operand->from;
    auto const& source = from < 0 ? walk : walk_of(from);
    auto* const tile = source.access <= Access::rows ? source.at : source.buffer;
    if (walk.access == Access::constant)
        (*walk.operand->transfer)(tile, walk.at, 0, last_ ? inner_* positions_ : columns_);
    else transfer(walk, tile, source.row_gap, walk.at, columns_, positions_);
    if (walk.overwrites) walk.overwrites->held = nullptr;
}

/// Moves to the next box; false after the last one.
inline bool NdLoop::next_box() {
    for (std::size_t d = 0; d < axes_; ++d) {
        auto& [extent, step, index] = axis_[d];
        if (step == extent) continue;
        bool const carries = index + step >= extent;
        auto const by =
            carries ? -static_cast<std::ptrdiff_t>(index) : static_cast<std::ptrdiff_t>(step);
        index = carries ? 0 : index + step;
        for (auto& walk : walks()) walk.at += by * walk.step(d);
        if (!carries) return true;
    }
    return false;
}

inline void NdLoop::run(LoopBody body) {
    for (std::size_t d = 0; d < axes_; ++d)
        if (axis_[d].extent == 0) return;
    if (axes_ > 1) order_axes();
    coalesce();
    choose_box();
    choose_access();
    make_buffers();
    for (auto const& walk : walks())
        if (walk.access == Access::constant && !walk.operand->output)
            facts_.constant |= LoopFacts::bit(walk.index);
    for (auto const [k, first] : same())
        if (facts_.constant & LoopFacts::bit(first)) facts_.constant |= LoopFacts::bit(k);
    auto const call = [&](std::size_t elements) {
        for (auto const [k, first] : same()) at_[k] = at_[first];
        body.call(body.context, at_.data(), elements, facts_);
    };
    do {
        auto const here = [&](std::size_t d) {
            return std::min(axis_[d].step, axis_[d].extent - axis_[d].index);
        };
        columns_ = here(0);
        positions_ = here(last_);
        std::size_t const elements = by_row_ || last_ == 0 ? columns_ : inner_ * positions_;
        facts_.added_to = 0;
        for (auto& walk : walks()) {
            auto const& o = *walk.operand;
            at_[walk.index] = walk.buffer;
            if (walk.access <= Access::rows) {
                at_[walk.index] = walk.at;
                if (o.output && buffers_ && !by_row_)
                    prefetch_for_stores(walk.at, elements * o.transfer->element);
            } else if (!o.output) open_input(walk);
            else if (walk.adds) open_sum(walk);
            if (walk.added_to) facts_.added_to |= LoopFacts::bit(walk.index);
        }
        call(elements);
        for (std::size_t row = 1; by_row_ && row < positions_; ++row) {
            for (auto const& walk : walks())
                at_[walk.index] = static_cast<std::byte*>(at_[walk.index]) + walk.row_gap;
            call(elements);
        }
        for (auto& walk : walks())
            if (walk.operand->output && walk.access > Access::rows && !walk.adds) scatter(walk);
    } while (next_box());
    for (auto& walk : walks())
        if (walk.adds && walk.access > Access::rows) flush_sum(walk);
}

} // namespace xgrad::detail
