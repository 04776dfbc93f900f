// GraphTask: one backward pass, over any graph. Its data structures:
// - nodes_, and Node::state_: how many gradients are pending, and where those that arrived are.
//   Where passes meet in a Node (of threads, or nested ones), the second one has a hash table.
// - arrived_: the gradients that arrived, an element for each output of each Node.
// - ready_: a heap of Nodes without pending gradients, ordered by sequence number.
//
// discover() counts the edges to each Node. Then the newest ready Node runs and delivers a gradient
// along each of its edges, until none is ready. Invariant: a Node is queued once, after its last
// gradient. A leaf is not queued: it runs when its last gradient is delivered.
// Read next: engine.ipp.
#pragma once

#include <algorithm>

#include <xgrad/autograd/engine.hpp>

namespace xgrad::detail {

inline constinit thread_local std::size_t pass_depth = 0; // GraphTasks on this stack

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

/// True for a Node that run_observed_node() must run: it has hooks, or anomaly mode is on.
inline bool is_observed(Node const& node) noexcept {
    return anomaly.functions || NodeHooks::of(node);
}

class GraphTask {
public:
    GraphTask(Captures captures, bool keep_graph, std::uint64_t oldest) noexcept
        : captures_(captures), keep_graph_(keep_graph), oldest_(oldest) {
        current_pass = this;
        ++pass_depth;
    }
    GraphTask(GraphTask const&) = delete;
    GraphTask& operator=(GraphTask const&) = delete;
    XGRAD_INLINE ~GraphTask() {
        for (Node* const node : nodes_)
            if (node->task_.load(std::memory_order_relaxed) == this)
                node->task_.store(nullptr, std::memory_order_release);
        current_pass = outer_;
        --pass_depth;
        if (extras) [[unlikely]]
            Extras::destroy(extras);
        if (overflow_) [[unlikely]]
            Overflow::destroy(overflow_);
    }

    XGRAD_INLINE void run(std::span<Root> roots) {
        captures_.all.empty() ? discover(roots) : captures_.discover(*this, roots);
        LocalArray<void*, 8> undefined(output_count_ + max_edges_);
        struct Arrived { // all gradients were taken but where an exception ends the pass
            GraphTask& task;
            XGRAD_INLINE ~Arrived() {
                if (task.arrived_)
                    std::destroy_n(task.arrived_, task.output_count_ + task.max_edges_);
            }
        } const arrived{*this};
        arrived_ = reinterpret_cast<AnyTensor*>(undefined.data());
        for (auto& root : roots) root.define();
        if (roots.size() == 1 && find(*roots[0].edge.function)->is_used()) {
            sum_at(roots[0].edge) = std::move(roots[0].gradient);
            evaluate(*roots[0].edge.function);
        } else
            for (auto& root : roots) deliver({&root.edge, 1}, &root.gradient);
        while (Node* const next = pop()) evaluate(*next);
        arrived_ = nullptr;
    }

    /// True for a Node that this pass runs, or of which it captures a gradient.
    bool reaches(Node const& node) const {
        auto const* const state = find(node);
        return state && state->is_used();
    }

    /// What hooks and functions of the program leave with the pass: HookExtras. Null in most
    /// passes.
    struct Extras {
        virtual ~Extras() = default;
        virtual void run_callbacks() = 0;
        virtual void run_failure_callbacks() = 0;
        [[gnu::cold]] static void destroy(Extras* extras) noexcept { delete extras; }
    };
    Extras* extras = nullptr;

private:
    friend void discover_needed(GraphTask&, std::span<Root const>);

    /// The states of Nodes that another pass has claimed: a hash table with linear probing, of
    /// which at least half is free. Its size is a power of two.
    struct Overflow {
        struct Entry {
            Node const* node = nullptr;
            PassState state{};
        };
        CachedVector<Entry> table;
        std::size_t count = 0;

        /// The entry of a Node, or the free one where it would be.
        Entry& at(Node const& node) {
            auto i = reinterpret_cast<std::uintptr_t>(&node) / 32;
            while (table[i &= table.size() - 1].node && table[i].node != &node) ++i;
            return table[i];
        }
        PassState& add(Node const& node) {
            if (2 * ++count > table.size()) {
                CachedVector<Entry> before(std::max<std::size_t>(2 * table.size(), 16));
                before.swap(table);
                for (auto const& entry : before)
                    if (entry.node) at(*entry.node) = entry;
            }
            return (at(node) = {&node, {}}).state;
        }
        [[gnu::cold]] static void destroy(Overflow* overflow) noexcept { delete overflow; }
    };

    /// The state of a Node; null where it was not entered.
    XGRAD_INLINE PassState* find(Node const& node) const {
        if (node.task_.load(std::memory_order_relaxed) == this) [[likely]]
            return &node.state_;
        return overflow_ ? find_overflow(node) : nullptr;
    }
    [[gnu::cold]] PassState* find_overflow(Node const& node) const {
        auto& entry = overflow_->at(node);
        return entry.node ? &entry.state : nullptr;
    }

    /// Counts an edge to a Node. Returns its state, and whether it is new.
    XGRAD_INLINE std::pair<PassState*, bool> enter(Node& node) {
        if (auto* const known = find(node)) return ++known->pending, std::pair(known, false);
        nodes_.emplace_back(&node);
        PassState* state = &node.state_;
        if (single_threaded() && !node.task_.load(std::memory_order_relaxed)) [[likely]]
            node.task_.store(this, std::memory_order_relaxed);
        else state = claim(node);
        *state = {output_count_};
        output_count_ += node.num_outputs();
        max_edges_ = std::max(max_edges_, node.edge_count_);
        return {state, true};
    }
    /// Claims a Node, unless another pass has; returns where its state is.
    XGRAD_NOINLINE PassState* claim(Node& node) {
        GraphTask* owner = nullptr;
        if (node.task_.compare_exchange_strong(owner, this, std::memory_order_acq_rel))
            return &node.state_;
        if (!overflow_) overflow_ = new Overflow;
        return &overflow_->add(node);
    }

    std::span<Edge const> edges_of(Node const& node) const {
        return node.sequence_nr() < oldest_ ? std::span<Edge const>() : node.next_edges();
    }
    XGRAD_INLINE void discover(std::span<Root const> roots) {
        for (auto const& root : roots) enter(*root.edge.function);
        for (std::size_t i = 0; i < nodes_.size(); ++i)
            for (auto const& edge : edges_of(*nodes_[i]))
                if (edge) enter(*edge.function);
    }
    void evaluate(Node& node) {
        auto const& state = *find(node);
        std::span const gradients(arrived_ + state.slot, node.num_outputs());
        auto const edges = node.next_edges();
        std::span const results(arrived_ + output_count_, edges.size());
        bool const observed = is_observed(node);
        if (observed) [[unlikely]]
            run_tensor_hooks(node, gradients);
        if (state.captured)
            for (auto& capture : captures_.all)
                if (capture.edge.function.get() == &node)
                    capture.gradient = gradients[capture.edge.input_nr];
        if (observed && state.needed) [[unlikely]]
            run_observed_node(node, gradients, results, keep_graph_);
        else if (state.needed) {
            NodeLock const lock(node);
            if (node.accumulates_ != Node::never && !grad_mode) take_sums(node, results.data());
            node.apply(gradients, results);
            if (!keep_graph_) node.release_saved();
        }
        for (auto& g : gradients) g = {};
        if (state.needed) deliver(edges, results.data());
    }
    /// Gives a Node the partial sums of its inputs, to which it adds. That saves a buffer and an
    /// addition for each.
    void take_sums(Node const& node, AnyTensor* result) {
        auto const edges = node.next_edges();
        for (std::size_t i = 0; i < edges.size(); ++i)
            if (AnyTensor* const sum = edges[i] ? &sum_at(edges[i]) : nullptr;
                sum && sum->defined() && can_be_taken(*sum) &&
                sum->handle()->array.padded_to >= node.accumulates_)
                result[i] = std::move(*sum);
    }
    AnyTensor& sum_at(Edge const& edge) {
        return arrived_[find(*edge.function)->slot + edge.input_nr];
    }

    /// Adds gradients to those that arrived at the ends of their edges. After the last one a Node
    /// is queued, or a leaf runs.
    void deliver(std::span<Edge const> edges, AnyTensor* gradient) {
        for (auto const& edge : edges) {
            AnyTensor arriving(std::move(*gradient++));
            if (!edge) continue;
            Node& to = *edge.function;
            auto& state = *find(to);
            if (!state.is_used()) continue;
            auto& sum = arrived_[state.slot + edge.input_nr];
            add_gradient(sum, std::move(arriving));
            if (--state.pending != 0) continue;
            if (!is_leaf(to)) push(to);
            else if (captures_.all.empty() && !is_observed(to)) {
                NodeLock const lock(to);
                static_cast<AccumulateGrad&>(to).accumulate_gradient(sum);
            } else evaluate(to);
        }
    }

    /// Queues a Node. The newest one runs first.
    void push(Node& node) {
        std::size_t at = ready_.size();
        ready_.emplace_back(&node);
        for (; at > 0 && is_newer(&node, ready_[(at - 1) / 2]); at = (at - 1) / 2)
            ready_[at] = ready_[(at - 1) / 2];
        ready_[at] = &node;
    }
    Node* pop() {
        if (ready_.size() == 0) return nullptr;
        Node *const newest = ready_[0], *const moved = ready_.pop_back();
        std::size_t const count = ready_.size();
        for (std::size_t at = 0, below = 1; at < count; at = below, below = 2 * at + 1) {
            if (below + 1 < count && is_newer(ready_[below + 1], ready_[below])) ++below;
            bool const ends = below >= count || !is_newer(ready_[below], moved);
            ready_[at] = ends ? moved : ready_[below];
            if (ends) break;
        }
        return newest;
    }
    static bool is_newer(Node const* a, Node const* b) noexcept {
        return a->sequence_nr() > b->sequence_nr();
    }

    GraphTask* const outer_ = current_pass;
    InlineVector<Node*, 8> nodes_;
    Overflow* overflow_ = nullptr; // in most passes
    AnyTensor* arrived_ = nullptr;
    std::uint32_t output_count_ = 0; // elements of arrived_
    std::uint32_t max_edges_ = 0;
    InlineVector<Node*, 8> ready_;
    Captures captures_;
    bool keep_graph_;
    std::uint64_t oldest_; // edges of Nodes with a smaller sequence number are ignored
};

/// discover() for captures: also finds the Nodes that lead to a captured gradient. Depth-first:
/// when a Node is left, all Nodes behind it are known.
XGRAD_FUNCTION void discover_needed(GraphTask& task, std::span<Root const> roots) {
    struct Visit {
        Node* node;
        std::size_t next = 0;
    };
    CachedVector<Visit> path;
    auto const visit = [&](Node& node) {
        auto const [state, is_new] = task.enter(node);
        if (!is_new) return state->is_used();
        state->needed = false;
        for (auto const& capture : task.captures_.all)
            if (capture.edge.function.get() == &node) {
                state->captured = true;
                state->needed |= capture.also_run;
            }
        path.push_back({&node});
        return false; // not known before it is left
    };
    for (auto const& root : roots) {
        visit(*root.edge.function);
        while (!path.empty()) {
            auto& [here, next] = path.back();
            auto const edges = task.edges_of(*here);
            bool used = false;
            if (next == edges.size()) {
                used = task.find(*here)->is_used();
                path.pop_back();
            } else if (auto const& edge = edges[next++]) used = visit(*edge.function);
            if (!path.empty()) task.find(*path.back().node)->needed |= used;
        }
    }
}

} // namespace xgrad::detail
