// Bodies of fused_node.hpp; those of derivatives of gradients are in fused_gradient_node.ipp.
#pragma once

#include <xgrad/tensor/fused_gradient_node.hpp>
#include <xgrad/tensor/fused_node.hpp>

namespace xgrad::detail {

XGRAD_INLINE FusedNode::FusedNode(void const* expression, AnyTensor const* const* operands,
    BoundOperands const& in, SumOver const* over, AnyTensor const& result, bool& bare)
    : is_plain_(in.are_plain), plan_(*in.plan), space_(in.space()), count_(in.count()) {
    auto const& plan = plan_;
    plan.table.copy_expression(part<std::byte>(plan.expression_at), expression);
    auto* const saved = this->saved();
    for (std::size_t i = 0; i < plan.slots; ++i) {
        auto const& t = *operands[plan.slot_operand[i]]->handle();
        bare = bare && t.array.contiguous && !t.inference;
        if (bare) ::new (saved + i) SavedTensor(t.array);
        else ::new (saved + i) SavedTensor;
    }
    if (saves_result() && bare) ::new (saved + plan.slots) SavedTensor(result.handle()->array, 0);
    else if (saves_result()) ::new (saved + plan.slots) SavedTensor;
    set_edges(edges(), plan.edges);
    if (!over && in.are_plain && plan.table.kernels.operand_count <= max_added)
        set_accumulates(plan.table.kernels.register_bytes);
    if (!over) return;
    sum_ = ::new (part<std::byte>(plan.sum_at)) SumOver(*over);
    std::uninitialized_value_construct_n(early(), plan.edges);
}

XGRAD_INLINE FusedNode::FusedNode(void const* expression, AnyTensor const* const* operands,
    BoundOperands const& in, SumOver const* over, AnyTensor const& result, bool&& bare)
    : FusedNode(expression, operands, in, over, result, bare) {
    auto const& plan = plan_;
    auto* const edges = this->edges();
    std::size_t made = 0;
    try {
        for (; made < plan.edges; ++made)
            ::new (edges + made) Edge(gradient_edge(*operands[plan.target[made]]));
    } catch (...) {
        std::uninitialized_value_construct_n(edges + made, plan.edges - made);
        throw;
    }
    if (!in.same_shape) save_shapes(in);
    if (bare) [[likely]]
        return;
    for (std::size_t i = 0; i < plan_.slots; ++i)
        saved()[i] = SavedTensor::operand(*operands[plan_.slot_operand[i]]);
    if (saves_result()) saved()[plan_.slots] = SavedTensor::result(result);
}

XGRAD_FUNCTION Ref<Node> FusedNode::make(void const* expression, AnyTensor const* const* operands,
    BoundOperands const& in, SumOver const* over, AnyTensor const& result) {
    auto const bytes = block_bytes(*in.plan, over);
    void* const block = allocate(bytes);
    try {
        return Ref<Node>::first(::new (block) FusedNode(expression, operands, in, over, result,
            !default_packing && !in.plan->saves_unconnected));
    } catch (...) {
        deallocate(block, bytes);
        throw;
    }
}

XGRAD_NOINLINE XGRAD_FUNCTION void FusedNode::end_parts() noexcept {
    if (sum_) {
        std::destroy_n(early(), plan_.edges);
        std::destroy_at(sum_);
    }
    std::destroy_n(edges(), plan_.edges);
    std::destroy_n(saved(), plan_.saved_tensors());
    if (auto const destroy = table().destroy) destroy(part<std::byte>(plan_.expression_at));
}

XGRAD_FUNCTION void FusedNode::dispose() noexcept {
    auto const bytes = block_bytes(plan_, sum_);
    this->FusedNode::~FusedNode(); // qualified: the class is final, no virtual call
    deallocate(this, bytes);
}

[[gnu::noinline]] XGRAD_FUNCTION void FusedNode::save_shapes(BoundOperands const& in) {
    std::size_t const n = operand_count();
    for (std::size_t k = 0; k < n; ++k) {
        std::size_t const first = first_of(k);
        auto const& shape = in.arrays[k]->shape;
        if (first != k) broadcast_ |= (broadcast_ >> first & 1) << k;
        else if (shape != space_) {
            broadcast_ |= OperandMask{1} << k;
            if (shape.empty()) continue;
            if (!shapes_) shapes_ = std::make_unique<Shape[]>(n);
            shapes_[k] = shape;
        }
    }
}

// Texts and saved tensors.

XGRAD_FUNCTION std::string FusedNode::name() const {
    auto const root = table().kernels.vertices->name;
    return backward_name(sum_ ? sum_->name : root.empty() ? "Alias" : root);
}

XGRAD_FUNCTION std::string FusedNode::formula() const {
    auto const* first = table().kernels.vertices;
    std::size_t tensors = 0;
    auto const inner = expression_text(first, tensors);
    return sum_ ? std::string(sum_->name) + "(" + inner + ")" : inner;
}

XGRAD_FUNCTION std::vector<NamedSavedTensor> FusedNode::saved_tensors() {
    auto* const saved = completed();
    has_early_ = false; // hooks may replace a value
    std::vector<NamedSavedTensor> all;
    for (std::size_t k = 0; k < operand_count(); ++k)
        if (plan_.saved >> k & 1) all.push_back({tensor_name(k), saved + plan_.slot[k]});
    if (saves_result()) all.push_back({"result", saved + plan_.slots});
    return all;
}

XGRAD_FUNCTION void FusedNode::release_saved() noexcept {
    for (auto *s = saved(), *const end = s + plan_.saved_tensors(); s != end; ++s) s->release();
    for (std::size_t i = 0; has_early_ && i < plan_.edges; ++i) early()[i] = {};
    has_early_ = false;
}

XGRAD_FUNCTION Shape const& FusedNode::operand_shape(std::size_t k) const {
    static Shape const of_a_number;
    return !is_broadcast(k) ? space_ : shapes_ ? shapes_[first_of(k)] : of_a_number;
}

XGRAD_FUNCTION SavedTensor* FusedNode::completed() {
    NodeLock const lock(*this);
    for (std::size_t i = 0; i < plan_.slots; ++i) {
        std::size_t const k = plan_.slot_operand[i];
        std::size_t at = k; // the operand of the same tensor that has an edge
        while (at < operand_count() && !(first_of(at) == k && makes_gradient(at))) ++at;
        saved()[i].complete(*table().operand_types[k], operand_shape(k),
            at < operand_count() ? edges()[plan_.edge[at]] : Edge());
    }
    if (saves_result()) saved()[plan_.slots].complete(table().result_type, space_, {});
    return saved();
}

// Passes.

XGRAD_FUNCTION double FusedNode::sum_at_once(BoundOperands const& in) {
    double const sum = run(in.arrays, nullptr, {early(), plan_.edges});
    has_early_ = true;
    return sum_->scale * sum;
}

XGRAD_FUNCTION bool FusedNode::would_record(AnyTensor const& gradient) {
    auto const* const saved = completed();
    bool any = gradient.requires_grad() || saves_result();
    for (std::size_t i = 0; i < plan_.slots; ++i) any |= saved[i].requires_grad();
    return any;
}

XGRAD_INLINE void FusedNode::apply_unpacked(AnyTensor& gradient, std::span<AnyTensor> results) {
    if (sum_) apply_sum(gradient, results);
    else run(nullptr, &gradient.handle()->array, results, &gradient);
}

XGRAD_FUNCTION void FusedNode::apply_unrecorded(AnyTensor& gradient, std::span<AnyTensor> results) {
    if (is_intact()) [[likely]]
        return apply_unpacked(gradient, results);
    auto const guard = open_saved();
    apply_unpacked(gradient, results);
}

XGRAD_FUNCTION void FusedNode::apply(std::span<AnyTensor> gradients, std::span<AnyTensor> results) {
    auto& gradient = gradients[0];
    if (!gradient.defined()) return;
    if (recording() && would_record(gradient))
        SecondOrder::of(*this).record(*this, gradient, results);
    else apply_unrecorded(gradient, results);
}

XGRAD_FUNCTION void FusedNode::apply_sum(AnyTensor const& gradient, std::span<AnyTensor> results) {
    if (sum_->kernel)
        if (double const factor = real_scalar(gradient);
            factor == 1 || (std::abs(factor) >= min_factor && std::abs(factor) <= 1 / min_factor)) {
            if (!has_early_) {
                for (std::size_t i = 0; i < plan_.edges; ++i) early()[i] = {};
                // The same bits as the pass that computed the sum, where its boxes are the same.
                AnyArray zeros(space_, sizeof(std::complex<double>));
                std::memset(zeros.data, 0, count_ * sizeof(std::complex<double>));
                run(nullptr, nullptr, {early(), plan_.edges}, nullptr, zeros.data);
            }
            has_early_ = false;
            bool const scales = factor != 1;
            for (std::size_t i = 0; i < plan_.edges; ++i) {
                results[i] = std::move(early()[i]);
                auto& made = *results[i].handle();
                made.inference = inference_mode; // as if computed now
                if (scales) made.type->multiply_in_place(results[i], factor);
            }
            return;
        }
    AnyArray const grad_outputs = sum_->spread(gradient, space_);
    run(nullptr, &grad_outputs, results);
}

/// True for a gradient without other references that no pass or program reads any more, so that
/// another one may overwrite it.
XGRAD_INLINE bool is_free(AnyTensor const& gradient) noexcept {
    auto const& t = *gradient.handle();
    return is_exclusive(gradient) && !t.view && !t.requires_grad && !t.grad_fn && !t.weak &&
           t.inference == inference_mode;
}

XGRAD_INLINE void FusedNode::bind_saved(KernelCall& call, std::byte* zeros) const {
    auto const& plan = plan_;
    for (std::size_t k = 0; k < call.layout.operand_count; ++k) {
        auto const* const value = plan.read >> k & 1 ? saved() + plan.slot[k] : nullptr;
        if (is_plain_ && value && value->bare()) [[likely]]
            call.bind_plain(k, value->bare());
        else if (!value && !zeros) call.bind_zeros(k);
        else {
            auto const& shape = operand_shape(k);
            std::size_t const count = numel(shape);
            call.bind(k, value ? value->span(shape, count) : ArraySpan(zeros, count, shape, 0));
        }
    }
    if (saves_result())
        call.bind(call.layout.saved_result(), saved()[plan.slots].span(space_, count_));
}

XGRAD_FUNCTION double FusedNode::run(AnyArray const* const* operands, AnyArray const* grad_output,
    std::span<AnyTensor> gradients, AnyTensor* buffer, std::byte* zeros) {
    auto const& plan = plan_;
    KernelCall call(plan.table.kernels, expression_object(),
        grad_output ? Pass::gradient : Pass::value_and_gradient, space_, count_);
    if (grad_output) {
        call.differentiate(plan.gradients);
        call.bind(call.layout.grad_output(), *grad_output);
    } else {
        call.differentiate(plan.gradients, sum_->kernel, sum_->scale);
    }
    if (operands) call.bind_operands(operands, is_plain_);
    else bind_saved(call, zeros);
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        std::size_t const k = plan.target[i];
        auto& gradient = gradients[i];
        if (gradient.defined()) {
            call.add_gradient(k, gradient.handle()->array);
            continue;
        }
        // A gradient is laid out like its operand where the array of that is known.
        auto const& type = *plan.table.operand_types[k];
        auto const* like = operands     ? operands[k]
                           : is_read(k) ? saved()[plan.slot[k]].complete_array()
                                        : nullptr;
        if (like && (is_broadcast(k) || !(like->contiguous || is_dense(*like)))) like = nullptr;
        if (buffer && !is_broadcast(k) && buffer->handle()->type == &type && is_free(*buffer) &&
            buffer->handle()->array.contiguous && (!like || like->contiguous))
            gradient = std::move(*std::exchange(buffer, nullptr));
        else
            gradient = AnyTensor(like ? TensorImpl::make(type, AnyArray::Layout{*like})
                                      : TensorImpl::make(type, operand_shape(k)));
        call.bind(call.layout.gradients() + k, gradient.handle()->array);
    }
    return call.run();
}

} // namespace xgrad::detail
