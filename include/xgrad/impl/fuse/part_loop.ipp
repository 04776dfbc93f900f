// Bodies of part_loop.hpp.
#pragma once

#include <algorithm>
#include <bit>

#include <xgrad/fuse/part_loop.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION void PartLoop::contiguous(std::size_t k, void* data, std::size_t element) noexcept {
    for (; operands_ <= k; ++operands_) at_[operands_] = nullptr, step_[operands_] = 0;
    at_[k] = static_cast<std::byte*>(data);
    step_[k] = data ? element : 0;
}

XGRAD_FUNCTION void PartLoop::result(std::size_t k, void* data, std::size_t element) noexcept {
    bool const is_read = std::find(at_, at_ + operands_, data) != at_ + operands_;
    bool const is_large = count_ * element >= streamed_bytes &&
                          reinterpret_cast<std::uintptr_t>(data) % block_alignment == 0;
    contiguous(k, data, element);
    if (data && is_large && !is_read && k < 64 &&
        static_cast<std::size_t>(std::popcount(streamed_)) < buffers) {
        streamed_ |= std::uint64_t{1} << k;
        max_at_once_ = std::min(max_at_once_, buffer_bytes / element);
    }
}

XGRAD_FUNCTION void PartLoop::run(Body body) const {
    for_each_part(count_, [&](std::size_t part, std::size_t first, std::size_t n) {
        streamed_ ? stream_part(body, part, first, n) : run_part(body, part, first, n);
    });
}

XGRAD_FUNCTION void PartLoop::run_part(
    Body body, std::size_t part, std::size_t first, std::size_t elements) const {
    void* here[max_arguments];
    for (std::size_t done = 0, n; done < elements; done += n) {
        n = std::min(max_at_once_, elements - done);
        for (std::size_t k = 0; k < operands_; ++k) here[k] = place(k, first + done);
        body(part, here, n);
    }
}

/// The kernel writes the results to buffers, which non-temporal stores copy.
XGRAD_FUNCTION void PartLoop::stream_part(
    Body body, std::size_t part, std::size_t first, std::size_t elements) const {
    alignas(block_alignment) std::byte buffer[buffers][buffer_bytes];
    void* here[max_arguments];
    auto const streamed = static_cast<std::size_t>(std::popcount(streamed_));
    for (std::size_t done = 0, n; done < elements; done += n) {
        n = std::min(max_at_once_, elements - done);
        for (std::size_t k = 0, next = 0; k < operands_; ++k)
            here[k] = is_streamed(k) ? buffer[next++] : place(k, first + done);
        body(part, here, n);
        for (std::size_t k = 0, next = 0; next < streamed; ++k)
            if (is_streamed(k)) stream(place(k, first + done), buffer[next++], n * step_[k]);
    }
    finish_streaming();
}

} // namespace xgrad::detail
