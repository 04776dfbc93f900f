// Bodies of clip.hpp.
#pragma once

#include <xgrad/optim/clip.hpp>

namespace xgrad::optim {

XGRAD_FUNCTION double clip_grad_norm_(
    std::vector<AnyTensor> const& parameters, double max_norm, double p, bool error_if_nonfinite) {
    if (!(p > 0)) xgrad::detail::fail("clip_grad_norm_: p must be positive, and may be infinity");
    bool const largest = p == std::numeric_limits<double>::infinity();
    double total = 0;
    std::vector<AnyTensor> gradients;
    for (auto const& t : parameters)
        if (t.impl().grad) gradients.emplace_back(t.impl().grad);
    for (auto const& g : gradients) {
        double const one = xgrad::detail::sum_of_powers(g, p);
        if (!largest) total += one;
        else total = one > total || one != one ? one : total;
    }
    if (!largest) total = p == 2 ? std::sqrt(total) : std::pow(total, 1 / p);
    if (error_if_nonfinite && !xgrad::detail::is_finite(total))
        xgrad::detail::fail(
            "The total norm of the gradients is non-finite, so it cannot be clipped");
    double const factor = max_norm / (total + 1e-6);
    if (factor >= 1) return total;
    for (auto const& g : gradients) xgrad::detail::check_in_place(g, "clip_grad_norm_", false);
    for (auto const& g : gradients) {
        g.impl().array.storage->bump();
        g.impl().type->multiply_in_place(g, factor);
    }
    return total;
}

XGRAD_FUNCTION void clip_grad_value_(std::vector<AnyTensor> const& parameters, double bound) {
    if (!(bound >= 0)) xgrad::detail::fail("clip_grad_value_: the bound must not be negative");
    NoGradGuard const off;
    for (auto const& t : parameters)
        if (t.impl().grad)
            xgrad::detail::with_type(
                AnyTensor(t.impl().grad), [&]<Scalar T>(Tensor<T> const& gradient) {
                    if constexpr (Differentiable<T>)
                        detail::as_real(gradient).clamp_(-bound, bound);
                });
}

} // namespace xgrad::optim
