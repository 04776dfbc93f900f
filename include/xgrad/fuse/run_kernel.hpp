// Calls of kernels. A kernel computes whole batches. The tail, the elements after the last whole
// batch of a tile, is one more batch on padded copies. All kernels share this code, which is
// compiled once.
//
// Invariant: a lane of the padding is never written to an operand.
#pragma once

#include <xgrad/fuse/element_type.hpp>

namespace xgrad::detail {

/// Calls a kernel on the last block.n elements, after the first `whole`: less than a batch.
void run_tail(KernelTable const& table, Kernel kernel, KernelBlock& block, std::size_t whole);

/// Calls a kernel on a block of any number of elements. Returns the sum that it computes.
inline double run_kernel(KernelTable const& table, Kernel kernel, KernelBlock& block) {
    auto const n = block.n, whole = table.in_whole_batches(n);
    block.n = whole;
    if (whole) kernel(block);
    block.n = n - whole;
    if (block.n) run_tail(table, kernel, block, whole);
    return block.sum;
}
inline void run_values(KernelTable const& table, void const* expression, void* const* arguments,
    std::size_t n, OperandMask constant = 0) {
    KernelBlock block{expression, arguments, n, Pass::value, constant};
    run_kernel(table, table.value, block);
}

} // namespace xgrad::detail

#ifdef XGRAD_IMPLEMENTATION
#    include <xgrad/impl/fuse/run_kernel.ipp>
#endif
