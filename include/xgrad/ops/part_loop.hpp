// PartLoop: calls a kernel on many contiguous elements, in parts of part_size elements. Parts may
// be processed by several threads, and results larger than the caches may be written with
// non-temporal stores. Invariant: the parts, and the elements of each call of the kernel, depend on
// neither choice, so results are bit-identical.
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
#include <xgrad/ops/nd_loop.hpp>

namespace xgrad::detail {

/// Chooses between non-temporal and ordinary stores. Non-temporal stores save the read for
/// ownership of each cache line, but a kernel with enough arithmetic hides those reads and then
/// waits for the stores; this depends on the processor. The first parts alternate between both, the
/// others use the faster one (bench_rational, rows "hand, streaming").
class StreamingTrial {
public:
    /// Calls f(true if this part uses non-temporal stores).
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
        0.9; // lines that stay in a cache are written back later, which a trial does not measure

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
    /// A loop over `count` elements; a kernel takes at most `max_at_once` in a call.
    explicit PartLoop(std::size_t count, std::size_t max_at_once = part_size) noexcept
        : count_(count), max_at_once_(max_at_once) {}

    /// Operand k is contiguous; `element` is the size of an element, or 0 if each call gets the
    /// same pointer. It may be null.
    void contiguous(std::size_t k, void* data, std::size_t element) noexcept {
        for (; operands_ <= k; ++operands_) at_[operands_] = nullptr, step_[operands_] = 0;
        at_[k] = static_cast<std::byte*>(data);
        step_[k] = data ? element : 0;
    }
    /// Operand k is an output. It may be one of the operands before it; then the kernel reads it,
    /// too.
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

    /// Calls kernel(part, operands, elements) for all elements; within a part, from the first to
    /// the last.
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
        buffer_bytes = 1024; // small enough that non-temporal stores do not fill the store buffer

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
    /// run_part and stream_part call the kernel with the same elements at once, so that results are
    /// bit-identical.
    void run_part(Body body, std::size_t part, std::size_t first, std::size_t elements) const {
        void* here[max_operands];
        for (std::size_t done = 0, n; done < elements; done += n) {
            n = std::min(max_at_once_, elements - done);
            for (std::size_t k = 0; k < operands_; ++k) here[k] = place(k, first + done);
            body(part, here, n);
        }
    }
    void stream_part(Body body, std::size_t part, std::size_t first, std::size_t elements) const {
        alignas(block_alignment) std::byte buffer[buffers][buffer_bytes];
        void* here[max_operands];
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
    std::byte* at_[max_operands];
    std::size_t step_[max_operands];
};

} // namespace xgrad::detail
