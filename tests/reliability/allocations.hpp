// operator new and delete of this program count, and can be told to fail; see allocation_test.cpp.
#pragma once

#include <new>

#include "mixed_graph.hpp"

namespace allocations {

/// Blocks that were allocated and not freed, and the bytes that they take.
long live();
long live_bytes();
/// Allocations so far, those that were freed included.
long count();
/// From now on the k-th allocation of this thread, counted from 0, throws std::bad_alloc.
void fail_at(long k);
/// Ends that.
void stop();
/// Set where a fault has happened.
inline bool injected = false;

/// Without the cache of free blocks, so that every allocation is one of the system's.
struct NoCache {
    NoCache() { xg::set_cache_limit(0); }
    ~NoCache() { xg::set_cache_limit(std::size_t{512} << 20); }
};

struct Outcome {
    long faults = 0;             // how many different calls failed in turn
    long leaked = 0;             // blocks
    char const* wrong = nullptr; // what the first round said that was wrong
};

/// True where the call f(), in which the k-th allocation fails, throws std::bad_alloc; with k < 0
/// none fails.
template <class F> bool fails(long k, F f) {
    bool threw = false;
    if (k >= 0) fail_at(k);
    try {
        f();
    } catch (std::bad_alloc const&) { threw = true; }
    stop();
    return threw;
}

/// Calls round(k), which lets the k-th fault happen and says what it found wrong, for k = 0, 1, ...
/// until it meets no fault. A round without faults (k = -1) stands between, so that what is made
/// once or kept for later has been made.
template <class Round> Outcome each_fault(Round round) {
    NoCache const off;
    Outcome outcome;
    outcome.wrong = round(-1);
    for (long k = 0;; ++k) {
        long const before = live();
        injected = false;
        char const* const wrong = round(k);
        bool const met = injected;
        char const* const wrong_again = round(-1);
        outcome.leaked += live() - before;
        if (!outcome.wrong) outcome.wrong = wrong ? wrong : wrong_again;
        if (!met) return outcome;
        ++outcome.faults;
    }
}

} // namespace allocations
