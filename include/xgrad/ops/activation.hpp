// Activation functions of neural networks that are no composition of other operations.
//
// Shapes: elementwise, the result has the shape of x; integers and masks are computed in double.
// Gradients: of any order, in backward and forward mode. At 0 the gradient of leaky_relu() is the
// slope, that of elu() is alpha; gelu() has no kink.
// Errors: an undefined tensor is an Error where the expression is evaluated. A complex operand does
// not compile.
#pragma once

#include <xgrad/ops/special.hpp>

namespace xgrad {

/// Gaussian error linear unit: x times the normal distribution function at x (Hendrycks and Gimpel,
/// 2016).
struct Gelu : Transcendental<R(R)> {
    static constexpr std::string_view written = "gelu";
    XGRAD_INLINE auto value(auto x) const {
        return 0.5 * x * erfc(x * (-1 / std::numbers::sqrt2)); // 1 + erf would cancel
    }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto x) const {
        return 0.5 * erfc(x * (-1 / std::numbers::sqrt2)) +
               (std::numbers::inv_sqrtpi / std::numbers::sqrt2) * x * exp(-0.5 * x * x);
    }
};
template <Operand X> XGRAD_INLINE auto gelu(X const& x) { return express(Gelu{}, x); }

/// x where it is positive, else x times a slope, which is also the derivative at 0.
struct LeakyRelu : Elementwise<R(R)> {
    static constexpr std::string_view written = "leaky_relu";
    double slope = 0.01; // factor of negative elements
    XGRAD_INLINE auto value(auto x) const { return where(x > 0, x, slope * x); }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto x) const {
        return where(x > 0, zero_like(x) + 1, slope);
    }
};
template <Operand X> XGRAD_INLINE auto leaky_relu(X const& x, double slope = 0.01) {
    return express(LeakyRelu{{}, slope}, x);
}

/// x where it is positive, else alpha (e^x - 1) (Clevert, Unterthiner and Hochreiter, 2015). The
/// derivative at 0 is alpha.
struct Elu : Transcendental<R(R)> {
    static constexpr std::string_view written = "elu";
    double alpha = 1; // for x towards -infinity the value tends to -alpha
    XGRAD_INLINE auto value(auto x) const {
        return where(x > 0, x, alpha * expm1(where(x > 0, 0, x)));
    } // which never overflows
    XGRAD_INLINE auto partial(wrt<0>, auto, auto x) const {
        return where(x > 0, zero_like(x) + 1, alpha * exp(where(x > 0, 0, x)));
    }
};
template <Operand X> XGRAD_INLINE auto elu(X const& x, double alpha = 1) {
    return express(Elu{{}, alpha}, x);
}

} // namespace xgrad
