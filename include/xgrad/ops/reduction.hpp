// Reductions over all or some axes. They fuse with the expression under them, which is evaluated
// tile by tile; its values are stored only for the gradient of a product or an extremum.
//
// Shapes: x is reduced over all axes, or over `axes`, which are removed, or kept with extent 1 if
// `keep`. An empty list of axes reduces nothing. norm(), var() and stddev() are real, of complex
// numbers too.
// Gradients: of any order, in backward and forward mode; complex ones as PyTorch's, dL/dRe + i
// dL/dIm. norm() and stddev() have gradient 0 at 0. Integers and masks have none.
// Errors: an axis out of range or given twice is an IndexError; a norm() whose p is not positive
// and an undefined tensor are an Error.
#pragma once

#include <xgrad/ops/exponential.hpp>
#include <xgrad/ops/extremum.hpp>
#include <xgrad/ops/product.hpp>

namespace xgrad {

/// Integers and masks as double; anything else as it is.
template <Operand X> auto real_valued(X const& x) {
    if constexpr (std::same_as<typename X::kind, B> || std::same_as<typename X::kind, Z>)
        return cast<double>(x);
    else return x;
}

/// Sum over axes. Of integers and masks: a sum of int64.
template <Operand X> auto sum(X const& x, AxisList const& axes, Flag keep = false) {
    return record_sum("sum", x, &axes, keep, false);
}
template <Operand X> auto sum(X const& x) { return record_sum("sum", x, nullptr, false, false); }

/// Arithmetic mean over axes; NaN of nothing. Of integers and masks: a mean of double.
template <Operand X> auto mean(X const& x, AxisList const& axes, Flag keep = false) {
    return record_sum("mean", real_valued(x), &axes, keep, true);
}
template <Operand X> auto mean(X const& x) {
    return record_sum("mean", real_valued(x), nullptr, false, true);
}

/// log(sum(exp(x))) over axes, without overflow; the gradient is softmax(x).
template <Operand X> auto logsumexp(X const& x, AxisList const& axes, Flag keep = false) {
    auto const over = detail::checked_axes("logsumexp", x, axes);
    if constexpr (std::same_as<typename X::kind, R>)
        if (over.size() == x.dim()) { // a scalar: the exponentials and their gradients are one pass
            auto const largest = static_cast<precision_of<typename X::scalar>>(finite_largest(x));
            auto const y = materialize_expression(log(sum(exp(x - largest))) + largest);
            return keep ? detail::only_reshaped(reshape(y, Axes(x.dim(), 1))) : y;
        }
    auto const largest = finite_largest(x, over);
    auto const y = materialize_expression(log(sum(exp(x - largest), over, keepdims)) + largest);
    return keep ? y
                : detail::only_reshaped(
                      reshape(y, Axes(detail::reduced_shape(y.shape(), over, false))));
}
template <Operand X> auto logsumexp(X const& x) { return logsumexp(x, detail::all_axes(x.dim())); }

/// Square root of a sum of squares, with gradient 0 at 0 (as PyTorch's norm has).
struct NormRoot : Elementwise<R(R)> {
    auto value(auto x) const { return sqrt(x); }
    auto partial(wrt<0>, auto y, auto) const {
        return selected{!(y == 0), 0.5 * detail::reciprocal_or_zero(y)};
    }
};
/// Root s^(1/p) of a sum of p-th powers, with gradient 0 at 0.
struct PowerRoot : Elementwise<R(R)> {
    double p = 2; // of the p-norm
    auto value(auto s) const { return pow(s, 1 / p); }
    auto partial(wrt<0>, auto, auto s) const {
        return selected{!(s == 0), (1 / p) * pow(where(s == 0, 1, s), 1 / p - 1)};
    }
};
/// |x|^p, with gradient 0 at 0.
struct AbsPower : Elementwise<R(R), R(C)> {
    double p = 2; // the exponent
    auto value(auto x) const { return pow(abs(x), p); }
    auto partial(wrt<0>, auto, auto x) const {
        auto const r = abs(x);
        return gradient{where(r == 0, 0, p * pow(where(r == 0, 1, r), p - 1)) * sgn(x)};
    }
};

/// p-norm of the elements (as of a vector) over axes, p > 0 or infinite; 2 by default. Gradient 0
/// at 0. Elements are not scaled: their p-th powers, and the sum of these, must not overflow or
/// underflow in their type.
template <Operand X> auto norm(X const& x, double p, AxisList const& axes, Flag keep = false) {
    if (!(p > 0)) detail::fail<Error>("norm: p must be positive, and may be infinity, and is ", p);
    detail::checked_axes("norm", x, axes);
    if constexpr (std::same_as<typename X::kind, B> || std::same_as<typename X::kind, Z>)
        return norm(real_valued(x), p, axes, keep);
    else {
        using T = decltype(materialize_expression(abs(x)));
        if (p == std::numeric_limits<double>::infinity()) return T(amax(abs(x), axes, keep));
        if (p == 1) return T(sum(abs(x), axes, keep));
        if (p == 2) return T(express(NormRoot{}, sum(abs2(x), axes, keep)));
        return T(express(PowerRoot{{}, p}, sum(express(AbsPower{{}, p}, x), axes, keep)));
    }
}
template <Operand X>
    requires requires(X const& x) { x.dim(); }
auto norm(X const& x, double p) {
    return norm(x, p, detail::all_axes(x.dim()));
}
/// norm(x, 2), for which other powers are not compiled.
template <Operand X>
    requires requires(X const& x) { x.dim(); }
auto norm(X const& x) {
    if constexpr (std::same_as<typename X::kind, B> || std::same_as<typename X::kind, Z>)
        return norm(real_valued(x));
    else {
        detail::check_defined("norm", x);
        return materialize_expression(express(NormRoot{}, sum(abs2(x), detail::all_axes(x.dim()))));
    }
}

/// Variance over axes, sum(abs2(x - mean(x))) / (n - correction) for n elements; of complex
/// numbers, too, it is real. Not a finite number where n is no more than the correction.
template <Operand X>
auto var(X const& x, AxisList const& axes, Flag keep = false, double correction = 1) {
    auto const over = detail::checked_axes("var", x, axes);
    if constexpr (std::same_as<typename X::kind, B> || std::same_as<typename X::kind, Z>)
        return var(real_valued(x), over, keep, correction);
    else {
        auto const n = static_cast<double>(detail::count_over(x.shape(), over));
        return materialize_expression(
            sum(abs2(x - mean(x, over, keepdims)), over, keep) / std::max(0., n - correction));
    }
}
template <Operand X> auto var(X const& x) { return var(x, detail::all_axes(x.dim())); }

/// Standard deviation over axes, the root of var(), with gradient 0 at 0. (PyTorch's name for it is
/// a namespace in C++.)
template <Operand X>
auto stddev(X const& x, AxisList const& axes, Flag keep = false, double correction = 1) {
    return materialize_expression(
        express(NormRoot{}, var(x, detail::checked_axes("stddev", x, axes), keep, correction)));
}
template <Operand X> auto stddev(X const& x) { return stddev(x, detail::all_axes(x.dim())); }

} // namespace xgrad
