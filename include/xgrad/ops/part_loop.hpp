// PartLoop: a kernel over many elements that all lie in order, part by part: on several threads where they are wanted, and with results
// that no cache can hold written past the caches.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include <xgrad/base/parallel.hpp>
#include <xgrad/base/stream.hpp>
#include <xgrad/ops/tile_loop.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::detail {

class PartLoop {
public:
    /// Over `count` elements, of which a kernel takes at most `most` at once.
    explicit PartLoop(std::size_t count, std::size_t most = part_size) noexcept : count_(count), most_(most) {}

    /// Operand k, with elements of this many bytes, or of none where it is the same for every call of the kernel; it may be null.
    void in_order(std::size_t k, void* data, std::size_t element) noexcept
    {
        for (; operands_ <= k; ++operands_) at_[operands_] = nullptr, step_[operands_] = 0;
        at_[k] = static_cast<std::byte*>(data);
        step_[k] = data ? element : 0;
    }
    /// One that is written, and not read unless it is also one of the operands before it.
    void result(std::size_t k, void* data, std::size_t element) noexcept
    {
        bool const is_read = std::find(at_, at_ + operands_, data) != at_ + operands_;
        bool const is_large = count_ * element >= streamed_bytes && reinterpret_cast<std::uintptr_t>(data) % block_alignment == 0;
        in_order(k, data, element);
        if (data && is_large && !is_read && k < 64 && static_cast<std::size_t>(std::popcount(streamed_)) < rooms) {
            streamed_ |= std::uint64_t{1} << k;
            most_ = std::min(most_, room_bytes / element);
        }
    }

    /// Calls kernel(part, operands, elements) until all are done, each part from its first element to its last.
    template <class Kernel> void run(Kernel kernel) const
    {
        for_each_part(count_, [&](std::size_t part, std::size_t first, std::size_t elements) {
            alignas(block_alignment) std::byte room[rooms][room_bytes];
            void* here[TileLoop::max_operands];
            auto const streamed = static_cast<std::size_t>(std::popcount(streamed_));
            for (std::size_t done = 0, n; done < elements; done += n) {
                n = std::min(most_, elements - done);
                for (std::size_t k = 0, next = 0; k < operands_; ++k) here[k] = is_streamed(k) ? room[next++] : place(k, first + done);
                kernel(part, here, n);
                for (std::size_t k = 0, next = 0; next < streamed; ++k)
                    if (is_streamed(k)) stream(place(k, first + done), room[next++], n * step_[k]);
            }
            if (streamed) finish_streaming();
        });
    }

private:
    static constexpr std::size_t rooms = 6, room_bytes = 4096;

    bool is_streamed(std::size_t k) const noexcept { return k < 64 && streamed_ >> k & 1; }
    std::byte* place(std::size_t k, std::size_t i) const noexcept { return at_[k] + i * step_[k]; }

    std::size_t count_, most_, operands_ = 0;
    std::uint64_t streamed_ = 0;  // operands, one bit each
    std::byte* at_[TileLoop::max_operands];
    std::size_t step_[TileLoop::max_operands];
};

}  // namespace xgrad::detail
