// A bound on the memory of gradients that a sum computes before anybody asks for them.
#pragma once

#include <atomic>
#include <cstddef>

#include <xgrad/base/ref.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::detail {

/// Bytes of gradients that were computed together with a sum and wait for a backward pass, of all
/// threads.
class WaitingGradients {
public:
    static constexpr std::ptrdiff_t limit = std::ptrdiff_t{16} << 20;

    /// One sum of any size may keep its gradients, several together up to the limit.
    static bool has_room(std::size_t bytes) noexcept {
        auto const now = waiting.load(std::memory_order_relaxed);
        return now == 0 || now + static_cast<std::ptrdiff_t>(bytes) <= limit;
    }
    static void begin(std::size_t bytes) noexcept { add(bytes, 1); }
    static void end(std::size_t bytes) noexcept { add(bytes, -1); }

private:
    static constexpr std::size_t least =
        256; // what is smaller than the Node that keeps it is not counted

    static void add(std::size_t bytes, std::ptrdiff_t sign) noexcept {
        if (bytes < least) return;
        auto const change = sign * static_cast<std::ptrdiff_t>(bytes);
        if (single_threaded())
            waiting.store(
                waiting.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
        else waiting.fetch_add(change, std::memory_order_relaxed);
    }

    static inline constinit std::atomic<std::ptrdiff_t> waiting{0};
};

} // namespace xgrad::detail
