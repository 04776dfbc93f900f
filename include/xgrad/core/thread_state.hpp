// ThreadState: registry of thread-local variables that a backward pass takes along when it
// continues on the stack of another thread (engine.hpp). Caches are not registered: any thread's
// will do.
#pragma once

#include <utility>

#include <xgrad/core/memory.hpp>

namespace xgrad::detail {

/// A registered variable, in a linked list of all.
class ThreadState {
public:
    /// `here` gives the address of the calling thread's variable, `swap` exchanges the values of
    /// two.
    ThreadState(void* (*here)(), void (*swap)(void* a, void* b)) noexcept
        : here_(here), swap_(swap), next_(std::exchange(first, this)) {}
    ThreadState(ThreadState const&) = delete;
    ThreadState& operator=(ThreadState const&) = delete;

    /// The addresses of all variables of the calling thread.
    static CachedVector<void*> addresses() {
        CachedVector<void*> all;
        for (auto const* state = first; state; state = state->next_) all.push_back(state->here_());
        return all;
    }
    /// Exchanges the values of the calling thread's variables with those of another thread, which
    /// waits.
    static void swap_with(CachedVector<void*> const& others) {
        auto const* state = first;
        for (void* const other : others) {
            state->swap_(state->here_(), other);
            state = state->next_;
        }
    }

private:
    static inline constinit ThreadState const* first = nullptr;

    void* (*here_)();
    void (*swap_)(void*, void*);
    ThreadState const* next_;
};

} // namespace xgrad::detail
