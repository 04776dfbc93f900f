// Bodies of nd_loop_plan.hpp.
#pragma once

#include <algorithm>
#include <bit>
#include <utility>

#include <xgrad/core/parallel.hpp>
#include <xgrad/core/scratch.hpp>
#include <xgrad/core/transposed.hpp>
#include <xgrad/fuse/nd_loop_plan.hpp>

namespace xgrad::detail {

/// The pitch of rows of so many elements in the buffer of an operand: an odd number of cache lines,
/// so that the rows of a square block fall in different cache sets.
XGRAD_FUNCTION std::size_t NdLoopPlan::pitch_of(LoopOperand const& o, std::size_t elements) {
    std::size_t const line = 64 / o.transfer->tile_element, lines = (elements + line - 1) / line;
    return (lines | 1) * line;
}

XGRAD_FUNCTION void NdLoopPlan::add(std::size_t k, LoopOperand const& o) {
    auto const& array = o.array;
    if (!array.data) return;
    auto const index = static_cast<std::uint8_t>(k);
    auto const& transfer = *o.transfer;
    if (o.is_input())
        for (auto const& walk : walks_)
            if (walk.operand.array.data == array.data && walk.operand.array.shape == array.shape &&
                walk.operand.transfer == &transfer) {
                same_.emplace_back(index, walk.index);
                return;
            }
    // A kernel adds in the precision of the buffer, so the array must have that precision too.
    bool const adds =
        o.role == Role::sum && transfer.element == transfer.tile_element && LoopFacts::bit(k);
    auto* const stride = strides_.data() + std::exchange(strides_used_, strides_used_ + axes_);
    auto const& shape = *array.shape;
    Strides const strides = array.strides ? *array.strides : row_major(shape);
    std::size_t const lead = rank_ - shape.size();
    for (std::size_t i = 0; i < axes_; ++i)
        if (std::size_t const d = axis_[i].dimension; d >= lead && shape[d - lead] != 1)
            stride[i] = strides[d - lead];
    copies_ |= o.copies;
    walks_.emplace_back(o, stride, array.data, index, o.reduces() ? adds : o.in_place(), adds);
    widest_ = std::max(widest_, transfer.tile_element);
}

/// Sorts the axes by stride: an axis is further in than another where most operands have a smaller
/// stride along it.
XGRAD_FUNCTION void NdLoopPlan::order_axes() {
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
XGRAD_FUNCTION void NdLoopPlan::coalesce() {
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
XGRAD_FUNCTION void NdLoopPlan::cut_row(std::size_t longest) {
    std::size_t const row = axis_[0].extent;
    std::size_t const parts = kernel::divided_up(row, longest);
    axis_[0].step = std::min(row, kernel::rounded_up(kernel::divided_up(row, parts), batch));
}

XGRAD_FUNCTION void NdLoopPlan::choose_box() {
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
            else if (walk.operand.copies && walk.operand.reduces())
                longest = std::min(longest, max_summed);
            else if (!(walk.operand.copies || (walk.direct && walk.stride[0] == 1)))
                longest = std::min(longest, walk.stride[0] > 1 ? strided_part : longest_part);
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
XGRAD_FUNCTION bool NdLoopPlan::is_transposed(Walk const& walk) const {
    if (axes_ < 2 || !walk.direct || walk.stride[1] != 1 || walk.stride[0] == 0) return false;
    std::size_t const side = square_side(walk.operand.transfer->element);
    return !walk.operand.reduces() && axis_[0].extent >= side && axis_[1].extent >= side;
}

/// True for an output that is larger than the caches, if the kernel reads it nowhere.
XGRAD_FUNCTION bool NdLoopPlan::is_streamed(Walk const& walk) const {
    auto const& o = walk.operand;
    if (!streams_ || axes_ > 1 || o.is_input() ||
        axis_[0].extent * o.transfer->element < streamed_bytes)
        return false;
    bool is_read = false;
    for (auto const& other : walks_)
        is_read |= other.operand.is_input() && other.operand.array.data == o.array.data;
    return o.in_place() && walk.stride[0] == 1 && !is_read &&
           reinterpret_cast<std::uintptr_t>(o.array.data) % block_alignment == 0;
}

XGRAD_FUNCTION NdLoopPlan::Access NdLoopPlan::access_of(Walk const& walk) const {
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
    if (constant && !(by_row_ && !walk.operand.is_input())) return Access::constant;
    if (walk.direct && by_row_ && walk.stride[0] == 1) return Access::rows;
    return is_transposed(walk) ? Access::transposed : Access::buffered;
}

XGRAD_FUNCTION void NdLoopPlan::choose_access(Walk& walk) {
    auto const& o = walk.operand;
    walk.access = access_of(walk);
    if (walk.access <= Access::rows) {
        walk.row_gap = walk.step(last_ ? 1 : 0);
        walk.added_to = o.reduces();
        return;
    }
    std::size_t const row = axis_[0].step, tile_element = o.transfer->tile_element;
    std::size_t elements = inner_ * axis_[last_].step, pitch = row;
    if (by_row_) {
        pitch = pitch_of(o, row);
        elements = walk.access == Access::constant ? row : pitch * axis_[1].step;
    }
    if (walk.access == Access::constant) {
        if (o.is_input()) facts_.constant |= walk.bit();
        walk.adds = false; // the sum of a buffer costs less than the additions
    } else walk.row_gap = static_cast<std::ptrdiff_t>(pitch * tile_element);
    if (!o.copies) walk.bytes = (elements * tile_element + 63) & ~std::size_t{63};
}

/// The axis with the most boxes of those along which all outputs move: then no two parts write to
/// one element. axes_ where there is none.
XGRAD_FUNCTION std::size_t NdLoopPlan::part_axis() const {
    std::size_t best = axes_, most = 1;
    for (std::size_t d = axes_; d-- > last_;) {
        std::size_t const boxes = kernel::divided_up(axis_[d].extent, axis_[d].step);
        bool moves = boxes > most;
        for (auto const& walk : walks_) moves &= walk.operand.is_input() || walk.stride[d] != 0;
        if (moves) best = d, most = boxes;
    }
    return best;
}

/// Parts have some part_size elements, whatever the number of threads is.
XGRAD_FUNCTION std::size_t NdLoopPlan::make() {
    std::size_t elements = 1;
    for (std::size_t d = 0; d < axes_; ++d) elements *= axis_[d].extent;
    if (elements == 0) return 0;
    order_axes();
    coalesce();
    choose_box();
    for (auto& walk : walks_) choose_access(walk);
    for (auto const [k, as] : same_)
        if (facts_.constant & LoopFacts::bit(as)) facts_.constant |= LoopFacts::bit(k);
    part_axis_ = elements > part_size ? part_axis() : axes_;
    if (part_axis_ == axes_) return 1;
    auto const& axis = axis_[part_axis_];
    whole_ = axis.extent;
    part_extent_ = std::max(axis.step, part_size / (elements / whole_) / axis.step * axis.step);
    return kernel::divided_up(whole_, part_extent_);
}

} // namespace xgrad::detail
