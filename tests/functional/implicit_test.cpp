// Solutions as functions of parameters: closed forms, unrolled iterations, finite differences,
// backward and forward mode of first and second order, and wrong calls.
#include <complex>
#include <thread>

#include <xgrad/implicit.hpp>
#include <xgrad/testing/gradcheck.hpp>

#include "tensor/compare.hpp"

using namespace std::complex_literals;

namespace {

/// The same numbers in a leaf that requires a gradient.
template <class T> xg::Tensor<T> leaf(xg::Tensor<T> const& t) {
    auto copy = t.detach().clone();
    copy.requires_grad_();
    return copy;
}
/// The message that f throws.
template <class E, class Call> std::string thrown(Call const& call) {
    try {
        call();
    } catch (E const& error) { return error.what(); }
    return "nothing was thrown";
}
bool has(std::string const& text, std::string const& part) {
    bool const found = text.find(part) != text.npos;
    if (!found) MESSAGE(text);
    return found;
}
/// First and second derivatives of f against differences, and J v against v^T J.
template <class G, class X> void check_all(G const& f, X const& x) {
    CHECK(xg::gradcheck(f, x));
    CHECK(xg::gradgradcheck(f, x));
}
/// u^T (J v) is (u^T J) v.
template <class G> void check_modes(G const& f, D const& x) {
    xg::manual_seed(7);
    D const v = xg::randn(x.shape());
    auto const [y, along] = xg::jvp(f, x, v);
    D const u = xg::randn(y.shape());
    CHECK(sum(u * along).item() == doctest::Approx(sum(xg::vjp(f, x, u).second * v).item()));
}

D matrix(std::size_t n, double diagonal) {
    xg::manual_seed(3);
    return D(xg::randn({n, n}) * 0.3 + diagonal * xg::eye(n));
}

} // namespace

TEST_CASE("A root has the derivatives of the implicit function theorem") {
    D const t({2., 9.}, xg::requires_grad);
    auto const f = [](D const& x, D const& p) { return x * x - p; };
    auto const solve = [&](D const& p) { return xg::root(f, D({1., 1.}), p); };
    D const x = solve(t);
    CHECK(allclose(x, sqrt(t)));
    D const g = xg::grad(sum(x), t, {.create_graph = true});
    CHECK(allclose(g, 0.5 / sqrt(t)));
    CHECK(allclose(D(xg::grad(sum(g), t)), -0.25 / (t * sqrt(t))));
    check_all(solve, t);
    check_modes(solve, t);
    // forward over reverse, and forward over forward
    auto const total = [&](D const& p) { return sum(solve(p)); };
    CHECK(allclose(xg::hvp(total, t, D({1., 1.})).second, -0.25 / (t * sqrt(t))));
    CHECK(allclose(xg::hessian(total, t)[0], D({-0.25 / (2. * std::sqrt(2.)), 0.})));
    CHECK(allclose(xg::jacobian(solve, t), diag(0.5 / sqrt(t))));
    // nothing is recorded where nothing is differentiated
    CHECK(!solve(t.detach()).requires_grad());
    xg::NoGradGuard const off;
    CHECK(!solve(t).requires_grad());
}

TEST_CASE("Numbers are parameters and starts as well") {
    auto const f = [](D const& x, D const& p) { return x * x - p; };
    CHECK(allclose(xg::root(f, 1., 9.), D(3.)));
    CHECK(allclose(xg::root(f, D({1., 1.}), 9), D({3., 3.})));
    CHECK(
        allclose(xg::argmin([](D const& x, D const& p) { return square(x - p); }, 1., 2.), D(2.)));
    CHECK(allclose(
        xg::fixed_point([](D const& x, D const& p) { return cos(x) * p; }, 1., 0.), D(0.)));
    CHECK(allclose(xg::linear_solve([](D const& x, D const& p) { return x * p; }, 6., 2.), D(3.)));
}

TEST_CASE("Kepler's equation") {
    // E - e sin E = M: dE/dM = 1 / (1 - e cos E), dE/de = sin E / (1 - e cos E)
    D const mean = xg::linspace(0.1, 3., 7), eccentricity = xg::linspace(0., 0.9, 7);
    auto const solve = [](D const& m, D const& e) {
        return xg::root([](D const& x, D const& a, D const& b) { return x - b * sin(x) - a; }, m,
            xg::inputs(m, e), {.rows = true});
    };
    auto const [x, g] = xg::vjp(solve, xg::inputs(mean, eccentricity), xg::ones({7}));
    D const slope = 1. / (1. - eccentricity * cos(x));
    CHECK(allclose(D(x - eccentricity * sin(x)), mean, 1e-10, 1e-10));
    CHECK(allclose(std::get<0>(g), slope));
    CHECK(allclose(std::get<1>(g), sin(x) * slope));
    check_all(solve, xg::inputs(leaf(mean), leaf(eccentricity)));
}

TEST_CASE("A structure of unknowns, and captured parameters") {
    // x + y = s, x y = p
    D const s(5., xg::requires_grad), p(6., xg::requires_grad);
    auto const [x, y] =
        xg::root([&](D const& a, D const& b) { return std::tuple(a + b - s, a * b - p); },
            std::tuple(D(1.5), D(4.)));
    CHECK(x.item() == doctest::Approx(2.));
    CHECK(y.item() == doctest::Approx(3.));
    D const g = xg::grad(x, p, {.retain_graph = true}); // dx/dp = 1 / (y - x)
    CHECK(g.item() == doctest::Approx(1.));
    CHECK(xg::grad(x, s, {.retain_graph = true}).item() == doctest::Approx(-2.)); // -x / (y - x)
    // A captured tensor and what was computed from it: each has its own part.
    D t(4., xg::requires_grad);
    D const half = t / 2.;
    D const z = xg::root([&](D const& a) { return a * half - t * t; }, D(1.)); // 2 t
    CHECK(z.item() == doctest::Approx(8.));
    CHECK(xg::grad(z, t, {.retain_graph = true}).item() == doctest::Approx(2.));
    int calls = 0;
    t.register_hook([&](D const&) { ++calls; });
    z.backward();
    CHECK(calls == 1);
    CHECK(t.grad().item() == doctest::Approx(2.));
    // in another thread than the one that recorded it
    D const w = xg::root([&](D const& a) { return a * half - t * t; }, D(1.));
    double found = 0.;
    std::thread([&] { found = xg::grad(w, t).item(); }).join();
    CHECK(found == doctest::Approx(2.));
}

TEST_CASE("A fixed point, against unrolled iterations") {
    D const w = matrix(5, 0.) * 0.5, b = xg::linspace(-1., 1., 5);
    auto const f = [](D const& z, D const& u, D const& c) { return tanh(matmul(u, z) + c); };
    auto const solve = [&](D const& u, D const& c) {
        return xg::fixed_point(f, xg::zeros({5}), xg::inputs(u, c));
    };
    auto const unrolled = [&](D const& u, D const& c) {
        D z = xg::zeros({5});
        for (int i = 0; i < 200; ++i) z = f(z, u, c);
        return z;
    };
    D const v = xg::linspace(1., 2., 5);
    auto const [z, g] = xg::vjp(solve, xg::inputs(w, b), v);
    auto const [y, h] = xg::vjp(unrolled, xg::inputs(w, b), v);
    CHECK(allclose(z, y, 1e-9, 1e-9));
    CHECK(allclose(std::get<0>(g), std::get<0>(h), 1e-8, 1e-9));
    CHECK(allclose(std::get<1>(g), std::get<1>(h), 1e-8, 1e-9));
    auto const along = xg::inputs(D(xg::ones({5, 5})), D(xg::ones({5})));
    CHECK(allclose(xg::jvp(solve, xg::inputs(w, b), along).second,
        xg::jvp(unrolled, xg::inputs(w, b), along).second, 1e-8, 1e-9));
    check_all(solve, xg::inputs(leaf(w), leaf(b)));
    // plain iterations need more calls than Anderson's
    int plain = 0, accelerated = 0;
    auto const slow = [](int& calls) {
        return [&calls](D const& x) {
            ++calls;
            return 0.95 * cos(x);
        };
    };
    D const a = xg::fixed_point(slow(plain), D({0., 1.}), {.anderson = 0});
    D const c = xg::fixed_point(slow(accelerated), D({0., 1.}));
    CHECK(allclose(a, c, 1e-9, 1e-9));
    CHECK(accelerated < 15);
    CHECK(plain > 2 * accelerated);
}

TEST_CASE("A minimum: ridge regression, and one that is not quadratic") {
    xg::manual_seed(5);
    D const a = xg::randn({20, 4}), b = xg::randn({20}), l(0.7, xg::requires_grad);
    auto const loss = [&](D const& x, D const& ridge) {
        return 0.5 * sum(square(matmul(a, x) - b)) + 0.5 * ridge * sum(square(x));
    };
    auto const ridge = [&](D const& r) { return xg::argmin(loss, xg::zeros({4}), r); };
    // (A^T A + r) x = A^T b, and dx/dr = -(A^T A + r)^-1 x
    D const h = matmul(transpose(a), a) + 0.7 * xg::eye(4);
    D const x = ridge(l);
    CHECK(allclose(D(matmul(h, x)), matmul(transpose(a), b)));
    CHECK(allclose(D(matmul(h, xg::jvp(ridge, l, D(1.)).second)), -x));
    CHECK(xg::gradcheck(ridge, l));
    check_modes(ridge, l);
    for (auto const* method : {"dense", "cg", "gmres", "lsmr"}) {
        auto const with = [&](D const& r) {
            return xg::argmin(loss, xg::zeros({4}), r, {.linear = method});
        };
        CHECK(xg::gradcheck(with, l));
    }
    // Rosenbrock's function
    D const p({1.2, 100.}, xg::requires_grad);
    auto const valley = [](D const& q) {
        return xg::argmin(
            [](D const& y, D const& r) {
                return square(r[0] - y[0]) + r[1] * square(y[1] - y[0] * y[0]);
            },
            D({-1.2, 1.}), q);
    };
    CHECK(allclose(valley(p), D({1.2, 1.44})));
    CHECK(allclose(xg::jacobian(valley, p), D({{1., 0.}, {2.4, 0.}}), 1e-6, 1e-8));
}

TEST_CASE("Linear systems: each method, and derivatives for b and the operator") {
    D const a = matrix(6, 3.), b = xg::linspace(-1., 2., 6);
    D const symmetric = matmul(transpose(a), a);
    auto const product = [](D const& x, D const& m) { return matmul(m, x); };
    for (auto const* method : {"automatic", "dense", "cg", "gmres", "lsmr"}) {
        CAPTURE(method);
        D const& m = std::string(method) == "cg" ? symmetric : a;
        auto const solve = [&](D const& y, D const& n) {
            D const s = std::string(method) == "cg" ? D(0.5 * (n + transpose(n))) : n;
            return xg::linear_solve(product, y, s, {.linear = method});
        };
        CHECK(allclose(D(matmul(m, solve(b, m))), b, 1e-10, 1e-10));
        check_all(solve, xg::inputs(leaf(b), leaf(m)));
    }
    // many unknowns: a Laplacian with a parameter, (k L + 1) x = b
    std::size_t const n = 300;
    auto const operator_of = [](D const& x, D const& k) {
        D const padded = xg::cat({D(xg::zeros({1})), x, D(xg::zeros({1}))}, 0);
        auto const all = static_cast<std::ptrdiff_t>(x.shape(0));
        return k * (2. * x - padded(xg::range(0, all)) - padded(xg::range(2, all + 2))) + x;
    };
    D const y = xg::ones({n}), k(4., xg::requires_grad);
    for (auto const* method : {"automatic", "cg", "lsmr", "dense"}) {
        CAPTURE(method);
        auto const solve = [&](D const& p) {
            return sum(xg::linear_solve(operator_of, y, p, {.linear = method}));
        };
        double const e = 1e-4;
        double const slope = (solve(D(4. + e)).item() - solve(D(4. - e)).item()) / (2 * e);
        CHECK(xg::grad(solve(k), k).item() == doctest::Approx(slope).epsilon(1e-6));
    }
}

TEST_CASE("Complex: holomorphic, and linear over the reals only") {
    Z const c({0.3 + 0.4i, -1. + 0.2i}, xg::requires_grad);
    auto const roots = [](Z const& p) {
        return xg::root(
            [](Z const& z, Z const& q) { return z * z - q; }, Z({1. + 0.1i, 0.1 + 1.i}), p);
    };
    CHECK(allclose(roots(c), sqrt(c)));
    check_all(roots, c);
    // z + conj(z)^2 / 4 = q
    auto const widely = [](Z const& p) {
        return xg::root(
            [](Z const& z, Z const& q) { return z + 0.25 * conj(z) * conj(z) - q; }, p, p);
    };
    check_all(widely, c);
    Z const v({1. + 2.i, -0.5i}), u({2. - 1.i, 1. + 1.i});
    auto const inner = [](Z const& a, Z const& b) { return sum(real(conj(a) * b)).item(); };
    CHECK(inner(u, xg::jvp(widely, c, v).second) ==
          doctest::Approx(inner(xg::vjp(widely, c, u).second, v)));
    auto const settled = [](Z const& p) {
        return xg::fixed_point(
            [p](Z const& z) { return 0.3 * conj(z) * z + p; }, p, {.tol = 1e-13});
    };
    check_all(settled, c);
    // |z - c|^2 + |z|^4: the gradient is 2 (z - c) + 4 |z|^2 z
    auto const nearest = [](Z const& p) {
        return xg::argmin(
            [](Z const& z, Z const& q) { return sum(abs2(z - q) + square(abs2(z))); }, p, p);
    };
    Z const z = nearest(c);
    CHECK(allclose(Z(z - c + 2. * abs2(z) * z), xg::zeros_like(c), 1e-9, 1e-9));
    CHECK(xg::gradcheck(nearest, c));
    // A z + B conj(z) = b, by each method
    Z const a({{3. + 1.i, 0.5}, {-0.2i, 2.}}), b({{0.3, 0.1i}, {0.2, -0.4}});
    for (auto const* method : {"dense", "gmres", "lsmr"}) {
        auto const solve = [&](Z const& right, Z const& m) {
            return xg::linear_solve(
                [b, m](Z const& x) { return matmul(m, x) + matmul(b, conj(x)); }, right,
                {.linear = method});
        };
        check_all(solve, xg::inputs(c, leaf(a)));
    }
}

TEST_CASE("Rows are independent problems that converge each") {
    D const t = xg::linspace(1., 1000., 200);
    D const p = leaf(t);
    auto const cube = [](D const& x, D const& q) { return x * x * x - q; };
    auto const solve = [&](D const& q) {
        return xg::root(cube, xg::ones({200}), q, {.rows = true});
    };
    CHECK(allclose(solve(p), pow(t, 1. / 3), 1e-10, 1e-10));
    CHECK(allclose(D(xg::grad(sum(solve(p)), p)), pow(t, -2. / 3) / 3.));
    // systems of two unknowns; each method gives what a loop gives
    D const q({{1., 2.}, {3., 0.5}, {2., 2.}}, xg::requires_grad),
        v({{1., 2.}, {3., 4.}, {5., 6.}});
    auto const f = [](D const& x, D const& r) { return x * x * x + 0.3 * flip(x, {1}) - r; };
    auto const minimised = [](D const& x, D const& r) {
        return sum(square(square(x) + x - r), 1) + 0.1 * sum(x * flip(x, {1}), 1);
    };
    for (auto const* method : {"dense", "gmres", "lsmr"}) {
        CAPTURE(method);
        auto const by_rows = [&](D const& r) {
            return xg::root(f, xg::ones({3, 2}), r, {.linear = method, .rows = true});
        };
        check_all(by_rows, q);
        D const g = xg::vjp(by_rows, q, v).second;
        for (std::ptrdiff_t i = 0; i < 3; ++i) {
            auto const one = [&](D const& r) {
                return xg::root(
                    [](D const& x, D const& s) { return x * x * x + 0.3 * flip(x, {0}) - s; },
                    xg::ones({2}), r);
            };
            CHECK(allclose(D(g[i]), xg::vjp(one, D(q[i].detach()), D(v[i])).second, 1e-9, 1e-9));
        }
    }
    auto const minima = [&](D const& r) {
        return xg::argmin(minimised, xg::ones({3, 2}), r, {.rows = true});
    };
    CHECK(xg::gradcheck(minima, q));
    auto const settled = [&](D const& r) {
        return xg::fixed_point([](D const& x, D const& s) { return cos(x * s / 3.); },
            xg::ones({3, 2}), r, {.rows = true});
    };
    check_all(settled, q);
}

TEST_CASE("implicit() around a solver of the user") {
    int calls = 0;
    auto const bisect = [&](D const& p) { // x^3 + x = p
        ++calls;
        double low = 0., high = 10.;
        for (int i = 0; i < 60; ++i) {
            double const x = (low + high) / 2;
            (x * x * x + x > p.item() ? high : low) = x;
        }
        return D(low);
    };
    auto const f = [](D const& x, D const& p) { return x * x * x + x - p; };
    D const p(10., xg::requires_grad);
    auto const solve = [&](D const& q) { return xg::implicit(f)(bisect, q); };
    CHECK(solve(p).item() == doctest::Approx(2.));
    CHECK(xg::grad(solve(p), p).item() == doctest::Approx(1. / 13));
    CHECK(xg::grad(xg::implicit(f)(D(2.), p), p).item() == doctest::Approx(1. / 13));
    CHECK(xg::grad(xg::implicit(f)(1. * D(2.), p * 1.), p).item() == doctest::Approx(1. / 13));
    check_all(solve, p);
    auto const wrong = [&] { xg::implicit(f)(D(2.1), p); };
    CHECK(has(thrown<xg::ConvergenceError>(wrong),
        "implicit: there is no derivative at a point that is no solution: |F(x)| is 1.36, where"));
    CHECK(!xg::implicit(f)(D(2.1), p.detach()).requires_grad());
    // a parameter that is changed between the solution and its derivative
    D moved(10., xg::requires_grad);
    D const y = xg::root([&](D const& x) { return x * x * x + x - moved; }, D(1.));
    {
        xg::NoGradGuard const off;
        moved += 1.;
    }
    CHECK(has(thrown<xg::ConvergenceError>([&] { y.backward(); }),
        "root: there is no derivative at a point"));
}

TEST_CASE("Single precision, and many unknowns without a matrix") {
    F const t({2.f, 9.f}, xg::requires_grad);
    F const x = xg::root([](F const& a, F const& p) { return a * a - p; }, F({1.f, 1.f}), t);
    CHECK(allclose(F(xg::grad(sum(x), t)), 0.5f / sqrt(t), 1e-4, 1e-5));
    std::size_t const n = 5000;
    D const p = leaf(xg::linspace(0., 1., n));
    int calls = 0;
    auto const f = [&](D const& u, D const& q) {
        ++calls;
        return u + 0.1 * u * u * u - q + 0.01 * mean(u);
    };
    D const y = xg::root(f, xg::zeros({n}), p);
    int const before = calls;
    D const g = xg::grad(sum(y), p);
    CHECK(calls == before + 1);
    CHECK(before < 30);
    double const e = 1e-4;
    D bump = xg::zeros({n});
    bump[100] = e;
    double const slope = (sum(xg::root(f, y.detach(), D(p.detach() + bump))).item() -
                             sum(xg::root(f, y.detach(), D(p.detach() - bump))).item()) /
                         (2 * e);
    CHECK(g[100].item() == doctest::Approx(slope).epsilon(1e-6));
}

TEST_CASE("What has no solution says how far it was") {
    D const p(1., xg::requires_grad);
    CHECK(has(thrown<xg::ConvergenceError>(
                  [&] { xg::root([](D const& x, D const& q) { return x * x + q; }, D(3.), p); }),
        "root: "));
    CHECK(has(thrown<xg::ConvergenceError>([&] {
        xg::fixed_point(
            [](D const& x) { return 2. * x + 1.; }, D(3.), {.max_iterations = 20, .anderson = 0});
    }),
        "fixed_point: no solution after 20 iterations: |F(x)| is 4.19e+06, where"));
    CHECK(has(thrown<xg::ConvergenceError>([&] {
        xg::root([](D const& x) { return exp(x); }, D({1., 2.}), {.max_iterations = 5});
    }),
        "root: no solution after 5 iterations: |F(x)| is"));
    CHECK(has(thrown<xg::ConvergenceError>([&] {
        xg::argmin([](D const& x) { return sum(x); }, D({1., 2.}), {.max_iterations = 5});
    }),
        "argmin: no solution after 5 iterations: |F(x)| is 1.41"));
    // the root is double: no derivative
    D const q(0., xg::requires_grad);
    CHECK(has(thrown<xg::ConvergenceError>([&] {
        xg::implicit([](D const& x, D const& r) { return x * x - r; })(D(0.), q).backward();
    }),
        "singular"));
    CHECK(has(thrown<xg::ConvergenceError>([&] {
        xg::linear_solve([](D const& x) { return -x; }, D({1., 2.}), {.linear = "cg"});
    }),
        "linear_solve: cg needs a positive definite operator, and a direction v of the solution "
        "has v^T A v = -1.25"));
    CHECK(has(thrown<xg::ConvergenceError>([&] {
        xg::linear_solve(
            [](D const& x) {
                return matmul(xg::ones({2, 2}), x);
            },
            D({1., 2.}), {.linear = "gmres"});
    }),
        "linear_solve: the linear system for the solution is not solved: |A x - b| / |b| is "));
    CHECK(has(thrown<xg::Error>([&] {
        xg::linear_solve([](D const& x) { return x + 1.; }, D({1., 2.}));
    }),
        "linear_solve: the operator is not linear: it does not map 0 to 0"));
    CHECK(has(thrown<xg::Error>([&] {
        xg::linear_solve([](D const& x) { return x * x * x + x; }, D({1., 3.}));
    }),
        "linear_solve: the operator is not linear: |A(x) - b| is 1.91"));
    // singular up to rounding: the equation, a Newton step and a derivative
    for (std::size_t const n : {2, 3, 5, 10, 20, 40}) {
        CAPTURE(n);
        xg::manual_seed(n);
        D const m = matmul(xg::randn({n, n - 1}), xg::randn({n - 1, n}));
        D const b = leaf(xg::randn({n}));
        auto const product = [&](D const& x) { return matmul(m, x); };
        auto const equation = [&](D const& x, D const& r) { return matmul(m, x) - r; };
        CHECK(has(thrown<xg::ConvergenceError>([&] { xg::linear_solve(product, b); }),
            "linear_solve: the linear system for the solution is singular"));
        CHECK(has(thrown<xg::ConvergenceError>([&] { xg::root(equation, xg::zeros({n}), b); }),
            "the linear system for a Newton step is singular"));
        D const x = xg::implicit(equation)(xg::zeros({n}), leaf(xg::zeros({n})));
        CHECK(has(thrown<xg::ConvergenceError>([&] { x.backward(b); }),
            "implicit: the linear system for a gradient is singular"));
    }
}

TEST_CASE("rows that meet are found by each solver") {
    D const x = xg::ones({3}), r({1., 2., 3.});
    auto const apart = [](D const& y, D const& p) { return y - p; };
    auto const mixed = [](D const& y, D const& p) { return y + flip(y, {0}) * 0.5 - p; };
    auto const meet = [](std::string const& name, auto const& call) {
        CHECK(has(thrown<xg::GraphError>(call), name + ": Row "));
        CHECK(has(thrown<xg::GraphError>(call), "depends on other rows: each row is a problem"));
    };
    meet("root", [&] { xg::root(mixed, x, r, {.rows = true}); });
    meet("fixed_point",
        [&] { xg::fixed_point([](D const& y) { return cos(flip(y, {0})); }, x, {.rows = true}); });
    meet("argmin", [&] {
        xg::argmin([](D const& y, D const& p) { return square(y - p) + 0.1 * square(y(-1)); }, x, r,
            {.rows = true});
    });
    meet("implicit", [&] { xg::implicit(mixed, {.rows = true})(xg::zeros({3}), leaf(x) * 0.); });
    for (auto const* method : {"dense", "gmres", "lsmr"}) // of A = 1 - mean the blocks are singular
        meet("linear_solve", [&] {
            xg::linear_solve([](D const& y) { return y - mean(y); }, D({1., 0., -1.}),
                {.linear = method, .rows = true});
        });
    CHECK(difference(xg::root(apart, x, r, {.rows = true}), {1., 2., 3.}) == "");
    // beyond the start
    CHECK(has(thrown<xg::ConvergenceError>([&] {
        xg::root([](D const& y, D const& p) { return y + flip(y, {0}) * y - p; }, xg::zeros({3}), r,
            {.rows = true});
    }),
        "with .rows = true no row may depend on another one"));
}

TEST_CASE("Nothing that is not finite counts as a solution, and no unit is too small") {
    auto const has_none = [](std::string const& part, auto const& call) {
        CHECK(has(thrown<xg::ConvergenceError>(call), part));
    };
    D const one({1.});
    has_none("root: no solution after 0 iterations: |F(x)| is 1e+300, where",
        [&] { xg::root([](D const& x) { return exp(x) - 1e300; }, one); });
    has_none("root: |F(x)| is nan at the start",
        [&] { xg::root([](D const& x) { return x * x - 2.; }, D({NAN})); });
    has_none("root: |F(x)| is nan in row 1 at the start", [&] {
        xg::root(
            [](D const& x) {
                return x * x - D({2., NAN, 3.});
            },
            xg::ones({3}), {.rows = true});
    });
    has_none("implicit: there is no derivative at a point that is no solution: |F(x)| is inf", [&] {
        xg::implicit([](D const& x, D const& p) { return p * exp(x); })(
            D({800.}), D({1.}, xg::requires_grad));
    });
    has_none("root: |F(x)| is nan at the start",
        [&] { xg::root([](D const& x) { return sqrt(x - 5.); }, one); });
    has_none("fixed_point: |F(x)| is nan after 1 iterations",
        [&] { xg::fixed_point([](D const& x) { return sqrt(x - 1.5); }, D({2.})); });
    // singular before it is solved
    has_none("root: no solution after 1 iterations: |F(x)| is 1, where 0 counts as 0, and the "
             "linear system for a Newton step is singular",
        [&] { xg::root([](D const& x) { return x * x + 1.; }, one); });
    for (double const unit : {1e-200, 1e200})
        CHECK(xg::root([&](D const& x) { return unit * (x * x - 2.); }, one).item() ==
              doctest::Approx(std::sqrt(2.)));
    for (auto const* method : {"dense", "cg", "gmres", "lsmr"}) {
        CAPTURE(method);
        D b({1e-200, 3e-200}, xg::requires_grad);
        auto const twice = [](D const& x) { return 2. * x; };
        D const x = xg::linear_solve(twice, b, {.linear = method});
        CHECK(allclose(D(x * 1e200), D({0.5, 1.5})));
        // a gradient that is not finite stays so
        D const g =
            xg::vjp([&](D const& c) { return xg::linear_solve(twice, c, {.linear = method}); }, b,
                D({1., INFINITY}))
                .second;
        CHECK(std::isnan(g(0).item()));
        CHECK(has(thrown<xg::Error>([&] {
            xg::linear_solve(twice, D({1., INFINITY}), {.linear = method});
        }),
            "linear_solve: b is not finite"));
    }
    CHECK(has(
        thrown<xg::Error>([&] { xg::root([](D const& x) { return x; }, one, {.x_scale = -1.}); }),
        "root: tol and linear_tol must not be negative, and x_scale and restart must be positive"));
}

TEST_CASE("An equation whose function has a solution of another one") {
    xg::manual_seed(11);
    D const a = xg::randn({12, 3}), b = xg::randn({12});
    auto const ridge = [&](D const& r) {
        return xg::argmin(
            [&](D const& w, D const& l) {
                return sum(square(matmul(a, w) - b)) + exp(l) * sum(square(w));
            },
            xg::zeros({3}), r);
    };
    // the strength for which the weights have a given length
    double const length = norm(ridge(D(0.3))).item();
    auto const strength = [&](D const& t) {
        return xg::root([&](D const& r, D const& u) { return norm(ridge(r)) - u; }, D(0.), t);
    };
    D const t(length, xg::requires_grad);
    D const r = strength(t);
    CHECK(r.item() == doctest::Approx(0.3));
    double const e = 1e-5;
    double const slope =
        (strength(D(length + e)).item() - strength(D(length - e)).item()) / (2 * e);
    CHECK(xg::grad(r, t).item() == doctest::Approx(slope).epsilon(1e-6));
}

TEST_CASE("A function that does not depend on x has no solution with derivatives") {
    D const start({2.}), q({2.}, xg::requires_grad);
    auto const has_no_graph = [](std::string const& name, auto const& call) {
        CHECK(has(thrown<xg::GraphError>(call), name + ": the function does not depend on its "
                                                       "argument, so that it has no derivative"));
    };
    auto const cost = [](D const& x) { return D(square(D(x(0).item() - 1.))); };
    has_no_graph("argmin", [&] { xg::argmin(cost, start); });
    has_no_graph("argmin", [&] {
        xg::argmin([](D const& x, D const& p) { return sum(square(x.detach() - p)); }, start, q);
    });
    has_no_graph("fixed_point", [&] {
        xg::fixed_point([](D const& x, D const& p) { return 0.5 * x.detach() + p; }, start, q);
    });
    // what a checkpoint captures, and a solution of another equation, is something to depend on
    CHECK(
        xg::argmin(
            [&](D const& x) { return xg::checkpoint([=] { return sum(square(x - 1.)); }); }, start)
            .item() == doctest::Approx(1));
    CHECK(xg::argmin(
              [](D const& x) {
                  return sum(square(xg::root([=](D const& y) { return y - x; }, D({0.})) - 3.));
              },
              start)
              .item() == doctest::Approx(3));
}

TEST_CASE("Wrong shapes are one sentence") {
    CHECK(has(thrown<xg::ShapeError>([] {
        xg::root([](D const& x) { return sum(x); }, D({1., 2.}));
    }),
        "root: the function returns a tensor of shape [] where x has shape [2]"));
    CHECK(has(thrown<xg::ShapeError>([] {
        xg::argmin([](D const& x) { return x * x; }, D({1., 2.}));
    }),
        "argmin: the function returns one number, and with .rows = true one for each row of x: not "
        "shape [2]"));
    CHECK(has(thrown<xg::ShapeError>([] {
        xg::root([](D const& x, D const& y) { return std::tuple(x, y); },
            std::tuple(D({1., 2.}), D({1.})), {.rows = true});
    }),
        "root: The first axis of all inputs and outputs numbers the rows, but input 1 has shape "
        "[1], and input 0 [2]"));
    CHECK(has(thrown<xg::ShapeError>(
                  [] { xg::root([](D const& x) { return x * x - 2.; }, D(1.), {.rows = true}); }),
        "but input 0 has shape [] and no axis"));
    CHECK(has(thrown<xg::Error>(
                  [] { xg::root([](D const& x) { return x; }, D({1.}), {.linear = "magic"}); }),
        "linear"));
}

TEST_CASE("argmin() of a tensor is that of its elements also beside argmin() of a function") {
    D const x({{1., 2.}, {0., 3.}});
    CHECK(xg::argmin(2. * x).item() == 2);
    CHECK(xg::argmin(D(x), 1)(1).item() == 0);
    CHECK(xg::argmin(2. * x, 0)(0).item() == 1);
}
