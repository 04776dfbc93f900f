// Elementwise expressions: each is one type, compiled once, of one Node.
#include "program.hpp"

#include <xgrad/nn.hpp>

#include "user_operations.hpp"

namespace composed {

// clang-format off
void add_elementwise(Catalogue& all) {
    std::string group = "formula of one";
    REAL("*", sin(a) * a.cos() - tan(0.3 * a));
    REAL("*", exp(-a) / (1. + a * a));
    REAL("* positive", log(a) * a.sqrt() + a.log1p() + log2(a) * log10(a));
    REAL("* positive", rsqrt(a) + a.reciprocal() - 0.2 * lgamma(a) + 0.1 * digamma(a));
    REAL("* positive", xg::polygamma(1, a));
    REAL("* unit", a.asin() + acos(a) * atanh(a));
    REAL("*", a.atan() + sinh(0.5 * a) * asinh(a));
    REAL("* above1", acosh(a) * cosh(a - 1.));
    REAL("*", a.tanh() + sigmoid(a) * softplus(a));
    REAL("*", a.erf() * xg::sinc(a) + erfc(0.5 * a) - expm1(0.3 * a));
    REAL("*", a.relu() + 0.3 * abs(a));
    REAL("*", xg::leaky_relu(a, 0.1) * xg::elu(a, 0.8) + a.gelu());
    REAL("*", sign(a) * a + floor(a) * ceil(a) - round(a) * a.trunc());
    REAL("*", clamp(a, -0.5, 0.7) + clamp_min(a, -0.2) * a.clamp_max(0.9));
    REAL("*", where(a > 0.1, a * a, 0.5 * a));
    REAL("*", where(xg::isinf(a) || a.isnan() || a <= 0., sin(a), xg::nan_to_num(a)));
    REAL("*", xg::masked_fill(a, xg::isfinite(a) && a > 0.4, 2.) * a);
    REAL("*", a.pow(3) + pow(a, 2.) - square(a));
    REAL("* positive", pow(a, 0.7) * pow(2., a));
    REAL("*", xg::apply<Cube>(a) + sin(a));
    REAL("*", (1. - a * a) * (a - 2.) / (2. + a * a));
    REAL("*", a.remainder(0.9) * a + a % 1.1);
    REAL("*", xg::deg2rad(a) + 0.01 * xg::rad2deg(a) * a);
    REAL_T("*", functional::silu(a) * functional::gelu_tanh(a) + functional::softplus(a, 2.));

    group = "formula of two";
    REAL2("*", "*", a * b);
    REAL2("*", "*", exp(-a) * b / (1. + a * a));
    REAL2("*", "*", a - b * b + 2. * a);
    REAL2("*", "*", xg::atan2(a, 1.5 + sin(b)) + xg::hypot(a, b + 3.));
    REAL2("*", "*", maximum(a, b) * a.minimum(0.5 * b));
    REAL2("*", "*", xg::logaddexp(a, b) + xg::copysign(a, b));
    REAL2("* positive", "*", pow(a, b));
    REAL2("*", "* positive", xg::xlogy(a, b) + xg::fmod(a, b) * xg::floor_divide(a, b));
    REAL2("*", "*", where(a > b, a * a, b));
    REAL2("*", "*", where(a != b && !(a == b), sin(b), a) + where(a >= b, a, b * a));
    REAL2("*", "*", lerp(a, b, 0.3) + clamp(a, b - 0.5, b + 0.6));
    REAL2("*", "*", xg::apply<Weighted>(a, b));
    REAL2("*", "*", xg::apply(Weighted{{}, 0.4}, a * a, sin(b)) * b);

    group = "formula of three";
    REAL3("*", "*", "*", a * b + sin(c));
    REAL3("*", "*", "*", where(a > 0.2, b, c) * a + lerp(a, b, c));
    REAL3("*", "*", "* positive", exp(-a * a / c) * b / sqrt(c));

    group = "complex formula of one";
    COMPLEX("*", conj(a) * a * a + 2. * a);
    COMPLEX("*", abs2(a));
    COMPLEX("*", a.abs() * a.conj());
    COMPLEX("*", abs(a) + real(a) * imag(a));
    COMPLEX("* unit", sin(a) * cos(a) + tanh(a));
    COMPLEX("* unit", exp(a) / (2. + a));
    COMPLEX("* unit", tan(a) + atan(a) * asin(a));
    COMPLEX("* positive", log(a) * sqrt(a) + reciprocal(a));
    COMPLEX("* positive", pow(a, std::complex<double>(0.3, 0.5)) + a.pow(2));
    COMPLEX("*", sgn(a) * abs2(a) + angle(a) * abs2(a));
    COMPLEX("*", xg::apply<Saturated>(a) + xg::apply<Cube>(a));
    COMPLEX("*", xg::apply<Power2>(a) * a);
    COMPLEX("*", xg::crelu(a) + xg::zrelu(a) * xg::cardioid(a));
    COMPLEX("*", where(abs2(a) > 0.5, a * a, conj(a)));
    REAL("*", xg::complex(a, sin(a)) * std::complex<double>(1., 0.5));
    REAL("*", exp(std::complex<double>(0., 1.) * a));

    group = "complex formula of two";
    COMPLEX2("*", "*", a * conj(b));
    COMPLEX2("*", "*", a * b + abs2(a) * conj(b));
    COMPLEX2("*", "*", a / (2. + abs2(b)));
    COMPLEX2("* positive", "* unit", pow(a, b));
    MIXED("*", "*", a * b);
    MIXED("*", "* positive", b / (1.5 + a * a) + xg::modrelu(b, a));
    MIXED("*", "*", lerp(b, conj(b), a));
    REAL2("*", "*", xg::complex(a * b, a - b));
    REAL2("*", "*", xg::polar(a, b));
}
// clang-format on

} // namespace composed
