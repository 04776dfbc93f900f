// The law of fusion: written as one expression or step by step, a formula has the same value and
// the same gradients.
#pragma once

#include <support/derivatives.hpp>

namespace support {

/// What a formula calls on its parts: nothing, or evaluation into a tensor of its own.
inline constexpr auto fused = [](auto const& part) { return part; };
inline constexpr auto stepwise = [](auto const& part) { return xg::materialize_expression(part); };

/// f(step, x...) for both kinds of step.
template <class... T, class F>
Verdict is_the_same_in_steps(F, Point const& at, double tolerance = 1e-12) {
    auto const at_once = function_of<T...>([](auto const&... x) { return F{}(fused, x...); });
    auto const in_steps = function_of<T...>([](auto const&... x) { return F{}(stepwise, x...); });
    return agrees_with(at_once, in_steps, at, tolerance);
}

} // namespace support
