// Gathered: the operands of a formula, looked through once.
#pragma once

#include <xgrad/tensor/operand_plan.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::detail {

/// The shape of a vertex of a formula; the message of an error names the operation that cannot broadcast.
[[gnu::cold]] inline Shape vertex_shape(Vertex const*& v, AnyTensor const* const*& operand)
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
    AnyArray const* arrays[64];
    OperandPattern pattern;            // filled where operations are recorded
    OperandPlan const* plan = nullptr;  // where they are, and a gradient leads to an operand that requires one
    bool same_shape = true;
    bool in_order = true;  // a kernel can read all operands where they are

    /// `result_exists` is false where a fused reduction takes the formula's values.
    Gathered(RecordTable const& table, void const* formula, AnyTensor const* const* operands, bool result_exists) : pattern{.result_exists = result_exists}
    {
        std::size_t const n = table.kernels.leaves;
        bool const records = table.plans && recording();
        bool ordered = table.kernels.in_place, same_shapes = true;
        LeafMask require = 0;
        for (std::size_t k = 0; k < n; ++k) {
            auto const& impl = operands[k]->impl();
            AnyArray const* const array = arrays[k] = &impl.array;
            std::size_t same = 0;
            while (arrays[same] != array) ++same;
            pattern.first[k] = static_cast<std::uint8_t>(same);
            if (same != k) {
                require |= (require >> same & 1) << k;
                continue;
            }
            ordered &= array->contiguous;
            if (k > 0) same_shapes &= array->shape == arrays[0]->shape;
            if (records && (impl.view ? operands[k]->requires_grad() : impl.requires_grad || impl.grad_fn)) require |= LeafMask{1} << k;
        }
        in_order = ordered;
        same_shape = same_shapes;
        if (LeafMask const differentiable = require & table.kernels.differentiable) {
            pattern.requires_grad = differentiable;
            auto const& found = OperandPlan::of(table, formula, pattern);
            if (found.records()) plan = &found;
        }
        if (!same_shape) {
            in_order = false;
            bool fits = true;
            broadcasted_ = arrays[0]->shape;
            for (std::size_t k = 1; k < n; ++k)
                if (pattern.first[k] == k) fits = fits && widen(broadcasted_, arrays[k]->shape);
            if (!fits) {
                auto const* root = table.kernels.vertices;
                vertex_shape(root, operands);
            }
        }
    }
    /// The formula's index space.
    Shape const& space() const noexcept { return same_shape ? arrays[0]->shape : broadcasted_; }
    /// The number of its elements.
    std::size_t count() const noexcept { return same_shape ? arrays[0]->numel : numel(broadcasted_); }

private:
    Shape broadcasted_;
};

}  // namespace xgrad::detail
