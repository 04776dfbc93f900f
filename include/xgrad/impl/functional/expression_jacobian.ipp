// ExpressionJacobian: derivatives of outputs that are expressions of elements of the inputs.
#pragma once

#include <xgrad/functional/jacobian.hpp>
#include <xgrad/tensor/fused_gradient_node.hpp>

namespace xgrad::detail {

/// The Jacobian where the outputs consist of fused Nodes, whose operands are elements of the
/// inputs: their kernels write the entries, and nothing is pushed. The Nodes between are asked:
/// where they return views, the strides say which element is where, and that no rows meet.
template <class = void> class ExpressionJacobian {
public:
    ExpressionJacobian(Evaluation const& e, Problems const& problems)
        : e_(e), problems_(problems) {}

    /// The blocks; none where an output is something else.
    std::vector<Tensors> run() {
        NoGradGuard const off;
        link_forward_mode();
        for (output_ = 0; output_ < e_.outputs.size(); ++output_)
            if (auto const& y = e_.outputs[output_];
                y.requires_grad() && !visit(gradient_edge(y), y))
                return {};
        return blocks_.empty() ? zero_blocks(e_, problems_) : std::move(blocks_);
    }

private:
    /// The derivatives by one operand.
    struct Entries {
        std::size_t edge, input;
        Strides strides;                    // in the block
        std::ptrdiff_t offset, first, last; // in the block; of the elements of the input
    };

    std::ptrdiff_t size_of(AnyTensor const& t) const { // of one problem
        return static_cast<std::ptrdiff_t>(numel(problems_.part_of(t.shape())));
    }
    /// Where a view of a tensor begins; nothing where it is none, or other rows meet.
    std::optional<std::ptrdiff_t> offset_in(AnyTensor const& of, AnyTensor const& view) const {
        if (!view.defined() || view.impl().type != of.impl().type || !of.is_contiguous()) return {};
        AnyArray const &v = view.impl().array, &a = of.impl().array;
        auto const offset = (v.data - a.data) / static_cast<std::ptrdiff_t>(of.impl().type->size);
        std::ptrdiff_t last = offset;
        bool fits = v.storage == a.storage && offset >= 0 && v.numel != 0;
        if (problems_.are_rows)
            fits = fits && !v.shape.empty() && v.shape[0] == problems_.count &&
                   (problems_.count == 1 || v.strides[0] == size_of(of));
        for (std::size_t axis = problems_.are_rows; axis < v.shape.size(); ++axis) {
            fits &= v.strides[axis] >= 0;
            last += static_cast<std::ptrdiff_t>(v.shape[axis] - 1) * v.strides[axis];
        }
        return fits && last < size_of(of) ? std::optional(offset) : std::nullopt;
    }
    /// True where it is worth to ask a Node for views.
    static bool selects(Node& node) {
        auto const kind = node.dependence();
        return (kind == Dependence::selection || kind == Dependence::transposed) &&
               !NodeHooks::of(node);
    }
    /// Evaluates the expressions that compute a part of an output; false where it is something
    /// else.
    bool visit(Edge const& edge, AnyTensor const& part) {
        Node& node = *edge.function;
        if (node.forward_rule() == ForwardRule::fused && !NodeHooks::of(node))
            return visit_expression(static_cast<FusedNode&>(node), part);
        if (!selects(node)) return false;
        auto const edges = node.next_edges();
        Tensors parts(node.num_outputs()), results(edges.size());
        parts[edge.input_nr] = part;
        node.apply(parts, results);
        for (std::size_t i = 0; i < edges.size(); ++i)
            if (edges[i] && !visit(edges[i], results[i])) return false;
        return true;
    }
    bool visit_expression(FusedNode& node, AnyTensor const& part) {
        auto const* const sum = node.sum();
        auto const to = offset_in(e_.outputs[output_], part);
        if (!to || (sum && sum->kernel)) return false; // a full sum has computed its gradients
        Shape const& space = node.space();
        Strides rows = part.impl().array.strides;
        if (sum) rows = SumOver{sum->name, sum->axes}.spread(part, space).strides;
        while (rows.size() < space.size()) rows.push_back(0);
        if (problems_.count > 1 && rows[0] != size_of(e_.outputs[output_])) return false; // a sum
        std::vector<Entries> all;
        auto const edges = node.next_edges();
        for (std::size_t i = 0; i < edges.size(); ++i) {
            if (!edges[i]) continue;
            auto const [x, input] = operand_at(edges[i]);
            if (input == e_.inputs.size()) continue; // a leaf that is no input
            auto const from = x.defined() ? offset_in(e_.inputs[input], x) : std::nullopt;
            if (!from || (problems_.are_rows && x.dim() != space.size())) return false;
            auto const width = size_of(e_.inputs[input]);
            Strides steps = broadcast_strides(x.shape(), x.impl().array.strides, space);
            if (problems_.are_rows) steps[0] = 0;
            Entries one{i, input, rows, *to * width + *from, *from, *from};
            std::ptrdiff_t reach = 0; // of the inner axes: no two elements have one place
            for (std::size_t axis = space.size(); axis-- > 0;) {
                auto const last = static_cast<std::ptrdiff_t>(space[axis] - 1);
                one.last += steps[axis] * last;
                (one.strides[axis] *= width) += steps[axis];
                if (last > 0 && one.strides[axis] <= reach) return false;
                reach += one.strides[axis] * last;
            }
            for (auto const& other : all) // which would write to the same entries
                if (other.input == input && other.first <= one.last && one.first <= other.last)
                    return false;
            all.push_back(std::move(one));
        }
        write(node, all);
        return true;
    }
    /// An operand as a view of an input, undefined if it is none, and the index of that.
    std::pair<AnyTensor, std::size_t> operand_at(Edge const& edge) const {
        Node& node = *edge.function;
        auto const edges = node.next_edges();
        if (is_leaf(node)) {
            std::size_t i = 0;
            while (i < e_.inputs.size() && gradient_edge(e_.inputs[i]).function != edge.function)
                ++i;
            return {i < e_.inputs.size() && !NodeHooks::of(node) ? e_.inputs[i] : AnyTensor(), i};
        }
        if (edges.size() != 1 || !edges[0] || !selects(node)) return {};
        auto const [from, input] = operand_at(edges[0]);
        Tensors results(node.num_outputs());
        if (from.defined()) node.pushforward({&from, 1}, results);
        return {results[edge.input_nr], input};
    }
    void write(FusedNode& node, std::vector<Entries> const& all) {
        NodeLock const lock(node);
        if (blocks_.empty()) blocks_ = zero_blocks(e_, problems_, all.size() * numel(node.space()));
        std::vector<AnyArray> into(node.operand_count());
        OperandMask wanted = 0;
        for (auto const& one : all) {
            auto const& block = blocks_[output_][one.input];
            auto const size = static_cast<std::ptrdiff_t>(block.impl().type->size);
            AnyArray to = block.impl().array;
            to.set_view(Shape(node.space()), Strides(one.strides), one.offset * size);
            for (std::size_t k = 0; k < into.size(); ++k)
                if (node.wanted() >> k & 1 && node.edge_of(k) == one.edge) {
                    wanted |= OperandMask{1} << k;
                    into[k] = to;
                }
        }
        static_cast<void>(node.local_jacobian(wanted, into.data()));
    }

    Evaluation const& e_;
    Problems const& problems_;
    std::size_t output_ = 0; // that is visited
    std::vector<Tensors> blocks_;
};

} // namespace xgrad::detail
