// PartLoop: calls a kernel on many contiguous elements, in parts of part_size elements. Several
// threads may process parts, and a result larger than the caches is written with non-temporal
// stores, which save the read of each of its cache lines (bench_rational, rows "hand, streaming").
// Invariant: the parts, and the elements of each call of the kernel, depend on neither, so results
// are bit-identical.
#pragma once

#include <cstdint>

#include <xgrad/core/parallel.hpp>
#include <xgrad/core/stream.hpp>
#include <xgrad/fuse/loop_operand.hpp>

namespace xgrad::detail {

class PartLoop {
public:
    /// A loop over `count` elements; a kernel takes at most `max_at_once` in a call.
    explicit PartLoop(std::size_t count, std::size_t max_at_once = part_size) noexcept
        : count_(count), max_at_once_(max_at_once) {}

    /// Operand k is contiguous; `element` is the size of an element, or 0 if each call gets the
    /// same pointer. It may be null.
    void contiguous(std::size_t k, void* data, std::size_t element) noexcept;
    /// Operand k is an output. It may be one of the operands before it; then the kernel reads it,
    /// too.
    void result(std::size_t k, void* data, std::size_t element) noexcept;

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

    void run(Body body) const;
    void run_part(Body body, std::size_t part, std::size_t first, std::size_t elements) const;
    void stream_part(Body body, std::size_t part, std::size_t first, std::size_t elements) const;

    bool is_streamed(std::size_t k) const noexcept { return k < 64 && streamed_ >> k & 1; }
    std::byte* place(std::size_t k, std::size_t i) const noexcept { return at_[k] + i * step_[k]; }

    std::size_t count_, max_at_once_, operands_ = 0;
    std::uint64_t streamed_ = 0; // operands, one bit each
    std::byte* at_[max_arguments];
    std::size_t step_[max_arguments];
};

} // namespace xgrad::detail

#ifdef XGRAD_IMPLEMENTATION
#    include <xgrad/impl/fuse/part_loop.ipp>
#endif
