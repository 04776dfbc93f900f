// The largest and the smallest elements over axes.
//
// Shapes: x is reduced over all axes, or over `axes`, which are removed, or kept with extent 1 if
// `keep`.
// Gradients: shared equally by the elements that are the extremum, or by all NaN where it is NaN;
// of any order, in backward and forward mode. Higher orders take the set of these elements for
// constant.
// Errors: an axis out of range or given twice is an IndexError; a reduced axis of extent 0 is a
// ShapeError if the result has elements. Complex numbers, which have no order, do not compile.
#pragma once

#include <array>
#include <optional>

#include <xgrad/core/choice.hpp>
#include <xgrad/ops/comparison.hpp>
#include <xgrad/ops/reducing.hpp>

namespace xgrad {

namespace detail {

/// If the reduced axes are adjacent: the numbers of elements before them, in them and after them.
inline std::optional<std::array<std::size_t, 3>> reduced_extents(
    Shape const& space, Shape const& kept) {
    std::array<std::size_t, 3> extent{1, 1, 1};
    std::size_t at = 0;
    for (std::size_t d = 0; d < space.size(); ++d) {
        bool const reduced = kept[d] != space[d];
        if (reduced && at == 2) return {};
        if (reduced != (at == 1) && space[d] != 1) ++at;
        extent[at] *= space[d];
    }
    if (at == 0) std::swap(extent[0], extent[2]);
    return extent;
}

/// Distributes the gradient of the extremum of a row equally to the elements that have its value.
template <class T>
void distribute_in_row(T const* x, std::size_t n, T extremum, T gradient, T* out) {
    auto const share_by = [=](auto has_it) {
        double count = 0;
        for (std::size_t i = 0; i < n; i += max_summed) {
            T here = 0;
            reduce_elements<Sum<T>>(here, x + i, std::min(max_summed, n - i),
                [=]<class V>(V v) XGRAD_LAMBDA_INLINE { return choice(has_it(v), V(1), V(0)); });
            count += static_cast<double>(here);
        }
        map_run(
            out, n,
            [=, share = static_cast<T>(gradient / count)]<class V>(V v)
                XGRAD_LAMBDA_INLINE { return choice(has_it(v), V(share), V(0)); },
            x);
    };
    if (extremum == extremum) share_by([=](auto v) XGRAD_LAMBDA_INLINE { return v == extremum; });
    else share_by([](auto v) XGRAD_LAMBDA_INLINE { return v != v; });
}
/// Distributes the gradients of the extrema of the columns.
template <class T>
void distribute_in_columns(T const* x, std::size_t rows, std::size_t columns, T const* extremum,
    T const* gradient, T* out) {
    auto const part_of = []<class V>(V v, V most, V part) XGRAD_LAMBDA_INLINE {
        return choice(v == most || v != v, part, V(0));
    };
    CachedVector<wide<T>> count(columns);
    CachedVector<T> share(columns);
    auto const for_each_tile = [=](auto f) {
        for (std::size_t row = 0; row < rows; ++row)
            for (std::size_t c = 0; c < columns; c += tile_size)
                f(row * columns + c, c, std::min(tile_size, columns - c));
    };
    for_each_tile([&](std::size_t at, std::size_t c, std::size_t n) {
        alignas(64) T tile[tile_size];
        map_run(
            tile, n,
            [=]<class V>(V v, V most) XGRAD_LAMBDA_INLINE { return part_of(v, most, V(1)); },
            x + at, extremum + c);
        reduce_strided<Sum<T>, wide<T>, T>(tile, &count[c], 1, n);
    });
    for (std::size_t c = 0; c < columns; ++c) share[c] = static_cast<T>(gradient[c] / count[c]);
    for_each_tile([&](std::size_t at, std::size_t c, std::size_t n) {
        map_run(out + at, n, part_of, x + at, extremum + c, &share[c]);
    });
}

} // namespace detail

/// The gradient of an extremum y of x over some axes, from the gradient of y.
struct ExtremumGradient : Arraywise {
    Axes over; // normalised
    static constexpr detail::Uses uses[] = {
        detail::uses_argument(1) | detail::uses_argument(2), 0, 0};
    Axes joined_axes() const { return over; }

    template <RealScalar T>
    auto value(
        detail::Array<T> const& g, detail::Array<T> const& y, detail::Array<T> const& x) const {
        detail::Array<T> buffer;
        auto extent = detail::reduced_extents(x.shape, detail::reduced_shape(x.shape, over, true));
        bool const in_place = x.contiguous && extent;
        auto const* from = in_place ? x.begin() : detail::rows_over(over, x, buffer);
        if (!in_place) extent = {y.numel, detail::count_over(x.shape, over), 1};
        auto const [rows, reduced, columns] = *extent;
        detail::Array<T> out(in_place ? x.shape : buffer.shape);
        auto const gradients = detail::contiguous(g), extrema = detail::contiguous(y);
        auto *const most = extrema.begin(), *const gradient = gradients.begin(),
                    *const to = out.begin();
        for (std::size_t at = 0, c = 0; c < rows * columns; at += reduced * columns, c += columns) {
            if (columns == 1)
                detail::distribute_in_row(from + at, reduced, most[c], gradient[c], to + at);
            else
                detail::distribute_in_columns(
                    from + at, reduced, columns, most + c, gradient + c, to + at);
        }
        return in_place ? out : detail::rows_put_back(over, std::move(out));
    }
    /// The mean over the elements that have the extreme value.
    auto pullback(
        wrt<0>, auto const& h, auto const&, auto const& g, auto const& y, auto const& x) const {
        std::remove_cvref_t<decltype(x)> const unit(
            typename std::remove_cvref_t<decltype(x)>::value_type(1));
        auto const extremum = reshape(y, Axes(detail::reduced_shape(x.shape(), over, true)));
        auto const has_it = materialize_expression(x == extremum || isnan(x));
        return reshape(materialize_expression(
                           sum(where(has_it, h, 0), over) / sum(where(has_it, unit, 0), over)),
            Axes(g.shape()));
    }
    /// The set of these elements is constant.
    template <std::size_t I> auto pullback(wrt<I>, auto const& h, auto const&...) const {
        return std::remove_cvref_t<decltype(h)>();
    }
};

/// Largest or smallest element over some axes.
template <template <class> class Combine> struct Extremum : Reducing<Combine> {
    static constexpr detail::Uses uses[1] = {
        detail::uses_argument(0) | detail::uses_result}; // clang wants the bound in a template

    auto pullback(wrt<0>, auto const& g, auto const& y, auto const& x) const {
        return express(ExtremumGradient{{}, this->over}, g, unrecorded(y), unrecorded(x));
    }
};
/// The largest element over some axes. Equal ones get equal parts of the gradient.
struct Amax : Extremum<detail::Larger> {};
/// The smallest element over some axes. Equal ones get equal parts of the gradient.
struct Amin : Extremum<detail::Smaller> {};

namespace detail {
template <class Op, Operand X>
auto extremum(std::string_view operation, X const& x, Axes const& over, bool keep) {
    static_assert(!is_complex<typename X::scalar>, "amax and amin: complex numbers have no order");
    if constexpr (is_complex<typename X::scalar>) return x;
    else {
        auto const axes = checked_axes(operation, x, over);
        if (auto const& shape = x.shape();
            numel(shape) == 0 && numel(reduced_shape(shape, axes, true)) != 0)
            fail<ShapeError>(
                operation, ": nothing to choose from in shape ", shape, " over axes ", axes);
        return express_reduction(Op{{{{}, axes, keep}}}, x);
    }
}
} // namespace detail

/// Maximum over axes. Elements that attain it get equal parts of the gradient. NaN is propagated.
template <Operand X> auto amax(X const& x, AxisList const& axes, Flag keep = false) {
    return detail::extremum<Amax>("amax", x, axes, keep);
}
template <Operand X> auto amax(X const& x) { return amax(x, detail::all_axes(x.dim())); }

/// Minimum over axes; ties and NaN as for amax.
template <Operand X> auto amin(X const& x, AxisList const& axes, Flag keep = false) {
    return detail::extremum<Amin>("amin", x, axes, keep);
}
template <Operand X> auto amin(X const& x) { return amin(x, detail::all_axes(x.dim())); }

} // namespace xgrad
