// What the reductions of ops/reduction.hpp ask of the recording layer.
#pragma once

#include <xgrad/ops/reduction.hpp>
#include <xgrad/tensor/gradient_arithmetic.hpp>

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

namespace detail {

/// The best element over axes by `better(best, candidate)`, without history; the reduced axes stay.
template <class T, class Better> Array<T> extremum(Array<T> const& x, Axes const& axes, std::string_view operation, Better better)
{
    Array<T> out(reduced_shape(x.shape, axes, true));
    if (x.numel == 0) {
        if (out.numel) fail<ShapeError>(operation, ": nothing to choose from in shape ", x.shape, " over axes ", axes);
        return out;
    }
    auto const to = broadcast_strides(out.shape, out.strides, x.shape);
    Strides const* const strides[] = {&x.strides, &to};
    std::size_t const rank = x.shape.size();
    std::ptrdiff_t const step_x = rank ? x.strides[rank - 1] : 0, step_out = rank ? to[rank - 1] : 0;
    std::vector<bool> seen(out.numel);
    for_each_run(x.shape, strides, [&](std::size_t n, std::ptrdiff_t const* at) {
        for (std::size_t i = 0; i < n; ++i) {
            auto const o = at[1] + static_cast<std::ptrdiff_t>(i) * step_out;
            T const v = x.begin()[at[0] + static_cast<std::ptrdiff_t>(i) * step_x];
            T& best = out.begin()[o];
            if (!seen[static_cast<std::size_t>(o)] || (best == best && better(best, v))) best = v;
            seen[static_cast<std::size_t>(o)] = true;
        }
    });
    return out;
}

}  // namespace detail

/// amax() and amin() of real tensors: the gradient is that of the mean of the elements that share the extremum.
template <class T, Operand X, class Better> auto record_extremum_of_real(X const& x, Axes const& axes, bool keep, std::string_view operation, Better better)
{
    auto const values = detail::materialize(x);
    Tensor<T> const best(detail::extremum(values.array_of(), axes, operation, better));
    auto const shape = detail::reduced_shape(values.shape(), axes, keep);
    if constexpr (Differentiable<T>)
        if (is_grad_enabled() && values.requires_grad()) {
            Tensor<T> const count = [&] {
                NoGradGuard const off;
                return Tensor<T>(cast<T>(sum(values == best || isnan(values), axes, true)));
            }();
            // adds up to `best` only up to rounding, so the value is put in afterwards
            Tensor<T> y = reshape(sum(where(values == best || isnan(values), values, 0) / count, axes, true), Axes(shape));
            detail::copy_elements(y.array_of(), best.array_of().window(y.shape(), y.strides()));
            return y;
        }
    return reshape(best, Axes(shape));
}

/// Called by amax() and amin().
template <Operand X, class Better> auto record_extremum(X const& x, Axes const& axes, bool keep, std::string_view operation, Better better)
{
    using T = typename X::scalar;
    static_assert(!detail::is_complex<T>, "amax and amin: complex numbers have no order");
    if constexpr (!detail::is_complex<T>) return record_extremum_of_real<T>(x, axes, keep, operation, better);
}

/// The largest elements over axes where they are finite, else 0: what logsumexp takes out of its exponents.
template <Operand X> auto finite_largest(X const& x, Axes const& axes)
{
    NoGradGuard const off;
    using T = typename X::scalar;
    using Real = std::conditional_t<RealScalar<precision_of<T>>, precision_of<T>, double>;
    auto const values = [&] {
        if constexpr (detail::is_complex<T>) return detail::materialize(real(x));
        else return detail::materialize(x);
    }();
    if (values.numel() == 0) return Tensor<Real>(detail::Array<Real>(detail::reduced_shape(values.shape(), axes, true), Real(0)));
    auto const largest = amax(values, axes, true);
    return Tensor<Real>(where(abs(largest) <= std::numeric_limits<double>::max(), cast<Real>(largest), Real(0)));
}

/// True in column j of a matrix like x.
template <Operand X> auto column_mask(X const& x, std::size_t j)
{
    detail::Array<bool> mask(Shape{1, x.shape()[1]}, false);
    mask.begin()[j] = true;
    return Tensor<bool>(std::move(mask));
}

}  // namespace xgrad
