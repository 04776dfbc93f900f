// LoopPlan: how NdLoop cuts an index space into boxes, and how each operand meets a box. See
// nd_loop.hpp for the terms and the invariant. Read next: choose_box(), then nd_loop.hpp.
#pragma once

#include <algorithm>
#include <bit>
#include <numeric>
#include <span>

#include <xgrad/base/memory.hpp>
#include <xgrad/base/scratch.hpp>
#include <xgrad/base/transposed.hpp>
#include <xgrad/ops/loop_operand.hpp>

namespace xgrad::detail {

struct LoopPlan {
    LoopPlan(Shape const& space, LoopOperand const* operands, std::size_t count);
    LoopPlan(LoopPlan const&) = delete;
    LoopPlan& operator=(LoopPlan const&) = delete;
    ~LoopPlan() {
        if (buffers_) deallocate(buffers_, bytes_);
    }

    /// How an operand meets the box.
    enum class Access : std::uint8_t {
        in_place, // contiguous
        rows,     // each row is contiguous: used in place where a kernel is called for each row
        constant, // one element: the buffer repeats it, or sums to it
        buffered,
        transposed, // buffered, and copied in square blocks
    };
    struct Walk {
        std::byte* at = nullptr;     // the element at the first index of the box
        std::byte* buffer = nullptr; // null where it needs none
        std::byte* held = nullptr;   // the elements that the buffer has, or is owed to, if any
        std::ptrdiff_t row_gap = 0;  // bytes between two rows, as a kernel sees them
        std::size_t held_columns = 0, held_last = 0; // the extents of what is owed
        std::size_t calls = 0;                       // of the kernel since the buffer was flushed
        Walk* overwrites = nullptr;                  // an input whose buffer this output shares
        std::size_t bytes = 0;                       // of the buffer
        LoopOperand const* operand = nullptr;
        std::ptrdiff_t* stride = nullptr; // along each axis, in elements
        std::uint8_t index = 0;           // of the operand
        Access access = Access::in_place;
        bool direct = false;   // a kernel can use contiguous elements in place
        bool adds = false;     // a kernel can add to the buffer of this output
        bool added_to = false; // the kernel adds to it in this box

        /// Bytes from one index along an axis to the next.
        std::ptrdiff_t step(std::size_t axis) const {
            return stride[axis] * static_cast<std::ptrdiff_t>(operand->transfer->element);
        }
    };
    /// An input that is the same array as an earlier one.
    struct Same {
        std::uint8_t operand, as;
    };
    struct Axis {
        std::size_t extent, step, index; // of the whole, of a box, of the first element of a box
    };

    static constexpr std::size_t max_accumulated =
        16; // calls in which a kernel adds to a buffer before it is flushed: more would lose digits
    static constexpr std::size_t block_bytes = 8192;  // of one operand in a box of several rows
    static constexpr std::size_t longest_part = 1024; // elements of a part of a row
    static constexpr std::size_t shortest_row = 128;  // for calls row by row

    std::span<Walk> walks() { return {walks_.data(), walk_count_}; }
    std::span<Same> same() { return {same_.data(), same_count_}; }
    Walk& walk_of(std::int8_t operand) {
        return *std::ranges::find(walks(), static_cast<std::uint8_t>(operand), &Walk::index);
    }

    void order_axes();
    void coalesce();
    void choose_box();
    Access access_of(Walk const& walk);
    void choose_access();
    void make_buffers();

    /// True if a kernel can add to this output. It adds in the precision of the buffer, so the
    /// array must have that precision too.
    static bool can_add(LoopOperand const& o, std::size_t k) {
        return o.kernel_adds && o.transfer->element == o.transfer->tile_element &&
               LoopFacts::bit(k);
    }
    /// True if an operand has stride 1 along the second axis, like a transposed matrix, and its
    /// elements can be copied in square blocks.
    bool is_transposed(Walk const& walk) {
        if (axes_ < 2 || !walk.direct || walk.stride[1] != 1 || walk.stride[0] == 0) return false;
        std::size_t const side = square_side(walk.operand->transfer->element);
        return !walk.operand->reduces && axis_[0].extent >= side && axis_[1].extent >= side;
    }
    /// The pitch of rows of so many elements in the buffer of an operand: an odd number of cache
    /// lines, so that the rows of a square block fall in different cache sets.
    static std::size_t pitch_of(LoopOperand const& o, std::size_t elements) {
        std::size_t const line = 64 / o.transfer->tile_element,
                          lines = (elements + line - 1) / line;
        return (lines | 1) * line;
    }

    LoopOperand const* operands_;
    std::size_t count_, axes_ = 0, walk_count_ = 0, same_count_ = 0;
    LocalArray<Walk, 14> walks_; // of operands that are not absent
    LocalArray<Same, 14> same_;
    LocalArray<std::ptrdiff_t, 56> strides_;  // of each walk along each axis, in elements
    LocalArray<Axis, 6> axis_;                // the innermost first, as everywhere here
    std::size_t last_ = 0;                    // the outermost axis of a box
    std::size_t inner_ = 1;                   // elements of a box for each index of that axis
    bool by_row_ = false;                     // the kernel is called for each row of a box
    std::size_t columns_ = 0, positions_ = 0; // extents of this box along axes 0 and last_
    std::size_t zeros_of_ = 0;                // bytes of the largest element of an absent input
    LoopFacts facts_;
    LocalArray<void*, 16> at_; // what the kernel gets
    std::byte* buffers_ = nullptr;
    std::size_t bytes_ = 0;
};

inline LoopPlan::LoopPlan(Shape const& space, LoopOperand const* operands, std::size_t count)
    : operands_(operands), count_(count),
      walks_(static_cast<std::size_t>(std::count_if(
          operands, operands + count, [](LoopOperand const& o) { return !o.absent; }))),
      same_(count), strides_(walks_.span().size() * std::max(space.size(), std::size_t{1})),
      axis_(std::max(space.size(), std::size_t{1})), at_(count) {
    auto* strides = strides_.data();
    for (std::size_t k = 0; k < count; ++k) {
        auto const& o = operands[k];
        if (o.absent) {
            at_[k] = nullptr;
            if (o.output) continue;
            zeros_of_ = std::max(zeros_of_, o.transfer->tile_element);
            facts_.constant |= LoopFacts::bit(k);
            continue;
        }
        if (!o.output) {
            auto const first = std::ranges::find_if(walks(), [&](Walk const& walk) {
                return walk.operand->array == o.array && walk.operand->transfer == o.transfer;
            });
            if (first != walks().end()) {
                same_[same_count_++] = {static_cast<std::uint8_t>(k), first->index};
                continue;
            }
        }
        auto& walk = walks_[walk_count_++];
        walk.operand = &o;
        walk.index = static_cast<std::uint8_t>(k);
        walk.at = o.array->data;
        walk.adds = can_add(o, k);
        walk.direct = o.reduces ? walk.adds : o.in_place();
        walk.stride = std::exchange(strides, strides + space.size());
    }
    for (std::size_t d = space.size(); d-- > 0;) {
        if (space[d] == 1) continue;
        axis_[axes_].extent = space[d];
        for (auto& walk : walks()) {
            auto const& a = *walk.operand->array;
            std::size_t const lead = space.size() - a.shape.size();
            if (d >= lead && a.shape[d - lead] != 1) walk.stride[axes_] = a.strides[d - lead];
        }
        ++axes_;
    }
}

/// Sorts the axes by stride: an axis is further in than another where most operands have a smaller
/// stride along it.
inline void LoopPlan::order_axes() {
    auto const magnitude = [](std::ptrdiff_t s) { return s < 0 ? -s : s; };
    for (std::size_t d = 1; d < axes_; ++d)
        for (std::size_t e = d; e > 0; --e) {
            int votes = 0;
            for (auto& walk : walks()) {
                auto const outer = magnitude(walk.stride[e]), inner = magnitude(walk.stride[e - 1]);
                if (outer != 0 && inner != 0) votes += (outer < inner) - (inner < outer);
            }
            if (votes <= 0) break;
            std::swap(axis_[e], axis_[e - 1]);
            for (auto& walk : walks()) std::swap(walk.stride[e], walk.stride[e - 1]);
        }
}

/// Merges neighbouring axes that all operands traverse with one stride.
inline void LoopPlan::coalesce() {
    std::size_t kept = std::min(axes_, std::size_t{1});
    for (std::size_t d = kept; d < axes_; ++d) {
        bool joins = true;
        for (auto const& walk : walks())
            joins = joins && walk.stride[d] == walk.stride[kept - 1] * static_cast<std::ptrdiff_t>(
                                                                           axis_[kept - 1].extent);
        if (joins) {
            axis_[kept - 1].extent *= axis_[d].extent;
            continue;
        }
        if (kept != d) {
            axis_[kept].extent = axis_[d].extent;
            for (auto& walk : walks()) walk.stride[kept] = walk.stride[d];
        }
        ++kept;
    }
    if (kept == 0) axis_[kept++].extent = 1;
    axes_ = kept;
}

inline void LoopPlan::choose_box() {
    constexpr std::size_t batch = 16; // boxes are whole batches of every type where they can be
    std::size_t side = 1, widest = 1;
    bool buffers = zeros_of_ != 0;
    for (auto& walk : walks()) {
        auto const& o = *walk.operand;
        widest = std::max(widest, o.transfer->tile_element);
        buffers |= !(o.from >= 0 || (walk.direct && walk.stride[0] == 1));
        if (is_transposed(walk)) side = std::max(side, square_side(o.transfer->element));
    }
    std::size_t const row = axis_[0].extent,
                      block = block_bytes >> std::countr_zero(widest); // a power of two
    for (std::size_t d = 0; d < axes_; ++d) axis_[d].step = 1, axis_[d].index = 0;
    axis_[0].step = row;
    // Equal parts of a row.
    auto const cut_row = [&](std::size_t longest) {
        if (row > longest)
            axis_[0].step = std::min(
                row, kernel::rounded_up(
                         kernel::divided_up(row, kernel::divided_up(row, longest)), batch));
    };
    if (side > 1) {
        by_row_ = row >= shortest_row;
        if (by_row_) cut_row(longest_part);
        last_ = 1;
        inner_ = axis_[0].step;
        axis_[1].step = std::min(
            axis_[1].extent, by_row_ ? side : std::max(block / row / side, std::size_t{1}) * side);
        return;
    }
    if (2 * row > block || axes_ == 1)
        return cut_row(buffers ? longest_part : axes_ == 1 ? row : max_summed);
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

inline LoopPlan::Access LoopPlan::access_of(Walk const& walk) {
    auto const& o = *walk.operand;
    bool constant = inner_ * axis_[last_].step > 1, contiguous = true;
    std::ptrdiff_t expected = 1;
    for (std::size_t d = 0; d <= last_; ++d) {
        if (axis_[d].step == 1) continue;
        constant &= walk.stride[d] == 0;
        contiguous &= walk.stride[d] == expected;
        expected *= static_cast<std::ptrdiff_t>(axis_[d].step);
    }
    if (walk.direct && contiguous) return Access::in_place;
    if (constant && !(by_row_ && o.output)) return Access::constant;
    if (walk.direct && by_row_ && walk.stride[0] == 1) return Access::rows;
    return is_transposed(walk) ? Access::transposed : Access::buffered;
}

inline void LoopPlan::choose_access() {
    std::size_t const row = axis_[0].step;
    for (auto& walk : walks()) {
        auto const& o = *walk.operand;
        auto const access = walk.access = access_of(walk);
        std::size_t const pitch = by_row_ ? pitch_of(o, row) : row;
        walk.row_gap = access <= Access::rows ? walk.step(last_ ? 1 : 0)
                       : access == Access::constant
                           ? 0
                           : static_cast<std::ptrdiff_t>(pitch * o.transfer->tile_element);
        walk.adds &=
            access != Access::constant; // the sum of a buffer costs less than the additions
        walk.added_to = o.reduces && access <= Access::rows;
        if (access <= Access::rows || o.from >= 0) continue;
        std::size_t const elements = !by_row_                     ? inner_ * axis_[last_].step
                                     : access == Access::constant ? row
                                                                  : pitch * axis_[1].step;
        walk.bytes = kernel::rounded_up(elements * o.transfer->tile_element, 64);
    }
}

/// Allocates the buffers of all operands, and zeros for absent inputs.
inline void LoopPlan::make_buffers() {
    void* zeros = nullptr;
    std::size_t zero_bytes = zeros_of_ * inner_ * (by_row_ ? 1 : axis_[last_].step), total = 0;
    if (zero_bytes <= sizeof zero_tile) zeros = zero_tile.elements, zero_bytes = 0;
    auto const shares = [&](Walk const& walk) {
        auto const over = walk.operand->over;
        return walk.access == Access::transposed && over >= 0 && !operands_[over].absent &&
               operands_[over].transfer->element == walk.operand->transfer->element &&
               walk_of(over).access == Access::transposed;
    };
    for (auto& walk : walks())
        if (shares(walk)) walk.overwrites = &walk_of(walk.operand->over);
        else total += walk.bytes;
    bytes_ = total + zero_bytes;
    auto* free = bytes_ ? buffers_ = static_cast<std::byte*>(allocate(bytes_)) : nullptr;
    for (auto& walk : walks())
        if (walk.overwrites) walk.buffer = walk.overwrites->buffer;
        else walk.buffer = std::exchange(free, free + walk.bytes);
    if (zero_bytes) std::memset(zeros = free, 0, zero_bytes);
    for (std::size_t k = 0; zeros_of_ && k < count_; ++k)
        if (operands_[k].absent && !operands_[k].output) at_[k] = zeros;
}

} // namespace xgrad::detail
