// WaitingGradients: bounds the memory of gradients that full sums compute before backward() is
// called.
#pragma once

#include <atomic>
#include <cstddef>

#include <xgrad/core/ref.hpp>

namespace xgrad::detail {

/// Counts bytes of such gradients in all threads.
class WaitingGradients {
public:
    static constexpr std::ptrdiff_t limit = std::ptrdiff_t{16} << 20;

    /// True where `bytes` more fit below the limit. A first sum of any size fits.
    static bool fits(std::size_t bytes) noexcept;
    static void begin(std::size_t bytes) noexcept { add(bytes, 1); }
    static void end(std::size_t bytes) noexcept { add(bytes, -1); }

private:
    static constexpr std::size_t min_bytes =
        256; // smaller arrays are not counted: the Node is larger

    static void add(std::size_t bytes, std::ptrdiff_t sign) noexcept;

    static inline constinit std::atomic<std::ptrdiff_t> waiting{0};
};

} // namespace xgrad::detail

#ifdef XGRAD_IMPLEMENTATION
#    include <xgrad/impl/tensor/waiting_gradients.ipp>
#endif
