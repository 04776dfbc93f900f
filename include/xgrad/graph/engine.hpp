// The engine: runs Nodes from the newest to the oldest, each when all its gradients have arrived;
// adds what meets; hands captured gradients back. It holds no state between passes, so a pass may
// start inside another, and an exception leaves nothing behind. Read graph_task.hpp for how.
#pragma once

#include <thread>
#include <tuple>

#include <xgrad/graph/graph_task.hpp>
#include <xgrad/graph/thread_state.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::detail {

/// The pass over a chain of Nodes, each of which leads to the next one and to few leaves: it needs
/// no notes on Nodes. What is captured, if anything, are gradients of such leaves.
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
    /// False for a graph that is no such chain.
    bool fits() const noexcept { return fits_; }

    void run(Root& root, bool keep_graph) {
        LocalArray<AnyTensor, most_leaves> sums(meets_ ? leaf_count_ : 0);
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
        // what is asked for is most often the Node after the one that runs
        return is_among(node, *running_, length_ - position_) || is_among(node, first_, position_);
    }

private:
    static constexpr std::size_t most_leaves = 16;

    struct Leaf {
        Node* node;
        std::size_t last; // the last Node of the chain that leads to it
        std::uint32_t pending;
        bool wanted;
    };

    /// Where a leaf stands among those of the chain; behind them all where it is none of them.
    XGRAD_INLINE std::size_t index_of(Node const& leaf) const noexcept {
        std::size_t l = 0;
        while (l < leaf_count_ && leaves_[l].node != &leaf) ++l;
        return l;
    }
    /// True for one of `count` Nodes of the chain from `first` on.
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

    /// Enters the leaves of the Node at the end; gives the one Node that is no leaf's, or null at
    /// the end of the chain, or where it is none.
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
            } else if (leaf_count_ == most_leaves) fits_ = false;
            else leaves_[leaf_count_++] = {to, length_, 1, captures_.empty()};
        }
        return next;
    }

    XGRAD_INLINE void run_one(
        Node& node, Root& root, std::span<AnyTensor> results, AnyTensor* sums, bool keep_graph) {
        bool const watched = is_watched(node);
        if (position_ == 0) {
            if (!watched && !root.gradient.defined() && run_from_one(node, results, keep_graph))
                return;
            root.define();
        }
        std::span const gradients(&root.gradient, 1);
        if (watched) run_tensor_hooks(node, gradients);
        else if (meets_ && run_onto_sums(node, gradients, results, keep_graph, [&](Edge const& e) {
                     return is_leaf(*e.function) ? &sums[index_of(*e.function)] : nullptr;
                 }))
            return;
        run_node(node, gradients, results, keep_graph);
    }
    /// One of several gradients of a leaf: the last one hands their sum on.
    XGRAD_INLINE void arrive(
        std::size_t index, AnyTensor& gradient, AnyTensor* sums, bool keep_graph) {
        auto& leaf = leaves_[index];
        if (!leaf.wanted) return;
        add_gradient(sums[index], std::move(gradient));
        if (--leaf.pending == 0) deliver(*leaf.node, sums[index], keep_graph);
    }
    void deliver(Node& leaf, AnyTensor& gradient, bool keep_graph) {
        if (captures_.empty()) run_leaf(leaf, gradient, keep_graph);
        else hand_back(leaf, gradient);
    }
    void hand_back(Node& leaf, AnyTensor& gradient) {
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
    Leaf leaves_[most_leaves];
    std::span<Capture> captures_;
};

/// Calls deliver(leaf, gradient) for all gradients of one Node that has them for 1 ready and leads
/// to leaves alone, each by one edge, where nothing looks on. False where it is not so, and then
/// nothing is done.
template <class F> XGRAD_INLINE bool run_single_node(Node& node, F deliver) {
    AutoGradMode const mode(false);
    if (is_watched(node)) return false;
    auto const edges = node.next_edges();
    for (std::size_t k = 0; k < edges.size(); ++k) {
        Node const* const leaf = edges[k].function.get();
        if (!leaf || !is_leaf(*leaf) || NodeHooks::of(*leaf)) return false;
        for (std::size_t i = 0; i < k; ++i)
            if (edges[i].function.get() == leaf) return false;
    }
    NodeLock const lock(node);
    auto const ready = node.hand_over();
    if (ready.empty()) return false;
    node.release_saved();
    for (std::size_t k = 0; k < edges.size(); ++k) {
        deliver(static_cast<AccumulateGrad&>(*edges[k].function), ready[k]);
        ready[k] = {}; // also where it is not wanted
    }
    return true;
}
/// The whole pass where there is no more to it.
inline bool run_single_node(Node& node) {
    return run_single_node(node, [](AccumulateGrad& leaf, AnyTensor& gradient) {
        NodeLock const lock(leaf);
        leaf.collect(gradient);
    });
}
/// The same where gradients of its leaves are captured.
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

/// Runs f on a thread of its own, with all that belongs to this thread, and hands back what it
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

/// run_backward() where it takes more than a single step.
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

/// One backward pass. With captures only what leads to them runs. What the Nodes saved is freed
/// unless keep_graph; with create_graph the pass itself is recorded. A pass may start inside
/// another; every 64th level continues on a stack of its own. Where it is known that no Node before
/// number `oldest` leads to a capture, the pass stops there.
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
