// least_squares() claims success where the gradient of free parameters is 0, and nowhere else.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <xgrad/least_squares.hpp>

namespace xg = xgrad;

namespace {

using D = xg::Tensor<double>;

struct Fit {
    char const* method;
    char const* solver;

    operator xg::LeastSquaresOptions() const { return {.method = method, .linear_solver = solver}; }
};
constexpr Fit fits[] = {{"lm", "qr"}, {"lm", "cholesky"}, {"lm", "cg"}, {"lmaccel", "qr"},
    {"dogleg", "qr"}, {"gauss_newton", "qr"}};

/// min |A x - b|^2 for x >= 0 is convex: x is a minimum where no partial derivative is negative,
/// and 0 where x is positive. By how much that is violated, relatively to A and b.
double violation(D const& a, D const& b, D const& x) {
    D const gradient = matmul(a.transpose(), matmul(a, x) - b);
    double const scale = norm(a).item() * norm(b).item();
    double largest = 0;
    for (std::size_t i = 0; i < x.numel(); ++i) {
        double const g = gradient(i).item();
        largest = std::max(largest, x(i).item() > 0 ? std::abs(g) : -g);
    }
    return largest / scale;
}

} // namespace

TEST_CASE("a residual that is not finite after its first call does not converge") {
    for (auto const& fit : fits) {
        CAPTURE(std::string(fit.method));
        CAPTURE(std::string(fit.solver));
        int calls = 0;
        auto const r = xg::least_squares(
            [&](D const& x) {
                double const y = calls++ ? std::numeric_limits<double>::quiet_NaN() : 1.;
                return D(x * x - D({2., 3.}) * y);
            },
            D({1., 5.}), fit);
        CHECK_FALSE(r.success);
        CHECK(r.message == "not converged: no step decreases the cost, and the largest element of "
                           "the gradient is 220, above gtol_absolute");
        CHECK(r.x(1).item() == 5);
        CHECK(r.nfev < 100);
    }
}

TEST_CASE("Powell's badly scaled problem does not converge at its start, where it has a slope") {
    for (auto const& fit : fits) {
        CAPTURE(std::string(fit.method));
        CAPTURE(std::string(fit.solver));
        xg::LeastSquaresOptions options = fit;
        options.max_nfev = 400;
        auto const r = xg::least_squares(
            [](D const& x) {
                return std::tuple(D(1e4 * x(0) * x(1) - 1.), D(exp(-x(0)) + exp(-x(1)) - 1.0001));
            },
            D({0., 100.}), options);
        CHECK((r.optimality < 1e-3 || !r.success));
    }
}

TEST_CASE("from a start just above a bound, x >= 0 is solved") {
    std::mt19937 random(1);
    std::normal_distribution<double> normal;
    auto const numbers = [&](xg::Shape const& shape) {
        D x = xg::zeros<double>(shape);
        for (std::size_t i = 0; i < x.numel(); ++i) x.mutable_data()[i] = normal(random);
        return x;
    };
    for (int problem = 0; problem < 374; ++problem) {
        CAPTURE(problem);
        std::size_t const n = 2 + static_cast<std::size_t>(problem) % 7, m = n + 1;
        D const a = numbers({m, n}), b = numbers({m});
        double const off = problem % 3 == 0 ? 1e-9 : problem % 3 == 1 ? 0. : 1e-3;
        D const start = xg::zeros<double>({n}) + off;
        Fit const fit = fits[static_cast<std::size_t>(problem) % std::size(fits)];
        CAPTURE(std::string(fit.method));
        CAPTURE(std::string(fit.solver));
        xg::LeastSquaresOptions options = fit;
        options.lower = 0.;
        auto const r =
            xg::least_squares([&](D const& x) { return D(matmul(a, x) - b); }, start, options);
        CHECK(r.success);
        CHECK(violation(a, b, r.x) < 1e-5);
        CHECK(r.nfev < 100);
    }
}

TEST_CASE("a shortened step does not end a fit: Freudenstein and Roth, Brown") {
    auto const freudenstein = [](D const& x) {
        return std::tuple(D(x(0) - 13. + ((5. - x(1)) * x(1) - 2.) * x(1)),
            D(x(0) - 29. + ((x(1) + 1.) * x(1) - 14.) * x(1)));
    };
    auto const brown = [](D const& x) {
        return std::tuple(D(x(0) - 1e6), D(x(1) - 2e-6), D(x(0) * x(1) - 2.));
    };
    for (auto const& fit : fits) {
        CAPTURE(std::string(fit.method));
        CAPTURE(std::string(fit.solver));
        auto const r = xg::least_squares(freudenstein, D({0.5, -2.}), fit);
        if (r.success)
            CHECK((r.cost < 1e-6 || r.cost == doctest::Approx(48.98425368 / 2).epsilon(1e-6)));
        auto const s = xg::least_squares(brown, D({1., 1.}), fit);
        CHECK((s.cost < 1e-6 || !s.success));
    }
}

TEST_CASE("units of the data change nothing") {
    D const t({0., 1., 2., 3., 4., 5.}), y({5.1, 3.2, 1.9, 1.3, 0.7, 0.6});
    for (auto const& fit : fits) {
        CAPTURE(std::string(fit.method));
        CAPTURE(std::string(fit.solver));
        if (std::string(fit.solver) == "cg") continue; // see docs/least_squares.md: .x_scale
        for (double const unit : {1e-6, 1e-12, 1., 1e9}) {
            auto const r =
                xg::least_squares([&](D const& p) { return D(p(0) * exp(-p(1) * t) - unit * y); },
                    D({unit, 1.}), fit);
            CHECK(r.success);
            CHECK(r.x(0).item() / unit == doctest::Approx(5.09349).epsilon(1e-4));
            CHECK(r.x(1).item() == doctest::Approx(0.471022).epsilon(1e-4));
        }
    }
    auto const r = xg::least_squares([&](D const& x) { return D(x - 1e-6 * y); },
        xg::zeros<double>({6}), {.gtol_absolute = 1e-5});
    CHECK(r.nit == 0); // where an absolute bound is asked for
    CHECK(r.message == "converged: the largest element of the gradient, 5.1e-06, is at most "
                       "gtol_absolute");
}

TEST_CASE("a minimum where a column of the Jacobian vanishes is one") {
    D const t = xg::linspace(0., 1., 10), y = 2. * t - 0.1 * square(t - 0.5);
    auto const rows = xg::by_rows(
        [](D const& p) { return D(1. + p * p); }, xg::Tensor<std::int64_t>({0, 1, 2, 3, 3}));
    for (auto const& fit : fits) {
        if (std::string(fit.method) == "gauss_newton") continue; // there is no full rank
        CAPTURE(std::string(fit.method));
        CAPTURE(std::string(fit.solver));
        auto const check = [&](auto const& f, D const& start, double least, auto options) {
            auto const r = xg::least_squares(f, start, options);
            CHECK(r.success);
            CHECK(r.cost == doctest::Approx(least).epsilon(1e-14));
            CHECK(r.nfev < 120);
        };
        xg::LeastSquaresOptions options = fit;
        check([](D const& p) { return D(sin(p) - 2.); }, D({1.}), 0.5, options);
        check([](D const& p) { return D(1. + p * p); }, D({1.}), 0.5, options);
        if (std::string(fit.solver) != "qr") check(rows, D({1., 0.9, 0.8, 1.1}), 2.5, options);
        auto const f = [&](D const& p) { return D(p(0) * t + p(1) * p(1) * exp(t) - y); };
        D const slope = sum(t * y) / sum(t * t); // b = 0
        double const least = 0.5 * sum(square(slope * t - y)).item();
        check(f, D({1., 1.}), least, options);
        options.lower = -3., options.loss = [](auto s) { return s; };
        check(f, D({1., 1.}), least, options);
    }
}

TEST_CASE("a fit whose minimum is at infinity ends") {
    D const t = xg::linspace(0., 2., 15);
    auto const f = [&](D const& p) { return D(exp(-p * t) + 2.); };
    for (auto const& fit :
        {Fit{"lm", "qr"}, {"lm", "cg"}, {"dogleg", "qr"}, {"dogleg", "cg"}, {"lmaccel", "qr"}}) {
        CAPTURE(std::string(fit.method));
        CAPTURE(std::string(fit.solver));
        auto const r = xg::least_squares(f, D({2.}), fit);
        CHECK(r.nit < 1000);
        CHECK(xg::grad([&](D const& p) { return D(0.5 * sum(square(f(p)))); })(r.x).item() ==
              doctest::Approx(0.).epsilon(1e-6));
    }
}

TEST_CASE("beside a maximum of the squares a fit leaves it, or does not converge") {
    for (auto const& fit : fits)
        for (double const start : {1e-12, 1e-9, 1e-8, 1e-7, 1e-5}) {
            CAPTURE(std::string(fit.method));
            CAPTURE(std::string(fit.solver));
            CAPTURE(start);
            auto const r =
                xg::least_squares([](D const& p) { return D(p * p - 1.); }, D({start}), fit);
            CHECK((!r.success || std::abs(r.x(0).item() - 1) < 1e-7));
        }
}

TEST_CASE("outliers that tukey leaves out do not hide that a fit has converged") {
    for (auto const& fit : fits)
        for (double const start : {0.9, 1.1, 1.11, 1.3}) {
            if (std::string(fit.solver) == "cg") continue;
            CAPTURE(std::string(fit.method));
            CAPTURE(start);
            xg::LeastSquaresOptions options = fit;
            options.ftol = 0;
            options.xtol = 1e-14;
            options.gtol = 1e-12;
            options.loss = "tukey";
            auto const r = xg::least_squares(
                [](D const& p) {
                    return xg::stack({D(square(p) - 1.), D(p * 0. + 4.)});
                },
                D(start), options);
            CHECK(r.success);
            CHECK(r.x.item() == doctest::Approx(1.).epsilon(1e-8));
        }
}

TEST_CASE("a derivative of the wrong sign does not converge") {
    for (auto const& fit : fits) {
        if (std::string(fit.method) == "gauss_newton") continue;
        auto const r = xg::least_squares(
            [](D const& p) { return D(3. + square(2. * p.detach() - p)); }, D({1.}), fit);
        CHECK_FALSE(r.success);
    }
}
