// Bodies of hook.hpp and gradient_edge.hpp, and snapshot().
#pragma once

#include <xgrad/autograd/accumulate_grad.hpp>
#include <xgrad/autograd/gradient_edge.hpp>
#include <xgrad/autograd/hook.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION AnyTensor snapshot(AnyTensor const& t) {
    AnyTensor a = alias(t);
    auto edge = gradient_edge(t);
    a.impl().grad_fn = std::move(edge.function);
    a.impl().output_nr = edge.input_nr;
    return a;
}

XGRAD_LAZY_BODY bool AnyHookList::any() const {
    auto* const hooks = hooks_.get();
    if (!hooks) return false;
    std::lock_guard const lock(hooks->mutex);
    return !hooks->slots.empty();
}

XGRAD_LAZY_BODY HookSlots AnyHookList::slots() const {
    auto* const hooks = hooks_.get();
    if (!hooks) return {};
    std::lock_guard const lock(hooks->mutex);
    return hooks->slots;
}

XGRAD_LAZY_BODY HookHandle AnyHookList::add(std::shared_ptr<HookSlot> slot, bool first) {
    auto const& hooks = hooks_.made();
    HookHandle handle([weak = std::weak_ptr(hooks), weak_slot = std::weak_ptr(slot)] {
        auto const list = weak.lock();
        auto const removed = weak_slot.lock();
        if (!list || !removed) return;
        removed->removed = true;
        std::lock_guard const removing(list->mutex);
        std::erase(list->slots, removed);
    });
    std::lock_guard const lock(hooks->mutex);
    hooks->slots.insert(first ? hooks->slots.begin() : hooks->slots.end(), std::move(slot));
    return handle;
}

} // namespace xgrad::detail

namespace xgrad {

XGRAD_LAZY_BODY GradientEdge::GradientEdge(Node* node, std::uint32_t output_nr) {
    if (!node)
        detail::fail<GraphError>("a GradientEdge needs a Node: a leaf's is made from the leaf");
    if (output_nr >= node->num_outputs())
        detail::fail<IndexError>("GradientEdge: ", node->name(), " has no output ", output_nr,
            ", only ", node->num_outputs());
    if (detail::is_leaf(*node))
        *this = GradientEdge(static_cast<detail::AccumulateGrad&>(*node).variable());
    else edge_ = {detail::Ref<Node>(node), output_nr};
}

XGRAD_LAZY_BODY void HookHandle::remove() {
    if (auto const r = std::exchange(remove_, nullptr)) r();
}

} // namespace xgrad
