// The law of fusion: a function that is written as one expression has the same value and the same
// gradients as one that is evaluated step by step.
#pragma once

#include <support/derivatives.hpp>

namespace support {

/// A function calls one of these on its parts: `fused` returns an expression as it is, `stepwise`
/// evaluates it to a tensor.
inline constexpr auto fused = [](auto const& part) { return part; };
inline constexpr auto stepwise = [](auto const& part) { return xg::materialize_expression(part); };

/// f(step, x...) for both kinds of step.
template <class... T, class F>
CheckResult is_the_same_in_steps(F, Point const& at, double tolerance = 1e-12) {
    auto const at_once = function_of<T...>([](auto const&... x) { return F{}(fused, x...); });
    auto const in_steps = function_of<T...>([](auto const&... x) { return F{}(stepwise, x...); });
    return agrees_with(at_once, in_steps, at, tolerance);
}

} // namespace support
