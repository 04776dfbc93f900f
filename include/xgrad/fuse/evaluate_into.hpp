// Evaluates an expression over an index space, and calls kernels on operands of one element.
#pragma once

#include <xgrad/fuse/run_kernel.hpp>

namespace xgrad::detail {

/// Calls a kernel on contiguous arrays and, if can_repeat(), arrays of one element: the operands
/// `repeated`, and grad_output with the bit after theirs. Buffers repeat the element, and sum its
/// gradient.
double run_repeated(
    KernelTable const& table, Kernel kernel, KernelBlock& block, OperandMask repeated);

/// Evaluates an expression over an index space into `out`, an array or a reduction. One call of the
/// kernel where all operands are contiguous or one element, and few; else a loop.
void evaluate_into(KernelTable const& table, void const* expression,
    AnyArray const* const* operands, Shape const& space, LoopOperand const& out);

} // namespace xgrad::detail
