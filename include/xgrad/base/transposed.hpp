// Copying a matrix whose neighbours lie along columns to one whose neighbours lie along rows: square by square, so that each
// line of the cache is fetched once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <xgrad/base/config.hpp>

XGRAD_COMPILED_ONCE

#ifdef __has_builtin
#    if __has_builtin(__builtin_shufflevector)
#        define XGRAD_SHUFFLES 1
#    endif
#endif

namespace xgrad::detail {

template <std::size_t Bytes> struct Opaque {
    std::byte bytes[Bytes];
};

/// to[r * to_row + c] = from[r + c * from_column] for r < rows and c < columns.
template <class W> [[gnu::always_inline]] inline void copy_square(W* to, std::ptrdiff_t to_row, W const* from, std::ptrdiff_t from_column, std::size_t rows, std::size_t columns)
{
    for (std::size_t r = 0; r < rows; ++r, to += to_row)
        for (std::size_t c = 0; c < columns; ++c) to[c] = from[static_cast<std::ptrdiff_t>(c) * from_column + static_cast<std::ptrdiff_t>(r)];
}

#ifdef XGRAD_SHUFFLES
/// Four by four words of eight bytes, in registers.
[[gnu::always_inline]] inline void copy_four_by_four(Opaque<8>* to, std::ptrdiff_t to_row, Opaque<8> const* from, std::ptrdiff_t from_column)
{
    typedef long long Four __attribute__((vector_size(32)));
    Four column[4];
    for (int c = 0; c < 4; ++c) std::memcpy(&column[c], from + c * from_column, sizeof(Four));
    Four const even = __builtin_shufflevector(column[0], column[1], 0, 4, 2, 6), odd = __builtin_shufflevector(column[0], column[1], 1, 5, 3, 7);
    Four const more_even = __builtin_shufflevector(column[2], column[3], 0, 4, 2, 6), more_odd = __builtin_shufflevector(column[2], column[3], 1, 5, 3, 7);
    Four const row[4] = {__builtin_shufflevector(even, more_even, 0, 1, 4, 5), __builtin_shufflevector(odd, more_odd, 0, 1, 4, 5),
                         __builtin_shufflevector(even, more_even, 2, 3, 6, 7), __builtin_shufflevector(odd, more_odd, 2, 3, 6, 7)};
    for (int r = 0; r < 4; ++r) std::memcpy(to + r * to_row, &row[r], sizeof(Four));
}
#endif

template <class W> void copy_transposed_words(W* to, std::ptrdiff_t to_row, W const* from, std::ptrdiff_t from_column, std::size_t rows, std::size_t columns)
{
    constexpr std::size_t side = 8;
    for (std::size_t r = 0; r < rows; r += side)
        for (std::size_t c = 0; c < columns; c += side) {
            W* const t = to + static_cast<std::ptrdiff_t>(r) * to_row + static_cast<std::ptrdiff_t>(c);
            W const* const f = from + static_cast<std::ptrdiff_t>(c) * from_column + static_cast<std::ptrdiff_t>(r);
            if (r + side > rows || c + side > columns) {
                copy_square(t, to_row, f, from_column, std::min(side, rows - r), std::min(side, columns - c));
                continue;
            }
#ifdef XGRAD_SHUFFLES
            if constexpr (sizeof(W) == 8) {
                for (std::ptrdiff_t i = 0; i < 8; i += 4)
                    for (std::ptrdiff_t j = 0; j < 8; j += 4) copy_four_by_four(t + i * to_row + j, to_row, f + j * from_column + i, from_column);
                continue;
            }
#endif
            copy_square(t, to_row, f, from_column, side, side);
        }
}

/// to[r * to_row + c] = from[r + c * from_column] for r < rows and c < columns, of elements of this many bytes; steps in elements.
inline void copy_transposed(std::size_t element, std::byte* to, std::ptrdiff_t to_row, std::byte const* from, std::ptrdiff_t from_column, std::size_t rows, std::size_t columns)
{
    auto const copy = [&]<std::size_t Bytes>(std::integral_constant<std::size_t, Bytes>) {
        copy_transposed_words(reinterpret_cast<Opaque<Bytes>*>(to), to_row, reinterpret_cast<Opaque<Bytes> const*>(from), from_column, rows, columns);
    };
    switch (element) {
    case 1: return copy(std::integral_constant<std::size_t, 1>{});
    case 4: return copy(std::integral_constant<std::size_t, 4>{});
    case 8: return copy(std::integral_constant<std::size_t, 8>{});
    default: return copy(std::integral_constant<std::size_t, 16>{});
    }
}

}  // namespace xgrad::detail

#undef XGRAD_SHUFFLES
