// The engine: runs each Node after all its gradients have arrived, the newest Node first,
// accumulates gradients that meet, and returns captured gradients. It has no state between passes,
// so a pass may start inside another one, and an exception leaves nothing to clean up.
// Three passes with the same semantics, chosen in run_backward() by the shape of the graph: a
// single Node (run_single_node), a chain (ChainPass), any graph (GraphTask). The first two save the
// state of each Node (benchmarks: recurrence, rational at n = 4).
// Read next: graph_task.hpp.
#pragma once

#include <thread>
#include <tuple>

#include <xgrad/graph/graph_task.hpp>
#include <xgrad/graph/thread_state.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::detail {

/// Pass over a chain: each Node leads to the next one and to leaves, at most 16 different ones. No
/// state per Node is allocated. Only gradients of these leaves can be captured.
class ChainPass final : public BackwardPass {
public:
    ChainPass(Node& first, std::span<Capture> captures) noexcept
        : first_(first), captures_(captures) {
        for (Node* node = &first; node && fits_; ++length_) {
            fits_ = node->num_outputs() == 1;
            node = visit(*node);
        }
        if (captures_.empty()) return;
        std::size_t used = 0; // Nodes that lead to a captured gradient
        for (auto const& capture : captures_) {
            auto const leaf = index_of(*capture.edge.function);
            fits_ &= leaf != leaf_count_ && !capture.also_run;
            if (!fits_) return;
            leaves_[leaf].wanted = true;
            used = std::max(used, leaves_[leaf].last + 1);
        }
        length_ = used;
    }
    /// False for any other graph.
    bool fits() const noexcept { return fits_; }

    void run(Root& root, bool keep_graph) {
        LocalArray<AnyTensor, max_leaves> sums(meets_ ? leaf_count_ : 0);
        for (Node* next = &first_; position_ < length_; ++position_) {
            running_ = next;
            auto const edges = running_->next_edges();
            LocalArray<AnyTensor, 8> results(edges.size());
            run_one(*running_, root, results.span(), sums.data(), keep_graph);
            root.gradient = {};
            for (std::size_t k = 0; k < edges.size(); ++k) {
                if (!edges[k]) continue;
                Node& to = *edges[k].function;
                if (!is_leaf(to)) {
                    next = &to;
                    root.gradient = std::move(results[k]);
                } else if (meets_) arrive(index_of(to), results[k], sums.data(), keep_graph);
                else deliver(to, results[k], keep_graph);
            }
        }
    }
    bool reaches(Node const& node) const override {
        if (is_leaf(node) && &node != &first_) {
            auto const leaf = index_of(node);
            return leaf != leaf_count_ && leaves_[leaf].wanted;
        }
        // most calls ask for the Node after the one that runs
        return is_among(node, *running_, length_ - position_) || is_among(node, first_, position_);
    }

private:
    static constexpr std::size_t max_leaves = 16;

    struct Leaf {
        Node* node;
        std::size_t last; // index of the last Node with an edge to this leaf
        std::uint32_t pending;
        bool wanted;
    };

    /// Index of a leaf in leaves_; leaf_count_ where it is not there.
    XGRAD_INLINE std::size_t index_of(Node const& leaf) const noexcept {
        std::size_t l = 0;
        while (l < leaf_count_ && leaves_[l].node != &leaf) ++l;
        return l;
    }
    /// True where `node` is one of `count` Nodes of the chain, beginning with `first`.
    static bool is_among(Node const& node, Node const& first, std::size_t count) noexcept {
        for (Node const* at = &first; count > 0 && at; --count) {
            if (at == &node) return true;
            auto const edges = at->next_edges();
            auto const next = std::ranges::find_if(
                edges, [](Edge const& e) { return e && !is_leaf(*e.function); });
            at = next == edges.end() ? nullptr : next->function.get();
        }
        return false;
    }

    /// Adds the leaves of `node` to leaves_. Returns the next Node of the chain, or null at its
    /// end. Clears fits_ where the graph is no chain.
    XGRAD_INLINE Node* visit(Node& node) noexcept {
        Node* next = nullptr;
        for (auto const& edge : node.next_edges()) {
            Node* const to = edge.function.get();
            if (!to) continue;
            if (!is_leaf(*to)) {
                fits_ &= !next;
                next = to;
            } else if (auto const known = index_of(*to); known != leaf_count_) {
                leaves_[known].last = length_;
                ++leaves_[known].pending;
                meets_ = true;
            } else if (leaf_count_ == max_leaves) fits_ = false;
            else leaves_[leaf_count_++] = {to, length_, 1, captures_.empty()};
        }
        return next;
    }

    XGRAD_INLINE void run_one(
        Node& node, Root& root, std::span<AnyTensor> results, AnyTensor* sums, bool keep_graph) {
        bool const observed = must_apply(node);
        if (position_ == 0) {
            if (!observed && !root.gradient.defined() && run_from_one(node, results, keep_graph))
                return;
            root.define();
        }
        std::span const gradients(&root.gradient, 1);
        if (observed) run_tensor_hooks(node, gradients);
        else if (meets_ && run_onto_sums(node, gradients, results, keep_graph, [&](Edge const& e) {
                     return is_leaf(*e.function) ? &sums[index_of(*e.function)] : nullptr;
                 }))
            return;
        run_node(node, gradients, results, keep_graph);
    }
    /// Adds one of several gradients of a leaf. The last one delivers the sum.
    XGRAD_INLINE void arrive(
        std::size_t index, AnyTensor& gradient, AnyTensor* sums, bool keep_graph) {
        auto& leaf = leaves_[index];
        if (!leaf.wanted) return;
        add_gradient(sums[index], std::move(gradient));
        if (--leaf.pending == 0) deliver(*leaf.node, sums[index], keep_graph);
    }
    void deliver(Node& leaf, AnyTensor& gradient, bool keep_graph) {
        if (captures_.empty()) run_leaf(leaf, gradient, keep_graph);
        else capture_gradient(leaf, gradient);
    }
    void capture_gradient(Node& leaf, AnyTensor& gradient) {
        bool hooked = false;
        for (auto& capture : captures_) {
            if (capture.edge.function.get() != &leaf) continue;
            if (!std::exchange(hooked, true)) run_tensor_hooks(leaf, std::span(&gradient, 1));
            capture.gradient = gradient;
        }
    }
    bool fits_ = true;
    bool meets_ = false; // a leaf gets more than one gradient
    std::size_t length_ = 0, leaf_count_ = 0, position_ = 0;
    Node& first_;
    Node* running_ = &first_;
    Leaf leaves_[max_leaves];
    std::span<Capture> captures_;
};

/// Calls deliver(leaf, gradient) for the gradients of one Node that the forward pass has computed
/// already. Applies where each edge leads to a different leaf and no hook or mode observes the
/// Node. Otherwise returns false, without effect.
template <class F> XGRAD_INLINE bool run_single_node(Node& node, F deliver) {
    AutoGradMode const mode(false);
    if (must_apply(node)) return false;
    auto const edges = node.next_edges();
    for (std::size_t k = 0; k < edges.size(); ++k) {
        Node const* const leaf = edges[k].function.get();
        if (!leaf || !is_leaf(*leaf) || NodeHooks::of(*leaf)) return false;
        for (std::size_t i = 0; i < k; ++i)
            if (edges[i].function.get() == leaf) return false;
    }
    NodeLock const lock(node);
    auto const ready = node.ready_gradients();
    if (ready.empty()) return false;
    node.release_saved();
    for (std::size_t k = 0; k < edges.size(); ++k) {
        deliver(static_cast<AccumulateGrad&>(*edges[k].function), ready[k]);
        ready[k] = {}; // also where deliver() did not take it
    }
    return true;
}
/// A complete pass over a single Node: accumulates into its leaves.
inline bool run_single_node(Node& node) {
    return run_single_node(node, [](AccumulateGrad& leaf, AnyTensor& gradient) {
        NodeLock const lock(leaf);
        leaf.accumulate_gradient(gradient);
    });
}
/// A complete pass over a single Node: captures gradients of its leaves.
inline bool run_single_node(Node& node, std::span<Capture> captures) {
    for (auto const& capture : captures) {
        auto const leads_there = [&](Edge const& edge) {
            return edge.function == capture.edge.function;
        };
        if (capture.also_run || std::ranges::none_of(node.next_edges(), leads_there)) return false;
    }
    return run_single_node(node, [&](AccumulateGrad& leaf, AnyTensor& gradient) {
        for (auto& capture : captures)
            if (capture.edge.function.get() == &leaf) capture.gradient = gradient;
    });
}

inline constinit thread_local std::size_t pass_depth = 0;
inline constexpr std::size_t passes_per_stack = 64;

/// Runs f on the stack of a new thread with the thread-local variables of this one; rethrows what f
/// throws.
template <class F> void on_fresh_stack(F f) {
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
            f();
        } catch (...) { thrown = std::current_exception(); }
        exchange();
    };
    std::thread(run).join();
    if (thrown) std::rethrow_exception(thrown);
}

/// run_backward() for more than a single Node.
inline void run_pass(std::span<Root> roots, std::span<Capture> captures, bool keep_graph,
    bool create_graph, std::uint64_t oldest = 0) {
    if (pass_depth == passes_per_stack)
        return on_fresh_stack([&] { run_pass(roots, captures, keep_graph, create_graph, oldest); });
    struct Level {
        Level() noexcept { ++pass_depth; }
        ~Level() { --pass_depth; }
    } const level;
    auto const run = [&](auto& pass, auto&&... arguments) {
        {
            PassMode const mode(create_graph);
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

/// Runs one backward pass. With captures, only Nodes on a path to a captured gradient run. Without
/// keep_graph, Nodes release their saved tensors. With create_graph the pass is recorded. A pass
/// may start inside another one: every 64 levels the next one continues on a new stack. The pass
/// stops at Nodes with a sequence number below `oldest`: the caller knows that they lead to no
/// capture.
inline void run_backward(std::span<Root> roots, std::span<Capture> captures, bool keep_graph,
    bool create_graph, std::uint64_t oldest = 0) {
    bool const is_plain = roots.size() == 1 && !keep_graph && !create_graph;
    if (is_plain && !roots[0].gradient.defined())
        if (Node& node = *roots[0].edge.function;
            captures.empty() ? run_single_node(node) : run_single_node(node, captures))
            return;
    run_pass(roots, captures, keep_graph, create_graph, oldest);
}

} // namespace xgrad::detail
