// NdLoop: the loop driver. It brings operands of any shape, strides and element type to a kernel,
// as NumPy's nditer and ATen's TensorIterator do.
//
// Invariant: a kernel sees contiguous elements only. An operand that is contiguous in the box is
// used in place; any other has a buffer. An input is gathered into it, an output is scattered or
// accumulated from it. A buffer whose elements do not move from box to box is kept: an input is not
// gathered again, and a kernel that can add to an output does so until it is flushed. So one kernel
// serves all shapes, and the gradient of a broadcast operand is summed in the same pass. A
// contiguous output that is larger than the caches is copied from its buffer by non-temporal
// stores, which saves the read of each of its cache lines: a tenth to a quarter of the time of
// a * b + c. An expensive kernel waits for such stores, a quarter of its time, and has none.
// All memory is allocated before the first call of the kernel: a loop that throws has changed
// nothing.
//
// bench_broadcast and bench_permutations measure it, and bench_rational, rows "hand, streaming",
// what is large. Read next: run() and run_boxes() in impl/fuse/nd_loop.ipp, then kernel_call.hpp.
#pragma once

#include <span>

#include <xgrad/core/parallel.hpp>
#include <xgrad/fuse/nd_loop_plan.hpp>

namespace xgrad::detail {

class NdLoop : public NdLoopPlan {
public:
    /// A loop over all positions of an index space, for a kernel with so many operands. `streams`:
    /// large outputs may be written by non-temporal stores.
    XGRAD_INLINE NdLoop(Shape const& space, std::size_t operands, bool streams = false)
        : NdLoopPlan(space, operands, streams) {}
    XGRAD_INLINE ~NdLoop() {
        if (buffers_) deallocate(buffers_, bytes_);
    }

    /// Calls the kernel on all elements, box by box. Returns the sum of what the calls return.
    double run(LoopBody body);

    /// Runs all parts on threads. set_num_threads() sets it to run_on_threads(), so that only
    /// programs that call set_num_threads() contain that code.
    static inline constinit std::atomic<void (*)(
        NdLoop& loop, LoopBody body, std::span<double> sums, std::size_t threads)>
        threaded{nullptr};
    XGRAD_LAZY static void run_on_threads(
        NdLoop& loop, LoopBody body, std::span<double> sums, std::size_t threads);

private:
    /// A copy for another thread. Its walks point to the strides of `plan`.
    NdLoop(NdLoop const& plan) : NdLoopPlan(plan) { make_buffers(); }

    void make_buffers();
    void transfer(Walk const& walk, std::byte* tile, std::ptrdiff_t gap, std::byte* array,
        std::size_t columns, std::size_t last) const;
    void open_input(Walk& walk) const;
    void open_sum(Walk& walk) const;
    void flush_sum(Walk const& walk) const;
    void copy_box();
    bool next_box();
    double run_boxes(LoopBody body);
    double run_part(LoopBody body, std::size_t i);

    std::size_t columns_ = 0, positions_ = 0; // extents of this box along axes 0 and last_
    std::size_t first_ = 0;                   // index of this part along its axis
    std::byte* buffers_ = nullptr;
    std::size_t bytes_ = 0;
};

} // namespace xgrad::detail
