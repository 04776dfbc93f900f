// Bodies of graph_task.hpp.
#pragma once

#include <xgrad/graph/graph_task.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION void Root::define() {
    if (!gradient.defined()) gradient = type.filled(shape, 1);
}

XGRAD_FUNCTION bool GraphTask::reaches(Node const& node) const {
    auto const index = find(node);
    return index != none && states_[index].is_used();
}

XGRAD_FUNCTION void GraphTask::run_callbacks() {
    for (std::size_t i = 0; i < callbacks_.size(); ++i) std::exchange(callbacks_[i], nullptr)();
}

XGRAD_FUNCTION std::any& GraphTask::hook_data(Identity of) {
    for (auto& [key, hook_data] : hook_data_)
        if (key == of) return hook_data;
    return hook_data_.emplace_back(of, std::any()).second;
}

XGRAD_FUNCTION auto GraphTask::find_in_overflow(Node const& node) const -> Index {
    auto const it = overflow_->find(&node);
    return it == overflow_->end() ? none : it->second;
}

XGRAD_FUNCTION void GraphTask::add_to_overflow(Node const& node, Index index) {
    if (!overflow_) overflow_ = std::make_unique<OverflowTable>();
    overflow_->emplace(&node, index);
}

XGRAD_FUNCTION std::span<Edge const> GraphTask::edges_of(Node const& node) const {
    return node.sequence_nr() < oldest_ ? std::span<Edge const>() : node.next_edges();
}

XGRAD_FUNCTION void GraphTask::discover_needed(std::span<Root const> roots) {
    struct Visit {
        Index index;
        std::size_t next = 0;
    };
    CachedVector<Visit> path;
    path.reserve(8);
    auto const visit = [&](Node& node) {
        auto const [index, is_new] = enter(node);
        auto& state = states_[index];
        if (!is_new) return state.is_used();
        state.needed = false;
        for (auto const& capture : captures_)
            if (capture.edge.function.get() == &node) {
                state.captured = true;
                state.needed |= capture.also_run;
            }
        path.push_back({index});
        return state.is_used();
    };
    for (auto const& root : roots) {
        visit(*root.edge.function);
        while (!path.empty()) {
            auto& [index, next] = path.back();
            auto const here = index;
            auto const edges = edges_of(*states_[here].node);
            if (next == edges.size()) {
                path.pop_back();
                if (!path.empty()) states_[path.back().index].needed |= states_[here].is_used();
            } else if (auto const& edge = edges[next++]) {
                bool const used = visit(*edge.function);
                states_[here].needed |= used;
            }
        }
    }
}

XGRAD_FUNCTION void GraphTask::evaluate(Node& node, Root* one) {
    auto const& state = state_of(node);
    if (!state.is_used()) return;
    std::span const gradients(arrived_ + state.slot, node.num_outputs());
    auto const edges = node.next_edges();
    std::span const results(arrived_ + output_count_, edges.size());
    bool const applies = must_apply(node);
    if (!one || applies || state.captured || !run_from_one(node, results)) {
        if (one) {
            one->define();
            gradients[one->edge.input_nr] = std::move(one->gradient);
        }
        run_tensor_hooks(node, gradients);
        if (state.captured)
            for (auto& capture : captures_)
                if (capture.edge.function.get() == &node)
                    capture.gradient = gradients[capture.edge.input_nr];
        if (!state.needed) return;
        if (applies || !run_onto_sums(node, gradients, results))
            run_node(node, gradients, results, keep_graph_);
        for (auto& g : gradients) g = {};
    }
    for (std::size_t i = 0; i < edges.size(); ++i)
        if (auto& result = results[i]; edges[i]) deliver(edges[i], result);
        else result = {};
}

XGRAD_FUNCTION void GraphTask::push(Node& node) {
    if (!next_ && ready_.empty()) next_ = &node;
    else {
        if (next_) push_heap(std::exchange(next_, nullptr));
        push_heap(&node);
    }
}

XGRAD_FUNCTION void GraphTask::push_heap(Node* node) {
    if (ready_.capacity() == 0) ready_.reserve(8);
    ready_.push_back(node);
    std::ranges::push_heap(ready_, {}, &Node::sequence_nr);
}

XGRAD_FUNCTION Node* GraphTask::pop() {
    if (next_ || ready_.empty()) return std::exchange(next_, nullptr);
    std::ranges::pop_heap(ready_, {}, &Node::sequence_nr);
    Node* const newest = ready_.back();
    ready_.pop_back();
    return newest;
}

} // namespace xgrad::detail

namespace xgrad {

XGRAD_FUNCTION void queue_callback(std::function<void()> f) {
    if (!detail::current_pass)
        detail::fail<GraphError>("Final callbacks can only be installed during backward pass.");
    detail::current_pass->queue(std::move(f));
}

} // namespace xgrad
