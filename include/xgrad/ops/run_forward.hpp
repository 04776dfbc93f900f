// Runs a formula forward over an index space, by the shortest way that its operands allow.
#pragma once

#include <xgrad/ops/block_loop.hpp>
#include <xgrad/ops/part_loop.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::detail {

[[gnu::noinline]] inline void run_parts(FormulaTable const& table, void const* formula,
    AnyArray const* const* leaves, AnyArray const& out) {
    PartLoop loop(out.numel);
    for (std::size_t k = 0; k < table.leaves; ++k)
        loop.in_order(k, leaves[k]->data, table.leaf[k]->element);
    loop.result(table.leaves, out.data, table.result->element);
    loop.run([&](std::size_t, void* const* at, std::size_t elements) {
        table.forward(formula, at, elements, 0);
    });
}

/// Runs a formula forward where all leaves and `out` lie in order.
inline void run_in_order(FormulaTable const& table, void const* formula,
    AnyArray const* const* leaves, AnyArray const& out) {
    if (out.numel > part_size) return run_parts(table, formula, leaves, out);
    void* at[64];
    for (std::size_t k = 0; k < table.leaves; ++k) at[k] = leaves[k]->data;
    at[table.leaves] = out.data;
    if (out.numel) table.forward(formula, at, out.numel, 0);
}

/// An index space whose folded axes lie side by side, as three: those before them, they, and those
/// after.
inline std::optional<std::array<std::size_t, 3>> folded_axes(
    Shape const& space, Shape const& kept) {
    std::array<std::size_t, 3> extent{1, 1, 1};
    std::size_t at = 0;
    for (std::size_t d = 0; d < space.size(); ++d) {
        bool const folded = kept[d] != space[d];
        if (folded && at == 2) return {};
        if (folded != (at == 1) && space[d] != 1) ++at;
        extent[at] *= space[d];
    }
    if (at == 0) std::swap(extent[0], extent[2]);
    return extent;
}

/// Folds elements in row-major order where they lie.
inline void fold_in_order(
    std::byte* from, std::array<std::size_t, 3> const& extent, TileOperand const& out) {
    auto const [rows, folded, columns] = extent;
    std::size_t const run = columns == 1 ? most_summed : 1;
    auto* to = out.array->data;
    for (std::size_t row = 0; row < rows;
         ++row, from += folded * columns * out.tile_element, to += columns * out.element) {
        if (columns > 1 && out.fold_rows) out.fold_rows(from, to, columns, folded);
        else
            for (std::size_t i = 0; i < folded; i += run)
                out.move(from + i * columns * out.tile_element, to, columns != 1,
                    std::min(run, folded - i) * columns);
    }
}

[[gnu::noinline]] inline void run_tiled(FormulaTable const& table, void const* formula,
    AnyArray const* const* leaves, Shape const& space, TileOperand const& out) {
    std::size_t const n = table.leaves;
    LocalArray<TileOperand, 8> operands(n + 1);
    for (std::size_t k = 0; k < n; ++k)
        operands[k] = input_operand(*leaves[k], *table.leaf[k], space);
    operands[n] = out;
    bool const passes_on = table.is_identity && out.needs_tile();
    if (passes_on) operands[n].from = 0;
    auto body = [&](void* const* at, std::size_t elements, TileFacts facts) {
        if (!passes_on) table.forward(formula, at, elements, facts.uniform);
    };
    TileLoop(space, operands.data(), n + 1).run(tile_body(body));
}

[[gnu::noinline]] inline void run_in_blocks(FormulaTable const& table, void const* formula,
    AnyArray const* const* leaves, Repeats const& repeats, AnyArray const& out) {
    std::size_t const n = table.leaves;
    BlockLoop loop(out.numel, table, repeats, 1);
    loop.inputs(leaves);
    loop.in_order(n, out.data, table.result->element);
    loop.run(n + 1, [&](void* const* at, std::size_t elements, LeafMask) {
        table.forward(formula, at, elements, loop.uniform());
    });
}

/// Folds all elements into one, where all leaves lie in order.
inline void fold_all(FormulaTable const& table, void const* formula, AnyArray const* const* leaves,
    std::size_t count, TileOperand const& out) {
    if (table.is_identity) return fold_in_order(leaves[0]->data, {1, count, 1}, out);
    void* at[64];
    for (std::size_t k = 0; k < table.leaves; ++k) at[k] = leaves[k]->data;
    TileRoom tile;
    at[table.leaves] = tile.elements;
    for (std::size_t i = 0; i < count; i += tile_size) {
        std::size_t const elements = std::min(tile_size, count - i);
        table.forward(formula, at, elements, 0);
        out.move(tile.elements, out.array->data, 0, elements);
        for (std::size_t k = 0; k < table.leaves; ++k)
            at[k] = static_cast<std::byte*>(at[k]) + elements * table.leaf[k]->element;
    }
}

/// Runs a formula forward over an index space into `out`. The common case, every tensor in order,
/// needs no tile loop.
inline void run_forward(FormulaTable const& table, void const* formula,
    AnyArray const* const* leaves, Shape const& space, TileOperand const& out) {
    std::size_t const count = numel(space);
    if (count == 0) return;
    auto const repeats = repeats_among(table, leaves, space);
    bool const in_order = repeats && repeats->all == 0;
    if (in_order && out.folds && out.uniform) return fold_all(table, formula, leaves, count, out);
    if (in_order && out.folds && table.is_identity)
        if (auto const extent = folded_axes(space, out.array->shape))
            return fold_in_order(leaves[0]->data, *extent, out);
    if (out.needs_tile() || !repeats) return run_tiled(table, formula, leaves, space, out);
    if (!in_order) return run_in_blocks(table, formula, leaves, *repeats, *out.array);
    run_in_order(table, formula, leaves, *out.array);
}

} // namespace xgrad::detail
