// Bodies of kernel.hpp.
#pragma once

#include <xgrad/fuse/kernel.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION void BackwardPlan::keep(std::size_t k) noexcept {
    target[k] = static_cast<std::uint8_t>(k);
    if (k < paired_leaves) routes |= stored(k);
}

XGRAD_FUNCTION void BackwardPlan::send_to(std::size_t nearest, std::size_t k) noexcept {
    target[k] = target[nearest];
    add |= LeafMask{1} << k;
    if (k < paired_leaves) routes |= meets(k) | pair(nearest, k);
}

XGRAD_FUNCTION BackwardPlan BackwardPlan::only(LeafMask leaves) const noexcept {
    BackwardPlan plan = *this;
    auto const left_out = static_cast<std::uint32_t>(~leaves) & (stored(paired_leaves) - 1);
    plan.wanted &= leaves;
    plan.add &= leaves;
    plan.routes &= ~(left_out | left_out << paired_leaves);
    return plan;
}

} // namespace xgrad::detail
