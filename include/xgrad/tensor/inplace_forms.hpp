// In-place forms of operations as members of Tensor: x.exp_() writes exp(x) into the memory of x.
//
// Shapes: the tensor keeps its shape, to which the other operands broadcast.
// Gradients: those of the function of the same name, recorded where gradients are on; uniform_()
// and normal_() are never recorded.
// Errors: those of inplace.hpp: ShapeError where the broadcast shape is not that of the tensor,
// GraphError where the change is not allowed. A result of a higher kind than the tensor does not
// compile.
#pragma once

#include <string_view>

#include <xgrad/expr/expression.hpp>
#include <xgrad/tensor/shared_writes.hpp>

namespace xgrad {

namespace detail {
template <class Self, class F, class... X>
Self& change_in_place(Self& self, std::string_view operation, F f, X const&... x);
} // namespace detail
/// Overwrites a tensor, without recording, by uniform numbers on [low, high); for complex types
/// both parts.
template <Differentiable T> void uniform_(Tensor<T> t, double low = 0, double high = 1);
/// Overwrites a tensor, without recording, by normal numbers; for complex types each part has half
/// the variance.
template <Differentiable T> void normal_(Tensor<T> t, double mean = 0, double deviation = 1);

/// Base of Tensor. Each form returns the tensor itself.
template <class Self> struct InplaceForms : HandleOfProgram<Self> {
    /// `x.f_()` writes `f(x)` into the memory of x.
#define XGRAD_IN_PLACE(f)                                                                          \
    Self& f##_() {                                                                                 \
        return apply_in_place(#f "_", [](auto const& x) { return f(x); });                         \
    }
    // clang-format off
    XGRAD_IN_PLACE(square) XGRAD_IN_PLACE(sqrt) XGRAD_IN_PLACE(rsqrt) XGRAD_IN_PLACE(reciprocal)
    XGRAD_IN_PLACE(exp) XGRAD_IN_PLACE(expm1) XGRAD_IN_PLACE(log) XGRAD_IN_PLACE(log1p)
    XGRAD_IN_PLACE(log2) XGRAD_IN_PLACE(log10) XGRAD_IN_PLACE(sin) XGRAD_IN_PLACE(cos)
    XGRAD_IN_PLACE(tan) XGRAD_IN_PLACE(asin) XGRAD_IN_PLACE(acos) XGRAD_IN_PLACE(atan)
    XGRAD_IN_PLACE(sinh) XGRAD_IN_PLACE(cosh) XGRAD_IN_PLACE(tanh) XGRAD_IN_PLACE(asinh)
    XGRAD_IN_PLACE(acosh) XGRAD_IN_PLACE(atanh) XGRAD_IN_PLACE(sigmoid) XGRAD_IN_PLACE(softplus)
    XGRAD_IN_PLACE(relu) XGRAD_IN_PLACE(abs) XGRAD_IN_PLACE(sign) XGRAD_IN_PLACE(sgn)
    XGRAD_IN_PLACE(conj) XGRAD_IN_PLACE(floor) XGRAD_IN_PLACE(ceil) XGRAD_IN_PLACE(round)
    XGRAD_IN_PLACE(trunc) XGRAD_IN_PLACE(nan_to_num) XGRAD_IN_PLACE(erf) XGRAD_IN_PLACE(erfc)
    XGRAD_IN_PLACE(sinc) XGRAD_IN_PLACE(lgamma) XGRAD_IN_PLACE(digamma)
    // clang-format on
#undef XGRAD_IN_PLACE

        /// Changes the sign of each element.
        Self& neg_() {
        return apply_in_place("neg_", [](auto const& x) { return -x; });
    }
    /// `x.f_(b)` writes `x op b` into the memory of x, to whose shape b is broadcast.
#define XGRAD_IN_PLACE(f, op)                                                                      \
    template <detail::OperandLike X> Self& f##_(X const& b) {                                      \
        return apply_in_place(                                                                     \
            #f "_", [](auto const& x, auto const& y) { return x op y; }, b);                       \
    }
    XGRAD_IN_PLACE(add, +)
    XGRAD_IN_PLACE(sub, -)
    XGRAD_IN_PLACE(mul, *)
    XGRAD_IN_PLACE(div, /)
#undef XGRAD_IN_PLACE
    /// `x.f_(b)` writes `f(x, b)` into the memory of x, to whose shape b is broadcast.
#define XGRAD_IN_PLACE(f)                                                                          \
    template <detail::OperandLike X> Self& f##_(X const& b) {                                      \
        return apply_in_place(                                                                     \
            #f "_", [](auto const& x, auto const& y) { return f(x, y); }, b);                      \
    }
    XGRAD_IN_PLACE(remainder)
    XGRAD_IN_PLACE(pow)
    XGRAD_IN_PLACE(minimum)
    XGRAD_IN_PLACE(maximum)
    XGRAD_IN_PLACE(clamp_min)
    XGRAD_IN_PLACE(clamp_max)
#undef XGRAD_IN_PLACE
    /// Limits each element to [lower, upper].
    template <detail::OperandLike L, detail::OperandLike U>
    Self& clamp_(L const& lower, U const& upper) {
        return apply_in_place(
            "clamp_", [](auto const& x, auto const& a, auto const& b) { return clamp(x, a, b); },
            lower, upper);
    }
    /// A user's elementwise operation: x.apply_(Scaled{2.}, y) is x = apply(Scaled{2.}, x, y), in
    /// place.
    template <class Op, detail::OperandLike... X>
        requires(!detail::OperandLike<Op>)
    Self& apply_(Op const& op, X const&... more) {
        static_cast<void>(detail::ReportDiagnostic<diagnostic_of<Op>>());
        if constexpr (!Operation<Op>) return static_cast<Self&>(*this);
        else
            return apply_in_place(
                "apply_", [&op](auto const& x, auto const&... y) { return express(op, x, y...); },
                more...);
    }
    /// apply_() with a default-constructed operation: x.apply_<MyOp>(y).
    template <class Op, detail::OperandLike... X> Self& apply_(X const&... more) {
        return apply_(Op{}, more...);
    }

    /// Random numbers, not recorded: uniform on [low, high), or normal.
    Self& uniform_(double low = 0, double high = 1) {
        xgrad::uniform_(static_cast<Self&>(*this), low, high);
        return static_cast<Self&>(*this);
    }
    Self& normal_(double mean = 0, double deviation = 1) {
        xgrad::normal_(static_cast<Self&>(*this), mean, deviation);
        return static_cast<Self&>(*this);
    }

private:
    template <class F, class... X>
    Self& apply_in_place(std::string_view operation, F f, X const&... x) {
        return detail::change_in_place(static_cast<Self&>(*this), operation, f, x...);
    }
};

} // namespace xgrad
