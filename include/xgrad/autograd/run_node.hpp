// Runs one Node with hooks: tensor hooks, retain_grad, prehooks, apply, posthooks, in this order.
// The engine itself runs a Node without hooks. Registration of hooks on a Node is here too.
// Read next: engine.hpp.
#pragma once

#include <xgrad/autograd/saved_tensor.hpp>
#include <xgrad/autograd/view.hpp>

namespace xgrad {

namespace detail {

/// Checks that a hook replaced a gradient by one of the same shape and scalar type. An undefined
/// result keeps the gradient.
XGRAD_LAZY AnyTensor checked_hook_result(AnyTensor const& before, AnyTensor after);

// Virtual functions of NodeHooks are called from cold functions: in others GCC calls the only
// implementation that it sees directly, and every program would contain it (tools/size).

/// Calls the tensor hooks of a Node in order, and then stores the gradients for retain_grad().
[[gnu::cold]] void run_tensor_hooks(Node& node, std::span<AnyTensor> gradients);

/// Runs a Node with hooks, or in anomaly mode, with the gradients that arrived. The caller has run
/// its tensor hooks.
[[gnu::cold]] void run_observed_node(
    Node& node, std::span<AnyTensor> gradients, std::span<AnyTensor> results, bool keep_saved);

/// Throws where a hook returned another number of gradients than it was given.
XGRAD_LAZY void check_hook_count(std::size_t got, std::size_t expected);

/// Replaces gradients by the results of a Node hook. An empty list keeps them. An undefined element
/// stops its gradient.
XGRAD_LAZY void take_hook_results(std::span<AnyTensor> gradients, Gradients after);

template <class R>
inline constexpr bool is_hook_result = std::is_void_v<R> || std::is_convertible_v<R, Gradients>;

/// Calls a hook whose return type may be void.
template <class F, class... A> Gradients call_node_hook(F& f, A const&... gradients) {
    if constexpr (std::is_void_v<std::invoke_result_t<F&, A const&...>>) {
        f(gradients...);
        return {};
    } else return f(gradients...);
}

} // namespace detail

template <class F> HookHandle Node::register_prehook(F f) {
    constexpr bool takes_gradients = std::is_invocable_v<F&, detail::Gradients const&>;
    static_assert(takes_gradients, "register_prehook: a hook takes the gradients of the Node's "
                                   "outputs, a std::vector<AnyTensor> const&");
    if constexpr (takes_gradients) {
        constexpr bool returns_gradients =
            detail::is_hook_result<std::invoke_result_t<F&, detail::Gradients const&>>;
        static_assert(returns_gradients, "register_prehook: a hook returns nothing, or the "
                                         "gradients to go on with as a std::vector<AnyTensor>");
        if constexpr (returns_gradients)
            return detail::NodeHooks::made(*this).prehooks.add(
                [f = std::move(f)](
                    detail::Gradients const& g) mutable { return detail::call_node_hook(f, g); });
    }
    return {};
}

template <class F> HookHandle Node::register_hook(F f) {
    constexpr bool takes_gradients =
        std::is_invocable_v<F&, detail::Gradients const&, detail::Gradients const&>;
    static_assert(takes_gradients, "register_hook: a Node's hook takes the gradients of its inputs "
                                   "and those of its outputs, two std::vector<AnyTensor> const&");
    if constexpr (takes_gradients) {
        constexpr bool returns_gradients = detail::is_hook_result<
            std::invoke_result_t<F&, detail::Gradients const&, detail::Gradients const&>>;
        static_assert(returns_gradients,
            "register_hook: a Node's hook returns nothing, or the gradients of "
            "its inputs to go on with as a std::vector<AnyTensor>");
        if constexpr (returns_gradients)
            return detail::NodeHooks::made(*this).posthooks.add(
                [f = std::move(f)](
                    detail::Gradients const& in, detail::Gradients const& out) mutable {
                    return detail::call_node_hook(f, in, out);
                });
    }
    return {};
}

} // namespace xgrad
