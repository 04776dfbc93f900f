// Hooks: lists of std::function that run in the order of their registration, and handles that
// remove from them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <xgrad/base/config.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad {

/// Removes the hook that it was returned for. Letting it go leaves the hook in place; removing
/// twice is harmless.
class HookHandle {
public:
    HookHandle() = default;
    explicit HookHandle(std::function<void()> remove) : remove_(std::move(remove)) {}
    void remove() {
        if (auto const r = std::exchange(remove_, nullptr)) r();
    }

private:
    std::function<void()> remove_;
};

namespace detail {

/// What no other object of the program has or had: a key for notes, which an address is not, since
/// memory is used again. Copies share it.
class Identity {
public:
    Identity() noexcept : number_(last.fetch_add(1, std::memory_order_relaxed) + 1) {}
    bool operator==(Identity const&) const noexcept = default;

private:
    static inline constinit std::atomic<std::uint64_t> last{0};
    std::uint64_t number_;
};

/// A shared T that the first to ask for it makes, whichever thread that is in.
template <class T> class MadeOnce {
public:
    MadeOnce() noexcept = default;
    MadeOnce(MadeOnce&& o) noexcept : made_(o.made_.exchange(nullptr)) {}
    MadeOnce& operator=(MadeOnce&& o) noexcept {
        delete made_.exchange(o.made_.exchange(nullptr));
        return *this;
    }
    ~MadeOnce() { delete made_.load(std::memory_order_relaxed); }

    /// Null where it has not been made.
    T* get() const noexcept {
        auto const* const made = made_.load(std::memory_order_acquire);
        return made ? made->get() : nullptr;
    }
    std::shared_ptr<T> const& made(auto... arguments) const {
        auto* made = made_.load(std::memory_order_acquire);
        if (!made) {
            auto fresh = std::make_unique<std::shared_ptr<T>>(std::make_shared<T>(arguments...));
            if (made_.compare_exchange_strong(made, fresh.get(), std::memory_order_acq_rel))
                made = fresh.release();
        }
        return *made;
    }

private:
    mutable std::atomic<std::shared_ptr<T>*> made_{nullptr};
};

/// A hook in a list, whatever it is called with.
struct HookSlot {
    std::atomic<bool> removed = false;

    HookSlot() noexcept = default;
    HookSlot(HookSlot const&) = delete;
    HookSlot& operator=(HookSlot const&) = delete;
    virtual ~HookSlot() = default;
};
using HookSlots = std::vector<std::shared_ptr<HookSlot>>;

/// What is the same for all lists of hooks, and compiled once for them.
class AnyHookList {
public:
    AnyHookList() noexcept = default;
    AnyHookList(AnyHookList const&) = delete;
    AnyHookList& operator=(AnyHookList const&) = delete;

    /// True where a hook is in the list.
    bool any() const {
        auto* const hooks = hooks_.get();
        if (!hooks) return false;
        std::lock_guard const lock(hooks->mutex);
        return !hooks->slots.empty();
    }

    /// The hooks of now, to be called later, unless they are removed before.
    HookSlots slots() const {
        auto* const hooks = hooks_.get();
        if (!hooks) return {};
        std::lock_guard const lock(hooks->mutex);
        return hooks->slots;
    }

protected:
    HookHandle add(std::shared_ptr<HookSlot> slot, bool first) {
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

private:
    struct Hooks {
        std::mutex mutex;
        HookSlots slots;
    };
    MadeOnce<Hooks> hooks_;
};

/// A list of hooks. While it runs, a hook may remove itself or a later one (which then does not
/// run), and add others (which run from the next pass on). Any thread may add and remove.
template <class Signature> class HookList : public AnyHookList {
public:
    using Function = std::function<Signature>;

    /// Puts f behind the others, or before them.
    HookHandle add(Function f, bool first = false) {
        return AnyHookList::add(std::shared_ptr<HookSlot>(new Slot(std::move(f))), first);
    }

    /// Calls visit(hook) for each hook in turn.
    template <class F> void for_each(F visit) const { for_each(slots(), visit); }
    /// The same for those that slots() of such a list gave before.
    template <class F> static void for_each(HookSlots const& slots, F visit) {
        for (auto const& slot : slots)
            if (!slot->removed) visit(hook(*slot));
    }
    static Function const& hook(HookSlot const& slot) noexcept {
        return static_cast<Slot const&>(slot).hook;
    }

private:
    struct Slot final : HookSlot {
        Function hook;
        explicit Slot(Function f) noexcept : hook(std::move(f)) {}
    };
};

} // namespace detail
} // namespace xgrad
