// GraphTask: one backward pass over any graph. Its data structures:
//
// - states_: the state of each Node: how many gradients are pending, and those that arrived.
//
// - Node::task_ and slot_: the index of a Node in states_, without a lookup. Where two passes meet
//   in a Node (threads, or backward inside backward), the second one uses a hash table instead.
//
// - ready_: a heap of Nodes without pending gradients, ordered by sequence number.
//
// Invariant: a Node is queued once, after its last gradient.
//
// Read next: engine.hpp.
#pragma once

#include <algorithm>
#include <unordered_map>
#include <vector>

#include <xgrad/graph/backward_pass.hpp>
#include <xgrad/graph/run_node.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::detail {

/// Where a pass starts: an output and its grad_output. An undefined gradient stands for 1. The
/// shape must outlive the Root.
struct Root {
    Edge edge;
    AnyTensor gradient;
    TypeInfo const& type;
    Shape const& shape;

    void define() {
        if (!gradient.defined()) gradient = type.filled(shape, 1);
    }
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

class GraphTask final : public BackwardPass {
public:
    GraphTask(std::span<Capture> captures, bool keep_graph, std::uint64_t oldest = 0) noexcept
        : captures_(captures), keep_graph_(keep_graph), oldest_(oldest) {}
    GraphTask(GraphTask const&) = delete;
    GraphTask& operator=(GraphTask const&) = delete;
    ~GraphTask() override {
        for (auto const& state : states_)
            if (state.claimed) state.node->task_.store(nullptr, std::memory_order_release);
    }

    void run(std::span<Root> roots) {
        states_.reserve(initial_capacity);
        captures_.empty() ? discover(roots) : discover_needed(roots);
        if (roots.size() != 1 || !start_from_ready(roots[0])) start(roots);
        for (Index next; (next = pop()) != none;) evaluate(next);
    }

    bool reaches(Node const& node) const override {
        auto const index = lookup(node);
        return index != none && is_used(index);
    }

private:
    struct NodeState {
        explicit NodeState(Node& n) noexcept : node(&n) {}

        Node* node;
        std::uint32_t pending = 0;
        bool claimed = false;
        bool captured = false; // a gradient of its outputs is a capture
        bool needed = true;    // it runs: it leads to a captured gradient
        bool queued = false;
        AnyTensor gradient = {};                          // of a single output, or
        std::unique_ptr<AnyTensor[]> gradients = nullptr; // of each output

        std::span<AnyTensor> arrived() {
            return gradients ? std::span(gradients.get(), node->num_outputs())
                             : std::span(&gradient, 1);
        }
    };
    using Index = std::uint32_t;
    using OverflowTable = std::unordered_map<Node const*, Index>;
    static constexpr Index none = ~Index{0};
    static constexpr std::size_t initial_capacity = 8; // initial capacity, in Nodes

    Index lookup(Node const& node) const {
        if (node.task_.load(std::memory_order_relaxed) == this) return node.slot_;
        if (!overflow_) return none;
        auto const it = overflow_->find(&node);
        return it == overflow_->end() ? none : it->second;
    }

    void start(std::span<Root> roots) {
        for (auto& root : roots) root.define();
        for (auto& root : roots)
            add_gradient(lookup(*root.edge.function), root.edge.input_nr, std::move(root.gradient));
        for (auto const& root : roots)
            if (auto& state = states_[lookup(*root.edge.function)];
                state.pending == 0 && !std::exchange(state.queued, true))
                push(lookup(*root.edge.function));
    }
    /// Starts from a single Node whose gradients the forward pass has computed already. Returns
    /// false for any other, without effect.
    bool start_from_ready(Root const& root) {
        Node& node = *root.edge.function;
        auto const& state = states_[lookup(node)];
        if (root.gradient.defined() || state.pending || state.captured || !state.needed ||
            must_apply(node))
            return false;
        LocalArray<AnyTensor, 8> results(node.next_edges().size());
        if (!run_from_one(node, results.span(), keep_graph_)) return false;
        send_along_edges(node, results.data());
        return true;
    }

    /// Index of the state of a Node, and whether it is new.
    std::pair<Index, bool> enter(Node& node) {
        if (auto const known = lookup(node); known != none) return {known, false};
        auto const index = static_cast<Index>(states_.size());
        auto& state = states_.emplace_back(node);
        if (node.num_outputs() > 1)
            state.gradients = std::make_unique<AnyTensor[]>(node.num_outputs());
        if (claim(node)) {
            state.claimed = true;
            node.slot_ = index;
        } else {
            if (!overflow_) overflow_ = std::make_unique<OverflowTable>();
            overflow_->emplace(&node, index);
        }
        return {index, true};
    }
    bool claim(Node& node) {
        GraphTask* owner = nullptr;
        if (!single_threaded())
            return node.task_.compare_exchange_strong(owner, this, std::memory_order_acq_rel);
        if (node.task_.load(std::memory_order_relaxed)) return false;
        node.task_.store(this, std::memory_order_relaxed);
        return true;
    }

    std::span<Edge const> edges_of(Node const& node) const {
        return node.sequence_nr() < oldest_ ? std::span<Edge const>() : node.next_edges();
    }

    void discover(std::span<Root const> roots) {
        for (auto const& root : roots) enter(*root.edge.function);
        for (std::size_t i = 0; i < states_.size(); ++i)
            for (auto const& edge : edges_of(*states_[i].node))
                if (edge) ++states_[enter(*edge.function).first].pending;
    }

    /// discover() for captures: also marks the Nodes that lead to a captured gradient. Depth-first,
    /// so that all Nodes behind a Node are known when it is left.
    void discover_needed(std::span<Root const> roots) {
        struct Visit {
            Index index;
            std::size_t next = 0;
        };
        CachedVector<Visit> path;
        path.reserve(initial_capacity);
        auto const begin = [&](Node& node) {
            auto const [index, fresh] = enter(node);
            if (!fresh) return index;
            states_[index].needed = false;
            for (auto const& capture : captures_)
                if (capture.edge.function.get() == &node) {
                    states_[index].captured = true;
                    states_[index].needed |= capture.also_run;
                }
            path.push_back({index});
            return index;
        };
        for (auto const& root : roots) {
            begin(*root.edge.function);
            while (!path.empty()) {
                auto& [index, next] = path.back();
                auto const here = index;
                auto const edges = edges_of(*states_[here].node);
                if (next == edges.size()) {
                    path.pop_back();
                    if (!path.empty()) states_[path.back().index].needed |= is_used(here);
                } else if (auto const& edge = edges[next++]) {
                    auto const to = begin(*edge.function);
                    ++states_[to].pending;
                    states_[here].needed |= is_used(to); // final where the Node was visited before
                }
            }
        }
    }
    bool is_used(Index index) const { return states_[index].needed || states_[index].captured; }

    void add_gradient(Index index, std::uint32_t output, AnyTensor&& gradient) {
        detail::add_gradient(states_[index].arrived()[output], std::move(gradient));
    }

    void evaluate(Index index) {
        Node& node = *states_[index].node;
        if (!is_used(index)) return;
        auto gradients = states_[index].arrived();
        if (captures_.empty() && is_leaf(node)) return run_leaf(node, gradients[0], keep_graph_);
        run_tensor_hooks(node, gradients);
        if (states_[index].captured)
            for (auto& capture : captures_)
                if (capture.edge.function.get() == &node)
                    capture.gradient = gradients[capture.edge.input_nr];
        if (!states_[index].needed) return;

        auto const edges = node.next_edges();
        LocalArray<AnyTensor, 8> results(edges.size());
        auto const sum_at = [this](Edge const& edge) {
            return &states_[lookup(*edge.function)].arrived()[edge.input_nr];
        };
        if (edges.empty() || must_apply(node) ||
            !run_onto_sums(node, gradients, results.span(), keep_graph_, sum_at))
            run_node(node, gradients, results.span(), keep_graph_);
        for (auto& g : gradients) g = {};
        send_along_edges(node, results.data());
    }
    /// Sends the gradients that a Node computed along its edges.
    void send_along_edges(Node const& node, AnyTensor* results) {
        for (auto const& edge : node.next_edges()) {
            auto& result = *results++;
            if (!edge) continue;
            auto const next = lookup(*edge.function);
            if (is_used(next)) add_gradient(next, edge.input_nr, std::move(result));
            if (--states_[next].pending == 0) push(next);
        }
    }

    /// Queues a Node. The newest one runs first. A single ready Node, as in a chain, is stored
    /// outside the heap.
    void push(Index index) {
        states_[index].queued = true;
        if (next_ == none && ready_.empty()) next_ = index;
        else {
            push_heap(std::exchange(next_, none));
            push_heap(index);
        }
    }
    void push_heap(Index index) {
        if (index == none) return;
        if (ready_.capacity() == 0) ready_.reserve(initial_capacity);
        ready_.emplace_back(
            states_[index].node->sequence_nr(), ~index); // leaves run in the order of discovery
        std::ranges::push_heap(ready_);
    }
    Index pop() {
        if (next_ != none || ready_.empty()) return std::exchange(next_, none);
        std::ranges::pop_heap(ready_);
        auto const index = ~ready_.back().second;
        ready_.pop_back();
        return index;
    }

    CachedVector<NodeState> states_;
    std::unique_ptr<OverflowTable> overflow_; // null in most passes
    CachedVector<std::pair<std::uint64_t, Index>> ready_;
    Index next_ = none;
    std::span<Capture> captures_;
    bool keep_graph_;
    std::uint64_t oldest_; // edges of Nodes with a smaller sequence number are ignored
};

} // namespace xgrad::detail
