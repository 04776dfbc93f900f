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

/// The number of elements that are reduced to one.
inline std::size_t count_over(Shape const& shape, Axes const& axes)
{
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
    if constexpr (std::same_as<typename X::letter, R>)
        if (over.size() == x.dim()) {   // a number in the formula: exponentials and their gradients are one pass
            auto const largest = static_cast<precision_of<typename X::scalar>>(finite_largest(x));
            auto const y = materialize_expression(log(sum(exp(x - largest))) + largest);
            return keep ? reshape(y, Axes(x.dim(), 1)) : y;
        }
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

namespace detail {

/// Axes in an order in which those of `over` come last.
[[gnu::cold]] inline Axes axes_with_last(Axes const& over, std::size_t rank)
{
    Axes order;
    for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(rank); ++i)
        if (!std::ranges::binary_search(over, i)) order.push_back(i);
    for (auto const axis : over) order.push_back(axis);
    return order;
}

/// The product of the others for each of n numbers. Every lane of some packs, and what is left over, is a chain of its own: forward
/// for what comes before in it, then back for what comes after and for what all other chains have. There is no division.
template <Differentiable T> void products_of_others(T const* x, std::size_t n, T* out)
{
    using Pack = pack_of<T, precision_of<T>>;
    constexpr std::size_t width = RealPack<precision_of<T>>::width, packs = 4, block = packs * width;
    std::size_t const end = n - n % block;
    Pack part[packs] = {1, 1, 1, 1};
    for (std::size_t i = 0; i < end; i += block)
        for (std::size_t j = 0; j < packs; ++j) {
            part[j].store(out + i + j * width);
            part[j] = part[j] * Pack::load(x + i + j * width);
        }
    T chain[block + 1], others[block + 1];
    for (std::size_t j = 0; j < packs; ++j) part[j].store(chain + j * width);
    chain[block] = T(1);
    for (std::size_t i = end; i < n; ++i) out[i] = chain[block], chain[block] *= x[i];
    T before(1), after(1);
    for (std::size_t c = 0; c <= block; ++c) others[c] = before, before *= chain[c];
    for (std::size_t c = block + 1; c-- > 0;) others[c] *= after, after *= chain[c];
    for (std::size_t i = n; i-- > end;) out[i] *= others[block], others[block] *= x[i];
    for (std::size_t j = 0; j < packs; ++j) part[j] = Pack::load(others + j * width);
    for (std::size_t i = end; i > 0;) {
        i -= block;
        for (std::size_t j = 0; j < packs; ++j) {
            auto* const at = out + i + j * width;
            (Pack::load(at) * part[j]).store(at);
            part[j] = part[j] * Pack::load(x + i + j * width);
        }
    }
}

}  // namespace detail

/// For each element the product of the others along some axes.
struct ProdOfOthers : Arraywise {
    Axes over;  // normalised
    static constexpr detail::Uses uses[] = {detail::uses_argument(0)};

    template <Scalar T> auto value(detail::Array<T> const& x) const
    {
        using W = detail::wide<T>;      // what is multiplied in another order must not overflow on the way
        auto const order = detail::axes_with_last(over, x.shape.size());
        auto const permuted = Permute{{}, order}.value(x);
        detail::Array<W> const rows(permuted.shape), wide(permuted.shape);
        detail::copy_elements(rows, permuted);
        std::size_t const n = detail::count_over(x.shape, over);
        for (std::size_t at = 0; at < x.numel; at += n) detail::products_of_others(rows.begin() + at, n, wide.begin() + at);
        detail::AnyArray narrowed = wide;
        detail::narrow<W, T>(narrowed);
        return Permute{{}, detail::inverse_of(order)}.value(detail::as<T>(narrowed));
    }
    /// d(others of i)/dx_j is the product of all but i and j: one j after another, with x_j replaced by 1.
    auto pullback(wrt<0>, auto const& g, auto const&, auto const& x) const
    {
        using T = typename std::remove_cvref_t<decltype(x)>::value_type;
        auto out = materialize_expression(g * T(0));
        for (std::size_t j = 0; j < detail::count_over(x.shape(), over); ++j) {
            auto const is_j = place_mask(x, over, j);
            auto const without_j = materialize_expression(where(is_j, T(1), x));
            auto const all_but = express(*this, without_j);
            auto const part = sum(where(is_j, T(0), g * conj(all_but)), over, keepdims);
            out = materialize_expression(out + where(is_j, part, T(0)));
        }
        return out;
    }
};

/// Product of the elements over some axes. The gradient needs no division, so zeros do no harm.
struct Prod : Arraywise {
    Axes over;  // normalised
    bool keep = false;
    static constexpr detail::Uses uses[] = {detail::uses_argument(0)};

    template <Scalar T> auto value(detail::Array<T> const& x) const
    {
        detail::Array<T> const rows = detail::contiguous(Permute{{}, detail::axes_with_last(over, x.shape.size())}.value(x));
        detail::Array<T> out(detail::reduced_shape(x.shape, over, keep));
        std::size_t const n = detail::count_over(x.shape, over);
        for (std::size_t i = 0; i < out.numel; ++i) {
            auto product = detail::Product<T>::start();
            detail::fold_into<detail::Product<T>>(product, rows.begin() + i * n, n);
            out.begin()[i] = detail::converted<T>(product);
        }
        return out;
    }
    auto pullback(wrt<0>, auto const& g, auto const&, auto const& x) const
    {
        auto const kept = reshape(g, Axes(detail::reduced_shape(x.shape(), over, true)));
        return kept * conj(express(ProdOfOthers{{}, over}, x));
    }
};

/// Product over axes. Values that a gradient will need are stored. Of integers and masks: a product of int64.
template <Operand X> auto prod(X const& x, Axes const& axes, bool keep = false)
{
    if constexpr (std::same_as<typename X::letter, B>) return prod(cast<std::int64_t>(x), axes, keep);
    else {
        auto const over = detail::checked_axes("prod", x, axes);
        if constexpr (Differentiable<typename X::scalar>)
            if (needs_graph(x)) return express(Prod{{}, over, keep}, x);
        return fold<detail::Product>(x, over, keep);
    }
}
template <Operand X> auto prod(X const& x) { return prod(x, detail::all_axes(x.dim())); }

}  // namespace xgrad
