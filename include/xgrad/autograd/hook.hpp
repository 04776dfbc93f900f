// Hooks: thread-safe lists of std::function, called in the order of registration, and HookHandle,
// which removes a hook from its list.
//
// Gradients: hooks see them, and may replace them: see node.hpp and tensor/hooks.hpp.
//
// Read next: run_node.hpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <xgrad/core/config.hpp>

namespace xgrad {

/// Removes the hook for which it was returned. Destroying the handle leaves the hook registered. A
/// second remove() has no effect.
class HookHandle {
public:
    HookHandle() = default;
    explicit HookHandle(std::function<void()> remove) : remove_(std::move(remove)) {}
    /// Removes the hook: it does not run any more.
    XGRAD_LAZY void remove();

private:
    std::function<void()> remove_;
};

namespace detail {

/// A key that is unique in the program. An address is not: memory is reused. Copies are equal.
class Identity {
public:
    Identity() noexcept : id_(last.fetch_add(1, std::memory_order_relaxed) + 1) {}
    bool operator==(Identity const&) const noexcept = default;

private:
    static inline constinit std::atomic<std::uint64_t> last{0};
    std::uint64_t id_;
};

/// A T that the first caller of made() creates; thread-safe, without a lock.
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

/// A hook in a list, without its signature.
struct HookSlot {
    std::atomic<bool> removed = false;
};
using HookSlots = std::vector<std::shared_ptr<HookSlot>>;

/// The part of HookList that does not depend on the signature, compiled once.
class AnyHookList {
public:
    /// True where a hook is in the list.
    XGRAD_LAZY bool any() const;

    /// A copy of the list. A hook that is removed later is not called.
    XGRAD_LAZY HookSlots slots() const;

protected:
    XGRAD_LAZY HookHandle add(std::shared_ptr<HookSlot> slot, bool first);

private:
    struct Hooks {
        std::mutex mutex;
        HookSlots slots;
    };
    MadeOnce<Hooks> hooks_;
};

/// A list of hooks. Any thread may add and remove. During a call of the list a hook may remove
/// itself or a later hook, which is then not called, and may add hooks, which are called from the
/// next pass on.
template <class Signature> class HookList : public AnyHookList {
public:
    using Function = std::function<Signature>;

    /// Adds f at the end, or at the beginning.
    HookHandle add(Function f, bool first = false) {
        return AnyHookList::add(std::make_shared<Slot>(std::move(f)), first);
    }

    /// Calls visit(hook) for each hook in order.
    template <class F> void for_each(F visit) const { for_each(slots(), visit); }
    /// Calls visit(hook) for each hook of a copy that slots() returned.
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
