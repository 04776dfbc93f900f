// Solvers whose results are not recorded: a derivative of a result is an error and not 0, whatever
// the problem is made of, in all modes; what is not differentiated is not disturbed.
#include <xgrad/implicit.hpp>
#include <xgrad/least_squares.hpp>
#include <xgrad/manifold.hpp>
#include <xgrad/nn.hpp>
#include <xgrad/sparse.hpp>

#include "tensor/compare.hpp"

namespace {

/// Each mode of differentiation of f throws one sentence that begins with this name.
template <class F> void check_refused(std::string const& name, F const& f, D const& p) {
    auto const sentence = doctest::Contains(
        (name + ": the result has no derivatives with respect to the tensors that "
                "the problem is made of: detach() it, or find it by argmin() or "
                "implicit() of <xgrad/implicit.hpp>")
            .c_str());
    auto const total = [&](D const& q) { return sum(f(q)); };
    D const v = xg::ones_like(p);
    CHECK_THROWS_WITH_AS(total(p).backward(), sentence, xg::GraphError);
    CHECK_THROWS_WITH_AS(xg::grad(total, p), sentence, xg::GraphError);
    CHECK_THROWS_WITH_AS(xg::jvp(f, p, v), sentence, xg::GraphError);
    CHECK_THROWS_WITH_AS(xg::hvp(total, p, v), sentence, xg::GraphError);
    CHECK_THROWS_WITH_AS(xg::jacobian(f, p), sentence, xg::GraphError);
    // the value is there, and a constant where the caller says so
    CHECK(difference(xg::grad([&](D const& q) { return sum(f(q).detach() * q); }, p),
              f(p).detach().reshape(p.shape())) == "");
    CHECK_FALSE(f(p.detach()).requires_grad());
    xg::NoGradGuard const off;
    CHECK_FALSE(f(p).requires_grad());
}

} // namespace

TEST_CASE("The results of least_squares() have no derivatives") {
    D const p({4., 9.}, xg::requires_grad);
    auto const fit = [](D const& y) {
        return xg::least_squares([y](D const& x) { return x * x - y; }, D({1., 1.}));
    };
    CHECK(difference(fit(p).x.detach(), D({2., 3.}), 1e-6) == "");
    check_refused(
        "least_squares", [&](D const& y) { return fit(y).x; }, p);
    check_refused(
        "least_squares", [&](D const& y) { return fit(y).fun; }, p);
    check_refused(
        "least_squares", [&](D const& y) { return fit(y).grad; }, p);
    check_refused(
        "covariance", [&](D const& y) { return D(diag(fit(y).covariance(1.))); }, p);
    // a residual by rows, and one that returns what it captures
    xg::Tensor<std::int64_t> const index({0, 1, 1});
    auto const by_rows = [&](D const& y) {
        auto const f = [y](D const& x) { return x - sum(y) * x * x; };
        return xg::least_squares(xg::by_rows(f, index), D({1., 1.})).x;
    };
    check_refused("least_squares", by_rows, p);
    auto const itself = [](D const& y) {
        auto const f = [y](D const& x) { return std::tuple(x * y, y); };
        return xg::least_squares(f, D({1., 1.})).x;
    };
    check_refused("least_squares", itself, p);
    // bounds and fixed parameters
    auto const bounded = [](D const& y) {
        return xg::least_squares([](D const& x) { return x - 100.; }, D({0., 0.}), {.upper = y}).x;
    };
    check_refused("least_squares", bounded, p);
    auto const fixed = [](D const& y) {
        auto const f = [](D const& x, D const& z) { return x - z; };
        xg::LeastSquaresOptions options;
        options.fixed = std::tuple(D(0.), D(1.));
        return std::get<0>(xg::least_squares(f, std::tuple(D({0., 0.}), y), options).x);
    };
    check_refused("least_squares", fixed, p);
}

TEST_CASE("The results of minimize() have no derivatives") {
    D const p({3., 4.}, xg::requires_grad);
    auto const nearest = [](D const& y) {
        return xg::minimize(
            [y](D const& x) { return sum(square(x - y)); }, D({1., 0.}), xg::on(xg::Sphere{}))
            .x;
    };
    CHECK(difference(nearest(p).detach(), D({0.6, 0.8}), 1e-6) == "");
    check_refused("minimize", nearest, p);
    struct Circle { // of a radius that is differentiated
        D radius;
        D project(D const& x, D const& v) const { return v - x * (sum(x * v) / sum(x * x)); }
        D retract(D const& x, D const& v) const {
            D const y = x + v;
            return y * (radius / norm(y));
        }
        D random(D const& x) const { return retract(xg::randn_like(x), xg::zeros_like(x)); }
    };
    auto const on_circle = [](D const& y) {
        D const start = D({1., 0.}) * sum(y.detach());
        return xg::minimize([](D const& x) { return sum(x); }, start, xg::on(Circle{D(sum(y))})).x;
    };
    check_refused("minimize", on_circle, p);
    auto const both = [](D const& y) {
        auto const f = [y](D const& a, D const& b) { return sum(square(a - y)) + sum(a * b); };
        auto const found = xg::minimize(
            f, std::tuple(D({1., 0.}), D({0., 1.})), xg::on(xg::Sphere{}, xg::Sphere{}));
        return std::get<1>(found.x);
    };
    check_refused("minimize", both, p);
}

TEST_CASE("Sparse derivatives within a function that is differentiated") {
    D const p({3., 4.}, xg::requires_grad);
    auto const cube = [](D const& x) { return x * x * x; };
    auto const slopes = [&](D const& q) { return xg::sparse_jacobian(cube, q).values(); };
    auto const captured = [](D const& q) {
        return xg::sparse_jacobian([q](D const& x) { return x * q; }, D({1., 1.})).values();
    };
    auto const second = [&](D const& q) {
        return xg::sparse_hessian([&](D const& x) { return sum(cube(x)); }, q).values();
    };
    auto const refuses = [&](std::string const& name, auto const& f) {
        auto const sentence = doctest::Contains((name + ": the result has no derivatives").c_str());
        auto const total = [&](D const& q) { return sum(f(q)); };
        CHECK_THROWS_WITH_AS(xg::grad(total, p), sentence, xg::GraphError);
        CHECK_THROWS_WITH_AS(xg::jvp(f, p, D({1., 1.})), sentence, xg::GraphError);
        CHECK(difference(xg::grad([&](D const& q) { return sum(f(q).detach() * q); }, p),
                  f(p).detach()) == "");
        CHECK_FALSE(f(p).requires_grad()); // as the gradient of grad(y, x)
    };
    refuses("sparse_jacobian", slopes);
    refuses("sparse_jacobian", captured);
    refuses("sparse_hessian", second);
}

TEST_CASE("A start that is differentiated, and a fit beside what is") {
    // where a local minimum is does not depend on the start
    D const p({2., 3.}, xg::requires_grad);
    auto const from = [](D const& start) {
        return xg::least_squares([](D const& x) { return x * x - 4.; }, start).x;
    };
    CHECK_FALSE(from(p).requires_grad());
    // the parameters of a module that is fitted with: the loss of what is detached trains it
    xg::nn::Linear<double> net(2, 2);
    D const x = xg::least_squares([&](D const& z) { return net(z) - 1.; }, D({0., 0.})).x.detach();
    D const loss = sum(square(net(x) - 2.));
    loss.backward();
    CHECK(net.bias.grad().defined());
    // the same fit as a function, as the message says
    auto const solved = [](D const& y) {
        return xg::argmin([y](D const& z) { return sum(square(z * z - y)); }, D({1., 1.}));
    };
    CHECK(difference(xg::grad([&](D const& y) { return sum(solved(y)); }, D({4., 9.})),
              D({1. / 4, 1. / 6}), 1e-8) == "");
}
