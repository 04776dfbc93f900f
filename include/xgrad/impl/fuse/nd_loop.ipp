// Bodies of nd_loop.hpp. First the plan, which is made once for each loop: the order of the axes,
// the box, and how each operand meets it. Then the loop over boxes, and run(), which shares the
// boxes out to threads.
#pragma once

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>
#include <vector>

#include <xgrad/core/parallel.hpp>
#include <xgrad/core/scratch.hpp>
#include <xgrad/core/transposed.hpp>
#include <xgrad/fuse/nd_loop.hpp>

namespace xgrad::detail {

/// The pitch of rows of so many elements in the buffer of an operand: an odd number of cache lines,
/// so that the rows of a square block fall in different cache sets.
XGRAD_FUNCTION std::size_t NdLoop::pitch_of(LoopOperand const& o, std::size_t elements) {
    std::size_t const line = 64 / o.transfer->tile_element, lines = (elements + line - 1) / line;
    return (lines | 1) * line;
}

XGRAD_FUNCTION NdLoop::NdLoop(Shape const& space, std::size_t operands)
    : rank_(space.size()), strides_(operands * std::max(rank_, std::size_t{1})),
      axis_(std::max(rank_, std::size_t{1})), at_(operands) {
    for (std::size_t d = rank_; d-- > 0;)
        if (space[d] != 1) axis_[axes_++] = {space[d], 1, 0, d};
}

XGRAD_FUNCTION void NdLoop::add(std::size_t k, LoopOperand const& o) {
    if (!o.array) return;
    auto const index = static_cast<std::uint8_t>(k);
    auto const& array = *o.array;
    auto const& transfer = *o.transfer;
    if (!o.output)
        for (auto const& walk : walks_)
            if (walk.operand.array == &array && walk.operand.transfer == &transfer) {
                same_.emplace_back(index, walk.index);
                return;
            }
    // A kernel adds in the precision of the buffer, so the array must have that precision too.
    bool const adds =
        o.kernel_adds && transfer.element == transfer.tile_element && LoopFacts::bit(k);
    auto* const stride = strides_.data() + std::exchange(strides_used_, strides_used_ + axes_);
    std::size_t const lead = rank_ - array.shape.size();
    for (std::size_t i = 0; i < axes_; ++i)
        if (std::size_t const d = axis_[i].dimension; d >= lead && array.shape[d - lead] != 1)
            stride[i] = array.strides[d - lead];
    walks_.emplace_back(o, stride, array.data, index, o.reduces ? adds : o.in_place(), adds);
    widest_ = std::max(widest_, transfer.tile_element);
}

/// The walk of an operand; null where it has none of its own.
XGRAD_FUNCTION NdLoop::Walk* NdLoop::find_walk(std::int8_t operand) {
    for (auto& walk : walks_)
        if (walk.index == operand) return &walk;
    return nullptr;
}

/// Sorts the axes by stride: an axis is further in than another where most operands have a smaller
/// stride along it.
XGRAD_FUNCTION void NdLoop::order_axes() {
    auto const magnitude = [](std::ptrdiff_t s) { return s < 0 ? -s : s; };
    for (std::size_t d = 1; d < axes_; ++d)
        for (std::size_t e = d; e > 0; --e) {
            int votes = 0;
            for (auto const& walk : walks_) {
                auto const outer = magnitude(walk.stride[e]), inner = magnitude(walk.stride[e - 1]);
                if (outer != 0 && inner != 0) votes += (outer < inner) - (inner < outer);
            }
            if (votes <= 0) break;
            std::swap(axis_[e], axis_[e - 1]);
            for (auto& walk : walks_) std::swap(walk.stride[e], walk.stride[e - 1]);
        }
}

/// Merges neighbouring axes that all operands traverse with one stride.
XGRAD_FUNCTION void NdLoop::coalesce() {
    std::size_t last = 0;
    for (std::size_t d = 1; d < axes_; ++d) {
        auto const extent = static_cast<std::ptrdiff_t>(axis_[last].extent);
        bool joins = true;
        for (auto const& walk : walks_) joins &= walk.stride[d] == walk.stride[last] * extent;
        if (joins) {
            axis_[last].extent *= axis_[d].extent;
            continue;
        }
        if (++last == d) continue;
        axis_[last].extent = axis_[d].extent;
        for (auto& walk : walks_) walk.stride[last] = walk.stride[d];
    }
    if (axes_ == 0) axis_[0] = {1, 1, 0, 0};
    axes_ = last + 1;
}

/// Cuts the rows into equal parts of at most so many elements.
XGRAD_FUNCTION void NdLoop::cut_row(std::size_t longest) {
    std::size_t const row = axis_[0].extent;
    std::size_t const parts = kernel::divided_up(row, longest);
    axis_[0].step = std::min(row, kernel::rounded_up(kernel::divided_up(row, parts), batch));
}

XGRAD_FUNCTION void NdLoop::choose_box() {
    std::size_t const row = axis_[0].extent;
    axis_[0].step = row;
    // Elements of a box, a power of two.
    std::size_t const block = block_bytes >> std::countr_zero(widest_);
    bool const many_rows = axes_ > 1 && 2 * row <= block;
    std::size_t side = 1, longest = axes_ == 1 ? part_size : max_summed;
    if (axes_ > 1 || row > longest_part)
        for (auto const& walk : walks_) {
            if (is_streamed(walk))
                longest = std::min(longest, streamed_part / walk.operand.transfer->element);
            else if (!(walk.operand.from >= 0 || (walk.direct && walk.stride[0] == 1)))
                longest = std::min(longest, longest_part);
            if (is_transposed(walk))
                side = std::max(side, square_side(walk.operand.transfer->element));
        }
    if (side > 1) {
        by_row_ = row >= shortest_row;
        if (by_row_) cut_row(longest_part);
        last_ = 1;
        inner_ = axis_[0].step;
        axis_[1].step = std::min(
            axis_[1].extent, by_row_ ? side : std::max(block / row / side, std::size_t{1}) * side);
        return;
    }
    if (!many_rows) return cut_row(longest);
    std::size_t elements = row;
    for (std::size_t d = 1; d < axes_; ++d) {
        auto& axis = axis_[d];
        last_ = d;
        inner_ = elements;
        axis.step = axis.extent;
        if (axis.extent > block || axis.extent * elements > block) {
            std::size_t const even = batch >> std::min(4, std::countr_zero(elements));
            axis.step = block / elements;
            if (axis.step > even) axis.step &= ~(even - 1);
            break;
        }
        elements *= axis.step;
        if (2 * elements > block) break;
    }
}

/// True if an operand has stride 1 along the second axis, like a transposed matrix, and its
/// elements can be copied in square blocks.
XGRAD_FUNCTION bool NdLoop::is_transposed(Walk const& walk) const {
    if (axes_ < 2 || !walk.direct || walk.stride[1] != 1 || walk.stride[0] == 0) return false;
    std::size_t const side = square_side(walk.operand.transfer->element);
    return !walk.operand.reduces && axis_[0].extent >= side && axis_[1].extent >= side;
}

/// True for an output that is larger than the caches, if the kernel reads it nowhere.
XGRAD_FUNCTION bool NdLoop::is_streamed(Walk const& walk) const {
    auto const& o = walk.operand;
    if (axes_ > 1 || !o.output || axis_[0].extent * o.transfer->element < streamed_bytes)
        return false;
    return o.in_place() && walk.stride[0] == 1 &&
           reinterpret_cast<std::uintptr_t>(o.array->data) % block_alignment == 0 &&
           std::ranges::none_of(walks_, [&](Walk const& other) {
               return !other.operand.output && other.operand.array->data == o.array->data;
           });
}

XGRAD_FUNCTION NdLoop::Access NdLoop::access_of(Walk const& walk) const {
    bool constant = inner_ * axis_[last_].step > 1, contiguous = true;
    std::ptrdiff_t expected = 1;
    for (std::size_t d = 0; d <= last_; ++d) {
        auto const step = static_cast<std::ptrdiff_t>(axis_[d].step);
        if (step == 1) continue;
        constant &= walk.stride[d] == 0;
        contiguous &= walk.stride[d] == expected;
        expected *= step;
    }
    if (is_streamed(walk)) return Access::streamed;
    if (walk.direct && contiguous) return Access::in_place;
    if (constant && !(by_row_ && walk.operand.output)) return Access::constant;
    if (walk.direct && by_row_ && walk.stride[0] == 1) return Access::rows;
    return is_transposed(walk) ? Access::transposed : Access::buffered;
}

XGRAD_FUNCTION void NdLoop::choose_access(Walk& walk) {
    auto const& o = walk.operand;
    walk.access = access_of(walk);
    if (walk.access <= Access::rows) {
        walk.row_gap = walk.step(last_ ? 1 : 0);
        walk.added_to = o.reduces;
        return;
    }
    std::size_t const row = axis_[0].step, tile_element = o.transfer->tile_element;
    std::size_t elements = inner_ * axis_[last_].step, pitch = row;
    if (by_row_) {
        pitch = pitch_of(o, row);
        elements = walk.access == Access::constant ? row : pitch * axis_[1].step;
    }
    if (walk.access == Access::constant) {
        if (!o.output) facts_.constant |= walk.bit();
        walk.adds = false; // the sum of a buffer costs less than the additions
    } else walk.row_gap = static_cast<std::ptrdiff_t>(pitch * tile_element);
    if (o.from < 0) walk.bytes = (elements * tile_element + 63) & ~std::size_t{63};
}

/// Allocates the buffers of all operands. A transposed output may share that of an input.
XGRAD_FUNCTION void NdLoop::make_buffers() {
    for (auto& walk : walks_) {
        if (walk.access == Access::transposed && walk.operand.over >= 0)
            if (auto* const input = find_walk(walk.operand.over);
                input && input->access == Access::transposed && input->bytes == walk.bytes) {
                walk.overwrites = input;
                continue;
            }
        bytes_ += walk.bytes;
    }
    if (bytes_ == 0) return;
    auto* free = buffers_ = static_cast<std::byte*>(allocate(bytes_));
    for (auto& walk : walks_)
        walk.buffer =
            walk.overwrites ? walk.overwrites->buffer : std::exchange(free, free + walk.bytes);
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
            return o.output ? copy_transposed(
                                  o.transfer->element, array, across, tile, pitch, columns, rows)
                            : copy_transposed(
                                  o.transfer->element, tile, pitch, array, across, rows, columns);
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
    auto const from = walk.operand.from;
    auto const& source = from < 0 ? walk : *find_walk(from);
    auto* const tile = source.access <= Access::rows ? source.at : source.buffer;
    if (walk.access == Access::streamed)
        return stream(walk.at, tile, columns_ * walk.operand.transfer->element);
    if (walk.access == Access::constant)
        (*walk.operand.transfer)(tile, walk.at, 0, last_ ? inner_* positions_ : columns_);
    else transfer(walk, tile, source.row_gap, walk.at, columns_, positions_);
    if (walk.overwrites) walk.overwrites->held = nullptr;
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

/// Processes all boxes of the plan, or of the part of it that this is.
XGRAD_FUNCTION double NdLoop::run_boxes(LoopBody body) {
    make_buffers();
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
                if (o.output && buffers_ && !by_row_)
                    prefetch_for_stores(walk.at, elements * o.transfer->element);
            } else if (!o.output) open_input(walk);
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
            if (walk.operand.output && walk.access > Access::rows && !walk.adds) scatter(walk);
    } while (next_box());
    for (auto const& walk : walks_)
        if (walk.adds && walk.access > Access::rows) flush_sum(walk);
    finish_streaming();
    return sum;
}

/// The indices of the outermost axis in a part. An output that does not move along it has one part.
XGRAD_FUNCTION std::size_t NdLoop::part_extent() const {
    std::size_t elements = 1;
    for (std::size_t d = 0; d + 1 < axes_; ++d) elements *= axis_[d].extent;
    auto const& outer = axis_[axes_ - 1];
    for (auto const& walk : walks_)
        if (walk.operand.output && walk.stride[axes_ - 1] == 0) return outer.extent;
    return std::max(outer.step, part_size / elements / outer.step * outer.step);
}

/// The parts do not depend on the number of threads, so that results are bit-identical.
XGRAD_FUNCTION double NdLoop::run(LoopBody body) {
    for (std::size_t d = 0; d < axes_; ++d)
        if (axis_[d].extent == 0) return 0;
    order_axes();
    coalesce();
    choose_box();
    for (auto& walk : walks_) choose_access(walk);
    for (auto const [k, as] : same_)
        if (facts_.constant & LoopFacts::bit(as)) facts_.constant |= LoopFacts::bit(k);
    std::size_t const outer = axes_ - 1, whole = axis_[outer].extent, extent = part_extent();
    if (extent >= whole) return run_boxes(body);
    std::vector<double> sums(kernel::divided_up(whole, extent));
    for_each_index(
        sums.size(),
        [&](std::size_t i) {
            NdLoop part(*this);
            part.axis_[outer].extent = std::min(extent, whole - i * extent);
            for (auto& walk : part.walks_)
                walk.at += static_cast<std::ptrdiff_t>(i * extent) * walk.step(outer);
            sums[i] = part.run_boxes(body);
        },
        Wake::for_long_work);
    return std::accumulate(sums.begin(), sums.end(), 0.);
}

} // namespace xgrad::detail
