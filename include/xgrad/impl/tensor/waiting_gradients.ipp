// Bodies of waiting_gradients.hpp.
#pragma once

#include <xgrad/tensor/waiting_gradients.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION bool WaitingGradients::fits(std::size_t bytes) noexcept {
    auto const now = waiting.load(std::memory_order_relaxed);
    return now == 0 || now + static_cast<std::ptrdiff_t>(bytes) <= limit;
}

XGRAD_FUNCTION void WaitingGradients::add(std::size_t bytes, std::ptrdiff_t sign) noexcept {
    if (bytes < min_bytes) return;
    auto const change = sign * static_cast<std::ptrdiff_t>(bytes);
    if (single_threaded())
        waiting.store(waiting.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
    else waiting.fetch_add(change, std::memory_order_relaxed);
}

} // namespace xgrad::detail
