// Hooks: lists of std::function that run in the order of their registration, and handles that remove from them.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
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
/// (which run from the next pass on).
template <class Signature> class HookList {
public:
    using Function = std::function<Signature>;

    HookHandle add(Function f)
    {
        slots_->push_back(std::make_shared<Slot>(Slot{std::move(f)}));
        return HookHandle([weak = std::weak_ptr(slots_), weak_slot = std::weak_ptr(slots_->back())] {
            auto const slots = weak.lock();
            auto const slot = weak_slot.lock();
            if (!slots || !slot) return;
            slot->removed = true;
            std::erase(*slots, slot);
        });
    }
    bool empty() const noexcept { return slots_->empty(); }

    /// Calls visit(hook) for each hook in turn.
    template <class F> void for_each(F visit) const
    {
        auto const now = *slots_;
        for (auto const& slot : now)
            if (!slot->removed) visit(slot->hook);
    }

private:
    struct Slot {
        Function hook;
        bool removed = false;
    };
    std::shared_ptr<std::vector<std::shared_ptr<Slot>>> slots_ = std::make_shared<std::vector<std::shared_ptr<Slot>>>();
};

}  // namespace detail
}  // namespace xgrad
