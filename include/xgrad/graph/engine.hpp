// The engine: runs each Node after all its gradients have arrived, the newest Node first,
// accumulates gradients that meet, and returns captured gradients (graph_task.hpp). Its state
// belongs to one pass, so a pass may start inside another one, and an exception leaves nothing to
// clean up.
#pragma once

#include <thread>
#include <tuple>

#include <xgrad/graph/graph_task.hpp>
#include <xgrad/graph/thread_state.hpp>

namespace xgrad::detail {

inline constinit thread_local std::size_t pass_depth = 0;
inline constexpr std::size_t passes_per_stack = 64;

inline void run_on_fresh_stack(std::span<Root> roots, std::span<Capture> captures, bool keep_graph,
    bool create_graph, std::uint64_t oldest);

/// Runs one backward pass. With captures, only Nodes on a path to a captured gradient run. Without
/// keep_graph, Nodes release their saved tensors. With create_graph the pass is recorded. A pass
/// may start inside another one: every 64 levels the next one continues on a new stack. The pass
/// stops at Nodes with a sequence number below `oldest`: the caller knows that they lead to no
/// capture.
inline void run_backward(std::span<Root> roots, std::span<Capture> captures, bool keep_graph,
    bool create_graph, std::uint64_t oldest = 0) {
    if (pass_depth == passes_per_stack)
        return run_on_fresh_stack(roots, captures, keep_graph, create_graph, oldest);
    struct Level {
        Level() noexcept { ++pass_depth; }
        ~Level() { --pass_depth; }
    } const level;
    GraphTask task(captures, keep_graph, oldest);
    {
        PassMode const mode(create_graph);
        task.run(roots);
    }
    task.run_callbacks();
}

/// run_backward() on the stack of a new thread with the thread-local variables of this one.
/// Rethrows what it throws.
[[gnu::cold]] inline void run_on_fresh_stack(std::span<Root> roots, std::span<Capture> captures,
    bool keep_graph, bool create_graph, std::uint64_t oldest) {
    auto const variables = [] {
        return std::tie(grad_mode, inference_mode, differentiated, anomaly, default_packing,
            packing_disabled, current_pass, next_sequence);
    };
    auto callers = variables();
    auto const others = ThreadState::addresses();
    auto const exchange = [&] {
        variables().swap(callers);
        ThreadState::swap_with(others);
    };
    std::exception_ptr thrown;
    auto const run = [&, locks = lock_identity ? lock_identity : &own_lock_identity] {
        lock_identity = locks;
        exchange();
        try {
            run_backward(roots, captures, keep_graph, create_graph, oldest);
        } catch (...) { thrown = std::current_exception(); }
        exchange();
    };
    std::thread(run).join();
    if (thrown) std::rethrow_exception(thrown);
}

} // namespace xgrad::detail
