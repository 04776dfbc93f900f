// Bodies of fused_gradient_node.hpp.
#pragma once

#include <xgrad/tensor/arraywise_record.hpp>
#include <xgrad/tensor/fused_gradient_node.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION FusedGradientNode::FusedGradientNode(FusedNode& of, AnyTensor const& gradient)
    : keep_(&of), of_(of), saved_(operand_count() + 2), gradient_shape_(gradient.shape()) {
    for (std::size_t k = 0; k < operand_count(); ++k)
        if (of.is_read(k)) saved_operands_ |= OperandMask{1} << of.first_of(k);
    edges_.reserve(of.next_edges().size() + 1);
    for (std::size_t k = 0; k < operand_count(); ++k) {
        bool const is_target = of.makes_gradient(k);
        if (!is_target || !(saved_operands_ >> of.first_of(k) & 1 || of.saves_result())) continue;
        edges_.push_back(of.next_edges()[of.edge_of(k)]);
        differentiable_ |= OperandMask{1} << k;
    }
    if (Edge edge = gradient_edge(gradient)) {
        edges_.push_back(std::move(edge));
        has_gradient_edge_ = true;
    }
    set_edges(edges_.data(), edges_.size());
    set_num_outputs(static_cast<std::uint32_t>(of.next_edges().size()));
    if (edges_.empty()) return;
    for (std::size_t k = 0; k < operand_count(); ++k)
        if (saved_operands_ >> k & 1) saved_[k] = SavedTensor::operand(of.unpack_operand(k));
    if (of.saves_result()) saved_result() = SavedTensor::operand(of.unpack_result());
    if (differentiable_) saved_gradient() = SavedTensor::operand(gradient);
}

XGRAD_FUNCTION void FusedGradientNode::apply(
    std::span<AnyTensor> gradients, std::span<AnyTensor> results) {
    if (std::ranges::none_of(gradients, &AnyTensor::defined)) return;
    if (!recording() || !would_record(gradients)) apply_fused(gradients, results);
    else if (of_.table().traced) apply_recorded(gradients, results);
    else apply_undifferentiable(gradients, results);
}

XGRAD_FUNCTION void FusedGradientNode::apply_undifferentiable(
    std::span<AnyTensor const> gradients, std::span<AnyTensor> results) {
    CachedVector<Edge> edges = edges_;
    for (auto const& g : gradients)
        if (g.defined()) edges.push_back(gradient_edge(g));
    {
        NoGradGuard const off;
        apply_fused(gradients, results);
    }
    Ref<Node> const error(new ErrorNode(
        name() + ": derivatives of third and higher order, and gradients of forward mode: a "
                 "program of headers only includes <xgrad/higher_order.hpp> before any other "
                 "header of xgrad",
        std::move(edges)));
    for (auto& result : results)
        if (result.defined()) result = with_error(result, error);
}

XGRAD_FUNCTION void FusedGradientNode::push_tangents(
    std::span<AnyTensor const> tangents, std::span<AnyTensor> results) {
    if (recording()) {
        std::vector<AnyTensor> zeros(results.size());
        for (std::size_t k = 0; k < operand_count(); ++k)
            if (of_.makes_gradient(k))
                zeros[of_.edge_of(k)] =
                    of_.table().operand_types[k]->filled(of_.operand_shape(k), 0);
        return push_by_transposing(*this, std::move(zeros), tangents, results);
    }
    std::size_t directions = 0;
    if (has_gradient_edge_ && tangents.back().defined()) {
        auto gradient = tangents.back();
        NodeLock const lock(of_);
        if (gradient.dim() == gradient_shape_.size()) of_.apply_unrecorded(gradient, results);
        else {
            directions = gradient.shape()[0];
            of_.local_jacobian(of_.wanted()).pull(gradient, results);
        }
    }
    if (std::ranges::none_of(
            tangents.first(tangents.size() - has_gradient_edge_), &AnyTensor::defined))
        return;
    UnpackGuard const guard(*this);
    std::vector<AnyTensor> of_operands(of_.next_edges().size());
    for (std::size_t k = 0, edge = 0; k < operand_count(); ++k)
        if (differentiable_ >> k & 1) of_operands[of_.edge_of(k)] = tangents[edge++];
    if (!directions) directions = directions_of(of_, of_operands);
    DualPass pass = pass_along(of_operands, directions);
    pass.want_gradients(dependent_operands(), saved_gradient().unpack(*this));
    pass.run();
    for (std::size_t k = 0; k < operand_count(); ++k)
        if (differentiable_ >> k & 1) add_to(results[of_.edge_of(k)], pass.gradient(k));
}

XGRAD_FUNCTION std::vector<NamedSavedTensor> FusedGradientNode::saved_tensors() {
    std::vector<NamedSavedTensor> all;
    for (std::size_t k = 0; k < operand_count(); ++k)
        if (saved_operands_ >> k & 1) all.push_back({tensor_name(k), &saved_[k]});
    if (of_.saves_result()) all.push_back({"result", &saved_result()});
    if (differentiable_) all.push_back({"gradient", &saved_gradient()});
    return all;
}

XGRAD_FUNCTION bool FusedGradientNode::is_saved(std::size_t i) const noexcept {
    return i < operand_count()    ? saved_operands_ >> i & 1
           : i == operand_count() ? of_.saves_result()
                                  : differentiable_ != 0;
}

XGRAD_FUNCTION bool FusedGradientNode::would_record(std::span<AnyTensor const> gradients) const {
    return differentiable_ || std::ranges::any_of(gradients, [](AnyTensor const& g) {
        return g.defined() && g.requires_grad();
    });
}

XGRAD_FUNCTION FusedGradientNode::UnpackGuard::UnpackGuard(FusedGradientNode& n)
    : node_(n), unpacked_(n.saved_.size()) {
    try {
        for (std::size_t i = 0; i < unpacked_.size(); ++i)
            if (n.is_saved(i)) unpacked_[i] = n.saved_[i].open(n);
    } catch (...) {
        close();
        throw;
    }
}

XGRAD_FUNCTION void FusedGradientNode::UnpackGuard::close() noexcept {
    for (std::size_t i = 0; i < unpacked_.size(); ++i)
        if (unpacked_[i]) node_.saved_[i].close();
}

XGRAD_FUNCTION DualPass FusedGradientNode::pass_along(
    std::span<AnyTensor const> tangents, std::size_t directions) {
    LocalArray<AnyArray const*, 8> values(operand_count());
    for (std::size_t k = 0; k < operand_count(); ++k)
        if (of_.is_read(k)) values[k] = &saved_[of_.first_of(k)].array();
    return DualPass(of_, values.data(), of_.saves_result() ? &saved_result().array() : nullptr,
        tangents, directions);
}

XGRAD_FUNCTION OperandMask FusedGradientNode::dependent_operands() const {
    OperandMask all = 0;
    for (std::size_t k = 0; k < operand_count(); ++k)
        if (of_.wanted() >> k & 1 && differentiable_ >> of_.target_of(k) & 1)
            all |= OperandMask{1} << k;
    return all;
}

XGRAD_FUNCTION void FusedGradientNode::apply_fused(
    std::span<AnyTensor const> tangents, std::span<AnyTensor> results) {
    UnpackGuard const guard(*this);
    DualPass pass = pass_along(tangents);
    if (has_gradient_edge_) pass.want_tangent();
    if (OperandMask const wanted = dependent_operands())
        pass.want_gradients(wanted, saved_gradient().unpack(*this));
    pass.run();
    std::size_t edge = 0;
    for (std::size_t k = 0; k < operand_count(); ++k)
        if (differentiable_ >> k & 1) results[edge++] = pass.gradient(k);
    if (has_gradient_edge_) results[edge] = pass.tangent();
}

XGRAD_FUNCTION void FusedGradientNode::apply_recorded(
    std::span<AnyTensor const> tangents, std::span<AnyTensor> results) {
    auto const& table = of_.table();
    UnpackGuard const guard(*this);
    std::size_t const n = operand_count();
    LocalGraph graph;
    std::vector<AnyTensor> operands(n);
    for (std::size_t k = 0, edge = 0; k < n; ++k) {
        std::size_t const first = of_.first_of(k), target = of_.target_of(k);
        bool const is_wanted = of_.wanted() >> k & 1;
        if (is_wanted && target != k) {
            operands[k] = operands[target];
            continue;
        }
        if (saved_operands_ >> first & 1) operands[k] = saved_[first].unpack(*this);
        else operands[k] = shape_only(*table.operand_types[k], of_.operand_shape(k));
        if (is_wanted)
            operands[k] =
                graph.input(operands[k], differentiable_ >> k & 1 ? edges_[edge++] : Edge());
    }
    AnyTensor gradient = differentiable_ ? saved_gradient().unpack(*this)
                                         : table.result_type.filled(gradient_shape_, 0);
    if (has_gradient_edge_) gradient = graph.input(gradient, edges_.back());
    AnyTensor result;
    if (of_.saves_result()) result = result_of(operands, saved_result().unpack(*this));
    std::vector<AnyTensor> gradients(of_.next_edges().size());
    table.traced(of_, operands.data(), result, gradient, gradients);
    auto const found = graph.gradients(gradients, tangents);
    // gradients of operands that the first pass does not read are undefined and have no edge
    std::size_t input = 0, edge = 0;
    for (std::size_t k = 0; k < n; ++k)
        if (of_.makes_gradient(k)) {
            if (differentiable_ >> k & 1) results[edge++] = found[input];
            ++input;
        }
    if (has_gradient_edge_) results[edge] = found[input];
}

XGRAD_FUNCTION AnyTensor FusedGradientNode::result_of(
    std::span<AnyTensor const> operands, AnyTensor const& value) const {
    AnyTensor const* pointers[64];
    for (std::size_t k = 0; k < operands.size(); ++k) pointers[k] = &operands[k];
    AnyTensor result = alias(value);
    BoundOperands const in(of_.table(), of_.expression_object(), pointers, true);
    result.impl().grad_fn = FusedNode::make(of_.expression_object(), pointers, in, nullptr, result);
    return result;
}

XGRAD_FUNCTION void FusedNode::push_tangents(
    std::span<AnyTensor const> tangents, std::span<AnyTensor> results) {
    if (recording()) {
        auto const shape = sum_ ? sum_->reduced(space_, sum_->keeps_dims) : space_;
        return push_by_transposing(
            *this, {table().result_type.filled(shape, 0)}, tangents, results);
    }
    std::size_t const n = operand_count();
    if (directions_of(*this, tangents)) {
        OperandMask moving = 0;
        for (std::size_t k = 0; k < n; ++k)
            if (wanted() >> k & 1 && tangents[edge_of(k)].defined()) moving |= OperandMask{1} << k;
        results[0] = local_jacobian(moving).push(tangents);
        return;
    }
    UnpackGuard const guard(*this);
    SavedArrays saved(*this);
    DualPass pass(*this, saved.values(), saved.result(), tangents);
    pass.want_tangent();
    pass.run();
    results[0] = pass.tangent();
}

XGRAD_FUNCTION LocalJacobian FusedNode::local_jacobian(OperandMask operands) {
    UnpackGuard const guard(*this);
    SavedArrays saved(*this);
    return LocalJacobian(*this, saved.values(), saved.result(), operands);
}

XGRAD_FUNCTION void FusedNode::apply_recorded(
    AnyTensor const& gradient, std::span<AnyTensor> results) {
    UnpackGuard const guard(*this);
    {
        NoGradGuard const off;
        auto grad_output = gradient; // a second reference: no result overwrites it
        apply_unrecorded(grad_output, results);
    }
    Ref<Node> const node(new FusedGradientNode(*this, gradient));
    if (node->next_edges().empty()) return;
    for (std::uint32_t i = 0; i < results.size(); ++i) {
        results[i].impl().grad_fn = node;
        results[i].impl().output_nr = i;
    }
}

XGRAD_LAZY_BODY void link_second_order() noexcept {
    static constexpr SecondOrder all{
        [](Node& node, AnyTensor const& gradient, std::span<AnyTensor> results) {
            static_cast<FusedNode&>(node).apply_recorded(gradient, results);
        },
        &record_linear,
    };
    SecondOrder::linked.store(&all, std::memory_order_release);
}

XGRAD_LAZY_BODY void link_forward_mode() noexcept {
    static constexpr ForwardMode all{
        [](Node& node, std::span<AnyTensor const> tangents, std::span<AnyTensor> results) {
            static_cast<FusedNode&>(node).push_tangents(tangents, results);
        },
        [](Node& node, std::span<AnyTensor const> tangents, std::span<AnyTensor> results) {
            static_cast<FusedGradientNode&>(node).push_tangents(tangents, results);
        },
        [](Node& node, std::span<AnyTensor const> tangents, std::span<AnyTensor> results) {
            static_cast<ArraywiseRecord&>(node).push_tangents(tangents, results);
        },
        &push_transposed,
    };
    link_second_order();
    ForwardMode::linked.store(&all, std::memory_order_release);
}

} // namespace xgrad::detail
