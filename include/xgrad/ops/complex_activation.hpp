// Activation functions of complex-valued networks. None of them is holomorphic.
//
// Shapes: elementwise, the result has the shape of z; the bias of modrelu() broadcasts.
// Gradients: dL/dRe + i dL/dIm, of any order, in backward and forward mode. crelu() has gradient 0
// for a part that is 0; modrelu() has 0 for z at z = 0 and where |z| + b <= 0; zrelu() has g on the
// edges of the first quadrant.
// Errors: shapes that do not broadcast are a ShapeError and an undefined tensor is an Error, both
// where the expression is evaluated. A complex bias does not compile.
#pragma once

#include <xgrad/ops/complex.hpp>

namespace xgrad {

/// modReLU: max(|z| + b, 0) z/|z| with a real bias b, which moves the modulus and keeps the
/// direction (Arjovsky, Shah and Bengio, 2016). 0 where |z| + b <= 0, and at 0.
struct ModRelu : Elementwise<C(C, R)> {
    static constexpr std::string_view written = "modrelu";
    XGRAD_INLINE auto value(auto z, auto b) const {
        auto const r = abs(z);
        return where((r + b > 0) && (r > 0), z + b * sgn(z), zero_like(z));
    }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto z, auto b) const {
        auto const r = abs(z);
        auto const on = (r + b > 0) && (r > 0);
        auto const h = 0.5 * b * detail::reciprocal_or_zero(r);
        auto const u = sgn(z);
        return wirtinger{where(on, 1 + h, 0), where(on, -(h * u * u), zero_like(z))};
    }
    XGRAD_INLINE auto partial(wrt<1>, auto, auto z, auto b) const {
        return where((abs(z) + b > 0), sgn(z), zero_like(z));
    }
};
template <class X, class B_>
    requires AnyOperand<X, B_>
XGRAD_INLINE auto modrelu(X&& z, B_&& bias) {
    return express(ModRelu{}, z, bias);
}

/// CReLU: relu of the real and of the imaginary part (Trabelsi et al., 2018).
struct ComplexRelu : Elementwise<C(C)> {
    static constexpr std::string_view written = "complex_relu";
    XGRAD_INLINE auto value(auto z) const {
        return complex(where(real(z) > 0, real(z), 0), where(imag(z) > 0, imag(z), 0));
    }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto z) const {
        auto const x = where(real(z) > 0, zero_like(real(z)) + 0.5, 0),
                   y = where(imag(z) > 0, zero_like(imag(z)) + 0.5, 0);
        return wirtinger{x + y, x - y};
    }
};
template <Operand X> XGRAD_INLINE auto crelu(X const& z) { return express(ComplexRelu{}, z); }

/// zReLU: z in the first quadrant, with its edges, else 0 (Guberman, 2016).
struct QuadrantRelu : Elementwise<C(C)> {
    static constexpr std::string_view written = "zrelu";
    XGRAD_INLINE auto value(auto z) const {
        return where((real(z) >= 0) && (imag(z) >= 0), z, zero_like(z));
    }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto z) const {
        return selected{(real(z) >= 0) && (imag(z) >= 0)};
    }
};
template <Operand X> XGRAD_INLINE auto zrelu(X const& z) { return express(QuadrantRelu{}, z); }

/// Cardioid: (1 + cos(arg z))/2 z, which is relu on the real line (Virtue, Yu and Lustig, 2017).
struct Cardioid : Elementwise<C(C)> {
    static constexpr std::string_view written = "cardioid";
    XGRAD_INLINE auto value(auto z) const { return 0.5 * (1 + real(sgn(z))) * z; }
    XGRAD_INLINE auto partial(wrt<0>, auto, auto z) const {
        auto const u = sgn(z);
        auto const quarter_sine = complex(zero_like(imag(u)), 0.25 * imag(u));
        return wirtinger{0.5 * (1 + real(u)) + quarter_sine, -(quarter_sine * u * u)};
    }
};
template <Operand X> XGRAD_INLINE auto cardioid(X const& z) { return express(Cardioid{}, z); }

} // namespace xgrad
