// FunctionForms: functions as members, x.exp() beside exp(x), of tensors and of expressions. A
// member forwards to the free function of its name, with the same arguments and result. (softmax
// and log_softmax are functions of nn.hpp.)
#pragma once

#include <xgrad/core/shape.hpp>

namespace xgrad {

// A member of the name of a function hides the function, so that a helper calls it.
// clang-format off
#define XGRAD_FUNCTIONS(f)                                                                         \
    f(abs) f(acos) f(angle) f(asin) f(atan) f(atan2) f(ceil) f(clamp) f(conj) f(cos) f(cosh)       \
    f(cumprod) f(cumsum) f(dot) f(erf) f(erfc) f(exp) f(expm1) f(floor) f(gelu) f(imag)            \
    f(isfinite) f(isinf) f(isnan) f(log) f(log10) f(log1p) f(log2) f(log_softmax) f(matmul)        \
    f(maximum) f(minimum) f(norm) f(pow) f(real) f(reciprocal) f(relu) f(repeat) f(round)          \
    f(rsqrt) f(sigmoid) f(sign) f(sin) f(sinh) f(softmax) f(softplus) f(sqrt) f(square) f(tan)     \
    f(tanh) f(trunc)
// Functions whose first argument is a list of axes, which may stand in braces.
#define XGRAD_FUNCTIONS_OF_AXES(f)                                                                 \
    f(all_of) f(amax) f(amin) f(any_of) f(argmax) f(argmin) f(flip) f(logsumexp) f(max) f(mean)    \
    f(min) f(prod) f(stddev) f(sum) f(var)
// clang-format on

namespace detail {
#define XGRAD_CALL(f)                                                                              \
    template <class X, class... A> auto call_##f(X const& x, A const&... a) { return f(x, a...); }
XGRAD_FUNCTIONS(XGRAD_CALL)
XGRAD_FUNCTIONS_OF_AXES(XGRAD_CALL)
#undef XGRAD_CALL
} // namespace detail

/// Base of Tensor and of Expression. Members with the arguments of the functions of their names.
template <class Derived> struct FunctionForms {
#define XGRAD_MEMBER(f)                                                                            \
    template <class... A> auto f(A const&... a) const { return detail::call_##f(self(), a...); }
    XGRAD_FUNCTIONS(XGRAD_MEMBER)
    XGRAD_FUNCTIONS_OF_AXES(XGRAD_MEMBER)
#undef XGRAD_MEMBER
#define XGRAD_MEMBER(f)                                                                            \
    template <class... A> auto f(AxisList const& axes, A const&... a) const {                      \
        return detail::call_##f(self(), axes, a...);                                               \
    }
    XGRAD_FUNCTIONS_OF_AXES(XGRAD_MEMBER)
#undef XGRAD_MEMBER
    /// matmul().
    template <class B> auto mm(B const& b) const { return detail::call_matmul(self(), b); }
    /// A copy along new or present axes: tile() of NumPy.
    auto repeat(Shape const& counts) const { return detail::call_repeat(self(), counts); }

private:
    Derived const& self() const { return static_cast<Derived const&>(*this); }
};

#undef XGRAD_FUNCTIONS
#undef XGRAD_FUNCTIONS_OF_AXES

} // namespace xgrad
