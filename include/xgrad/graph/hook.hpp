// Hooks: lists of std::function that run in the order of their registration, and handles that remove from them.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <xgrad/base/config.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad {

/// Removes the hook that it was returned for. Letting it go leaves the hook in place; removing twice is harmless.
class HookHandle {
public:
    HookHandle() = default;
    explicit HookHandle(std::function<void()> remove) : remove_(std::move(remove)) {}
    void remove()
    {
        if (auto const r = std::exchange(remove_, nullptr)) r();
    }

private:
    std::function<void()> remove_;
};

namespace detail {

/// A list of hooks. While it runs, a hook may remove itself or a later one (which then does not run), and add others
/// (which run from the next pass on). Any thread may add and remove.
template <class Signature> class HookList {
public:
    using Function = std::function<Signature>;

    HookList() noexcept = default;
    HookList(HookList const&) = delete;
    HookList& operator=(HookList const&) = delete;
    ~HookList() { delete hooks_.load(std::memory_order_relaxed); }

    /// Puts f behind the others, or before them.
    HookHandle add(Function f, bool first = false)
    {
        auto const& hooks = made();
        auto slot = std::make_shared<Slot>(std::move(f));
        HookHandle handle([weak = std::weak_ptr(hooks), weak_slot = std::weak_ptr(slot)] {
            auto const hooks = weak.lock();
            auto const removed = weak_slot.lock();
            if (!hooks || !removed) return;
            removed->removed = true;
            std::lock_guard const removing(hooks->mutex);
            std::erase(hooks->slots, removed);
        });
        std::lock_guard const lock(hooks->mutex);
        hooks->slots.insert(first ? hooks->slots.begin() : hooks->slots.end(), std::move(slot));
        return handle;
    }

    /// Calls visit(hook) for each hook in turn.
    template <class F> void for_each(F visit) const
    {
        for (auto const& slot : snapshot())
            if (!slot->removed) visit(slot->hook);
    }

    /// True where a hook is in the list.
    bool any() const
    {
        auto const* const hooks = hooks_.load(std::memory_order_acquire);
        if (!hooks) return false;
        std::lock_guard const lock((*hooks)->mutex);
        return !(*hooks)->slots.empty();
    }

    struct Slot {
        Function hook;
        std::atomic<bool> removed = false;
        explicit Slot(Function f) : hook(std::move(f)) {}
    };
    using Snapshot = std::vector<std::shared_ptr<Slot>>;

    /// The hooks of now, to be called later, unless they are removed before.
    Snapshot snapshot() const
    {
        auto const* const hooks = hooks_.load(std::memory_order_acquire);
        if (!hooks) return {};
        std::lock_guard const lock((*hooks)->mutex);
        return (*hooks)->slots;
    }

private:
    struct Hooks {
        std::mutex mutex;
        Snapshot slots;
    };
    std::shared_ptr<Hooks> const& made()
    {
        auto* hooks = hooks_.load(std::memory_order_acquire);
        if (!hooks) {
            auto fresh = std::make_unique<std::shared_ptr<Hooks>>(std::make_shared<Hooks>());
            if (hooks_.compare_exchange_strong(hooks, fresh.get(), std::memory_order_acq_rel)) hooks = fresh.release();
        }
        return *hooks;
    }
    std::atomic<std::shared_ptr<Hooks>*> hooks_{nullptr};
};

}  // namespace detail
}  // namespace xgrad
