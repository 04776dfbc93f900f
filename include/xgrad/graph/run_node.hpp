// Runs one Node: tensor hooks, retain_grad, prehooks, apply, posthooks, in this order. A Node
// without hooks takes a short path (run_node, run_leaf). Registration of hooks on a Node is here
// too.
// Read next: graph_task.hpp.
#pragma once

#include <xgrad/graph/saved_tensor.hpp>
#include <xgrad/graph/view.hpp>

namespace xgrad {

namespace detail {

/// Checks that a hook replaced a gradient by one of the same shape and scalar type. An undefined
/// result keeps the gradient.
inline AnyTensor checked_hook_result(AnyTensor const& before, AnyTensor after) {
    if (!after.defined()) return before;
    if (!before.defined())
        fail<GraphError>("a hook can't replace a empty gradient with a non-empty value");
    if (after.dtype() != before.dtype())
        fail<TypeError>("a hook has changed the type of value (was ", name(before.dtype()), " got ",
            name(after.dtype()), ")");
    if (after.shape() != before.shape())
        fail<ShapeError>("a hook has changed the size of value (was ", before.shape(), " got ",
            after.shape(), ")");
    return after;
}

/// Calls the tensor hooks in order, and then stores the gradients for retain_grad().
inline void run_tensor_hooks(Node& node, std::span<AnyTensor> gradients) {
    auto* const hooks = NodeHooks::of(node);
    if (!hooks) return;
    for (auto* output = hooks->outputs.load(std::memory_order_acquire); output;
         output = output->next.load(std::memory_order_acquire)) {
        auto& gradient = gradients[output->output_nr];
        output->tensor_hooks.for_each(
            [&](auto const& hook) { gradient = checked_hook_result(gradient, hook(gradient)); });
        if (auto const retain = output->retain_grad(); retain && gradient.defined()) {
            NodeLock const lock(node);
            retain(gradient);
        }
    }
}

/// Throws where a hook returned another number of gradients than it was given.
inline void check_hook_count(std::size_t got, std::size_t expected) {
    if (got != expected)
        fail<GraphError>("a hook has returned an incorrect number of values (got ", got,
            ", but expected ", expected, ")");
}

/// Replaces gradients by the results of a Node hook. An empty list keeps them. An undefined element
/// stops its gradient.
inline void take_hook_results(std::span<AnyTensor> gradients, Gradients after) {
    if (after.empty()) return;
    check_hook_count(after.size(), gradients.size());
    for (std::size_t i = 0; i < after.size(); ++i)
        gradients[i] = after[i].defined() ? checked_hook_result(gradients[i], std::move(after[i]))
                                          : AnyTensor();
}

/// Text for messages: " It is the backward pass of Mul(Sqrt(a), number)."
[[gnu::cold]] inline std::string expression_clause(Node const& node) {
    auto const formula = node.formula();
    return formula == node.name() ? std::string() : " It is the backward pass of " + formula + ".";
}

[[gnu::cold]] inline void check_nan(Node const& node, std::span<AnyTensor const> results) {
    for (std::size_t i = 0; i < results.size(); ++i)
        if (results[i].defined() && results[i].impl().type->has_nan(results[i].impl().array))
            fail<GraphError>("Function '", node.name(), "' returned nan values in its ", i,
                "th output.", expression_clause(node), origin_text(node));
}

/// apply() in anomaly mode.
[[gnu::cold]] inline void apply_in_anomaly_mode(
    Node& node, std::span<AnyTensor> gradients, std::span<AnyTensor> results) {
    auto* const outer = std::exchange(anomaly.running, &node);
    try {
        node.apply(gradients, results);
        if (anomaly.check_nan) check_nan(node, results);
    } catch (...) {
        anomaly.running = outer;
        warn("Error detected in ", node.name(),
            ". Traceback of forward call that caused the error:", origin_text(node),
            expression_clause(node));
        throw;
    }
    anomaly.running = outer;
}

/// run_node() for a Node with hooks, or in anomaly mode.
[[gnu::cold]] inline void run_observed_node(Node& node, NodeHooks const* hooks,
    std::span<AnyTensor> gradients, std::span<AnyTensor> results, bool keep_saved) {
    if (hooks)
        hooks->prehooks.for_each([&](auto const& hook) {
            take_hook_results(gradients, hook(Gradients(gradients.begin(), gradients.end())));
        });
    bool const accumulates = hooks && is_leaf(node) && gradients[0].defined() &&
                             static_cast<AccumulateGrad&>(node).accumulates_gradient();
    bool const has_posthooks = hooks && hooks->posthooks.any();
    Gradients grad_outputs;
    if (has_posthooks) grad_outputs.assign(gradients.begin(), gradients.end());
    {
        NodeLock const lock(node);
        if (anomaly.enabled) apply_in_anomaly_mode(node, gradients, results);
        else node.apply(gradients, results);
        if (accumulates)
            hooks->post_accumulate.for_each([leaf = static_cast<AccumulateGrad&>(node).variable()](
                                                auto const& hook) { hook(leaf); });
    }
    if (has_posthooks)
        hooks->posthooks.for_each([&](auto const& hook) {
            take_hook_results(
                results, hook(Gradients(results.begin(), results.end()), grad_outputs));
        });
    if (!keep_saved) {
        NodeLock const lock(node);
        node.release_saved();
    }
}

/// Runs a Node with the gradients that arrived. The caller has run its tensor hooks.
inline void run_node(
    Node& node, std::span<AnyTensor> gradients, std::span<AnyTensor> results, bool keep_saved) {
    auto const* const hooks = NodeHooks::of(node);
    if (!hooks && !anomaly.enabled) [[likely]] {
        NodeLock const lock(node);
        node.apply(gradients, results);
        if (!keep_saved) node.release_saved();
        return;
    }
    run_observed_node(node, hooks, gradients, results, keep_saved);
}

/// True where a Node must run by apply(): it has hooks, anomaly mode is on, or the pass is
/// recorded.
inline bool must_apply(Node const& node) noexcept {
    return grad_mode || anomaly.enabled || NodeHooks::of(node);
}

/// Runs the AccumulateGrad of a leaf, with all its hooks.
XGRAD_INLINE void run_leaf(Node& node, AnyTensor& gradient, bool keep_saved) {
    if (!anomaly.enabled && !NodeHooks::of(node)) [[likely]] {
        NodeLock const lock(node);
        return static_cast<AccumulateGrad&>(node).accumulate_gradient(gradient);
    }
    std::span const arrived(&gradient, 1);
    run_tensor_hooks(node, arrived);
    run_node(node, arrived, {}, keep_saved);
}

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
