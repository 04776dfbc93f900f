// Bodies of arraywise_record.hpp.
#pragma once

#include <xgrad/autograd/local_graph.hpp>
#include <xgrad/tensor/arraywise_record.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION void ArraywiseRecord::apply(
    std::span<AnyTensor> gradients, std::span<AnyTensor> results) {
    if (!gradients[0].defined()) return;
    AnyTensor const y = uses_ & uses_result ? result_.unpack(*this) : AnyTensor();
    LocalArray<AnyTensor, 6> made(table_.count);
    LocalArray<AnyTensor const*, 6> x(table_.count);
    for (std::size_t i = 0; i < table_.count; ++i)
        if (uses_ & uses_argument(i)) x[i] = &operands_[i].saved.unpacked_into(made[i], *this);
        else if (table_.all_uses & uses_argument(i))
            x[i] = &(made[i] = shape_only(*table_.operands[i], operands_[i].shape));
    pull(wanted_, gradients[0], y.defined() ? y : gradients[0], x.data(),
        results.data()); // a gradient has the result's shape
}

XGRAD_FUNCTION void ArraywiseRecord::push_tangents(
    std::span<AnyTensor const> tangents, std::span<AnyTensor> results) {
    if (!table_.is_linear)
        return push_by_transposing(*this, {table_.result.filled(shape_, 0)}, tangents, results);
    for (std::size_t i = 0; i < table_.count; ++i) {
        if (!(wanted_ >> i & 1) || !tangents[operands_[i].edge].defined()) continue;
        std::vector<AnyTensor> x(table_.count);
        for (std::size_t j = 0; j < x.size(); ++j)
            x[j] = j == i ? tangents[operands_[i].edge] : operands_[j].saved.unpack(*this);
        add_to(results[0], value(x.data()));
    }
}

XGRAD_FUNCTION Axes ArraywiseRecord::kept_axes(
    std::size_t edge, std::size_t rank_of_input, std::size_t rank) const {
    std::size_t i = 0;
    while (!(wanted_ >> i & 1) || operands_[i].edge != edge) ++i;
    return table_.kept_axes(*this, i, rank_of_input, rank);
}

XGRAD_FUNCTION std::string ArraywiseRecord::formula() const {
    std::string s(table_.name);
    for (std::size_t i = 0; i < table_.count; ++i) s += (i ? ", " : "(") + tensor_name(i);
    return s + ")";
}

XGRAD_FUNCTION void ArraywiseRecord::release_saved() noexcept {
    for (std::size_t i = 0; i < table_.count; ++i) operands_[i].saved.release();
    result_.release();
}

XGRAD_FUNCTION std::vector<NamedSavedTensor> ArraywiseRecord::saved_tensors() {
    std::vector<NamedSavedTensor> all;
    for (std::size_t i = 0; i < table_.count; ++i)
        if (uses_ & uses_argument(i)) all.push_back({tensor_name(i), &operands_[i].saved});
    if (uses_ & uses_result) all.push_back({"result", &result_});
    return all;
}

XGRAD_FUNCTION void ArraywiseRecord::connect(
    AnyTensor const& result, AnyTensor const* const* x, Operand* operands, Edge* edges) {
    std::size_t used_edges = 0;
    operands_ = operands;
    if (!table_.is_linear) shape_ = result.shape();
    for (std::size_t i = 0; i < table_.count; ++i) {
        if (!is_differentiable(x[i]->dtype()) || !x[i]->requires_grad()) continue;
        operands_[i].edge = static_cast<std::uint8_t>(used_edges);
        edges[used_edges++] = gradient_edge(*x[i]);
        wanted_ |= OperandMask{1} << i;
        uses_ |= table_.uses[i];
    }
    for (std::size_t i = 0; i < table_.count; ++i)
        if (uses_ & uses_argument(i)) operands_[i].saved = SavedTensor::operand(*x[i]);
        else operands_[i].shape = x[i]->shape();
    if (uses_ & uses_result) result_ = SavedTensor::result(result);
    set_edges(edges, used_edges);
}

XGRAD_FUNCTION bool wants_record(std::span<AnyTensor const* const> operands) {
    if (!recording()) return false;
    for (auto const* t : operands)
        if (is_differentiable(t->dtype()) && t->requires_grad()) return true;
    return false;
}

} // namespace xgrad::detail
