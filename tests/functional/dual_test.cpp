// Dual numbers alone: tangents beside closed forms and differences, nested, complex.
#include <xgrad/dual.hpp>

#include <cmath>
#include <sstream>

#include <doctest/doctest.h>

using xgrad::Dual;
using namespace std::complex_literals;

namespace {
template <class T> T rosenbrock(T x, T y) {
    T const a = 1. - x, b = y - x * x;
    return a * a + 100. * b * b;
}
double error(double a, double b) { return std::abs(a - b) / (1 + std::abs(b)); }
} // namespace

TEST_CASE("numbers beside nested dual numbers") {
    using Twice = Dual<Dual<double>>;
    auto const second = [](auto f, double at) {
        Twice const y = f(Twice::variable(Dual<double>::variable(at)));
        return y.tangent[0].tangent[0];
    };
    CHECK(second([](auto x) { return x * x * x / 2.; }, 1.5) == doctest::Approx(4.5));
    CHECK(second([](auto x) { return 2. / x; }, 1.5) == doctest::Approx(4 / 3.375));
    CHECK(second([](auto x) { return pow(x, 3.) + atan2(x, 1.); }, 1.5) ==
          doctest::Approx(9 - 3 / (3.25 * 3.25)));
}

TEST_CASE("gradient and Hessian of a function of numbers") {
    using D = Dual<double, 2>;
    auto const f = rosenbrock(D::variable(0.5, 0), D::variable(2., 1));
    CHECK(f.value == 306.5);
    CHECK(f.tangent[0] == doctest::Approx(-351));
    CHECK(f.tangent[1] == doctest::Approx(350));
    using H = Dual<D, 2>;
    auto const h =
        rosenbrock(H::variable(D::variable(0.5, 0), 0), H::variable(D::variable(2., 1), 1));
    CHECK(h.value.tangent[1] == doctest::Approx(350));
    CHECK(h.tangent[0].tangent[0] == doctest::Approx(2 - 400 * 2 + 1200 * 0.25));
    CHECK(h.tangent[0].tangent[1] == doctest::Approx(-200));
    CHECK(h.tangent[1].tangent[0] == doctest::Approx(-200));
    CHECK(h.tangent[1].tangent[1] == doctest::Approx(200));
}

TEST_CASE("functions agree with differences") {
    auto const check = [](char const* name, auto f, double x) {
        CAPTURE(name);
        using D = Dual<double>;
        double const h = 1e-5;
        auto const y = f(D::variable(x));
        CHECK(error(y.value, f(D(x)).value) < 1e-15);
        double const slope = (8 * (f(D(x + h)).value - f(D(x - h)).value) -
                                 (f(D(x + 2 * h)).value - f(D(x - 2 * h)).value)) /
                             (12 * h);
        CHECK(error(y.tangent[0], slope) < 1e-9);
    };
    check(
        "exp",
        [](auto x) {
            using std::exp;
            return exp(x) + expm1(x);
        },
        0.3);
    check(
        "log", [](auto x) { return log(x) + log1p(x) + log2(x) - log10(x); }, 0.7);
    check(
        "trigonometric",
        [](auto x) { return sin(x) * cos(x) + tan(x) + asin(x) - acos(x) * atan(x); }, 0.4);
    check(
        "hyperbolic", [](auto x) { return sinh(x) / cosh(x) - tanh(x) * asinh(x); }, 0.4);
    check(
        "powers", [](auto x) { return pow(x, 2.5) + pow(x, x) + sqrt(x) + 1 / x; }, 1.4);
    check(
        "special", [](auto x) { return erf(x) + lgamma(x) + sigmoid(x) + softplus(x); }, 1.4);
    check(
        "parts",
        [](auto x) {
            return fabs(-x) + fmax(x, 1.) + fmin(x * x, 3.) + hypot(x, 2 * x) + atan2(x, 3.);
        },
        1.4);
    check(
        "where", [](auto x) { return where(x > 1., x * x, x); }, 1.4);
    check(
        "compound",
        [](auto x) {
            auto y = x;
            y += 2;
            y *= x;
            y -= 1.;
            y /= x + 1;
            return y;
        },
        1.4);
}

TEST_CASE("comparisons are bool, limits are constants, float stays float") {
    using D = Dual<double, 3>;
    D const a = D::variable(2., 1), b = 3;
    static_assert(std::same_as<decltype(a < b), bool>);
    CHECK((a < b && a <= b && b > a && b >= a && a != b && !(a == b)));
    CHECK(std::max(a, b).value == 3);
    CHECK(std::numeric_limits<D>::max().value == std::numeric_limits<double>::max());
    CHECK(std::numeric_limits<D>::epsilon().tangent[1] == 0);
    using S = Dual<float>;
    static_assert(std::same_as<decltype(S(1) * 2.0), S>);
    CHECK(isnan(a) == false);
    CHECK(isfinite(a));
}

TEST_CASE("tangents of complex numbers") {
    using Z = Dual<std::complex<double>>;
    std::complex<double> const z = 1. + 2.i;
    auto const w = exp(Z::variable(z)) * conj(Z::variable(z)) + 2.;
    CHECK(std::abs(w.value - (std::exp(z) * std::conj(z) + 2.)) < 1e-13);
    CHECK(std::abs(w.tangent[0] - std::exp(z) * (std::conj(z) + 1.)) < 1e-13); // along 1
    auto const size = abs(Z::variable(z));
    static_assert(std::same_as<std::remove_const_t<decltype(size)>, Dual<double>>);
    CHECK(size.tangent[0] == doctest::Approx(1 / std::sqrt(5.)));
}

TEST_CASE("a constant contributes 0, even where a derivative is infinite") {
    using D = Dual<double>;
    auto const y = pow(D(0.), D::variable(2.));
    CHECK(y.tangent[0] == 0);
    CHECK((D(1.) * sqrt(D(0.))).tangent[0] == 0);
}

namespace {
/// Calls `check` for all tangents of a nested dual number.
template <class V, std::size_t N, class F> void each_tangent(Dual<V, N> const& x, F const& check) {
    for (auto const& t : x.tangent)
        if constexpr (requires { t.tangent; }) {
            check(t.value);
            each_tangent(t, check);
        } else check(t);
    if constexpr (requires { x.value.tangent; }) each_tangent(x.value, check);
}
template <class T> void constants_have_no_tangents() {
    auto const check = [](char const* name, auto const& y) {
        CAPTURE(name);
        each_tangent(y, [](auto t) { CHECK(t == 0.); });
    };
    T const zero = 0, one = 1, half = 0.5;
    check("sqrt", sqrt(zero));
    check("rsqrt", rsqrt(zero));
    check("log", log(zero));
    check("log2", log2(zero));
    check("log1p", log1p(-one));
    check("acos", acos(one));
    check("asin", asin(-one));
    check("acosh", acosh(one));
    check("atanh", atanh(one));
    check("pow", pow(zero, 0.5));
    check("pow of dual numbers", pow(zero, half));
    check("pow of a number", pow(0., half));
    check("quotient", one / zero);
    check("sum", sqrt(zero) + sqrt(zero) * one);
    if constexpr (std::same_as<typename T::kind, xgrad::R>) {
        check("hypot", hypot(zero, zero));
        check("xlogy", xlogy(zero, zero));
        check("lgamma", lgamma(zero));
    } else {
        check("abs", abs(zero));
        check("angle", angle(zero));
    }
}
} // namespace

TEST_CASE("a constant has no tangents, at any depth, where a derivative is infinite") {
    using C = std::complex<double>;
    constants_have_no_tangents<Dual<double, 2>>();
    constants_have_no_tangents<Dual<Dual<double, 2>, 2>>();
    constants_have_no_tangents<Dual<Dual<Dual<double>>>>();
    constants_have_no_tangents<Dual<C, 2>>();
    constants_have_no_tangents<Dual<Dual<C, 2>>>();
}

TEST_CASE("what is constant in one direction contributes to others") {
    using Twice = Dual<Dual<double>>;
    auto const t = Twice::variable(Dual<double>::variable(3.));
    auto const y = sqrt(t - t) + t * t; // 9, 6, 2
    CHECK(y.value.value == 9);
    CHECK(y.value.tangent[0] == 6);
    CHECK(y.tangent[0].value == 6);
    CHECK(y.tangent[0].tangent[0] == 2);
    Twice const outer = Twice::variable(0.), inner = Dual<double>::variable(0.);
    CHECK(sqrt(outer).tangent[0].value == INFINITY);
    CHECK(sqrt(outer).tangent[0].tangent[0] == 0); // nothing moves in the inner direction
    CHECK(sqrt(outer).value.tangent[0] == 0);
    CHECK(sqrt(inner).value.tangent[0] == INFINITY);
    CHECK(sqrt(inner).tangent[0].value == 0);
    CHECK(sqrt(inner).tangent[0].tangent[0] == 0);
}

TEST_CASE("a number with fewer levels is a constant of the outer ones") {
    using D1 = Dual<double>;
    using D2 = Dual<D1>;
    using D3 = Dual<D2>;
    D2 const c = D1::variable(2.);
    CHECK(c.value.value == 2);
    CHECK(c.value.tangent[0] == 1);
    CHECK(c.tangent[0].value == 0);
    CHECK(c.tangent[0].tangent[0] == 0);
    auto const a = D1::variable(2.);
    auto const b = D2::variable(3.);
    auto const check = [](D2 const& y, double value, double inner, double outer, double both) {
        CHECK(y.value.value == doctest::Approx(value));
        CHECK(y.value.tangent[0] == doctest::Approx(inner));
        CHECK(y.tangent[0].value == doctest::Approx(outer));
        CHECK(y.tangent[0].tangent[0] == doctest::Approx(both));
    };
    check(a * b, 6, 3, 2, 1);
    check(b * a, 6, 3, 2, 1);
    check(b / a, 1.5, -0.75, 0.5, -0.25);
    check(pow(b, a), 9, 9 * std::log(3.), 6, 3 + 6 * std::log(3.));
    check(fmax(a, b), 3, 0, 1, 0);
    D2 sum = b;
    sum += a;
    check(sum, 5, 1, 1, 0);
    D3 const x = D3::variable(D2::variable(5.)), y = a * x * b; // (2 + i)(5 + m + o)(3 + m)
    CHECK(y.value.value.value == 30);
    CHECK(y.value.value.tangent[0] == 15);
    CHECK(y.value.tangent[0].value == 16);
    CHECK(y.tangent[0].value.value == 6);
    CHECK(y.tangent[0].tangent[0].tangent[0] == 1);
    CHECK((a < b && b > a && a == D1(2.)));
    using Z2 = Dual<Dual<std::complex<double>>>;
    auto const z = a * Z2::variable(3i);
    CHECK(z.value.tangent[0] == 3i);
    CHECK(z.tangent[0].tangent[0] == 1.);
}

TEST_CASE("names of C++: printed, plus, the innermost value") {
    using D = Dual<double, 2>;
    auto const x = D::variable(8., 1);
    auto const text = [](auto const& y) {
        std::ostringstream out;
        out << y;
        return out.str();
    };
    CHECK(text(x * x) == "64 [0, 16]");
    CHECK(text(Dual<D>::variable(x)) == "8 [0, 1] [1 [0, 0]]");
    CHECK(text(Dual<std::complex<double>>(1. + 2.i)) == "(1,2) [(0,0)]");
    CHECK(text(+x) == "8 [0, 1]");
    CHECK(xgrad::val(2.5) == 2.5);
    CHECK(val(Dual<Dual<D>>(x * x)) == 64);
    static_assert(std::same_as<decltype(val(Dual<Dual<float>>())), float>);
    CHECK(std::norm(Dual<std::complex<double>>(3. + 4.i)).value == 25);
    CHECK(std::sqrt(x + 1.).tangent[1] == doctest::Approx(1 / 6.));
    CHECK(std::sqrt(4.) == 2); // what was there stays
    CHECK(std::abs(-3) == 3);
}
