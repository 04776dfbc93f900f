// The block loop: calls a kernel on blocks of contiguous operands, some of which are broadcast:
// scalars; rows, whose extents are the last ones of the index space; and columns, whose extents are
// the first ones. A buffer for each broadcast operand repeats its elements over one block; a
// gradient of one is accumulated in a buffer. Invariant: a block is a whole number of rows, so all
// blocks read the same buffers and only columns are gathered again. For scalar parameters, biases
// and means over an axis this loop costs less than the start of the tile loop (bench_broadcast).
#pragma once

#include <bit>

#include <xgrad/ops/element_type.hpp>

namespace xgrad::detail {

/// The leaves that are broadcast.
struct BroadcastOperands {
    static constexpr std::size_t longest = 4096; // the tile loop takes longer rows

    LeafMask all = 0, scalars = 0,
             columns = 0;      // subsets of `all`
    std::size_t period = 1;    // elements of the longest row; the others divide it
    std::size_t positions = 1; // positions for which one element of a column stands

    /// Adds a leaf. False if it is broadcast along other axes.
    bool add(std::size_t k, Shape const& shape, Shape const& space) {
        std::size_t const n = shape.empty() ? 1 : numel(shape);
        if (n == 1) scalars |= LeafMask{1} << k;
        else if (is_row(shape, space)) {
            if (n > longest) return false;
            period = std::max(period, n);
        } else {
            if (n == 0 || !is_column(shape, space)) return false;
            std::size_t const count = numel(space) / n;
            if (count > longest || (columns && positions != count)) return false;
            positions = count;
            columns |= LeafMask{1} << k;
        }
        all |= LeafMask{1} << k;
        return true;
    }
    /// A block is a multiple of this. Of `period` and `positions`, the shorter divides the longer.
    std::size_t row() const noexcept { return std::max(period, positions); }

private:
    static bool is_row(Shape const& shape, Shape const& space) {
        std::size_t first = 0;
        while (first < shape.size() && shape[first] == 1) ++first;
        return std::equal(shape.begin() + first, shape.end(), space.end() - (shape.size() - first));
    }
    static bool is_column(Shape const& shape, Shape const& space) {
        std::size_t last = shape.size();
        while (last > 0 && shape[last - 1] == 1) --last;
        return shape.size() == space.size() &&
               std::equal(shape.begin(), shape.begin() + last, space.begin());
    }
};

/// The leaves that are broadcast, if a kernel can read all others in place; nothing if it cannot.
inline std::optional<BroadcastOperands> find_broadcast(
    KernelTable const& table, AnyArray const* const* leaves, Shape const& space) {
    BroadcastOperands broadcast;
    for (std::size_t k = 0; k < table.leaves; ++k)
        if (auto const& leaf = *leaves[k];
            !is_direct(leaf, *table.leaf[k], space) &&
            !(table.leaf[k]->in_place && leaf.contiguous && broadcast.add(k, leaf.shape, space)))
            return {};
    return broadcast;
}

class BlockLoop {
public:
    /// A loop over `count` elements. `buffers_each`: how many operands for each broadcast leaf need
    /// a buffer.
    BlockLoop(std::size_t count, KernelTable const& table, BroadcastOperands const& broadcast,
        std::size_t buffers_each)
        : table_(table), broadcast_(broadcast), count_(count),
          block_(block_of(count, table, broadcast.row())),
          buffer_size_((std::max({block_ * table.largest_element, broadcast.period * widest,
                            broadcast.columns ? block_ / broadcast.positions * widest : 0}) +
                           63) /
                       64 * 64),
          bytes_((static_cast<std::size_t>(std::popcount(broadcast.all)) * (buffers_each + 1) + 1) *
                 buffer_size_),
          buffers_(static_cast<std::byte*>(allocate(bytes_))), free_(buffers_) {}
    BlockLoop(BlockLoop const&) = delete;
    BlockLoop& operator=(BlockLoop const&) = delete;
    ~BlockLoop() { deallocate(buffers_, bytes_); }

    /// Adds the leaves as inputs; leaves that are the same tensor share a buffer.
    void inputs(AnyArray const* const* leaves) {
        for (std::size_t k = 0; k < table_.leaves; ++k) {
            std::size_t same = 0;
            while (leaves[same] != leaves[k]) ++same;
            if (same < k) put(k, at_[same], step_[same]);
            else if (broadcast_.all >> k & 1)
                broadcast(k, leaves[k]->data, leaves[k]->numel, *table_.leaf[k]);
            else contiguous(k, leaves[k]->data, table_.leaf[k]->element);
        }
    }
    // Each operand is declared by one of the following functions.
    void contiguous(std::size_t k, void* data, std::size_t element) noexcept {
        put(k, data, element);
    }
    /// Operand k is a broadcast leaf.
    void broadcast(std::size_t k, void* data, std::size_t elements, ElementType const& info) {
        if (broadcast_.columns >> k & 1) {
            columns_[column_count_++] = {
                &info, static_cast<std::byte*>(data), static_cast<std::uint8_t>(k)};
            return put(k, take(), 0);
        }
        if (elements == block_) return put(k, data, 0);
        if (elements == 1) return scalar(k, data, info);
        put(k, take(), 0);
        std::size_t const bytes = elements * info.element;
        for (std::size_t done = 0; done < block_ * info.element; done += bytes)
            std::memcpy(static_cast<std::byte*>(at_[k]) + done, data, bytes);
    }
    void scalar(std::size_t k, void* data, ElementType const& info) {
        put(k, take(), 0);
        info.gather(at_[k], data, 0, block_);
    }
    void zeros(std::size_t k) {
        if (!zeros_ && buffer_size_ <= sizeof zero_tile) zeros_ = zero_tile.elements;
        if (!zeros_) std::memset(zeros_ = take(), 0, buffer_size_);
        put(k, zeros_, 0);
    }
    void absent(std::size_t k) noexcept { put(k, nullptr, 0); }
    /// Output k is the gradient of a broadcast leaf. run() writes its sum.
    void sum(
        std::size_t k, std::size_t leaf, void* to, std::size_t elements, ElementType const& info) {
        bool const is_column = broadcast_.columns >> leaf & 1;
        if (!is_column && elements == block_ && elements > 1 && info.wide_element == info.element) {
            added_at_once_ |= LeafMask{1} << leaf;
            return put(k, to, 0);
        }
        put(k, take(), 0);
        auto* const total = take();
        if (is_column) {
            column_sums_[column_sum_count_++] = {
                &info, static_cast<std::byte*>(to), total, 0, static_cast<std::uint8_t>(k)};
            return;
        }
        std::memset(total, 0, elements * info.wide_element);
        sums_[sum_count_++] = {
            &info, static_cast<std::byte*>(to), total, elements, static_cast<std::uint8_t>(k)};
        summed_ |= LeafMask{1} << leaf;
        adds_rows_ |= elements > 1;
        widens_ |= info.wide_element > info.element;
    }
    /// The leaves that have one value in a block.
    LeafMask constant() const noexcept {
        return broadcast_.scalars | (block_ == broadcast_.positions ? broadcast_.columns : 0);
    }

    /// Calls kernel(operands, elements, leaves whose gradients are added to what the destination
    /// has) for each block.
    template <class Kernel> void run(std::size_t operands, Kernel kernel) {
        std::size_t const max_accumulated =
            adds_rows_ != widens_ ? 16 : 1; // blocks that a kernel adds up before they are
                                            // accumulated; rows of float would lose digits
        bool const sums = sum_count_ || column_sum_count_ || added_at_once_;
        for (std::size_t done = 0, accumulated = 0;;) {
            std::size_t const n = std::min(block_, count_ - done);
            gather_columns(n);
            if (sums)
                for (std::size_t k = operands - table_.leaves; k < operands; ++k)
                    prefetch_for_stores(at_[k], n * step_[k]); // gradients are the last operands
            kernel(at_, n, (done ? added_at_once_ : 0) | (accumulated ? summed_ : 0));
            done += n;
            scatter_columns(n);
            if (sum_count_ &&
                (++accumulated == max_accumulated || done == count_ || count_ - done < block_))
                accumulate(n), accumulated = 0;
            if (done == count_) return write_sums();
            for (std::size_t k = 0; k < operands; ++k)
                if (step_[k]) at_[k] = static_cast<std::byte*>(at_[k]) + n * step_[k];
        }
    }

private:
    static constexpr std::size_t buffer_bytes = sizeof(TileBuffer), widest = 16;

    struct Column {
        ElementType const* info;
        std::byte* at; // the element of the next row
        std::uint8_t operand;
    };
    struct Sum {
        ElementType const* info;
        std::byte *to, *total;
        std::size_t elements;
        std::uint8_t operand;
    };

    /// The number of elements of a block: whole rows that fit into a buffer.
    static std::size_t block_of(std::size_t count, KernelTable const& table, std::size_t row) {
        return std::min(
            count, std::max<std::size_t>(1, buffer_bytes / table.largest_element / row) * row);
    }
    std::byte* take() noexcept { return std::exchange(free_, free_ + buffer_size_); }
    void put(std::size_t k, void* at, std::size_t step) noexcept {
        at_[k] = at;
        step_[k] = step;
    }
    void gather_columns(std::size_t n) {
        for (std::size_t i = 0; i < column_count_; ++i) {
            auto& [info, at, operand] = columns_[i];
            std::size_t const rows = n / broadcast_.positions;
            info->gather.rows(static_cast<std::byte*>(at_[operand]),
                broadcast_.positions * info->element, at,
                static_cast<std::ptrdiff_t>(info->element), 0, broadcast_.positions, rows);
            at += rows * info->element;
        }
    }
    void scatter_columns(std::size_t n) {
        for (std::size_t i = 0; i < column_sum_count_; ++i) {
            auto& sum = column_sums_[i];
            std::size_t const rows = n / broadcast_.positions;
            std::memset(sum.total, 0, rows * sum.info->wide_element);
            sum.info->accumulate.rows(static_cast<std::byte*>(at_[sum.operand]),
                broadcast_.positions * sum.info->element, sum.total,
                static_cast<std::ptrdiff_t>(sum.info->wide_element), 0, broadcast_.positions, rows);
            sum.info->scatter_wide(sum.total, sum.to, 1, rows);
            sum.to += rows * sum.info->element;
        }
    }
    void accumulate(std::size_t n) {
        for (std::size_t i = 0; i < sum_count_; ++i) {
            auto const& sum = sums_[i];
            if (sum.elements == 1) sum.info->accumulate(at_[sum.operand], sum.total, 0, n);
            else
                sum.info->accumulate_columns(
                    at_[sum.operand], sum.total, sum.elements, n / sum.elements);
        }
    }
    void write_sums() {
        for (std::size_t i = 0; i < sum_count_; ++i)
            sums_[i].info->scatter_wide(sums_[i].total, sums_[i].to, 1, sums_[i].elements);
    }

    KernelTable const& table_;
    BroadcastOperands const& broadcast_;
    std::size_t count_, block_, buffer_size_, bytes_, column_count_ = 0, sum_count_ = 0,
                                                      column_sum_count_ = 0;
    bool adds_rows_ = false, widens_ = false; // some sums are rows; some have a wider type
    LeafMask summed_ = 0, added_at_once_ = 0;
    std::byte *buffers_, *free_;
    void* zeros_ = nullptr;
    void* at_[TileLoop::max_operands];
    std::size_t step_[TileLoop::max_operands];
    Column columns_[64];
    Sum sums_[64], column_sums_[64];
};

} // namespace xgrad::detail
