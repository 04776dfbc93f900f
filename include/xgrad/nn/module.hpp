// Module: the base class of a part of a model. `struct Net : nn::Module<Net>` has a function
// forward, of any signature, and members that register themselves (member.hpp); net(x) calls
// forward with the hooks around it.
//
// Shapes: those of the module's forward.
// Gradients: those of forward, and of all parameters that it reads. A forward hook may replace
// arguments and results, a backward hook gradients.
// Errors: what forward throws. A call with other arguments, also of float for double, does not
// compile, and neither does a hook with other parameters or results. A hook that returns another
// number of tensors, and backward hooks of both kinds on one module, are a GraphError; a hook that
// returns another scalar type is a TypeError.
#pragma once

#include <xgrad/nn/forward_call.hpp>
#include <xgrad/nn/member.hpp>
#include <xgrad/nn/module_text.hpp>
#include <xgrad/nn/state_hooks.hpp>

namespace xgrad::nn {

/// The base class of a module: `struct Net : nn::Module<Net>`. Calling a module calls its forward.
template <class Self> class Module : public AnyModule {
public:
    Module() : AnyModule(sizeof(Self)) {
        static_assert(std::derived_from<Self, Module>,
            "a module derives from nn::Module of itself: struct Net : nn::Module<Net>");
    }

    /// Calls forward with these arguments. An expression that forward returns is evaluated.
    template <class... A> auto operator()(A&&... arguments) {
        return call(self(), std::forward<A>(arguments)...);
    }
    /// Calls a const forward. Hooks still get a non-const module.
    template <class... A> auto operator()(A&&... arguments) const {
        return call(static_cast<Self const&>(*this), std::forward<A>(arguments)...);
    }

    std::string_view kind() const noexcept override { return xgrad::detail::type_name<Self>; }
    std::unique_ptr<AnyModule> clone_any() const override {
        return std::make_unique<Self>(static_cast<Self const&>(*this));
    }
    /// A copy with parameters, buffers and modules of its own, and without hooks.
    Self clone() const { return Self(static_cast<Self const&>(*this)); }

    /// A hook before forward. Where forward is neither overloaded nor a template, and has no
    /// default arguments: f(module, arguments...), which returns nothing, or the arguments to go on
    /// with (a std::tuple where there are several). Otherwise f(module, tensors) with a
    /// std::vector<AnyTensor> const& that has a place for each argument, undefined where that is no
    /// tensor, and returns nothing or such a vector.
    template <class F, class S = Self>
    HookHandle register_forward_pre_hook(F f, HookOptions options = {});
    /// A hook after forward: f(module, arguments, result) with the arguments as a std::tuple, which
    /// returns nothing, or the result to go on with. Where forward is overloaded, a template or has
    /// default arguments, arguments and results are two std::vector<AnyTensor> const&.
    template <class F, class S = Self>
    HookHandle register_forward_hook(F f, HookOptions options = {});

    /// As those of AnyModule, with the module as a Self&.
    template <class F> HookHandle register_full_backward_pre_hook(F f, HookOptions options = {}) {
        return detail::add_backward_pre_hook<Self>(*made_hooks(), std::move(f), options);
    }
    template <class F> HookHandle register_full_backward_hook(F f, HookOptions options = {}) {
        return detail::add_backward_hook<Self>(
            *made_hooks(), detail::ModuleHooks::BackwardKind::full, std::move(f), options);
    }
    template <class F> HookHandle register_backward_hook(F f, HookOptions options = {}) {
        return detail::add_backward_hook<Self>(
            *made_hooks(), detail::ModuleHooks::BackwardKind::of_last_node, std::move(f), options);
    }
    template <class F> HookHandle register_state_dict_pre_hook(F f, HookOptions options = {}) {
        return detail::add_state_dict_pre_hook<Self>(*made_hooks(), std::move(f), options);
    }
    template <class F> HookHandle register_state_dict_post_hook(F f, HookOptions options = {}) {
        return detail::add_state_dict_post_hook<Self>(*made_hooks(), std::move(f), options);
    }
    template <class F> HookHandle register_load_state_dict_pre_hook(F f, HookOptions options = {}) {
        return detail::add_load_state_dict_pre_hook<Self>(*made_hooks(), std::move(f), options);
    }
    template <class F>
    HookHandle register_load_state_dict_post_hook(F f, HookOptions options = {}) {
        return detail::add_load_state_dict_post_hook<Self>(*made_hooks(), std::move(f), options);
    }

private:
    struct NotCallable {};
    struct Calls {
        template <class S, class... A>
        decltype(auto) operator()(S& s, A&&... a) const
            requires requires { s.forward(std::forward<A>(a)...); }
        {
            return s.forward(std::forward<A>(a)...);
        }
        NotCallable operator()(...) const;
    };

    Self& self() noexcept { return static_cast<Self&>(*this); }
    bool has_hooks() const {
        return (hooks() && hooks()->any()) || detail::ModuleHooks::of_all_modules().any();
    }

    template <class S, class... A>
    static constexpr bool accepts =
        !std::same_as<std::invoke_result_t<Calls, S&, A...>, NotCallable>;

    template <class S, class... A> static auto call(S& s, A&&... arguments) {
        using Result = std::invoke_result_t<Calls, S&, A...>;
        constexpr bool fits = accepts<S, A...>;
        if constexpr ((xgrad::detail::EvaluatedAtOnce<A> || ...)) {
            static_assert(fits, "vmap: a module takes the tensors of all examples at once: write "
                                "xg::on_batch(net, x)");
            if constexpr (!fits) return std::get<0>(std::tuple(arguments...)); // one error
        } else if constexpr (!fits) {
            constexpr bool with_double = accepts<S, detail::with_precision<double, A>...>,
                           with_float = accepts<S, detail::with_precision<float, A>...>;
            static_assert(!with_double,
                "double against float: this module takes tensors of double "
                "and gets one of float: cast<double>(x), or another module");
            static_assert(!with_float, "float against double: this module takes tensors of float "
                                       "and gets one of double: cast<float>(x), or another module");
            static_assert(std::is_const_v<S> || with_double || with_float,
                "forward of this module cannot be called with these arguments");
            static_assert(!std::is_const_v<S> || with_double || with_float,
                "forward of this module, which is const here, cannot be "
                "called with these arguments: it must be const itself");
        }
        if constexpr (fits) {
            static_cast<Module const&>(s).check_members_once();
            if (!static_cast<Module const&>(s).has_hooks()) [[likely]]
                return static_cast<detail::kept_or_void<Result>>(
                    s.forward(std::forward<A>(arguments)...));
            return call_with_hooks<Result>(s, std::forward<A>(arguments)...);
        }
    }
    template <class Result, class S, class... A>
    [[gnu::noinline]] static auto call_with_hooks(S& s, A&&... arguments) {
        using Forward = detail::ForwardOf<Self>;
        auto const run = [&s](auto call) -> detail::kept_or_void<Result> {
            detail::call_with_hooks(const_cast<Self&>(s), call);
            if constexpr (!std::is_void_v<Result>) return *std::move(call.result);
        };
        if constexpr (Forward::known)
            return run(detail::CallOf<S, typename Forward::Arguments, typename Forward::Result>(
                s, std::forward<A>(arguments)...));
        else
            return run(detail::CallOf<S, std::tuple<detail::kept_argument<A>...>,
                detail::kept_result<Result>>(s, std::forward<A>(arguments)...));
    }
};

template <class Self>
template <class F, class S>
HookHandle Module<Self>::register_forward_pre_hook(F f, HookOptions options) {
    using Forward = detail::ForwardOf<S>;
    if constexpr (Forward::known) {
        constexpr bool takes = Forward::template takes<F, S>;
        static_assert(takes, "register_forward_pre_hook: a hook takes the module and the arguments "
                             "of forward: f(module, arguments...)");
        if constexpr (takes) {
            using Arguments = typename Forward::Arguments;
            using Returned = decltype(Forward::call(f, self(), std::declval<Arguments const&>()));
            constexpr bool fits = detail::returns<Returned, Arguments>;
            static_assert(fits, "register_forward_pre_hook: a hook returns nothing, or the "
                                "arguments to go on with: one by itself, several as a std::tuple");
            if constexpr (fits)
                return made_hooks()->forward_pre.add(
                    [f = std::move(f)](AnyModule& m, detail::ModuleCall& call) mutable {
                        auto& arguments =
                            static_cast<detail::CallValues<Arguments, typename Forward::Result>&>(
                                call)
                                .kept_arguments;
                        if constexpr (std::is_void_v<Returned>)
                            Forward::call(f, static_cast<S&>(m), *arguments);
                        else
                            detail::take(
                                arguments, Forward::call(f, static_cast<S&>(m), *arguments));
                    },
                    options.prepend);
        }
    } else {
        constexpr bool takes = std::is_invocable_v<F&, S&, detail::Tensors const&>;
        static_assert(takes, "register_forward_pre_hook: forward is overloaded or a template, so a "
                             "hook takes the module and a std::vector<AnyTensor> const&"
                             "; the same holds where it has default arguments");
        if constexpr (takes) {
            constexpr bool fits =
                detail::returns_gradients<std::invoke_result_t<F&, S&, detail::Tensors const&>>;
            static_assert(fits, "register_forward_pre_hook: forward is overloaded or a template, "
                                "so a hook returns nothing, or a std::vector<AnyTensor>"
                                "; the same holds where it has default arguments");
            if constexpr (fits)
                return made_hooks()->forward_pre.add(
                    detail::untyped_pre_hook<S>(std::move(f)), options.prepend);
        }
    }
    return {};
}

template <class Self>
template <class F, class S>
HookHandle Module<Self>::register_forward_hook(F f, HookOptions options) {
    using Forward = detail::ForwardOf<S>;
    if constexpr (Forward::known) {
        using Arguments = typename Forward::Arguments;
        using Result = typename Forward::Result;
        constexpr bool takes = std::is_invocable_v<F&, S&, Arguments const&, Result const&>;
        static_assert(takes, "register_forward_hook: a hook takes the module, the arguments of "
                             "forward as a std::tuple, and its result");
        if constexpr (takes) {
            using Returned = std::invoke_result_t<F&, S&, Arguments const&, Result const&>;
            constexpr bool fits = detail::returns<Returned, Result>;
            static_assert(
                fits, "register_forward_hook: a hook returns nothing, or the result to go on with");
            if constexpr (!std::default_initializable<Result>)
                if (options.always_call)
                    xgrad::detail::fail(kind(),
                        ": register_forward_hook: a result that cannot be made without "
                        "arguments cannot be shown to a hook that is always called");
            if constexpr (fits)
                return made_hooks()->forward.add(
                    [f = std::move(f), always = options.always_call,
                        identity = xgrad::detail::Identity()](
                        AnyModule& m, detail::ModuleCall& call) mutable {
                        if (!call.begin(identity, always)) return;
                        auto& values = static_cast<detail::CallValues<Arguments, Result>&>(call);
                        if constexpr (std::default_initializable<Result>)
                            if (!values.result)
                                return void(f(static_cast<S&>(m),
                                    std::as_const(*values.kept_arguments), Result()));
                        if constexpr (std::is_void_v<Returned>)
                            f(static_cast<S&>(m), std::as_const(*values.kept_arguments),
                                std::as_const(*values.result));
                        else
                            detail::take(values.result,
                                f(static_cast<S&>(m), std::as_const(*values.kept_arguments),
                                    std::as_const(*values.result)));
                    },
                    options.prepend);
        }
    } else {
        constexpr bool takes =
            std::is_invocable_v<F&, S&, detail::Tensors const&, detail::Tensors const&>;
        static_assert(takes, "register_forward_hook: forward is overloaded or a template, so a "
                             "hook takes the module and two std::vector<AnyTensor> const&"
                             "; the same holds where it has default arguments");
        if constexpr (takes) {
            constexpr bool fits = detail::returns_gradients<
                std::invoke_result_t<F&, S&, detail::Tensors const&, detail::Tensors const&>>;
            static_assert(fits, "register_forward_hook: forward is overloaded or a template, so a "
                                "hook returns nothing, or a std::vector<AnyTensor>"
                                "; the same holds where it has default arguments");
            if constexpr (fits)
                return made_hooks()->forward.add(
                    detail::untyped_forward_hook<S>(std::move(f), options.always_call),
                    options.prepend);
        }
    }
    return {};
}

/// Registers a global hook, which runs at every call of every module, before the module's own
/// hooks: f(AnyModule&, std::vector<AnyTensor> const& arguments).
template <class F> HookHandle register_module_forward_pre_hook(F f, HookOptions options = {}) {
    constexpr bool takes = std::is_invocable_v<F&, AnyModule&, detail::Tensors const&>;
    static_assert(takes, "register_module_forward_pre_hook: a hook takes an AnyModule& and a "
                         "std::vector<AnyTensor> const&");
    if constexpr (takes)
        return detail::ModuleHooks::of_all_modules().forward_pre.add(
            detail::untyped_pre_hook<AnyModule>(std::move(f)), options.prepend);
    else return {};
}
/// f(AnyModule&, std::vector<AnyTensor> const& arguments, std::vector<AnyTensor> const& results).
template <class F> HookHandle register_module_forward_hook(F f, HookOptions options = {}) {
    constexpr bool takes =
        std::is_invocable_v<F&, AnyModule&, detail::Tensors const&, detail::Tensors const&>;
    static_assert(takes, "register_module_forward_hook: a hook takes an AnyModule& and two "
                         "std::vector<AnyTensor> const&");
    if constexpr (takes)
        return detail::ModuleHooks::of_all_modules().forward.add(
            detail::untyped_forward_hook<AnyModule>(std::move(f), options.always_call),
            options.prepend);
    else return {};
}
/// f(AnyModule&, std::vector<AnyTensor> const& grad_output).
template <class F>
HookHandle register_module_full_backward_pre_hook(F f, HookOptions options = {}) {
    return detail::add_backward_pre_hook<AnyModule>(
        detail::ModuleHooks::of_all_modules(), std::move(f), options);
}
/// f(AnyModule&, std::vector<AnyTensor> const& grad_input, std::vector<AnyTensor> const&
/// grad_output).
template <class F> HookHandle register_module_full_backward_hook(F f, HookOptions options = {}) {
    return detail::add_backward_hook<AnyModule>(detail::ModuleHooks::of_all_modules(),
        detail::ModuleHooks::BackwardKind::full, std::move(f), options);
}

} // namespace xgrad::nn
