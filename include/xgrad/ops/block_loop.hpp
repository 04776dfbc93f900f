// The block loop: runs a kernel where all operands lie in order over the index space, but for single numbers among them. A block holds a
// number as often as a kernel looks at it, and the gradients for a number are summed in one; nothing else is staged. It serves what is
// most common of broadcasting, parameters that are single numbers, in less time than the tile loop takes to begin.
#pragma once

#include <bit>

#include <xgrad/ops/move.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::detail {

/// The leaves that are single numbers, where a kernel can read all others where they are; nothing where it cannot.
inline std::optional<LeafMask> numbers_among(FormulaTable const& table, AnyArray const* const* leaves, Shape const& space)
{
    LeafMask numbers = 0;
    for (std::size_t k = 0; k < table.leaves; ++k) {
        if (is_direct(*leaves[k], *table.leaf[k], space)) continue;
        if (leaves[k]->numel != 1 || !table.leaf[k]->in_place) return {};
        numbers |= LeafMask{1} << k;
    }
    return numbers;
}

class BlockLoop {
public:
    /// Over `count` elements; for each of the numbers among the leaves so many operands are numbers or sums.
    BlockLoop(std::size_t count, FormulaTable const& table, LeafMask numbers, std::size_t rooms_each)
        : table_(table), count_(count), block_(std::min(count, room_bytes / table.largest_element)), room_((block_ * table.largest_element + 63) / 64 * 64),
          bytes_(static_cast<std::size_t>(std::popcount(numbers)) * rooms_each * room_), rooms_(static_cast<std::byte*>(allocate(bytes_))), free_(rooms_)
    {
    }
    BlockLoop(BlockLoop const&) = delete;
    BlockLoop& operator=(BlockLoop const&) = delete;
    ~BlockLoop() { deallocate(rooms_, bytes_); }

    /// The leaves; one that stands at several places is the same operand at all of them.
    void inputs(AnyArray const* const* leaves, LeafMask numbers)
    {
        for (std::size_t k = 0; k < table_.leaves; ++k) {
            std::size_t same = 0;
            while (leaves[same] != leaves[k]) ++same;
            if (same < k) put(k, at_[same], step_[same]);
            else if (numbers >> k & 1) number(k, leaves[k]->data, *table_.leaf[k]);
            else in_order(k, leaves[k]->data, table_.leaf[k]->element);
        }
    }
    // What operand k is; each has to be told.
    void in_order(std::size_t k, void* data, std::size_t element) noexcept { put(k, data, element); }
    void number(std::size_t k, void* data, LeafInfo const& info)
    {
        put(k, std::exchange(free_, free_ + room_), 0);
        info.stage(at_[k], data, 0, block_);
    }
    void zeros(std::size_t k) noexcept { put(k, zero_tile.elements, 0); }
    void absent(std::size_t k) noexcept { put(k, nullptr, 0); }
    /// An output that is summed; run() writes the sum to an element.
    void sum(std::size_t k, void* element, LeafInfo const& info) noexcept
    {
        put(k, std::exchange(free_, free_ + room_), 0);
        sums_[sum_count_++] = {&info, element, static_cast<std::uint8_t>(k), {}};
        if (info.wide_element > info.element) most_held_ = 16;
    }

    /// kernel(operands, elements, true where sums have begun) for one block after the other.
    template <class Kernel> void run(std::size_t operands, Kernel kernel)
    {
        for (std::size_t done = 0, held = 0;;) {
            std::size_t const n = std::min(block_, count_ - done);
            kernel(at_, n, held > 0);
            done += n;
            if (sum_count_ && (++held == most_held_ || done == count_ || count_ - done < block_)) collect(n), held = 0;
            if (done == count_) return write_sums();
            for (std::size_t k = 0; k < operands; ++k)
                if (step_[k]) at_[k] = static_cast<std::byte*>(at_[k]) + n * step_[k];
        }
    }
private:
    static constexpr std::size_t room_bytes = sizeof(TileRoom);

    struct Sum {
        LeafInfo const* info;
        void* element;
        std::uint8_t operand;
        alignas(16) std::byte total[16];
    };

    void put(std::size_t k, void* at, std::size_t step) noexcept
    {
        at_[k] = at;
        step_[k] = step;
    }
    void collect(std::size_t n)
    {
        for (std::size_t i = 0; i < sum_count_; ++i) sums_[i].info->add(at_[sums_[i].operand], sums_[i].total, 0, n);
    }
    void write_sums()
    {
        for (std::size_t i = 0; i < sum_count_; ++i) sums_[i].info->collect_wide(sums_[i].total, sums_[i].element, 1, 1);
    }

    FormulaTable const& table_;
    std::size_t count_, block_, room_, bytes_, sum_count_ = 0;
    std::size_t most_held_ = 1;  // blocks that a kernel adds up before they are summed, where a sum in a wider type takes long
    std::byte *rooms_, *free_;
    void* at_[TileLoop::max_operands];
    std::size_t step_[TileLoop::max_operands];
    Sum sums_[64];
};

}  // namespace xgrad::detail
