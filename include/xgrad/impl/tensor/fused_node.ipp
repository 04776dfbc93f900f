// Bodies of fused_node.hpp.
#pragma once

#include <xgrad/core/parallel.hpp>
#include <xgrad/core/scratch.hpp>
#include <xgrad/fuse/nd_loop.hpp>
#include <xgrad/fuse/run_kernel.hpp>
#include <xgrad/tensor/fused_node.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION Ref<Node> FusedNode::make(void const* expression, AnyTensor const* const* operands,
    BoundOperands const& in, SumOver const* over, AnyTensor const& result) {
    static_assert(sizeof(FusedNode) == sizeof(FusedOperands),
        "what lies behind the Node is found from the end of FusedOperands");
    auto const bytes = block_bytes(*in.plan, over);
    void* const block = allocate(bytes);
    try {
        return Ref<Node>::first(
            ::new (block) FusedNode(*in.plan, expression, operands, in, over, result));
    } catch (...) {
        deallocate(block, bytes);
        throw;
    }
}

XGRAD_FUNCTION std::span<AnyTensor> FusedNode::ready_gradients() {
    if (!has_gradients_ready()) return {};
    UnpackGuard const guard(*this);
    return take_ready_gradients();
}

XGRAD_FUNCTION void FusedNode::apply(std::span<AnyTensor> gradients, std::span<AnyTensor> results) {
    if (recording() && gradients[0].defined() && would_record(gradients[0]))
        SecondOrder::of(*this).record(*this, gradients[0], results);
    else apply_fused(gradients[0], results, is_free(gradients[0]) ? &gradients[0] : nullptr);
}

XGRAD_FUNCTION bool FusedNode::apply_onto(
    std::span<AnyTensor> gradients, std::span<AnyTensor> results) {
    auto& gradient = gradients[0];
    if (sum_ || !gradient.defined() || saved_tensors_ || operand_count() > max_added_to)
        return false; // a saved tensor is unpacked once, and apply() would unpack it again
    UnpackGuard const guard(*this);
    return apply_if_simple(
        gradient.handle()->array, results, is_free(gradient) ? &gradient : nullptr);
}

XGRAD_FUNCTION void FusedNode::dispose() noexcept {
    auto const bytes = block_bytes(plan_, sum_);
    this->FusedNode::~FusedNode(); // qualified: the class is final, no virtual call
    deallocate(this, bytes);
}

XGRAD_FUNCTION bool FusedNode::would_record(AnyTensor const& gradient) const {
    bool any = gradient.requires_grad() || saves_result();
    for (std::size_t k = 0; k < operand_count(); ++k)
        any |= saved_tensors_ ? saved_tensors_[k].requires_grad()
                              : makes_gradient(k) && plan_.saved >> first_of(k) & 1;
    return any;
}

XGRAD_FUNCTION void FusedNode::apply_fused(
    AnyTensor const& gradient, std::span<AnyTensor> results, AnyTensor* buffer) {
    if (!gradient.defined()) return;
    UnpackGuard const guard(*this);
    if (!sum_) return apply_shortest(gradient.impl().array, results, buffer);
    if (sum_->kernel && !gradient.requires_grad())
        if (double const factor = real_scalar(gradient);
            std::abs(factor) >= min_factor && std::abs(factor) <= 1 / min_factor) {
            if (!has_gradients_ready()) make_ready_again();
            std::ranges::move(take_ready_gradients(), results.begin());
            return scale(results, factor);
        }
    apply_spread(gradient, results);
}

XGRAD_FUNCTION void FusedNode::apply_spread(
    AnyTensor const& gradient, std::span<AnyTensor> results) {
    AnyArray const grad_outputs = sum_->spread(gradient, space_);
    if (table().kernels.is_identity) return repeat(grad_outputs, results);
    apply_shortest(grad_outputs, results);
}

XGRAD_FUNCTION void FusedNode::apply_shortest(
    AnyArray const& grad_outputs, std::span<AnyTensor> results, AnyTensor* buffer) {
    if (apply_if_simple(grad_outputs, results, buffer)) return;
    apply_in_loop(grad_outputs, results);
}

XGRAD_FUNCTION bool FusedNode::has_gradients_ready() const noexcept {
    return is_ready_ && !(saved_tensors_ && std::any_of(saved_tensors_.get(),
                                                saved_tensors_.get() + operand_count(),
                                                [](auto const& s) { return s.is_packed(); }));
}

XGRAD_FUNCTION std::span<AnyTensor> FusedNode::take_ready_gradients() noexcept {
    auto const ready = this->ready();
    for (auto const& gradient : ready)
        gradient.handle()->inference = inference_mode; // as if computed now
    is_ready_ = false;
    return ready;
}

XGRAD_FUNCTION void FusedNode::scale(std::span<AnyTensor> results, double factor) {
    if (factor == 1) return;
    for (auto const& g : results)
        if (g.defined()) g.impl().type->multiply_in_place(g, factor);
}

XGRAD_FUNCTION bool FusedNode::is_plain(AnyArray const& grad_outputs) const {
    return is_direct(grad_outputs, *table().kernels.result, space_) ||
           (grad_outputs.numel == 1 && sum_);
}

[[gnu::noinline]] XGRAD_FUNCTION bool FusedNode::is_simple_again(
    AnyArray const& grad_outputs) const {
    bool simple = broadcast_ == 0 && is_plain(grad_outputs);
    if (saved_tensors_ && saves_result())
        simple &= is_direct(saved_result(), *table().kernels.result, space_);
    for (std::size_t k = 0; k < operand_count(); ++k) {
        auto const& info = *table().kernels.operand[k];
        simple &= info.in_place;
        if (saved_tensors_ && plan_.saved >> k & 1)
            simple &= is_direct(saved_tensors_[k].array(), info, space_);
    }
    return simple;
}

XGRAD_FUNCTION bool FusedNode::apply_if_simple(
    AnyArray const& grad_outputs, std::span<AnyTensor> results, AnyTensor* buffer) {
    if (!is_simple(grad_outputs)) return false;
    auto const& plan = plan_;
    auto const& kernels = plan.table.kernels;
    std::size_t const n = kernels.operand_count, grad_output = n, result = n + 1,
                      first_gradient = n + 2;
    bool const broadcasts_grad_output = sum_ && !is_direct(grad_outputs, *kernels.result, space_);
    std::size_t const count = broadcasts_grad_output ? numel(space_) : grad_outputs.numel;
    std::byte* at[max_arguments];
    for (std::size_t k = 0; k < n; ++k) {
        at[k] = plan.read >> k & 1 ? saved_data(k) : zero_buffer.elements;
        at[first_gradient + k] = nullptr;
    }
    OperandMask added_to = 0;
    for (std::size_t i = 0; i < plan.edges; ++i) {
        std::size_t const k = plan.target[i];
        auto const& type = *plan.table.operand_types[k];
        if (results[i].defined()) added_to |= OperandMask{1} << k;
        else if (buffer && buffer->handle()->type == &type)
            results[i] = std::move(*std::exchange(buffer, nullptr));
        else
            results[i] = AnyTensor(broadcasts_grad_output
                                       ? TensorImpl::make(type, space_)
                                       : TensorImpl::make(type, AnyArray::Layout{grad_outputs}));
        at[first_gradient + k] = results[i].handle()->array.data;
    }
    at[grad_output] = grad_outputs.data;
    at[result] = plan.gradients.saved_result ? saved_result_data() : nullptr;
    if (count > (plan.reads_all && !broadcasts_grad_output ? part_size : zero_elements))
        apply_in_loop(grad_outputs, results, added_to);
    else if (broadcasts_grad_output) apply_scalar(at, count, added_to);
    else run(Pass::gradient, reinterpret_cast<void* const*>(at), count, 0, added_to);
    return true;
}

[[gnu::noinline]] XGRAD_FUNCTION void FusedNode::apply_scalar(
    std::byte** at, std::size_t count, OperandMask added_to) const {
    auto const& kernels = table().kernels;
    kernel::Scratch<std::byte> splat(count * kernels.result->tile_element);
    auto& grad_output = at[operand_count()];
    kernels.result->gather(splat.data(), std::exchange(grad_output, splat.data()), 0, count);
    run(Pass::gradient, reinterpret_cast<void* const*>(at), count, 0, added_to);
}

XGRAD_FUNCTION void FusedNode::repeat(
    AnyArray const& grad_outputs, std::span<AnyTensor> results) const {
    auto const& info = *table().kernels.result;
    auto made = TensorImpl::make(*table().operand_types[0], space_);
    auto* to = made->array.data;
    Strides const* const strides[] = {&grad_outputs.strides};
    if (grad_outputs.numel == 1) info.gather(to, grad_outputs.data, 0, made->array.numel);
    else if (is_direct(grad_outputs, info, space_))
        info.gather(to, grad_outputs.data, 1, made->array.numel);
    else
        for_each_run(space_, strides, [&](std::size_t n, std::ptrdiff_t const* at) {
            info.gather(to, grad_outputs.data + at[0] * static_cast<std::ptrdiff_t>(info.element),
                grad_outputs.strides.back(), n);
            to += n * info.element;
        });
    results[0] = AnyTensor(std::move(made));
}

[[gnu::noinline]] XGRAD_FUNCTION void FusedNode::apply_in_loop(
    AnyArray const& grad_outputs, std::span<AnyTensor> results, OperandMask added_to) const {
    std::size_t const n = operand_count();
    LocalArray<AnyArray, 6> values(n + 1);
    LocalArray<AnyArray const*, 6> arrays(n);
    for (std::size_t k = 0; k < n; ++k)
        if (is_read(k)) {
            auto& value = values[first_of(k)];
            if (!value.defined()) value = saved_array(k);
            arrays[k] = &value;
        }
    if (saves_result()) values[n] = saved_result();
    run_loop(
        arrays.data(), &grad_outputs, saves_result() ? &values[n] : nullptr, results, added_to);
}

} // namespace xgrad::detail
