// Backward hooks of modules. A call of a module with backward hooks passes its arguments through
// one identity Node and its results through another. Hooks of these two Nodes call the module's
// hooks.
#pragma once

#include <algorithm>

#include <xgrad/nn/any_module.hpp>
#include <xgrad/tensor/hooks.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::nn::detail {

using xgrad::detail::fail;
using xgrad::detail::Ref;
using xgrad::detail::warn;

/// The identity on several tensors. Its backward replaces missing gradients by zeros.
class BackwardHookFunction final : public Node {
public:
    explicit BackwardHookFunction(Tensors const& of) {
        for (auto const& t : of) {
            bool const differentiable = is_differentiable(t.dtype());
            edges_.push_back(
                differentiable && t.requires_grad() ? xgrad::detail::gradient_edge(t) : Edge());
            shapes_.emplace_back(differentiable ? t.impl().type : nullptr, t.shape());
        }
        set_edges(edges_.data(), edges_.size());
        set_num_outputs(static_cast<std::uint32_t>(edges_.size()));
    }
    void apply(std::span<AnyTensor> gradients, std::span<AnyTensor> results) override {
        for (std::size_t i = 0; i < edges_.size(); ++i) {
            auto const& [type, shape] = shapes_[i];
            if (gradients[i].defined()) results[i] = std::move(gradients[i]);
            else if (type) results[i] = type->filled(shape, 0);
        }
    }
    void pushforward(std::span<AnyTensor const> tangents, std::span<AnyTensor> results) override {
        std::ranges::copy(tangents, results.begin());
    }
    std::string name() const override { return "BackwardHookFunctionBackward"; }

private:
    std::vector<Edge> edges_;
    std::vector<std::pair<xgrad::detail::TypeInfo const*, Shape>> shapes_;
};

/// Passes the defined tensors through a BackwardHookFunction; returns null if none requires a
/// gradient. The tensors become its results, which are views that forbid changes in place: a change
/// would bypass the Node.
[[gnu::cold]] inline Ref<Node> wrap(Tensors& tensors) {
    auto const wants_gradient = [](AnyTensor const& t) {
        return t.defined() && is_differentiable(t.dtype()) && t.requires_grad();
    };
    if (!xgrad::detail::recording() || std::ranges::none_of(tensors, wants_gradient)) return {};
    Tensors of;
    for (auto const& t : tensors)
        if (t.defined()) of.push_back(t);
    Ref<Node> const node(new BackwardHookFunction(of));
    std::uint32_t output = 0;
    for (auto& t : tensors) {
        if (!t.defined()) continue;
        auto const nr = output++;
        if (!wants_gradient(t)) continue;
        AnyTensor const same = xgrad::detail::alias(t);
        xgrad::detail::mark_view(same, t);
        auto& impl = same.impl();
        if (impl.view) impl.view->meta = xgrad::detail::CreationMeta::in_custom_function;
        impl.grad_fn = node;
        impl.output_nr = nr;
        t = same;
    }
    return node;
}

/// The hooks around the backward pass of one call. What a pass has brought to the results stands in
/// the pass's notes until it reaches the arguments, so that several passes, in turn or at once, do
/// not meet, and nothing outlives them.
class BackwardHooksOfCall : public std::enable_shared_from_this<BackwardHooksOfCall> {
public:
    explicit BackwardHooksOfCall(AnyModule& m) : hooks_(m.made_hooks()) {
        for (auto const* const list : {&ModuleHooks::of_all_modules(), hooks_.get()}) {
            auto const pre = list->backward_pre.slots();
            before_.insert(before_.end(), pre.begin(), pre.end());
            if (list->backward_kind == ModuleHooks::BackwardKind::of_last_node) continue;
            auto const full = list->backward.slots();
            after_.insert(after_.end(), full.begin(), full.end());
        }
    }
    bool any() const noexcept { return !before_.empty() || !after_.empty(); }

    void wrap_arguments(Tensors& tensors) {
        places_of(tensors, arguments_);
        count_arguments_ = tensors.size();
        auto const node = wrap(tensors);
        if (!(arguments_require_grad_ = static_cast<bool>(node))) return;
        node->register_hook([self = shared_from_this()](Gradients const& grad_inputs,
                                Gradients const&) { return self->leave(grad_inputs); });
    }
    void wrap_results(Tensors& tensors) {
        places_of(tensors, results_);
        count_results_ = tensors.size();
        if (auto const node = wrap(tensors))
            node->register_hook(
                [self = shared_from_this()](Gradients const&, Gradients const& grad_outputs) {
                    return self->enter(grad_outputs);
                });
    }

private:
    static void places_of(Tensors const& tensors, std::vector<std::size_t>& places) {
        for (std::size_t i = 0; i < tensors.size(); ++i)
            if (tensors[i].defined()) places.push_back(i);
    }
    static Gradients spread(
        Gradients const& gradients, std::vector<std::size_t> const& places, std::size_t count) {
        Gradients all(count);
        for (std::size_t i = 0; i < places.size(); ++i) all[places[i]] = gradients[i];
        return all;
    }
    static Gradients picked(Gradients const& all, std::vector<std::size_t> const& places) {
        Gradients gradients;
        for (auto const p : places) gradients.push_back(all[p]);
        return gradients;
    }

    AnyModule& module() const {
        if (!hooks_->module)
            fail<GraphError>("a module with backward hooks was destroyed before the backward pass: "
                             "keep it until then");
        return *hooks_->module;
    }

    /// The backward pass reaches the results.
    Gradients enter(Gradients const& grad_outputs) const {
        Gradients gradients = spread(grad_outputs, results_, count_results_);
        ModuleHooks::PreHooks::for_each(before_, [&](auto const& hook) {
            auto after = hook(module(), gradients);
            if (!after) return;
            if (after->size() != count_results_)
                fail<GraphError>(
                    "Backward pre hook returned an invalid number of grad_output, got ",
                    after->size(), ", but expected ", count_results_);
            gradients = std::move(*after);
        });
        if (arguments_require_grad_) xgrad::detail::current_pass->hook_data(identity_) = gradients;
        else call_without_arguments(gradients);
        return picked(gradients, results_);
    }
    void call_without_arguments(Gradients const& grad_output) const {
        Gradients const nothing(count_arguments_);
        ModuleHooks::BackwardHooks::for_each(after_, [&](auto const& hook) {
            auto const after = hook(module(), nothing, grad_output);
            if (after &&
                std::ranges::any_of(*after, [](AnyTensor const& t) { return t.defined(); }))
                fail<GraphError>(
                    "Backward hook for Modules where no input requires gradient should always "
                    "return nothing or undefined tensors for all gradients.");
        });
    }

    /// The backward pass reaches the arguments, if it has reached the results.
    Gradients leave(Gradients const& grad_inputs) const {
        std::any const note = std::exchange(xgrad::detail::current_pass->hook_data(identity_), {});
        if (!note.has_value()) return {};
        auto const& grad_output = std::any_cast<Gradients const&>(note);
        Gradients gradients = spread(grad_inputs, arguments_, count_arguments_);
        ModuleHooks::BackwardHooks::for_each(after_, [&](auto const& hook) {
            auto after = hook(module(), gradients, grad_output);
            if (!after) return;
            if (after->size() != count_arguments_)
                fail<GraphError>("Backward hook returned an invalid number of grad_input, got ",
                    after->size(), ", but expected ", count_arguments_);
            gradients = std::move(*after);
        });
        return picked(gradients, arguments_);
    }

    xgrad::detail::Identity identity_;
    std::shared_ptr<ModuleHooks> hooks_;
    xgrad::detail::HookSlots before_, after_;
    std::vector<std::size_t> arguments_, results_;
    std::size_t count_arguments_ = 0, count_results_ = 0;
    bool arguments_require_grad_ = false;
};

/// Warns, with PyTorch's texts, if legacy hooks will not see the gradients of the whole module.
[[gnu::cold]] inline void warn_of_last_node(Node const& last, ModuleCall const& call) {
    static constexpr char const* end =
        "Please use register_full_backward_hook to get the documented behavior.";
    auto const are_defined = [](Tensors const& tensors) {
        return std::ranges::all_of(tensors, [](AnyTensor const& t) { return t.defined(); });
    };
    Tensors const arguments = call.arguments(), results = call.results();
    if (!call.returns_tensors() || !are_defined(results))
        return warn(
            "Using non-full backward hooks on a Module that does not return a single Tensor or a "
            "tuple of Tensors is deprecated and will be removed in future versions. This hook will "
            "be missing some of the grad_output. ",
            end);
    if (!are_defined(arguments))
        return warn(
            "Using non-full backward hooks on a Module that does not take as input a single Tensor "
            "or a tuple of Tensors is deprecated and will be removed in future versions. This hook "
            "will be missing some of the grad_input. ",
            end);
    std::vector<Node const*> makers, of_arguments, next;
    auto const add = [](std::vector<Node const*>& to, Node const* node) {
        if (node && std::ranges::find(to, node) == to.end()) to.push_back(node);
    };
    for (auto const& t : results) add(makers, t.grad_fn());
    for (auto const& t : arguments) add(of_arguments, t.grad_fn());
    for (auto const& edge : last.next_edges()) add(next, edge.function.get());
    if (makers.size() > 1)
        return warn("Using a non-full backward hook when outputs are generated by different "
                    "autograd Nodes is deprecated and will be removed in future versions. This "
                    "hook will be missing some grad_output. ",
            end);
    std::sort(of_arguments.begin(), of_arguments.end(),
        std::less<Node const*>()); // std::ranges would ask for operator< by name, and find that of
                                   // tensors
    std::sort(next.begin(), next.end(), std::less<Node const*>());
    if (of_arguments != next)
        warn("Using a non-full backward hook when the forward contains multiple autograd Nodes is "
             "deprecated and will be removed in future versions. This hook will be missing some "
             "grad_input. ",
            end);
}

/// Registers the module's legacy hooks with the grad_fn of its first result.
[[gnu::cold]] inline void hook_last_node(AnyModule& m, ModuleCall const& call) {
    auto const hooks = m.made_hooks();
    auto const slots = hooks->backward.slots();
    auto const first = call.first_result();
    if (slots.empty() || !first.defined() || !first.grad_fn()) return;
    for (auto const& slot : slots)
        first.grad_fn()->register_hook([slot, hooks](Gradients const& grad_inputs,
                                           Gradients const& grad_outputs) -> Gradients {
            if (slot->removed) return {};
            if (!hooks->module)
                fail<GraphError>("a module with backward hooks was destroyed before the backward "
                                 "pass: keep it until then");
            auto after =
                ModuleHooks::BackwardHooks::hook(*slot)(*hooks->module, grad_inputs, grad_outputs);
            if (!after) return {};
            xgrad::detail::check_hook_count(after->size(), grad_inputs.size());
            return *std::move(after);
        });
    warn_of_last_node(*first.grad_fn(), call);
}

/// Calls forward and all hooks around it; global hooks run before those of the module.
[[gnu::cold]] inline void call_with_hooks(AnyModule& m, ModuleCall& call) {
    auto const hooks = m.made_hooks(); // a hook may destroy or replace the module
    auto& all = ModuleHooks::of_all_modules();
    auto const visit = [&](auto list, AnyModule& on) {
        (all.*list).for_each([&](auto const& hook) { hook(on, call); });
        ((*hooks).*list).for_each([&](auto const& hook) { hook(on, call); });
    };
    try {
        visit(&ModuleHooks::forward_pre, m);
        auto const backward = std::make_shared<BackwardHooksOfCall>(m);
        if (backward->any()) {
            auto arguments = call.arguments();
            backward->wrap_arguments(arguments);
            call.set_arguments(arguments, "a backward hook");
        }
        call.forward();
        visit(&ModuleHooks::forward, m);
        if (backward->any()) {
            if (!call.returns_tensors())
                warn("For backward hooks to be called, module output should be a Tensor or a tuple "
                     "of Tensors");
            auto results = call.results();
            backward->wrap_results(results);
            call.set_results(results, "a backward hook");
        }
        if (hooks->backward_kind == ModuleHooks::BackwardKind::of_last_node)
            hook_last_node(m, call);
    } catch (...) {
        call.failed = true;
        auto const call_rest = [&](ModuleHooks const& of) {
            of.forward.for_each([&](auto const& hook) {
                try {
                    hook(m, call);
                } catch (std::exception const& e) {
                    warn("module forward hook with always_call=True raised an exception that was "
                         "silenced as another error was raised in forward: ",
                        e.what());
                }
            });
        };
        call_rest(all);
        call_rest(*hooks);
        throw;
    }
}

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
