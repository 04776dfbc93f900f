// Cumulative sums, products and logarithms of sums of exponentials, and the linear recurrence that
// computes their gradients.
//
// Shapes: the result has the shape of x.
// Gradients: of any order, in backward and forward mode, also with zeros in cumprod(); complex ones
// as PyTorch's, dL/dRe + i dL/dIm. Integers and masks have none.
// Errors: an axis out of range is an IndexError, an undefined tensor an Error. logcumsumexp() of
// complex numbers does not compile.
#pragma once

#include <xgrad/fuse/gather_scatter.hpp>
#include <xgrad/ops/comparison.hpp>
#include <xgrad/ops/complex.hpp>
#include <xgrad/ops/exponential.hpp>
#include <xgrad/ops/padding.hpp>

namespace xgrad {

namespace detail {

/// Scans along an axis: next state = step(state, index of the element in row-major order, true for
/// the first one).
template <Scalar T, class Step>
Array<T> running(Shape const& shape, std::size_t axis, bool reversed, wide<T> start, Step step) {
    Array<T> out(shape);
    std::size_t const n = shape[axis], columns = step_along(shape, axis);
    if (columns == 1) { // in a register
        for (std::size_t begin = 0; begin < out.numel; begin += n) {
            auto value = start;
            for (std::size_t i = 0; i < n; ++i) {
                std::size_t const at = begin + (reversed ? n - 1 - i : i);
                out.begin()[at] = converted<T>(value = step(value, at, i == 0));
            }
        }
        return out;
    }
    CachedVector<wide<T>> values(columns);
    for (std::size_t begin = 0; begin < out.numel; begin += n * columns) {
        std::fill(values.begin(), values.end(), start);
        for (std::size_t i = 0; i < n; ++i) {
            std::size_t const at = begin + (reversed ? n - 1 - i : i) * columns;
            for (std::size_t c = 0; c < columns; ++c)
                out.begin()[at + c] = converted<T>(values[c] = step(values[c], at + c, i == 0));
        }
    }
    return out;
}

} // namespace detail

/// Cumulative sum along an axis; if reversed, from the end.
struct CumulativeSum : Arraywise {
    std::size_t axis = 0;  // normalised
    bool reversed = false; // true to sum from the end
    static constexpr bool is_multilinear = true;
    Axes joined_axes() const { return {axis}; }

    template <Scalar T> auto value(detail::Array<T> const& x) const {
        using W = detail::wide<T>;
        auto const from = detail::contiguous(x);
        return detail::running<T>(
            x.shape, axis, reversed, W(0), [in = from.begin()](W sum, std::size_t at, bool) {
                return sum + detail::converted<W>(in[at]);
            });
    }
    auto pullback(wrt<0>, auto const& g, auto const&, auto const&) const {
        return express(CumulativeSum{{}, axis, !reversed}, g);
    }
};

/// Cumulative sum along an axis, inclusive. Integers and masks are summed in int64.
template <Operand X> auto cumsum(X const& x, std::ptrdiff_t axis) {
    if constexpr (std::same_as<typename X::kind, B>) return cumsum(cast<std::int64_t>(x), axis);
    else return express(CumulativeSum{{}, detail::normalize_axis("cumsum", axis, x.shape())}, x);
}

namespace detail {
/// Shifts the elements by one along an axis; the first position gets a constant.
template <class X> auto put_off(X const& x, std::size_t axis, typename X::value_type first) {
    if (x.shape()[axis] == 0) return x;
    Pad<typename X::value_type> one_on{{}, Axes(x.dim(), 0), Axes(x.dim(), 0), first};
    one_on.before[axis] = 1;
    one_on.after[axis] = -1;
    return express(std::move(one_on), x);
}
} // namespace detail

/// Linear recurrence y_i = b_i + a_i y_(i-1) along an axis, with y_0 = b_0. It is linear in b;
/// `transposed` is the adjoint of that map: y_i = b_i + conj(a_(i+1)) y_(i+1).
struct Recurrence : Arraywise {
    std::size_t axis = 0;    // normalised
    bool transposed = false; // true for the adjoint
    static constexpr detail::Uses uses[] = {
        detail::uses_argument(0) | detail::uses_result, detail::uses_argument(0)};
    Axes joined_axes() const { return {axis}; }

    template <Scalar T> auto value(detail::Array<T> const& a, detail::Array<T> const& b) const {
        using W = detail::wide<T>;
        auto const factors = detail::contiguous(a), terms = detail::contiguous(b);
        std::size_t const to_factor = transposed ? detail::step_along(a.shape, axis) : 0;
        return detail::running<T>(a.shape, axis, transposed, W(0),
            [this, to_factor, f = factors.begin(), t = terms.begin()](
                W y, std::size_t at, bool first) {
                using detail::conj;
                auto const term = detail::converted<W>(t[at]);
                if (first) return term;
                auto const factor = detail::converted<W>(f[at + to_factor]);
                return term + (transposed ? conj(factor) : factor) * y;
            });
    }
    auto pullback(wrt<0>, auto const& g, auto const& y, auto const& a, auto const&) const {
        auto const of_terms = express(Recurrence{{}, axis, !transposed}, a, g);
        return transposed ? materialize_expression(y * conj(detail::put_off(of_terms, axis, 0)))
                          : materialize_expression(conj(detail::put_off(y, axis, 0)) * of_terms);
    }
    auto pullback(wrt<1>, auto const& g, auto const&, auto const& a, auto const&) const {
        return express(Recurrence{{}, axis, !transposed}, a, g);
    }
};

/// Cumulative product along an axis. The gradient of element i is the conjugate product of the
/// elements before it, times a recurrence over the gradients from i on. Nothing is divided, so
/// zeros need no special case.
struct CumulativeProduct : Arraywise {
    std::size_t axis = 0; // normalised
    static constexpr detail::Uses uses[] = {detail::uses_argument(0) | detail::uses_result};
    Axes joined_axes() const { return {axis}; }

    template <Scalar T> auto value(detail::Array<T> const& x) const {
        using W = detail::wide<T>;
        auto const from = detail::contiguous(x);
        return detail::running<T>(
            x.shape, axis, false, W(1), [in = from.begin()](W product, std::size_t at, bool) {
                return product * detail::converted<W>(in[at]);
            });
    }
    auto pullback(wrt<0>, auto const& g, auto const& y, auto const& x) const {
        return conj(detail::put_off(y, axis, 1)) * express(Recurrence{{}, axis, true}, x, g);
    }
};

/// Cumulative product along an axis, inclusive. Integers and masks are multiplied in int64.
template <Operand X> auto cumprod(X const& x, std::ptrdiff_t axis) {
    if constexpr (std::same_as<typename X::kind, B>) return cumprod(cast<std::int64_t>(x), axis);
    else
        return express(
            CumulativeProduct{{}, detail::normalize_axis("cumprod", axis, x.shape())}, x);
}

namespace detail {
/// log(exp(a) + exp(b)) without overflow.
template <class P> P log_of_sum(P a, P b) {
    P const most = std::max(a, b), least = std::min(a, b);
    if (a != a || b != b) return a + b;
    return is_infinite(most) ? most : most + std::log1p(std::exp(least - most));
}
} // namespace detail

/// Cumulative log-sum-exp y_i along an axis. The gradient of element i is exp(x_i - y_i) times a
/// recurrence over the gradients from i on, whose factors exp(y_i - y_(i+1)) are at most 1.
struct LogCumulativeSumExp : Arraywise {
    std::size_t axis = 0; // normalised
    static constexpr detail::Uses uses[] = {detail::uses_argument(0) | detail::uses_result};
    Axes joined_axes() const { return {axis}; }

    template <RealScalar P> auto value(detail::Array<P> const& x) const {
        using W = detail::wide<P>;
        auto const from = detail::contiguous(x);
        return detail::running<P>(x.shape, axis, false, -std::numeric_limits<W>::infinity(),
            [in = from.begin()](W sum, std::size_t at, bool) {
                return detail::log_of_sum(sum, detail::converted<W>(in[at]));
            });
    }
    auto pullback(wrt<0>, auto const& g, auto const& y, auto const& x) const {
        auto const weights = share(detail::put_off(y, axis, -infinity<decltype(y)>), y);
        return share(x, y) * express(Recurrence{{}, axis, true}, weights, g);
    }

private:
    template <class X>
    static constexpr auto infinity =
        std::numeric_limits<typename std::remove_cvref_t<X>::value_type>::infinity();

    /// exp(part - whole), and 0 for a part of nothing, also of nothing.
    static auto share(auto const& part, auto const& whole) {
        auto const is_nothing = materialize_expression(part == -infinity<decltype(part)>);
        auto const is_infinite =
            materialize_expression(part == infinity<decltype(part)>); // beside an infinite whole
        auto const is_either = materialize_expression(is_nothing || is_infinite);
        return materialize_expression(
            where(is_nothing, 0, exp(where(is_either, 0, part) - where(is_either, 0, whole))));
    }
};

/// log(exp(x_0) + ... + exp(x_i)) for each place i along an axis, without overflow. Of integers and
/// masks: of double.
template <Operand X> auto logcumsumexp(X const& x, std::ptrdiff_t axis) {
    static_assert(!std::same_as<typename X::kind, C>, "logcumsumexp: a real operand is needed");
    if constexpr (std::same_as<typename X::kind, R>)
        return express(
            LogCumulativeSumExp{{}, detail::normalize_axis("logcumsumexp", axis, x.shape())}, x);
    else return logcumsumexp(cast<double>(x), axis);
}

} // namespace xgrad
