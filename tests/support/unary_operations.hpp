// Every operation of one argument: a line each, with its closed forms. A new operation needs one
// line here; values, both derivatives and all four scalar types then follow.
#pragma once

#include <support/derivatives.hpp>
#include <xgrad/ops/activation.hpp>
#include <xgrad/ops/complex_activation.hpp>

namespace support {

/// The sum of (x + k)^-s over all k >= 0: of most terms one by one, and of the rest by Euler and
/// Maclaurin.
inline double zeta(int s, double x) {
    long double sum = 0, y = x;
    for (int k = 0; k < 2000; ++k, ++y) sum += std::pow(y, -s);
    return static_cast<double>(
        sum + std::pow(y, 1 - s) / (s - 1) + std::pow(y, -s) / 2 + s * std::pow(y, -s - 1) / 12);
}
/// The derivative of the logarithm of the gamma function in the same way.
inline double psi(double x) {
    long double sum = 0, y = x;
    for (int k = 0; k < 2000; ++k, ++y) sum -= 1 / y;
    return static_cast<double>(sum + std::log(y) - 1 / (2 * y) - 1 / (12 * y * y));
}

using Form = cd (*)(cd);

struct Unary {
    std::string name;
    Function f;
    Values at;
    Form value, dz;
    Form dz_bar = nullptr; // of a function that is not holomorphic
    Form second = nullptr; // of one that is
};

// clang-format off
#define SUPPORT_FORM(...) [](cd z) -> cd { (void)z; return __VA_ARGS__; }
#define SUPPORT_OPERATION(expression) [](auto const& x) { return expression; }
/// name, where real arguments are taken from, f(z), f'(z), f''(z): for real and complex arguments
#define UNARY(expression, from, to, value, first, second) \
    all.push_back({#expression, function_of<T>(SUPPORT_OPERATION(expression)), sample(xg::dtype_of<T>, {19}, 5, from, to), SUPPORT_FORM(value), SUPPORT_FORM(first), nullptr, SUPPORT_FORM(second)});
/// the same for real arguments only
#define REAL(expression, from, to, value, first, second) \
    if constexpr (xg::RealScalar<T>) UNARY(expression, from, to, value, first, second)
/// name, f(z), df/dz, df/dconj(z): for complex arguments only
#define COMPLEX(expression, value, dz, dz_bar) \
    if constexpr (xg::ComplexScalar<T>) all.push_back({#expression, function_of<T>(SUPPORT_OPERATION(expression)), sample(xg::dtype_of<T>, {19}, 5), SUPPORT_FORM(value), SUPPORT_FORM(dz), SUPPORT_FORM(dz_bar)});

template <class T> std::vector<Unary> unary_operations()
{
    std::vector<Unary> all;
    static constexpr double pi = std::numbers::pi, ln2 = std::numbers::ln2, ln10 = std::numbers::ln10;
    static constexpr cd i(0, 1);
    static double const sqrtpi = std::sqrt(std::numbers::pi);
    static Form const normal = [](cd z) -> cd { return 0.5 * std::erfc(-z.real() / std::numbers::sqrt2); };
    static Form const density = [](cd z) -> cd { return exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi); };

    UNARY(-x,            -3,   3,   -z,                -1.,                     0.)
    UNARY(x + 3,         -3,   3,   z + 3.,            1.,                      0.)
    UNARY(2 - x,         -3,   3,   2. - z,            -1.,                     0.)
    UNARY(x * 2.5,       -3,   3,   2.5 * z,           2.5,                     0.)
    UNARY(x / 4,         -3,   3,   z / 4.,            0.25,                    0.)
    UNARY(2 / x,         0.5,  3,   2. / z,            -2. / (z * z),           4. / (z * z * z))
    UNARY(x * cd(2, 3),  -3,   3,   z * cd(2, 3),      cd(2, 3),                0.)
    UNARY(i / x,         0.5,  3,   i / z,             -i / (z * z),            2. * i / (z * z * z))
    UNARY(reciprocal(x), -3,  -0.5, 1. / z,            -1. / (z * z),           2. / (z * z * z))
    UNARY(square(x),     -3,   3,   z * z,             2. * z,                  2.)
    UNARY(sqrt(x),       0.25, 3,   sqrt(z),           0.5 / sqrt(z),           -0.25 / (z * sqrt(z)))
    UNARY(rsqrt(x),      0.25, 3,   1. / sqrt(z),      -0.5 / (z * sqrt(z)),    0.75 / (z * z * sqrt(z)))
    UNARY(pow(x, 0),     -3,   3,   1.,                0.,                      0.)
    UNARY(pow(x, 1),     -3,   3,   z,                 1.,                      0.)
    UNARY(pow(x, 2),     -3,   3,   z * z,             2. * z,                  2.)
    UNARY(pow(x, 3),     -3,   3,   z * z * z,         3. * z * z,              6. * z)
    UNARY(pow(x, 4),     -3,   3,   z * z * z * z,     4. * z * z * z,          12. * z * z)
    UNARY(pow(x, 5),     -2,   2,   z * z * z * z * z, 5. * z * z * z * z,      20. * z * z * z)
    UNARY(pow(x, 6),     -2,   2,   pow(z, 6),         6. * pow(z, 5),          30. * pow(z, 4))
    UNARY(pow(x, -1),    0.5,  3,   1. / z,            -1. / (z * z),           2. / (z * z * z))
    UNARY(pow(x, -2.f),  0.5,  3,   1. / (z * z),      -2. / (z * z * z),       6. / (z * z * z * z))
    UNARY(pow(x, 0.5),   0.25, 3,   sqrt(z),           0.5 / sqrt(z),           -0.25 / (z * sqrt(z)))
    UNARY(pow(x, -0.5),  0.25, 3,   1. / sqrt(z),      -0.5 / (z * sqrt(z)),    0.75 / (z * z * sqrt(z)))
    UNARY(pow(x, 2.5),   0.25, 3,   pow(z, 2.5),       2.5 * pow(z, 1.5),       3.75 * sqrt(z))
    UNARY(pow(x, i),     0.25, 3,   pow(z, i),         i * pow(z, i - 1.),      i * (i - 1.) * pow(z, i - 2.))
    UNARY(pow(2, x),     -3,   3,   exp(ln2 * z),      ln2 * exp(ln2 * z),      ln2 * ln2 * exp(ln2 * z))

    UNARY(exp(x),        -3,   3,   exp(z),            exp(z),                  exp(z))
    UNARY(expm1(x),      -3,   3,   exp(z) - 1.,       exp(z),                  exp(z))
    UNARY(log(x),        0.25, 3,   log(z),            1. / z,                  -1. / (z * z))
    UNARY(log1p(x),      -0.5, 3,   log(1. + z),       1. / (1. + z),           -1. / ((1. + z) * (1. + z)))
    UNARY(log2(x),       0.25, 3,   log(z) / ln2,      1. / (ln2 * z),          -1. / (ln2 * z * z))
    UNARY(log10(x),      0.25, 3,   log(z) / ln10,     1. / (ln10 * z),         -1. / (ln10 * z * z))
    UNARY(sigmoid(x),    -3,   3,   1. / (1. + exp(-z)), exp(-z) / pow(1. + exp(-z), 2), exp(-z) * (exp(-z) - 1.) / pow(1. + exp(-z), 3))
    REAL(softplus(x),    -3,   3,   log(1. + exp(z)),  1. / (1. + exp(-z)),     exp(-z) / pow(1. + exp(-z), 2))
    REAL(relu(x),        0.25, 3,   z,                 1.,                      0.)
    REAL(relu(x),        -3, -0.25, 0.,                0.,                      0.)
    REAL(erf(x),         -2,   2,   std::erf(z.real()), 2. / sqrtpi * exp(-z * z), -4. / sqrtpi * z * exp(-z * z))
    REAL(erfc(x),        -2,   2,   std::erfc(z.real()), -2. / sqrtpi * exp(-z * z), 4. / sqrtpi * z * exp(-z * z))
    REAL(lgamma(x),      0.25, 5,   std::lgamma(z.real()), psi(z.real()),       zeta(2, z.real()))
    REAL(lgamma(x),      -1.8, -1.2, std::lgamma(z.real()), psi(z.real()),      zeta(2, z.real()))
    REAL(digamma(x),     0.5,  5,   psi(z.real()),     zeta(2, z.real()),       -2 * zeta(3, z.real()))
    REAL(digamma(x),     -2.8, -2.2, psi(z.real()),    zeta(2, z.real()),       -2 * zeta(3, z.real()))
    REAL(polygamma(2, x), 1,   5,   -2 * zeta(3, z.real()), 6 * zeta(4, z.real()), -24 * zeta(5, z.real()))
    REAL(gelu(x),        -3,   3,   z * normal(z),     normal(z) + z * density(z), (2. - z * z) * density(z))
    REAL(leaky_relu(x, 0.1), 0.25, 3, z,               1.,                      0.)
    REAL(leaky_relu(x, 0.1), -3, -0.25, 0.1 * z,       0.1,                     0.)
    REAL(elu(x, 1.5),    0.25, 3,   z,                 1.,                      0.)
    REAL(elu(x, 1.5),    -3, -0.25, 1.5 * (exp(z) - 1.), 1.5 * exp(z),          1.5 * exp(z))

    UNARY(sin(x),        -3,   3,   sin(z),            cos(z),                  -sin(z))
    UNARY(cos(x),        -3,   3,   cos(z),            -sin(z),                 -cos(z))
    UNARY(tan(x),        -1,   1,   tan(z),            1. / (cos(z) * cos(z)),  2. * tan(z) / (cos(z) * cos(z)))
    UNARY(asin(x),       -0.8, 0.8, asin(z),           1. / sqrt(1. - z * z),   z / pow(1. - z * z, 1.5))
    UNARY(acos(x),       -0.8, 0.8, acos(z),           -1. / sqrt(1. - z * z),  -z / pow(1. - z * z, 1.5))
    UNARY(atan(x),       -3,   3,   atan(z),           1. / (1. + z * z),       -2. * z / pow(1. + z * z, 2))
    UNARY(sinh(x),       -3,   3,   sinh(z),           cosh(z),                 sinh(z))
    UNARY(cosh(x),       -3,   3,   cosh(z),           sinh(z),                 cosh(z))
    UNARY(tanh(x),       -3,   3,   tanh(z),           1. / (cosh(z) * cosh(z)), -2. * tanh(z) / (cosh(z) * cosh(z)))
    UNARY(asinh(x),      -3,   3,   asinh(z),          1. / sqrt(1. + z * z),   -z / pow(1. + z * z, 1.5))
    UNARY(acosh(x),      1.25, 4,   acosh(z),          1. / (sqrt(z - 1.) * sqrt(z + 1.)), -z / pow(sqrt(z - 1.) * sqrt(z + 1.), 3))
    UNARY(atanh(x),      -0.8, 0.8, atanh(z),          1. / (1. - z * z),       2. * z / pow(1. - z * z, 2))

    UNARY(sinc(x),       0.4,  2,   sin(pi * z) / (pi * z), cos(pi * z) / z - sin(pi * z) / (pi * z * z), -pi * sin(pi * z) / z - 2. * cos(pi * z) / (z * z) + 2. * sin(pi * z) / (pi * z * z * z))
    REAL(sinc(x),      -0.3, -0.1,  sin(pi * z) / (pi * z), cos(pi * z) / z - sin(pi * z) / (pi * z * z), -pi * sin(pi * z) / z - 2. * cos(pi * z) / (z * z) + 2. * sin(pi * z) / (pi * z * z * z))

    REAL(floor(x),      -2.75, -2.25, -3.,             0.,                      0.)
    REAL(ceil(x),        2.25, 2.75, 3.,               0.,                      0.)
    REAL(trunc(x),      -2.75, -2.25, -2.,             0.,                      0.)
    REAL(round(x),       2.6,  3.4, 3.,                0.,                      0.)
    REAL(nan_to_num(x, 0.5, 2, -3), -3, 3, z,          1.,                      0.)
    REAL(abs(x),         0.25, 3,   z,                 1.,                      0.)
    REAL(abs(x),         -3, -0.25, -z,                -1.,                     0.)
    REAL(abs2(x),        -3,   3,   z * z,             2. * z,                  2.)
    REAL(sgn(x),         -3, -0.25, -1.,               0.,                      0.)
    REAL(sign(x),        0.25, 3,   1.,                0.,                      0.)
    REAL(angle(x),       0.25, 3,   0.,                0.,                      0.)
    REAL(angle(x),       -3, -0.25, pi,                0.,                      0.)
    REAL(real(x),        -3,   3,   z,                 1.,                      0.)
    REAL(imag(x),        -3,   3,   0.,                0.,                      0.)
    REAL(conj(x),        -3,   3,   z,                 1.,                      0.)

    COMPLEX(abs(x),      abs(z),       0.5 * conj(z) / abs(z), 0.5 * z / abs(z))
    COMPLEX(abs2(x),     z * conj(z),  conj(z),                z)
    COMPLEX(sgn(x),      z / abs(z),   0.5 / abs(z),           -0.5 * z * z / pow(abs(z), 3))
    COMPLEX(angle(x),    arg(z),       -0.5 * i / z,           0.5 * i / conj(z))
    COMPLEX(real(x),     z.real(),     0.5,                    0.5)
    COMPLEX(imag(x),     z.imag(),     -0.5 * i,               0.5 * i)
    COMPLEX(conj(x),     conj(z),      0.,                     1.)
    COMPLEX(modrelu(x, 0.5),  z + 0.5 * z / abs(z), 1. + 0.25 / abs(z), -0.25 * z * z / pow(abs(z), 3))
    COMPLEX(modrelu(x, -1.5), abs(z) > 1.5 ? z - 1.5 * z / abs(z) : 0., abs(z) > 1.5 ? 1. - 0.75 / abs(z) : 0., abs(z) > 1.5 ? 0.75 * z * z / pow(abs(z), 3) : 0.)
    COMPLEX(crelu(x),    cd(std::max(z.real(), 0.), std::max(z.imag(), 0.)), 0.5 * (z.real() > 0) + 0.5 * (z.imag() > 0), 0.5 * (z.real() > 0) - 0.5 * (z.imag() > 0))
    COMPLEX(zrelu(x),    z.real() > 0 && z.imag() > 0 ? z : 0., z.real() > 0 && z.imag() > 0 ? 1. : 0., 0.)
    COMPLEX(cardioid(x), 0.5 * (1. + z.real() / abs(z)) * z, 0.5 * (1. + z.real() / abs(z)) + 0.25 * i * z.imag() / abs(z), -0.25 * i * z.imag() / abs(z) * z * z / norm(z))
    return all;
}
// clang-format on
#undef SUPPORT_FORM
#undef SUPPORT_OPERATION
#undef UNARY
#undef REAL
#undef COMPLEX

extern template std::vector<Unary> unary_operations<float>();
extern template std::vector<Unary> unary_operations<double>();
extern template std::vector<Unary> unary_operations<cf>();
extern template std::vector<Unary> unary_operations<cd>();

/// Value and derivatives as the closed forms have them.
inline CheckResult matches_closed_forms(Unary const& u, double tolerance = 1e-12) {
    auto const [w, v] = directions(u.f, {u.at});
    bool const real_x = !xg::is_complex(u.at.dtype), real_y = !xg::is_complex(w.dtype);
    auto const projected = [](bool real, cd z) { return real ? z.real() : z; };
    std::vector<cd> y, g, h, h_w;
    for (std::size_t k = 0; k < w.numbers.size(); ++k) {
        cd const z = u.at.numbers[k], wk = w.numbers[k], vk = v[0].numbers[k], d = u.dz(z),
                 d_bar = u.dz_bar ? u.dz_bar(z) : 0.;
        y.push_back(u.value(z));
        g.push_back(projected(real_x, wk * std::conj(d) + std::conj(wk) * d_bar));
        h_w.push_back(projected(real_y, vk * d + std::conj(vk) * d_bar));
        if (u.second) h.push_back(projected(real_x, std::conj(vk) * wk * std::conj(u.second(z))));
    }
    auto const second = second_order(u.f, {u.at}, w, v);
    if (auto const wrong = holds(value_of(u.f, {u.at}).numbers, y, tolerance); !wrong)
        return {"value: " + wrong.wrong};
    if (auto const wrong = holds(first_order(u.f, {u.at}, w)[0].numbers, g, tolerance); !wrong)
        return {"gradient: " + wrong.wrong};
    if (auto const wrong = holds(second[1].numbers, h_w, tolerance); !wrong)
        return {"gradient of the gradient for the upstream one: " + wrong.wrong};
    if (!u.second) return {};
    if (auto const wrong = holds(second[0].numbers, h, tolerance); !wrong)
        return {"second derivative: " + wrong.wrong};
    return {};
}

} // namespace support
