// GraphTask: one backward pass over any graph. Its data structures:
// - notes_: the state of each Node: the number of gradients that are pending, and those that
// arrived.
// - Node::task_ and slot_: the index of a Node in notes_, without a lookup. Where two passes meet
// in a
//   Node (threads, or backward inside backward), the second one uses a hash table instead.
// - ready_: a heap of Nodes without pending gradients, ordered by sequence number.
// Invariant: a Node is queued once, after its last gradient. Read next: engine.hpp.
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
        for (auto const& note : notes_)
            if (note.claimed) note.node->task_.store(nullptr, std::memory_order_release);
    }

    void run(std::span<Root> roots) {
        notes_.reserve(few);
        captures_.empty() ? discover(roots) : discover_needed(roots);
        if (roots.size() != 1 || !start_at_once(roots[0])) start(roots);
        for (Index next; (next = pop()) != none;) evaluate(next);
    }

    bool reaches(Node const& node) const override {
        auto const index = lookup(node);
        return index != none && is_used(index);
    }

private:
    struct Note {
        explicit Note(Node& n) noexcept : node(&n) {}

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
    using Elsewhere = std::unordered_map<Node const*, Index>;
    static constexpr Index none = ~Index{0};
    static constexpr std::size_t few = 8; // initial capacity, in Nodes

    Index lookup(Node const& node) const {
        if (node.task_.load(std::memory_order_relaxed) == this) return node.slot_;
        if (!elsewhere_) return none;
        auto const it = elsewhere_->find(&node);
        return it == elsewhere_->end() ? none : it->second;
    }

    void start(std::span<Root> roots) {
        for (auto& root : roots) root.define();
        for (auto& root : roots)
            add_gradient(lookup(*root.edge.function), root.edge.input_nr, std::move(root.gradient));
        for (auto const& root : roots)
            if (auto& note = notes_[lookup(*root.edge.function)];
                note.pending == 0 && !std::exchange(note.queued, true))
                push(lookup(*root.edge.function));
    }
    /// Starts from a single Node whose gradients the forward pass has computed already. Returns
    /// false for any other, without effect.
    bool start_at_once(Root const& root) {
        Node& node = *root.edge.function;
        auto const& note = notes_[lookup(node)];
        if (root.gradient.defined() || note.pending || note.captured || !note.needed ||
            is_watched(node))
            return false;
        LocalArray<AnyTensor, 8> results(node.next_edges().size());
        if (!run_from_one(node, results.span(), keep_graph_)) return false;
        pass_on(node, results.data());
        return true;
    }

    /// Index of the state of a Node, and whether it is new.
    std::pair<Index, bool> enter(Node& node) {
        if (auto const known = lookup(node); known != none) return {known, false};
        auto const index = static_cast<Index>(notes_.size());
        auto& note = notes_.emplace_back(node);
        if (node.num_outputs() > 1)
            note.gradients = std::make_unique<AnyTensor[]>(node.num_outputs());
        if (claim(node)) {
            note.claimed = true;
            node.slot_ = index;
        } else {
            if (!elsewhere_) elsewhere_ = std::make_unique<Elsewhere>();
            elsewhere_->emplace(&node, index);
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
        for (std::size_t i = 0; i < notes_.size(); ++i)
            for (auto const& edge : edges_of(*notes_[i].node))
                if (edge) ++notes_[enter(*edge.function).first].pending;
    }

    /// discover() for captures: also marks the Nodes that lead to a captured gradient. Depth-first,
    /// so that all Nodes behind a Node are known when it is left.
    void discover_needed(std::span<Root const> roots) {
        struct Visit {
            Index index;
            std::size_t next = 0;
        };
        CachedVector<Visit> path;
        path.reserve(few);
        auto const begin = [&](Node& node) {
            auto const [index, fresh] = enter(node);
            if (!fresh) return index;
            notes_[index].needed = false;
            for (auto const& capture : captures_)
                if (capture.edge.function.get() == &node) {
                    notes_[index].captured = true;
                    notes_[index].needed |= capture.also_run;
                }
            path.push_back({index});
            return index;
        };
        for (auto const& root : roots) {
            begin(*root.edge.function);
            while (!path.empty()) {
                auto& [index, next] = path.back();
                auto const here = index;
                auto const edges = edges_of(*notes_[here].node);
                if (next == edges.size()) {
                    path.pop_back();
                    if (!path.empty()) notes_[path.back().index].needed |= is_used(here);
                } else if (auto const& edge = edges[next++]) {
                    auto const to = begin(*edge.function);
                    ++notes_[to].pending;
                    notes_[here].needed |= is_used(to); // final where the Node was visited before
                }
            }
        }
    }
    bool is_used(Index index) const { return notes_[index].needed || notes_[index].captured; }

    void add_gradient(Index index, std::uint32_t output, AnyTensor&& gradient) {
        detail::add_gradient(notes_[index].arrived()[output], std::move(gradient));
    }

    void evaluate(Index index) {
        Node& node = *notes_[index].node;
        if (!is_used(index)) return;
        auto gradients = notes_[index].arrived();
        if (captures_.empty() && is_leaf(node)) return run_leaf(node, gradients[0], keep_graph_);
        run_tensor_hooks(node, gradients);
        if (notes_[index].captured)
            for (auto& capture : captures_)
                if (capture.edge.function.get() == &node)
                    capture.gradient = gradients[capture.edge.input_nr];
        if (!notes_[index].needed) return;

        auto const edges = node.next_edges();
        LocalArray<AnyTensor, 8> results(edges.size());
        auto const sum_at = [this](Edge const& edge) {
            return &notes_[lookup(*edge.function)].arrived()[edge.input_nr];
        };
        if (edges.empty() || is_watched(node) ||
            !run_onto_sums(node, gradients, results.span(), keep_graph_, sum_at))
            run_node(node, gradients, results.span(), keep_graph_);
        for (auto& g : gradients) g = {};
        pass_on(node, results.data());
    }
    /// Sends the gradients that a Node computed along its edges.
    void pass_on(Node const& node, AnyTensor* results) {
        for (auto const& edge : node.next_edges()) {
            auto& result = *results++;
            if (!edge) continue;
            auto const next = lookup(*edge.function);
            if (is_used(next)) add_gradient(next, edge.input_nr, std::move(result));
            if (--notes_[next].pending == 0) push(next);
        }
    }

    /// Queues a Node. The newest one runs first. A single ready Node, as in a chain, is stored
    /// outside the heap.
    void push(Index index) {
        notes_[index].queued = true;
        if (next_ == none && ready_.empty()) next_ = index;
        else {
            push_heap(std::exchange(next_, none));
            push_heap(index);
        }
    }
    void push_heap(Index index) {
        if (index == none) return;
        if (ready_.capacity() == 0) ready_.reserve(few);
        ready_.emplace_back(
            notes_[index].node->sequence_nr(), ~index); // leaves run in the order of discovery
        std::ranges::push_heap(ready_);
    }
    Index pop() {
        if (next_ != none || ready_.empty()) return std::exchange(next_, none);
        std::ranges::pop_heap(ready_);
        auto const index = ~ready_.back().second;
        ready_.pop_back();
        return index;
    }

    CachedVector<Note> notes_;
    std::unique_ptr<Elsewhere> elsewhere_; // null in most passes
    CachedVector<std::pair<std::uint64_t, Index>> ready_;
    Index next_ = none;
    std::span<Capture> captures_;
    bool keep_graph_;
    std::uint64_t oldest_; // edges of Nodes with a smaller sequence number are ignored
};

} // namespace xgrad::detail
