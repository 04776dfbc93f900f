// RecordedGraph: what a call of a function under checkpoint() has recorded, to compare it with what
// another call records.
// Read next: checkpoint.ipp.
#pragma once

#include <optional>
#include <string>

#include <xgrad/functional/evaluation.hpp>
#include <xgrad/functional/forward_pass.hpp>

namespace xgrad::detail {

inline constexpr std::string_view must_be_the_same =
    ". The function must do the same each time it is called with the same inputs.";

/// The Nodes that a call has recorded and that its results depend on, without references to them:
/// enough to see whether another call has recorded the same. What the function captures may have
/// got another grad_fn between the calls, by a change in place: it is a Node that was recorded
/// after the first call.
class RecordedGraph {
public:
    /// `before` is the number of the last Node that this thread had recorded before the call.
    XGRAD_LAZY RecordedGraph(
        Tensors const& arguments, Tensors const& results, std::uint64_t before);

    /// Throws GraphError where the graph of another call is not the same. `before` is the number of
    /// the last Node that this thread had recorded before that call.
    XGRAD_LAZY void compare(
        Tensors const& arguments, Tensors const& results, std::uint64_t before) const;

private:
    static constexpr std::size_t none = ~std::size_t{0};

    struct Step {
        std::uint64_t sequence;
        std::size_t argument; // the one that this is the edge of, or none
        bool is_leaf;
        std::optional<std::string> text = {};       // of a Node that the call has recorded
        std::size_t first_edge = 0, edge_count = 0; // in edges_
    };
    struct Link {
        std::size_t step; // in steps_, or none
        std::uint32_t input_nr;
    };

    XGRAD_LAZY static std::size_t argument_of(
        Edge const& edge, CachedVector<Edge> const& arguments);
    XGRAD_LAZY static bool is_like(Step const& step, Node const& node);
    XGRAD_LAZY [[noreturn, gnu::cold]] static void fail_other(Step const* was, Node const* is);

    std::uint64_t last_;      // number of the last Node that the call has recorded
    std::vector<Step> steps_; // in breadth-first order
    std::vector<Link> results_, edges_;
};

XGRAD_LAZY_BODY std::size_t RecordedGraph::argument_of(
    Edge const& edge, CachedVector<Edge> const& arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i)
        if (arguments[i].function == edge.function && arguments[i].input_nr == edge.input_nr)
            return i;
    return none;
}

XGRAD_LAZY_BODY RecordedGraph::RecordedGraph(
    Tensors const& arguments, Tensors const& results, std::uint64_t before)
    : last_(next_sequence) {
    auto const inputs = edges_to(arguments);
    std::vector<Node const*> nodes;                         // of steps_
    std::vector<std::size_t> step_of(last_ - before, none); // by sequence number
    auto const link_to = [&](Edge const& edge) -> Link {
        if (!edge) return {none, 0};
        Node const& node = *edge.function;
        auto const nr = node.sequence_nr() - before - 1;
        auto const known = nr < step_of.size() ? step_of[nr] : none;
        if (known != none && nodes[known] == &node) return {known, edge.input_nr};
        Step step{node.sequence_nr(), argument_of(edge, inputs), is_leaf(node)};
        // a Node of another thread may have the number of one of this call
        if (nr < step_of.size() && known == none) {
            step_of[nr] = steps_.size();
            step.text = node.formula();
        }
        steps_.push_back(std::move(step));
        nodes.push_back(&node);
        return {steps_.size() - 1, edge.input_nr};
    };
    for (auto const& edge : edges_to(results)) results_.push_back(link_to(edge));
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        if (!steps_[i].text) continue;
        auto const edges = nodes[i]->next_edges();
        steps_[i].first_edge = edges_.size();
        steps_[i].edge_count = edges.size();
        for (auto const& edge : edges) edges_.push_back(link_to(edge));
    }
}

XGRAD_LAZY_BODY bool RecordedGraph::is_like(Step const& step, Node const& node) {
    if (step.is_leaf) return detail::is_leaf(node); // the function makes this leaf
    if (!step.text) return step.sequence == node.sequence_nr();
    return *step.text == node.formula() && step.edge_count == node.next_edges().size();
}

XGRAD_LAZY_BODY void RecordedGraph::compare(
    Tensors const& arguments, Tensors const& results, std::uint64_t before) const {
    auto const inputs = edges_to(arguments);
    std::vector<Node const*> nodes(steps_.size(), nullptr);
    auto const is_same = [&](Link const& link, Step const& step, Edge const& edge) {
        auto const argument = argument_of(edge, inputs);
        if (argument != none || step.argument != none) return argument == step.argument;
        Node const* const node = edge.function.get();
        auto const nr = node->sequence_nr();
        bool const is_renewed = !step.text && !step.is_leaf && !detail::is_leaf(*node) &&
                                nr != step.sequence && (nr > last_ || nr > before);
        if (is_renewed) return true;
        if (edge.input_nr != link.input_nr) return false;
        if (auto const* const seen = nodes[link.step]) return seen == node;
        return is_like(step, *node);
    };
    auto const visit = [&](Link const& link, Edge const& edge) {
        Step const* const step = link.step == none ? nullptr : &steps_[link.step];
        if (!step && !edge) return;
        if (!step || !edge || !is_same(link, *step, edge)) fail_other(step, edge.function.get());
        nodes[link.step] = edge.function.get();
    };
    if (results.size() != results_.size())
        fail<GraphError>("checkpoint: The function returned ", results_.size(),
            " tensors the first time and returns ", results.size(), " now", must_be_the_same);
    auto const edges = edges_to(results);
    for (std::size_t i = 0; i < edges.size(); ++i) visit(results_[i], edges[i]);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        auto const& step = steps_[i];
        if (!nodes[i]) continue;
        for (std::size_t e = 0; e < step.edge_count; ++e)
            visit(edges_[step.first_edge + e], nodes[i]->next_edges()[e]);
    }
}

XGRAD_LAZY_BODY void RecordedGraph::fail_other(Step const* was, Node const* is) {
    fail<GraphError>("checkpoint: The function computes something else than the first time: ",
        is ? is->formula() : "a constant", " where it was ",
        !was           ? "a constant"
        : was->text    ? *was->text
        : was->is_leaf ? "a leaf"
                       : "another tensor",
        must_be_the_same);
}

} // namespace xgrad::detail
