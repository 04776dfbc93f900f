// What a tile loop runs a kernel over: inputs and outputs with the ways in which their elements
// come into tiles and out of them.
#pragma once

#include <xgrad/base/array.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::detail {

inline constexpr std::size_t tile_size = 256;
/// Elements that are summed in one go: longer runs would lose digits.
inline constexpr std::size_t max_summed = 4096;

/// How elements move between a tile and an array.
struct Transfer {
    /// n elements that are `stride` apart in the array.
    using Strided = void (*)(void* tile, void* array, std::ptrdiff_t stride, std::size_t n);
    /// Rows of them: `tile_gap` bytes apart in the tile, and `gap` bytes in the array.
    using Rows = void (*)(std::byte* tile, std::size_t tile_gap, std::byte* array,
        std::ptrdiff_t gap, std::ptrdiff_t stride, std::size_t n, std::size_t rows);

    Strided strided = nullptr;
    Rows rows = nullptr;

    void operator()(void* tile, void* array, std::ptrdiff_t stride, std::size_t n) const {
        strided(tile, array, stride, n);
    }
};
template <Transfer::Strided run>
void transfer_rows_by(std::byte* tile, std::size_t tile_gap, std::byte* array, std::ptrdiff_t gap,
    std::ptrdiff_t stride, std::size_t n, std::size_t rows) {
    for (; rows > 0; --rows, tile += tile_gap, array += gap) run(tile, array, stride, n);
}
template <Transfer::Strided run> inline constexpr Transfer transfer_by{run, &transfer_rows_by<run>};

/// Folds rows of n elements that lie one after another into an array of n.
using ReduceColumns = void (*)(void* from, void* array, std::size_t n, std::size_t rows);

/// An input or an output of a kernel over an index space.
struct TileOperand {
    AnyArray const* array = nullptr;
    std::size_t element = 0;      // bytes of an element of the array
    std::size_t tile_element = 0; // bytes of an element of a tile
    Transfer transfer;
    ReduceColumns reduce_columns =
        nullptr; // what moves of one row after another would do, where that can be done faster
    bool in_place = false; // the array's elements are what a tile would hold
    bool whole = false;    // it covers the index space in row-major order
    bool output = false;
    bool reduces = false; // an output to whose elements tiles are added, or otherwise joined
    bool absent =
        false; // an input that nothing looks at is a tile of zeros; an output has no place at all
    bool constant = false;    // one element for the whole index space
    bool kernel_adds = false; // the kernel can add to what lies in the place of this output
    std::int8_t from = -1;    // an output that is what this input holds
    std::int8_t over = -1;    // an output that a kernel may write where this input lies

    bool needs_tile() const noexcept { return !(whole && in_place); }
};

/// Room for a tile of any scalar type; and one of zeros, for inputs that nothing looks at.
struct TileBuffer {
    alignas(64) std::byte elements[tile_size * 16];
};
inline constinit TileBuffer zero_tile{};

/// Fetches the lines of an output that a kernel will write where it is. Stores wait for their lines
/// in order, so those to tiles, which are at hand, would wait with them. AMD's processors since Zen
/// 3 lose by it.
inline void fetch_for_stores(
    [[maybe_unused]] void const* place, [[maybe_unused]] std::size_t bytes) {
#if defined(__GNUC__) && !(defined(__znver3__) || defined(__znver4__) || defined(__znver5__))
    constexpr std::size_t line = 64;
    for (std::size_t at = 0; at < bytes; at += line)
        __builtin_prefetch(static_cast<std::byte const*>(place) + at, 1);
#endif
}

/// Of the first 64 operands, one bit each: the inputs that have one value in a whole tile, and the
/// outputs that are added to what lies in their places.
struct TileFacts {
    std::uint64_t constant = 0, added_to = 0;

    static constexpr std::uint64_t bit(std::size_t k) { return k < 64 ? std::uint64_t{1} << k : 0; }
};

/// A kernel over one tile: the operands' places, of which it may set those of absent ones, and the
/// number of elements.
struct TileBody {
    void (*call)(void* context, void** operands, std::size_t n, TileFacts facts);
    void* context;
};

template <class F> TileBody tile_body(F& f) {
    return {[](void* context, void** operands, std::size_t n, TileFacts facts) {
                (*static_cast<F*>(context))(operands, n, facts);
            },
        &f};
}

} // namespace xgrad::detail
