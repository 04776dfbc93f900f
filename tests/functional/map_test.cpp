// map(): values and derivatives beside the same expression on tensors, and beside closed forms.
#include <limits>
#include <stdexcept>

#include <xgrad/map.hpp>
#include <xgrad/sum_over.hpp>

#include "tensor/compare.hpp"

using namespace std::complex_literals;

namespace {

namespace mine {
struct Offset {
    double by;
};
/// Found by its argument of this namespace.
template <class T> T shifted(T x, Offset o) { return x + o.by; }
} // namespace mine

auto const rational = [](auto a, auto b) { return a * b + 0.5 * a - b / (a + 2); };
auto const density = [](auto x, auto m, auto s) {
    using std::exp, std::log;
    auto const z = (x - m) / s;
    return exp(-0.5 * z * z) / s - log(s);
};
/// Huber's loss: quadratic near 0.
auto const huber = [](auto x) {
    using T = decltype(x);
    if (x < -1.) return T(-x - 0.5);
    if (x > 1.) return x - 0.5;
    return 0.5 * x * x;
};
/// The root by Newton's method, until it has converged.
auto const root = [](auto x) {
    if (x < 0.) throw std::domain_error("root of a negative number");
    auto y = 0.5 * (x + 1.), last = y;
    do {
        last = y;
        y = 0.5 * (y + x / y);
    } while (abs(y - last) > 1e-9);
    return 0.5 * (y + x / y); // its derivative converges one step later
};
D leaf(D const& x) { return x.detach().clone().requires_grad_(); }
D steps(std::size_t n, double from, double by) {
    return xg::arange<double>(static_cast<double>(n)) * by + from;
}

} // namespace

TEST_CASE("map gives what its function gives on tensors, and the same gradients") {
    for (std::size_t const n : {1u, 3u, 8u, 17u, 100u, 5000u}) {
        D const a = leaf(steps(n, 1, 0.01)), b = leaf(cos(steps(n, 0, 0.1)));
        D const c = leaf(a), d = leaf(b);
        D const y = xg::map(rational, a, b) * 2 + a, z = rational(c, d) * 2 + c;
        CHECK(difference(y, z, 1e-14) == "");
        sum(y * y).backward();
        sum(z * z).backward();
        CHECK(difference(a.grad(), c.grad(), 1e-12) == "");
        CHECK(difference(b.grad(), d.grad(), 1e-12) == "");
    }
}

TEST_CASE(
    "operands broadcast, numbers are constants, and the expected around it is the same Node") {
    D const x = leaf(D({{1., 2., 3.}, {4., 5., 6.}})), m = leaf(D({0.5, 1., 2.})),
            s = leaf(D({{2.}, {3.}}));
    D const y = exp(xg::map(density, x, m, s)) - 1;
    CHECK(y.grad_fn()->next_edges().size() == 3);
    auto const g = xg::grad(sum(y), {x, m, s});
    auto const expected = xg::grad(sum(exp(density(x, m, s)) - 1), {x, m, s});
    for (int i = 0; i < 3; ++i)
        CHECK(difference(g[i].as<double>(), expected[i].as<double>(), 1e-13) == "");
    CHECK(difference(D(xg::map(rational, 2, x)), D(rational(D(2.), x)), 1e-14) == "");
    D const t = xg::map([](auto) { return 3.; }, x);
    CHECK(difference(t, xg::full({2, 3}, 3.)) == "");
}

TEST_CASE("functions that branch are called number by number") {
    D const x = leaf(D({-3., -0.5, 0., 0.25, 1., 7.}));
    D const y = xg::map(xg::with_branches, huber, x);
    CHECK(difference(y, D({2.5, 0.125, 0., 0.03125, 0.5, 6.5})) == "");
    sum(y).backward();
    CHECK(difference(x.grad(), D({-1., -0.5, 0., 0.25, 1., 1.})) == "");
}

TEST_CASE("a function that iterates sees its arguments only, for any number of them") {
    for (std::size_t n = 1; n < 40; ++n) { // a tail is filled with no 0, of which f would throw
        D const x = leaf(steps(n, 1, 0.5));
        auto const f = [](auto v) {
            if (v == 0.) throw std::domain_error("0");
            return root(v);
        };
        D const y = xg::map(xg::with_branches, f, x);
        CHECK(difference(y, sqrt(x), 1e-15) == "");
        sum(y).backward();
        CHECK(difference(x.grad(), 0.5 / sqrt(x.detach()), 1e-9) == "");
    }
    D const bad({1., -1.});
    CHECK_THROWS_AS(D(xg::map(xg::with_branches, root, bad)), std::domain_error);
    CHECK(difference(bad, D({1., -1.})) == "");
}

TEST_CASE("complex functions have both Wirtinger derivatives; holomorphic ones need one") {
    auto const mixed = [](auto z) { return exp(z) * conj(z) + 2. * z / (1. + abs2(z)); };
    auto const power = [](auto z) { return exp(z) * z * z + 1i; };
    auto const real_result = [](auto z) { return abs2(z) * real(z) + imag(z); };
    auto const from_real = [](auto r, auto phi) { return r * exp(1i * phi); };
    Z const z = Z({1. + 2.i, 0.3 - 1.i, -0.5 + 0.1i}).requires_grad_();
    D const r = leaf(D({1., 2.})), phi = leaf(D({0.3, -1.}));
    auto const gradient = [&](auto const& y) {
        return xg::grad(sum(y), {z})[0].template as<std::complex<double>>();
    };
    CHECK(difference(gradient(abs2(xg::map(mixed, z))), gradient(abs2(mixed(z))), 1e-12) == "");
    CHECK(difference(gradient(abs2(xg::map(power, z))), gradient(abs2(power(z))), 1e-12) == "");
    CHECK(difference(gradient(abs2(xg::map(xg::holomorphic, power, z))), gradient(abs2(power(z))),
              1e-12) == "");
    CHECK(difference(gradient(xg::map(real_result, z)), gradient(real_result(z)), 1e-12) == "");
    auto const p = xg::grad(sum(real(xg::map(from_real, r, phi))), {r, phi});
    CHECK(difference(p[0].as<double>(), cos(phi), 1e-15) == "");
    CHECK(difference(p[1].as<double>(), -r * sin(phi), 1e-15) == "");
    auto const spiral = [](auto w) {
        using T = decltype(w);
        T sum = 0;
        for (int k = 0; k < 40 && abs(sum) < 100.; ++k) sum = sum * w + 1.;
        return sum;
    };
    Z const inside({0.5 + 0.2i});
    CHECK(difference(Z(xg::map(xg::with_branches, spiral, inside)), Z(1. / (1. - inside)), 1e-9) ==
          "");
}

TEST_CASE("scalar types are those of a expected") {
    auto const f = [](auto a) { return a * a + 1.; };
    static_assert(std::same_as<decltype(xg::map(f, F({1.f})))::scalar, float>);
    static_assert(
        std::same_as<decltype(xg::map(f, xg::Tensor<std::int64_t>({1})))::scalar, double>);
    auto const two = [](auto a, auto b) { return a * b; };
    static_assert(std::same_as<decltype(xg::map(two, F({1.f}), D({1.})))::scalar, double>);
    static_assert(
        std::same_as<decltype(xg::map(two, F({1.f}), Z({1.})))::scalar, std::complex<double>>);
    F const x = F({1.f, 2.f}).requires_grad_();
    sum(xg::map(f, x)).backward();
    CHECK(difference(x.grad(), F({2.f, 4.f})) == "");
    auto const positive = [](auto a) { return a > 0.; };
    CHECK(difference(D(xg::map(positive, D({-1., 2.})) * 1.), D({0., 1.})) == "");
}

TEST_CASE("higher derivatives and forward mode are those of the expected") {
    D const x = D({1., 1.5, 0.7}), s = D({1., 2., 0.5}), v = D({1., -1., 0.3});
    auto const mapped = [&](D const& a) { return sum(xg::map(density, a, 0.5, s)); };
    auto const expected = [&](D const& a) { return sum(density(a, D(0.5), s)); };
    CHECK(difference(xg::hessian(mapped, x), xg::hessian(expected, x), 1e-12) == "");
    CHECK(difference(xg::jvp(mapped, x, v).second, xg::jvp(expected, x, v).second, 1e-13) == "");
    CHECK(difference(xg::hvp(mapped, x, v).second, xg::hvp(expected, x, v).second, 1e-12) == "");
    auto const third = [](auto const& f, D const& at) {
        D const a = leaf(at);
        D g = xg::grad(f(a), {a}, {.create_graph = true})[0].template as<double>();
        g = xg::grad(sum(g), {a}, {.create_graph = true})[0].template as<double>();
        return xg::grad(sum(g), {a})[0].template as<double>();
    };
    CHECK(difference(third(mapped, x), third(expected, x), 1e-10) == "");
    Z const z({1. + 0.5i, -0.3 + 1.i}), w({0.2 - 1.i, 1.});
    auto const complex_map = [](Z const& a) {
        return sum(abs2(xg::map([](auto u) { return exp(u) * conj(u); }, a)));
    };
    auto const complex_expected = [](Z const& a) { return sum(abs2(exp(a) * conj(a))); };
    CHECK(difference(xg::hvp(complex_map, z, w).second, xg::hvp(complex_expected, z, w).second,
              1e-11) == "");
    CHECK(
        difference(xg::hessian([](D const& a) { return sum(xg::map(xg::with_branches, huber, a)); },
                       D({0.5, 3.})),
            D({{1., 0.}, {0., 0.}})) == "");
}

TEST_CASE("several results, in one call of the function") {
    D const r = leaf(D({1., 2., 3.})), phi = leaf(D({{0.3}, {0.4}}));
    int calls = 0;
    auto const polar = [&calls](auto radius, auto angle) {
        ++calls;
        return std::tuple(radius * cos(angle), radius * sin(angle), 2.);
    };
    auto const [x, y, two] = xg::map(xg::with_branches, polar, r, phi);
    CHECK(calls == 6);
    CHECK(difference(x, r * cos(phi), 1e-15) == "");
    CHECK(difference(two, xg::full({2, 3}, 2.)) == "");
    sum(x * y + two).backward();
    CHECK(difference(r.grad(), sum(2 * r.detach() * cos(phi) * sin(phi), {0}), 1e-14) == "");
    CHECK(difference(phi.grad(), sum(square(r.detach()) * cos(2 * phi), {1}, true), 1e-14) == "");
    auto const powers = [](auto a) { return std::array{sqrt(a), a * a, 1. / a}; };
    auto const loss = [&](D const& a) {
        auto const p = xg::map(powers, a);
        return sum(p[0] * p[1] * p[2]);
    };
    D const at({1., 2., 3.});
    CHECK(difference(xg::hessian(loss, at),
              xg::hessian([](D const& a) { return sum(a * sqrt(a)); }, at), 1e-13) == "");
    auto const halves = [](auto z) { return std::pair(real(z), z * conj(z)); };
    Z const z = Z({1. + 2.i}).requires_grad_();
    auto const [re, square] = xg::map(halves, z);
    sum(re + abs(square)).backward();
    CHECK(difference(z.grad(), Z({3. + 4.i}), 1e-14) == "");
}

TEST_CASE("a function with several results computes the expressions of its operands") {
    D const a = leaf(D({1., 2., 3.})), b = leaf(D(0.5));
    xg::Tensor<std::int64_t> const n({1, 2, 3});
    auto const f = [](auto x, auto y, auto z) { return std::pair(x * y, x - z); };
    auto const [p, q] = xg::map(f, sin(a) * b + 2., n, 3);
    auto const x = sin(a) * b + 2.;
    CHECK(difference(p, D(x * n), 1e-15) == "");
    CHECK(difference(q, D(x - 3.), 1e-15) == "");
    CHECK(p.grad_fn() == q.grad_fn());
    CHECK(p.grad_fn()->next_edges().size() == 3); // a, b and n
    sum(p * q).backward();
    auto const slope = (2. * x - 3.) * n;
    CHECK(difference(a.grad(), D(slope * cos(a) * b), 1e-14) == "");
    CHECK(difference(b.grad(), sum(slope * sin(a)), 1e-14) == "");
    auto const [g, h] = xg::map(xg::with_branches, f, where(a > 1.5, a * a, 1.), a / 2., 0.);
    CHECK(difference(D(g + h), D(where(a > 1.5, a * a, 1.) * (a / 2. + 1.)), 1e-15) == "");
    auto const loss = [&](D const& t) { return sum(std::get<0>(xg::map(f, exp(t), t * t, 1.))); };
    CHECK(difference(xg::hessian(loss, D({0.5, 1.})),
              xg::hessian([](D const& t) { return sum(exp(t) * t * t); }, D({0.5, 1.})),
              1e-13) == "");
}

TEST_CASE("functions have constants of their own, and call others that their arguments find") {
    D const x = leaf(D({1., 2.}));
    mine::Offset const offset{3};
    sum(xg::map([=](auto a) { return shifted(a, offset) * a; }, x)).backward();
    CHECK(difference(x.grad(), D({5., 7.})) == "");
}

TEST_CASE("a function of steps has the derivative 0") {
    D const x = leaf(D({-1., 2.}));
    auto const step = [](auto t) {
        if (t < 0.) return -1.;
        return 1.;
    };
    D const y = xg::map(xg::with_branches, step, x * 3.);
    CHECK(difference(y, D({-1., 1.})) == "");
    sum(y * x).backward();
    CHECK(difference(x.grad(), D({-1., 1.})) == "");
}

TEST_CASE("operands that do not broadcast are named") {
    CHECK_THROWS_WITH_AS(D(xg::map(rational, D({1., 2.}), D({1., 2., 3.}))),
        doctest::Contains("map"), xg::ShapeError);
}

TEST_CASE("derivatives of 0 and of infinity: the same on batches, with branches, and in sum_over") {
    auto const check = [](char const* name, auto const& f, D const& slopes, D const& curvatures) {
        CAPTURE(name);
        D const x({1., 2., -3.});
        auto const agree = [&](auto const& loss) {
            CHECK(difference(xg::grad(loss)(x), slopes, 1e-14) == "");
            CHECK(difference(D(diagonal(xg::hessian(loss, x))), curvatures, 1e-14) == "");
        };
        agree([&](D const& t) { return sum(xg::map(f, t)); });
        agree([&](D const& t) { return sum(xg::map(xg::with_branches, f, t)); });
        auto const both = [&](auto t) { return std::pair(f(t), t); };
        agree([&](D const& t) { return sum(std::get<0>(xg::map(both, t))); });
        xg::Tensor<std::int64_t> const index({{0}, {1}, {2}});
        auto const of_element = [&](auto const& p) { return f(p[0]); };
        auto const sums = [&](auto energy) {
            CHECK(difference(energy.gradient(), slopes, 1e-14) == "");
            CHECK(difference(energy.hessian().values(), curvatures, 1e-14) == "");
        };
        sums(xg::sum_over<1>(of_element, x, index));
        sums(xg::sum_over<1>(xg::with_branches, of_element, x, index));
    };
    D const twice({2., 4., -6.}), two({2., 2., 2.});
    check(
        "a root of 0", [](auto t) { return sqrt(t - t) + t * t; }, twice, two);
    check(
        "a product with 0", [](auto t) { return acos(1. + 0. * t) + t * t; }, twice, two);
    check(
        "a power of 0", [](auto t) { return pow(t - t, 0.5) + t * t; }, twice, two);
    check(
        "a logarithm", [](auto t) { return exp(log(t - t)) + t * t; }, twice, two);
    check(
        "a norm", [](auto t) { return hypot(t - t, 0. * t) + t * t; }, twice, two);
}

TEST_CASE("what a function captured by reference, and what is gone in backward(), is told") {
    static constexpr bool checks = true; // also in a build with NDEBUG
    auto const told = [](char const* name) {
        return doctest::Contains((std::string(name) + ": the function was called again, for its "
                                                      "derivatives, and gave another value")
                                     .c_str());
    };
    for (std::size_t const n : {1u, 3u, 8u, 1000u}) {
        CAPTURE(n);
        D const x = leaf(steps(n, 1, 0.01));
        double k = 2.;
        auto const f = [&k](auto t) { return k * t * t; };
        D const y = xg::map<checks>(f, x) + 1.;
        D const z = xg::map<checks>(xg::with_branches, f, x * 2.);
        auto const both_of = [&k](auto t) { return std::pair(t, k * t); };
        auto const [u, v] = xg::map<checks>(both_of, x);
        sum(y + z + u * v).backward(); // nothing has changed
        D const again = xg::map<checks>(f, x), several = std::get<1>(xg::map<checks>(both_of, x));
        D const both = xg::map<checks>(f, x);
        k = 3.;
        CHECK_THROWS_WITH_AS(sum(again).backward(), told("map"), xg::GraphError);
        CHECK_THROWS_WITH_AS(sum(several).backward(), told("map"), xg::GraphError);
        k = 2.;
        sum(both).backward();
        xg::Tensor<std::int64_t> index = xg::zeros<std::int64_t>({n, 1});
        auto energy = xg::sum_over<1>([&k](auto const& p) { return k * p[0] * p[0]; }, x, index);
        D const e = energy.value();
        k = 3.;
        if (XGRAD_CHECKS_CALLS)
            CHECK_THROWS_WITH_AS(e.backward(), told("sum_over"), xg::GraphError);
        D const w = xg::map<checks>([k](auto t) { return k * t * t; }, x);
        k = 4.;
        CHECK(difference(xg::grad(sum(w), x), 6. * x.detach(), 1e-14) == "");
    }
    D const x = leaf(D({3., -1.}));
    auto const cancels = [](auto t) { return (t / 3. + 1e12) - 1e12; }; // rounds otherwise
    sum(xg::map<checks>(cancels, x) * x).backward();
}
