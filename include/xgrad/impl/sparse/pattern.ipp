// Bodies of pattern.hpp.
#pragma once

#include <bit>
#include <unordered_map>

#include <xgrad/autograd/second_order.hpp>
#include <xgrad/impl/sparse/node_links.ipp>
#include <xgrad/sparse/pattern.hpp>

namespace xgrad::detail {

XGRAD_LAZY_BODY bool is_custom(Node& node) {
    bool const is_operation = node.formula() != node.name();
    return !is_operation &&
           !(node.forward_rule() == ForwardRule::batch && node.saved_tensors().empty());
}

/// A hash of numbers that follow each other.
class StreamHash {
public:
    void add(std::uint64_t x) { state_ = mixed(state_, x); }
    void add(Shape const& shape) {
        add(shape.size());
        for (auto const n : shape) add(std::uint64_t{n});
    }
    void add(std::byte const* at, std::size_t bytes) {
        std::uint64_t lanes[4] = {}; // which do not wait for each other
        for (std::size_t i = 0; i < bytes; i += 8) {
            std::uint64_t next = 0;
            std::memcpy(&next, at + i, std::min<std::size_t>(8, bytes - i));
            lanes[i / 8 % 4] = mixed(lanes[i / 8 % 4], next);
        }
        for (auto const lane : lanes) add(lane);
    }
    std::uint64_t value() const noexcept { return state_; }

private:
    static std::uint64_t mixed(std::uint64_t state, std::uint64_t x) {
        state = (state ^ x) * 0xbf58476d1ce4e5b9;
        return state ^ state >> 32;
    }
    std::uint64_t state_ = 0;
};

/// Follows shapes from the inputs on, one Node after the other.
template <class = void> class StructureReader {
public:
    StructureReader(TensorSpan inputs, Tensors& numbers) : numbers_(numbers) {
        for (auto const& x : inputs) found_.add_input(x, {{x.impl().type, x.shape()}, ++count_});
    }
    /// The number of the output that a tensor is; 0 where it does not depend on the inputs.
    std::uint64_t number(AnyTensor const& t) const {
        auto const* const of = t.requires_grad() ? found_.find(gradient_edge(t)) : nullptr;
        return of ? of->number : 0;
    }
    std::uint64_t hash(Node& node) {
        StreamHash hash;
        auto const from = found_.inputs_of(node);
        for (auto const* x : from) hash.add(x ? x->number : 0);
        std::vector<Output> to(node.num_outputs());
        if (node.forward_rule() == ForwardRule::fused) {
            auto const& of = static_cast<FusedNode const&>(node);
            to[0].type = &of.table().result_type;
            to[0].shape = result_shape(of, of.sum() && of.sum()->keeps_dims);
            add_expression(hash, of);
        } else if (node.forward_rule() == ForwardRule::fused_gradient) {
            auto const& of = static_cast<FusedGradientNode<> const&>(node).of();
            for (std::size_t k = 0; k < of.operand_count(); ++k)
                if (of.makes_gradient(k))
                    to[of.edge_of(k)] = {{of.table().operand_types[k], of.operand_shape(k)}};
            add_expression(hash, of);
        } else push(node, from, to, hash);
        for (auto& each : to) {
            each.number = ++count_;
            hash.add(each.shape);
        }
        found_.of[&node] = std::move(to);
        return hash.value();
    }

private:
    struct Output : DependentOutput {
        std::uint64_t number = 0; // of all outputs
    };

    static void add_expression(StreamHash& hash, FusedNode const& node) {
        hash.add(reinterpret_cast<std::uintptr_t>(&node.table())); // one for each expression
        if (auto const* const sum = node.sum())
            for (auto const axis : sum->axes) hash.add(static_cast<std::uint64_t>(axis) + 1);
        for (std::size_t k = 0; k < node.operand_count(); ++k) {
            hash.add(node.operand_shape(k));
            hash.add(node.makes_gradient(k) ? node.edge_of(k) + 1 : 0);
        }
    }
    /// Random numbers, at least so many.
    AnyTensor const& numbers(TypeInfo const& type, std::size_t count) {
        auto const at = std::ranges::find_if(
            numbers_, [&](auto const& t) { return t.impl().type == &type && t.numel() >= count; });
        if (at != numbers_.end()) return *at;
        std::erase_if(numbers_, [&](auto const& t) { return t.impl().type == &type; });
        return numbers_.emplace_back(scattered(type, Shape{count}, [](std::size_t) { return 1.; }));
    }
    void push(
        Node& node, std::span<Output const* const> from, std::span<Output> to, StreamHash& hash) {
        std::vector<AnyTensor> tangents(from.size()), results(to.size());
        std::size_t count = 0, first = 0;
        for (auto const* x : from) count += x ? numel(x->shape) : 0;
        for (std::size_t e = 0; e < from.size(); ++e) {
            if (!from[e]) continue;
            auto const& [type, shape] = static_cast<DependentOutput const&>(*from[e]);
            AnyArray view = numbers(*type, count).impl().array;
            view.set_view(
                Shape(shape), row_major(shape), static_cast<std::ptrdiff_t>(first * type->size));
            tangents[e] = tensor_of(*type, std::move(view));
            first += numel(shape);
        }
        if (std::ranges::any_of(tangents, &AnyTensor::defined)) node.pushforward(tangents, results);
        auto const kind = node.dependence();
        hash.add(std::hash<std::string>()(node.name()));
        for (std::size_t o = 0; o < to.size(); ++o) {
            if (!results[o].defined()) continue;
            auto const& type = *(to[o].type = results[o].impl().type);
            to[o].shape = results[o].shape();
            if (kind == Dependence::axes)
                for (std::size_t e = 0; e < from.size(); ++e)
                    if (tangents[e].defined())
                        for (auto const axis :
                            node.kept_axes(e, from[e]->shape.size(), to[o].shape.size()))
                            hash.add(static_cast<std::uint64_t>(axis));
            if (kind != Dependence::selection && kind != Dependence::transposed) continue;
            AnyArray const& a = results[o].impl().array;
            auto const at = std::ranges::find(
                numbers_, a.storage, [](auto const& t) -> auto& { return t.impl().array.storage; });
            if (at != numbers_.end()) { // a view
                hash.add(static_cast<std::uint64_t>(a.data - at->impl().array.data));
                for (auto const step : a.strides) hash.add(static_cast<std::uint64_t>(step));
            } else {
                AnyTensor const t = a.contiguous ? results[o] : type.copy(results[o]);
                hash.add(t.impl().array.data, t.numel() * type.size);
            }
        }
    }

    Tensors& numbers_;
    std::uint64_t count_ = 0; // of outputs
    VisitedOutputs<Output> found_;
};

XGRAD_LAZY_BODY GraphStructure::GraphStructure(TensorSpan inputs, TensorSpan outputs) {
    NoGradGuard const off;
    link_forward_mode();
    StructureReader<> reader(inputs, numbers_);
    for (auto* const node : dependent_nodes(inputs, outputs)) {
        hashes_.push_back(reader.hash(*node));
        has_custom_nodes_ |= is_custom(*node);
        names_.push_back(node->name());
    }
    for (auto const& y : outputs) results_.push_back(reader.number(y));
}

XGRAD_LAZY_BODY std::string GraphStructure::difference(
    TensorSpan inputs, TensorSpan outputs) const {
    NoGradGuard const off;
    link_forward_mode();
    Tensors numbers = numbers_;
    StructureReader<> reader(inputs, numbers);
    auto const nodes = dependent_nodes(inputs, outputs);
    for (std::size_t i = 0; i < std::max(nodes.size(), hashes_.size()); ++i) {
        if (i < nodes.size() && i < hashes_.size() && reader.hash(*nodes[i]) == hashes_[i])
            continue;
        std::string const is = i < nodes.size() ? nodes[i]->name() : "nothing",
                          was = i < names_.size() ? names_[i] : "nothing";
        return is == was ? "other indices, axes, a mask or shapes in " + is
                         : is + " in the place of " + was;
    }
    for (std::size_t i = 0; i < outputs.size(); ++i)
        if (reader.number(outputs[i]) != results_[i]) return "another result";
    return {};
}

/// The search for a pattern: a state for each Node that depends on an input.
template <class = void> class PatternSearch {
public:
    PatternSearch(std::string_view name, TensorSpan inputs, FusedGradients* fused)
        : name_(name), inputs_(inputs), fused_(fused) {
        for (auto const& x : inputs) columns_ += x.numel();
        std::size_t first = 0;
        for (auto const& x : inputs) {
            std::vector<int> outer(x.numel() + 1), inner(x.numel());
            std::iota(outer.begin(), outer.end(), 0);
            std::iota(inner.begin(), inner.end(), static_cast<int>(first));
            first += inner.size();
            found_.add_input(x,
                {{x.impl().type, x.shape()},
                    SparsePattern(x.numel(), columns_, std::move(outer), std::move(inner)), true});
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
                if (edge && --users[edge.function.get()] == 0)
                    found_.of[edge.function.get()].clear();
        }
        std::vector<PatternLink> links;
        std::size_t rows = 0;
        for (auto const& y : results) {
            Places out(y.numel());
            std::iota(out.begin(), out.end(), static_cast<int>(rows));
            rows += out.size();
            if (auto const* const found =
                    y.requires_grad() ? found_.find(gradient_edge(y)) : nullptr)
                links.push_back({&found->pattern, std::move(out), {}});
        }
        return linked_pattern(name_, rows, columns_, links);
    }

private:
    void visit(Node& node) {
        auto const from = found_.inputs_of(node);
        if (std::ranges::none_of(from, [](auto* x) { return x != nullptr; })) return;
        auto& to = found_.of[&node];
        to.resize(node.num_outputs());
        if (node.forward_rule() == ForwardRule::fused)
            visit_fused(static_cast<FusedNode const&>(node), from, to[0]);
        else if (node.forward_rule() == ForwardRule::fused_gradient)
            visit_gradient(static_cast<FusedGradientNode<> const&>(node), from, to);
        else NodeLinks<>(name_, columns_, node, from).run(to);
    }

    void visit_fused(
        FusedNode const& node, std::span<Dependent const* const> from, Dependent& to) const {
        Links links;
        for (std::size_t k = 0; k < node.operand_count(); ++k)
            if (node.makes_gradient(k))
                if (auto const* const x = from[node.edge_of(k)])
                    links.push_back({&x->pattern, places_in(result_shape(node, true), node.space()),
                        places_in(node.operand_shape(k), node.space())});
        to = dependent(name_, columns_, node.table().result_type,
            result_shape(node, node.sum() && node.sum()->keeps_dims), links);
    }
    void visit_gradient(FusedGradientNode<> const& node, std::span<Dependent const* const> from,
        std::span<Dependent> to) const {
        FusedNode const& of = node.of();
        if (fused_) note_operands(node, from);
        for (std::size_t t = 0; t < of.operand_count(); ++t) {
            if (!of.makes_gradient(t)) continue;
            Links links;
            auto const link = [&](Dependent const* x, Shape const& shape) {
                if (x)
                    links.push_back({&x->pattern, places_in(of.operand_shape(t), of.space()),
                        places_in(shape, of.space())});
            };
            auto const edge = each_operand(
                node, [&](std::size_t e, std::size_t k) { link(from[e], of.operand_shape(k)); });
            if (edge < from.size()) link(from[edge], result_shape(of, true));
            to[of.edge_of(t)] = dependent(
                name_, columns_, *of.table().operand_types[t], of.operand_shape(t), links);
        }
    }

    void note_operands(
        FusedGradientNode<> const& node, std::span<Dependent const* const> from) const {
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
    VisitedOutputs<Dependent> found_;
};

XGRAD_LAZY_BODY SparsePattern find_pattern(
    std::string_view name, TensorSpan inputs, TensorSpan outputs, FusedGradients* fused) {
    return PatternSearch<>(name, inputs, fused).run(outputs);
}

} // namespace xgrad::detail
