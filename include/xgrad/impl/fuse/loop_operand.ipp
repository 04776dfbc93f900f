// Bodies of loop_operand.hpp.
#pragma once

#include <xgrad/fuse/loop_operand.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION AnyArray const& zero_array() {
    static AnyArray const zero = [] {
        AnyArray a;
        a.data = zero_buffer.elements;
        a.numel = 1;
        return a;
    }();
    return zero;
}

XGRAD_FUNCTION void prefetch_for_stores(
    [[maybe_unused]] void const* place, [[maybe_unused]] std::size_t bytes) {
#if defined(__GNUC__) && !(defined(__znver3__) || defined(__znver4__) || defined(__znver5__))
    constexpr std::size_t line = 64;
    for (std::size_t at = 0; at < bytes; at += line)
        prefetch_for_writing(static_cast<std::byte const*>(place) + at);
#endif
}

} // namespace xgrad::detail
