// What the reductions of ops/reduction.hpp ask of the recording layer.
#pragma once

#include <xgrad/ops/reduction.hpp>
#include <xgrad/tensor/gradient_arithmetic.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad {

/// An expression's values as a Tensor; a Tensor is its own.
template <Operand X> auto materialize_expression(X const& x) { return detail::materialize(x); }
template <Scalar T> Traced<T> materialize_expression(Traced<T> const& x) { return x; }

/// Called by sum() and mean(); masks are summed as int64, and the mean of integers is one of double.
template <Operand X> auto record_sum(std::string_view operation, X const& x, Axes const* axes, bool keep, bool mean)
{
    using L = typename X::letter;
    if constexpr (std::same_as<L, B>) return record_sum(operation, cast<std::int64_t>(x), axes, keep, mean);
    else return detail::record_sum(operation, x, axes, keep, mean);
}

/// True where a gradient will be wanted of what is computed from x.
template <Operand X> bool needs_graph(X const& x)
{
    bool any = false;
    if (detail::recording()) detail::each_tensor<0>(x, [&](std::size_t, AnyTensor const& t) { any |= is_differentiable(t.dtype()) && t.requires_grad(); });
    return any;
}
template <Scalar T> bool needs_graph(Traced<T> const&) { return true; }

/// Folds x over axes, unrecorded.
template <template <class> class Fold, Operand X> auto fold(X const& x, Axes const& axes, bool keep)
{
    using T = typename X::scalar;
    auto values = detail::fold<Fold<T>>(x, axes);
    auto shape = keep ? values.shape : detail::reduced_shape(x.shape(), axes, false);
    auto strides = detail::row_major(shape);
    return Tensor<T>(values.window(std::move(shape), std::move(strides)));
}

/// Called by amax() and amin(): the gradient is that of the mean of the elements that share the extremum.
template <template <class> class Fold, Operand X> auto record_extremum(std::string_view operation, X const& x, Axes const& over, bool keep)
{
    using T = typename X::scalar;
    static_assert(!detail::is_complex<T>, "amax and amin: complex numbers have no order");
    if constexpr (!detail::is_complex<T>) {
        auto const axes = detail::checked_axes(operation, x, over);
        if (auto const shape = x.shape(); numel(shape) == 0 && numel(detail::reduced_shape(shape, axes, true)) != 0)
            detail::fail<ShapeError>(operation, ": nothing to choose from in shape ", shape, " over axes ", axes);
        auto const y = fold<Fold>(x, axes, keep);
        if constexpr (Differentiable<T>)
            if (needs_graph(x)) {
                NoGradGuard const off;
                Tensor<T> const extremum = keep ? y.detach() : y.reshape(Axes(detail::reduced_shape(x.shape(), axes, true)));
                Tensor<T> const one(T(1));      // a number would have x computed anew in double, and equal to nothing
                Tensor<T> const share = 1 / sum(where(x == extremum || isnan(x), one, 0), axes, true);
                EnableGradGuard const on;
                detail::record_known_sum(Fold<T>::name, express(ShareOfExtremum{}, x, extremum, share), axes, y);
            }
        return y;
    } else return x;
}

/// The largest elements over axes where they are finite, else 0: what logsumexp takes out of its exponents.
template <Operand X> auto finite_largest(X const& x, Axes const& axes)
{
    NoGradGuard const off;
    using T = typename X::scalar;
    using Real = std::conditional_t<RealScalar<precision_of<T>>, precision_of<T>, double>;
    if (auto const shape = x.shape(); numel(shape) == 0) return Tensor<Real>(detail::Array<Real>(detail::reduced_shape(shape, axes, true), Real(0)));
    auto const largest = [&] {
        if constexpr (detail::is_complex<T>) return amax(real(x), axes, true);
        else return amax(x, axes, true);
    }();
    return Tensor<Real>(where(abs(largest) <= std::numeric_limits<double>::max(), cast<Real>(largest), Real(0)));
}

/// The same of all elements together, as a number.
template <Operand X> double finite_largest(X const& x)
{
    NoGradGuard const off;
    if (numel(x.shape()) == 0) return 0;
    auto const largest = static_cast<double>(amax(x).item());
    return std::isfinite(largest) ? largest : 0;
}

/// True at place j of those over some axes, along the others for all.
template <Operand X> auto place_mask(X const& x, Axes const& over, std::size_t j)
{
    Shape shape(x.dim(), 1);
    for (auto const axis : over) shape[static_cast<std::size_t>(axis)] = x.shape()[static_cast<std::size_t>(axis)];
    detail::Array<bool> mask(shape, false);
    mask.begin()[j] = true;
    return Tensor<bool>(std::move(mask));
}

}  // namespace xgrad
