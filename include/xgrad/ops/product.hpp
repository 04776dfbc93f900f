// Products over axes, whose gradient needs no division.
//
// Shapes: x is reduced over all axes, or over `axes`, which are removed, or kept with extent 1 if
// `keep`.
// Gradients: the conjugate product of the other elements, also right with zeros; of any order, in
// backward and forward mode. The second order takes time quadratic in the number of reduced
// elements. Integers and masks have none.
// Errors: an axis out of range or given twice is an IndexError, an undefined tensor an Error.
#pragma once

#include <xgrad/core/choice.hpp>
#include <xgrad/ops/complex.hpp>
#include <xgrad/ops/reducing.hpp>

namespace xgrad {

namespace detail {

/// Calls finish(factor times the product of the other n - 1 elements) for each element: one pass
/// for the products of the elements before it, one for those after it. Returns the product of all.
template <class T, class F>
T each_product_of_others(T const* x, std::size_t n, T factor, T* out, F finish) {
    T before(1);
    for (std::size_t i = 0; i < n; ++i) out[i] = before, before *= x[i];
    for (std::size_t i = n; i-- > 0;) out[i] = finish(out[i] * factor), factor *= x[i];
    return before;
}

/// The products of the other elements, in batches. Each lane of a few batches is an independent
/// chain; the tail is one more.
template <Differentiable T, class F>
void products_of_others(T const* x, std::size_t n, T* out, F finish) {
    using Batch = simd::batch_of<T, precision_of<T>>;
    constexpr std::size_t width = simd::Batch<precision_of<T>>::width, batches = 4,
                          block = batches * width;
    std::size_t const end = n - n % block;
    T others(1); // of the tail
    if (end) {
        Batch part[batches] = {1, 1, 1, 1};
        for (std::size_t i = 0; i < end; i += block)
            kernel::unroll<batches>([&](auto j) XGRAD_LAMBDA_INLINE {
                part[j].store(out + i + j * width);
                part[j] = part[j] * Batch::load(x + i + j * width);
            });
        auto const first = part[0] * part[1], second = part[2] * part[3];
        T lanes[width], others_of_lanes[width], left_over(1);
        (first * second).store(lanes);
        for (std::size_t i = end; i < n; ++i) left_over *= x[i];
        others = each_product_of_others(lanes, width, left_over, others_of_lanes, std::identity());
        auto const of_lanes = Batch::load(others_of_lanes);
        Batch after[batches] = {of_lanes * (part[1] * second), of_lanes * (part[0] * second),
            of_lanes * (first * part[3]), of_lanes * (first * part[2])};
        for (std::size_t i = end; i > 0;) {
            i -= block;
            kernel::unroll<batches>([&](auto j) XGRAD_LAMBDA_INLINE {
                auto* const at = out + i + j * width;
                finish(Batch::load(at) * after[j]).store(at);
                after[j] = after[j] * Batch::load(x + i + j * width);
            });
        }
    }
    each_product_of_others(x + end, n - end, others, out + end, finish);
}

} // namespace detail

/// The gradient of a product over some axes: the gradient of the result times the conjugate product
/// of the other elements.
struct ProdGradient : Arraywise {
    Axes over; // normalised
    static constexpr detail::Uses uses[] = {
        detail::uses_argument(1), detail::uses_argument(0) | detail::uses_argument(1)};
    Axes joined_axes() const { return over; }

    template <Scalar T> auto value(detail::Array<T> const& g, detail::Array<T> const& x) const {
        using W = detail::wide<T>; // multiplied in another order, an intermediate product must not
                                   // overflow
        detail::Array<W> buffer;
        auto const* const rows = detail::rows_over(over, x, buffer);
        detail::Array<W> out(buffer.defined() ? buffer.shape : x.shape);
        auto const gradients = detail::contiguous(g);
        std::size_t const n = detail::count_over(x.shape, over);
        for (std::size_t at = 0, row = 0; at < x.numel; at += n, ++row)
            detail::products_of_others(rows + at, n, out.begin() + at,
                [gi = detail::converted<W>(gradients.begin()[g.numel == 1 ? 0 : row])](auto v) {
                    using detail::conj;
                    return gi * conj(v);
                });
        return detail::rows_put_back(over, detail::narrowed<T>(out));
    }
    auto pullback(wrt<0>, auto const& h, auto const&, auto const& g, auto const& x) const {
        std::remove_cvref_t<decltype(x)> const unit(
            typename std::remove_cvref_t<decltype(x)>::value_type(1));
        return reshape(
            materialize_expression(sum(h * conj(express(*this, unit, x)), over)), Axes(g.shape()));
    }
    /// The derivative for x_j: every other output depends on x_j by the product of all elements but
    /// the two. Computed for one j after another, with x_j replaced by 1.
    auto pullback(wrt<1>, auto const& h, auto const&, auto const& g, auto const& x) const {
        using T = typename std::remove_cvref_t<decltype(x)>::value_type;
        auto out = materialize_expression(h * T(0));
        for (std::size_t j = 0; j < detail::count_over(x.shape(), over); ++j) {
            auto const is_j = position_mask(x, over, j);
            auto const without_j = materialize_expression(where(is_j, T(1), x));
            auto const part =
                sum(where(is_j, T(0), conj(h) * express(*this, g, without_j)), over, keepdims);
            out = materialize_expression(out + where(is_j, part, T(0)));
        }
        return out;
    }
};

/// Product of the elements over some axes, zeros among them or not.
struct Prod : Reducing<detail::Product> {
    static constexpr detail::Uses uses[] = {detail::uses_argument(0)};

    auto pullback(wrt<0>, auto const& g, auto const&, auto const& x) const {
        return express(ProdGradient{{}, over}, g, x);
    }
};

/// Product over axes. Of integers and masks: a product of int64.
template <Operand X> auto prod(X const& x, AxisList const& axes, Flag keep = false) {
    if constexpr (std::same_as<typename X::kind, B>) return prod(cast<std::int64_t>(x), axes, keep);
    else return express_reduction(Prod{{{}, detail::checked_axes("prod", x, axes), keep}}, x);
}
template <Operand X> auto prod(X const& x) { return prod(x, detail::all_axes(x.dim())); }

} // namespace xgrad
