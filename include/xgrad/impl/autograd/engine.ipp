// Bodies of engine.hpp.
#pragma once

#include <system_error>
#include <thread>
#include <utility>

#include <xgrad/autograd/engine.hpp>
#include <xgrad/core/thread_state.hpp>
#include <xgrad/impl/autograd/graph_task.ipp>

namespace xgrad::detail {

inline constexpr std::size_t passes_per_stack = 64;

/// The gradient 1 of a real number, which a thread uses again in each pass.
inline constinit thread_local TensorImpl* number_one = nullptr;

/// Makes it, also where the last pass left a reference to it, or a change.
[[gnu::cold]] XGRAD_FUNCTION void make_number_one(TypeInfo const& type) {
    struct Owner {
        AnyTensor one;
        ~Owner() { number_one = nullptr; }
    };
    static thread_local Owner owner;
    owner.one = real_scalar(type, 1);
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

/// It is a template so that only programs that leave something with a pass instantiate it.
template <class = void> struct HookExtras final : GraphTask::Extras {
    std::vector<std::function<void()>> callbacks, failure_callbacks;
    PassData hook_data;

    static HookExtras& current() {
        auto& extras = current_pass->extras;
        if (!extras) extras = new HookExtras;
        return static_cast<HookExtras&>(*extras);
    }
    /// In the order of queueing. A callback may queue others.
    void run_callbacks() override {
        for (std::size_t i = 0; i < callbacks.size(); ++i) std::exchange(callbacks[i], nullptr)();
    }
    void run_failure_callbacks() override {
        for (auto const& f : failure_callbacks) f();
    }
};

XGRAD_LAZY_BODY std::shared_ptr<void>& pass_data(Identity of) {
    auto& all = current_pass ? HookExtras<>::current().hook_data : *forward_data;
    for (auto& [key, hook_data] : all)
        if (key == of) return hook_data;
    return all.emplace_back(of, nullptr).second;
}

XGRAD_LAZY_BODY void on_pass_failure(std::function<void()> f) {
    HookExtras<>::current().failure_callbacks.push_back(std::move(f));
}

/// Copies of the variables of a thread that a pass takes along to another stack.
struct PassVariables {
    bool grad = grad_mode, inference = inference_mode, in_function = differentiated;
    AnomalyState anomalies = anomaly;
    std::shared_ptr<Packing const> const* packing = default_packing;
    std::string const* disabled = packing_disabled;
    GraphTask* pass = current_pass;
    std::uint64_t sequence = next_sequence;

    void set() const noexcept {
        grad_mode = grad, inference_mode = inference, differentiated = in_function;
        anomaly = anomalies, default_packing = packing, packing_disabled = disabled;
        current_pass = pass, next_sequence = sequence;
    }
};

XGRAD_FUNCTION void run_backward(std::span<Root> roots, Captures captures, bool keep_graph,
    bool create_graph, std::uint64_t oldest) {
    if (pass_depth == passes_per_stack)
        if (auto* const continued = on_fresh_stack.load(std::memory_order_relaxed))
            return continued(roots, captures, keep_graph, create_graph, oldest);
    GraphTask task(captures, keep_graph, oldest);
    try {
        {
            PassMode const mode(create_graph);
            task.run(roots);
        }
        if (task.extras) task.extras->run_callbacks();
    } catch (...) {
        if (task.extras) task.extras->run_failure_callbacks();
        throw;
    }
}

XGRAD_LAZY_BODY void run_on_fresh_stack(std::span<Root> roots, Captures captures, bool keep_graph,
    bool create_graph, std::uint64_t oldest) {
    PassVariables variables;
    auto const others = ThreadState::addresses();
    std::exception_ptr thrown;
    auto const run = [&, locks = lock_identity ? lock_identity : &own_lock_identity] {
        lock_identity = locks;
        variables.set();
        ThreadState::swap_with(others);
        auto const depth = std::exchange(pass_depth, 0);
        try {
            run_backward(roots, captures, keep_graph, create_graph, oldest);
        } catch (...) { thrown = std::current_exception(); }
        pass_depth = depth;
        ThreadState::swap_with(others);
        variables = {};
    };
    try {
        std::thread(run).join();
    } catch (std::system_error const&) {
        run(); // there are no more threads, or none at all: on this stack
    }
    variables.set();
    if (thrown) std::rethrow_exception(thrown);
}

XGRAD_LAZY_BODY void allow_nested_passes() noexcept {
    on_fresh_stack.store(&run_on_fresh_stack, std::memory_order_relaxed);
}

} // namespace xgrad::detail

namespace xgrad {

XGRAD_LAZY_BODY void queue_callback(std::function<void()> f) {
    if (!detail::current_pass)
        detail::fail<GraphError>("Final callbacks can only be installed during backward pass.");
    detail::HookExtras<>::current().callbacks.push_back(std::move(f));
}

} // namespace xgrad
