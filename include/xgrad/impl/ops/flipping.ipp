// Bodies of flipping.hpp.
#pragma once

#include <xgrad/ops/flipping.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION std::size_t shift_within(std::ptrdiff_t shift, std::size_t extent) {
    auto const n = static_cast<std::ptrdiff_t>(extent);
    return n ? static_cast<std::size_t>((shift % n + n) % n) : 0;
}

} // namespace xgrad::detail
