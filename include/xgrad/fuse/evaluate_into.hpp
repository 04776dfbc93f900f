// Evaluates an expression over an index space.
#pragma once

#include <array>
#include <optional>

#include <xgrad/fuse/element_type.hpp>

namespace xgrad::detail {

/// If the reduced axes are adjacent: the numbers of elements before them, in them and after them.
std::optional<std::array<std::size_t, 3>> reduced_extents(Shape const& space, Shape const& kept);

/// Evaluates an expression over an index space into `out`, an array or a reduction. One call of the
/// kernel where all operands are contiguous and few; else the loop cuts the space into boxes.
void evaluate_into(KernelTable const& table, void const* expression,
    AnyArray const* const* operands, Shape const& space, LoopOperand const& out);

} // namespace xgrad::detail

#ifdef XGRAD_IMPLEMENTATION
#    include <xgrad/impl/fuse/evaluate_into.ipp>
#endif
