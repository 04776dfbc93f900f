// The random generator of a thread. Only bodies include <random>.
#pragma once

#include <random>

#include <xgrad/core/thread_state.hpp>

namespace xgrad::detail {

template <class Generator = std::mt19937_64> Generator& generator();

/// Takes the generator along, in programs that use it.
template <class Generator>
inline ThreadState const generator_state([]() -> void* { return &generator<Generator>(); },
    [](void* a, void* b) { std::swap(*static_cast<Generator*>(a), *static_cast<Generator*>(b)); });

/// A variable of the function: g++ for MinGW defines the initialisation of an inline thread_local
/// variable in every file, and the program does not link.
template <class Generator> Generator& generator() {
    static_cast<void>(&generator_state<Generator>);
    static thread_local Generator one{5489};
    return one;
}

} // namespace xgrad::detail
