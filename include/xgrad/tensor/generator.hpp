// The random generator of a thread. Only bodies include <random>.
#pragma once

#include <random>

#include <xgrad/autograd/thread_state.hpp>

namespace xgrad::detail {

inline thread_local std::mt19937_64 generator{5489};
inline ThreadState const generator_is_thread_state([]() -> void* { return &generator; },
    [](void* a, void* b) {
        std::swap(*static_cast<std::mt19937_64*>(a), *static_cast<std::mt19937_64*>(b));
    });

} // namespace xgrad::detail
