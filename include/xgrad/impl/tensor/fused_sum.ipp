// Bodies of fused_sum.hpp.
#pragma once

#include <xgrad/core/parallel.hpp>
#include <xgrad/fuse/nd_loop.hpp>
#include <xgrad/fuse/run_kernel.hpp>
#include <xgrad/tensor/fused_sum.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION void FusedSum::make_ready_again() {
    std::size_t const n = operand_count();
    LocalArray<AnyArray, 6> values(n);
    LocalArray<AnyArray const*, 6> arrays(n);
    for (std::size_t i = 0; i < plan_.slots; ++i) values[plan_.slot_operand[i]] = slot_array(i);
    bool contiguous = contiguous_;
    for (std::size_t k = 0; k < n; ++k) {
        auto& value = values[first_of(k)];
        if (!value.defined()) value = zeroed(operand_shape(k), table().kernels.operand[k]->element);
        contiguous &= value.contiguous;
        arrays[k] = &value;
    }
    make_ready(arrays.data(), contiguous);
}

[[gnu::noinline]] XGRAD_FUNCTION double FusedSum::run_loop(AnyArray const* const* values,
    AnyArray const* grad_output, AnyArray const* result, std::span<AnyTensor> gradients,
    OperandMask added_to) const {
    auto const& kernels = table().kernels;
    std::size_t const n = operand_count(), first_gradient = n + 2;
    NdLoop loop(space_, first_gradient + n);
    for (std::size_t k = 0; k < n; ++k)
        loop.add(k, input_operand(values[k] ? *values[k] : zero_array(), *kernels.operand[k]));
    if (grad_output) loop.add(n, input_operand(*grad_output, *kernels.result));
    if (result) loop.add(n + 1, input_operand(*result, *kernels.result));
    LocalArray<AnyArray, 6> wide_sums(broadcast_ ? plan_.edges : 0);
    for (std::size_t edge = 0; edge < plan_.edges; ++edge) {
        std::size_t const k = plan_.target[edge];
        auto const& info = *kernels.operand[k];
        auto const& type = *table().operand_types[k];
        bool const sums = is_broadcast(k), is_like = !sums && values[k] && is_dense(*values[k]);
        if (!gradients[edge].defined())
            gradients[edge] =
                AnyTensor(is_like ? TensorImpl::make(type, AnyArray::Layout{*values[k]})
                                  : TensorImpl::make(type, operand_shape(k)));
        auto const& gradient = gradients[edge].handle()->array;
        if (!sums) {
            auto operand = output_operand(gradient, info);
            operand.over = static_cast<std::int8_t>(first_of(k));
            operand.reduces = operand.kernel_adds = added_to >> k & 1;
            loop.add(first_gradient + k, operand);
            continue;
        }
        bool const widens = info.wide_element > info.element;
        if (widens) wide_sums[edge] = zeroed(gradient.shape, info.wide_element);
        else std::memset(gradient.data, 0, gradient.numel * info.element);
        auto operand = sum_operand(widens ? wide_sums[edge] : gradient, info);
        operand.kernel_adds = true;
        loop.add(first_gradient + k, operand);
    }
    auto body = [&](void* const* at, std::size_t count, LoopFacts facts) {
        OperandMask const adds = first_gradient < 64 ? facts.added_to >> first_gradient : 0;
        return run(grad_output ? Pass::gradient : Pass::value_and_gradient, at, count,
            facts.constant, adds);
    };
    double const sum = loop.run(loop_body(body));
    for (std::size_t edge = 0; broadcast_ && edge < plan_.edges; ++edge)
        if (auto const& from = wide_sums[edge]; from.defined())
            kernels.operand[plan_.target[edge]]->scatter_wide(
                from.data, gradients[edge].handle()->array.data, 1, from.numel);
    return sum;
}

XGRAD_FUNCTION double FusedSum::make_ready(AnyArray const* const* arrays, bool contiguous) {
    double const sum = contiguous && arrays[0]->numel <= part_size
                           ? sum_contiguous(arrays)
                           : run_loop(arrays, nullptr, nullptr, ready());
    is_ready_ = true;
    return sum;
}

XGRAD_FUNCTION double FusedSum::run(Pass pass, void* const* at, std::size_t count,
    OperandMask constant, OperandMask added_to) const {
    auto const& kernels = table().kernels;
    bool const sums = pass == Pass::value_and_gradient;
    KernelBlock block{expression_object(), at, count, pass, constant, &gradients(), added_to};
    if (sums) block.factor = sum_->scale;
    return run_kernel(kernels, sums ? sum_->kernel : kernels.gradient, block);
}

XGRAD_FUNCTION double FusedSum::sum_contiguous(AnyArray const* const* arrays) {
    std::size_t const n = operand_count(), first_gradient = n + 2;
    void* at[max_arguments];
    for (std::size_t k = 0; k < n; ++k) {
        at[k] = arrays[k]->data;
        at[first_gradient + k] = nullptr;
    }
    auto const ready = this->ready();
    for (std::size_t i = 0; i < ready.size(); ++i) {
        std::size_t const k = plan_.target[i];
        ready[i] =
            AnyTensor(TensorImpl::make(*table().operand_types[k], AnyArray::Layout{*arrays[k]}));
        at[first_gradient + k] = ready[i].handle()->array.data;
    }
    return run(Pass::value_and_gradient, at, arrays[0]->numel, 0, 0);
}

} // namespace xgrad::detail
