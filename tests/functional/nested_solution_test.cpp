// Solutions of equations whose functions have solutions of other equations: each solver within each
// one, against the outer equation with the closed form of the inner solution, and against
// differences.
#include <functional>

#include <xgrad/implicit.hpp>
#include <xgrad/testing/gradcheck.hpp>

#include "tensor/compare.hpp"

using namespace std::complex_literals;

namespace {

template <class T> using Function = std::function<T(T const& a, T const& b)>;

/// How the problems are posed.
struct Form {
    bool given = true; // theta, or captured
    bool rows = false;
    double tol = 0.; // of inner problems: outer ones cannot be solved more exactly

    xg::ImplicitOptions options() const {
        xg::ImplicitOptions o;
        o.rows = rows;
        o.tol = tol;
        return o;
    }
    /// solver(f, start, theta) for f(x, theta...).
    template <class T, class... Theta>
    T call(auto const& solver, auto const& f, T const& start, Theta const&... theta) const {
        if (given) return solver(f, start, std::tuple(theta...), options());
        return solver([=](T const& x) { return f(x, theta...); }, start, std::tuple<>(), options());
    }
    template <class T> D total(T const& of) const {
        return rows ? D(sum(real(of), 1)) : D(sum(real(of)));
    }
    D total(D const& of) const { return rows ? D(sum(of, 1)) : D(sum(of)); }
};

auto const by_root = [](auto const&... x) { return xg::root(x...); };
auto const by_iteration = [](auto const&... x) { return xg::fixed_point(x...); };
auto const by_descent = [](auto const&... x) { return xg::argmin(x...); };
auto const by_products = [](auto const&... x) { return xg::linear_solve(x...); };
/// implicit() of a root that is not recorded.
auto const by_user = [](auto const& f, auto const& start, auto const& theta, auto const& options) {
    auto const x = [&] {
        xg::NoGradGuard const off;
        return xg::root(f, start, theta, options);
    }();
    return std::apply(
        [&](auto const&... t) { return xg::implicit(f, options)(x.detach(), t...); }, theta);
};

template <class T> T like(T const& t, double value) { return T(t.detach() * 0. + value); }
template <class T> T closed_form(T const& a, T const& b) { return b / sqrt(a); }
template <class T> T value(T const& y, T const& a, T const& b) { return a * y * y - b * b; }
template <class T> T linear_value(T const& y, T const& a, T const& b) { return sqrt(a) * y - b; }

/// y with sqrt(a) y = b: linear in b, and found exactly where b is 0; or with a y^2 = b^2, where b
/// is positive.
template <class T> struct Inner {
    char const* name;
    Function<T> linear, quadratic;
};
template <class T> std::vector<Inner<T>> inner_solvers(Form form) {
    form.tol = 1e-13;
    auto const both = [=](char const* name, auto const& solver, auto const& f, auto const& g) {
        return Inner<T>{name,
            [=](T const& a, T const& b) { return form.call(solver, f, like(b, 0.), a, b); },
            [=](T const& a, T const& b) { return form.call(solver, g, like(b, 1.), a, b); }};
    };
    auto const f = linear_value<T>, g = value<T>;
    auto const solve = [=](T const& a, T const& b) {
        return form.call(
            by_products, [](T const& y, T const& m) { return T(sqrt(m) * y); }, b, a);
    };
    auto const distance = [=](T const& y, T const& a, T const& b) {
        return form.total(0.5 * abs2(T(f(y, a, b))));
    };
    auto const squared = [=](T const& y, T const& a, T const& b) {
        return form.total(0.5 * abs2(T(g(y, a, b))));
    };
    return {both("root", by_root, f, g),
        both(
            "fixed_point", by_iteration,
            [=](T const& y, T const& a, T const& b) { return T(y - 0.4 * f(y, a, b)); },
            [](T const& y, T const& a, T const& b) { return T(0.5 * (y + b * b / (a * y))); }),
        both("argmin", by_descent, distance, squared), {"linear_solve", solve, solve},
        both("implicit", by_user, f, g)};
}

/// x as a function of p, by an equation with a term(x, p).
template <class T> struct Outer {
    char const* name;
    std::function<T(Function<T> const& term, T const& p)> solve;
};
template <class T> std::vector<Outer<T>> outer_solvers(Form const& form) {
    std::ptrdiff_t const axis = form.rows ? 1 : 0;
    auto const by = [=](char const* name, auto const& solver, auto const& of_term) {
        return Outer<T>{name, [=](Function<T> const& term, T const& p) {
                            return form.call(solver, of_term(term), like(p, 1.), p);
                        }};
    };
    auto const residual = [=](Function<T> const& y) {
        return [=](T const& x, T const& p) {
            return T(x * x * x + x + 0.5 * y(x, p) + 0.1 * flip(x, {axis}) - p * p);
        };
    };
    auto const image = [](Function<T> const& y) {
        return [=](T const& x, T const& p) { return T(0.3 * cos(x) * p + 0.2 * y(x, p)); };
    };
    auto const cost = [=](Function<T> const& y) {
        return [=](T const& x, T const& p) {
            T const z = y(x, p);
            return form.total(abs2(T(x - p)) + 0.1 * square(abs2(x)) + 0.2 * abs2(T(z - x)));
        };
    };
    auto const product = [=](Function<T> const& y) {
        return [=](T const& x, T const& p) {
            return T(2. * p * x + 0.3 * flip(x, {axis}) + 0.5 * y(x, p));
        };
    };
    return {by("root", by_root, residual), by("fixed_point", by_iteration, image),
        by("argmin", by_descent, cost), by("linear_solve", by_products, product),
        by("implicit", by_user, residual)};
}

enum class Reads { theta, x, both };
template <class T> Function<T> term(Function<T> const& y, Reads reads) {
    return [=](T const& x, T const& p) {
        if (reads == Reads::theta) return T(x * y(p, like(p, 1.)));
        return y(reads == Reads::x ? like(p, 2.) : p, x);
    };
}

/// Values, and derivatives of first and second order in all modes.
template <class T>
void check_same(std::function<T(T const&)> const& f, std::function<T(T const&)> const& expected,
    T const& p, T const& v) {
    CHECK(difference(f(p), expected(p).detach(), 1e-8) == "");
    CHECK(difference(xg::vjp(f, p, v).second, xg::vjp(expected, p, v).second, 1e-7) == "");
    CHECK(difference(xg::jvp(f, p, v).second, xg::jvp(expected, p, v).second, 1e-7) == "");
    auto const of_gradient = [&](auto const& g) { // reverse over reverse
        T const x = g(p);
        T const slope = xg::grad(sum(abs2(x)), p, {.create_graph = true});
        return T(xg::grad(sum(abs2(slope)), p));
    };
    CHECK(difference(of_gradient(f), of_gradient(expected), 1e-6) == "");
    auto const twice_along = [&](auto const& g) {
        return xg::jvp([&](T const& q) { return xg::jvp(g, q, v).second; }, p, v).second;
    };
    CHECK(difference(twice_along(f), twice_along(expected), 1e-6) == "");
    auto const energy = [](auto const& g) { return [&g](T const& q) { return sum(abs2(g(q))); }; };
    CHECK(difference(
              xg::hvp(energy(f), p, v).second, xg::hvp(energy(expected), p, v).second, 1e-6) == "");
}

/// All pairs; y is linear in what linear_solve() takes it for.
template <class T>
void check_pairs(
    Form const& form, T const& p, T const& v, std::vector<Reads> const& all = {Reads::both}) {
    for (auto const& outer : outer_solvers<T>(form))
        for (auto const& inner : inner_solvers<T>(form))
            for (Reads const reads : all) {
                auto const pair = std::string(inner.name) + " in " + outer.name +
                                  (form.given ? ", given " : ", captured ") +
                                  std::to_string(static_cast<int>(reads));
                CAPTURE(pair);
                bool const is_linear = std::string(outer.name) == "linear_solve";
                auto const y = term(is_linear ? inner.linear : inner.quadratic, reads);
                auto const expected = term<T>(closed_form<T>, reads);
                check_same<T>([&](T const& q) { return outer.solve(y, q); },
                    [&](T const& q) { return outer.solve(expected, q); }, p, v);
            }
}

} // namespace

TEST_CASE("Each solver within each solver has first and second derivatives") {
    D const p({1.3, 1.7}, xg::requires_grad), v({1., -0.4});
    check_pairs({.given = false}, p, v, {Reads::theta, Reads::x, Reads::both});
    check_pairs({.given = true}, p, v);
}

TEST_CASE("Solvers within solvers, by rows") {
    D const p({{1.3, 1.7}, {1.1, 1.9}, {1.5, 1.2}}, xg::requires_grad);
    check_pairs({.given = false, .rows = true}, p, D({{1., -0.4}, {0.3, 2.}, {-1., 1.}}));
}

TEST_CASE("Three solvers within each other") {
    D const p({1.3, 1.7}, xg::requires_grad), v({1., -0.4});
    Form const form;
    auto const outer = outer_solvers<D>(form);
    auto const inner = inner_solvers<D>(form);
    for (std::size_t i = 0; i < outer.size(); ++i) {
        auto const& middle = outer[(i + 1) % outer.size()];
        auto const names = std::string(outer[i].name) + " of " + middle.name;
        CAPTURE(names);
        auto const solve = [&](Function<D> const& y) {
            // linear in x
            Function<D> const within = [=](D const& x, D const& q) {
                return D(x * middle.solve(term(y, Reads::theta), q));
            };
            return [&, within](D const& q) { return outer[i].solve(within, q); };
        };
        auto const f = solve(inner[(i + 2) % inner.size()].quadratic);
        check_same<D>(f, solve(closed_form<D>), p, v);
        CHECK(xg::gradcheck(f, p));
        CHECK(xg::gradgradcheck(f, p));
    }
}

TEST_CASE("A minimum at the minimum of another function") {
    // x = y = p: as a bilevel problem is written, with leaves that are captured
    D const p(3., xg::requires_grad);
    auto const solve = [](D const& q) {
        return xg::argmin(
            [q](D const& x) {
                D const y =
                    xg::argmin([q](D const& z) { return square(z - q); }, xg::zeros_like(x));
                return square(x - y);
            },
            D(0.));
    };
    D const x = solve(p);
    CHECK(x.item() == doctest::Approx(3.));
    CHECK(xg::grad(x, p, {.create_graph = true}).item() == doctest::Approx(1.));
    CHECK(
        xg::hessian([&](D const& q) { return square(solve(q)); }, p).item() == doctest::Approx(2.));
    CHECK(xg::gradgradcheck(solve, p));
}

TEST_CASE("Solvers within solvers, complex") {
    Z const p({1.3 + 0.2i, 1.7 - 0.3i}, xg::requires_grad), v({1. + 0.5i, -0.4});
    check_pairs({}, p, v);
}
