// median and quantile. A NaN among the elements makes the result NaN.
//
// Shapes: all elements give a tensor without dimensions; otherwise the axis is removed, or kept
// with extent 1 if `keep`. Several quantiles add a first axis.
// Gradients: scattered to the element, or the two elements, that the result is made of; of median()
// of all elements shared equally by the elements that are the median. Of any order, in backward and
// forward mode.
// Errors: an axis out of range is an IndexError; nothing to choose from is a ShapeError, but
// median() of all of no real numbers is NaN; q outside of [0, 1] is an Error. Complex numbers,
// which have no order, do not compile.
#pragma once

#include <xgrad/tensor/join.hpp>
#include <xgrad/tensor/ordering.hpp>

namespace xgrad {

namespace detail {

/// For each row of x along an axis: the index of the element of the given rank and, if wanted, of
/// the next one. Where the row has a NaN, both are the index of the first NaN.
template <Scalar T>
Tensor<std::int64_t> indices_of_rank(
    Array<T> const& x, std::size_t axis, std::size_t rank, bool with_next) {
    CachedVector<IndexedValue<T>> all(x.shape[axis]);
    return indices_along(
        x, axis, with_next ? 2 : 1, [&](T const* row, std::size_t n, std::int64_t* indices) {
            auto const nan = std::find_if(row, row + n, [](T v) { return v != v; }) - row;
            indices[0] = nan;
            if (with_next) indices[1] = nan;
            if (static_cast<std::size_t>(nan) < n) return;
            for (std::size_t i = 0; i < n; ++i) all[i] = {row[i], static_cast<std::int64_t>(i)};
            auto const at = all.begin() + static_cast<std::ptrdiff_t>(rank);
            std::nth_element(all.begin(), at, all.end(), IndexedValue<T>::ascending);
            indices[0] = at->index;
            if (with_next)
                indices[1] = std::min_element(at + 1, all.end(), IndexedValue<T>::ascending)->index;
        });
}

} // namespace detail

/// The median of all elements, the lower one of two. Elements equal to it get equal parts of the
/// gradient.
struct Median : Arraywise {
    static constexpr std::string_view written = "median";
    static constexpr auto dependence = Dependence::all;
    static constexpr detail::Uses uses[] = {detail::uses_argument(0) | detail::uses_result};

    template <Scalar T> auto value(detail::Array<T> const& x) const {
        detail::Array<T> elements(x.shape);
        detail::copy_elements(elements, x);
        if (elements.numel == 0) {
            if constexpr (RealScalar<T>)
                return detail::Array<T>(Shape(), std::numeric_limits<T>::quiet_NaN());
            detail::fail<ShapeError>("median: nothing to choose from in shape ", x.shape);
        }
        auto const nan = std::find_if(elements.begin(), elements.end(), [](T v) { return v != v; });
        if (nan != elements.end()) return detail::Array<T>(Shape(), *nan);
        auto* const middle = elements.begin() + (elements.numel - 1) / 2;
        std::nth_element(elements.begin(), middle, elements.end(), detail::is_less<T>);
        return detail::Array<T>(Shape(), *middle);
    }
    auto pullback(wrt<0>, auto const& g, auto const& y, auto const& x) const {
        return express(
            ExtremumGradient{{}, detail::all_axes(x.dim())}, g, unrecorded(y), unrecorded(x));
    }
};

/// The median along an axis (the lower one of two) and its index; of equal elements, of the first
/// that counts. With a NaN: NaN and the index of the first one. The gradient is scattered to that
/// index.
template <Operand X> auto median(X const& x, std::ptrdiff_t axis, Flag keep = false) {
    auto const d = detail::normalize_axis("median", axis, x.shape());
    auto const t = detail::materialize(x);
    auto const n = t.shape()[d];
    detail::check_choice("median", t.shape(), d);
    auto const indices = detail::indices_of_rank(t.array_of(), d, n ? (n - 1) / 2 : 0, false);
    return Ordered<typename X::scalar>{
        detail::keep_or_drop(gather(t, static_cast<std::ptrdiff_t>(d), indices), d, keep),
        detail::keep_or_drop(indices, d, keep)};
}
/// The median of all elements; NaN for an empty tensor or with a NaN. Elements equal to it get
/// equal parts of the gradient.
template <Operand X> auto median(X const& x) {
    static_assert(!detail::is_complex<typename X::scalar>, "median: complex numbers have no order");
    if constexpr (detail::is_complex<typename X::scalar>) return materialize_expression(x);
    else return express(Median{}, x);
}

/// The quantile q of the elements along an axis: 0 is the smallest, 1 the largest. Interpolates
/// linearly between two elements, which get the gradient. NaN with a NaN. Integers and masks are
/// converted to double.
template <Operand X> auto quantile(X const& x, double q, std::ptrdiff_t axis, Flag keep = false) {
    if constexpr (std::same_as<typename X::kind, B> || std::same_as<typename X::kind, Z>)
        return quantile(cast<double>(x), q, axis, keep);
    else {
        auto const d = detail::normalize_axis("quantile", axis, x.shape());
        auto const t = detail::materialize(x);
        if (!(q >= 0 && q <= 1)) detail::fail("quantile: q must lie between 0 and 1, and is ", q);
        if (t.shape()[d] == 0)
            detail::fail<ShapeError>(
                "quantile: nothing to choose from in shape ", t.shape(), " along axis ", d);
        double const way = q * static_cast<double>(t.shape()[d] - 1), whole = std::floor(way);
        auto const rest = static_cast<precision_of<typename X::scalar>>(way - whole);
        auto const neighbours = gather(t, static_cast<std::ptrdiff_t>(d),
            detail::indices_of_rank(t.array_of(), d, static_cast<std::size_t>(whole), rest > 0));
        if (!(rest > 0)) return detail::keep_or_drop(neighbours, d, keep);
        auto const parts = neighbours.split(1, static_cast<std::ptrdiff_t>(d));
        return detail::keep_or_drop(
            detail::materialize(where(isfinite(parts[1] - parts[0]),
                parts[0] + rest * (parts[1] - parts[0]), (1 - rest) * parts[0] + rest * parts[1])),
            d, keep);
    }
}
/// The quantile q of all elements.
template <Operand X> auto quantile(X const& x, double q) {
    return quantile(detail::in_one_row("quantile", x), q, 0);
}

/// Several quantiles, along a new first axis.
template <Operand X>
auto quantile(X const& x, std::vector<double> const& q, std::ptrdiff_t axis, Flag keep = false) {
    auto const t = detail::materialize(x);
    std::vector<decltype(quantile(t, 0., axis, keep))> parts;
    for (auto const part : q) parts.push_back(quantile(t, part, axis, keep));
    return stack(parts);
}
template <Operand X> auto quantile(X const& x, std::vector<double> const& q) {
    return quantile(detail::in_one_row("quantile", x), q, 0);
}

} // namespace xgrad
