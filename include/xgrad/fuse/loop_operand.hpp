// LoopOperand: an input or an output of a kernel over an index space, with the functions that copy
// its elements between the array and a tile. A tile is a buffer of up to tile_size elements.
#pragma once

#include <xgrad/core/array.hpp>

namespace xgrad::detail {

inline constexpr std::size_t tile_size = 256;
/// The most operands of a forward or a backward kernel.
inline constexpr std::size_t max_arguments = 2 * 64 + 2;
/// The longest run that is summed at once; a longer one would lose digits.
inline constexpr std::size_t max_summed = 4096;

/// How elements are copied or reduced between an array and a tile: one object for each pair of
/// types.
struct Transfer {
    /// Copies n elements; in the array they are `stride` elements apart.
    using Strided = void (*)(void* tile, void* array, std::ptrdiff_t stride, std::size_t n);
    /// Copies rows of n elements. Rows are `tile_gap` bytes apart in the tile and `gap` bytes in
    /// the array.
    using Rows = void (*)(std::byte* tile, std::size_t tile_gap, std::byte* array,
        std::ptrdiff_t gap, std::ptrdiff_t stride, std::size_t n, std::size_t rows);
    /// Reduces rows of n adjacent elements to an array of n.
    using Columns = void (*)(void* from, void* array, std::size_t n, std::size_t rows);

    std::size_t element, tile_element; // bytes of an element of the array, and of the tile
    bool same_type;                    // an element of the array has the type of one of the tile
    Strided strided;
    Rows rows;
    Columns columns; // null: row by row

    void operator()(void* tile, void* array, std::ptrdiff_t stride, std::size_t n) const {
        strided(tile, array, stride, n);
    }
};
template <Transfer::Strided run>
void transfer_rows_by(std::byte* tile, std::size_t tile_gap, std::byte* array, std::ptrdiff_t gap,
    std::ptrdiff_t stride, std::size_t n, std::size_t rows) {
    for (; rows > 0; --rows, tile += tile_gap, array += gap) run(tile, array, stride, n);
}
/// Of an array of T and a tile of E.
template <class T, class E, Transfer::Strided run, Transfer::Rows rows = &transfer_rows_by<run>,
    Transfer::Columns columns = nullptr>
inline constexpr Transfer transfer_by{sizeof(T), sizeof(E), std::same_as<T, E>, run, rows, columns};

/// An input or an output of a kernel over an index space; at first an output without an array,
/// which no kernel writes.
struct LoopOperand {
    AnyArray const* array = nullptr;
    Transfer const* transfer = nullptr;
    bool output = true;
    bool reduces = false;     // an output into which tiles are summed or otherwise reduced
    bool kernel_adds = false; // the kernel can add to this output instead of overwriting it
    std::int8_t from = -1;    // an output that is a copy of this input

    /// True where a kernel can use contiguous elements in place.
    bool in_place() const noexcept { return !reduces && from < 0 && transfer->same_type; }
};

/// A buffer for a tile of any scalar type.
struct TileBuffer {
    alignas(64) std::byte elements[tile_size * 16];
};
/// Zeros of any scalar type, for the inputs that no gradient reads. Nothing writes to them, so that
/// the system maps one page to all of them.
inline constexpr std::size_t zero_elements = 4096;
struct ZeroBuffer {
    alignas(64) std::byte elements[zero_elements * 16];
};
inline constinit ZeroBuffer zero_buffer{};
/// Zero, without dimensions, for element types of any size.
AnyArray const& zero_array();

/// Prefetches the cache lines of an output that a kernel writes in place. Stores retire in order,
/// so stores to tiles, which hit the L1 cache, would wait behind a store that misses. AMD's
/// processors since Zen 3 lose by it.
void prefetch_for_stores([[maybe_unused]] void const* place, [[maybe_unused]] std::size_t bytes);

/// Properties of the first 64 operands in a tile, one bit each. `constant`: inputs with one value.
/// `added_to`: outputs to which the kernel adds.
struct LoopFacts {
    std::uint64_t constant = 0, added_to = 0;

    static constexpr std::uint64_t bit(std::size_t k) { return k < 64 ? std::uint64_t{1} << k : 0; }
};

/// A kernel and its context. It gets pointers to the operands' elements and the number of elements,
/// and returns what it has summed: 0 where it sums nothing.
struct LoopBody {
    double (*call)(void* context, void** operands, std::size_t n, LoopFacts facts);
    void* context;
};

template <class F> LoopBody loop_body(F& f) {
    return {
        [](void* context, void** operands, std::size_t n, LoopFacts facts) {
            if constexpr (std::is_void_v<std::invoke_result_t<F&, void**, std::size_t, LoopFacts>>)
                return (*static_cast<F*>(context))(operands, n, facts), 0.;
            else return (*static_cast<F*>(context))(operands, n, facts);
        },
        &f};
}

} // namespace xgrad::detail
