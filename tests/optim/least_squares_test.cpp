// least_squares() against closed forms, against the same problem in real numbers, and its errors.
#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <string>
#include <tuple>
#include <vector>

#include <xgrad/least_squares.hpp>

namespace xg = xgrad;

namespace {

using D = xg::Tensor<double>;
using C = std::complex<double>;
using Z = xg::Tensor<C>;

xg::LeastSquaresOptions exact(
    char const* method = "lm", char const* solver = "qr", double tolerance = 1e-13) {
    return {
        .method = method, .linear_solver = solver, .ftol = 0, .xtol = tolerance, .gtol = tolerance};
}
double largest(D const& x) { return max(abs(x)).item(); }
double largest(Z const& x) { return max(abs(x)).item(); }

constexpr char const* solvers[] = {"qr", "cholesky", "cg"};

/// Points of a sum of two damped oscillations.
D const times = xg::linspace<double>(0., 3., 24);
Z signal(Z const& amplitude, Z const& pole) {
    Z const t = xg::complex(times, xg::zeros_like(times));
    return amplitude(0) * exp(pole(0) * t) + amplitude(1) * exp(pole(1) * t);
}

} // namespace

TEST_CASE("all methods and solvers reach Rosenbrock's minimum") {
    auto const residual = [](D const& x) {
        return std::tuple(10. * (x(1) - square(x(0))), D(1. - x(0)));
    };
    for (auto const* method : {"lm", "lmaccel", "dogleg", "gauss_newton"})
        for (auto const* solver : solvers) {
            if (std::string(method) == "lmaccel" && std::string(solver) == "cg") continue;
            CAPTURE(method);
            CAPTURE(solver);
            auto const r = xg::least_squares(residual, D({-1.2, 1.}), exact(method, solver));
            CHECK(largest(r.x - 1.) < 1e-11);
            CHECK(r.success);
            CHECK(r.nfev < 60);
            CHECK(std::get<0>(r.fun).shape() == xg::Shape{});
        }
}

TEST_CASE("a residual that one step makes 0 has the cost and the gradient of its minimum") {
    for (auto const* method : {"lm", "lmaccel", "dogleg", "gauss_newton"}) {
        CAPTURE(method);
        auto const r = xg::least_squares(
            [](D const& p) {
                return D(0.5 * (p - D({-0.8, 0.9}) + 0.1));
            },
            D({-0.8, 0.9}), {.method = method});
        CHECK(r.success);
        CHECK(largest(r.x - D({-0.9, 0.8})) < 1e-7);
        CHECK(r.cost < 1e-14);
        CHECK(largest(r.grad) < 1e-7);
    }
}

TEST_CASE("a linear problem takes one step, and has the closed form's covariance") {
    // y = a + b t with the weights 1: textbooks have the variances
    D const t({0., 1., 2., 3., 4.}), y({1.1, 2.9, 5.2, 6.8, 9.1});
    auto const r = xg::least_squares(
        [&](std::tuple<D, D> const& p) { return std::get<0>(p) + std::get<1>(p) * t - y; },
        std::tuple(D(0.), D(0.)), exact("gauss_newton"));
    double const mean_t = 2, square_t = 10, slope = 19.9 / square_t;
    CHECK(std::get<1>(r.x).item() == doctest::Approx(slope).epsilon(1e-14));
    CHECK(std::get<0>(r.x).item() == doctest::Approx(5.02 - 2 * slope).epsilon(1e-14));
    double const variance = 2 * r.cost / 3;
    auto const covariance = r.covariance();
    CHECK(covariance(1, 1).item() == doctest::Approx(variance / square_t).epsilon(1e-12));
    CHECK(covariance(0, 0).item() ==
          doctest::Approx(variance * (0.2 + mean_t * mean_t / square_t)).epsilon(1e-12));
    CHECK(covariance(0, 1).item() == doctest::Approx(-variance * 2 / square_t).epsilon(1e-12));
    CHECK(r.covariance(1.)(1, 1).item() == doctest::Approx(1 / square_t).epsilon(1e-12));
    CHECK(r.nit <= 2);
}

TEST_CASE("complex parameters: closed forms") {
    // A holomorphic linear system: n complex unknowns
    Z const a({{C(1, 2), C(0, 1)}, {C(2, -1), C(1, 1)}, {C(0, 3), C(-1, 0)}});
    Z const b({C(1, 0), C(0, 2), C(-1, 1)});
    auto const linear = [&](Z const& z) { return matmul(a, z) - b; };
    for (auto const* solver : solvers) {
        CAPTURE(solver);
        auto const r = xg::least_squares(linear, Z({C(), C()}), exact("lm", solver));
        // A^H (A z - b) = 0
        CHECK(largest(Z(matmul(Z(conj(a)).transpose(), r.fun))) < 1e-12);
        CHECK(largest(r.grad) < 1e-12);
    }
    // Widely linear: z + 0.5 conj(z) = c has z = (c - 0.5 conj(c)) / 0.75
    Z const c({C(1, 2), C(-3, 0.5)});
    for (auto const* solver : solvers) {
        CAPTURE(solver);
        auto const r = xg::least_squares(
            [&](Z const& z) { return z + 0.5 * conj(z) - c; }, c, exact("lm", solver));
        CHECK(largest(Z(r.x - (c - 0.5 * conj(c)) / 0.75)) < 1e-12);
    }
    // Real residuals of complex parameters: |z| = 2 and arg z = 0.3 by Re(z e^(-0.3i)) = 2
    auto const r = xg::least_squares(
        [](Z const& z) { return std::tuple(abs2(z) - 4., real(z * std::polar(1., -0.3)) - 2.); },
        Z({C(1, 1)}), exact());
    CHECK(std::abs(r.x(0).item() - std::polar(2., 0.3)) < 1e-6); // a double root
    // Residuals without a complex number at all, with a structure of both kinds
    auto const mixed = xg::least_squares(
        [](std::tuple<D, Z> const& p) {
            return std::tuple(
                Z(std::get<0>(p) * std::get<1>(p) - C(3, 4)), abs2(std::get<1>(p)) - 1.);
        },
        std::tuple(D(2.), Z(C(1, 0))), exact());
    CHECK(std::get<0>(mixed.x).item() == doctest::Approx(5.).epsilon(1e-10));
    CHECK(std::abs(std::get<1>(mixed.x).item() - C(0.6, 0.8)) < 1e-10);
}

TEST_CASE("complex parameters: as the same problem in real numbers") {
    Z const amplitude({C(1, 0.5), C(-0.3, 2)}), pole({C(-0.5, 3), C(-0.2, -4)});
    xg::manual_seed(3);
    Z const measured = signal(amplitude, pole) + 0.01 * xg::randn<C>({24});
    Z const start_a({C(1, 0), C(0, 1)}), start_p({C(-0.4, 3.2), C(-0.3, -4.2)});
    auto const complex = [&](Z const& a, Z const& p) { return signal(a, p) - measured; };
    auto const of_reals = [&](D const& a, D const& p) {
        return view_as_real(Z(complex(view_as_complex(a), view_as_complex(p))));
    };
    std::vector<double> costs[3];
    auto const with = [&](std::vector<double>& to) {
        auto options = exact();
        options.callback = [&to](xg::LeastSquaresStep const& s) { to.push_back(s.cost); };
        return options;
    };
    auto options = with(costs[0]);
    auto const holomorphic = xg::least_squares(complex, std::tuple(start_a, start_p), options);
    options = with(costs[1]);
    options.holomorphic = false;
    auto const widely = xg::least_squares(complex, std::tuple(start_a, start_p), options);
    options = with(costs[2]);
    auto const reals = xg::least_squares(
        of_reals, std::tuple(view_as_real(start_a), view_as_real(start_p)), options);
    CHECK(largest(Z(std::get<1>(holomorphic.x) - pole)) < 0.02);
    CHECK(largest(Z(std::get<1>(holomorphic.x) - std::get<1>(widely.x))) < 1e-11);
    CHECK(largest(D(view_as_real(std::get<1>(widely.x)) - std::get<1>(reals.x))) < 1e-11);
    // Step by step: D of a column is that of both of its parts, as the column is holomorphic.
    for (std::size_t i = 0; i < 5; ++i) {
        CHECK(costs[0][i] == doctest::Approx(costs[1][i]).epsilon(1e-9));
        CHECK(costs[1][i] == doctest::Approx(costs[2][i]).epsilon(1e-9));
    }
    CHECK(largest(holomorphic.covariance() - widely.covariance()) < 1e-12);
    CHECK(largest(widely.covariance() - reals.covariance()) < 1e-12);
}

TEST_CASE("phase retrieval takes less than 15 steps") {
    // Coded diffraction patterns from the spectral start, as in examples/phase_retrieval.
    constexpr std::size_t n = 16;
    xg::manual_seed(1);
    Z const masks = exp(C(0, 2 * std::numbers::pi) *
                        xg::complex(xg::rand<double>({8, n, n}), xg::zeros<double>({8, n, n})));
    D const image = xg::rand<double>({n, n});
    Z const truth = xg::complex(image, xg::zeros_like(image));
    auto const far = [&](Z const& x) { return Z(fft2(masks * x) / static_cast<double>(n)); };
    D const intensity = abs2(far(truth)), weight = intensity / (intensity + mean(intensity));
    Z x = xg::randn<C>({n, n});
    for (int i = 0; i < 50; ++i) {
        Z const g = xg::grad([&](Z const& z) { return D(sum(weight * abs2(far(z)))); }, x);
        x = Z(g / norm(g));
    }
    x = Z(x * std::sqrt(sum(intensity).item() / sum(abs2(far(x))).item()));
    auto const r = xg::least_squares([&](Z const& z) { return abs2(far(z)) - intensity; }, x,
        {.linear_solver = "cg", .ftol = 0, .xtol = 0, .gtol = 1e-12});
    C const phase = sum(conj(r.x) * truth).item();
    Z const difference = r.x * (phase / std::abs(phase)) - truth;
    CHECK(norm(difference).item() < 1e-12 * norm(truth).item());
    CHECK(r.nit <= 15);
}

TEST_CASE("conjugate gradients say which cosine they found") {
    auto const line = [](D const& p) { return p * D({1., 2.}) - D({1., 1.}); };
    auto const r = xg::least_squares(
        line, D({0.}), {.linear_solver = "cg", .ftol = 0, .xtol = 0, .gtol = 1e-6});
    CHECK(std::abs(r.x.item() - 0.6) < 1e-12);
    CHECK(r.message.starts_with("converged: the cosine between the residuals and J times the "));
}

TEST_CASE("fewer residuals than parameters, and functions without forward mode") {
    D const a({{1., 2., 3.}});
    auto const r = xg::least_squares(
        [&](D const& x) { return matmul(a, x) - 14.; }, D({0., 0., 0.}), {.x_scale = 1.});
    CHECK(largest(D(r.x - D({1., 2., 3.}))) < 1e-6); // the solution of least norm
    auto const checkpointed = xg::least_squares(
        [&](D const& x) { return xg::checkpoint([](D const& y) { return D(exp(y) - 2.); }, x); },
        D({0., 1.}), exact());
    CHECK(largest(checkpointed.x - std::log(2.)) < 1e-12);
}

TEST_CASE("losses") {
    // A mean with an outlier. Huber's: the sum of clipped residuals is 0; SciPy finds the others.
    D const y({0.1, -0.2, 0.05, 0.15, 10.});
    auto const fit = [&](xg::RobustLoss loss) {
        return xg::least_squares([&](D const& x) { return x - y; }, D(0.),
            {.ftol = 0, .xtol = 1e-12, .gtol = 1e-11, .loss = loss, .f_scale = 0.5})
            .x.item();
    };
    CHECK(fit("linear") == doctest::Approx(2.02).epsilon(1e-10));
    CHECK(fit("huber") == doctest::Approx((0.1 + 0.5) / 4).epsilon(1e-9));
    for (auto const* name : {"soft_l1", "huber", "cauchy", "arctan", "tukey"}) {
        CAPTURE(name);
        double const x = fit(name);
        double gradient = 0;
        for (std::size_t i = 0; i < 5; ++i) {
            double const r = x - y(i).item(), s = r * r / 0.25;
            std::string const loss = name;
            double const slope = loss == "soft_l1"  ? 1 / std::sqrt(1 + s)
                                 : loss == "huber"  ? (s <= 1 ? 1 : 1 / std::sqrt(s))
                                 : loss == "cauchy" ? 1 / (1 + s)
                                 : loss == "arctan" ? 1 / (1 + s * s)
                                                    : std::pow(std::max(0., 1 - s), 2);
            gradient += slope * r;
        }
        CHECK(std::abs(gradient) < 1e-9);
        CHECK(std::abs(x) < 0.2);
    }
    CHECK(fit([](auto s) { return log(1. + s); }) == doctest::Approx(fit("cauchy")).epsilon(1e-9));
    // The modulus of a complex residual counts once, whatever its phase.
    auto const rotated = [&](C phase) {
        Z const points = phase * Z({C(0.1, 0), C(0, 0.2), C(-0.1, 0.1), C(7, 5)});
        auto const r = xg::least_squares([&](Z const& z) { return z - points; }, Z(C(0)),
            {.ftol = 0, .xtol = 1e-12, .gtol = 1e-11, .loss = "huber", .f_scale = 0.5});
        return r.x.item() / phase;
    };
    CHECK(std::abs(rotated(1) - rotated(std::polar(1., 0.7))) < 1e-9);
}

TEST_CASE("bounds and fixed parameters") {
    auto const rosenbrock = [](D const& x) {
        return std::tuple(D(10. * (x(1) - square(x(0)))), D(1. - x(0)));
    };
    for (auto const* solver : solvers) {
        CAPTURE(solver);
        auto options = exact("lm", solver, 1e-12);
        options.upper = D({0.5, 10.});
        auto const r = xg::least_squares(rosenbrock, D({-1.2, 1.}), options);
        CHECK(r.x(0).item() == 0.5);
        CHECK(r.x(1).item() == doctest::Approx(0.25).epsilon(1e-10));
        CHECK(r.success);
        options = exact("lm", solver, 1e-12);
        options.fixed = xg::Tensor<bool>({true, false});
        auto const f = xg::least_squares(rosenbrock, D({-1.2, 1.}), options);
        CHECK(f.x(0).item() == -1.2);
        CHECK(f.x(1).item() == doctest::Approx(1.44).epsilon(1e-10));
        if (std::string(solver) != "cg") {
            CHECK(f.covariance(1.)(1, 1).item() == doctest::Approx(0.01));
            CHECK(f.covariance(1.)(0, 0).item() == 0);
        }
    }
    // A list is a vector, and a std::tuple may have numbers in the place of tensors.
    auto const list = xg::least_squares(rosenbrock, {-1.2, 1.}, {.upper = {0.5, 10.}});
    CHECK(list.x(0).item() == 0.5);
    CHECK(list.x(1).item() == doctest::Approx(0.25).epsilon(1e-10));
    CHECK_THROWS_WITH_AS(xg::least_squares(rosenbrock, {-1.2, 1.}, {.upper = {0.5, 10., 3.}}),
        "least_squares: upper has shape [3] for a parameter of shape [2]", xg::ShapeError);
    CHECK(xg::least_squares(rosenbrock, {-1.2, 0.2}, {.upper = {0.5}}).x(0).item() == 0.5);
    auto const product = [](D const& a, D const& b) { return D(a * b - 6.); };
    auto const held =
        xg::least_squares(product, xg::inputs(D(2.), D(1.)), {.fixed = std::tuple(true, false)});
    CHECK(std::get<0>(held.x).item() == 2);
    CHECK(std::get<1>(held.x).item() == doctest::Approx(3));
    auto const bounded = xg::least_squares(
        product, xg::inputs(D(2.), D({1., 1.})), {.upper = std::tuple(9, D({2., 1.5}))});
    CHECK(max(std::get<1>(bounded.x)).item() <= 2);
    // Bounds of complex numbers are those of their parts.
    auto const z = xg::least_squares(
        [](Z const& z) { return z - C(3, 1); }, Z(C(0, 0)), {.lower = -2., .upper = 2.});
    CHECK(std::abs(z.x.item() - C(2, 1)) < 1e-8);
}

TEST_CASE("single precision, structures and the callback") {
    using F = xg::Tensor<float>;
    std::vector<F> const start{F({1.f, 1.f}), F(2.f)};
    std::size_t accepted = 0, steps = 0;
    auto const r = xg::least_squares(
        [](std::vector<F> const& x) {
            return std::tuple(F(x[0] * x[1] - F({6.f, 4.f})), F(x[1] - 2.f));
        },
        start, {.callback = [&](xg::LeastSquaresStep const& s) {
            accepted += s.accepted;
            steps = s.nit;
            CHECK(s.damping > 0);
        }});
    CHECK(r.x[0](0).item() == doctest::Approx(3).epsilon(1e-5));
    CHECK(r.nit == steps);
    CHECK(accepted + 1 == r.njev);
    CHECK(r.message.starts_with("converged: "));
}

TEST_CASE("the residual is called max_nfev times at most, and no rejected point again") {
    // Plateaus and narrow valleys, so that steps are rejected.
    auto const f = [](D const& x) {
        return std::tuple(
            D(100. * (x(1) - square(x(0)))), D(exp(2. * x(0)) - 1.), D(sin(5. * x(1)) + x(0)));
    };
    for (auto const* method : {"lm", "lmaccel", "dogleg", "gauss_newton"}) {
        CAPTURE(std::string(method));
        for (std::size_t limit = 1; limit < 30; ++limit) {
            std::vector<std::pair<double, double>> points;
            auto const r = xg::least_squares(
                [&](D const& x) {
                    points.emplace_back(x(0).item(), x(1).item());
                    return f(x);
                },
                D({-3., 8.}), {.method = method, .max_nfev = limit});
            CHECK(r.nfev <= limit);
            CHECK(r.nfev == points.size());
            for (std::size_t i = 0; i < points.size(); ++i)
                for (std::size_t j = 0; j < i; ++j) CHECK(points[i] != points[j]);
        }
    }
    std::size_t calls = 0;
    xg::least_squares(
        [&](Z const& z) { return ++calls, Z(z * z - 1.); }, Z({C(2, 1)}), {.max_nfev = 1});
    CHECK(calls == 1);
}

TEST_CASE("a callback that returns false ends the fit") {
    auto const f = [](D const& x) { return D(exp(x) - 2.); };
    for (std::size_t const last : {1u, 3u}) {
        auto const r = xg::least_squares(f, D({3., -1.}),
            {.callback = [&](xg::LeastSquaresStep const& s) { return s.nit < last; }});
        CHECK(r.nit == last);
        CHECK_FALSE(r.success);
        CHECK(r.message == "not converged: the callback returned false");
    }
    std::function<void(xg::LeastSquaresStep const&)> none;
    CHECK(xg::least_squares(f, D({3., -1.}), {.callback = none}).success);
}

TEST_CASE("starts: expressions, lists of numbers, and numbers") {
    auto const f = [](D const& x) { return D(x * x - 2.); };
    D const x({1., 2.});
    D const root = xg::zeros<double>({2}) + std::sqrt(2.);
    auto const r = xg::least_squares(f, 2. * x, exact());
    static_assert(std::same_as<decltype(r.x), D>);
    CHECK(largest(r.x - root) < 1e-12);
    CHECK(largest(xg::least_squares(f, {1., 2.}, exact()).x - root) < 1e-12);
    CHECK(largest(xg::least_squares(f, {1., 2.}).x - root) < 1e-6);
    CHECK(xg::least_squares(f, 2., exact()).x.item() == doctest::Approx(std::sqrt(2.)));
    auto const rows = xg::by_rows(f, xg::Tensor<std::int64_t>({0, 1}));
    CHECK(largest(xg::least_squares(rows, 2. * x).x - root) < 1e-6);
    CHECK(largest(xg::least_squares(rows, {1., 2.}).x - root) < 1e-6);
}

TEST_CASE("where no parameter can change, the message says so") {
    D const x({1., 2.});
    auto const f = [](D const& p) { return p * p - 9.; };
    for (auto const* solver : {"qr", "cholesky", "cg"}) {
        auto const fit = xg::least_squares(f, x, {.linear_solver = solver, .fixed = true});
        CHECK(fit.success);
        CHECK(fit.message == "converged: all parameters are fixed, or held by bounds");
        CHECK(fit.nit == 0);
        CHECK(fit.cost == 44.5);
        CHECK(fit.optimality == 0.);
        CHECK(largest(fit.x - x) == 0);
        CHECK(largest(fit.grad - D({-16., -20.})) == 0);
    }
    auto const held = xg::least_squares(f, x, {.upper = x});
    CHECK(held.message == "converged: all parameters are fixed, or held by bounds");
}

TEST_CASE("the gradient of fixed parameters is the slope of the cost") {
    D const t({0., 1., 2., 3.}), y({5.1, 3.2, 1.9, 1.3});
    auto const f = [&](D const& p) { return D(p(0) * exp(-p(1) * t) + p(2) - y); };
    for (auto const* solver : solvers) {
        CAPTURE(std::string(solver));
        auto const r = xg::least_squares(
            f, D({5., 0.5, 1.}), {.linear_solver = solver, .fixed = D({0., 0., 1.})});
        CHECK(std::abs(r.grad(0).item()) < 1e-3);
        CHECK(r.grad(2).item() == doctest::Approx(sum(r.fun).item()).epsilon(1e-10));
        CHECK(std::abs(r.grad(2).item()) > 0.1);
        CHECK(r.optimality < 1e-3); // of free parameters
        // A parameter that a bound holds has the variance of a fixed one.
        auto const bounded = xg::least_squares(
            f, D({5., 0.5, 1.}), {.linear_solver = solver, .lower = D({-9., -9., 1.})});
        CHECK(bounded.x(2).item() == 1);
        if (std::string(solver) == "cg") continue;
        CHECK(bounded.covariance()(2, 2).item() == 0);
        CHECK(largest(bounded.covariance() - r.covariance()) < 1e-5);
    }
}

TEST_CASE("errors of least_squares") {
    auto const f = [](D const& x) { return D(x - 1.); };
    D const x({0., 2.});
    CHECK_THROWS_WITH_AS(xg::least_squares([](D const& y) { return D(log(y - 5.)); }, x),
        "least_squares: the residual is not finite at the start", xg::Error);
    CHECK_THROWS_WITH_AS(xg::least_squares([](D const& y) { return D(sqrt(y)); }, x),
        "least_squares: the derivative of the residual is not finite at the start", xg::Error);
    CHECK_THROWS_WITH_AS(xg::least_squares([](D const& y) { return D(1e160 * (y - 1.)); }, x),
        "least_squares: the cost at the start is inf, and the residuals are finite: their squares "
        "are too large, or the loss is not finite",
        xg::Error);
    CHECK_THROWS_WITH_AS(xg::least_squares([](D const&) { return xg::zeros<double>({0}); }, x),
        "least_squares: there are no residuals", xg::Error);
    CHECK_THROWS_WITH_AS(xg::least_squares(f, xg::zeros<double>({0})),
        "least_squares: there are no parameters", xg::Error);
    CHECK_THROWS_WITH_AS(xg::least_squares([](D const& y) { return D(1. / y); }, D({HUGE_VAL})),
        "least_squares: a parameter starts at inf", xg::Error);
    CHECK_THROWS_WITH_AS(xg::least_squares(f, x, {.lower = 5., .upper = 3.}),
        "least_squares: a lower bound, 5, is above its upper bound, 3", xg::Error);
    auto const decreasing = [](auto s) { return -s; };
    CHECK_THROWS_WITH_AS(xg::least_squares(f, x, {.loss = decreasing}),
        "least_squares: a loss increases from 0 on, with the derivative 1, and this one has -1",
        xg::Error);
    for (auto const* method : {"lm", "lmaccel", "dogleg", "gauss_newton"})
        for (auto const* solver : {"qr", "cg"}) {
            if (std::string(method) == "lmaccel" && std::string(solver) == "cg") continue;
            auto const of_a_number = [](D const& y) { return D(D({1., 2.}) - y(0).item()); };
            CHECK_THROWS_WITH_AS(
                xg::least_squares(of_a_number, x, {.method = method, .linear_solver = solver}),
                "least_squares: the function does not depend on its argument, so that it has no "
                "derivative: it may not go by way of item(), data(), detach() or NoGradGuard",
                xg::GraphError);
        }
    // a derivative that is 0 at the start is one
    CHECK(xg::least_squares([](D const& y) { return D(1. + y * y); }, D({0.})).success);
    for (auto const* solver : {"qr", "cholesky", "cg"})
        CHECK_THROWS_WITH_AS(xg::least_squares([](D const& y) { return D(1. + y * y); }, D({0.}),
                                 {.method = "gauss_newton", .linear_solver = solver}),
            "least_squares: the Jacobian has rank 0 for 1 parameters, so that the step of "
            "gauss_newton is not determined: take method lm",
            xg::Error);
    // a gradient that is 0 is no Jacobian that is 0
    CHECK(xg::least_squares(
        [](D const& y) {
            return D(y(0) - D({-1., 1.}));
        },
        D({0.}), {.method = "gauss_newton", .linear_solver = "cg"})
              .success);
    CHECK_THROWS_WITH_AS(xg::least_squares(f, x, {.lower = 1.}),
        "least_squares: a parameter starts at 0, outside of its bounds 1 and inf", xg::Error);
    CHECK_THROWS_WITH_AS(
        xg::least_squares(f, x, {.upper = D()}), "least_squares: upper 0 is undefined", xg::Error);
    CHECK_THROWS_WITH_AS(xg::least_squares(f, x, {.upper = D({1., 2., 3.})}),
        "least_squares: upper has shape [3] for a parameter of shape [2]", xg::ShapeError);
    CHECK_THROWS_WITH_AS(xg::least_squares(f, x, {.fixed = std::tuple(x, x)}),
        "least_squares: fixed has 2 tensors, and the parameters have 1", xg::ShapeError);
    CHECK_THROWS_WITH_AS(xg::least_squares(f, x, {.x_scale = 0.}),
        "least_squares: x_scale must be positive, and has 0", xg::Error);
    CHECK_THROWS_WITH_AS(xg::least_squares(f, x, {.f_scale = 0.}),
        "least_squares: f_scale must be positive, and is 0", xg::Error);
    CHECK_THROWS_WITH_AS(xg::least_squares(f, x, {.ftol = -1.}),
        "least_squares: ftol, xtol and gtol must not be negative, and one is -1", xg::Error);
    CHECK_THROWS_WITH_AS(xg::least_squares(f, x, {.lower = Z({C(), C()})}),
        "least_squares: lower is complex for a real parameter", xg::TypeError);
    CHECK_THROWS_WITH_AS(xg::least_squares(f, x, {.holomorphic = true}),
        "least_squares: holomorphic = true is for complex parameters and complex residuals, and "
        "some are real",
        xg::TypeError);
    Z const z({C(1, 2), C(-3, 0.5)});
    CHECK_THROWS_WITH_AS(
        xg::least_squares([](Z const& y) { return Z(y * conj(y)); }, z, {.holomorphic = true}),
        "least_squares: holomorphic = true, and the derivative at the start is not: the residual "
        "takes conj, abs or a part of a parameter",
        xg::Error);
    for (auto const& options : {xg::LeastSquaresOptions{.lower = -5., .holomorphic = true},
             xg::LeastSquaresOptions{.linear_solver = "cg", .holomorphic = true}})
        CHECK_THROWS_WITH_AS(
            xg::least_squares([](Z const& y) { return Z(y * conj(y)); }, z, options),
            doctest::Contains("holomorphic = true, and the derivative at the start is not"),
            xg::Error);
    std::size_t const nfev =
        xg::least_squares([](Z const& y) { return Z(y - 1.); }, z, {.holomorphic = true}).nfev;
    CHECK(nfev + 1 == xg::least_squares([](Z const& y) { return Z(y - 1.); }, z).nfev);
    CHECK_THROWS_WITH_AS(
        xg::least_squares(f, x, {.loss = "hubert"}), doctest::Contains("hubert"), xg::Error);
    int calls = 0;
    auto const counted = [&](D const& y) { return ++calls, D(y - 1.); };
    CHECK_THROWS_WITH_AS(
        xg::least_squares(counted, x, {.method = "lmaccel", .linear_solver = "cg"}),
        "least_squares: method lmaccel needs a Jacobian: take linear_solver qr or cholesky",
        xg::Error);
    CHECK(calls == 0);
    CHECK_THROWS_WITH_AS(
        xg::least_squares([&](D const& y) { return ++calls > 1 ? D(sum(y) - 7.) : D(y - 1.); }, x),
        "least_squares: the residual had shape [2] at first and now []: it must not change",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(
        xg::least_squares([&](D const& y) { return std::vector<D>(calls++ > 2 ? 1 : 2, y); }, x),
        "least_squares: the residual returned 2 tensors at first and now 1", xg::ShapeError);
    auto const singular = [](D const& y) { return D(y(0) + y(1) - D({1., 2., 3.})); };
    CHECK_THROWS_WITH_AS(xg::least_squares(singular, D({0., 5.}), {.method = "gauss_newton"}),
        "least_squares: the Jacobian has rank 1 for 2 parameters, so that the step of gauss_newton "
        "is not determined: take method lm",
        xg::Error);
    auto const r = xg::least_squares(singular, D({0., 5.}));
    CHECK(sum(r.x).item() == doctest::Approx(2));
    CHECK_THROWS_WITH_AS(static_cast<void>(r.covariance()),
        "covariance: the Jacobian has rank 1 for 2 parameters: some are not determined", xg::Error);
    CHECK_THROWS_WITH_AS(static_cast<void>(xg::least_squares(f, x).covariance()),
        "covariance: 2 residuals for 2 parameters leave no degree of freedom: give the variance",
        xg::Error);
    CHECK_THROWS_WITH_AS(
        static_cast<void>(xg::least_squares(f, x, {.linear_solver = "cg"}).covariance()),
        "covariance: linear_solver cg has no Jacobian: take qr", xg::Error);
    auto const stopped =
        xg::least_squares([](D const& y) { return D(exp(y) - 2.); }, x, {.max_nfev = 2});
    CHECK_FALSE(stopped.success);
    CHECK(stopped.message == "not converged: the residual was called 2 times, and max_nfev is 2");
}
