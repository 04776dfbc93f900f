// Bodies of transposed.hpp.
#pragma once

#include <xgrad/core/transposed.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION void copy_transposed(std::size_t element, std::byte* to, std::ptrdiff_t to_row,
    std::byte const* from, std::ptrdiff_t from_column, std::size_t rows, std::size_t columns) {
    auto const copy = [&]<std::size_t Bytes>(std::integral_constant<std::size_t, Bytes>) {
        copy_transposed_elements<Bytes>(reinterpret_cast<Opaque<Bytes>*>(to), to_row,
            reinterpret_cast<Opaque<Bytes> const*>(from), from_column, rows, columns);
    };
    switch (element) {
    case 1:
        return copy(std::integral_constant<std::size_t, 1>{});
    case 4:
        return copy(std::integral_constant<std::size_t, 4>{});
    case 8:
        return copy(std::integral_constant<std::size_t, 8>{});
    default:
        return copy(std::integral_constant<std::size_t, 16>{});
    }
}

} // namespace xgrad::detail
