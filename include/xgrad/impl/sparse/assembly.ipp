// Hessians that are sums of the second derivatives of fused Nodes, whose operands consist of
// elements of the inputs: these are entries, and no pass is needed.
#pragma once

#include <bit>
#include <unordered_map>

#include <xgrad/impl/sparse/node_links.ipp>
#include <xgrad/sparse/plan.hpp>

namespace xgrad::detail {

/// Plans the sum; false where the Hessian is none.
XGRAD_LAZY bool plan_assembly(CompressedPasses& p, FusedGradients const& fused) {
    auto const& pattern = *p.pattern;
    struct Added {
        std::vector<int> entry, mirror; // to which each element of a part is added
    };
    std::vector<Added> all;
    std::uint32_t longest = 0;
    for (auto const& operands : fused.operands) {
        AssembledNode node;
        for (auto const& operand : operands) node.shapes.push_back(operand.shape);
        for (std::size_t a = 0; a < operands.size(); ++a)
            for (std::size_t b = a; b < operands.size(); ++b) {
                // A tangent of 1 for all elements of the operand that is broadcast: each element of
                // the other one meets one of them.
                bool const first = numel(node.shapes[a]) <= numel(node.shapes[b]);
                auto const &pushed = operands[first ? a : b], &read = operands[first ? b : a];
                if (pushed.columns.empty() || read.columns.empty()) continue;
                if (!broadcasts_to(pushed.shape, read.shape)) return false;
                Added added;
                auto const place = places_in(pushed.shape, read.shape);
                auto const add = [&](std::vector<int>& entries, int row, int column) {
                    entries.push_back(nowhere);
                    if (row == nowhere || column == nowhere) return true;
                    auto const columns = pattern.row(static_cast<std::size_t>(row));
                    auto const at = std::ranges::lower_bound(columns, column);
                    entries.back() = static_cast<int>(at - columns.begin()) +
                                     pattern.outer()[static_cast<std::size_t>(row)];
                    return at != columns.end() && *at == column;
                };
                for (std::size_t i = 0; i < place.size(); ++i) {
                    int const row = read.columns[i],
                              column = pushed.columns[static_cast<std::size_t>(place[i])];
                    if (!add(added.entry, row, column)) return false;
                    if (a != b && !add(added.mirror, column, row)) return false;
                }
                node.parts.push_back({first ? a : b, read.output, place.size()});
                longest = std::max(longest, static_cast<std::uint32_t>(place.size()));
                all.push_back(std::move(added));
            }
        p.assembled.push_back(std::move(node));
    }
    p.assembled_shift = static_cast<int>(std::bit_width(longest));
    if (all.empty() || p.assembled_shift + static_cast<int>(std::bit_width(all.size())) > 32)
        return false;
    auto const each = [&all](auto f) {
        for (std::size_t part = 0; part < all.size(); ++part)
            for (auto const* list : {&all[part].entry, &all[part].mirror})
                for (std::size_t i = 0; i < list->size(); ++i)
                    if ((*list)[i] != nowhere) f(static_cast<std::size_t>((*list)[i]), part, i);
    };
    p.begin.assign(p.from.size() + 1, 0);
    each([&](std::size_t entry, std::size_t, std::size_t) { ++p.begin[entry + 1]; });
    std::partial_sum(p.begin.begin(), p.begin.end(), p.begin.begin());
    p.sources.resize(p.begin.back());
    auto next = p.begin;
    each([&](std::size_t entry, std::size_t part, std::size_t i) {
        p.sources[next[entry]++] = static_cast<std::uint32_t>(part << p.assembled_shift | i);
    });
    return true;
}

/// The fused Nodes of a gradient that depend on the inputs, in the order of recording.
XGRAD_LAZY std::vector<FusedGradientNode<>*> fused_gradients(
    TensorSpan inputs, TensorSpan gradient) {
    std::vector<FusedGradientNode<>*> found;
    for (auto* const node : dependent_nodes(inputs, gradient))
        if (node->forward_rule() == ForwardRule::fused_gradient)
            found.push_back(static_cast<FusedGradientNode<>*>(node));
    return found;
}

/// Adds up the second derivatives of the fused Nodes.
template <class T>
void assemble_entries(CompressedPasses const& p, Evaluation const& e, T* entries) {
    auto const nodes = fused_gradients(e.inputs, e.outputs);
    auto const& type = *e.inputs[0].impl().type;
    bool fits = nodes.size() == p.assembled.size();
    std::vector<Tensors> results;
    std::vector<T const*> from; // of each part
    for (std::size_t n = 0; n < nodes.size() && fits; ++n) {
        auto const& plan = p.assembled[n];
        std::size_t const first = results.size(), parts = from.size() + plan.parts.size();
        results.resize(first + plan.shapes.size());
        for (auto const& part : plan.parts) {
            auto& result = results[first + part.push];
            if (result.empty()) {
                Tensors tangents(nodes[n]->next_edges().size());
                result.resize(std::max<std::size_t>(nodes[n]->num_outputs(), part.output + 1));
                if (part.push >= tangents.size()) break;
                AnyTensor const one = type.filled({}, 1);
                AnyArray ones = one.impl().array;
                ones.set_view(plan.shapes[part.push], Strides(plan.shapes[part.push].size(), 0));
                tangents[part.push] = tensor_of(type, std::move(ones));
                nodes[n]->pushforward(tangents, result);
            }
            auto& y = result[part.output];
            if (!y.defined() || y.numel() != part.size) break;
            if (!y.is_contiguous()) y = type.copy(y);
            from.push_back(reinterpret_cast<T const*>(y.impl().array.data));
        }
        fits = from.size() == parts;
    }
    std::uint32_t const elements = (std::uint32_t{1} << p.assembled_shift) - 1;
    auto const* source = p.sources.data();
    for (std::size_t k = 0; k < p.from.size() && fits; ++k) {
        T sum = 0;
        for (auto const* const end = p.sources.data() + p.begin[k + 1]; source != end; ++source)
            sum += from[*source >> p.assembled_shift][*source & elements];
        entries[k] = sum;
    }
    if (!fits)
        fail<GraphError>(p.transform, ": the function records another graph than the pattern has");
}

} // namespace xgrad::detail
