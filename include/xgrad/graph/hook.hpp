// Hooks: lists of std::function that run in the order of their registration, and handles that remove from them.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

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

    HookHandle add(Function f)
    {
        if (!hooks_) hooks_ = std::make_shared<Hooks>();
        auto slot = std::make_shared<Slot>(std::move(f));
        std::lock_guard const lock(hooks_->mutex);
        hooks_->slots.push_back(slot);
        return HookHandle([weak = std::weak_ptr(hooks_), weak_slot = std::weak_ptr(slot)] {
            auto const hooks = weak.lock();
            auto const removed = weak_slot.lock();
            if (!hooks || !removed) return;
            removed->removed = true;
            std::lock_guard const removing(hooks->mutex);
            std::erase(hooks->slots, removed);
        });
    }

    /// Calls visit(hook) for each hook in turn.
    template <class F> void for_each(F visit) const
    {
        if (!hooks_) return;
        for (auto const& slot : snapshot())
            if (!slot->removed) visit(slot->hook);
    }

    /// True where a hook is in the list.
    bool any() const { return hooks_ && !snapshot().empty(); }

private:
    struct Slot {
        Function hook;
        std::atomic<bool> removed = false;
        explicit Slot(Function f) : hook(std::move(f)) {}
    };
    struct Hooks {
        std::mutex mutex;
        std::vector<std::shared_ptr<Slot>> slots;
    };
    std::vector<std::shared_ptr<Slot>> snapshot() const
    {
        std::lock_guard const lock(hooks_->mutex);
        return hooks_->slots;
    }
    std::shared_ptr<Hooks> hooks_;
};

}  // namespace detail
}  // namespace xgrad
