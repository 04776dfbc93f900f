// Backward hooks of modules. A call of a module with backward hooks passes its arguments through
// one identity Node and its results through another. Hooks of these two Nodes call the module's
// hooks.
#pragma once

#include <algorithm>

#include <xgrad/nn/any_module.hpp>
#include <xgrad/tensor/hooks.hpp>

namespace xgrad::nn::detail {

using xgrad::detail::fail;
using xgrad::detail::Ref;
using xgrad::detail::warn;

/// The identity on several tensors. Its backward replaces missing gradients by zeros.
class BackwardHookFunction final : public Node {
public:
    explicit BackwardHookFunction(Tensors const& of);
    XGRAD_FUNCTION void apply(
        std::span<AnyTensor> gradients, std::span<AnyTensor> results) override;
    void pushforward(std::span<AnyTensor const> tangents, std::span<AnyTensor> results) override {
        std::ranges::copy(tangents, results.begin());
    }
    Dependence dependence() const noexcept override { return Dependence::selection; }
    std::string name() const override { return "BackwardHookFunctionBackward"; }

private:
    std::vector<Edge> edges_;
    std::vector<std::pair<xgrad::detail::TypeInfo const*, Shape>> shapes_;
};

/// Passes the defined tensors through a BackwardHookFunction; returns null if none requires a
/// gradient. The tensors become its results, which are views that forbid changes in place: a change
/// would bypass the Node.
[[gnu::cold]] Ref<Node> wrap(Tensors& tensors);

/// The hooks around the backward pass of one call. What a pass has brought to the results stands in
/// the pass's notes until it reaches the arguments, so that several passes, in turn or at once, do
/// not meet, and nothing outlives them.
class BackwardHooksOfCall : public std::enable_shared_from_this<BackwardHooksOfCall> {
public:
    explicit BackwardHooksOfCall(AnyModule& m);
    bool any() const noexcept { return !before_.empty() || !after_.empty(); }

    void wrap_arguments(Tensors& tensors);
    void wrap_results(Tensors& tensors);

private:
    static void places_of(Tensors const& tensors, std::vector<std::size_t>& places);
    static Gradients spread(
        Gradients const& gradients, std::vector<std::size_t> const& places, std::size_t count);
    static Gradients selected(Gradients const& all, std::vector<std::size_t> const& places);

    AnyModule& module() const;

    /// The backward pass reaches the results.
    Gradients enter(Gradients const& grad_outputs) const;
    void call_without_arguments(Gradients const& grad_output) const;

    /// The backward pass reaches the arguments, if it has reached the results.
    Gradients leave(Gradients const& grad_inputs) const;

    xgrad::detail::Identity identity_;
    std::shared_ptr<ModuleHooks> hooks_;
    xgrad::detail::HookSlots before_, after_;
    std::vector<std::size_t> arguments_, results_;
    std::size_t count_arguments_ = 0, count_results_ = 0;
    bool arguments_require_grad_ = false;
};

/// Warns, with PyTorch's texts, if legacy hooks will not see the gradients of the whole module.
[[gnu::cold]] void warn_of_last_node(Node const& last, ModuleCall const& call);

/// Registers the module's legacy hooks with the grad_fn of its first result.
[[gnu::cold]] void hook_last_node(AnyModule& m, ModuleCall const& call);

/// Calls forward and all hooks around it; global hooks run before those of the module.
[[gnu::cold]] void call_with_hooks(AnyModule& m, ModuleCall& call);

/// Registers backward hooks that take an M&.
template <class M, class F>
HookHandle add_backward_pre_hook(ModuleHooks& hooks, F f, HookOptions options) {
    constexpr bool takes_gradients = std::is_invocable_v<F&, M&, Gradients const&>;
    static_assert(takes_gradients, "register_full_backward_pre_hook: a hook takes the module and "
                                   "the gradients of its results, a std::vector<AnyTensor> const&");
    if constexpr (takes_gradients) {
        constexpr bool fits = returns_gradients<std::invoke_result_t<F&, M&, Gradients const&>>;
        static_assert(fits, "register_full_backward_pre_hook: a hook returns nothing, or the "
                            "gradients of the results to go on with as a std::vector<AnyTensor>");
        if constexpr (fits)
            return hooks.backward_pre.add(
                [f = std::move(f)](AnyModule& m, Gradients const& out) mutable {
                    return call_hook(f, static_cast<M&>(m), out);
                },
                options.prepend);
    }
    return {};
}
template <class M, class F>
HookHandle add_backward_hook(
    ModuleHooks& hooks, ModuleHooks::BackwardKind kind, F f, HookOptions options) {
    constexpr bool takes_gradients =
        std::is_invocable_v<F&, M&, Gradients const&, Gradients const&>;
    static_assert(takes_gradients,
        "register_full_backward_hook: a hook takes the module, the gradients of its arguments and "
        "those of its results, two std::vector<AnyTensor> const&");
    if constexpr (takes_gradients) {
        constexpr bool fits =
            returns_gradients<std::invoke_result_t<F&, M&, Gradients const&, Gradients const&>>;
        static_assert(fits, "register_full_backward_hook: a hook returns nothing, or the gradients "
                            "of the arguments to go on with as a std::vector<AnyTensor>");
        if constexpr (fits) {
            if (hooks.backward_kind != ModuleHooks::BackwardKind::none &&
                hooks.backward_kind != kind)
                fail<GraphError>("Cannot use both regular backward hooks and full backward hooks "
                                 "on a single Module. Please use only one of them.");
            hooks.backward_kind = kind;
            return hooks.backward.add(
                [f = std::move(f)](
                    AnyModule& m, Gradients const& in, Gradients const& out) mutable {
                    return call_hook(f, static_cast<M&>(m), in, out);
                },
                options.prepend);
        }
    }
    return {};
}

} // namespace xgrad::nn::detail

namespace xgrad::nn {

template <class F> HookHandle AnyModule::register_full_backward_pre_hook(F f, HookOptions options) {
    return detail::add_backward_pre_hook<AnyModule>(*made_hooks(), std::move(f), options);
}
template <class F> HookHandle AnyModule::register_full_backward_hook(F f, HookOptions options) {
    return detail::add_backward_hook<AnyModule>(
        *made_hooks(), detail::ModuleHooks::BackwardKind::full, std::move(f), options);
}
template <class F> HookHandle AnyModule::register_backward_hook(F f, HookOptions options) {
    return detail::add_backward_hook<AnyModule>(
        *made_hooks(), detail::ModuleHooks::BackwardKind::of_last_node, std::move(f), options);
}

} // namespace xgrad::nn
