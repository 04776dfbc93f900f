// Bodies of engine.hpp.
#pragma once

#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include <xgrad/autograd/engine.hpp>
#include <xgrad/autograd/thread_state.hpp>
#include <xgrad/impl/autograd/graph_task.ipp>

namespace xgrad::detail {

inline constinit thread_local std::size_t pass_depth = 0;
inline constexpr std::size_t passes_per_stack = 64;

/// run_backward() on the stack of a new thread with the thread-local variables of this one.
/// Rethrows what it throws.
void run_on_fresh_stack(std::span<Root> roots, std::span<Capture> captures, bool keep_graph,
    bool create_graph, std::uint64_t oldest);

XGRAD_FUNCTION void Root::define() {
    if (!gradient.defined()) gradient = type.filled(shape, 1);
}

XGRAD_FUNCTION bool pass_reaches(Node const& node) { return current_pass->reaches(node); }
XGRAD_FUNCTION std::shared_ptr<void>& pass_data(Identity of) { return current_pass->hook_data(of); }

XGRAD_FUNCTION void on_pass_failure(std::function<void()> f) {
    current_pass->on_failure(std::move(f));
}

XGRAD_FUNCTION void run_backward(std::span<Root> roots, std::span<Capture> captures,
    bool keep_graph, bool create_graph, std::uint64_t oldest) {
    if (pass_depth == passes_per_stack)
        return run_on_fresh_stack(roots, captures, keep_graph, create_graph, oldest);
    struct Level {
        Level() noexcept { ++pass_depth; }
        ~Level() { --pass_depth; }
    } const level;
    GraphTask task(captures, keep_graph, oldest);
    try {
        {
            PassMode const mode(create_graph);
            task.run(roots);
        }
        task.run_callbacks();
    } catch (...) {
        task.run_failure_callbacks();
        throw;
    }
}

XGRAD_FUNCTION void run_on_fresh_stack(std::span<Root> roots, std::span<Capture> captures,
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
        auto const depth = std::exchange(pass_depth, 0);
        try {
            run_backward(roots, captures, keep_graph, create_graph, oldest);
        } catch (...) { thrown = std::current_exception(); }
        pass_depth = depth;
        exchange();
    };
    try {
        std::thread(run).join();
    } catch (std::system_error const&) {
        run(); // there are no more threads, or none at all: on this stack
    }
    if (thrown) std::rethrow_exception(thrown);
}

} // namespace xgrad::detail

namespace xgrad {

XGRAD_FUNCTION void queue_callback(std::function<void()> f) {
    if (!detail::current_pass)
        detail::fail<GraphError>("Final callbacks can only be installed during backward pass.");
    detail::current_pass->queue(std::move(f));
}

} // namespace xgrad
