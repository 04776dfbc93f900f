// Evaluates an expression over an index space. Chooses the cheapest loop that the layout of the
// operands allows.
#pragma once

#include <xgrad/fuse/element_type.hpp>
#include <xgrad/fuse/part_loop.hpp>

namespace xgrad::detail {

void evaluate_parts(KernelTable const& table, void const* expression, AnyArray const* const* leaves,
    AnyArray const& out);

/// Evaluates an expression whose leaves are all contiguous, like `out`.
void evaluate_contiguous(KernelTable const& table, void const* expression,
    AnyArray const* const* leaves, AnyArray const& out);

/// If the reduced axes are adjacent: the numbers of elements before them, in them and after them.
std::optional<std::array<std::size_t, 3>> reduced_extents(Shape const& space, Shape const& kept);

/// Reduces contiguous elements in place, without a tile.
void reduce_contiguous(
    std::byte* from, std::array<std::size_t, 3> const& extent, LoopOperand const& out);

void evaluate_in_loop(KernelTable const& table, void const* expression,
    AnyArray const* const* leaves, Shape const& space, LoopOperand const& out);

/// Reduces all elements to one, if all leaves are contiguous.
void reduce_all(KernelTable const& table, void const* expression, AnyArray const* const* leaves,
    std::size_t count, LoopOperand const& out);

/// Evaluates an expression over an index space into `out`, an array or a reduction.
void evaluate_into(KernelTable const& table, void const* expression, AnyArray const* const* leaves,
    Shape const& space, LoopOperand const& out);

} // namespace xgrad::detail

#ifdef XGRAD_IMPLEMENTATION
#    include <xgrad/impl/fuse/evaluate_into.ipp>
#endif
