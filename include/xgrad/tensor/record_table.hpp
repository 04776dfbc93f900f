// What it takes to record a formula: a table of all that is compiled for it.
#pragma once

#include <xgrad/graph/any_tensor.hpp>
#include <xgrad/ops/element_type.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::detail {

class FusedNode;
struct OperandPlan;
struct SumOver;

/// A vertex of a formula on Traced operands (traced.hpp); tensors have the scalar type that their
/// letter has in the formula's precision.
struct TracedTable {
    std::size_t operands = 0;
    bool is_leaf = false;
    /// The value, from those of the operands (of a leaf: from its tensor).
    AnyTensor (*value)(void const* object, AnyTensor const* x) = nullptr;
    /// What the gradient of an operand looks at, and that gradient; a tensor that it does not look
    /// at may be undefined.
    Uses (*uses)(void const* operation, std::size_t operand) = nullptr;
    AnyTensor (*pull)(void const* operation, std::size_t operand, AnyTensor const& g,
        AnyTensor const& y, AnyTensor const* x) = nullptr;
    /// The gradient of a leaf as it takes it.
    AnyTensor (*arrive)(AnyTensor const& g, Shape const& shape) = nullptr;

    bool takes_gradients() const noexcept { return pull || arrive; }
};
struct TracedVertex {
    TracedTable const* table;
    void const* object; // an operation or a number
    // found once all are listed
    std::size_t end = 0; // of the vertices below it
    std::size_t first_leaf = 0;
    LeafMask leaves = 0; // among and below it
};

/// What recording needs to know of a formula beside its kernels.
struct RecordTable {
    KernelTable const& kernels;
    ElementType const& result; // as the forward kernel writes it
    TypeInfo const& result_type;
    TypeInfo const* const* leaf_types;
    std::size_t formula_bytes;
    // The rest only for formulas that can have gradients.
    void (*copy)(void* to, void const* from) = nullptr;
    void (*destroy)(void* formula) noexcept = nullptr; // null where there is nothing to do
    std::atomic<OperandPlan const*>* plans = nullptr;
    /// Whether gradients that were computed together with a sum have lately been used: above or at
    /// 0 where they have.
    std::atomic<signed char>* use = nullptr;
    // The gradients out of recorded operations, for derivatives of higher orders; see traced.hpp.
    void (*traced)(FusedNode const& node, AnyTensor const* leaves, AnyTensor const& result,
        AnyTensor const& gradient, std::span<AnyTensor> results) = nullptr;
    void (*list_vertices)(void const* formula, std::vector<TracedVertex>& vertices) = nullptr;
    AnyTensor (*traced_seed)(
        AnyTensor const& gradient, SumOver const* sum, Shape const& space) = nullptr;
    AnyTensor (*traced_result)(AnyTensor const& result) = nullptr;
};

/// Finds for a vertex, and for those below it, where they end and which leaves are theirs.
[[gnu::cold]] inline void measure(
    std::vector<TracedVertex>& vertices, std::size_t at, std::size_t& leaf) {
    auto& v = vertices[at];
    v.first_leaf = leaf;
    v.end = at + 1;
    if (v.table->is_leaf) v.leaves = LeafMask{1} << leaf++;
    for (std::size_t i = 0; i < v.table->operands; ++i) {
        auto const child = v.end;
        measure(vertices, child, leaf);
        v.end = vertices[child].end;
        v.leaves |= vertices[child].leaves;
    }
}
/// The vertices of a formula in the order in which they are written, each before its operands.
[[gnu::cold]] inline std::vector<TracedVertex> traced_vertices(
    RecordTable const& table, void const* formula) {
    std::vector<TracedVertex> vertices;
    table.list_vertices(formula, vertices);
    std::size_t leaves = 0;
    measure(vertices, 0, leaves);
    return vertices;
}

/// A sum over axes, times a factor, of a formula's values.
struct SumOver {
    std::string_view name;
    Axes axes; // none where there is a kernel
    double scale = 1;
    bool keeps_dims = false;
    SumKernel kernel = nullptr; // of a sum over all axes that is found together with its gradients

    /// The shape of the sums of what has shape `space`.
    Shape reduced(Shape const& space, bool keep) const {
        if (kernel) return keep ? Shape(space.size(), 1) : Shape();
        return reduced_shape(space, axes, keep);
    }

    /// The gradient of a sum as that of each summand: a window on `space`, the formula's index
    /// space, that repeats it.
    AnyArray spread(AnyTensor const& gradient, Shape const& space) const {
        AnyArray g = scale == 1 ? gradient.impl().array
                                : gradient.impl().type->scaled(gradient, scale).impl().array;
        if (g.numel == 1) {
            g.shape = {};
            g.strides = {};
            return g;
        }
        Strides strides(space.size(), 0);
        bool const keepdims = g.shape.size() == space.size();
        for (std::size_t d = 0, at = 0, axis = 0; d < space.size(); ++d) {
            bool const summed = axis < axes.size() && static_cast<std::size_t>(axes[axis]) == d;
            axis += summed;
            if (!summed && space[d] != 1) strides[d] = g.strides[at];
            at += !summed || keepdims;
        }
        g.look_through(space, std::move(strides));
        return g;
    }
};

} // namespace xgrad::detail
