// A small graph that a Node makes for itself, to differentiate it on the spot.
#pragma once

#include <xgrad/graph/engine.hpp>
#include <xgrad/graph/second_order.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::detail {

/// Passes its gradient on, once it is connected.
class InputNode final : public Node {
public:
    void connect(Edge edge)
    {
        edge_ = std::move(edge);
        set_edges(&edge_, 1);
    }
    void apply(std::span<AnyTensor> gradients, std::span<AnyTensor> results) override { results[0] = gradients[0]; }
    void pushforward(std::span<AnyTensor const> tangents, std::span<AnyTensor> results) override { results[0] = tangents[0]; }
    [[gnu::cold]] std::string name() const override { return backward_name("Alias"); }

private:
    Edge edge_;
};

/// Its inputs stand for places in the graph outside, from which they are cut off until the gradients for them are known: so
/// the pass goes no further, and what it records leads there.
class LocalGraph {
public:
    /// A tensor with the values of t, and with `outside` as what it stands for.
    AnyTensor input(AnyTensor const& t, Edge outside)
    {
        AnyTensor x = alias(t);
        Ref<InputNode> node(new InputNode);
        x.impl().grad_fn = Ref<Node>(node.get());
        inputs_.push_back({std::move(node), std::move(outside)});
        return x;
    }

    /// Gradients of tensors for all inputs, in their order, recorded in grad mode; undefined where there is none. A tensor takes no part
    /// where it or its gradient is undefined.
    [[gnu::cold]] std::vector<AnyTensor> gradients(std::span<AnyTensor const> of, std::span<AnyTensor const> gradients)
    {
        std::vector<Root> roots;
        for (std::size_t i = 0; i < of.size(); ++i)
            if (of[i].defined() && gradients[i].defined() && of[i].requires_grad()) roots.push_back({gradient_edge(of[i]), gradients[i], *of[i].impl().type, of[i].shape()});
        std::vector<Capture> captures;
        for (auto const& input : inputs_) captures.push_back({{Ref<Node>(input.node.get()), 0}});
        if (!roots.empty() && !captures.empty()) run_backward(roots, captures, true, grad_mode, captures[0].edge.function->sequence_nr());
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

/// Forward mode for a Node that has no shorter way: its backward pass is linear in the gradients, and the gradient of that takes
/// tangents to tangents. `outputs` are zeros like the Node's outputs.
inline void push_by_transposing(Node& node, std::vector<AnyTensor> outputs, std::span<AnyTensor const> tangents, std::span<AnyTensor> results)
{
    SecondOrder::of(node).push_transposed(node, std::move(outputs), tangents, results);
}

/// What push_by_transposing() calls.
[[gnu::cold]] inline void push_transposed(Node& node, std::vector<AnyTensor> outputs, std::span<AnyTensor const> tangents, std::span<AnyTensor> results)
{
    LocalGraph graph;
    std::vector<std::size_t> defined;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (!outputs[i].defined()) continue;
        outputs[i] = graph.input(outputs[i], {});
        defined.push_back(i);
    }
    std::vector<AnyTensor> gradients(node.next_edges().size());
    {
        AutoGradMode const on(true);
        node.apply(outputs, gradients);
    }
    auto found = graph.gradients(gradients, tangents);
    for (std::size_t i = 0; i < defined.size(); ++i) results[defined[i]] = std::move(found[i]);
}

}  // namespace xgrad::detail
