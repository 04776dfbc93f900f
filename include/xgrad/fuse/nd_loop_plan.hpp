// NdLoopPlan: how an NdLoop walks over an index space.
//
// Data structures: an axis has an extent; each operand has a Walk, with a stride for each axis (0
// where it is broadcast) and with how it meets a box. A box is the part of the index space that a
// kernel processes at once, in row-major order: the inner axes as a whole while they are short, and
// a part of the next one. It fits in the L1 cache. A part is a range of one axis along which all
// outputs move, so that threads may process parts at once.
//
// Invariant: the plan does not depend on the number of threads, so results are bit-identical.
//
// Read next: make() and choose_box() in impl/fuse/nd_loop_plan.ipp, then nd_loop.hpp.
#pragma once

#include <xgrad/core/memory.hpp>
#include <xgrad/core/stream.hpp>
#include <xgrad/fuse/loop_operand.hpp>

namespace xgrad::detail {

class NdLoopPlan {
public:
    NdLoopPlan& operator=(NdLoopPlan const&) = delete;

    /// Declares operand k of the kernel. One that is not declared, or has no elements, is null.
    void add(std::size_t k, LoopOperand const& operand);

protected:
    XGRAD_INLINE NdLoopPlan(Shape const& space, std::size_t operands, bool streams)
        : rank_(space.size()), strides_(operands * std::max(rank_, std::size_t{1})),
          axis_(std::max(rank_, std::size_t{1})), at_(operands), streams_(streams) {
        for (std::size_t d = rank_; d-- > 0;)
            if (space[d] != 1) axis_[axes_++] = {space[d], 1, 0, d};
    }
    NdLoopPlan(NdLoopPlan const&) = default;
    ~NdLoopPlan() = default;

    /// Makes the plan for the operands that were added; returns the number of parts.
    std::size_t make();

    static constexpr std::size_t max_accumulated =
        16; // calls in which a kernel adds to a buffer before it is flushed: more would lose digits
    static constexpr std::size_t block_bytes = 8192;  // of one operand in a box of several rows
    static constexpr std::size_t longest_part = 1024; // elements of a part of a row
    static constexpr std::size_t strided_part = 256;  // so that columns share rows in the L1 cache
    static constexpr std::size_t shortest_row = 128;  // for calls row by row
    static constexpr std::size_t streamed_part =
        1024; // bytes in a box; more non-temporal stores would fill the store buffer
    static constexpr std::size_t batch =
        16; // boxes are whole batches of every type where they can be

    /// How an operand meets the box.
    enum class Access : std::uint8_t {
        in_place, // contiguous
        rows,     // each row is contiguous: used in place where a kernel is called for each row
        constant, // one element: the buffer repeats it, or sums to it
        buffered,
        transposed, // buffered, and copied in square blocks
        streamed,   // a contiguous output, copied from its buffer by non-temporal stores
    };
    struct Walk {
        LoopOperand operand;
        std::ptrdiff_t* stride; // along each axis, in elements
        std::byte* at;          // the element at the first index of the box
        std::uint8_t index;     // of the operand
        bool direct;            // a kernel can use contiguous elements in place
        bool adds;              // a kernel can add to the buffer of this output
        bool added_to = false;  // the kernel adds to it in this box
        Access access = Access::in_place;
        std::byte* buffer = nullptr; // null where it needs none
        std::byte* held = nullptr;   // the elements that the buffer has, or is owed to, if any
        std::ptrdiff_t row_gap = 0;  // bytes between two rows, as a kernel sees them
        std::size_t bytes = 0;       // of the buffer
        std::size_t held_columns = 0, held_last = 0; // the extents of what is owed
        std::size_t calls = 0;                       // of the kernel since the buffer was flushed

        /// Bytes from one index along an axis to the next.
        std::ptrdiff_t step(std::size_t axis) const {
            return stride[axis] * static_cast<std::ptrdiff_t>(operand.transfer->element);
        }
        std::uint64_t bit() const { return LoopFacts::bit(index); }
    };
    /// An input that is the same array as an earlier one.
    struct Same {
        std::uint8_t operand, as;
    };
    struct Axis {
        std::size_t extent, step, index; // of the whole, of a box, of the first element of a box
        std::size_t dimension;           // of the index space
    };

    std::size_t rank_, axes_ = 0, strides_used_ = 0;
    InlineVector<Walk, 12> walks_;
    InlineVector<Same, 16> same_;
    LocalArray<std::ptrdiff_t, 48> strides_; // of each walk along each axis, in elements
    LocalArray<Axis, 5> axis_;               // the innermost first, as everywhere here
    LocalArray<void*, 16> at_;               // what the kernel gets
    std::size_t last_ = 0;                   // the outermost axis of a box
    std::size_t inner_ = 1;                  // elements of a box for each index of that axis
    std::size_t widest_ = 1;                 // bytes of the largest element in a buffer
    bool by_row_ = false;                    // the kernel is called for each row of a box
    bool copies_ = false;                    // the output is a copy of the input, without a kernel
    bool const streams_;                     // large outputs are streamed
    std::size_t part_axis_ = 0, part_extent_ = 0, whole_ = 0; // whole_: the extent of that axis
    LoopFacts facts_;

private:
    void order_axes();
    void coalesce();
    void choose_box();
    void cut_row(std::size_t longest);
    void choose_access(Walk& walk);
    static std::size_t pitch_of(LoopOperand const& operand, std::size_t elements);
    bool is_transposed(Walk const& walk) const;
    bool is_streamed(Walk const& walk) const;
    Access access_of(Walk const& walk) const;
    std::size_t part_axis() const;
};

} // namespace xgrad::detail
