// The tile loop: cuts a broadcast index space into tiles of about 256 elements, which fit in the L1
// cache, and calls a kernel on each. A contiguous operand is used in place. Any other (broadcast,
// strided, of another type) has a tile of its own: an input is gathered before the kernel is
// called, an output is scattered or accumulated afterwards. So one kernel serves all shapes, and
// the gradient of a broadcast operand is summed in the same pass. Data: TileOperands, whose axes
// CoalescedOperands has coalesced, and one buffer for all tiles. Three loops: run_simple
// (contiguous operands and scalars), run_rows (tiles are parts of long rows) and run_short_rows
// (tiles are several short rows). bench_broadcast measures them. Read next: block_loop.hpp and
// part_loop.hpp, then evaluate_into.hpp, which chooses.
#pragma once

#include <algorithm>
#include <array>
#include <numeric>

#include <xgrad/ops/coalesced_operands.hpp>

namespace xgrad::detail {

class TileLoop : CoalescedOperands {
public:
    // of 63 tensors: values, tangents, gradients, and what a DualPass has beside them
    static constexpr std::size_t max_operands = 3 * 63 + 3;
    static constexpr std::size_t shortest_row = tile_size / 2; // for run_rows
    static constexpr std::size_t max_accumulated =
        16; // tiles that a kernel adds up before they are accumulated in the array

    TileLoop(Shape const& shape, TileOperand* operands, std::size_t count)
        : CoalescedOperands{shape, operands, count} {}
    TileLoop(TileLoop const&) = delete;
    TileLoop& operator=(TileLoop const&) = delete;
    ~TileLoop() {
        if (tiles_) deallocate(tiles_, tile_bytes_);
    }

    void run(TileBody body) {
        std::size_t const n = numel(shape_);
        if (n == 0) return;
        bool simple = true, tiled = false;
        for (std::size_t k = 0; k < count_; ++k) {
            auto const& o = operands_[k];
            if (o.absent && o.output) continue;
            bool const direct = !o.absent && !o.needs_tile();
            tiled |= !direct;
            simple &= direct || o.absent || o.constant;
        }
        if (!simple) return run_general(n, body);
        if (!tiled) return run_at_once(n, body);
        make_tiles(std::min(n, tile_size));
        run_simple(n, body);
    }

private:
    std::byte* tile(std::size_t k) const {
        return operands_[k].absent && operands_[k].output ? nullptr : tiles_ + tile_at_[k];
    }

    std::uint64_t constant_inputs() const {
        std::uint64_t constant = 0;
        for (std::size_t k = 0; k < count_; ++k)
            if (auto const& o = operands_[k]; (o.constant || o.absent) && !o.output)
                constant |= TileFacts::bit(k);
        return constant;
    }
    /// True if the kernel itself adds to this output. It adds in the precision of the tile, so the
    /// sums must have that type, too.
    bool accumulates(std::size_t k) const {
        return operands_[k].kernel_adds && operands_[k].element == operands_[k].tile_element &&
               TileFacts::bit(k);
    }

    /// Clears the tile of an output and tells the kernel to add to it.
    void begin_accumulating(std::size_t k, std::size_t elements, TileFacts& facts) const {
        std::memset(tile(k), 0, elements * operands_[k].tile_element);
        facts.added_to |= TileFacts::bit(k);
    }

    /// Allocates the tiles; those of transposed operands have `transposed_rows` rows.
    void make_tiles(std::size_t elements, std::size_t transposed_rows = 1) {
        std::size_t total = 0, zeros = 0;
        for (std::size_t k = 0; k < count_; ++k) {
            auto const& o = operands_[k];
            tile_at_[k] = 0;
            if (o.absent) zeros = std::max(zeros, o.tile_element * elements);
            else if (transposed_rows > 1 && overwrites_input(k))
                tile_at_[k] = tile_at_[static_cast<std::size_t>(o.over)];
            else if (o.needs_tile()) {
                std::size_t const size = transposed_rows > 1 && is_transposed(k)
                                             ? transposed_rows * pitch_of(o, elements)
                                             : elements;
                tile_at_[k] = total;
                total += (o.tile_element * size + 63) / 64 * 64;
            }
        }
        for (std::size_t k = 0; k < count_; ++k)
            if (operands_[k].absent) tile_at_[k] = total;
        tile_bytes_ = total + zeros;
        tiles_ = static_cast<std::byte*>(allocate(tile_bytes_));
        std::memset(tiles_ + total, 0, zeros);
    }

    /// All operands are contiguous; outputs may be absent. One call of the kernel.
    void run_at_once(std::size_t n, TileBody body) {
        std::array<void*, max_operands> at;
        for (std::size_t k = 0; k < count_; ++k)
            at[k] = operands_[k].absent ? nullptr : operands_[k].array->data;
        body.call(body.context, at.data(), n, {});
    }

    /// Each operand is contiguous, absent or a scalar. A scalar input is gathered once, a scalar
    /// output accumulates.
    void run_simple(std::size_t n, TileBody body) {
        constexpr std::size_t chunk = tile_size;
        std::array<void*, max_operands> at;
        for (std::size_t k = 0; k < count_; ++k) {
            auto const& o = operands_[k];
            if (!o.absent && !o.needs_tile()) {
                at[k] = o.array->data;
                continue;
            }
            at[k] = tile(k);
            if (!o.absent && !o.output) o.transfer(at[k], o.array->data, 0, std::min(n, chunk));
        }
        TileFacts facts{constant_inputs()};
        for (std::size_t k = 0; n > chunk && k < count_; ++k)
            if (operands_[k].output && accumulates(k)) begin_accumulating(k, chunk, facts);
        std::size_t accumulated = 0;
        for (std::size_t i = 0; i < n; i += chunk) {
            std::size_t const count = std::min(chunk, n - i);
            for (std::size_t k = 0; n > chunk && k < count_; ++k)
                if (auto const& o = operands_[k]; o.output && !o.absent && !o.needs_tile())
                    prefetch_for_stores(at[k], count * o.element);
            body.call(body.context, at.data(), count, facts);
            bool const flushes = ++accumulated % max_accumulated == 0 || i + count == n;
            for (std::size_t k = 0; k < count_; ++k) {
                auto const& o = operands_[k];
                if (o.absent || !o.output || !o.needs_tile()) continue;
                if (!(facts.added_to & TileFacts::bit(k)))
                    o.transfer(at[o.from < 0 ? k : static_cast<std::size_t>(o.from)], o.array->data,
                        0, count);
                else if (flushes) {
                    o.transfer(at[k], o.array->data, 0, chunk);
                    begin_accumulating(k, chunk, facts);
                }
            }
            for (std::size_t k = 0; k < count_; ++k)
                if (auto const& o = operands_[k]; !o.absent && !o.needs_tile())
                    at[k] = static_cast<std::byte*>(at[k]) + chunk * o.element;
        }
    }

    void run_general(std::size_t n, TileBody body) {
        LocalArray<Strides, 14> steps(count_);
        step_ = steps.data();
        coalesce();
        std::size_t const row = extent_.back(), transposed_rows = rows_of_squares();
        if (row >= shortest_row) {
            std::size_t const part = transposed_rows > 1 ? part_of_row(row) : tile_size;
            make_tiles(std::min(n, part), transposed_rows);
            return run_rows(transposed_rows, part, body);
        }
        std::size_t const longest = rows_of_a_tile(row, transposed_rows) * row;
        make_tiles(std::min(n, longest));
        run_short_rows(n, longest, body);
    }

    /// The length of the parts of a row if operands are transposed: equal parts of whole square
    /// blocks.
    static std::size_t part_of_row(std::size_t row) {
        constexpr std::size_t longest = 4 * tile_size, square = 16;
        std::size_t const parts = (row + longest - 1) / longest, part = (row + parts - 1) / parts;
        return (part + square - 1) / square * square;
    }

    /// The number of short rows in a tile. It fills the square blocks of transposed operands;
    /// without these, it avoids a tail, unless that makes the tile too long.
    static std::size_t rows_of_a_tile(std::size_t row, std::size_t transposed_rows) {
        constexpr std::size_t batch = 8;
        std::size_t const usual = tile_size / row, even = batch / std::gcd(row, batch);
        if (transposed_rows > 1)
            return std::max(usual / transposed_rows, std::size_t{1}) * transposed_rows;
        if (usual >= even) return usual / even * even;
        return even * row <= 2 * tile_size ? even : usual;
    }

    /// Tiles are parts of rows. Operands with stride 1 are used in place. If operands are
    /// transposed, several rows are processed at once and their elements are copied in square
    /// blocks.
    void run_rows(std::size_t transposed_rows, std::size_t part, TileBody body) {
        enum class Access : std::uint8_t {
            ready,
            in_place,
            broadcast,
            gathered,
            scattered,
            transposed
        };
        struct Walk {
            Access access = Access::ready;
            std::byte *place = nullptr, *filled = nullptr; // the first element of the rows; where
                                                           // broadcast elements were gathered from
            std::ptrdiff_t step = 0, row_step = 0;         // in bytes

            std::byte* at(std::size_t row, std::size_t column) const {
                return place + static_cast<std::ptrdiff_t>(row) * row_step +
                       static_cast<std::ptrdiff_t>(column) * step;
            }
        };
        std::size_t const row = extent_.back(), last = extent_.size() - 1;
        std::array<void*, max_operands> at;
        TileFacts facts{constant_inputs()};
        LocalArray<Walk, 14> walks(count_);
        bool const transposes = transposed_rows > 1;
        bool tiled = transposes;
        for (std::size_t k = 0; k < count_; ++k) {
            auto const& o = operands_[k];
            auto& walk = walks[k];
            at[k] = tile(k);
            tiled |= o.absent && !o.output;
            if (o.absent) continue;
            auto const step = step_[k][last], row_step = last ? step_[k][last - 1] : 0;
            walk.place = o.array->data;
            walk.step = step * static_cast<std::ptrdiff_t>(o.element);
            walk.row_step = row_step * static_cast<std::ptrdiff_t>(o.element);
            bool const added_to = o.output && step == 1 && accumulates(k);
            bool const direct = added_to || (o.in_place && (o.whole || (!o.output && step == 1)));
            walk.access = direct             ? Access::in_place
                          : is_transposed(k) ? Access::transposed
                          : o.output         ? Access::scattered
                          : step == 0        ? Access::broadcast
                                             : Access::gathered;
            if (walk.access == Access::broadcast) facts.constant |= TileFacts::bit(k);
            if (added_to) facts.added_to |= TileFacts::bit(k);
            tiled |= !direct && o.from < 0;
        }
        bool const prefetches = tiled && !transposes; // transposed rows fill the L1 cache
        std::size_t const longest = std::min(row, tiled ? part : max_summed);
        Shape index(last, 0);
        for (;;) {
            std::size_t const rows =
                transposes ? std::min(transposed_rows, extent_[last - 1] - index[last - 1]) : 1;
            for (std::size_t done = 0, count; done < row; done += count) {
                count = std::min(longest, row - done);
                for (std::size_t k = 0; transposes && k < count_; ++k)
                    if (auto const& o = operands_[k];
                        walks[k].access == Access::transposed && !o.output)
                        copy_transposed(o.element, tile(k),
                            static_cast<std::ptrdiff_t>(pitch_of(o, longest)), walks[k].at(0, done),
                            step_[k][last], rows, count);
                for (std::size_t r = 0; r < rows; ++r) {
                    for (std::size_t k = 0; k < count_; ++k) {
                        auto& walk = walks[k];
                        auto const& o = operands_[k];
                        auto* const place = walk.at(r, done);
                        if (walk.access == Access::in_place) {
                            at[k] = place;
                            if (o.output && prefetches)
                                prefetch_for_stores(place, count * o.element);
                        } else if (walk.access == Access::transposed)
                            at[k] = tile(k) + r * pitch_of(o, longest) * o.element;
                        else if (walk.access == Access::gathered)
                            o.transfer(at[k], place, step_[k][last], count);
                        else if (walk.access == Access::broadcast &&
                                 std::exchange(walk.filled, place) != place)
                            o.transfer(at[k], place, 0, longest);
                    }
                    body.call(body.context, at.data(), count, facts);
                    for (std::size_t k = 0; k < count_; ++k)
                        if (auto const& o = operands_[k]; walks[k].access == Access::scattered)
                            o.transfer(at[o.from < 0 ? k : static_cast<std::size_t>(o.from)],
                                walks[k].at(r, done), step_[k][last], count);
                }
                for (std::size_t k = 0; transposes && k < count_; ++k)
                    if (auto const& o = operands_[k];
                        walks[k].access == Access::transposed && o.output)
                        copy_transposed(o.element, walks[k].at(0, done), step_[k][last], tile(k),
                            static_cast<std::ptrdiff_t>(pitch_of(o, longest)), count, rows);
            }
            std::size_t d = last, moved = rows;
            for (; d-- > 0; moved = 1) {
                bool const carries = (index[d] += moved) == extent_[d];
                if (carries) index[d] = 0;
                auto const steps = static_cast<std::ptrdiff_t>(moved) -
                                   (carries ? static_cast<std::ptrdiff_t>(extent_[d]) : 0);
                for (std::size_t k = 0; k < count_; ++k)
                    if (walks[k].place)
                        walks[k].place +=
                            steps * step_[k][d] * static_cast<std::ptrdiff_t>(operands_[k].element);
                if (!carries) break;
            }
            if (d == static_cast<std::size_t>(-1)) return;
        }
    }

    /// Tiles are several whole rows.
    void run_short_rows(std::size_t n, std::size_t longest, TileBody body) {
        enum class Access : std::uint8_t {
            ready,
            in_place,
            gathered,
            scattered,
            accumulated
        }; // ready: absent, or gathered once
        std::size_t const row = extent_.back();
        longest = std::min(n, longest);
        std::array<void*, max_operands> at;
        LocalArray<Access, 32> access(count_);
        TileFacts facts{constant_inputs()};
        for (std::size_t k = 0; k < count_; ++k) {
            auto const& o = operands_[k];
            at[k] = tile(k);
            if (o.absent) continue;
            bool const is_broadcast = std::all_of(step_[k].begin(),
                step_[k].begin() + extent_.size() - 1, [](auto step) { return step == 0; });
            access[k] = o.in_place && o.whole ? Access::in_place
                        : !o.output           ? (is_broadcast ? Access::ready : Access::gathered)
                        : is_broadcast && accumulates(k) ? Access::accumulated
                                                         : Access::scattered;
            if (access[k] == Access::accumulated) begin_accumulating(k, longest, facts);
            else if (access[k] == Access::ready) transfer_rows(k, at[k], 0, longest / row);
        }
        std::size_t accumulated = 0;
        for (std::size_t i = 0, count; i < n; i += count) {
            count = std::min(longest, n - i);
            std::size_t const first = i / row, rows = count / row;
            for (std::size_t k = 0; k < count_; ++k) {
                auto const& o = operands_[k];
                if (access[k] == Access::in_place) {
                    at[k] = o.array->data + i * o.element;
                    if (o.output) prefetch_for_stores(at[k], count * o.element);
                } else if (access[k] == Access::gathered) transfer_rows(k, at[k], first, rows);
            }
            body.call(body.context, at.data(), count, facts);
            bool const flushes = ++accumulated % max_accumulated == 0 || i + count == n;
            for (std::size_t k = 0; k < count_; ++k) {
                if (access[k] == Access::scattered)
                    transfer_rows(k,
                        at[operands_[k].from < 0 ? k : static_cast<std::size_t>(operands_[k].from)],
                        first, rows);
                else if (access[k] == Access::accumulated && flushes) {
                    transfer_rows(k, at[k], 0, longest / row);
                    begin_accumulating(k, longest, facts);
                }
            }
        }
    }
    std::array<std::size_t, max_operands> tile_at_;
    std::byte* tiles_ = nullptr;
    std::size_t tile_bytes_ = 0;
};

} // namespace xgrad::detail
