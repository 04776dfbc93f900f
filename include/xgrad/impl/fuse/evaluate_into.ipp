// Bodies of evaluate_into.hpp.
#pragma once

#include <xgrad/core/parallel.hpp>
#include <xgrad/fuse/evaluate_into.hpp>
#include <xgrad/fuse/nd_loop.hpp>
#include <xgrad/fuse/run_kernel.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION std::optional<std::array<std::size_t, 3>> reduced_extents(
    Shape const& space, Shape const& kept) {
    std::array<std::size_t, 3> extent{1, 1, 1};
    std::size_t at = 0;
    for (std::size_t d = 0; d < space.size(); ++d) {
        bool const reduced = kept[d] != space[d];
        if (reduced && at == 2) return {};
        if (reduced != (at == 1) && space[d] != 1) ++at;
        extent[at] *= space[d];
    }
    if (at == 0) std::swap(extent[0], extent[2]);
    return extent;
}

/// evaluate_into() for any operands.
[[gnu::noinline]] XGRAD_FUNCTION void evaluate_in_loop(KernelTable const& table,
    void const* expression, AnyArray const* const* operands, Shape const& space,
    LoopOperand const& out) {
    std::size_t const n = table.operand_count;
    NdLoop loop(space, n + 1);
    for (std::size_t k = 0; k < n; ++k) loop.add(k, input_operand(*operands[k], *table.operand[k]));
    auto result = out;
    bool const copies = table.is_identity && !(out.in_place() && out.array->contiguous);
    if (copies) result.from = 0;
    loop.add(n, result);
    auto body = [&](void* const* at, std::size_t elements, LoopFacts facts) {
        if (!copies) run_values(table, expression, at, elements, facts.constant);
    };
    loop.run(loop_body(body));
}

/// evaluate_into() for contiguous operands and a reduction of a tile of elements to one.
[[gnu::noinline]] XGRAD_FUNCTION void reduce_tile(KernelTable const& table, void const* expression,
    void** at, std::size_t count, LoopOperand const& out) {
    TileBuffer tile;
    at[table.operand_count] = tile.elements;
    run_values(table, expression, at, count);
    (*out.transfer)(tile.elements, out.array->data, 0, count);
}

XGRAD_FUNCTION void evaluate_into(KernelTable const& table, void const* expression,
    AnyArray const* const* operands, Shape const& space, LoopOperand const& out) {
    auto const& to = *out.array;
    std::size_t const count = out.reduces ? numel(space) : to.numel;
    if (count == 0) return;
    bool direct = out.reduces ? to.numel == 1 && count <= tile_size
                              : count <= part_size && out.in_place() && to.contiguous;
    void* at[64];
    std::size_t k = 0;
    for (; k < table.operand_count; ++k) {
        direct &= is_direct(*operands[k], *table.operand[k], count);
        at[k] = operands[k]->data;
    }
    if (!direct) return evaluate_in_loop(table, expression, operands, space, out);
    if (out.reduces) return reduce_tile(table, expression, at, count, out);
    at[k] = to.data;
    run_values(table, expression, at, count);
}

} // namespace xgrad::detail
