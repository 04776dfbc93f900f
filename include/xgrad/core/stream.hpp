// Non-temporal stores for results larger than the last-level cache: the processor does not read the
// overwritten cache lines first, which saves a third of the memory traffic of a copy.
#pragma once

#include <cstddef>
#include <cstring>

#include <xgrad/core/config.hpp>
#include <xgrad/core/intrinsics.hpp>

namespace xgrad::detail {

/// Arrays of at least this many bytes are written by non-temporal stores: they do not fit the
/// caches anyway. Processors without such stores never do this.
#ifdef __SSE2__
inline constexpr std::size_t streamed_bytes = std::size_t{16} << 20;
#else
inline constexpr std::size_t streamed_bytes = ~std::size_t{0};
#endif

/// Copies by non-temporal stores; `to` must be aligned to a cache line.
void stream(std::byte* to, std::byte const* from, std::size_t bytes) noexcept;

/// A store fence: must be called after stream() and before another thread is told to read the
/// result.
inline void finish_streaming() noexcept {
#ifdef __SSE2__
    _mm_sfence();
#endif
}

} // namespace xgrad::detail
