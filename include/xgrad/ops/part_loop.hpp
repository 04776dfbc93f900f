// PartLoop: a kernel over many elements that all lie in order, part by part: on several threads
// where they are wanted, and with results that no cache can hold written past the caches where that
// is faster.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <limits>

#include <xgrad/base/parallel.hpp>
#include <xgrad/base/stream.hpp>
#include <xgrad/ops/tile_loop.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::detail {

/// Whether parts are written past the caches. That spares reading what is overwritten, but where a
/// expression computes enough to hide such reads its stores may wait longer, which differs between
/// processors: the first parts take turns, and the others use the kind of store that was faster.
class StreamingTrial {
public:
    /// Calls f(whether this part is streamed).
    template <class F> void run(std::size_t part, F f) {
        bool const non_temporal = streams(part);
        if (part >= trials) return f(non_temporal);
        auto const start = Clock::now();
        f(non_temporal);
        double const seconds = std::chrono::duration<double>(Clock::now() - start).count() /
                               (non_temporal ? 1 : preference);
        for (double shortest = shortest_[non_temporal].load(std::memory_order_relaxed);
             seconds < shortest && !shortest_[non_temporal].compare_exchange_weak(
                                       shortest, seconds, std::memory_order_relaxed);) {}
    }

private:
    using Clock = std::chrono::steady_clock;
    static constexpr std::size_t trials = 8;
    static constexpr double preference =
        0.9; // what stays in a cache is written later, which a trial does not see

    bool streams(std::size_t part) const noexcept {
        return part < trials ? part % 2 == 0
                             : shortest_[true].load(std::memory_order_relaxed) <=
                                   shortest_[false].load(std::memory_order_relaxed);
    }

    std::array<std::atomic<double>, 2> shortest_{
        std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
};

class PartLoop {
public:
    /// Over `count` elements, of which a kernel takes at most `most` at once.
    explicit PartLoop(std::size_t count, std::size_t max_at_once = part_size) noexcept
        : count_(count), max_at_once_(max_at_once) {}

    /// Operand k, with elements of this many bytes, or of none where it is the same for every call
    /// of the kernel; it may be null.
    void contiguous(std::size_t k, void* data, std::size_t element) noexcept {
        for (; operands_ <= k; ++operands_) at_[operands_] = nullptr, step_[operands_] = 0;
        at_[k] = static_cast<std::byte*>(data);
        step_[k] = data ? element : 0;
    }
    /// One that is written, and not read unless it is also one of the operands before it.
    void result(std::size_t k, void* data, std::size_t element) noexcept {
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

    /// Calls kernel(part, operands, elements) until all are done, each part from its first element
    /// to its last.
    template <class Kernel> void run(Kernel kernel) const {
        run({[](void* to, std::size_t part, void* const* operands, std::size_t n) {
                 (*static_cast<Kernel*>(to))(part, operands, n);
             },
            &kernel});
    }

private:
    struct Body {
        void (*call)(void* kernel, std::size_t part, void* const* operands, std::size_t n);
        void* kernel;

        void operator()(std::size_t part, void* const* operands, std::size_t n) const {
            call(kernel, part, operands, n);
        }
    };
    static constexpr std::size_t
        buffers = 6,
        buffer_bytes = 1024; // so that stores past the caches never fill the queue of all stores

    void run(Body body) const {
        if (!streamed_)
            return for_each_part(count_, [&](std::size_t part, std::size_t first, std::size_t n) {
                run_part(body, part, first, n);
            });
        StreamingTrial trial;
        for_each_part(count_, [&](std::size_t part, std::size_t first, std::size_t n) {
            trial.run(part, [&](bool streams) {
                streams ? stream_part(body, part, first, n) : run_part(body, part, first, n);
            });
        });
    }
    /// Both ways call the kernel for the same elements at once, so that its results are the same to
    /// the last bit.
    void run_part(Body body, std::size_t part, std::size_t first, std::size_t elements) const {
        void* here[TileLoop::max_operands];
        for (std::size_t done = 0, n; done < elements; done += n) {
            n = std::min(max_at_once_, elements - done);
            for (std::size_t k = 0; k < operands_; ++k) here[k] = place(k, first + done);
            body(part, here, n);
        }
    }
    void stream_part(Body body, std::size_t part, std::size_t first, std::size_t elements) const {
        alignas(block_alignment) std::byte buffer[buffers][buffer_bytes];
        void* here[TileLoop::max_operands];
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

    bool is_streamed(std::size_t k) const noexcept { return k < 64 && streamed_ >> k & 1; }
    std::byte* place(std::size_t k, std::size_t i) const noexcept { return at_[k] + i * step_[k]; }

    std::size_t count_, max_at_once_, operands_ = 0;
    std::uint64_t streamed_ = 0; // operands, one bit each
    std::byte* at_[TileLoop::max_operands];
    std::size_t step_[TileLoop::max_operands];
};

} // namespace xgrad::detail
