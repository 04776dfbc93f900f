// Bodies of evaluate_into.hpp.
#pragma once

#include <xgrad/core/parallel.hpp>
#include <xgrad/fuse/evaluate_into.hpp>
#include <xgrad/fuse/nd_loop.hpp>
#include <xgrad/fuse/run_kernel.hpp>

namespace xgrad::detail {

[[gnu::noinline]] XGRAD_FUNCTION double run_repeated(
    KernelTable const& table, Kernel kernel, KernelBlock& block, OperandMask repeated) {
    alignas(64) std::byte buffers[repeated_bytes];
    auto* free = buffers;
    std::size_t const n = table.operand_count, count = block.n, to = KernelLayout{n}.gradients(),
                      arguments = block.pass == Pass::value ? n + 1 : KernelLayout{n}.tangent();
    void* const* const arrays = block.arguments;
    void* at[KernelLayout{max_repeated}.tangent()];
    auto const has_buffer = [&](std::size_t i) {
        return arrays[i] && repeated >> (i < to ? i : i - to) & 1;
    };
    for (std::size_t i = 0; i < arguments; ++i) {
        at[i] = arrays[i];
        if (!has_buffer(i)) continue;
        auto const& type = i == n ? *table.result : *table.operand[i < n ? i : i - to];
        at[i] = std::exchange(free, free + (count * type.tile_element + 63) / 64 * 64);
        if (i <= n) type.gather(at[i], arrays[i], 0, count);
    }
    block.arguments = at;
    block.constant = repeated;
    run_kernel(table, kernel, block);
    for (std::size_t i = to; i < arguments; ++i) {
        if (!has_buffer(i)) continue;
        alignas(16) std::byte sum[16] = {};
        table.operand[i - to]->accumulate(at[i], sum, 0, count);
        table.operand[i - to]->scatter_wide(sum, arrays[i], 1, 1);
    }
    return block.sum;
}

/// evaluate_into() for any operands.
[[gnu::noinline]] XGRAD_FUNCTION void evaluate_in_loop(KernelTable const& table,
    void const* expression, AnyArray const* const* operands, Shape const& space,
    LoopOperand const& out) {
    std::size_t const n = table.operand_count;
    NdLoop loop(space, n + 1, !table.is_expensive);
    for (std::size_t k = 0; k < n; ++k) loop.add(k, input_operand(*operands[k], *table.operand[k]));
    auto result = out;
    bool const copies = table.is_identity && !(out.in_place() && out.array->contiguous);
    if (copies) result.from = 0;
    loop.add(n, result);
    auto body = [&](void* const* at, std::size_t elements, LoopFacts facts) {
        KernelBlock block{expression, at, elements, Pass::value, facts.constant};
        if (!copies) run_kernel(table, table.value, block);
    };
    loop.run(loop_body(body));
}

/// evaluate_into() for a reduction of a tile of elements to one, or operands of one element.
[[gnu::noinline]] XGRAD_FUNCTION void evaluate_tile(KernelTable const& table, KernelBlock& block,
    void*& result, OperandMask repeated, LoopOperand const& out) {
    TileBuffer tile;
    std::size_t const count = block.n;
    result = out.reduces ? tile.elements : out.array->data;
    if (repeated) run_repeated(table, table.value, block, repeated);
    else run_kernel(table, table.value, block);
    if (out.reduces) (*out.transfer)(tile.elements, out.array->data, 0, count);
}

XGRAD_FUNCTION void evaluate_into(KernelTable const& table, void const* expression,
    AnyArray const* const* operands, Shape const& space, LoopOperand const& out) {
    auto const& to = *out.array;
    std::size_t const count = out.reduces ? numel(space) : to.numel;
    if (count == 0) return;
    bool direct = out.reduces ? to.numel == 1 && count <= tile_size
                              : count <= part_size && out.in_place() && to.contiguous;
    void* at[64];
    OperandMask repeated = 0;
    std::size_t k = 0;
    for (; k < table.operand_count; ++k) {
        at[k] = operands[k]->data;
        if (is_direct(*operands[k], *table.operand[k], count)) continue;
        direct &= operands[k]->numel == 1;
        repeated |= OperandMask{1} << k;
    }
    if (!direct || !can_repeat(table, repeated, count))
        return evaluate_in_loop(table, expression, operands, space, out);
    KernelBlock block{expression, at, count, Pass::value};
    if (repeated || out.reduces) return evaluate_tile(table, block, at[k], repeated, out);
    at[k] = to.data;
    run_kernel(table, table.value, block);
}

} // namespace xgrad::detail
