// Reductions over all or some axes. They fuse with the expression under them, which is evaluated tile by tile; its values
// are stored only for the gradient of a product.
#pragma once

#include <xgrad/ops/complex.hpp>
#include <xgrad/ops/exponential.hpp>
#include <xgrad/ops/fold.hpp>
#include <xgrad/ops/shaping.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad {

/// For the last argument of a reduction: reduced axes stay, with extent 1.
inline constexpr bool keepdims = true;

namespace detail {

template <Operand X> Axes checked_axes(std::string_view operation, X const& x, Axes const& axes) { return normalize_axes(operation, axes, x.dim()); }

template <Operand X> std::size_t count_over(X const& x, Axes const& axes)
{
    auto const shape = x.shape();
    std::size_t n = 1;
    for (auto const axis : axes) n *= shape[static_cast<std::size_t>(axis)];
    return n;
}

}  // namespace detail

/// Integers and masks as double; anything else as it is.
template <Operand X> auto real_valued(X const& x)
{
    if constexpr (std::same_as<typename X::letter, B> || std::same_as<typename X::letter, Z>) return cast<double>(x);
    else return x;
}

/// Sum over axes. Of integers and masks: a sum of int64.
template <Operand X> auto sum(X const& x, Axes const& axes, bool keep = false) { return record_sum("sum", x, &axes, keep, false); }
template <Operand X> auto sum(X const& x) { return record_sum("sum", x, nullptr, false, false); }

/// Arithmetic mean over axes; NaN of nothing. Of integers and masks: a mean of double.
template <Operand X> auto mean(X const& x, Axes const& axes, bool keep = false) { return record_sum("mean", real_valued(x), &axes, keep, true); }
template <Operand X> auto mean(X const& x) { return record_sum("mean", real_valued(x), nullptr, false, true); }

/// What an element adds to the extremum over its axes: its share, if it is one of those that have the extreme value.
struct ShareOfExtremum : Elementwise<R(R, R, R)> {
    auto value(auto x, auto extremum, auto share) const { return where(x == extremum || isnan(x), x * share, 0); }
    auto partial(wrt<0>, auto, auto x, auto extremum, auto share) const { return selected{x == extremum || isnan(x), share}; }
    auto partial(wrt<1>, auto, auto, auto, auto) const { return nothing; }
    auto partial(wrt<2>, auto, auto, auto, auto) const { return nothing; }
};

/// Largest element over axes; elements that share it share the gradient equally. NaN is passed on.
template <Operand X> auto amax(X const& x, Axes const& axes, bool keep = false)
{
    return record_extremum<detail::Larger>("amax", x, axes, keep);
}
template <Operand X> auto amax(X const& x) { return amax(x, detail::all_axes(x.dim())); }

/// Smallest element over axes; ties and NaN as for amax.
template <Operand X> auto amin(X const& x, Axes const& axes, bool keep = false)
{
    return record_extremum<detail::Smaller>("amin", x, axes, keep);
}
template <Operand X> auto amin(X const& x) { return amin(x, detail::all_axes(x.dim())); }

/// log(sum(exp(x))) over axes, without overflow; the gradient is softmax(x).
template <Operand X> auto logsumexp(X const& x, Axes const& axes, bool keep = false)
{
    auto const over = detail::checked_axes("logsumexp", x, axes);
    auto const largest = finite_largest(x, over);
    auto const y = materialize_expression(log(sum(exp(x - largest), over, keepdims)) + largest);
    return keep ? y : reshape(y, Axes(detail::reduced_shape(y.shape(), over, false)));
}
template <Operand X> auto logsumexp(X const& x) { return logsumexp(x, detail::all_axes(x.dim())); }

/// Square root of a sum of squares, with gradient 0 at 0 (as PyTorch's norm has).
struct NormRoot : Elementwise<R(R)> {
    auto value(auto x) const { return sqrt(x); }
    auto partial(wrt<0>, auto y, auto) const { return selected{!(y == 0), 0.5 * reciprocal(y)}; }
};
/// Root s^(1/p) of a sum of p-th powers, with gradient 0 at 0.
struct PowerRoot : Elementwise<R(R)> {
    double p = 2;
    auto value(auto s) const { return pow(s, 1 / p); }
    auto partial(wrt<0>, auto, auto s) const { return selected{!(s == 0), (1 / p) * pow(s, 1 / p - 1)}; }
};
/// |x|^p, with gradient 0 at 0.
struct AbsPower : Elementwise<R(R), R(C)> {
    double p = 2;
    auto value(auto x) const { return pow(abs(x), p); }
    auto partial(wrt<0>, auto, auto x) const
    {
        auto const r = abs(x);
        return gradient{where(r == 0, 0, p * pow(r, p - 1)) * sgn(x)};
    }
};

/// p-norm of the elements (as of a vector) over axes, p > 0 or infinite; 2 by default. Gradient 0 at 0.
template <Operand X> auto norm(X const& x, double p, Axes const& axes, bool keep = false)
{
    if (!(p > 0)) detail::fail<Error>("norm: p must be positive, and may be infinity");
    detail::checked_axes("norm", x, axes);
    if constexpr (std::same_as<typename X::letter, B> || std::same_as<typename X::letter, Z>) return norm(real_valued(x), p, axes, keep);
    else {
        using T = decltype(materialize_expression(abs(x)));
        if (p == std::numeric_limits<double>::infinity()) return T(amax(abs(x), axes, keep));
        if (p == 1) return T(sum(abs(x), axes, keep));
        if (p == 2) return T(express(NormRoot{}, sum(abs2(x), axes, keep)));
        return T(express(PowerRoot{{}, p}, sum(express(AbsPower{{}, p}, x), axes, keep)));
    }
}
template <Operand X> auto norm(X const& x, double p = 2) { return norm(x, p, detail::all_axes(x.dim())); }

/// For each element the product of the others in its row.
struct ProdOfOthers : Arraywise {
    static constexpr detail::Uses uses[] = {detail::uses_argument(0)};

    template <Scalar T> auto value(detail::Array<T> const& x) const
    {
        detail::Array<T> const rows = detail::contiguous(x);
        detail::Array<T> out(x.shape);
        std::size_t const n = x.shape[1];
        for (std::size_t r = 0; r < x.shape[0]; ++r) {
            T const* const a = rows.begin() + r * n;
            T* const o = out.begin() + r * n;
            T before(1), after(1);
            for (std::size_t i = 0; i < n; ++i) o[i] = before, before *= a[i];
            for (std::size_t i = n; i-- > 0;) o[i] *= after, after *= a[i];
        }
        return out;
    }
    /// d(others of i)/dx_j is the product of all but i and j: one column j after another, with x_j replaced by 1.
    auto pullback(wrt<0>, auto const& g, auto const&, auto const& x) const
    {
        using T = typename std::remove_cvref_t<decltype(x)>::value_type;
        std::size_t const n = x.shape()[1];
        auto out = materialize_expression(g * T(0));
        for (std::size_t j = 0; j < n; ++j) {
            auto const is_j = column_mask(x, j);
            auto const without_j = materialize_expression(where(is_j, T(1), x));
            auto const all_but = express(ProdOfOthers{}, without_j);
            auto const part = sum(where(is_j, T(0), g * conj(all_but)), {1}, keepdims);
            out = materialize_expression(out + where(is_j, part, T(0)));
        }
        return out;
    }
};

/// Product of the elements over the last axis of a matrix of rows. The gradient needs no division, so zeros do no harm.
struct ProdRows : Arraywise {
    static constexpr detail::Uses uses[] = {detail::uses_argument(0)};

    template <Scalar T> auto value(detail::Array<T> const& x) const
    {
        detail::Array<T> const rows = detail::contiguous(x);
        std::size_t const n = x.shape[1];
        detail::Array<T> out(Shape{x.shape[0]});
        for (std::size_t i = 0; i < x.shape[0]; ++i) {
            auto product = detail::Product<T>::start();
            detail::fold_run<detail::Product<T>, T>(rows.begin() + i * n, &product, 0, n);
            out.begin()[i] = detail::converted<T>(product);
        }
        return out;
    }
    auto pullback(wrt<0>, auto const& g, auto const&, auto const& x) const { return unsqueeze(g, 1) * conj(express(ProdOfOthers{}, x)); }
};

/// Product over axes. Values that a gradient will need are stored. Of integers and masks: a product of int64.
template <Operand X> auto prod(X const& x, Axes const& axes, bool keep = false)
{
    if constexpr (std::same_as<typename X::letter, B>) return prod(cast<std::int64_t>(x), axes, keep);
    else {
        auto const over = detail::checked_axes("prod", x, axes);
        if (!needs_graph(x)) return fold<detail::Product>(x, over, keep);
        auto const values = materialize_expression(x);
        Axes order;
        for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(values.dim()); ++i)
            if (!std::ranges::binary_search(over, i)) order.push_back(i);
        for (auto const axis : over) order.push_back(axis);
        auto const n = detail::count_over(values, over);
        auto const shape = detail::reduced_shape(values.shape(), over, keep);
        auto const rows = reshape(permute(values, order), Axes{static_cast<std::ptrdiff_t>(numel(shape)), static_cast<std::ptrdiff_t>(n)});
        return reshape(express(ProdRows{}, rows), Axes(shape));
    }
}
template <Operand X> auto prod(X const& x) { return prod(x, detail::all_axes(x.dim())); }

}  // namespace xgrad
