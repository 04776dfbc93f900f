// Numbers that carry a gradient and a full Hessian, with plain loops, as TinyAD's Double<k> does
// (Schmidt et al., "TinyAD: Automatic Differentiation in Geometry Processing Made Simple", 2022).
#pragma once

#include <cstddef>

namespace hand {

template <std::size_t k> struct SecondOrder {
    double value, gradient[k], hessian[k][k];

    SecondOrder() = default;
    SecondOrder(double v) : value(v), gradient{}, hessian{} {}
    static SecondOrder variable(double v, std::size_t i) {
        SecondOrder x(v);
        x.gradient[i] = 1;
        return x;
    }

    friend SecondOrder operator+(SecondOrder const& a, SecondOrder const& b) {
        return joined(a.value + b.value, a, b, [](double s, double t) { return s + t; });
    }
    friend SecondOrder operator-(SecondOrder const& a, SecondOrder const& b) {
        return joined(a.value - b.value, a, b, [](double s, double t) { return s - t; });
    }
    friend SecondOrder operator*(double c, SecondOrder const& a) {
        return joined(c * a.value, a, a, [c](double s, double) { return c * s; });
    }
    friend SecondOrder operator*(SecondOrder const& a, double c) { return c * a; }
    friend SecondOrder operator*(SecondOrder const& a, SecondOrder const& b) {
        SecondOrder y;
        y.value = a.value * b.value;
        for (std::size_t i = 0; i < k; ++i) {
            y.gradient[i] = a.gradient[i] * b.value + a.value * b.gradient[i];
            for (std::size_t j = 0; j < k; ++j)
                y.hessian[i][j] = a.hessian[i][j] * b.value + a.value * b.hessian[i][j] +
                                  a.gradient[i] * b.gradient[j] + b.gradient[i] * a.gradient[j];
        }
        return y;
    }
    friend SecondOrder operator/(SecondOrder const& a, SecondOrder const& b) {
        double const q = 1 / b.value;
        SecondOrder y;
        y.value = a.value * q;
        for (std::size_t i = 0; i < k; ++i)
            y.gradient[i] = (a.gradient[i] - y.value * b.gradient[i]) * q;
        for (std::size_t i = 0; i < k; ++i)
            for (std::size_t j = 0; j < k; ++j)
                y.hessian[i][j] =
                    (a.hessian[i][j] - y.value * b.hessian[i][j] - y.gradient[i] * b.gradient[j] -
                        b.gradient[i] * y.gradient[j]) *
                    q;
        return y;
    }

private:
    template <class F>
    static SecondOrder joined(double v, SecondOrder const& a, SecondOrder const& b, F f) {
        SecondOrder y;
        y.value = v;
        for (std::size_t i = 0; i < k; ++i) {
            y.gradient[i] = f(a.gradient[i], b.gradient[i]);
            for (std::size_t j = 0; j < k; ++j)
                y.hessian[i][j] = f(a.hessian[i][j], b.hessian[i][j]);
        }
        return y;
    }
};

} // namespace hand
