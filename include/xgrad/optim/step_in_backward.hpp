// Updates inside backward(): each parameter is updated as soon as its gradient is complete, which
// is then freed.
//
// Shapes: parameters keep theirs.
// Gradients: each is freed after its update, so that .grad is undefined after backward().
// Errors: a parameter that requires no gradient is a GraphError. What an update throws leaves
// backward(). A second pass over a graph whose parameters were updated throws VersionError where it
// needs their old values.
#pragma once

#include <xgrad/optim/optimizer.hpp>
#include <xgrad/tensor/hooks.hpp>

namespace xgrad::optim {

/// From now on each backward() updates the parameters, so that the gradients of all of them never
/// exist at the same time. Do not call step() and zero_grad(). Gradients cannot be accumulated over
/// several passes, and clip_grad_norm_() sees none. A graph whose parameters were updated cannot be
/// used again. The optimiser must outlive the hooks, which the handle removes.
template <class Rule> [[nodiscard]] HookHandle step_in_backward(Optimizing<Rule>& optimizer) {
    auto const handles = std::make_shared<std::vector<HookHandle>>();
    HookHandle all([handles] {
        for (auto& handle : *handles) handle.remove();
    });
    std::size_t i = 0;
    try {
        for (std::size_t g = 0; g < optimizer.group_count(); ++g)
            for (auto const& p : optimizer.parameters(g)) {
                xgrad::detail::with_type(p, [&]<Scalar T>(Tensor<T> parameter) {
                    if constexpr (Differentiable<T>)
                        handles->push_back(parameter.register_post_accumulate_grad_hook(
                            [&optimizer, i](Tensor<T> const& leaf) {
                                optimizer.step_parameter(i);
                                leaf.impl().grad = nullptr;
                            }));
                });
                ++i;
            }
    } catch (...) {
        all.remove();
        throw;
    }
    return all;
}

} // namespace xgrad::optim
