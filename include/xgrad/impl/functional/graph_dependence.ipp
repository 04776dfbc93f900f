// Bodies of graph_dependence.hpp.
#pragma once

#include <unordered_map>

#include <xgrad/functional/graph_dependence.hpp>

namespace xgrad::detail {

XGRAD_LAZY_BODY std::vector<Node*> dependent_nodes(TensorSpan inputs, TensorSpan outputs) {
    std::unordered_map<Node const*, bool> depends;
    for (auto const& x : inputs) depends[gradient_edge(x).function.get()] = true;
    std::vector<Node*> order;
    walk_graph(
        edges_to(outputs),
        [&](Edge const& edge) { return depends.emplace(edge.function.get(), false).second; },
        [&](Node& node) {
            for (auto const& edge : node.next_edges())
                depends[&node] |= edge && depends[edge.function.get()];
            if (depends[&node]) order.push_back(&node);
        });
    return order;
}

XGRAD_LAZY_BODY std::vector<double> numbers_in(AnyTensor const& t) {
    if (!t.defined()) return {};
    std::vector<double> all(count_reals(t));
    read_reals(t, all.data());
    for (std::size_t i = 0, parts = all.size() / std::max(t.numel(), std::size_t{1}); i < t.numel();
         ++i) {
        double const number = all[parts * i];
        all[i] = std::abs(number != 0 ? number : all[parts * i + parts - 1]);
    }
    all.resize(t.numel());
    return all;
}

XGRAD_LAZY_BODY Shape result_shape(FusedNode const& node, bool keep) {
    auto const* const sum = node.sum();
    return sum ? sum->reduced(node.space(), keep) : node.space();
}

/// Follows the rows of the inputs from Node to Node. Invariant: each row of an output that was
/// found, which the first axis numbers, depends on the same row of the inputs only.
template <class = void> class RowSearch {
public:
    RowSearch(TensorSpan inputs, std::size_t rows) : rows_(rows) {
        for (auto const& x : inputs) {
            Edge const edge = gradient_edge(x);
            auto& outputs = found_[edge.function.get()];
            if (outputs.size() <= edge.input_nr) outputs.resize(edge.input_nr + 1);
            outputs[edge.input_nr] = {x.impl().type, x.shape()};
        }
    }
    /// True where all outputs of the Node that depend on the inputs keep their rows.
    bool visit(Node& node) {
        DependentInputs from;
        for (auto const& edge : node.next_edges()) from.push_back(output(edge));
        std::vector<DependentOutput> to(node.num_outputs());
        bool const keeps =
            node.forward_rule() == ForwardRule::fused
                ? visit_fused(static_cast<FusedNode const&>(node), from, to[0])
            : node.forward_rule() == ForwardRule::fused_gradient
                ? visit_gradient(static_cast<FusedGradientNode<> const&>(node), from, to)
                : visit_other(node, from, to);
        found_[&node] = std::move(to);
        return keeps;
    }

private:
    DependentOutput const* output(Edge const& edge) const {
        auto const it = edge ? found_.find(edge.function.get()) : found_.end();
        return it != found_.end() && edge.input_nr < it->second.size() &&
                       it->second[edge.input_nr].type
                   ? &it->second[edge.input_nr]
                   : nullptr;
    }
    bool has_rows(Shape const& shape) const { return !shape.empty() && shape[0] == rows_; }
    /// True for an operand whose rows are those of the index space.
    bool fits(Shape const& shape, Shape const& space) const {
        return shape.size() == space.size() && has_rows(shape);
    }
    bool visit_fused(
        FusedNode const& node, DependentInputs const& from, DependentOutput& to) const {
        auto const* const sum = node.sum();
        to = {&node.table().result_type, result_shape(node, sum && sum->keeps_dims)};
        bool keeps = has_rows(result_shape(node, true));
        for (std::size_t k = 0; k < node.operand_count(); ++k)
            if (node.makes_gradient(k) && from[node.edge_of(k)])
                keeps &= fits(node.operand_shape(k), node.space());
        return keeps;
    }
    bool visit_gradient(FusedGradientNode<> const& node, DependentInputs const& from,
        std::vector<DependentOutput>& to) const {
        FusedNode const& of = node.of();
        Shape const& space = of.space();
        bool keeps = true;
        auto const edge = each_operand(node, [&](std::size_t e, std::size_t k) {
            keeps &= !from[e] || fits(of.operand_shape(k), space);
        });
        if (edge < from.size() && from[edge]) keeps &= has_rows(result_shape(of, true));
        for (std::size_t k = 0; k < of.operand_count(); ++k)
            if (of.makes_gradient(k)) {
                to[of.edge_of(k)] = {of.table().operand_types[k], of.operand_shape(k)};
                keeps &= fits(of.operand_shape(k), space);
            }
        return keeps;
    }
    bool visit_other(
        Node& node, DependentInputs const& from, std::vector<DependentOutput>& to) const {
        Dependence const kind = node.dependence();
        bool const selects = kind == Dependence::selection && rows_ < max_number;
        if (!selects && kind != Dependence::elements && kind != Dependence::axes) return false;
        std::vector<std::size_t> row_of; // each element of the inputs
        for (auto const* x : from)
            for (std::size_t i = 0, n = x ? numel(x->shape) : 0; i < n; ++i)
                row_of.push_back(i / (n / rows_));
        auto const results = push_numbers(node, from, [&](std::size_t i) { return row_of[i] + 1; });
        bool keeps = true;
        for (std::size_t o = 0; o < to.size(); ++o) {
            if (!results[o].defined()) continue;
            Shape const shape = results[o].shape();
            to[o] = {results[o].impl().type, shape};
            keeps &= has_rows(shape) && (!selects || are_rows(numbers_in(results[o])));
            for (std::size_t e = 0; e < from.size() && keeps && !selects; ++e)
                if (from[e])
                    keeps = kind == Dependence::elements
                                ? fits(from[e]->shape, shape)
                                : node.kept_axes(e, from[e]->shape.size(), shape.size())[0] == 0;
        }
        return keeps;
    }
    /// True for numbers that are those of their rows, or 0.
    bool are_rows(std::vector<double> const& numbers) const {
        std::size_t const size = numbers.size() / rows_;
        for (std::size_t i = 0; i < numbers.size(); ++i)
            if (numbers[i] != 0 && numbers[i] != static_cast<double>(i / size + 1)) return false;
        return true;
    }
    static constexpr std::size_t max_number = 1 << 24; // exact in float

    std::size_t rows_;
    std::unordered_map<Node const*, std::vector<DependentOutput>> found_;
};

XGRAD_LAZY_BODY std::string find_joined_rows(
    TensorSpan inputs, TensorSpan outputs, std::size_t rows) {
    NoGradGuard const off;
    link_forward_mode();
    RowSearch<> search(inputs, rows);
    for (auto* const node : dependent_nodes(inputs, outputs))
        if (!search.visit(*node)) return node->name();
    return {};
}

} // namespace xgrad::detail
