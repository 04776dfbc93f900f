// Calls of kernels, compiled once for all kernels. A kernel computes whole batches of contiguous
// operands. An operand of one element is repeated in a buffer. The tail, the elements after the
// last whole batch of a tile, is one more batch on padded copies.
//
// Invariant: a lane of the padding is never written to an operand.
#pragma once

#include <bit>

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

/// Limits of run_repeated(): see evaluate_into.hpp.
inline constexpr std::size_t max_repeated = 31, repeated_bytes = 72 << 10;
inline bool can_repeat(KernelTable const& table, OperandMask repeated, std::size_t count) {
    auto const buffers = 2 * static_cast<std::size_t>(std::popcount(repeated));
    return !repeated ||
           (table.operand_count <= max_repeated && buffers * (16 * count + 64) <= repeated_bytes);
}

} // namespace xgrad::detail
