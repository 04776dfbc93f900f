// Bodies of forward_pass.hpp.
#pragma once

#include <xgrad/functional/forward_pass.hpp>

namespace xgrad::detail {

XGRAD_LAZY_BODY ForwardPass::ForwardPass(
    std::span<AnyTensor const> inputs, std::span<AnyTensor const> outputs)
    : inputs_(edges_to(inputs)), outputs_(edges_to(outputs)) {
    link_forward_mode();
    notes_.reserve(few);
    for (auto const& edge : inputs_) notes_[enter(*edge.function).first].is_input = true;
    auto const is_entered = [&](Edge const& edge) {
        auto const [index, is_new] = enter(*edge.function);
        ++notes_[index].users;
        return is_new;
    };
    walk_graph(outputs_, is_entered, [&](Node& node) { order_.push_back(lookup(node)); });
}

XGRAD_LAZY_BODY bool ForwardPass::prefers_reverse() const {
    auto const calls_user = [](Node const& node) {
        if (node.forward_rule() == ForwardRule::reverse) return true;
        auto const* const hooks = NodeHooks::of(node);
        if (!hooks) return false;
        bool any = hooks->prehooks.any() || hooks->posthooks.any();
        for (auto const* output = hooks->outputs.load(std::memory_order_acquire); output && !any;
             output = output->next.load(std::memory_order_acquire))
            any = output->tensor_hooks.any() || output->retain_grad();
        return any;
    };
    CachedVector<char> depends(notes_.size()); // on an input
    for (Index i = 0; i < notes_.size(); ++i)
        if ((depends[i] = notes_[i].is_input) && calls_user(*notes_[i].node)) return true;
    for (Index const index : order_) {
        Node const& node = *notes_[index].node;
        for (auto const& edge : node.next_edges())
            if (edge) depends[index] |= depends[lookup(*edge.function)];
        if (depends[index] && calls_user(node)) return true;
    }
    return false;
}

XGRAD_LAZY_BODY void ForwardPass::run(
    std::span<AnyTensor const> tangents, std::span<AnyTensor> results, std::size_t directions) {
    directions_ = directions;
    PassData data;
    ScopedValue<PassData*> const scope(forward_data, &data);
    for (auto& notes : notes_) {
        notes.waiting = notes.users;
        std::ranges::fill(notes.all(), AnyTensor());
    }
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
        auto& notes = notes_[lookup(*inputs_[i].function)];
        notes.begin();
        notes.all()[inputs_[i].input_nr] = tangents[i];
    }
    for (Index const index : order_) push(index);
    for (std::size_t i = 0; i < outputs_.size(); ++i)
        if (outputs_[i]) results[i] = tangent(outputs_[i]);
}

XGRAD_LAZY_BODY void ForwardPass::Notes::begin() {
    if (!tangents && node->num_outputs() != 1)
        tangents = std::make_unique<AnyTensor[]>(node->num_outputs());
}

XGRAD_LAZY_BODY std::span<AnyTensor> ForwardPass::Notes::all() {
    return node->num_outputs() == 1 ? std::span(&tangent, 1)
           : tangents               ? std::span(tangents.get(), node->num_outputs())
                                    : std::span<AnyTensor>();
}

XGRAD_LAZY_BODY auto ForwardPass::enter(Node& node) -> std::pair<Index, bool> {
    if (auto const known = lookup(node); known != notes_.size()) return {known, false};
    notes_.emplace_back(node);
    if (notes_.size() > few)
        for (Index i = places_.size(); i < notes_.size(); ++i) places_.emplace(notes_[i].node, i);
    return {notes_.size() - 1, true};
}

XGRAD_LAZY_BODY auto ForwardPass::lookup(Node const& node) const -> Index {
    if (notes_.size() > few) {
        auto const it = places_.find(&node);
        return it == places_.end() ? notes_.size() : it->second;
    }
    Index i = 0;
    while (i < notes_.size() && notes_[i].node != &node) ++i;
    return i;
}

XGRAD_LAZY_BODY AnyTensor ForwardPass::tangent(Edge const& edge) {
    auto const all = notes_[lookup(*edge.function)].all();
    return edge.input_nr < all.size() ? all[edge.input_nr] : AnyTensor();
}

XGRAD_LAZY_BODY void ForwardPass::push(Index index) {
    Node& node = *notes_[index].node;
    auto const edges = node.next_edges();
    LocalArray<AnyTensor, 8> tangents(edges.size());
    bool moves = false;
    for (std::size_t k = 0; k < edges.size(); ++k) {
        if (edges[k]) tangents[k] = tangent(edges[k]);
        moves |= tangents[k].defined();
    }
    if (moves) {
        notes_[index].begin();
        NodeLock const lock(node);
        if (directions_ == 0 || node.forward_rule() > ForwardRule::one_tangent)
            node.pushforward(tangents.span(), notes_[index].all());
        else push_each(node, tangents.span(), notes_[index].all());
    }
    for (auto const& edge : edges)
        if (edge)
            if (auto& notes = notes_[lookup(*edge.function)];
                --notes.waiting == 0 && !notes.is_input)
                std::ranges::fill(notes.all(), AnyTensor());
}

XGRAD_LAZY_BODY void ForwardPass::push_each(
    Node& node, std::span<AnyTensor const> tangents, std::span<AnyTensor> results) {
    std::vector<AnyTensor> one(tangents.size()), made(results.size());
    for (std::size_t direction = 0; direction < directions_; ++direction) {
        for (std::size_t k = 0; k < tangents.size(); ++k)
            if (tangents[k].defined()) one[k] = tangent_at(tangents[k], direction);
        std::ranges::fill(made, AnyTensor());
        node.pushforward(one, made);
        for (std::size_t i = 0; i < made.size(); ++i)
            if (made[i].defined()) put_tangent(results[i], directions_, direction, made[i]);
    }
}

} // namespace xgrad::detail
