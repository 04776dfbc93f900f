// Bodies of thread_state.hpp.
#pragma once

#include <xgrad/graph/thread_state.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION std::vector<void*> ThreadState::addresses() {
    std::vector<void*> all;
    for (auto const* state = first; state; state = state->next_) all.push_back(state->here_());
    return all;
}

XGRAD_FUNCTION void ThreadState::swap_with(std::vector<void*> const& others) {
    auto const* state = first;
    for (void* const other : others) {
        state->swap_(state->here_(), other);
        state = state->next_;
    }
}

} // namespace xgrad::detail
