// What the reductions of ops/reduction.hpp ask of the recording layer.
#pragma once

#include <xgrad/ops/reduction.hpp>
#include <xgrad/tensor/gradient_arithmetic.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad {

/// An expression's values as a Tensor; a Tensor is its own.
template <Operand X> auto materialize_expression(X const& x) { return detail::materialize(x); }
template <Scalar T> Traced<T> materialize_expression(Traced<T> const& x) { return x; }

/// Called by sum() and mean(); masks are summed as int64, and the mean of integers is one of
/// double.
template <Operand X>
auto record_sum(std::string_view operation, X const& x, Axes const* axes, bool keep, bool mean) {
    using L = typename X::kind;
    if constexpr (std::same_as<L, B>)
        return record_sum(operation, cast<std::int64_t>(x), axes, keep, mean);
    else return detail::record_sum(operation, x, axes, keep, mean);
}

/// True where a gradient will be wanted of what is computed from x.
template <Operand X> bool needs_graph(X const& x) {
    bool needed = false;
    if (detail::recording())
        detail::each_tensor<0>(x, [&](std::size_t, AnyTensor const& t) {
            needed |= is_differentiable(t.dtype()) && t.requires_grad();
        });
    return needed;
}
template <Scalar T> bool needs_graph(Traced<T> const&) { return true; }

/// Folds x over axes, unrecorded.
template <template <class> class Fold, Operand X>
auto fold(X const& x, Axes const& axes, bool keep) {
    using T = typename X::scalar;
    if constexpr (detail::is_expression<X>) return Tensor<T>(detail::fold<Fold<T>>(x, axes, keep));
    else return Tensor<T>(detail::reduce_array<Fold>(x.array_of(), axes, keep));
}

/// What a recorded operation takes as a constant.
template <Scalar T> Tensor<T> unrecorded(Tensor<T> const& x) {
    return detail::recording() ? x.detach() : x;
}

/// The largest (real parts of) elements over normalised axes, which stay, as constants: what
/// softmax takes out of its exponents. 0 where there are no elements.
template <Operand X> auto largest_over(X const& x, Axes const& axes) {
    NoGradGuard const off;
    using T = typename X::scalar;
    using Real = std::conditional_t<RealScalar<precision_of<T>>, precision_of<T>, double>;
    if (auto const shape = x.shape(); numel(shape) == 0)
        return Tensor<Real>(detail::Array<Real>(detail::reduced_shape(shape, axes, true), Real(0)));
    if constexpr (detail::is_complex<T>) return Tensor<Real>(amax(real(x), axes, true));
    else return Tensor<Real>(cast<Real>(amax(x, axes, true)));
}
/// The same with 0 where they are not finite: what logsumexp takes out.
template <Operand X> auto finite_largest(X const& x, Axes const& axes) {
    NoGradGuard const off;
    auto const largest = largest_over(x, axes);
    using Real = typename decltype(largest)::value_type;
    return Tensor<Real>(where(abs(largest) <= std::numeric_limits<Real>::max(), largest, Real(0)));
}

/// The same of all elements together, as a number.
template <Operand X> double finite_largest(X const& x) {
    NoGradGuard const off;
    if (numel(x.shape()) == 0) return 0;
    auto const largest = static_cast<double>([&] {
        if constexpr (!detail::is_expression<X>)
            if (auto const& elements = x.array_of(); elements.contiguous)
                return detail::reduce_all_elements<detail::Larger<typename X::scalar>>(elements);
        return amax(x).item();
    }());
    return std::isfinite(largest) ? largest : 0;
}

/// True at place j of those over some axes, along the others for all.
template <Operand X> auto place_mask(X const& x, Axes const& over, std::size_t j) {
    Shape shape(x.dim(), 1);
    for (auto const axis : over)
        shape[static_cast<std::size_t>(axis)] = x.shape()[static_cast<std::size_t>(axis)];
    detail::Array<bool> mask(shape, false);
    mask.begin()[j] = true;
    return Tensor<bool>(std::move(mask));
}

} // namespace xgrad
