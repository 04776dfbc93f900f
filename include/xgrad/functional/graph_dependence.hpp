// Dependence along a recorded graph, without values: which Nodes depend on the inputs, which
// elements a Node moves to which, and whether rows stay apart.
#pragma once

#include <xgrad/functional/forward_pass.hpp>
#include <xgrad/functional/structure.hpp>
#include <xgrad/tensor/fused_gradient_node.hpp>

namespace xgrad::detail {

/// The Nodes of a graph that depend on the inputs, in the order of recording.
XGRAD_LAZY std::vector<Node*> dependent_nodes(TensorSpan inputs, TensorSpan outputs);

/// An output of a Node that depends on the inputs.
struct DependentOutput {
    TypeInfo const* type = nullptr; // null where it does not
    Shape shape = {};
};
/// Of each edge of a Node; null where there is none.
using DependentInputs = std::vector<DependentOutput const*>;

/// The outputs of Nodes that were visited: each a DependentOutput, or more.
template <class Output> struct VisitedOutputs {
    std::unordered_map<Node const*, std::vector<Output>> of;

    void add_input(AnyTensor const& x, Output output) {
        Edge const edge = gradient_edge(x);
        auto& outputs = of[edge.function.get()];
        if (outputs.size() <= edge.input_nr) outputs.resize(edge.input_nr + 1);
        outputs[edge.input_nr] = std::move(output);
    }
    /// Null where an edge leads to none that depends on the inputs.
    Output const* find(Edge const& edge) const {
        auto const it = edge ? of.find(edge.function.get()) : of.end();
        if (it == of.end() || edge.input_nr >= it->second.size()) return nullptr;
        return it->second[edge.input_nr].type ? &it->second[edge.input_nr] : nullptr;
    }
    std::vector<Output const*> inputs_of(Node const& node) const {
        std::vector<Output const*> all;
        for (auto const& edge : node.next_edges()) all.push_back(find(edge));
        return all;
    }
};

/// A tensor of numbers: number(i) in element i, in both parts of a complex one.
template <class Number>
AnyTensor numbered(TypeInfo const& type, Shape const& shape, Number const& number) {
    AnyTensor t = type.filled(shape, 0);
    with_reals(t, [&]<class P>(P* at, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) at[i] = static_cast<P>(number(i * t.numel() / n));
    });
    return t;
}
/// The numbers in a tensor to which numbered() ones were moved, or 0; none in an undefined one.
XGRAD_LAZY std::vector<double> numbers_in(AnyTensor const& t);
/// Tangents of the outputs for numbered() ones of the inputs, whose elements i counts.
template <class Number>
Tensors push_numbers(Node& node, DependentInputs const& from, Number const& number) {
    Tensors tangents(from.size()), results(node.num_outputs());
    for (std::size_t e = 0, first = 0; e < from.size(); ++e) {
        if (!from[e]) continue;
        tangents[e] = numbered(
            *from[e]->type, from[e]->shape, [&](std::size_t i) { return number(first + i); });
        first += tangents[e].numel();
    }
    node.pushforward(tangents, results);
    return results;
}

/// The shape of the result or grad_output, as it is broadcast to the index space.
XGRAD_LAZY Shape result_shape(FusedNode const& node, bool keep);
/// Calls f(edge, operand) for the edges to operands. Returns that to grad_output, if it exists.
template <class F> std::size_t each_operand(FusedGradientNode<> const& node, F const& f) {
    FusedNode const& of = node.of();
    auto const edges = node.next_edges();
    std::size_t edge = 0;
    for (std::size_t k = 0; k < of.operand_count() && edge < edges.size(); ++k)
        if (of.makes_gradient(k))
            if (auto const& to = of.next_edges()[of.edge_of(k)];
                to.function == edges[edge].function && to.input_nr == edges[edge].input_nr)
                f(edge++, k);
    return edge;
}

/// The name of the first Node after which rows of an output may depend on other rows of the inputs;
/// empty where there is none. All inputs and outputs have so many rows, two or more.
XGRAD_LAZY std::string find_joined_rows(TensorSpan inputs, TensorSpan outputs, std::size_t rows);

} // namespace xgrad::detail
