// Bodies of transposed.hpp.
#pragma once

#include <xgrad/core/transposed.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION void copy_transposed(std::size_t element, std::byte* to, std::ptrdiff_t to_row,
    std::byte const* from, std::ptrdiff_t from_column, std::size_t rows, std::size_t columns) {
    with_element_size(element, [&]<std::size_t Bytes>(Opaque<Bytes>) {
        copy_transposed_elements<Bytes>(reinterpret_cast<Opaque<Bytes>*>(to), to_row,
            reinterpret_cast<Opaque<Bytes> const*>(from), from_column, rows, columns);
    });
}

} // namespace xgrad::detail
