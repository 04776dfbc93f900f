// Bodies of module_hooks.hpp.
#pragma once

#include <xgrad/nn/module_hooks.hpp>

namespace xgrad::nn::detail {

XGRAD_FUNCTION bool ModuleCall::begin(xgrad::detail::Identity hook, bool always) {
    if (failed && !always) return false;
    for (auto const other : called_)
        if (other == hook) return false;
    if (always) called_.push_back(hook);
    return true;
}

XGRAD_FUNCTION bool ModuleHooks::any() const {
    return forward_pre.any() || forward.any() || backward_pre.any() || backward.any();
}

} // namespace xgrad::nn::detail
