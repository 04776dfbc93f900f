// Hooks of optimisers: the lists of one optimiser, the global lists, and what a hook may look like.
//
// Errors: a hook with other parameters or another result does not compile.
#pragma once

#include <xgrad/autograd/hook.hpp>
#include <xgrad/tensor/state_dict.hpp>

namespace xgrad::optim {

class Optimizer;

/// How a hook on an optimiser is registered.
struct HookOptions {
    bool prepend = false; // runs before the hooks that are registered already
};

namespace detail {

/// The hooks of one optimiser, or the global ones.
struct OptimizerHooks {
    using OptimizerHook = xgrad::detail::HookList<void(Optimizer&)>;
    using StateHook = xgrad::detail::HookList<void(Optimizer&, StateDict&)>;

    OptimizerHook step_pre, step_post, state_dict_pre, load_state_dict_post;
    StateHook state_dict_post, load_state_dict_pre;

    static OptimizerHooks& of_all_optimizers() {
        static OptimizerHooks hooks;
        return hooks;
    }
};

template <class F, class O = Optimizer>
HookHandle add_hook(OptimizerHooks::OptimizerHook& list, F f, HookOptions options = {}) {
    constexpr bool takes = std::is_invocable_v<F&, O&>;
    static_assert(takes, "a hook of an optimizer takes an Optimizer&");
    if constexpr (takes) {
        constexpr bool fits = std::is_void_v<std::invoke_result_t<F&, O&>>;
        static_assert(fits, "this hook of an optimizer returns nothing");
        if constexpr (fits) return list.add(std::move(f), options.prepend);
    }
    return {};
}
template <class F, class O = Optimizer>
HookHandle add_state_hook(OptimizerHooks::StateHook& list, F f, HookOptions options) {
    constexpr bool takes = std::is_invocable_v<F&, O&, StateDict&>;
    static_assert(
        takes, "a hook on the state of an optimizer takes an Optimizer& and a StateDict&");
    if constexpr (takes) {
        using Returned = std::invoke_result_t<F&, O&, StateDict&>;
        constexpr bool fits =
            std::is_void_v<Returned> || std::is_convertible_v<Returned, StateDict>;
        static_assert(fits, "a hook on the state of an optimizer returns nothing, or the StateDict "
                            "to go on with");
        if constexpr (std::is_void_v<Returned>) return list.add(std::move(f), options.prepend);
        else if constexpr (fits)
            return list.add(
                [f = std::move(f)](O& o, StateDict& state) mutable { state = f(o, state); },
                options.prepend);
    }
    return {};
}

} // namespace detail

} // namespace xgrad::optim
