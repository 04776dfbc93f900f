// The random generator of a thread. Only bodies include <random>.
#pragma once

#include <random>

#include <xgrad/autograd/thread_state.hpp>

namespace xgrad::detail {

/// A variable of the function: g++ for MinGW defines the initialisation of an inline thread_local
/// variable in every file, and the program does not link.
inline std::mt19937_64& generator() {
    static thread_local std::mt19937_64 one{5489};
    return one;
}
inline ThreadState const generator_is_thread_state([]() -> void* { return &generator(); },
    [](void* a, void* b) {
        std::swap(*static_cast<std::mt19937_64*>(a), *static_cast<std::mt19937_64*>(b));
    });

} // namespace xgrad::detail
