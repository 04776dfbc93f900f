// LocalGraph: a graph that a Node records and differentiates inside its own pass.
#pragma once

#include <xgrad/autograd/engine.hpp>
#include <xgrad/autograd/second_order.hpp>

namespace xgrad::detail {

/// The Node of new handles to given tensors: it hands the gradient of each handle on to its tensor.
class AliasNode final : public Node {
public:
    XGRAD_LAZY AliasNode(std::string_view name, CachedVector<Edge> edges);
    /// Replaces the edge of the first tensor.
    void connect(Edge edge) { edges_[0] = std::move(edge); }
    void apply(std::span<AnyTensor> gradients, std::span<AnyTensor> results) override {
        for (std::size_t i = 0; i < gradients.size(); ++i) results[i] = std::move(gradients[i]);
    }
    void pushforward(std::span<AnyTensor const> tangents, std::span<AnyTensor> results) override {
        for (std::size_t i = 0; i < tangents.size(); ++i) results[i] = tangents[i];
    }
    ForwardRule forward_rule() const noexcept override { return ForwardRule::batch; }
    Dependence dependence() const noexcept override { return Dependence::selection; }
    [[gnu::cold]] std::string name() const override { return backward_name(name_); }

private:
    std::string_view name_;
    CachedVector<Edge> edges_;
};

/// Each input stands for an edge of the outer graph. It is connected to that edge after the
/// gradients of the local graph are known: so the local pass stops at the inputs, and what it
/// recorded leads to the outer graph.
class LocalGraph {
public:
    /// A tensor with the values of t, which stands for the edge `outside`.
    XGRAD_LAZY AnyTensor input(AnyTensor const& t, Edge outside);

    /// Gradients of the tensors `of` with respect to all inputs, in their order; recorded in grad
    /// mode; undefined where there is none. A pair with an undefined tensor or gradient is skipped.
    XGRAD_LAZY [[gnu::cold]] std::vector<AnyTensor> gradients(
        std::span<AnyTensor const> of, std::span<AnyTensor const> gradients);

private:
    struct Input {
        Ref<AliasNode> node;
        Edge outside;
    };
    std::vector<Input> inputs_;
};

/// Node of gradients that were computed without a graph: differentiating them throws. Its edges
/// lead to the inputs on which they depend.
class ErrorNode final : public Node {
public:
    ErrorNode(std::string message, CachedVector<Edge> edges)
        : message_(std::move(message)), edges_(std::move(edges)) {
        set_edges(edges_.data(), edges_.size());
    }
    void apply(std::span<AnyTensor>, std::span<AnyTensor>) override { fail<GraphError>(message_); }
    void pushforward(std::span<AnyTensor const>, std::span<AnyTensor>) override { apply({}, {}); }
    [[gnu::cold]] std::string name() const override { return "Error"; }

private:
    std::string message_;
    CachedVector<Edge> edges_;
};

/// Makes the defined results those of an ErrorNode, with these edges and those of the inputs that
/// require a gradient. Where there are none, nothing changes.
XGRAD_LAZY [[gnu::cold]] void set_error(std::string message, CachedVector<Edge> edges,
    std::span<AnyTensor const> inputs, std::span<AnyTensor> results);

/// True where all elements of a tensor of real or complex numbers are 0, or there are none.
XGRAD_LAZY [[gnu::cold]] bool is_zero(AnyTensor const& t);

/// Throws where apply() computed gradients without recording them. Backward is linear in
/// grad_output: a gradient that is not always 0 depends on it and must have a grad_fn.
XGRAD_LAZY [[gnu::cold]] void check_recorded(Node& node, std::span<AnyTensor const> outputs,
    std::span<AnyTensor const> gradients, std::span<AnyTensor const> tangents);

/// `shape` with a leading axis.
XGRAD_LAZY Shape batch_shape(std::size_t directions, Shape const& shape);
/// Tangent i of a batch: a view.
XGRAD_LAZY AnyTensor tangent_at(AnyTensor const& batch, std::size_t i);
/// Copies tangent i to a batch of so many, which is made of zeros where it is undefined.
XGRAD_LAZY void put_tangent(
    AnyTensor& batch, std::size_t directions, std::size_t i, AnyTensor const& tangent);

/// Body of push_by_transposing(), reached through ForwardMode.
XGRAD_LAZY [[gnu::cold]] void push_transposed(Node& node, std::vector<AnyTensor> outputs,
    std::span<AnyTensor const> tangents, std::span<AnyTensor> results);

} // namespace xgrad::detail
