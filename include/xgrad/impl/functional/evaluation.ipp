// Bodies of evaluation.hpp and forward_pass.hpp.
#pragma once

#include <unordered_map>

#include <xgrad/functional/evaluation.hpp>
#include <xgrad/functional/forward_pass.hpp>

namespace xgrad::detail {

XGRAD_LAZY_BODY Tensors recorded_aliases(std::string_view name, TensorSpan of) {
    Tensors all;
    CachedVector<Edge> edges;
    for (auto const& t : of) {
        all.push_back(alias(t));
        if (!t.requires_grad()) continue;
        mark_view(all.back(), t, of.size() > 1);
        all.back().impl().output_nr = static_cast<std::uint32_t>(edges.size());
        edges.push_back(gradient_edge(t));
    }
    if (edges.empty()) return all;
    Ref<Node> const node(new AliasNode(name, std::move(edges)));
    for (std::size_t i = 0; i < of.size(); ++i)
        if (of[i].requires_grad()) all[i].impl().grad_fn = node;
    return all;
}

XGRAD_LAZY_BODY void check_defined(std::string_view name, std::string_view what, TensorSpan all) {
    for (std::size_t i = 0; i < all.size(); ++i)
        if (!all[i].defined()) fail<GraphError>(name, ": ", what, " ", i, " is undefined");
}

XGRAD_LAZY_BODY void become_inputs(
    std::string_view name, bool create_graph, std::span<AnyTensor> x) {
    check_defined(name, "input", x);
    for (auto& t : x)
        if (t.is_inference()) t = t.impl().type->copy(alias(t));
        else if (!create_graph) t = alias(t);
    if (create_graph) std::ranges::move(recorded_aliases("Alias", x), x.begin());
    for (auto const& t : x)
        if (!t.impl().grad_fn) t.impl().requires_grad = true;
}

XGRAD_LAZY_BODY void become_values(bool create_graph, std::span<AnyTensor> outputs) {
    if (!create_graph)
        for (auto& y : outputs) y = alias(y);
}

XGRAD_LAZY_BODY bool Evaluation::for_each_captured(
    std::function<void(Edge const&)> const& f) const {
    std::unordered_map<Node const*, std::size_t> seen; // a type that ForwardPass has, too
    bool depends = false;
    for (auto const& x : inputs) seen[gradient_edge(x).function.get()] = 2;
    auto const enter = [&](Edge const& edge) {
        Node const& node = *edge.function;
        auto const at = seen.find(&node);
        depends |= at != seen.end() && at->second == 2;
        if (at != seen.end()) return false;
        bool const is_captured = is_leaf(node) || node.sequence_nr() <= before;
        if (is_captured) f(edge);
        else seen[&node] = 1;
        return !is_captured;
    };
    walk_graph(edges_to(outputs), enter, [](Node&) {});
    return depends;
}
XGRAD_LAZY_BODY void Evaluation::check_depends() const {
    if (!for_each_captured([](Edge const&) {}))
        fail<GraphError>(transform, ": the function does not depend on ",
            inputs.size() == 1 ? "its argument" : "its arguments",
            ", so that it has no derivative: it may not go by way of item(), data(), detach() or "
            "NoGradGuard");
}

XGRAD_LAZY_BODY CachedVector<Edge> Evaluation::captured() const {
    CachedVector<Edge> edges;
    for_each_captured([&](Edge const& edge) { edges.push_back(edge); });
    return edges;
}

XGRAD_LAZY_BODY void forbid_derivatives(std::string_view name, CachedVector<Edge> const& captured,
    TensorSpan given, std::span<AnyTensor> results, std::string_view advice) {
    if (recording())
        set_error(message_of({name,
                      ": the result has no derivatives with respect to the tensors "
                      "that the problem is made of: detach() it, or ",
                      advice}),
            captured, given, results);
}

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
