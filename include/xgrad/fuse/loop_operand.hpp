// LoopOperand: an input or an output of a kernel over an index space, with the functions that copy
// its elements between the array and a tile. A tile is a buffer of up to tile_size elements.
#pragma once

#include <xgrad/core/array.hpp>

namespace xgrad::detail {

inline constexpr std::size_t tile_size = 256;
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

/// What a kernel does with an operand. A sum is a reduction to which the kernel itself can add.
enum class Role : std::uint8_t { input, output, reduction, sum };

/// An input or an output of a kernel over an index space.
struct LoopOperand {
    ArraySpan array;
    Transfer const* transfer;
    Role role;
    bool copies; // an output that is a copy of the only input: no kernel writes it

    LoopOperand() = default;
    LoopOperand(ArraySpan const& a, Transfer const& t, Role r) noexcept
        : array(a), transfer(&t), role(r), copies(false) {}

    bool is_input() const noexcept { return role == Role::input; }
    bool reduces() const noexcept { return role >= Role::reduction; }
    /// True where a kernel can use contiguous elements in place.
    bool in_place() const noexcept { return !reduces() && transfer->same_type; }
};

/// Zeros of any scalar type, for the inputs that no gradient reads. Nothing writes to them, so that
/// the system maps one page to all of them.
inline constexpr std::size_t zero_elements = 4096;
struct ZeroBuffer {
    alignas(64) std::byte elements[zero_elements * 16];
};
inline constinit ZeroBuffer zero_buffer{};

/// Properties of the first 64 operands in a tile, one bit each. `constant`: inputs with one value.
/// `added_to`: outputs to which the kernel adds.
struct LoopFacts {
    std::uint64_t constant = 0, added_to = 0;

    static constexpr std::uint64_t bit(std::size_t k) { return k < 64 ? std::uint64_t{1} << k : 0; }
};

/// A kernel and its context. It gets pointers to the operands' elements and the number of elements,
/// and returns what it has summed: 0 where it sums nothing.
struct LoopBody {
    double (*call)(void const* context, void** operands, std::size_t n, LoopFacts facts);
    void const* context;
};

} // namespace xgrad::detail
