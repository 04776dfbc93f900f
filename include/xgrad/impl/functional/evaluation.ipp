// Bodies of evaluation.hpp, forward_pass.hpp and graph_dependence.hpp.
#pragma once

#include <unordered_map>

#include <xgrad/functional/evaluation.hpp>
#include <xgrad/functional/graph_dependence.hpp>

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
    auto aliases = create_graph ? recorded_aliases("Alias", x) : Tensors();
    std::move(aliases.begin(), aliases.end(), x.begin());
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
        for (auto& t : notes.all()) t = {};
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
                for (auto& t : notes.all()) t = {};
}

XGRAD_LAZY_BODY void ForwardPass::push_each(
    Node& node, std::span<AnyTensor const> tangents, std::span<AnyTensor> results) {
    std::vector<AnyTensor> one(tangents.size()), made(results.size());
    for (std::size_t direction = 0; direction < directions_; ++direction) {
        for (std::size_t k = 0; k < tangents.size(); ++k)
            if (tangents[k].defined()) one[k] = tangent_at(tangents[k], direction);
        for (auto& t : made) t = {};
        node.pushforward(one, made);
        for (std::size_t i = 0; i < made.size(); ++i)
            if (made[i].defined()) put_tangent(results[i], directions_, direction, made[i]);
    }
}

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
        for (auto const& x : inputs) found_.add_input(x, {x.impl().type, x.shape()});
    }
    /// True where all outputs of the Node that depend on the inputs keep their rows.
    bool visit(Node& node) {
        auto const from = found_.inputs_of(node);
        std::vector<DependentOutput> to(node.num_outputs());
        bool const keeps =
            node.forward_rule() == ForwardRule::fused
                ? visit_fused(static_cast<FusedNode const&>(node), from, to[0])
            : node.forward_rule() == ForwardRule::fused_gradient
                ? visit_gradient(static_cast<FusedGradientNode<> const&>(node), from, to)
                : visit_other(node, from, to);
        found_.of[&node] = std::move(to);
        return keeps;
    }

private:
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
        bool keeps = true;
        auto const edge = each_operand(node, [&](std::size_t e, std::size_t k) {
            keeps &= !from[e] || fits(of.operand_shape(k), of.space());
        });
        if (edge < from.size() && from[edge]) keeps &= has_rows(result_shape(of, true));
        for (std::size_t k = 0; k < of.operand_count(); ++k)
            if (of.makes_gradient(k)) {
                to[of.edge_of(k)] = {of.table().operand_types[k], of.operand_shape(k)};
                keeps &= fits(of.operand_shape(k), of.space());
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
    bool are_rows(std::vector<double> const& numbers) const {
        std::size_t const size = numbers.size() / rows_;
        for (std::size_t i = 0; i < numbers.size(); ++i)
            if (numbers[i] != 0 && numbers[i] != static_cast<double>(i / size + 1)) return false;
        return true;
    }
    static constexpr std::size_t max_number = 1 << 24; // exact in float

    std::size_t rows_;
    VisitedOutputs<DependentOutput> found_;
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
