// Bodies of forward_pass.hpp.
#pragma once

#include <xgrad/functional/forward_pass.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION ForwardPass::ForwardPass(
    std::span<AnyTensor const> inputs, std::span<AnyTensor const> tangents) {
    link_second_order();
    notes_.reserve(few);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        Edge const edge = gradient_edge(inputs[i]);
        auto& notes = notes_[enter(*edge.function).first];
        notes.is_input = true;
        notes.begin();
        notes.all()[edge.input_nr] = tangents[i];
    }
}

XGRAD_FUNCTION void ForwardPass::run(
    std::span<AnyTensor const> outputs, std::span<AnyTensor> results) {
    CachedVector<Edge> ends(outputs.size());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (!outputs[i].requires_grad()) continue;
        ends[i] = gradient_edge(outputs[i]);
        visit(*ends[i].function);
    }
    for (Index const index : order_) push(index);
    for (std::size_t i = 0; i < outputs.size(); ++i)
        if (ends[i]) results[i] = tangent(ends[i]);
}

XGRAD_FUNCTION void ForwardPass::Notes::begin() {
    if (!tangents && node->num_outputs() != 1)
        tangents = std::make_unique<AnyTensor[]>(node->num_outputs());
}

XGRAD_FUNCTION std::span<AnyTensor> ForwardPass::Notes::all() {
    return node->num_outputs() == 1 ? std::span(&tangent, 1)
           : tangents               ? std::span(tangents.get(), node->num_outputs())
                                    : std::span<AnyTensor>();
}

XGRAD_FUNCTION auto ForwardPass::enter(Node& node) -> std::pair<Index, bool> {
    if (auto const known = lookup(node); known != notes_.size()) return {known, false};
    notes_.emplace_back(node);
    if (notes_.size() > few)
        for (Index i = places_.size(); i < notes_.size(); ++i) places_.emplace(notes_[i].node, i);
    return {notes_.size() - 1, true};
}

XGRAD_FUNCTION auto ForwardPass::lookup(Node const& node) const -> Index {
    if (notes_.size() > few) {
        auto const it = places_.find(&node);
        return it == places_.end() ? notes_.size() : it->second;
    }
    Index i = 0;
    while (i < notes_.size() && notes_[i].node != &node) ++i;
    return i;
}

XGRAD_FUNCTION void ForwardPass::visit(Node& last) {
    CachedVector<std::pair<Index, std::size_t>> path;
    auto const begin = [&](Node& node) {
        auto const [index, is_new] = enter(node);
        ++notes_[index].users;
        if (is_new) path.emplace_back(index, 0);
    };
    begin(last);
    while (!path.empty()) {
        auto& [index, next] = path.back();
        auto const edges = notes_[index].node->next_edges();
        if (next == edges.size()) {
            order_.push_back(index);
            path.pop_back();
        } else if (Edge const& edge = edges[next++]) begin(*edge.function);
    }
}

XGRAD_FUNCTION AnyTensor ForwardPass::tangent(Edge const& edge) {
    auto const all = notes_[lookup(*edge.function)].all();
    return edge.input_nr < all.size() ? all[edge.input_nr] : AnyTensor();
}

XGRAD_FUNCTION void ForwardPass::push(Index index) {
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
        node.pushforward(tangents.span(), notes_[index].all());
    }
    for (auto const& edge : edges)
        if (edge)
            if (auto& notes = notes_[lookup(*edge.function)]; --notes.users == 0 && !notes.is_input)
                std::ranges::fill(notes.all(), AnyTensor());
}

} // namespace xgrad::detail
