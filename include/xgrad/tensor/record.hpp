// Recording: evaluates an elementwise Expression into a Tensor and, where an operand requires a
// gradient, makes one FusedNode its grad_fn. This is the only header that knows both operations and
// the graph. An Expression is flattened into an object without tensors (the type F) and an array of
// operands, so that functions which are no templates do the rest.
// sum() of an expression is fused: the elements are summed while they are computed, and never
// stored.
// Read next: operand_plan.hpp, fused_node.hpp.
#pragma once

#include <xgrad/autograd/anomaly.hpp>
#include <xgrad/ops/reducing.hpp>
#include <xgrad/ops/shaping.hpp>
#include <xgrad/tensor/operand_plan.hpp>
#include <xgrad/tensor/tensor.hpp>

namespace xgrad::detail {

template <class F> struct TracedExpressionOf {
    static TracedExpression const value; // defined in traced.hpp
};

template <class Operands> inline constexpr int type_infos = 0;
template <class... T>
inline constexpr std::array<TypeInfo const*, sizeof...(T)> type_infos<Scalars<T...>> = {
    &type_info<T>...};

template <class F> struct RecordTableOf {
    using Y = typename F::scalar;

    static void copy(void* to, void const* from) { ::new (to) F(*static_cast<F const*>(from)); }
    static void destroy(void* expression) noexcept { static_cast<F*>(expression)->~F(); }
    static inline std::atomic<OperandPlan const*> plans{nullptr};
    static constexpr RecordTable make() {
        RecordTable t{KernelTableOf<F>::table, type_info<Y>, type_infos<operand_scalars<F>>.data(),
            sizeof(F)};
        if constexpr (Differentiable<Y>) {
            if constexpr (!std::is_trivially_copyable_v<F>) t.copy = &copy;
            if constexpr (!std::is_trivially_destructible_v<F>) t.destroy = &destroy;
            t.plans = &plans;
            t.reads = &reads_of<F>;
#if XGRAD_HIGHER_ORDER
            t.traced = &TracedExpressionOf<F>::value;
#endif
        }
        return t;
    }
    static constexpr RecordTable table = make();
};

AnyTensor record_flat(
    RecordTable const& table, void const* expression, AnyTensor const* const* operands);

/// Sums over axes. A sum of all elements that is recorded computes its gradients in the same pass,
/// by its kernel.
AnyTensor record_flat_sum(std::string_view operation, RecordTable const& table, Kernel kernel,
    void const* expression, AnyTensor const* const* operands, Axes const* over, bool keepdims,
    bool mean);

/// A flattened expression and pointers to its operands. Lanes as in the name of Slot.
template <class E, std::size_t lanes = simd::Batch<float>::width> struct FlattenedExpression {
    static_assert(E::operand_count <= max_operands,
        "an expression may name at most 63 tensors: assign a part of it to a Tensor first");
    using F = flat_expression<E>;
    static constexpr RecordTable const& table = RecordTableOf<F>::table;

    AnyTensor const* operands[E::operand_count];
    F expression;

    /// The expression as kernels take it. The barrier is for g++ 12, which suspects expressions
    /// without constants of being uninitialised: they are padding.
    void const* const object;

    explicit FlattenedExpression(E const& e, AnyTensor const** next = nullptr) // a local variable
        : expression(FlatExpressionOf<E>::flatten(e, next = operands)),
          object(optimisation_barrier(static_cast<void const*>(&expression))) {}
    FlattenedExpression(FlattenedExpression const&) = delete;
};

/// Evaluates an expression in one pass and records it.
template <class E> Tensor<typename E::scalar> record(E const& e) {
    FlattenedExpression<E> const flat(e);
    return Tensor<typename E::scalar>(record_flat(flat.table, flat.object, flat.operands).handle());
}

} // namespace xgrad::detail

namespace xgrad {

template <Scalar T>
template <class Op, class... X>
    requires(detail::has_scalar<Expression<Op, X...>, T>)
Tensor<T>::Tensor(Expression<Op, X...> const& e, detail::SourceLocation location) {
    detail::RecordingAt const here(location);
    if constexpr (std::same_as<typename Expression<Op, X...>::scalar, T>)
        impl_ = detail::record(e).handle();
    else impl_ = cast<T>(e).handle();
}

} // namespace xgrad
