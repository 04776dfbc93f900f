// Bodies of second_order.hpp.
#pragma once

#include <xgrad/autograd/accumulate_grad.hpp>
#include <xgrad/autograd/second_order.hpp>

namespace xgrad::detail {

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
