// Running a body in several threads that start together.
#pragma once

#include <atomic>
#include <barrier>
#include <thread>

#include "walk.hpp"

/// Calls body(0), ..., body(count - 1) in threads of their own, none before all are there.
template <class Body> void at_once(int count, Body body) {
    std::barrier start(count);
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i)
        threads.emplace_back([&, i] {
            start.arrive_and_wait();
            body(i);
        });
    for (auto& t : threads) t.join();
}
