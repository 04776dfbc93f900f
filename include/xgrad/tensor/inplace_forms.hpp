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

// A member of the name of a function hides the function, so that a helper calls it.
template <class Self> Self& call_uniform(Self& x, double low, double high) {
    uniform_(x, low, high);
    return x;
}
template <class Self> Self& call_normal(Self& x, double mean, double deviation) {
    normal_(x, mean, deviation);
    return x;
}
} // namespace detail

/// Base of Tensor. Each form returns the tensor itself.
template <class Self> struct InplaceForms : HandleOfProgram<Self> {
    /// `x.f_()` writes `f(x)` into the memory of x.
#define XGRAD_IN_PLACE(f)                                                                          \
    Self& f##_() {                                                                                 \
        return apply_in_place(#f "_", [](auto const& x) { return f(x); });                         \
    }
    XGRAD_IN_PLACE(square)
    XGRAD_IN_PLACE(sqrt)
    XGRAD_IN_PLACE(rsqrt)
    XGRAD_IN_PLACE(reciprocal)
    XGRAD_IN_PLACE(exp)
    XGRAD_IN_PLACE(expm1)
    XGRAD_IN_PLACE(log)
    XGRAD_IN_PLACE(log1p)
    XGRAD_IN_PLACE(log2)
    XGRAD_IN_PLACE(log10)
    XGRAD_IN_PLACE(sin)
    XGRAD_IN_PLACE(cos)
    XGRAD_IN_PLACE(tan)
    XGRAD_IN_PLACE(asin)
    XGRAD_IN_PLACE(acos)
    XGRAD_IN_PLACE(atan)
    XGRAD_IN_PLACE(sinh)
    XGRAD_IN_PLACE(cosh)
    XGRAD_IN_PLACE(tanh)
    XGRAD_IN_PLACE(asinh)
    XGRAD_IN_PLACE(acosh)
    XGRAD_IN_PLACE(atanh)
    XGRAD_IN_PLACE(sigmoid)
    XGRAD_IN_PLACE(softplus)
    XGRAD_IN_PLACE(relu)
    XGRAD_IN_PLACE(abs)
    XGRAD_IN_PLACE(sign)
    XGRAD_IN_PLACE(sgn)
    XGRAD_IN_PLACE(conj)
    XGRAD_IN_PLACE(floor)
    XGRAD_IN_PLACE(ceil)
    XGRAD_IN_PLACE(round)
    XGRAD_IN_PLACE(trunc)
    XGRAD_IN_PLACE(nan_to_num)
    XGRAD_IN_PLACE(erf)
    XGRAD_IN_PLACE(erfc)
    XGRAD_IN_PLACE(sinc)
    XGRAD_IN_PLACE(lgamma)
    XGRAD_IN_PLACE(digamma)
#undef XGRAD_IN_PLACE

    // With another tensor, an expression or a scalar constant; each returns this tensor.

    /// Changes the sign of each element.
    Self& neg_() {
        return apply_in_place("neg_", [](auto const& x) { return -x; });
    }
    /// Adds `b`, broadcast to this shape.
    template <detail::OperandLike X> Self& add_(X const& b) {
        return apply_in_place(
            "add_", [](auto const& x, auto const& y) { return x + y; }, b);
    }
    /// Subtracts `b`, broadcast to this shape.
    template <detail::OperandLike X> Self& sub_(X const& b) {
        return apply_in_place(
            "sub_", [](auto const& x, auto const& y) { return x - y; }, b);
    }
    /// Multiplies by `b`, broadcast to this shape.
    template <detail::OperandLike X> Self& mul_(X const& b) {
        return apply_in_place(
            "mul_", [](auto const& x, auto const& y) { return x * y; }, b);
    }
    /// Divides by `b`, broadcast to this shape.
    template <detail::OperandLike X> Self& div_(X const& b) {
        return apply_in_place(
            "div_", [](auto const& x, auto const& y) { return x / y; }, b);
    }
    /// The remainder of a division by `b`, broadcast to this shape, with the sign of `b`.
    template <detail::OperandLike X> Self& remainder_(X const& b) {
        return apply_in_place(
            "remainder_", [](auto const& x, auto const& y) { return remainder(x, y); }, b);
    }
    /// Raises each element to the power `b`, broadcast to this shape.
    template <detail::OperandLike X> Self& pow_(X const& b) {
        return apply_in_place(
            "pow_", [](auto const& x, auto const& y) { return pow(x, y); }, b);
    }
    /// The smaller of each element and `b`; NaN where one of them is.
    template <detail::OperandLike X> Self& minimum_(X const& b) {
        return apply_in_place(
            "minimum_", [](auto const& x, auto const& y) { return minimum(x, y); }, b);
    }
    /// The larger of each element and `b`; NaN where one of them is.
    template <detail::OperandLike X> Self& maximum_(X const& b) {
        return apply_in_place(
            "maximum_", [](auto const& x, auto const& y) { return maximum(x, y); }, b);
    }
    /// Limits each element to [lower, upper].
    template <detail::OperandLike L, detail::OperandLike U>
    Self& clamp_(L const& lower, U const& upper) {
        return apply_in_place(
            "clamp_", [](auto const& x, auto const& a, auto const& b) { return clamp(x, a, b); },
            lower, upper);
    }
    /// Raises elements below `lower` to it.
    template <detail::OperandLike L> Self& clamp_min_(L const& lower) {
        return apply_in_place(
            "clamp_min_", [](auto const& x, auto const& a) { return clamp_min(x, a); }, lower);
    }
    /// Lowers elements above `upper` to it.
    template <detail::OperandLike U> Self& clamp_max_(U const& upper) {
        return apply_in_place(
            "clamp_max_", [](auto const& x, auto const& b) { return clamp_max(x, b); }, upper);
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
        return detail::call_uniform(static_cast<Self&>(*this), low, high);
    }
    Self& normal_(double mean = 0, double deviation = 1) {
        return detail::call_normal(static_cast<Self&>(*this), mean, deviation);
    }

private:
    template <class F, class... X>
    Self& apply_in_place(std::string_view operation, F f, X const&... x) {
        return detail::change_in_place(static_cast<Self&>(*this), operation, f, x...);
    }
};

} // namespace xgrad
