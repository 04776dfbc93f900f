// The engine: runs Nodes from the newest to the oldest, each when all its gradients have arrived; adds what meets; hands
// captured gradients back. It holds no state between passes, so a pass may start inside another, and an exception leaves
// nothing behind. Read graph_task.hpp for how.
#pragma once

#include <thread>

#include <xgrad/graph/graph_task.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::detail {

/// True for a Node whose inputs are all different leaves: a whole graph of one Node.
inline bool leads_to_distinct_leaves(Node const& node)
{
    auto const edges = node.next_edges();
    if (edges.size() > 4) return false;
    for (std::size_t i = 0; i < edges.size(); ++i) {
        if (!edges[i]) continue;
        if (edges[i].function->sequence_nr() != leaf_sequence) return false;
        for (std::size_t j = 0; j < i; ++j)
            if (edges[j].function == edges[i].function) return false;
    }
    return true;
}

/// The pass over such a graph, which needs no notes.
class SingleNodePass final : public BackwardPass {
public:
    explicit SingleNodePass(Node& node) noexcept : node_(node) {}

    void run(Root& root, bool keep_graph)
    {
        auto const edges = node_.next_edges();
        LocalArray<AnyTensor, 4> results(edges.size());
        if (!takes_short_way(root, results.span(), keep_graph)) {
            root.define();
            std::span const gradients(&root.gradient, 1);
            run_tensor_hooks(node_, gradients);
            run_node(node_, gradients, results.span(), keep_graph);
        }
        for (std::size_t i = 0; i < edges.size(); ++i) {
            if (!edges[i]) continue;
            auto& leaf = static_cast<AccumulateGrad&>(*edges[i].function);
            if (!anomaly.enabled && !NodeHooks::of(leaf)) [[likely]] {
                NodeLock const lock(leaf);
                leaf.collect(results[i]);
                continue;
            }
            std::span const result(&results[i], 1);
            run_tensor_hooks(leaf, result);
            run_node(leaf, result, {}, keep_graph);
        }
    }
    bool reaches(Node const& node) const override
    {
        return &node == &node_ || std::ranges::any_of(node_.next_edges(), [&](Edge const& e) { return e.function.get() == &node; });
    }

private:
    bool takes_short_way(Root const& root, std::span<AnyTensor> results, bool keep_graph)
    {
        if (root.gradient.defined() || grad_mode || anomaly.enabled || NodeHooks::of(node_)) return false;
        NodeLock const lock(node_);
        if (!node_.apply_to_one(results)) return false;
        if (!keep_graph) node_.release_saved();
        return true;
    }

    Node& node_;
};

inline constinit thread_local std::size_t pass_depth = 0;
inline constexpr std::size_t passes_per_stack = 64;

/// Runs f on a thread of its own, with this thread's modes and sequence numbers, and hands back what it throws.
template <class F> void on_fresh_stack(F f)
{
    std::exception_ptr thrown;
    auto sequence = next_sequence;
    auto run = [&, grad = grad_mode, inference = inference_mode, state = anomaly, packing = default_packing, disabled = packing_disabled, pass = current_pass, locks = lock_identity ? lock_identity : &own_lock_identity] {
        grad_mode = grad;
        inference_mode = inference;
        anomaly = state;
        default_packing = packing;
        packing_disabled = disabled;
        current_pass = pass;
        lock_identity = locks;
        next_sequence = sequence;
        try {
            f();
        } catch (...) {
            thrown = std::current_exception();
        }
        sequence = next_sequence;
    };
    std::thread(run).join();
    next_sequence = sequence;
    if (thrown) std::rethrow_exception(thrown);
}

/// One backward pass. With captures only what leads to them runs. What the Nodes saved is freed unless keep_graph; with
/// create_graph the pass itself is recorded. A pass may start inside another; every 64th level continues on a stack of its own.
/// Where it is known that no Node before number `oldest` leads to a capture, the pass stops there.
inline void run_backward(std::span<Root> roots, std::span<Capture> captures, bool keep_graph, bool create_graph, std::uint64_t oldest = 0)
{
    if (pass_depth == passes_per_stack) return on_fresh_stack([&] { run_backward(roots, captures, keep_graph, create_graph, oldest); });
    struct Level {
        Level() noexcept { ++pass_depth; }
        ~Level() { --pass_depth; }
    } const level;
    auto const run = [&](auto& pass, auto&&... arguments) {
        {
            AutoGradMode const mode(create_graph);
            pass.run(arguments...);
        }
        pass.run_callbacks();
    };
    if (roots.size() == 1 && captures.empty() && roots[0].edge.function->num_outputs() == 1 && leads_to_distinct_leaves(*roots[0].edge.function)) {
        SingleNodePass pass(*roots[0].edge.function);
        run(pass, roots[0], keep_graph);
    } else {
        GraphTask pass(captures, keep_graph, oldest);
        run(pass, roots);
    }
}

}  // namespace xgrad::detail
