// The operands of a loop over a broadcast index space. Adjacent axes that all operands traverse
// with one stride are coalesced to one, as NumPy's nditer and ATen's TensorIterator do. Data: the
// extent of each axis, and for each operand a stride along each axis (0 if it is broadcast).
#pragma once

#include <algorithm>

#include <xgrad/base/transposed.hpp>
#include <xgrad/ops/tile_operand.hpp>

namespace xgrad::detail {

struct CoalescedOperands {
    Shape const& shape_;
    TileOperand* operands_;
    std::size_t count_;
    Shape extent_ = {};
    Strides* step_ = nullptr; // of each operand; only the first extent_.size() elements count

    /// Coalesces adjacent axes.
    void coalesce() {
        std::size_t const rank = shape_.size(), capacity = std::max(rank, std::size_t{1});
        for (std::size_t k = 0; k < count_; ++k) {
            if (operands_[k].absent) continue;
            auto const& a = *operands_[k].array;
            std::size_t const lead = rank - a.shape.size();
            step_[k].reserve_exactly(capacity);
            step_[k][0] = 0;
            for (std::size_t d = 0; d < rank; ++d)
                step_[k][d] = d < lead || a.shape[d - lead] == 1 ? 0 : a.strides[d - lead];
        }
        extent_.reserve_exactly(capacity);
        std::size_t axes = 0;
        for (std::size_t d = 0; d < rank; ++d) {
            auto const extent = static_cast<std::ptrdiff_t>(shape_[d]);
            if (extent == 1) continue;
            bool joins = axes > 0;
            for (std::size_t k = 0; joins && k < count_; ++k)
                joins = operands_[k].absent || step_[k][axes - 1] == step_[k][d] * extent;
            if (!joins) extent_[axes++] = 1;
            extent_[axes - 1] *= shape_[d];
            for (std::size_t k = 0; k < count_; ++k)
                if (!operands_[k].absent) step_[k][axes - 1] = step_[k][d];
        }
        if (axes == 0) extent_[axes++] = 1;
        if (axes < capacity) extent_ = Shape(extent_.begin(), extent_.begin() + axes);
    }

    /// True if an operand has stride 1 along the last axis but one, like a transposed matrix, and
    /// its elements can be copied in square blocks.
    bool is_transposed(std::size_t k) const {
        auto const& o = operands_[k];
        std::size_t const last = extent_.size() - 1;
        return o.in_place && !o.reduces && o.from < 0 && last > 0 && step_[k][last - 1] == 1 &&
               step_[k][last] != 0;
    }

    /// True for a transposed output that may overwrite a transposed input. Both then share a tile,
    /// which halves the footprint in the L1 cache.
    bool overwrites_input(std::size_t k) const {
        if (operands_[k].over < 0) return false;
        auto const input = static_cast<std::size_t>(operands_[k].over);
        return !operands_[input].absent && operands_[input].element == operands_[k].element &&
               is_transposed(input) && is_transposed(k);
    }

    /// The number of rows that are processed at once if some operands are transposed, so that
    /// square blocks fill up; 1 if none is.
    std::size_t rows_of_squares() const {
        std::size_t rows = 1;
        for (std::size_t k = 0; k < count_; ++k)
            if (!operands_[k].absent && is_transposed(k))
                rows = std::max(rows, square_side(operands_[k].element));
        return rows;
    }

    /// The pitch of rows of so many elements in the tile of a transposed operand: an odd number of
    /// cache lines, so that the rows of a square block fall in different cache sets.
    static std::size_t pitch_of(TileOperand const& o, std::size_t elements) {
        std::size_t const line = 64 / o.element, lines = (elements + line - 1) / line;
        return (lines | 1) * line;
    }

    /// Copies some rows of an operand between its array and a tile.
    void transfer_rows(std::size_t k, void* tile, std::size_t first, std::size_t rows) const {
        auto const& o = operands_[k];
        auto const& step = step_[k];
        auto const element = static_cast<std::ptrdiff_t>(o.element);
        std::size_t const last = extent_.size() - 1, row = extent_[last];
        auto* t = static_cast<std::byte*>(tile);
        bool const transposed = is_transposed(k);
        if (last == 1 && !transposed)
            return o.transfer.rows(t, row * o.tile_element,
                o.array->data + static_cast<std::ptrdiff_t>(first) * step[0] * element,
                step[0] * element, step[1], row, rows);
        for (std::size_t run; rows > 0; first += run, rows -= run) {
            auto* place = o.array->data;
            run = 1; // rows along the last axis but one
            for (std::size_t d = last, at = first; d-- > 0; at /= extent_[d]) {
                std::size_t const i = at % extent_[d];
                place += static_cast<std::ptrdiff_t>(i) * step[d] * element;
                if (d == last - 1) run = std::min(rows, extent_[d] - i);
            }
            if (!transposed)
                o.transfer.rows(t, row * o.tile_element, place, last ? step[last - 1] * element : 0,
                    step[last], row, run);
            else if (o.output)
                copy_transposed(
                    o.element, place, step[last], t, static_cast<std::ptrdiff_t>(row), row, run);
            else
                copy_transposed(
                    o.element, t, static_cast<std::ptrdiff_t>(row), place, step[last], run, row);
            t += run * row * o.tile_element;
        }
    }
};

} // namespace xgrad::detail
