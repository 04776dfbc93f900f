// Bodies of backward_hooks.hpp.
#pragma once

#include <xgrad/nn/backward_hooks.hpp>

namespace xgrad::nn::detail {

XGRAD_FUNCTION BackwardHookFunction::BackwardHookFunction(Tensors const& of) {
    for (auto const& t : of) {
        bool const differentiable = is_differentiable(t.dtype());
        edges_.push_back(
            differentiable && t.requires_grad() ? xgrad::detail::gradient_edge(t) : Edge());
        shapes_.emplace_back(differentiable ? t.impl().type : nullptr, t.shape());
    }
    set_edges(edges_.data(), edges_.size());
    set_num_outputs(static_cast<std::uint32_t>(edges_.size()));
}

XGRAD_FUNCTION void BackwardHookFunction::apply(
    std::span<AnyTensor> gradients, std::span<AnyTensor> results) {
    for (std::size_t i = 0; i < edges_.size(); ++i) {
        auto const& [type, shape] = shapes_[i];
        if (gradients[i].defined()) results[i] = std::move(gradients[i]);
        else if (type) results[i] = type->filled(shape, 0);
    }
}

XGRAD_FUNCTION Ref<Node> wrap(Tensors& tensors) {
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

XGRAD_FUNCTION BackwardHooksOfCall::BackwardHooksOfCall(AnyModule& m) : hooks_(m.made_hooks()) {
    for (auto const* const list : {&ModuleHooks::of_all_modules(), hooks_.get()}) {
        auto const pre = list->backward_pre.slots();
        before_.insert(before_.end(), pre.begin(), pre.end());
        if (list->backward_kind == ModuleHooks::BackwardKind::of_last_node) continue;
        auto const full = list->backward.slots();
        after_.insert(after_.end(), full.begin(), full.end());
    }
}

XGRAD_FUNCTION void BackwardHooksOfCall::wrap_arguments(Tensors& tensors) {
    places_of(tensors, arguments_);
    count_arguments_ = tensors.size();
    auto const node = wrap(tensors);
    if (!(arguments_require_grad_ = static_cast<bool>(node))) return;
    node->register_hook([self = shared_from_this()](Gradients const& grad_inputs,
                            Gradients const&) { return self->leave(grad_inputs); });
}

XGRAD_FUNCTION void BackwardHooksOfCall::wrap_results(Tensors& tensors) {
    places_of(tensors, results_);
    count_results_ = tensors.size();
    if (auto const node = wrap(tensors))
        node->register_hook(
            [self = shared_from_this()](Gradients const&, Gradients const& grad_outputs) {
                return self->enter(grad_outputs);
            });
}

XGRAD_FUNCTION void BackwardHooksOfCall::places_of(
    Tensors const& tensors, std::vector<std::size_t>& places) {
    for (std::size_t i = 0; i < tensors.size(); ++i)
        if (tensors[i].defined()) places.push_back(i);
}

XGRAD_FUNCTION Gradients BackwardHooksOfCall::spread(
    Gradients const& gradients, std::vector<std::size_t> const& places, std::size_t count) {
    Gradients all(count);
    for (std::size_t i = 0; i < places.size(); ++i) all[places[i]] = gradients[i];
    return all;
}

XGRAD_FUNCTION Gradients BackwardHooksOfCall::selected(
    Gradients const& all, std::vector<std::size_t> const& places) {
    Gradients gradients;
    for (auto const p : places) gradients.push_back(all[p]);
    return gradients;
}

XGRAD_FUNCTION AnyModule& BackwardHooksOfCall::module() const {
    if (!hooks_->module)
        fail<GraphError>("a module with backward hooks was destroyed before the backward pass: "
                         "keep it until then");
    return *hooks_->module;
}

XGRAD_FUNCTION Gradients BackwardHooksOfCall::enter(Gradients const& grad_outputs) const {
    Gradients gradients = spread(grad_outputs, results_, count_results_);
    ModuleHooks::PreHooks::for_each(before_, [&](auto const& hook) {
        auto after = hook(module(), gradients);
        if (!after) return;
        if (after->size() != count_results_)
            fail<GraphError>("Backward pre hook returned an invalid number of grad_output, got ",
                after->size(), ", but expected ", count_results_);
        gradients = std::move(*after);
    });
    if (arguments_require_grad_)
        xgrad::detail::pass_data(identity_) = std::make_shared<Gradients>(gradients);
    else call_without_arguments(gradients);
    return selected(gradients, results_);
}

XGRAD_FUNCTION void BackwardHooksOfCall::call_without_arguments(
    Gradients const& grad_output) const {
    Gradients const nothing(count_arguments_);
    ModuleHooks::BackwardHooks::for_each(after_, [&](auto const& hook) {
        auto const after = hook(module(), nothing, grad_output);
        if (after && std::ranges::any_of(*after, [](AnyTensor const& t) { return t.defined(); }))
            fail<GraphError>(
                "Backward hook for Modules where no input requires gradient should always "
                "return nothing or undefined tensors for all gradients.");
    });
}

XGRAD_FUNCTION Gradients BackwardHooksOfCall::leave(Gradients const& grad_inputs) const {
    auto const entered = std::exchange(xgrad::detail::pass_data(identity_), nullptr);
    if (!entered) return {};
    auto const& grad_output = *static_cast<Gradients const*>(entered.get());
    Gradients gradients = spread(grad_inputs, arguments_, count_arguments_);
    ModuleHooks::BackwardHooks::for_each(after_, [&](auto const& hook) {
        auto after = hook(module(), gradients, grad_output);
        if (!after) return;
        if (after->size() != count_arguments_)
            fail<GraphError>("Backward hook returned an invalid number of grad_input, got ",
                after->size(), ", but expected ", count_arguments_);
        gradients = std::move(*after);
    });
    return selected(gradients, arguments_);
}

XGRAD_FUNCTION void warn_of_last_node(Node const& last, ModuleCall const& call) {
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

XGRAD_FUNCTION void hook_last_node(AnyModule& m, ModuleCall const& call) {
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

XGRAD_FUNCTION void call_with_hooks(AnyModule& m, ModuleCall& call) {
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

} // namespace xgrad::nn::detail
