// The engine: runs Nodes from the newest to the oldest, each when all its gradients have arrived; adds what meets; hands
// captured gradients back. It holds no state between passes, so a pass may start inside another, and an exception leaves
// nothing behind. Read graph_task.hpp for how.
#pragma once

#include <thread>

#include <xgrad/graph/graph_task.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::detail {

/// The pass over a chain of few Nodes, each of which leads to the next one and to leaves, all of them different: nothing meets, so
/// that it needs no notes. What is captured, if anything, are gradients of such leaves.
class ChainPass final : public BackwardPass {
public:
    ChainPass(Node& first, std::span<Capture> captures) noexcept : captures_(captures)
    {
        for (Node* node = &first; node && fits_; node = next_of(*node)) {
            fits_ = length_ < most_nodes && node->num_outputs() == 1;
            if (fits_) nodes_[length_++] = node;
        }
        if (captures_.empty()) return;
        std::size_t used = 0;  // Nodes that lead to a captured gradient
        for (auto const& capture : captures_) {
            auto const* const leaf = std::find(leaves_, leaves_ + leaf_count_, capture.edge.function.get());
            fits_ &= leaf != leaves_ + leaf_count_ && !capture.also_run;
            if (!fits_) return;
            used = std::max(used, std::size_t{place_[leaf - leaves_]});
        }
        length_ = used;
    }
    /// False for a graph that is no such chain.
    bool fits() const noexcept { return fits_; }

    void run(Root& root, bool keep_graph)
    {
        for (std::size_t i = 0; i < length_; ++i) {
            Node& node = *nodes_[i];
            auto const edges = node.next_edges();
            LocalArray<AnyTensor, 8> results(edges.size());
            if (i > 0 || !takes_short_way(root, results.span(), keep_graph)) {
                if (i == 0) root.define();
                std::span const gradients(&root.gradient, 1);
                run_tensor_hooks(node, gradients);
                run_node(node, gradients, results.span(), keep_graph);
            }
            root.gradient = {};
            for (std::size_t k = 0; k < edges.size(); ++k) {
                if (!edges[k]) continue;
                if (edges[k].function->sequence_nr() != leaf_sequence) root.gradient = std::move(results[k]);
                else if (captures_.empty()) run_leaf(static_cast<AccumulateGrad&>(*edges[k].function), results[k], keep_graph);
                else hand_back(*edges[k].function, results[k]);
            }
        }
    }
    bool reaches(Node const& node) const override
    {
        if (!captures_.empty()) return std::find(nodes_, nodes_ + length_, &node) != nodes_ + length_ || std::ranges::any_of(captures_, [&](auto const& c) { return c.edge.function.get() == &node; });
        auto const leads_to = [&](Node const* n) { return n == &node || std::ranges::any_of(n->next_edges(), [&](Edge const& e) { return e.function.get() == &node; }); };
        return std::any_of(nodes_, nodes_ + length_, leads_to);
    }

private:
    static constexpr std::size_t most_nodes = 8, most_leaves = 16;

    /// The one Node that is no leaf's; null at the end of the chain, or where it is none.
    Node* next_of(Node& node) noexcept
    {
        Node* next = nullptr;
        for (auto const& edge : node.next_edges()) {
            Node* const to = edge.function.get();
            if (!to) continue;
            if (to->sequence_nr() != leaf_sequence) {
                fits_ &= !next;
                next = to;
            } else if (leaf_count_ == most_leaves || std::find(leaves_, leaves_ + leaf_count_, to) != leaves_ + leaf_count_) fits_ = false;
            else {
                place_[leaf_count_] = static_cast<std::uint8_t>(length_);
                leaves_[leaf_count_++] = to;
            }
        }
        return next;
    }
    void hand_back(Node& leaf, AnyTensor& gradient)
    {
        bool hooked = false;
        for (auto& capture : captures_) {
            if (capture.edge.function.get() != &leaf) continue;
            if (!std::exchange(hooked, true)) run_tensor_hooks(leaf, std::span(&gradient, 1));
            capture.gradient = gradient;
        }
    }
    static void run_leaf(AccumulateGrad& leaf, AnyTensor& gradient, bool keep_graph)
    {
        if (!anomaly.enabled && !NodeHooks::of(leaf)) [[likely]] {
            NodeLock const lock(leaf);
            return leaf.collect(gradient);
        }
        std::span const arrived(&gradient, 1);
        run_tensor_hooks(leaf, arrived);
        run_node(leaf, arrived, {}, keep_graph);
    }
    bool takes_short_way(Root const& root, std::span<AnyTensor> results, bool keep_graph)
    {
        Node& node = *nodes_[0];
        return !root.gradient.defined() && run_shorter(node, keep_graph, [&] { return node.apply_to_one(results); });
    }

    bool fits_ = true;
    std::size_t length_ = 0, leaf_count_ = 0;
    Node* nodes_[most_nodes];
    Node* leaves_[most_leaves];
    std::uint8_t place_[most_leaves];  // of each leaf, how many Nodes are needed to reach it
    std::span<Capture> captures_;
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
    if (roots.size() == 1 && oldest == 0) {
        ChainPass pass(*roots[0].edge.function, captures);
        if (pass.fits()) return run(pass, roots[0], keep_graph);
    }
    GraphTask pass(captures, keep_graph, oldest);
    run(pass, roots);
}

}  // namespace xgrad::detail
