// FunctionForms: functions as members, x.exp() beside exp(x), of tensors and of expressions. A
// member forwards to the free function of its name, with the same arguments and result. (softmax
// and log_softmax are functions of nn.hpp.)
//
// Errors: those of the functions. What a function does not take, its member does not take,
// either: it does not compile.
#pragma once

#include <xgrad/core/shape.hpp>

namespace xgrad {

// A member of the name of a function hides the function, so that a helper calls it.
// clang-format off
#define XGRAD_FUNCTIONS(f)                                                                         \
    f(abs) f(acos) f(add) f(addmm) f(allclose) f(angle) f(argsort) f(asin) f(atan) f(atan2)        \
    f(bmm) f(ceil) f(clamp) f(clamp_max) f(clamp_min) f(conj) f(cos) f(cosh) f(cross) f(cumprod)   \
    f(cumsum) f(diff) f(div) f(dot) f(equal) f(erf) f(erfc) f(exp) f(expm1) f(floor) f(gather)     \
    f(gelu) f(imag) f(index_add) f(index_select) f(isclose) f(isfinite) f(isinf) f(isnan) f(lerp)  \
    f(log) f(log10) f(log1p) f(log2) f(log_softmax) f(logical_not) f(masked_fill) f(matmul)        \
    f(maximum) f(median) f(minimum) f(mul) f(mv) f(nan_to_num) f(neg) f(norm) f(outer) f(pow)      \
    f(quantile) f(real) f(reciprocal) f(relu) f(remainder) f(repeat_interleave) f(roll) f(round)   \
    f(rsqrt) f(scatter_add) f(sigmoid) f(sign) f(sin) f(sinh) f(softmax) f(softplus) f(sort)       \
    f(sqrt) f(square) f(sub) f(take) f(tan) f(tanh) f(tile) f(topk) f(trace) f(tril) f(triu)       \
    f(trunc) f(vdot)
// Functions whose first argument is a list of axes, which may stand in braces.
#define XGRAD_FUNCTIONS_OF_AXES(f)                                                                 \
    f(all_of) f(amax) f(amin) f(any_of) f(argmax) f(argmin) f(count_nonzero) f(flip)              \
    f(logsumexp) f(max) f(mean) f(min) f(prod) f(stddev) f(sum) f(var)
// clang-format on

namespace detail {
#define XGRAD_CALL(f)                                                                              \
    template <class X, class... A> auto call_##f(X const& x, A const&... a) { return f(x, a...); }
XGRAD_FUNCTIONS(XGRAD_CALL)
XGRAD_CALL(repeat)
XGRAD_FUNCTIONS_OF_AXES(XGRAD_CALL)
#undef XGRAD_CALL
} // namespace detail

/// Base of Tensor and of Expression. Members with the arguments of the functions of their names.
template <class Derived> struct FunctionForms {
    /// `x.f(...)` is `f(x, ...)`.
#define XGRAD_MEMBER(f)                                                                            \
    template <class... A> auto f(A const&... a) const { return detail::call_##f(self(), a...); }
    XGRAD_FUNCTIONS(XGRAD_MEMBER)
    XGRAD_FUNCTIONS_OF_AXES(XGRAD_MEMBER)
#undef XGRAD_MEMBER
    /// `x.f({0, 1}, ...)` is `f(x, {0, 1}, ...)`.
#define XGRAD_MEMBER(f)                                                                            \
    template <class... A> auto f(AxisList const& axes, A const&... a) const {                      \
        return detail::call_##f(self(), axes, a...);                                               \
    }
    XGRAD_FUNCTIONS_OF_AXES(XGRAD_MEMBER)
#undef XGRAD_MEMBER
    /// matmul().
    template <class B> auto mm(B const& b) const { return detail::call_matmul(self(), b); }
    /// A copy along new or present axes: tile() of NumPy.
    auto repeat(ShapeArgument const& counts) const { return detail::call_repeat(self(), counts); }
    template <std::integral... N>
        requires(sizeof...(N) > 1)
    auto repeat(N... counts) const {
        return detail::call_repeat(self(), ShapeArgument{counts...});
    }
    /// stddev().
    template <class... A> auto std(A const&... a) const {
        return detail::call_stddev(self(), a...);
    }
    /// any_of() and all_of().
    template <class... A> auto any(A const&... a) const {
        return detail::call_any_of(self(), a...);
    }
    template <class... A> auto all(A const&... a) const {
        return detail::call_all_of(self(), a...);
    }

private:
    Derived const& self() const { return static_cast<Derived const&>(*this); }
};

#undef XGRAD_FUNCTIONS
#undef XGRAD_FUNCTIONS_OF_AXES

} // namespace xgrad
