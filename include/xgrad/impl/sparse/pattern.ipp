// Bodies of pattern.hpp.
#pragma once

#include <unordered_map>

#include <xgrad/impl/sparse/node_probe.ipp>
#include <xgrad/sparse/graph_structure.hpp>
#include <xgrad/sparse/pattern.hpp>

namespace xgrad::detail {

/// The search for a pattern: a state for each Node that depends on an input.
template <class = void> class PatternSearch {
public:
    PatternSearch(std::string_view name, TensorSpan inputs, FusedGradients* fused)
        : name_(name), inputs_(inputs), fused_(fused) {
        for (auto const& x : inputs) columns_ += x.numel();
        std::size_t first = 0;
        for (auto const& x : inputs) {
            Edge const edge = gradient_edge(x);
            auto& outputs = found_[edge.function.get()];
            if (outputs.size() <= edge.input_nr) outputs.resize(edge.input_nr + 1);
            std::vector<int> outer(x.numel() + 1), inner(x.numel());
            std::iota(outer.begin(), outer.end(), 0);
            std::iota(inner.begin(), inner.end(), static_cast<int>(first));
            first += inner.size();
            outputs[edge.input_nr] = {x.impl().type, x.shape(),
                SparsePattern(x.numel(), columns_, std::move(outer), std::move(inner)), true};
        }
    }

    SparsePattern run(TensorSpan results) {
        NoGradGuard const off;
        link_forward_mode();
        std::unordered_map<Node const*, std::size_t> users;
        auto const order = dependent_nodes(inputs_, results);
        for (auto const& y : results)
            if (y.requires_grad()) ++users[gradient_edge(y).function.get()];
        for (auto const* node : order)
            for (auto const& edge : node->next_edges())
                if (edge) ++users[edge.function.get()];
        for (auto* node : order) {
            visit(*node);
            for (auto const& edge : node->next_edges())
                if (edge && --users[edge.function.get()] == 0) found_[edge.function.get()].clear();
        }
        std::vector<PatternLink> links;
        std::size_t rows = 0;
        for (auto const& y : results) {
            Places out(y.numel());
            std::iota(out.begin(), out.end(), static_cast<int>(rows));
            rows += out.size();
            if (auto const* const found = y.requires_grad() ? at(gradient_edge(y)) : nullptr)
                links.push_back({&found->pattern, std::move(out), {}});
        }
        return linked_pattern(name_, rows, columns_, links);
    }

private:
    Dependence const* at(Edge const& edge) const {
        auto const it = edge ? found_.find(edge.function.get()) : found_.end();
        if (it == found_.end() || edge.input_nr >= it->second.size()) return nullptr;
        auto const& found = it->second[edge.input_nr];
        return found.type ? &found : nullptr;
    }
    void visit(Node& node) {
        std::vector<Dependence const*> from;
        for (auto const& edge : node.next_edges()) from.push_back(at(edge));
        if (std::ranges::none_of(from, [](auto* x) { return x != nullptr; })) return;
        auto& to = found_[&node];
        to.resize(node.num_outputs());
        if (node.forward_rule() == ForwardRule::fused)
            visit_fused(static_cast<FusedNode const&>(node), from, to[0]);
        else if (node.forward_rule() == ForwardRule::fused_gradient)
            visit_gradient(static_cast<FusedGradientNode<> const&>(node), from, to);
        else NodeProbe<>(name_, columns_, node, from).run(to);
    }

    /// The shape of the result or grad_output, as it is broadcast to the index space.
    static Shape result_shape(FusedNode const& node, bool keep) {
        auto const* const sum = node.sum();
        return sum ? sum->reduced(node.space(), keep) : node.space();
    }
    void visit_fused(
        FusedNode const& node, std::span<Dependence const*> from, Dependence& to) const {
        Links links;
        for (std::size_t k = 0; k < node.operand_count(); ++k)
            if (node.makes_gradient(k))
                if (auto const* const x = from[node.edge_of(k)])
                    links.push_back({&x->pattern, places_in(result_shape(node, true), node.space()),
                        places_in(node.operand_shape(k), node.space())});
        to = dependence(name_, columns_, node.table().result_type,
            result_shape(node, node.sum() && node.sum()->keeps_dims), links);
    }
    static bool is_same(Edge const& a, Edge const& b) {
        return a.function == b.function && a.input_nr == b.input_nr;
    }
    void visit_gradient(FusedGradientNode<> const& node, std::span<Dependence const*> from,
        std::span<Dependence> to) const {
        FusedNode const& of = node.of();
        if (fused_) note_operands(node, from);
        for (std::size_t t = 0; t < of.operand_count(); ++t) {
            if (!of.makes_gradient(t)) continue;
            Links links;
            auto const link = [&](Dependence const* x, Shape const& shape) {
                if (x)
                    links.push_back({&x->pattern, places_in(of.operand_shape(t), of.space()),
                        places_in(shape, of.space())});
            };
            auto const edge = each_operand(
                node, [&](std::size_t e, std::size_t k) { link(from[e], of.operand_shape(k)); });
            if (edge < from.size()) link(from[edge], result_shape(of, true));
            to[of.edge_of(t)] = dependence(
                name_, columns_, *of.table().operand_types[t], of.operand_shape(t), links);
        }
    }

    /// Calls f(edge, operand) for the edges of operands; returns the number of them.
    template <class F>
    static std::size_t each_operand(FusedGradientNode<> const& node, F const& f) {
        // edges to those operands on which the gradients depend, in their order, and then to
        // grad_output
        FusedNode const& of = node.of();
        std::size_t edge = 0;
        for (std::size_t k = 0; k < of.operand_count() && edge < node.next_edges().size(); ++k)
            if (of.makes_gradient(k) &&
                is_same(of.next_edges()[of.edge_of(k)], node.next_edges()[edge]))
                f(edge++, k);
        return edge;
    }
    void note_operands(FusedGradientNode<> const& node, std::span<Dependence const*> from) const {
        FusedNode const& of = node.of();
        std::vector<FusedGradients::Operand> operands;
        auto const count = each_operand(node, [&](std::size_t edge, std::size_t k) {
            operands.push_back({of.operand_shape(k), of.edge_of(k), {}});
            auto const* const x = from[edge];
            fused_->are_direct &= !x || x->copies;
            if (!x || !x->copies) return;
            for (std::size_t i = 0; i < numel(x->shape); ++i)
                operands.back().columns.push_back(
                    x->pattern.row(i).empty() ? nowhere : x->pattern.row(i)[0]);
        });
        fused_->are_direct &= count == from.size() || !from[count];
        fused_->operands.push_back(std::move(operands));
    }

    std::string_view name_;
    TensorSpan inputs_;
    FusedGradients* fused_;
    std::size_t columns_ = 0;
    std::unordered_map<Node const*, std::vector<Dependence>> found_; // by outputs
};

XGRAD_LAZY_BODY SparsePattern find_pattern(
    std::string_view name, TensorSpan inputs, TensorSpan outputs, FusedGradients* fused) {
    return PatternSearch<>(name, inputs, fused).run(outputs);
}

} // namespace xgrad::detail
