// Bodies of evaluation.hpp.
#pragma once

#include <xgrad/functional/evaluation.hpp>

namespace xgrad::detail {

/// The Node of new handles to given tensors: it hands the gradient of each handle on to its tensor.
class AliasNode final : public Node {
public:
    AliasNode(std::string_view name, std::vector<Edge> edges)
        : name_(name), edges_(std::move(edges)) {
        set_edges(edges_.data(), edges_.size());
        set_num_outputs(static_cast<std::uint32_t>(edges_.size()));
    }
    void apply(std::span<AnyTensor> gradients, std::span<AnyTensor> results) override {
        std::ranges::move(gradients, results.begin());
    }
    void pushforward(std::span<AnyTensor const> tangents, std::span<AnyTensor> results) override {
        std::ranges::copy(tangents, results.begin());
    }
    std::string name() const override { return backward_name(name_); }

private:
    std::string_view name_;
    std::vector<Edge> edges_;
};

XGRAD_FUNCTION Tensors recorded_aliases(std::string_view name, TensorSpan of) {
    Tensors all;
    std::vector<Edge> edges;
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

XGRAD_FUNCTION void check_defined(std::string_view name, std::string_view what, TensorSpan all) {
    for (std::size_t i = 0; i < all.size(); ++i)
        if (!all[i].defined()) fail<GraphError>(name, ": ", what, " ", i, " is undefined");
}

XGRAD_FUNCTION void become_inputs(
    std::string_view name, bool create_graph, std::span<AnyTensor> x) {
    check_defined(name, "input", x);
    for (auto& t : x)
        if (t.is_inference()) t = t.impl().type->copy(alias(t));
        else if (!create_graph) t = alias(t);
    if (create_graph) std::ranges::move(recorded_aliases("Alias", x), x.begin());
    for (auto const& t : x)
        if (!t.impl().grad_fn) t.impl().requires_grad = true;
}

XGRAD_FUNCTION void become_values(bool create_graph, std::span<AnyTensor> outputs) {
    if (!create_graph)
        for (auto& y : outputs) y = alias(y);
}

} // namespace xgrad::detail
