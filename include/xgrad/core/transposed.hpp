// Copies a column-major matrix to a row-major one. It copies square blocks whose rows fill a cache
// line, so that each cache line is fetched once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <xgrad/core/config.hpp>
#include <xgrad/core/vector.hpp>

namespace xgrad::detail {

/// An element of this size, whatever its type is.
template <std::size_t Bytes> struct Opaque {
    std::byte bytes[Bytes];
};

/// Calls f(Opaque<bytes>) for the size of a scalar type.
template <class F> void with_element_size(std::size_t bytes, F const& f) {
    switch (bytes) {
    case 1:
        return f(Opaque<1>());
    case 4:
        return f(Opaque<4>());
    case 8:
        return f(Opaque<8>());
    default:
        return f(Opaque<16>());
    }
}

/// The number of rows and columns of a block: elements in a cache line.
constexpr std::size_t square_side(std::size_t element) { return element < 4 ? 8 : 64 / element; }

/// to[r * to_row + c] = from[r + c * from_column] for r < rows and c < columns.
template <class W>
[[gnu::always_inline]] inline void copy_square(W* to, std::ptrdiff_t to_row, W const* from,
    std::ptrdiff_t from_column, std::size_t rows, std::size_t columns) {
    for (std::size_t r = 0; r < rows; ++r, to += to_row)
        for (std::size_t c = 0; c < columns; ++c)
            to[c] =
                from[static_cast<std::ptrdiff_t>(c) * from_column + static_cast<std::ptrdiff_t>(r)];
}

/// copy_square for `squares` whole blocks. The next block is to_next elements further in `to` and
/// from_next in `from`. Elements of 4 and 8 bytes are transposed in registers.
template <std::size_t Bytes, class W>
void copy_squares(W* to, std::ptrdiff_t to_row, std::ptrdiff_t to_next, W const* from,
    std::ptrdiff_t from_column, std::ptrdiff_t from_next, std::size_t squares) {
    constexpr std::size_t side = square_side(Bytes);
    for (; squares > 0; --squares, to += to_next, from += from_next)
        if constexpr (Bytes == 4 || Bytes == 8) {
            using Integer = std::conditional_t<Bytes == 4, std::int32_t, std::int64_t>;
            constexpr auto n = static_cast<std::ptrdiff_t>(
                               kernel::width<kernel::SimdVector<Integer>, Integer>),
                           all = static_cast<std::ptrdiff_t>(side);
            for (std::ptrdiff_t i = 0; i < all; i += n)
                for (std::ptrdiff_t j = 0; j < all; j += n)
                    kernel::transpose_square(
                        reinterpret_cast<Integer const*>(from + j * from_column + i), from_column,
                        reinterpret_cast<Integer*>(to + i * to_row + j), to_row);
        } else copy_square(to, to_row, from, from_column, side, side);
}

/// Copies whole blocks along the longer side first, then the rows and columns that fill no block.
template <std::size_t Bytes, class W = Opaque<Bytes>>
void copy_transposed_elements(W* to, std::ptrdiff_t to_row, W const* from,
    std::ptrdiff_t from_column, std::size_t rows, std::size_t columns) {
    constexpr std::size_t side = square_side(Bytes);
    constexpr auto step = static_cast<std::ptrdiff_t>(side);
    std::size_t const down = rows / side, across = columns / side;
    if (down > across)
        for (std::size_t i = 0; i < across; ++i)
            copy_squares<Bytes>(to + i * side, to_row, step * to_row,
                from + static_cast<std::ptrdiff_t>(i) * step * from_column, from_column, step,
                down);
    else
        for (std::size_t i = 0; i < down; ++i)
            copy_squares<Bytes>(to + static_cast<std::ptrdiff_t>(i) * step * to_row, to_row, step,
                from + i * side, from_column, step * from_column, across);
    std::size_t const r = down * side, c = across * side;
    copy_square(to + c, to_row, from + static_cast<std::ptrdiff_t>(c) * from_column, from_column, r,
        columns - c);
    copy_square(to + static_cast<std::ptrdiff_t>(r) * to_row, to_row, from + r, from_column,
        rows - r, columns);
}

/// to[r * to_row + c] = from[r + c * from_column] for r < rows and c < columns, for elements of
/// `element` bytes; strides count elements.
void copy_transposed(std::size_t element, std::byte* to, std::ptrdiff_t to_row,
    std::byte const* from, std::ptrdiff_t from_column, std::size_t rows, std::size_t columns);

} // namespace xgrad::detail
