// Functions of the recording layer that ops/reduction.hpp calls.
//
// Shapes: reduced axes are removed, or kept with extent 1 if `keep` (largest_over() and
// finite_largest() keep them).
// Gradients: record_sum() broadcasts the gradient, of any order, in backward and forward mode. The
// others record none.
// Errors: an axis of record_sum() that is out of range or given twice is an IndexError, an
// undefined tensor an Error.
#pragma once

#include <xgrad/ops/reduction.hpp>
#include <xgrad/tensor/gradient_arithmetic.hpp>
#include <xgrad/tensor/traced.hpp>

namespace xgrad {

/// Evaluates an expression to a Tensor; returns a Tensor itself.
template <Operand X> auto materialize_expression(X const& x) { return detail::materialize(x); }
template <Scalar T> Traced<T> materialize_expression(Traced<T> const& x) { return x; }

/// Masks are summed as int64; the mean of integers is double. A mean is a sum times 1 / count.
template <Operand X>
auto record_sum(std::string_view operation, X const& x, Axes const* axes, bool keep, bool mean) {
    using L = typename X::kind;
    if constexpr (std::same_as<L, B>)
        return record_sum(operation, cast<std::int64_t>(x), axes, keep, mean);
    else {
        detail::check_defined(operation, x);
        using Flattened = detail::FlattenedExpression<X>;
        Flattened const flat(x);
        return Tensor<typename X::scalar>(detail::record_flat_sum(operation, flat.table,
            detail::sum_kernel_of<typename Flattened::F>(), flat.object, flat.operands, axes, keep,
            mean)
                                              .handle());
    }
}

/// True where an operand of x requires a gradient.
template <Operand X> bool needs_graph(X const& x) {
    if (!detail::recording()) return false;
    AnyTensor const *tensors[X::operand_count], **next = tensors;
    static_cast<void>(detail::FlatExpressionOf<X>::flatten(x, next));
    return detail::wants_record(tensors);
}
template <Scalar T> bool needs_graph(Traced<T> const&) { return true; }

/// Reduces x over axes without recording.
template <template <class> class Combine, Operand X>
auto fold(X const& x, Axes const& axes, bool keep) {
    using T = typename X::scalar;
    if constexpr (detail::is_expression<X>) {
        detail::FlattenedExpression<X> const flat(x);
        detail::BoundOperands const in(flat.table, flat.object, flat.operands, false);
        return Tensor<T>(detail::reduce_expression<Combine<T>, T>(
            flat.table.kernels, flat.object, in.arrays, in.space(), axes, keep));
    } else return Tensor<T>(detail::reduce_array<Combine>(x.array_of(), axes, keep));
}

/// Detaches a tensor that a recorded operation reads as a constant.
template <Operand X> auto unrecorded(X const& x) { return detail::recording() ? x.detach() : x; }

/// The largest (real parts of) elements over normalised axes, which keep extent 1, as constants:
/// softmax subtracts them from its exponents. 0 without elements.
template <Operand X> auto largest_over(X const& x, Axes const& axes) {
    NoGradGuard const off;
    using T = typename X::scalar;
    using Real = std::conditional_t<RealScalar<precision_of<T>>, precision_of<T>, double>;
    if (auto const shape = x.shape(); numel(shape) == 0)
        return Tensor<Real>(detail::Array<Real>(detail::reduced_shape(shape, axes, true), Real(0)));
    if constexpr (detail::is_complex<T>) return Tensor<Real>(amax(real(x), axes, true));
    else return Tensor<Real>(cast<Real>(amax(x, axes, true)));
}
template <Operand X> auto finite_largest(X const& x, Axes const& axes) {
    NoGradGuard const off;
    auto const largest = largest_over(x, axes);
    using Real = typename decltype(largest)::value_type;
    return Tensor<Real>(where(abs(largest) <= std::numeric_limits<Real>::max(), largest, Real(0)));
}

template <Operand X> double finite_largest(X const& x) {
    NoGradGuard const off;
    if (numel(x.shape()) == 0) return 0;
    auto const largest = static_cast<double>([&] {
        if constexpr (!detail::is_expression<X>)
            if (auto const& elements = x.array_of(); elements.contiguous)
                return detail::reduce_all_elements<detail::Larger<typename X::scalar>>(elements);
        return amax(x).item();
    }());
    return detail::is_finite(largest) ? largest : 0;
}

/// True at row-major index j of the axes `over`, broadcast along the other axes.
template <Operand X> auto position_mask(X const& x, Axes const& over, std::size_t j) {
    Shape shape(x.dim(), 1);
    for (auto const axis : over)
        shape[static_cast<std::size_t>(axis)] = x.shape()[static_cast<std::size_t>(axis)];
    detail::Array<bool> mask(shape, false);
    mask.begin()[j] = true;
    return Tensor<bool>(std::move(mask));
}

} // namespace xgrad
