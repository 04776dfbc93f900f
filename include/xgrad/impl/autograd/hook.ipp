// Bodies of hook.hpp.
#pragma once

#include <xgrad/autograd/hook.hpp>

namespace xgrad {

XGRAD_LAZY_BODY void HookHandle::remove() {
    if (auto const r = std::exchange(remove_, nullptr)) r();
}

} // namespace xgrad

namespace xgrad::detail {

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
