// GraphTask: one backward pass, over any graph. Its data structures:
//
// - states_: the state of each Node: how many gradients are pending, and where those that arrived
//   are.
//
// - Node::task_ and slot_: the index of a Node in states_, without a lookup. Where two passes meet
//   in a Node (threads, or backward inside backward), the second one uses a hash table instead.
//
// - arrived_: the gradients that arrived, an element for each output of each Node.
//
// - ready_: a heap of Nodes without pending gradients, ordered by sequence number.
//
// discover() counts the edges to each Node. Then the newest ready Node runs and delivers a gradient
// along each of its edges, until none is ready. Invariant: a Node is queued once, after its last
// gradient. A leaf is not queued: it runs when its last gradient is delivered.
//
// Read next: engine.hpp.
#pragma once

#include <algorithm>
#include <any>
#include <unordered_map>
#include <vector>

#include <xgrad/graph/run_node.hpp>

namespace xgrad {

namespace detail {

/// Where a pass starts: an output and its grad_output. An undefined gradient stands for 1. The
/// shape must outlive the Root.
struct Root {
    Edge edge;
    AnyTensor gradient;
    TypeInfo const& type;
    Shape const& shape;

    void define();
};

/// A gradient that the pass returns: that of output `input_nr` of `function`. With `also_run` the
/// Node runs as well.
struct Capture {
    Edge edge;
    bool also_run = false;
    AnyTensor gradient = {};
};

/// Adds a gradient to a sum that may be undefined. An undefined gradient stands for zero.
XGRAD_INLINE void add_gradient(AnyTensor& sum, AnyTensor&& gradient) {
    if (!gradient.defined()) return;
    if (!sum.defined()) {
        sum = std::move(gradient);
        return;
    }
    AnyTensor const more(std::move(gradient)); // released before another Node runs
    if (!grad_mode && can_be_taken(sum)) sum.impl().type->add_in_place(sum, more);
    else sum = sum.impl().type->add(sum, more);
}

class GraphTask;
/// The innermost pass that the calling thread runs.
inline constinit thread_local GraphTask* current_pass = nullptr;

class GraphTask {
public:
    GraphTask(std::span<Capture> captures, bool keep_graph, std::uint64_t oldest) noexcept
        : captures_(captures), keep_graph_(keep_graph), oldest_(oldest) {
        current_pass = this;
    }
    GraphTask(GraphTask const&) = delete;
    GraphTask& operator=(GraphTask const&) = delete;
    XGRAD_INLINE ~GraphTask() {
        for (auto const& state : states_)
            if (state.claimed) state.node->task_.store(nullptr, std::memory_order_release);
        current_pass = outer_;
    }

    XGRAD_INLINE void run(std::span<Root> roots) {
        captures_.empty() ? discover(roots) : discover_needed(roots);
        LocalArray<AnyTensor, 8> gradients(output_count_ + max_edges_);
        arrived_ = gradients.data();
        if (roots.size() == 1 && !roots[0].gradient.defined())
            evaluate(*roots[0].edge.function, &roots[0]);
        else {
            for (auto& root : roots) root.define();
            for (auto& root : roots) deliver(root.edge, root.gradient);
        }
        while (Node* const next = pop()) evaluate(*next);
    }

    /// True for a Node that this pass runs, or of which it captures a gradient.
    bool reaches(Node const& node) const;

    void queue(std::function<void()> callback) { callbacks_.push_back(std::move(callback)); }
    /// Runs the callbacks in the order of queueing. A callback may queue others.
    void run_callbacks();
    /// Data of a hook, which live as long as the pass.
    std::any& hook_data(Identity of);

private:
    using Index = std::uint32_t;
    using OverflowTable = std::unordered_map<Node const*, Index>;
    static constexpr Index none = ~Index{0};

    struct NodeState {
        Node* node;
        Index slot;                // index of its first gradient in arrived_
        std::uint32_t pending = 1; // gradients that did not arrive yet
        bool claimed = true;       // Node::slot_ is its index
        bool captured = false;     // a gradient of its outputs is a capture
        bool needed = true;        // it runs: it leads to a captured gradient

        bool is_used() const noexcept { return needed || captured; }
    };

    /// Index of the state of a Node; `none` where it was not entered.
    XGRAD_INLINE Index find(Node const& node) const {
        if (node.task_.load(std::memory_order_relaxed) == this) [[likely]]
            return node.slot_;
        return overflow_ ? find_in_overflow(node) : none;
    }
    [[gnu::cold]] Index find_in_overflow(Node const& node) const;
    XGRAD_INLINE NodeState& state_of(Node const& node) { return states_[find(node)]; }

    /// Counts an edge to a Node. Returns the index of its state, and whether it is new.
    XGRAD_INLINE std::pair<Index, bool> enter(Node& node) {
        if (auto const known = find(node); known != none) {
            ++states_[known].pending;
            return {known, false};
        }
        auto const index = static_cast<Index>(states_.size());
        auto& state = states_.emplace_back(&node, output_count_);
        if (claim(node)) [[likely]]
            node.slot_ = index;
        else {
            state.claimed = false;
            add_to_overflow(node, index);
        }
        output_count_ += node.num_outputs();
        max_edges_ = std::max(max_edges_, node.next_edges().size());
        return {index, true};
    }
    XGRAD_INLINE bool claim(Node& node) {
        GraphTask* owner = nullptr;
        if (!single_threaded())
            return node.task_.compare_exchange_strong(owner, this, std::memory_order_acq_rel);
        if (node.task_.load(std::memory_order_relaxed)) return false;
        node.task_.store(this, std::memory_order_relaxed);
        return true;
    }
    [[gnu::cold]] void add_to_overflow(Node const& node, Index index);

    std::span<Edge const> edges_of(Node const& node) const;
    XGRAD_INLINE void discover(std::span<Root const> roots) {
        for (auto const& root : roots) enter(*root.edge.function);
        for (std::size_t i = 0; i < states_.size(); ++i)
            for (auto const& edge : edges_of(*states_[i].node))
                if (edge) enter(*edge.function);
    }
    /// discover() for captures: also finds the Nodes that lead to a captured gradient. Depth-first:
    /// when a Node is left, all Nodes behind it are known.
    void discover_needed(std::span<Root const> roots);

    /// Runs a Node. `one`: its Root, where this stands for a gradient of 1 that is not defined yet.
    void evaluate(Node& node, Root* one = nullptr);
    /// Runs a Node whose gradients for grad_output = 1 the forward pass has computed already.
    /// Returns false, without effect, for any other.
    XGRAD_INLINE bool run_from_one(Node& node, std::span<AnyTensor> results) {
        NodeLock const lock(node);
        auto const ready = node.ready_gradients();
        if (ready.empty()) return false;
        std::ranges::move(ready, results.begin());
        if (!keep_graph_) node.release_saved();
        return true;
    }
    /// Runs a Node so that it accumulates into the partial sums of its inputs, which saves a buffer
    /// and an addition for each. Returns false, without effect, where there is no such sum, or the
    /// Node does not support it.
    XGRAD_INLINE bool run_onto_sums(
        Node& node, std::span<AnyTensor> gradients, std::span<AnyTensor> results) {
        auto const edges = node.next_edges();
        bool any = false;
        for (std::size_t i = 0; i < edges.size(); ++i)
            if (edges[i])
                if (auto& sum = sum_at(edges[i]); sum.defined() && can_be_taken(sum)) {
                    results[i] = std::move(sum);
                    any = true;
                }
        if (!any) return false;
        NodeLock const lock(node);
        if (node.apply_onto(gradients, results)) {
            if (!keep_graph_) node.release_saved();
            return true;
        }
        for (std::size_t i = 0; i < edges.size(); ++i)
            if (results[i].defined()) sum_at(edges[i]) = std::move(results[i]);
        return false;
    }
    AnyTensor& sum_at(Edge const& edge) {
        return arrived_[state_of(*edge.function).slot + edge.input_nr];
    }

    /// Adds a gradient to those that arrived at the end of an edge. After the last one the Node is
    /// queued, or a leaf runs.
    XGRAD_INLINE void deliver(Edge const& edge, AnyTensor& gradient) {
        Node& to = *edge.function;
        auto& state = state_of(to);
        if (!state.is_used()) {
            gradient = {};
            return;
        }
        auto& sum = arrived_[state.slot + edge.input_nr];
        add_gradient(sum, std::move(gradient));
        if (--state.pending != 0) return;
        if (!is_leaf(to)) push(to);
        else if (captures_.empty()) run_leaf(to, sum, keep_graph_);
        else evaluate(to);
    }

    /// Queues a Node. The newest one runs first. A single ready Node, as in a chain, is stored
    /// outside the heap.
    void push(Node& node);
    void push_heap(Node* node);
    Node* pop();

    GraphTask* const outer_ = current_pass;
    InlineVector<NodeState, 4> states_;
    std::unique_ptr<OverflowTable> overflow_; // null in most passes
    AnyTensor* arrived_ = nullptr;
    std::uint32_t output_count_ = 0; // elements of arrived_
    std::size_t max_edges_ = 0;
    Node* next_ = nullptr; // a single ready Node
    CachedVector<Node*> ready_;
    std::span<Capture> captures_;
    bool keep_graph_;
    std::uint64_t oldest_; // edges of Nodes with a smaller sequence number are ignored
    std::vector<std::function<void()>> callbacks_;
    std::vector<std::pair<Identity, std::any>> hook_data_;
};

} // namespace detail

/// Calls f at the end of the running backward pass, after all gradients are accumulated, in the
/// order of queueing. Throws outside a pass: call it from a hook or a Node.
void queue_callback(std::function<void()> f);

} // namespace xgrad

#ifdef XGRAD_IMPLEMENTATION
#    include <xgrad/impl/graph/graph_task.ipp>
#endif
