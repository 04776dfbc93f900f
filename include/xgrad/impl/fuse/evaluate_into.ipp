// Bodies of evaluate_into.hpp.
#pragma once

#include <xgrad/core/parallel.hpp>
#include <xgrad/fuse/evaluate_into.hpp>
#include <xgrad/fuse/nd_loop.hpp>
#include <xgrad/fuse/run_kernel.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION void evaluate_contiguous(KernelTable const& table, void const* expression,
    AnyArray const* const* operands, LoopOperand const& result) {
    auto const& out = *result.array;
    if (out.numel > part_size)
        return evaluate_in_loop(table, expression, operands, out.shape, result);
    void* at[64];
    for (std::size_t k = 0; k < table.operand_count; ++k) at[k] = operands[k]->data;
    at[table.operand_count] = out.data;
    if (out.numel) run_values(table, expression, at, out.numel);
}

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

XGRAD_FUNCTION void reduce_contiguous(
    std::byte* from, std::array<std::size_t, 3> const& extent, LoopOperand const& out) {
    auto const [rows, reduced, columns] = extent;
    std::size_t const run = columns == 1 ? max_summed : 1;
    auto* to = out.array->data;
    for (std::size_t row = 0; row < rows; ++row,
                     from += reduced * columns * out.transfer->tile_element,
                     to += columns * out.transfer->element) {
        if (columns > 1 && out.transfer->columns) out.transfer->columns(from, to, columns, reduced);
        else
            for (std::size_t i = 0; i < reduced; i += run)
                (*out.transfer)(from + i * columns * out.transfer->tile_element, to, columns != 1,
                    std::min(run, reduced - i) * columns);
    }
}

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

XGRAD_FUNCTION void reduce_all(KernelTable const& table, void const* expression,
    AnyArray const* const* operands, std::size_t count, LoopOperand const& out) {
    if (table.is_identity) return reduce_contiguous(operands[0]->data, {1, count, 1}, out);
    void* at[64];
    for (std::size_t k = 0; k < table.operand_count; ++k) at[k] = operands[k]->data;
    TileBuffer tile;
    at[table.operand_count] = tile.elements;
    for (std::size_t i = 0; i < count; i += tile_size) {
        std::size_t const elements = std::min(tile_size, count - i);
        run_values(table, expression, at, elements);
        (*out.transfer)(tile.elements, out.array->data, 0, elements);
        for (std::size_t k = 0; k < table.operand_count; ++k)
            at[k] = static_cast<std::byte*>(at[k]) + elements * table.operand[k]->element;
    }
}

XGRAD_FUNCTION void evaluate_into(KernelTable const& table, void const* expression,
    AnyArray const* const* operands, Shape const& space, LoopOperand const& out) {
    std::size_t const count = numel(space);
    if (count == 0) return;
    bool contiguous = true;
    for (std::size_t k = 0; k < table.operand_count; ++k)
        contiguous &= is_direct(*operands[k], *table.operand[k], space);
    if (contiguous && out.reduces && out.array->numel == 1)
        return reduce_all(table, expression, operands, count, out);
    if (contiguous && out.reduces && table.is_identity)
        if (auto const extent = reduced_extents(space, out.array->shape))
            return reduce_contiguous(operands[0]->data, *extent, out);
    if (contiguous && out.in_place() && out.array->contiguous)
        return evaluate_contiguous(table, expression, operands, out);
    evaluate_in_loop(table, expression, operands, space, out);
}

} // namespace xgrad::detail
