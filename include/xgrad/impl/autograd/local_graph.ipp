// Bodies of local_graph.hpp and second_order.hpp.
#pragma once

#include <xgrad/autograd/accumulate_grad.hpp>
#include <xgrad/autograd/local_graph.hpp>
#include <xgrad/autograd/second_order.hpp>

namespace xgrad::detail {

XGRAD_LAZY_BODY AliasNode::AliasNode(std::string_view name, CachedVector<Edge> edges)
    : name_(name), edges_(std::move(edges)) {
    set_edges(edges_.data(), edges_.size());
    set_num_outputs(static_cast<std::uint32_t>(edges_.size()));
}

XGRAD_LAZY_BODY AnyTensor LocalGraph::input(AnyTensor const& t, Edge outside) {
    AnyTensor x = alias(t);
    Ref<AliasNode> node(new AliasNode("Alias", CachedVector<Edge>(1))); // connected by gradients()
    x.impl().grad_fn = Ref<Node>(node.get());
    inputs_.push_back({std::move(node), std::move(outside)});
    return x;
}

XGRAD_LAZY_BODY std::vector<AnyTensor> LocalGraph::gradients(
    std::span<AnyTensor const> of, std::span<AnyTensor const> gradients) {
    std::vector<Root> roots;
    for (std::size_t i = 0; i < of.size(); ++i)
        if (of[i].defined() && gradients[i].defined() && of[i].requires_grad())
            roots.push_back(
                {gradient_edge(of[i]), gradients[i], *of[i].impl().type, of[i].shape()});
    std::vector<Capture> captures;
    for (auto const& input : inputs_) captures.push_back({{Ref<Node>(input.node.get()), 0}});
    allow_nested_passes();
    if (!roots.empty() && !captures.empty())
        run_backward(roots, {captures, &discover_needed}, true, grad_mode,
            captures[0].edge.function->sequence_nr());
    std::vector<AnyTensor> results;
    for (auto& capture : captures) results.push_back(std::move(capture.gradient));
    for (auto& input : inputs_)
        if (input.outside) input.node->connect(input.outside);
    return results;
}

XGRAD_LAZY_BODY void set_error(std::string message, CachedVector<Edge> edges,
    std::span<AnyTensor const> inputs, std::span<AnyTensor> results) {
    for (auto const& t : inputs)
        if (t.defined() && t.requires_grad()) edges.push_back(gradient_edge(t));
    if (edges.empty()) return;
    Ref<Node> const error(new ErrorNode(std::move(message), std::move(edges)));
    for (auto& t : results)
        if (t.defined()) {
            t = alias(t);
            t.impl().grad_fn = error;
        }
}

XGRAD_LAZY_BODY bool is_zero(AnyTensor const& t) {
    if (!t.defined()) return true;
    NoGradGuard const off;
    return with_reals(t.impl().type->copy(t), [](auto const* first, std::size_t n) {
        return std::all_of(first, first + n, [](auto x) { return x == 0; });
    });
}

XGRAD_FUNCTION void push_by_transposing(Node& node, std::vector<AnyTensor> outputs,
    std::span<AnyTensor const> tangents, std::span<AnyTensor> results) {
    ForwardMode::of(node).push_transposed(node, std::move(outputs), tangents, results);
}

XGRAD_LAZY_BODY void check_recorded(Node& node, std::span<AnyTensor const> outputs,
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
        if (!is_zero(of_ones[k]))
            fail<GraphError>(node.name(),
                ": its backward pass was not recorded, so that forward mode cannot use it: let it "
                "compute with operations on tensors, or give the function a jvp");
    }
}

inline AnyArray row_of(AnyTensor const& batch, std::size_t i) {
    auto const& array = batch.impl().array;
    AnyArray row = array;
    row.set_view(Shape(array.shape.begin() + 1, array.shape.end()),
        Strides(array.strides.begin() + 1, array.strides.end()),
        static_cast<std::ptrdiff_t>(i * batch.impl().type->size) * array.strides[0]);
    return row;
}

XGRAD_LAZY_BODY Shape batch_shape(std::size_t directions, Shape const& shape) {
    Shape all = shape;
    all.insert(0, directions);
    return all;
}

XGRAD_LAZY_BODY AnyTensor tangent_at(AnyTensor const& batch, std::size_t i) {
    return tensor_of(*batch.impl().type, row_of(batch, i));
}

XGRAD_LAZY_BODY void put_tangent(
    AnyTensor& batch, std::size_t directions, std::size_t i, AnyTensor const& tangent) {
    auto const& type = *tangent.impl().type;
    if (!batch.defined()) batch = type.filled(batch_shape(directions, tangent.shape()), 0);
    type.copy_elements(row_of(batch, i), tangent.impl().array);
}

XGRAD_LAZY_BODY void push_transposed(Node& node, std::vector<AnyTensor> outputs,
    std::span<AnyTensor const> tangents, std::span<AnyTensor> results) {
    // The backward pass around this does not tell which inputs need a gradient here.
    ScopedValue<GraphTask*> const no_pass(current_pass, nullptr);
    LocalGraph graph;
    std::vector<std::size_t> defined;
    for (std::size_t i = 0; i < outputs.size(); ++i)
        if (outputs[i].defined()) outputs[i] = graph.input(outputs[i], {}), defined.push_back(i);
    std::vector<AnyTensor> gradients(node.next_edges().size());
    {
        PassMode const recorded(true);
        node.apply(outputs, gradients);
    }
    check_recorded(node, outputs, gradients, tangents);
    std::size_t directions = 0; // of a batch
    for (std::size_t k = 0; k < gradients.size(); ++k)
        if (tangents[k].defined() && gradients[k].defined() &&
            tangents[k].dim() > gradients[k].dim())
            directions = tangents[k].shape()[0];
    std::vector<AnyTensor> along(tangents.begin(), tangents.end());
    for (std::size_t direction = 0; direction < std::max<std::size_t>(directions, 1); ++direction) {
        for (std::size_t k = 0; directions && k < along.size(); ++k)
            if (tangents[k].defined()) along[k] = tangent_at(tangents[k], direction);
        auto found = graph.gradients(gradients, along);
        for (std::size_t i = 0; i < defined.size(); ++i) {
            auto& result = results[defined[i]];
            if (!directions) result = std::move(found[i]);
            else if (found[i].defined()) put_tangent(result, directions, direction, found[i]);
        }
    }
}

/// The Node of factor * a + b; b may be missing.
template <class = void> class LinearCombination final : public Node {
public:
    LinearCombination(double factor, AnyTensor const& a, AnyTensor const* b)
        : factor_(factor), has_two_(b) {
        std::size_t count = 0;
        if (Edge edge = gradient_edge(a)) {
            leads_to_a_ = true;
            edges_[count++] = std::move(edge);
        }
        if (b)
            if (Edge edge = gradient_edge(*b)) edges_[count++] = std::move(edge);
        set_edges(edges_, count);
    }

    void apply(std::span<AnyTensor> gradients, std::span<AnyTensor> results) override {
        if (!gradients[0].defined()) return;
        for (std::size_t i = 0; i < results.size(); ++i) results[i] = times(i, gradients[0]);
    }
    void pushforward(std::span<AnyTensor const> tangents, std::span<AnyTensor> results) override {
        for (std::size_t i = 0; i < tangents.size(); ++i)
            if (tangents[i].defined()) add_to(results[0], times(i, tangents[i]));
    }
    ForwardRule forward_rule() const noexcept override { return ForwardRule::batch; }
    Dependence dependence() const noexcept override { return Dependence::elements; }
    std::string name() const override { return backward_name(operation()); }
    std::string formula() const override {
        std::string text(operation());
        return text += has_two_ ? "(a, b)" : factor_ == 1 ? "(a)" : "(a, number)";
    }

private:
    char const* operation() const noexcept {
        return has_two_ ? "Add" : factor_ == 1 ? "Clone" : "Mul";
    }
    /// A gradient or a tangent of edge i, times the factor of its operand.
    AnyTensor times(std::size_t i, AnyTensor const& x) const {
        return i == 0 && leads_to_a_ && factor_ != 1 ? x.impl().type->scaled(x, factor_) : x;
    }

    Edge edges_[2];
    double factor_;
    bool has_two_, leads_to_a_ = false;
};

XGRAD_LAZY_BODY void record_linear(
    AnyTensor const& value, double factor, AnyTensor const& a, AnyTensor const* b) {
    value.impl().grad_fn = Ref<Node>(new LinearCombination<>(factor, a, b));
}

[[noreturn, gnu::cold]] inline void fail_not_linked(std::string const& what) {
    fail<GraphError>(what,
        ": for second derivatives, or tangents, a pass has to ask for them: give "
        ".create_graph = true to backward() or grad()");
}

XGRAD_FUNCTION AnyTensor linear_combination(
    AnyTensor const& value, double factor, AnyTensor const& a, AnyTensor const* b) {
    if (recording() && (a.requires_grad() || (b && b->requires_grad()))) [[unlikely]] {
        auto const* const all = SecondOrder::linked.load(std::memory_order_acquire);
        if (!all) fail_not_linked("a sum of gradients");
        all->record_linear(value, factor, a, b);
    }
    return value;
}

XGRAD_FUNCTION SecondOrder const& SecondOrder::of(Node const& node) {
    if (auto const* const all = linked.load(std::memory_order_acquire)) [[likely]]
        return *all;
    fail_not_linked(node.name());
}

XGRAD_FUNCTION ForwardMode const& ForwardMode::of(Node const& node) {
    if (auto const* const all = linked.load(std::memory_order_acquire)) [[likely]]
        return *all;
    fail<GraphError>(node.name(), ": tangents are pushed by jvp() and the transforms beside it");
}

} // namespace xgrad::detail
