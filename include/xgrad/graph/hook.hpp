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

/// A shared T that the first to ask for it makes, whichever thread that is in.
template <class T> class MadeOnce {
public:
    MadeOnce() noexcept = default;
    MadeOnce(MadeOnce&& o) noexcept : made_(o.made_.exchange(nullptr)) {}
    MadeOnce& operator=(MadeOnce&& o) noexcept
    {
        delete made_.exchange(o.made_.exchange(nullptr));
        return *this;
    }
    ~MadeOnce() { delete made_.load(std::memory_order_relaxed); }

    /// Null where it has not been made.
    T* get() const noexcept
    {
        auto const* const made = made_.load(std::memory_order_acquire);
        return made ? made->get() : nullptr;
    }
    std::shared_ptr<T> const& made(auto... arguments) const
    {
        auto* made = made_.load(std::memory_order_acquire);
        if (!made) {
            auto fresh = std::make_unique<std::shared_ptr<T>>(std::make_shared<T>(arguments...));
            if (made_.compare_exchange_strong(made, fresh.get(), std::memory_order_acq_rel)) made = fresh.release();
        }
        return *made;
    }

private:
    mutable std::atomic<std::shared_ptr<T>*> made_{nullptr};
};

/// A list of hooks. While it runs, a hook may remove itself or a later one (which then does not run), and add others
/// (which run from the next pass on). Any thread may add and remove.
template <class Signature> class HookList {
public:
    using Function = std::function<Signature>;

    HookList() noexcept = default;
    HookList(HookList const&) = delete;
    HookList& operator=(HookList const&) = delete;

    /// Puts f behind the others, or before them.
    HookHandle add(Function f, bool first = false)
    {
        auto const& hooks = hooks_.made();
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
        auto* const hooks = hooks_.get();
        if (!hooks) return false;
        std::lock_guard const lock(hooks->mutex);
        return !hooks->slots.empty();
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
        auto* const hooks = hooks_.get();
        if (!hooks) return {};
        std::lock_guard const lock(hooks->mutex);
        return hooks->slots;
    }

private:
    struct Hooks {
        std::mutex mutex;
        Snapshot slots;
    };
    MadeOnce<Hooks> hooks_;
};

}  // namespace detail
}  // namespace xgrad
