// LocalGraph: a graph that a Node records and differentiates inside its own pass.
#pragma once

#include <xgrad/graph/engine.hpp>
#include <xgrad/graph/second_order.hpp>

namespace xgrad::detail {

/// Identity. Has no edge until it is connected.
class InputNode final : public Node {
public:
    void connect(Edge edge) {
        edge_ = std::move(edge);
        set_edges(&edge_, 1);
    }
    void apply(std::span<AnyTensor> gradients, std::span<AnyTensor> results) override {
        results[0] = gradients[0];
    }
    void pushforward(std::span<AnyTensor const> tangents, std::span<AnyTensor> results) override {
        results[0] = tangents[0];
    }
    [[gnu::cold]] std::string name() const override { return backward_name("Alias"); }

private:
    Edge edge_;
};

/// Each input stands for an edge of the outer graph. It is connected to that edge after the
/// gradients of the local graph are known: so the local pass stops at the inputs, and what it
/// recorded leads to the outer graph.
class LocalGraph {
public:
    /// A tensor with the values of t, which stands for the edge `outside`.
    AnyTensor input(AnyTensor const& t, Edge outside) {
        AnyTensor x = alias(t);
        Ref<InputNode> node(new InputNode);
        x.impl().grad_fn = Ref<Node>(node.get());
        inputs_.push_back({std::move(node), std::move(outside)});
        return x;
    }

    /// Gradients of the tensors `of` with respect to all inputs, in their order; recorded in grad
    /// mode; undefined where there is none. A pair with an undefined tensor or gradient is skipped.
    [[gnu::cold]] std::vector<AnyTensor> gradients(
        std::span<AnyTensor const> of, std::span<AnyTensor const> gradients) {
        std::vector<Root> roots;
        for (std::size_t i = 0; i < of.size(); ++i)
            if (of[i].defined() && gradients[i].defined() && of[i].requires_grad())
                roots.push_back(
                    {gradient_edge(of[i]), gradients[i], *of[i].impl().type, of[i].shape()});
        std::vector<Capture> captures;
        for (auto const& input : inputs_) captures.push_back({{Ref<Node>(input.node.get()), 0}});
        if (!roots.empty() && !captures.empty())
            run_backward(
                roots, captures, true, grad_mode, captures[0].edge.function->sequence_nr());
        std::vector<AnyTensor> results;
        for (auto& capture : captures) results.push_back(std::move(capture.gradient));
        for (auto& input : inputs_)
            if (input.outside) input.node->connect(input.outside);
        return results;
    }

private:
    struct Input {
        Ref<InputNode> node;
        Edge outside;
    };
    std::vector<Input> inputs_;
};

/// Node of gradients that were computed without a graph: differentiating them throws. Its edges
/// lead to the inputs on which they depend.
class ErrorNode final : public Node {
public:
    ErrorNode(std::string message, std::vector<Edge> edges)
        : message_(std::move(message)), edges_(std::move(edges)) {
        set_edges(edges_.data(), edges_.size());
    }
    void apply(std::span<AnyTensor>, std::span<AnyTensor>) override { fail<GraphError>(message_); }
    void pushforward(std::span<AnyTensor const>, std::span<AnyTensor>) override {
        fail<GraphError>(message_);
    }
    [[gnu::cold]] std::string name() const override { return "Error"; }

private:
    std::string message_;
    std::vector<Edge> edges_;
};

/// The same values as t, made by an ErrorNode.
[[gnu::cold]] inline AnyTensor with_error(AnyTensor const& t, Ref<Node> error) {
    AnyTensor result = alias(t);
    result.impl().grad_fn = std::move(error);
    result.impl().output_nr = 0;
    return result;
}

/// True where all elements of a tensor of real or complex numbers are 0.
[[gnu::cold]] inline bool is_zero(AnyTensor const& t) {
    NoGradGuard const off;
    auto const values = t.impl().type->copy(t);
    auto const all_zero = [&](auto const* first) {
        auto const parts = values.numel() * values.impl().type->size / sizeof *first;
        return std::all_of(first, first + parts, [](auto x) { return x == 0; });
    };
    auto const* const data = values.impl().array.data;
    bool const is_single = t.dtype() == DType::float32 || t.dtype() == DType::complex64;
    return is_single ? all_zero(reinterpret_cast<float const*>(data))
                     : all_zero(reinterpret_cast<double const*>(data));
}

/// Forward mode for a Node with only a backward pass. The backward pass is linear in its gradients,
/// and its transpose takes tangents to tangents. `outputs` are zeros with the shapes of the Node's
/// outputs.
inline void push_by_transposing(Node& node, std::vector<AnyTensor> outputs,
    std::span<AnyTensor const> tangents, std::span<AnyTensor> results) {
    SecondOrder::of(node).push_transposed(node, std::move(outputs), tangents, results);
}

/// Throws where apply() computed gradients without recording them. Backward is linear in
/// grad_output: a gradient that is not always 0 depends on it and must have a grad_fn.
[[gnu::cold]] inline void check_recorded(Node& node, std::span<AnyTensor const> outputs,
    std::span<AnyTensor const> gradients, std::span<AnyTensor const> tangents) {
    std::vector<AnyTensor> ones, of_ones(gradients.size());
    for (std::size_t k = 0; k < gradients.size(); ++k) {
        if (!tangents[k].defined() || !gradients[k].defined() || gradients[k].requires_grad())
            continue;
        if (ones.empty()) {
            PassMode const off(false);
            for (auto const& y : outputs)
                ones.push_back(y.defined() ? y.impl().type->filled(y.shape(), 1) : AnyTensor());
            node.apply(ones, of_ones);
        }
        if (of_ones[k].defined() && !is_zero(of_ones[k]))
            fail<GraphError>(node.name(),
                ": its backward pass was not recorded, so that forward mode cannot use it: let it "
                "compute with operations on tensors, or give the function a jvp");
    }
}

/// Body of push_by_transposing(), reached through SecondOrder.
[[gnu::cold]] inline void push_transposed(Node& node, std::vector<AnyTensor> outputs,
    std::span<AnyTensor const> tangents, std::span<AnyTensor> results) {
    LocalGraph graph;
    std::vector<std::size_t> defined;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (!outputs[i].defined()) continue;
        outputs[i] = graph.input(outputs[i], {});
        defined.push_back(i);
    }
    std::vector<AnyTensor> gradients(node.next_edges().size());
    {
        PassMode const recorded(true);
        node.apply(outputs, gradients);
    }
    check_recorded(node, outputs, gradients, tangents);
    auto found = graph.gradients(gradients, tangents);
    for (std::size_t i = 0; i < defined.size(); ++i) results[defined[i]] = std::move(found[i]);
}

} // namespace xgrad::detail
