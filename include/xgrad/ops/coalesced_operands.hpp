// The operands of a loop over a broadcast index space whose axes are coalesced: neighbouring axes
// that every operand walks in equal strides become one.
#pragma once

#include <algorithm>

#include <xgrad/base/transposed.hpp>
#include <xgrad/ops/tile_operand.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::detail {

struct CoalescedOperands {
    Shape const& shape_;
    TileOperand* operands_;
    std::size_t count_;
    Shape extent_ = {};
    Strides* step_ = nullptr; // of each operand; of joined axes only the first elements count

    /// Joins neighbouring axes along which every operand steps evenly.
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

    /// True where an operand has its neighbours along the axis before the last, as a transposed
    /// matrix has, and its elements can be moved square by square.
    bool is_transposed(std::size_t k) const {
        auto const& o = operands_[k];
        std::size_t const last = extent_.size() - 1;
        return o.in_place && !o.reduces && o.from < 0 && last > 0 && step_[k][last - 1] == 1 &&
               step_[k][last] != 0;
    }

    /// True for an output that takes the place of an input before it, both transposed: half as much
    /// then passes through the nearest cache.
    bool overwrites_input(std::size_t k) const {
        if (operands_[k].over < 0) return false;
        auto const input = static_cast<std::size_t>(operands_[k].over);
        return !operands_[input].absent && operands_[input].element == operands_[k].element &&
               is_transposed(input) && is_transposed(k);
    }

    /// How many rows are taken at once where some operands are transposed, so that squares fill up;
    /// 1 where none is.
    std::size_t rows_of_squares() const {
        std::size_t rows = 1;
        for (std::size_t k = 0; k < count_; ++k)
            if (!operands_[k].absent && is_transposed(k))
                rows = std::max(rows, square_side(operands_[k].element));
        return rows;
    }

    /// How far rows of so many elements lie apart in the tile of an operand that is transposed: an
    /// odd number of cache lines, so that the rows of a square have places of their own in a cache.
    static std::size_t pitch_of(TileOperand const& o, std::size_t elements) {
        std::size_t const line = 64 / o.element, lines = (elements + line - 1) / line;
        return (lines | 1) * line;
    }

    /// Moves some of an operand's rows between its array and a tile.
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
            run = 1; // rows along the axis before
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
