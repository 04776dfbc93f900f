// TileOperand: an input or an output of a kernel over an index space, with the functions that copy
// its elements between the array and a tile. A tile is a buffer of up to tile_size elements.
#pragma once

#include <xgrad/base/array.hpp>

namespace xgrad::detail {

inline constexpr std::size_t tile_size = 256;
/// The longest run that is summed at once; a longer one would lose digits.
inline constexpr std::size_t max_summed = 4096;

/// How elements move between a tile and an array.
struct Transfer {
    /// Copies n elements; in the array they are `stride` elements apart.
    using Strided = void (*)(void* tile, void* array, std::ptrdiff_t stride, std::size_t n);
    /// Copies rows of n elements. Rows are `tile_gap` bytes apart in the tile and `gap` bytes in
    /// the array.
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

/// Reduces rows of n adjacent elements to an array of n.
using ReduceColumns = void (*)(void* from, void* array, std::size_t n, std::size_t rows);

/// An input or an output of a kernel over an index space.
struct TileOperand {
    AnyArray const* array = nullptr;
    std::size_t element = 0;      // bytes of an element of the array
    std::size_t tile_element = 0; // bytes of an element of a tile
    Transfer transfer;
    ReduceColumns reduce_columns =
        nullptr;           // a faster way to transfer rows one after another, if there is one
    bool in_place = false; // an array element has the type of a tile element
    bool whole = false;    // it covers the index space in row-major order
    bool output = false;
    bool reduces = false; // an output into which tiles are summed or otherwise reduced
    bool absent =
        false; // an input that is not read is a tile of zeros; an output has no destination
    bool constant = false;    // one element for the whole index space
    bool kernel_adds = false; // the kernel can add to this output instead of overwriting it
    std::int8_t from = -1;    // an output that is a copy of this input
    std::int8_t over = -1;    // an output that may overwrite this input

    bool needs_tile() const noexcept { return !(whole && in_place); }
};

/// A buffer for a tile of any scalar type. zero_tile serves the inputs that no gradient reads.
struct TileBuffer {
    alignas(64) std::byte elements[tile_size * 16];
};
inline constinit TileBuffer zero_tile{};

/// Prefetches the cache lines of an output that a kernel writes in place. Stores retire in order,
/// so stores to tiles, which hit the L1 cache, would wait behind a store that misses. AMD's
/// processors since Zen 3 lose by it.
inline void prefetch_for_stores(
    [[maybe_unused]] void const* place, [[maybe_unused]] std::size_t bytes) {
#if defined(__GNUC__) && !(defined(__znver3__) || defined(__znver4__) || defined(__znver5__))
    constexpr std::size_t line = 64;
    for (std::size_t at = 0; at < bytes; at += line)
        __builtin_prefetch(static_cast<std::byte const*>(place) + at, 1);
#endif
}

/// Properties of the first 64 operands in a tile, one bit each. `constant`: inputs with one value.
/// `added_to`: outputs to which the kernel adds.
struct TileFacts {
    std::uint64_t constant = 0, added_to = 0;

    static constexpr std::uint64_t bit(std::size_t k) { return k < 64 ? std::uint64_t{1} << k : 0; }
};

/// A kernel and its context. It gets pointers to the operands' elements, may set those of absent
/// operands, and the number of elements.
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
