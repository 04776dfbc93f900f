// Hooks around state_dict() and load_state_dict() of modules, and hooks on what modules register.
//
// Shapes: a registration hook may replace a tensor by one of another shape.
// Gradients: hooks on states record none. A tensor that replaces a parameter requires a gradient.
// Errors: what a hook throws leaves state_dict(), load_state_dict(), which then has changed no
// parameter and no buffer, or the constructor of the module. A replacement that is no leaf is a
// GraphError, one of another type a TypeError.
#pragma once

#include <xgrad/nn/any_module.hpp>

namespace xgrad::nn {
namespace detail {

/// Adds f with the module as an M&.
template <class M, class List, class F> HookHandle add_typed(List& list, F f, HookOptions options) {
    return list.add(
        [f = std::move(f)](AnyModule& m, auto&... rest) mutable { f(static_cast<M&>(m), rest...); },
        options.prepend);
}
template <class F, class... A> constexpr bool returns_nothing() {
    return std::is_void_v<std::invoke_result_t<F&, A...>>;
}

template <class M, class F>
HookHandle add_state_dict_pre_hook(ModuleHooks& hooks, F f, HookOptions options) {
    constexpr bool takes = std::is_invocable_v<F&, M&, std::string const&>;
    static_assert(takes, "register_state_dict_pre_hook: a hook takes the module and the prefix of "
                         "its names: f(module, prefix)");
    if constexpr (takes) {
        constexpr bool fits = returns_nothing<F, M&, std::string const&>();
        static_assert(fits, "register_state_dict_pre_hook: a hook returns nothing");
        if constexpr (fits) return add_typed<M>(hooks.state_dict_pre, std::move(f), options);
    }
    return {};
}
template <class M, class F>
HookHandle add_state_dict_post_hook(ModuleHooks& hooks, F f, HookOptions options) {
    constexpr bool takes = std::is_invocable_v<F&, M&, StateDict&, std::string const&>;
    static_assert(takes, "register_state_dict_post_hook: a hook takes the module, the state and "
                         "the prefix of the module's names: f(module, state, prefix)");
    if constexpr (takes) {
        constexpr bool fits = returns_nothing<F, M&, StateDict&, std::string const&>();
        static_assert(fits, "register_state_dict_post_hook: a hook changes the state that it is "
                            "given, and returns nothing");
        if constexpr (fits) return add_typed<M>(hooks.state_dict_post, std::move(f), options);
    }
    return {};
}
template <class M, class F>
HookHandle add_load_state_dict_pre_hook(ModuleHooks& hooks, F f, HookOptions options) {
    constexpr bool with_report =
        std::is_invocable_v<F&, M&, StateDict&, std::string const&, LoadReport&>;
    constexpr bool takes =
        with_report || std::is_invocable_v<F&, M&, StateDict&, std::string const&>;
    static_assert(takes, "register_load_state_dict_pre_hook: a hook takes the module, the state "
                         "and the prefix of the module's names, f(module, state, prefix), and may "
                         "take the LoadReport&, too");
    if constexpr (with_report) {
        constexpr bool fits = returns_nothing<F, M&, StateDict&, std::string const&, LoadReport&>();
        static_assert(fits, "register_load_state_dict_pre_hook: a hook changes the state that it "
                            "is given, and returns nothing");
        if constexpr (fits) return add_typed<M>(hooks.load_state_dict_pre, std::move(f), options);
        return {};
    } else if constexpr (takes)
        return add_load_state_dict_pre_hook<M>(
            hooks,
            [f = std::move(f)](M& m, StateDict& state, std::string const& prefix,
                LoadReport&) mutable { return f(m, state, prefix); },
            options);
    else return {};
}
template <class M, class F>
HookHandle add_load_state_dict_post_hook(ModuleHooks& hooks, F f, HookOptions options) {
    constexpr bool takes = std::is_invocable_v<F&, M&, LoadReport&>;
    static_assert(takes, "register_load_state_dict_post_hook: a hook takes the module and the "
                         "report of what does not fit: f(module, LoadReport&)");
    if constexpr (takes) {
        constexpr bool fits = returns_nothing<F, M&, LoadReport&>();
        static_assert(fits, "register_load_state_dict_post_hook: a hook changes the report that it "
                            "is given, and returns nothing");
        if constexpr (fits) return add_typed<M>(hooks.load_state_dict_post, std::move(f), options);
    }
    return {};
}

template <class F> HookHandle add_registration_hook(RegistrationHooks::TensorHooks& list, F f) {
    constexpr bool takes =
        std::is_invocable_v<F&, AnyModule&, std::string const&, AnyTensor const&>;
    static_assert(takes, "a registration hook takes an AnyModule&, the name and the tensor: "
                         "f(module, name, AnyTensor const&)");
    if constexpr (takes) {
        using Returned = std::invoke_result_t<F&, AnyModule&, std::string const&, AnyTensor const&>;
        constexpr bool fits =
            std::is_void_v<Returned> || std::is_convertible_v<Returned, AnyTensor>;
        static_assert(fits, "a registration hook returns nothing, or the tensor to go on with");
        if constexpr (fits)
            return list.add([f = std::move(f)](AnyModule& m, std::string const& name,
                                AnyTensor const& t) mutable -> AnyTensor {
                if constexpr (std::is_void_v<Returned>) return f(m, name, t), AnyTensor();
                else return f(m, name, t);
            });
    }
    return {};
}

} // namespace detail

template <class F> HookHandle AnyModule::register_state_dict_pre_hook(F f, HookOptions options) {
    return detail::add_state_dict_pre_hook<AnyModule>(*made_hooks(), std::move(f), options);
}
template <class F> HookHandle AnyModule::register_state_dict_post_hook(F f, HookOptions options) {
    return detail::add_state_dict_post_hook<AnyModule>(*made_hooks(), std::move(f), options);
}
template <class F>
HookHandle AnyModule::register_load_state_dict_pre_hook(F f, HookOptions options) {
    return detail::add_load_state_dict_pre_hook<AnyModule>(*made_hooks(), std::move(f), options);
}
template <class F>
HookHandle AnyModule::register_load_state_dict_post_hook(F f, HookOptions options) {
    return detail::add_load_state_dict_post_hook<AnyModule>(*made_hooks(), std::move(f), options);
}

/// Registers a global hook, which runs whenever a module gets a parameter, before it has it:
/// f(AnyModule& module, std::string const& name, AnyTensor const& parameter). It may return a
/// tensor of the same scalar type, which becomes the parameter instead. A module registers its
/// members while it is constructed.
template <class F> HookHandle register_module_parameter_registration_hook(F f) {
    return detail::add_registration_hook(
        detail::RegistrationHooks::of_all_modules().parameter, std::move(f));
}
/// The same for buffers.
template <class F> HookHandle register_module_buffer_registration_hook(F f) {
    return detail::add_registration_hook(
        detail::RegistrationHooks::of_all_modules().buffer, std::move(f));
}
/// The same for modules inside a module: f(AnyModule& module, std::string const& name, AnyModule&
/// inside), which returns nothing: members are values, so the hook may change the module inside,
/// and not replace it.
template <class F> HookHandle register_module_module_registration_hook(F f) {
    constexpr bool takes =
        std::is_invocable_r_v<void, F&, AnyModule&, std::string const&, AnyModule&>;
    static_assert(takes, "register_module_module_registration_hook: a hook takes an AnyModule&, "
                         "the name and the module inside: f(module, name, AnyModule&)");
    if constexpr (takes)
        return detail::RegistrationHooks::of_all_modules().module.add(std::move(f));
    else return {};
}

} // namespace xgrad::nn
