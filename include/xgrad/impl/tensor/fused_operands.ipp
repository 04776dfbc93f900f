// Bodies of fused_operands.hpp.
#pragma once

#include <xgrad/tensor/fused_operands.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION std::string FusedOperands::name() const {
    auto const root = table().kernels.vertices->name;
    return backward_name(sum_ ? sum_->name : root.empty() ? "Alias" : root);
}

XGRAD_FUNCTION std::string FusedOperands::formula() const {
    auto const* first = table().kernels.vertices;
    std::size_t tensors = 0;
    auto const inner = expression_text(first, tensors);
    return sum_ ? std::string(sum_->name) + "(" + inner + ")" : inner;
}

XGRAD_FUNCTION void FusedOperands::release_saved() noexcept {
    for (auto& value : saved_values()) value.storage = nullptr;
    if (saved_tensors_) release_saved_tensors();
    release_ready();
}

XGRAD_FUNCTION std::vector<NamedSavedTensor> FusedOperands::saved_tensors() {
    make_saved_tensors();
    std::vector<NamedSavedTensor> all;
    for (std::size_t k = 0; k < operand_count(); ++k)
        if (plan_.saved >> k & 1) all.push_back({tensor_name(k), &saved_tensors_[k]});
    if (saves_result()) all.push_back({"result", &saved_tensors_[operand_count()]});
    return all;
}

XGRAD_FUNCTION Shape const& FusedOperands::operand_shape(std::size_t k) const {
    static Shape const of_a_number;
    return !is_broadcast(k) ? space_ : shapes_ ? shapes_[first_of(k)] : of_a_number;
}

XGRAD_FUNCTION AnyTensor FusedOperands::unpack_operand(std::size_t k) {
    make_saved_tensors();
    return saved_tensors_[first_of(k)].unpack(*this);
}

XGRAD_FUNCTION std::span<SavedValue> FusedOperands::saved_values() noexcept {
    return {reinterpret_cast<SavedValue*>(behind()), plan_.saved_values()};
}

XGRAD_FUNCTION std::span<Edge> FusedOperands::edges() noexcept {
    return {reinterpret_cast<Edge*>(behind() + plan_.edges_at), plan_.edges};
}

XGRAD_FUNCTION std::span<AnyTensor> FusedOperands::ready() noexcept {
    return {reinterpret_cast<AnyTensor*>(behind() + plan_.sum_at + sizeof(SumOver)), plan_.edges};
}

[[gnu::noinline]] XGRAD_FUNCTION void FusedOperands::destroy_sum() noexcept {
    std::ranges::destroy(ready());
    std::destroy_at(sum_);
}

XGRAD_FUNCTION void FusedOperands::UnpackGuard::open() {
    node_.make_saved_tensors();
    std::size_t const n = node_.operand_count();
    for (std::size_t k = 0; k < n; ++k)
        if (node_.plan_.saved >> k & 1 && node_.saved_tensors_[k].open(node_))
            unpacked_ |= OperandMask{1} << k;
    if (node_.saves_result() && node_.saved_tensors_[n].open(node_))
        unpacked_ |= OperandMask{1} << n;
}

XGRAD_FUNCTION void FusedOperands::UnpackGuard::close() noexcept {
    for (std::size_t k = 0; unpacked_ >> k; ++k)
        if (unpacked_ >> k & 1) node_.saved_tensors_[k].close();
}

XGRAD_FUNCTION bool FusedOperands::is_intact() const noexcept {
    if (saved_tensors_) return false;
    bool intact = true;
    for (std::size_t i = 0; i < plan_.saved_values(); ++i) intact &= saved_value(i).is_intact();
    return intact;
}

XGRAD_FUNCTION AnyArray FusedOperands::saved_result() const {
    return saved_tensors_ ? saved_tensors_[operand_count()].array()
                          : contiguous_array(saved_value(plan_.slots), space_);
}

XGRAD_FUNCTION AnyArray FusedOperands::slot_array(std::size_t i) const {
    std::size_t const k = plan_.slot_operand[i];
    return saved_tensors_ ? saved_tensors_[k].array()
                          : contiguous_array(saved_value(i), operand_shape(k));
}

XGRAD_FUNCTION std::byte* FusedOperands::saved_data(std::size_t k) const {
    return saved_tensors_ ? saved_tensors_[first_of(k)].array().data
                          : saved_value(plan_.slot[k]).data;
}

XGRAD_FUNCTION std::byte* FusedOperands::saved_result_data() const {
    return saved_tensors_ ? saved_tensors_[operand_count()].array().data
                          : saved_value(plan_.slots).data;
}

XGRAD_FUNCTION AnyArray FusedOperands::contiguous_array(
    SavedValue const& value, Shape const& shape) {
    AnyArray a(shape);
    a.storage = value.storage;
    a.data = value.data;
    return a;
}

XGRAD_FUNCTION void FusedOperands::release_ready() noexcept {
    if (std::exchange(is_ready_, false))
        for (auto& gradient : ready()) gradient = {};
}

[[gnu::noinline]] XGRAD_FUNCTION void FusedOperands::save_shapes(BoundOperands const& in) {
    std::size_t const n = operand_count();
    for (std::size_t k = 0; k < n; ++k) {
        std::size_t const first = first_of(k);
        if (first != k) broadcast_ |= (broadcast_ >> first & 1) << k;
        else if (in.arrays[k]->shape != space_) {
            auto const& array = *in.arrays[k];
            broadcast_ |= OperandMask{1} << k;
            if (array.shape.empty()) continue;
            if (!shapes_) shapes_ = std::make_unique<Shape[]>(n);
            shapes_[k] = array.shape;
        }
    }
}

XGRAD_FUNCTION void FusedOperands::save_tensors(
    AnyTensor const* const* operands, AnyTensor const& result) {
    std::size_t const n = operand_count();
    saved_tensors_ = std::make_unique<SavedTensor[]>(n + 1);
    for (auto& value : saved_values()) value.storage = nullptr;
    for (std::size_t k = 0; k < n; ++k)
        if (plan_.saved >> k & 1) saved_tensors_[k] = SavedTensor::operand(*operands[k]);
    if (saves_result()) saved_tensors_[n] = SavedTensor::result(result);
}

XGRAD_FUNCTION void FusedOperands::make_saved_tensors() {
    NodeLock const lock(*this);
    if (saved_tensors_) return;
    std::size_t const n = operand_count();
    auto saved = std::make_unique<SavedTensor[]>(n + 1);
    auto const restore = [](SavedValue const& value, Edge const& edge, TypeInfo const& type,
                             Shape const& shape) {
        return SavedTensor::restored(type, contiguous_array(value, shape), value.version, edge);
    };
    for (std::size_t i = 0; i < plan_.slots; ++i) {
        std::size_t const k = plan_.slot_operand[i];
        if (!saved_value(i).storage) continue;
        std::size_t at = k;
        while (at < n && !(first_of(at) == k && makes_gradient(at))) ++at;
        saved[k] = restore(saved_value(i), at < n ? edges()[plan_.edge[at]] : Edge(),
            *table().operand_types[k], operand_shape(k));
    }
    if (saves_result() && saved_value(plan_.slots).storage)
        saved[n] = SavedTensor::restored_result(
            restore(saved_value(plan_.slots), Edge(), table().result_type, space_));
    saved_tensors_ = std::move(saved);
    for (auto& value : saved_values()) value.storage = nullptr;
}

[[gnu::noinline]] XGRAD_FUNCTION void FusedOperands::release_saved_tensors() noexcept {
    for (std::size_t k = 0; k <= operand_count(); ++k) saved_tensors_[k].release();
}

} // namespace xgrad::detail
