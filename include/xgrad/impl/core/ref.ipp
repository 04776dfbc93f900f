// Bodies of ref.hpp.
#pragma once

#include <xgrad/core/ref.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION bool RefCount::increment_if_owned() noexcept {
    auto count = count_.load(std::memory_order_relaxed);
    while (count != 0)
        if (count_.compare_exchange_weak(count, count + 1, std::memory_order_acq_rel)) return true;
    return false;
}

} // namespace xgrad::detail
