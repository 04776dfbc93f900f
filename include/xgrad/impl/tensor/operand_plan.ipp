// Bodies of operand_plan.hpp.
#pragma once

#include <xgrad/tensor/operand_plan.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION bool OperandPattern::is_same(OperandPattern const& o, std::size_t n) const noexcept {
    return requires_grad == o.requires_grad && result_exists == o.result_exists &&
           std::memcmp(first.data(), o.first.data(), n) == 0;
}

XGRAD_FUNCTION OperandPlan const& OperandPlan::of(
    RecordTable const& table, void const* expression, OperandPattern const& pattern) {
    for (auto const* plan = table.plans->load(std::memory_order_acquire); plan; plan = plan->next)
        if (plan->pattern.is_same(pattern, table.kernels.operand_count)) [[likely]]
            return *plan;
    auto* const plan = new OperandPlan(table, expression, pattern);
    plan->next = table.plans->load(std::memory_order_relaxed);
    while (!table.plans->compare_exchange_weak(
        plan->next, plan, std::memory_order_release, std::memory_order_relaxed)) {}
    return *plan;
}

XGRAD_FUNCTION OperandPlan::OperandPlan(
    RecordTable const& t, void const* expression, OperandPattern const& p)
    : pattern(p), table(t) {
    std::size_t const n = t.kernels.operand_count;
    auto const reads = t.reads(expression, p.result_exists);
    gradients.wanted = p.requires_grad & reads.reached;
    saves_result = reads.result;
    for (std::size_t k = 0; k < n; ++k) {
        gradients.target[k] = GradientTargets::none;
        if (!(gradients.wanted >> k & 1)) continue;
        auto const first = p.first[k];
        read |= reads.of[k];
        std::size_t j = 0; // the first operand that gets a gradient of the same tensor
        while (!(p.first[j] == first && gradients.wanted >> j & 1)) ++j;
        gradients.target[k] = static_cast<std::uint8_t>(j);
        if (j == k) target[edge[k] = edges++] = static_cast<std::uint8_t>(k);
    }
    for (std::size_t k = 0; k < n; ++k) {
        if (!(read >> k & 1)) continue;
        auto const first = p.first[k];
        if (!(saved >> first & 1)) {
            saved |= OperandMask{1} << first;
            slot_operand[slot[first] = slots++] = first;
            bool gets_one = false;
            for (std::size_t j = 0; j < n; ++j)
                gets_one |= p.first[j] == first && gradients.wanted >> j & 1;
            saves_unconnected |= p.requires_grad >> first & !gets_one;
        }
        slot[k] = slot[first];
    }
    auto const aligned = [](std::size_t at) { return (at + 15) / 16 * 16; };
    edges_at = saved_tensors() * sizeof(SavedTensor);
    expression_at = aligned(edges_at + edges * sizeof(Edge));
    bytes = expression_at + t.expression_bytes;
    sum_at = aligned(bytes);
    bytes_with_sum = sum_at + sizeof(SumOver) + edges * sizeof(Ref<TensorImpl>);
}

} // namespace xgrad::detail
