// Bodies of kernel.hpp.
#pragma once

#include <xgrad/fuse/kernel.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION void BackwardPlan::keep(std::size_t k) noexcept {
    target[k] = static_cast<std::uint8_t>(k);
    if (k < paired_operands) routes |= stored(k);
}

XGRAD_FUNCTION void BackwardPlan::send_to(std::size_t nearest, std::size_t k) noexcept {
    target[k] = target[nearest];
    add |= OperandMask{1} << k;
    if (k < paired_operands) routes |= meets(k) | pair(nearest, k);
}

XGRAD_FUNCTION BackwardPlan BackwardPlan::only(OperandMask operands) const noexcept {
    BackwardPlan plan = *this;
    auto const left_out = static_cast<std::uint32_t>(~operands) & (stored(paired_operands) - 1);
    plan.wanted &= operands;
    plan.add &= operands;
    plan.routes &= ~(left_out | left_out << paired_operands);
    return plan;
}

} // namespace xgrad::detail
