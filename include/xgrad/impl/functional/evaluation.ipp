// Bodies of evaluation.hpp.
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

} // namespace xgrad::detail
