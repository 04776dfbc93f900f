// What it takes to record a formula: a table of all that is compiled for it, and its operands looked through once.
#pragma once

#include <xgrad/graph/accumulate_grad.hpp>
#include <xgrad/ops/move.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::detail {

class FusedNode;
struct SumOver;
struct TracedVertex;

/// What recording needs to know of a formula beside its kernels.
struct RecordTable {
    FormulaTable const& kernels;
    LeafInfo const& result;  // as the forward kernel writes it
    TypeInfo const& result_type;
    TypeInfo const* const* leaf_types;
    std::size_t formula_bytes;
    // The rest only for formulas that can have gradients.
    void (*copy)(void* to, void const* from) = nullptr;
    void (*destroy)(void* formula) noexcept = nullptr;
    NeedsView (*needs)(void const* formula, bool result_exists) = nullptr;
    /// Whether gradients that were computed together with a sum have lately been used: above or at 0 where they have.
    std::atomic<signed char>* use = nullptr;
    // The gradients out of recorded operations, for derivatives of higher orders; see traced.hpp.
    void (*traced)(FusedNode const& node, AnyTensor const* leaves, AnyTensor const& result, AnyTensor const& gradient, std::span<AnyTensor> results) = nullptr;
    void (*list_vertices)(void const* formula, std::vector<TracedVertex>& vertices) = nullptr;
    AnyTensor (*traced_seed)(AnyTensor const& gradient, SumOver const* sum, Shape const& space) = nullptr;
    AnyTensor (*traced_result)(AnyTensor const& result) = nullptr;
};

/// A sum over axes, times a factor, of a formula's values.
struct SumOver {
    std::string_view name;
    Axes axes;
    double scale = 1;
    bool keeps_dims = false;

    /// The gradient of a sum as that of each summand: a window on `space`, the formula's index space, that repeats it.
    AnyArray spread(AnyTensor const& gradient, Shape const& space) const
    {
        AnyArray g = scale == 1 ? gradient.impl().array : gradient.impl().type->scaled(gradient, scale).impl().array;
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

/// The shape of a vertex of a formula; the message of an error names the operation that cannot broadcast.
inline Shape vertex_shape(Vertex const*& v, AnyTensor const* const*& operand)
{
    Vertex const here = *v++;
    if (here.is_tensor) return (*operand++)->shape();
    Shape shape;
    for (std::size_t i = 0; i < here.operands; ++i) {
        auto const next = vertex_shape(v, operand);
        shape = i == 0 ? next : broadcast(here.name, shape, next);
    }
    return shape;
}

/// The operands of a formula, ready for a kernel.
struct Gathered {
    std::size_t leaves;
    AnyArray const* arrays[64];
    std::uint8_t first[64];  // the first operand that is the same tensor
    LeafMask requires_grad = 0;
    bool wanted = false;  // a gradient leads to an operand that requires one, and operations are recorded
    bool same_shape = true;
    bool in_order = true;  // a kernel can read all operands where they are
    NeedsView needs{};     // where a gradient is wanted

    /// `result_exists` is false where a fused reduction takes the formula's values.
    Gathered(RecordTable const& table, void const* formula, AnyTensor const* const* operands, bool result_exists) : leaves(table.kernels.leaves)
    {
        LeafMask require = 0;
        bool ordered = true, same_shapes = true;
        for (std::size_t k = 0; k < leaves; ++k) {
            auto const& impl = operands[k]->impl();
            AnyArray const* const array = arrays[k] = &impl.array;
            std::size_t same = 0;
            while (arrays[same] != array) ++same;
            first[k] = static_cast<std::uint8_t>(same);
            if (same != k) {
                require |= (require >> same & 1) << k;
                continue;
            }
            auto const& leaf = *table.kernels.leaf[k];
            ordered &= array->contiguous & leaf.in_place;
            if (leaf.differentiable && (impl.view ? operands[k]->requires_grad() : impl.requires_grad || impl.grad_fn)) require |= LeafMask{1} << k;
            if (k > 0) same_shapes &= array->shape == arrays[0]->shape;
        }
        requires_grad = require;
        in_order = ordered;
        same_shape = same_shapes;
        if (requires_grad && recording() && table.result.differentiable) {
            needs = table.needs(formula, result_exists);
            wanted = requires_grad & needs.reached;
        }
        if (!same_shape) {
            in_order = false;
            auto const* root = table.kernels.vertices;
            broadcasted_ = vertex_shape(root, operands);
        }
    }
    /// The formula's index space.
    Shape const& space() const noexcept { return same_shape ? arrays[0]->shape : broadcasted_; }

private:
    Shape broadcasted_;
};

}  // namespace xgrad::detail
