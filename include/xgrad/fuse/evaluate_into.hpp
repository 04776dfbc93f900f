// Evaluates an expression over an index space. Chooses the cheapest loop that the layout of the
// operands allows.
#pragma once

#include <array>
#include <optional>

#include <xgrad/fuse/element_type.hpp>

namespace xgrad::detail {

/// Evaluates an expression whose operands are all contiguous, like `out`.
void evaluate_contiguous(KernelTable const& table, void const* expression,
    AnyArray const* const* operands, LoopOperand const& out);

/// If the reduced axes are adjacent: the numbers of elements before them, in them and after them.
std::optional<std::array<std::size_t, 3>> reduced_extents(Shape const& space, Shape const& kept);

/// Reduces contiguous elements in place, without a tile.
void reduce_contiguous(
    std::byte* from, std::array<std::size_t, 3> const& extent, LoopOperand const& out);

void evaluate_in_loop(KernelTable const& table, void const* expression,
    AnyArray const* const* operands, Shape const& space, LoopOperand const& out);

/// Reduces all elements to one, if all operands are contiguous.
void reduce_all(KernelTable const& table, void const* expression, AnyArray const* const* operands,
    std::size_t count, LoopOperand const& out);

/// Evaluates an expression over an index space into `out`, an array or a reduction.
void evaluate_into(KernelTable const& table, void const* expression,
    AnyArray const* const* operands, Shape const& space, LoopOperand const& out);

} // namespace xgrad::detail

#ifdef XGRAD_IMPLEMENTATION
#    include <xgrad/impl/fuse/evaluate_into.ipp>
#endif
