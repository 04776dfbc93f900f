// Every operation of two arguments (clamp and where, of three, among them): a line each, with its
// closed forms. Values, both derivatives and all pairs of scalar types then follow.
#pragma once

#include <support/derivatives.hpp>

namespace support {

using Form2 = cd (*)(cd, cd);

struct Binary {
    std::string name;
    Function f;
    xg::DType type_a, type_b;
    double from, to; // where real a is taken from; b comes from [-2, 2]
    Form2 value, da, db;

    Point at(xg::Shape const& shape_a, xg::Shape const& shape_b) const {
        return {sample(type_a, shape_a, 5, from, to), sample(type_b, shape_b, 6)};
    }
};

// clang-format off
#define SUPPORT_FORM(...) [](cd p, cd q) -> cd { (void)p; (void)q; return __VA_ARGS__; }
/// name, where real a is taken from, f(p, q), df/dp, df/dq: for real and complex arguments
#define BINARY(expression, from, to, value, da, db) \
    all.push_back({#expression, function_of<A, B>([](auto const& a, auto const& b) { return expression; }), xg::dtype_of<A>, xg::dtype_of<B>, from, to, SUPPORT_FORM(value), SUPPORT_FORM(da), SUPPORT_FORM(db)});
/// the same for real arguments only
#define REAL(expression, from, to, value, da, db) \
    if constexpr (xg::RealScalar<A> && xg::RealScalar<B>) BINARY(expression, from, to, value, da, db)

template <class A, class B> std::vector<Binary> binary_operations()
{
    std::vector<Binary> all;
    static constexpr cd i(0, 1);
    BINARY(a + b,                  -3,   3, p + q,           1.,                     1.)
    BINARY(a - b,                  -3,   3, p - q,           1.,                     -1.)
    BINARY(a * b,                  -3,   3, p * q,           q,                      p)
    BINARY(b / a,                  0.5,  3, q / p,           -q / (p * p),           1. / p)
    BINARY(pow(a, b),              0.25, 3, pow(p, q),       q * pow(p, q - 1.),     log(p) * pow(p, q))
    BINARY(where(real(a) > 0, a, b), -3, 3, p.real() > 0 ? p : q, p.real() > 0 ? 1. : 0., p.real() > 0 ? 0. : 1.)

    BINARY(lerp(a, b, 0.25),       -3,   3, 0.75 * p + 0.25 * q, 0.75,               0.25)
    BINARY(lerp(a, 2, b),          -3,   3, p + q * (2. - p), 1. - q,                2. - p)

    REAL(atan2(b, a),              0.5,  3, atan(q / p),     -q / (p * p + q * q),   p / (p * p + q * q))
    REAL(atan2(b, a),            -3, -0.5,  atan(q / p) + (q.real() < 0 ? -1 : 1) * std::numbers::pi, -q / (p * p + q * q), p / (p * p + q * q))
    REAL(hypot(a, b),              0.5,  3, sqrt(p * p + q * q), p / sqrt(p * p + q * q), q / sqrt(p * p + q * q))
    REAL(xlogy(b, a),              0.25, 3, q * log(p),      q / p,                  log(p))
    REAL(logaddexp(a, b),          -3,   3, log(exp(p) + exp(q)), exp(p) / (exp(p) + exp(q)), exp(q) / (exp(p) + exp(q)))
    REAL(fmod(a, 0.05 * b - 1),    2.3, 2.6, p + 2. * (0.05 * q - 1.), 1.,           0.1)
    REAL(remainder(a, 0.05 * b - 1), 2.3, 2.6, p + 3. * (0.05 * q - 1.), 1.,         0.15)
    REAL(copysign(a, b),           0.5,  3, q.real() < 0 ? -p : p, q.real() < 0 ? -1. : 1., 0.)
    REAL(maximum(a, b),            -3,   3, std::max(p.real(), q.real()), p.real() > q.real() ? 1. : 0., p.real() > q.real() ? 0. : 1.)
    REAL(minimum(a, b),            -3,   3, std::min(p.real(), q.real()), p.real() < q.real() ? 1. : 0., p.real() < q.real() ? 0. : 1.)
    REAL(clamp_min(a, b),          -3,   3, std::max(p.real(), q.real()), p.real() > q.real() ? 1. : 0., p.real() > q.real() ? 0. : 1.)
    REAL(clamp_max(a, b),          -3,   3, std::min(p.real(), q.real()), p.real() < q.real() ? 1. : 0., p.real() < q.real() ? 0. : 1.)
    REAL(clamp(a, -abs(b), abs(b)), -3,  3, std::clamp(p.real(), -std::abs(q.real()), std::abs(q.real())),
         std::abs(p) < std::abs(q) ? 1. : 0., std::abs(p) < std::abs(q) ? 0. : p.real() * q.real() > 0 ? 1. : -1.)
    REAL(complex(a, b),            -3,   3, p + i * q,       1.,                     i)
    REAL(polar(a, b),              -3,   3, p * exp(i * q),  exp(i * q),             i * p * exp(i * q))
    return all;
}
// clang-format on
#undef SUPPORT_FORM
#undef BINARY
#undef REAL

extern template std::vector<Binary> binary_operations<double, double>();
extern template std::vector<Binary> binary_operations<cd, cd>();
extern template std::vector<Binary> binary_operations<double, cd>();
extern template std::vector<Binary> binary_operations<cd, double>();

/// Value and gradients of arguments of one shape as the closed forms have them.
inline CheckResult matches_closed_forms(
    Binary const& op, Point const& at, double tolerance = 1e-12) {
    auto const w = directions(op.f, at).w;
    auto const gradient = [](Values const& x, cd g) {
        return xg::is_complex(x.dtype) ? g : g.real();
    };
    std::vector<cd> y, ga, gb;
    for (std::size_t k = 0; k < w.numbers.size(); ++k) {
        cd const p = at[0].numbers[k], q = at[1].numbers[k];
        y.push_back(op.value(p, q));
        ga.push_back(gradient(at[0], w.numbers[k] * std::conj(op.da(p, q))));
        gb.push_back(gradient(at[1], w.numbers[k] * std::conj(op.db(p, q))));
    }
    auto const g = first_order(op.f, at, w);
    if (auto const wrong = holds(value_of(op.f, at).numbers, y, tolerance); !wrong)
        return {"value: " + wrong.wrong};
    if (auto const wrong = holds(g[0].numbers, ga, tolerance); !wrong)
        return {"gradient of a: " + wrong.wrong};
    if (auto const wrong = holds(g[1].numbers, gb, tolerance); !wrong)
        return {"gradient of b: " + wrong.wrong};
    return {};
}

/// All that a pair of scalar types of full precision has to satisfy.
inline CheckResult is_sound(Binary const& op) {
    if (auto const wrong = matches_closed_forms(op, op.at({19}, {19})); !wrong) return wrong;
    if (auto const wrong = differentiates(op.f, op.at({19}, {19})); !wrong) return wrong;
    if (auto const wrong = differentiates(op.f, op.at({2, 5}, {5})); !wrong)
        return {"b repeated along rows: " + wrong.wrong};
    if (auto const wrong = differentiates(op.f, op.at({5}, {2, 1})); !wrong)
        return {"a repeated along rows, b along columns: " + wrong.wrong};
    if (auto const wrong = differentiates(op.f, op.at({}, {5})); !wrong)
        return {"a single a: " + wrong.wrong};
    return {};
}

/// Checks a pair of a lower precision: compares it with the operation in full precision.
inline CheckResult is_sound(Binary const& op, Binary const& wide) {
    for (auto const& at : {op.at({19}, {19}), op.at({2, 5}, {5}), op.at({5}, {2, 1})})
        if (auto const wrong = agrees_with_double(op.f, wide.f, at); !wrong) return wrong;
    return {};
}

} // namespace support
