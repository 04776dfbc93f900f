// Bodies of masking.hpp.
#pragma once

#include <xgrad/ops/masking.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION std::size_t count_true(Array<bool> const& mask) {
    return static_cast<std::size_t>(std::count(mask.begin(), mask.end(), true));
}

} // namespace xgrad::detail
