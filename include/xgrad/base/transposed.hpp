// Copying a matrix whose neighbours lie along columns to one whose neighbours lie along rows: square by square, so that each
// line of the cache is fetched once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <xgrad/base/config.hpp>
#include <xgrad/base/vec.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::detail {

template <std::size_t Bytes> struct Opaque {
    std::byte bytes[Bytes];
};

/// Rows and columns of a square whose lines fill lines of the cache.
constexpr std::size_t square_side(std::size_t element) { return element < 4 ? 8 : 64 / element; }

/// to[r * to_row + c] = from[r + c * from_column] for r < rows and c < columns.
template <class W> [[gnu::always_inline]] inline void copy_square(W* to, std::ptrdiff_t to_row, W const* from, std::ptrdiff_t from_column, std::size_t rows, std::size_t columns)
{
    for (std::size_t r = 0; r < rows; ++r, to += to_row)
        for (std::size_t c = 0; c < columns; ++c) to[c] = from[static_cast<std::ptrdiff_t>(c) * from_column + static_cast<std::ptrdiff_t>(r)];
}

template <std::size_t Bytes, class W = Opaque<Bytes>> void copy_transposed_words(W* to, std::ptrdiff_t to_row, W const* from, std::ptrdiff_t from_column, std::size_t rows, std::size_t columns)
{
    constexpr std::size_t side = square_side(Bytes);
    for (std::size_t r = 0; r < rows; r += side)
        for (std::size_t c = 0; c < columns; c += side) {
            W* const t = to + static_cast<std::ptrdiff_t>(r) * to_row + static_cast<std::ptrdiff_t>(c);
            W const* const f = from + static_cast<std::ptrdiff_t>(c) * from_column + static_cast<std::ptrdiff_t>(r);
            if (r + side > rows || c + side > columns) copy_square(t, to_row, f, from_column, std::min(side, rows - r), std::min(side, columns - c));
            else if constexpr (Bytes == 4 || Bytes == 8) {
                using Word = std::conditional_t<Bytes == 4, std::int32_t, std::int64_t>;
                constexpr auto n = static_cast<std::ptrdiff_t>(kernel::width<kernel::Vec<Word>, Word>), all = static_cast<std::ptrdiff_t>(side);
                for (std::ptrdiff_t i = 0; i < all; i += n)
                    for (std::ptrdiff_t j = 0; j < all; j += n)
                        kernel::transpose_square(reinterpret_cast<Word const*>(f + j * from_column + i), from_column, reinterpret_cast<Word*>(t + i * to_row + j), to_row);
            } else copy_square(t, to_row, f, from_column, side, side);
        }
}

/// to[r * to_row + c] = from[r + c * from_column] for r < rows and c < columns, of elements of this many bytes; steps in elements.
inline void copy_transposed(std::size_t element, std::byte* to, std::ptrdiff_t to_row, std::byte const* from, std::ptrdiff_t from_column, std::size_t rows, std::size_t columns)
{
    auto const copy = [&]<std::size_t Bytes>(std::integral_constant<std::size_t, Bytes>) {
        copy_transposed_words<Bytes>(reinterpret_cast<Opaque<Bytes>*>(to), to_row, reinterpret_cast<Opaque<Bytes> const*>(from), from_column, rows, columns);
    };
    switch (element) {
    case 1: return copy(std::integral_constant<std::size_t, 1>{});
    case 4: return copy(std::integral_constant<std::size_t, 4>{});
    case 8: return copy(std::integral_constant<std::size_t, 8>{});
    default: return copy(std::integral_constant<std::size_t, 16>{});
    }
}

}  // namespace xgrad::detail
