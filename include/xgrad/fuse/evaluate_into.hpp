// Evaluates an expression over an index space.
#pragma once

#include <xgrad/fuse/element_type.hpp>

namespace xgrad::detail {

/// Evaluates an expression over an index space into `out`, an array or a reduction. One call of the
/// kernel where all operands are contiguous or one element, and few; else a loop.
void evaluate_into(KernelTable const& table, void const* expression,
    AnyArray const* const* operands, Shape const& space, LoopOperand const& out);

} // namespace xgrad::detail

#ifdef XGRAD_IMPLEMENTATION
#    include <xgrad/impl/fuse/evaluate_into.ipp>
#endif
