// The tile loop: cuts a broadcast index space into tiles of some 256 elements that stay in the
// nearest cache. An operand whose elements lie in order is used in place; any other (broadcast,
// strided, of another type) passes through a tile of its own: an input is staged into it before the
// kernel runs, an output is collected from it afterwards. So one kernel serves every mix of shapes,
// and the gradient of a broadcast operand is summed in the same pass.
#pragma once

#include <algorithm>
#include <array>
#include <numeric>

#include <xgrad/ops/coalesced_operands.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::detail {

class TileLoop : CoalescedOperands {
public:
    static constexpr std::size_t max_operands = 2 * 64 + 2;
    static constexpr std::size_t shortest_row = tile_size / 2; // that is walked in place
    static constexpr std::size_t most_held =
        16; // tiles that a kernel adds up before they are collected

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
            simple &= direct || o.absent || o.uniform;
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

    std::uint64_t uniform_inputs() const {
        std::uint64_t uniform = 0;
        for (std::size_t k = 0; k < count_; ++k)
            if (auto const& o = operands_[k]; (o.uniform || o.absent) && !o.output)
                uniform |= TileFacts::bit(k);
        return uniform;
    }
    /// A kernel would add in the precision of its tile, so only where the sums have no other.
    bool adds(std::size_t k) const {
        return operands_[k].kernel_adds && operands_[k].element == operands_[k].tile_element &&
               TileFacts::bit(k);
    }

    /// An output's tile in which a kernel adds up what falls on the same elements.
    void hold(std::size_t k, std::size_t elements, TileFacts& facts) const {
        std::memset(tile(k), 0, elements * operands_[k].tile_element);
        facts.added_to |= TileFacts::bit(k);
    }

    /// With room for so many rows of operands that are turned.
    void make_tiles(std::size_t elements, std::size_t turned_rows = 1) {
        std::size_t total = 0, zeros = 0;
        for (std::size_t k = 0; k < count_; ++k) {
            auto const& o = operands_[k];
            tile_at_[k] = 0;
            if (o.absent) zeros = std::max(zeros, o.tile_element * elements);
            else if (turned_rows > 1 && lies_over(k))
                tile_at_[k] = tile_at_[static_cast<std::size_t>(o.over)];
            else if (o.needs_tile()) {
                std::size_t const room = turned_rows > 1 && is_turned(k)
                                             ? turned_rows * pitch_of(o, elements)
                                             : elements;
                tile_at_[k] = total;
                total += (o.tile_element * room + 63) / 64 * 64;
            }
        }
        for (std::size_t k = 0; k < count_; ++k)
            if (operands_[k].absent) tile_at_[k] = total;
        tile_bytes_ = total + zeros;
        tiles_ = static_cast<std::byte*>(allocate(tile_bytes_));
        std::memset(tiles_ + total, 0, zeros);
    }

    /// All operands in order; outputs may be absent.
    void run_at_once(std::size_t n, TileBody body) {
        std::array<void*, max_operands> at;
        for (std::size_t k = 0; k < count_; ++k)
            at[k] = operands_[k].absent ? nullptr : operands_[k].array->data;
        body.call(body.context, at.data(), n, {});
    }

    /// Operands in order, absent, or one number for all: read once, or summed into.
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
            if (!o.absent && !o.output) o.move(at[k], o.array->data, 0, std::min(n, chunk));
        }
        TileFacts facts{uniform_inputs()};
        for (std::size_t k = 0; n > chunk && k < count_; ++k)
            if (operands_[k].output && adds(k)) hold(k, chunk, facts);
        std::size_t held = 0;
        for (std::size_t i = 0; i < n; i += chunk) {
            std::size_t const count = std::min(chunk, n - i);
            for (std::size_t k = 0; n > chunk && k < count_; ++k)
                if (auto const& o = operands_[k]; o.output && !o.absent && !o.needs_tile())
                    fetch_for_stores(at[k], count * o.element);
            body.call(body.context, at.data(), count, facts);
            bool const collects = ++held % most_held == 0 || i + count == n;
            for (std::size_t k = 0; k < count_; ++k) {
                auto const& o = operands_[k];
                if (o.absent || !o.output || !o.needs_tile()) continue;
                if (!(facts.added_to & TileFacts::bit(k)))
                    o.move(at[o.from < 0 ? k : static_cast<std::size_t>(o.from)], o.array->data, 0,
                        count);
                else if (collects) {
                    o.move(at[k], o.array->data, 0, chunk);
                    hold(k, chunk, facts);
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
        std::size_t const row = extent_.back(), turned_rows = rows_of_squares();
        if (row >= shortest_row) {
            std::size_t const part = turned_rows > 1 ? part_of_row(row) : tile_size;
            make_tiles(std::min(n, part), turned_rows);
            return run_rows(turned_rows, part, body);
        }
        std::size_t const longest = rows_of_a_tile(row, turned_rows) * row;
        make_tiles(std::min(n, longest));
        run_short_rows(n, longest, body);
    }

    /// Of rows that are turned, equal parts of whole squares.
    static std::size_t part_of_row(std::size_t row) {
        constexpr std::size_t longest = 4 * tile_size, square = 16;
        std::size_t const parts = (row + longest - 1) / longest, part = (row + parts - 1) / parts;
        return (part + square - 1) / square * square;
    }

    /// How many short rows make a tile: so many that squares fill up; without these, that no batch
    /// is incomplete, unless rows are too long for that.
    static std::size_t rows_of_a_tile(std::size_t row, std::size_t turned_rows) {
        constexpr std::size_t batch = 8;
        std::size_t const usual = tile_size / row, even = batch / std::gcd(row, batch);
        if (turned_rows > 1) return std::max(usual / turned_rows, std::size_t{1}) * turned_rows;
        if (usual >= even) return usual / even * even;
        return even * row <= 2 * tile_size ? even : usual;
    }

    /// Tiles that are parts of rows, in which unit steps are read in place. Where an operand has
    /// its neighbours along the axis before, as a transposed matrix has, some rows are taken at
    /// once, so that its elements move square by square.
    void run_rows(std::size_t turned_rows, std::size_t part, TileBody body) {
        enum class Way : std::uint8_t { at_hand, in_place, repeated, staged, collected, turned };
        struct Walk {
            Way way = Way::at_hand;
            std::byte *place = nullptr, *filled = nullptr; // the first element of the rows; where
                                                           // repeated elements were staged from
            std::ptrdiff_t step = 0, row_step = 0;         // in bytes

            std::byte* at(std::size_t row, std::size_t column) const {
                return place + static_cast<std::ptrdiff_t>(row) * row_step +
                       static_cast<std::ptrdiff_t>(column) * step;
            }
        };
        std::size_t const row = extent_.back(), last = extent_.size() - 1;
        std::array<void*, max_operands> at;
        TileFacts facts{uniform_inputs()};
        LocalArray<Walk, 14> walks(count_);
        bool const turns = turned_rows > 1;
        bool tiled = turns;
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
            bool const added_to = o.output && step == 1 && adds(k);
            bool const direct = added_to || (o.in_place && (o.whole || (!o.output && step == 1)));
            walk.way = direct         ? Way::in_place
                       : is_turned(k) ? Way::turned
                       : o.output     ? Way::collected
                       : step == 0    ? Way::repeated
                                      : Way::staged;
            if (walk.way == Way::repeated) facts.uniform |= TileFacts::bit(k);
            if (added_to) facts.added_to |= TileFacts::bit(k);
            tiled |= !direct && o.from < 0;
        }
        bool const fetches = tiled && !turns; // rows that are turned fill the nearest cache
        std::size_t const longest = std::min(row, tiled ? part : most_summed);
        Shape index(last, 0);
        for (;;) {
            std::size_t const rows =
                turns ? std::min(turned_rows, extent_[last - 1] - index[last - 1]) : 1;
            for (std::size_t done = 0, count; done < row; done += count) {
                count = std::min(longest, row - done);
                for (std::size_t k = 0; turns && k < count_; ++k)
                    if (auto const& o = operands_[k]; walks[k].way == Way::turned && !o.output)
                        copy_transposed(o.element, tile(k),
                            static_cast<std::ptrdiff_t>(pitch_of(o, longest)), walks[k].at(0, done),
                            step_[k][last], rows, count);
                for (std::size_t r = 0; r < rows; ++r) {
                    for (std::size_t k = 0; k < count_; ++k) {
                        auto& walk = walks[k];
                        auto const& o = operands_[k];
                        auto* const place = walk.at(r, done);
                        if (walk.way == Way::in_place) {
                            at[k] = place;
                            if (o.output && fetches) fetch_for_stores(place, count * o.element);
                        } else if (walk.way == Way::turned)
                            at[k] = tile(k) + r * pitch_of(o, longest) * o.element;
                        else if (walk.way == Way::staged)
                            o.move(at[k], place, step_[k][last], count);
                        else if (walk.way == Way::repeated &&
                                 std::exchange(walk.filled, place) != place)
                            o.move(at[k], place, 0, longest);
                    }
                    body.call(body.context, at.data(), count, facts);
                    for (std::size_t k = 0; k < count_; ++k)
                        if (auto const& o = operands_[k]; walks[k].way == Way::collected)
                            o.move(at[o.from < 0 ? k : static_cast<std::size_t>(o.from)],
                                walks[k].at(r, done), step_[k][last], count);
                }
                for (std::size_t k = 0; turns && k < count_; ++k)
                    if (auto const& o = operands_[k]; walks[k].way == Way::turned && o.output)
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

    /// Tiles of some whole rows.
    void run_short_rows(std::size_t n, std::size_t longest, TileBody body) {
        enum class Way : std::uint8_t {
            at_hand,
            in_place,
            staged,
            collected,
            held
        }; // at hand: absent, or staged once
        std::size_t const row = extent_.back();
        longest = std::min(n, longest);
        std::array<void*, max_operands> at;
        LocalArray<Way, 32> ways(count_);
        TileFacts facts{uniform_inputs()};
        for (std::size_t k = 0; k < count_; ++k) {
            auto const& o = operands_[k];
            at[k] = tile(k);
            if (o.absent) continue;
            bool const repeats = std::all_of(step_[k].begin(),
                step_[k].begin() + extent_.size() - 1, [](auto step) { return step == 0; });
            ways[k] = o.in_place && o.whole ? Way::in_place
                      : !o.output           ? (repeats ? Way::at_hand : Way::staged)
                      : repeats && adds(k)  ? Way::held
                                            : Way::collected;
            if (ways[k] == Way::held) hold(k, longest, facts);
            else if (ways[k] == Way::at_hand) move_rows(k, at[k], 0, longest / row);
        }
        std::size_t held = 0;
        for (std::size_t i = 0, count; i < n; i += count) {
            count = std::min(longest, n - i);
            std::size_t const first = i / row, rows = count / row;
            for (std::size_t k = 0; k < count_; ++k) {
                auto const& o = operands_[k];
                if (ways[k] == Way::in_place) {
                    at[k] = o.array->data + i * o.element;
                    if (o.output) fetch_for_stores(at[k], count * o.element);
                } else if (ways[k] == Way::staged) move_rows(k, at[k], first, rows);
            }
            body.call(body.context, at.data(), count, facts);
            bool const collects = ++held % most_held == 0 || i + count == n;
            for (std::size_t k = 0; k < count_; ++k) {
                if (ways[k] == Way::collected)
                    move_rows(k,
                        at[operands_[k].from < 0 ? k : static_cast<std::size_t>(operands_[k].from)],
                        first, rows);
                else if (ways[k] == Way::held && collects) {
                    move_rows(k, at[k], 0, longest / row);
                    hold(k, longest, facts);
                }
            }
        }
    }
    std::array<std::size_t, max_operands> tile_at_;
    std::byte* tiles_ = nullptr;
    std::size_t tile_bytes_ = 0;
};

} // namespace xgrad::detail
