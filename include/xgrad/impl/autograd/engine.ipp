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
void run_on_fresh_stack(std::span<Root> roots, Captures captures, bool keep_graph,
    bool create_graph, std::uint64_t oldest);

/// The gradient 1 of a real number, which a thread uses again in each pass.
inline constinit thread_local TensorImpl* number_one = nullptr;

/// Makes it, also where the last pass left a reference to it, or a change.
[[gnu::cold]] XGRAD_FUNCTION void make_number_one(TypeInfo const& type) {
    struct Owner {
        AnyTensor one;
        ~Owner() { number_one = nullptr; }
    };
    static thread_local Owner owner;
    owner.one = type.filled({}, 1);
    number_one = owner.one.handle().get();
}

XGRAD_INLINE void Root::define() {
    if (gradient.defined()) return;
    if (!shape.empty()) return void(gradient = type.filled(shape, 1));
    if (auto const* const one = number_one;
        !one || one->type != &type || one->refs.load() != 1 || one->requires_grad ||
        one->inference != inference_mode || one->array.storage->refs.load() != 1 ||
        one->array.storage->version() != 0) [[unlikely]]
        make_number_one(type);
    gradient = AnyTensor(Ref<TensorImpl>(number_one));
}

XGRAD_FUNCTION bool pass_reaches(Node const& node) { return current_pass->reaches(node); }
XGRAD_FUNCTION std::shared_ptr<void>& pass_data(Identity of) { return current_pass->hook_data(of); }

XGRAD_FUNCTION void on_pass_failure(std::function<void()> f) {
    current_pass->extras().failure_callbacks.push_back(std::move(f));
}

XGRAD_FUNCTION void run_backward(std::span<Root> roots, Captures captures, bool keep_graph,
    bool create_graph, std::uint64_t oldest) {
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

XGRAD_FUNCTION void run_on_fresh_stack(std::span<Root> roots, Captures captures, bool keep_graph,
    bool create_graph, std::uint64_t oldest) {
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
    detail::current_pass->extras().callbacks.push_back(std::move(f));
}

} // namespace xgrad
