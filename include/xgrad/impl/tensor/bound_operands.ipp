// Bodies of bound_operands.hpp.
#pragma once

#include <xgrad/tensor/bound_operands.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION Shape vertex_shape(
    Vertex const*& v, AnyTensor const* const*& operand, std::string_view as) {
    Vertex const here = *v++;
    if (here.is_tensor) return (*operand++)->shape();
    Shape shape;
    for (std::size_t i = 0; i < here.operands; ++i) {
        auto const next = vertex_shape(v, operand);
        shape = i == 0 ? next : broadcast(as.empty() ? here.written : as, shape, next);
    }
    return shape;
}

XGRAD_FUNCTION void check_vertex(
    Vertex const*& v, std::size_t& operand, std::size_t wanted, std::string_view as) {
    Vertex const here = *v++;
    if (here.is_tensor) ++operand;
    for (std::size_t i = 0; i < here.operands; ++i) {
        if (v->is_tensor && operand == wanted)
            fail_undefined(as.empty() ? here.written : as, "argument", i);
        check_vertex(v, operand, wanted);
    }
}

XGRAD_NOINLINE XGRAD_FUNCTION void fail_undefined_operand(
    Vertex const* root, std::size_t k, std::string_view as) {
    std::size_t first = 0;
    check_vertex(root, first, k, as);
    fail_undefined("an operation", "its argument");
}

XGRAD_FUNCTION BoundOperands::BoundOperands(RecordTable const& table, void const* expression,
    AnyTensor const* const* operands, bool result_exists, std::string_view as) {
    std::size_t const n = table.kernels.operand_count;
    bool const records = table.plans && recording();
    auto const* const latest = records ? table.plans->load(std::memory_order_acquire) : nullptr;
    auto const* const expected = latest ? latest->pattern.first.data() : first_;
    bool ordered = table.kernels.in_place, same_shapes = true, is_latest = latest;
    OperandMask require = 0;
    for (std::size_t k = 0; k < n; ++k) {
        if (!operands[k]->defined()) [[unlikely]]
            fail_undefined_operand(table.kernels.vertices, k, as);
        auto const& impl = *operands[k]->handle();
        AnyArray const* const array = arrays[k] = &impl.array;
        std::size_t same = 0;
        while (arrays[same] != array) ++same;
        first_[k] = static_cast<std::uint8_t>(same);
        is_latest &= expected[k] == same;
        if (same != k) {
            require |= (require >> same & 1) << k;
            continue;
        }
        ordered &= array->contiguous;
        if (k > 0) same_shapes &= array->shape == arrays[0]->shape;
        if (records &&
            (impl.view ? operands[k]->requires_grad() : impl.requires_grad || impl.grad_fn))
            require |= OperandMask{1} << k;
    }
    same_shape = same_shapes;
    contiguous = ordered && same_shapes;
    if (OperandMask const differentiable = require & table.kernels.differentiable) {
        is_latest = is_latest && latest->pattern.requires_grad == differentiable &&
                    latest->pattern.result_exists == result_exists;
        auto const& found =
            is_latest ? *latest : plan_of(table, expression, differentiable, result_exists);
        if (found.records()) plan = &found;
    }
    if (!same_shape) widen_all(table, operands, as);
}

XGRAD_NOINLINE XGRAD_FUNCTION OperandPlan const& BoundOperands::plan_of(RecordTable const& table,
    void const* expression, OperandMask differentiable, bool result_exists) const {
    OperandPattern pattern{.requires_grad = differentiable, .result_exists = result_exists};
    std::copy_n(first_, table.kernels.operand_count, pattern.first.begin());
    return OperandPlan::of(table, expression, pattern);
}

XGRAD_NOINLINE XGRAD_FUNCTION void BoundOperands::widen_all(
    RecordTable const& table, AnyTensor const* const* operands, std::string_view as) {
    bool fits = true;
    broadcasted_ = arrays[0]->shape;
    for (std::size_t k = 1; k < table.kernels.operand_count; ++k)
        if (first_[k] == k) fits = fits && widen(broadcasted_, arrays[k]->shape);
    if (!fits) {
        auto const* root = table.kernels.vertices;
        vertex_shape(root, operands, as);
    }
}

} // namespace xgrad::detail
