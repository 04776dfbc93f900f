// vjp(), value_and_grad() and grad() of a function: values by closed forms, structures in and out,
// modes, errors.
#include <xgrad/functional/vjp.hpp>

#include "tensor/compare.hpp"

using namespace std::complex_literals;

TEST_CASE("vjp gives the value and the gradient that starts from v") {
    D const x({1., 2., 3.});
    auto const [y, g] = xg::vjp([](D const& a) { return a * a; }, x, D({1., 10., 100.}));
    CHECK(difference(y, {1., 4., 9.}) == "");
    CHECK(difference(g, {2., 40., 600.}) == "");
    CHECK_FALSE(y.requires_grad());
    CHECK_FALSE(g.requires_grad());
    CHECK_FALSE(x.requires_grad());
}

TEST_CASE("tuples in and out, of several scalar types") {
    D const x({1., 2.});
    F const w({3.f, 4.f});
    Z const z({1. + 2.i, 3. - 1.i});
    auto const f = [](D const& a, F const& b, Z const& c) {
        return std::tuple(a * b, sum(abs2(c)), c * c);
    };
    auto const [y, g] =
        xg::vjp(f, xg::inputs(x, w, z), std::tuple(D({1., 1.}), D(10.), Z({1., 1.i})));
    auto const& [product, squares, square] = y;
    auto const& [gx, gw, gz] = g;
    CHECK(difference(product, {3., 8.}) == "");
    CHECK(difference(squares, D(15.)) == "");
    CHECK(difference(square, {-3. + 4.i, 8. - 6.i}) == "");
    CHECK(difference(gx, {3., 4.}) == "");
    CHECK(difference(gw, {1.f, 2.f}) == "");
    // 10 * 2 z, and v conj(2 z)
    CHECK(difference(gz, {20. * (1. + 2.i) + 2. * (1. - 2.i),
                             20. * (3. - 1.i) + 1.i * 2. * (3. + 1.i)}) == "");
}

TEST_CASE("a tuple of one tensor comes back as one") {
    auto const [y, g] = xg::vjp([](D const& a) { return std::tuple(sum(a * a)); },
        std::tuple(D({1., 2.})), std::tuple(D(1.)));
    static_assert(std::is_same_v<std::remove_cvref_t<decltype(y)>, std::tuple<D>> &&
                  std::is_same_v<std::remove_cvref_t<decltype(g)>, std::tuple<D>>);
    CHECK(difference(std::get<0>(g), {2., 4.}) == "");
}

TEST_CASE("complex gradients are conjugate Wirtinger derivatives") {
    Z const z({1. + 2.i}), v({2. - 1.i});
    std::complex<double> const at = 1. + 2.i, u = 2. - 1.i;
    auto const holomorphic = xg::vjp([](Z const& a) { return exp(a); }, z, v).second;
    CHECK(difference(holomorphic, Z({u * std::conj(std::exp(at))})) == "");
    auto const conjugate = xg::vjp([](Z const& a) { return conj(a); }, z, v).second;
    CHECK(difference(conjugate, Z({std::conj(u)})) == "");
    // z conj(z) as a complex function: v z + conj(v) z
    auto const both = xg::vjp([](Z const& a) { return a * conj(a); }, z, v).second;
    CHECK(difference(both, Z({(u + std::conj(u)) * at})) == "");
}

TEST_CASE("without v the function is one real number") {
    auto const [y, g] = xg::vjp([](D const& a) { return sum(sin(a)); }, D({0.3, 1.}));
    CHECK(y.item() == doctest::Approx(std::sin(0.3) + std::sin(1.)));
    CHECK(difference(g, {std::cos(0.3), std::cos(1.)}) == "");
    CHECK_THROWS_WITH_AS(xg::vjp([](D const& a) { return a; }, D({0.3, 1.})),
        doctest::Contains("vjp: the vector v can only be left out"), xg::GraphError);
}

TEST_CASE("gradients of several results name the function that was asked for them") {
    auto const several = [](D const& a) { return a; };
    auto const told = [](std::string const& name) {
        return name +
               ": the function must return one number, not shape [2]; jacobian() is for others";
    };
    D const x({0.3, 1.});
    CHECK_THROWS_WITH_AS(xg::grad(several)(x), told("grad").c_str(), xg::GraphError);
    CHECK_THROWS_WITH_AS(xg::grad(several, x), told("grad").c_str(), xg::GraphError);
    CHECK_THROWS_WITH_AS(xg::grad<0>(several)(x), told("grad").c_str(), xg::GraphError);
    CHECK_THROWS_WITH_AS(
        xg::value_and_grad(several, x), told("value_and_grad").c_str(), xg::GraphError);
    CHECK_THROWS_WITH_AS(
        xg::value_and_grad(several)(x), told("value_and_grad").c_str(), xg::GraphError);
    CHECK_THROWS_WITH_AS(
        xg::grad(several)(D()), doctest::Contains("grad: input 0 is undefined"), xg::GraphError);
}

TEST_CASE("value_and_grad of one tensor and of several") {
    D const x({1., 2.}), w({3., 4.});
    auto const [y, g] = xg::value_and_grad([](D const& a) { return sum(a * a * a); }, x);
    CHECK(y.item() == 9);
    CHECK(difference(g, {3., 12.}) == "");
    auto const [product, gradients] = xg::value_and_grad(
        [](auto const& a, auto const& b) { return sum(a * b * b); }, xg::inputs(x, w));
    CHECK(product.item() == 41);
    CHECK(difference(std::get<0>(gradients), {9., 16.}) == "");
    CHECK(difference(std::get<1>(gradients), {6., 16.}) == "");
}

TEST_CASE("grad of a function is a function") {
    auto const cube = [](auto const& x) { return x * x * x; };
    D const x(2.);
    CHECK(xg::grad(cube)(x).item() == 12);
    CHECK(xg::grad(xg::grad(cube))(x).item() == 12);
    CHECK(xg::grad(xg::grad(xg::grad(cube)))(x).item() == 6);
    CHECK_FALSE(xg::grad(xg::grad(cube))(x).requires_grad());
    auto const [ga, gb] =
        xg::grad([](D const& a, D const& b) { return sum(a * b); })(D({1., 2.}), D({3., 4.}));
    CHECK(difference(ga, {3., 4.}) == "");
    CHECK(difference(gb, {1., 2.}) == "");
    // a mixed derivative of x^2 y^3 by its arguments one after the other: 6 x y^2
    D const y(3.);
    auto const mixed = xg::grad(
        [&](D const& a) { return xg::grad([&](D const& b) { return a * a * b * b * b; })(y); })(x);
    CHECK(mixed.item() == 6 * 2 * 9);
}

TEST_CASE("only the use of the argument counts") {
    D const x({1., 2.}, xg::requires_grad);
    auto const f = [&](D const& a) { return sum(a * x); };
    CHECK(difference(xg::value_and_grad(f, x).second, {1., 2.}) == "");
    auto const [y, g] = xg::value_and_grad(f, x, {.create_graph = true});
    CHECK(difference(g, {1., 2.}) == "");
    // the gradient is the captured x, and the value x . x
    CHECK(difference(xg::grad(sum(g * D({10., 20.})), x), {10., 20.}) == "");
    CHECK(difference(xg::grad(y, x), {2., 4.}) == "");
    CHECK_FALSE(x.grad().defined());
}

TEST_CASE("create_graph makes results functions of inputs and of captured tensors") {
    D const x({1., 2.}, xg::requires_grad), w({3., 4.}, xg::requires_grad);
    D const v({1., 10.}, xg::requires_grad);
    auto const [y, g] =
        xg::vjp([&](D const& a) { return a * a * w; }, x, v, {.create_graph = true});
    // g = 2 v x w
    CHECK(difference(g, {6., 160.}) == "");
    auto const [gx, gw, gv] = xg::grad(sum(g), xg::inputs(x, w, v), {.retain_graph = true});
    CHECK(difference(gx, {6., 80.}) == "");
    CHECK(difference(gw, {2., 40.}) == "");
    CHECK(difference(gv, {6., 16.}) == "");
    CHECK(difference(xg::grad(sum(y), w), {1., 4.}) == "");
    auto const plain = xg::vjp([&](D const& a) { return a * a * w; }, x, v);
    CHECK_FALSE(plain.first.requires_grad());
    CHECK_FALSE(plain.second.requires_grad());
}

TEST_CASE("an input without a history is differentiated, and collects nothing") {
    D const x({1., 2.});
    auto const [y, g] =
        xg::value_and_grad([](D const& a) { return sum(a * a); }, x, {.create_graph = true});
    CHECK(difference(g, {2., 4.}) == "");
    CHECK_FALSE(x.requires_grad());
}

TEST_CASE("modes of the caller do not matter") {
    D const x({1., 2.}, xg::requires_grad);
    auto const f = [](D const& a) {
        CHECK(xg::is_grad_enabled());
        CHECK_FALSE(xg::is_inference_mode_enabled());
        return sum(a * a);
    };
    {
        xg::NoGradGuard const off;
        CHECK(difference(xg::value_and_grad(f, x).second, {2., 4.}) == "");
        CHECK(xg::value_and_grad(f, x, {.create_graph = true}).second.requires_grad());
        CHECK_FALSE(xg::is_grad_enabled());
    }
    {
        xg::InferenceMode const mode;
        CHECK(difference(xg::value_and_grad(f, x).second, {2., 4.}) == "");
        D const made_here({1., 2.});
        CHECK(difference(xg::value_and_grad(f, made_here).second, {2., 4.}) == "");
        CHECK(difference(xg::grad([&](D const& a) { return sum(xg::grad(f)(a)); })(made_here),
                  {2., 2.}) == "");
        CHECK(xg::is_inference_mode_enabled());
    }
}

TEST_CASE(
    "what does not depend on an input has zeros for a gradient, or is an error in strict mode") {
    D const x({1., 2.}), w({3., 4.}), c({5., 6.});
    auto const first = [](D const& a, D const&) { return sum(a); };
    CHECK(difference(std::get<1>(xg::value_and_grad(first, xg::inputs(x, w)).second), {0., 0.}) ==
          "");
    CHECK_THROWS_WITH_AS(xg::value_and_grad(first, xg::inputs(x, w), {.strict = true}),
        doctest::Contains("The output of the user-provided function is independent of input 1. "
                          "This is not allowed in strict mode."),
        xg::GraphError);
    auto const constant = [&](D const&) { return c * 1.; };
    CHECK(difference(xg::vjp(constant, x, c).second, {0., 0.}) == "");
    CHECK_THROWS_WITH_AS(xg::vjp(constant, x, c, {.strict = true}),
        doctest::Contains("Output 0 of the user-provided function does not require gradients."),
        xg::GraphError);
    auto const linear = [](D const& a) { return sum(a); };
    CHECK(difference(xg::value_and_grad(linear, x, {.strict = true}).second, {1., 1.}) == "");
    CHECK_THROWS_WITH_AS(xg::value_and_grad(linear, D({1.}, xg::requires_grad),
                             {.create_graph = true, .strict = true}),
        doctest::Contains("The jacobian of the user-provided function is independent of input 0. "
                          "This is not allowed in strict mode when create_graph=True."),
        xg::GraphError);
}

TEST_CASE("errors name the transform and the shapes") {
    D const x({1., 2.});
    auto const f = [](D const& a) { return a * a; };
    CHECK_THROWS_WITH_AS(xg::vjp(f, x, D({1., 2., 3.})),
        "vjp: v has invalid size: should be [2] but got [3]", xg::ShapeError);
    CHECK_THROWS_WITH_AS(xg::vjp(f, x, D()),
        doctest::Contains("vjp: v has invalid size: should be [2] but got an undefined tensor"),
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(xg::vjp(f, D(), x), "vjp: input 0 is undefined", xg::GraphError);
    CHECK_THROWS_WITH_AS(
        xg::vjp([](D const& a) { return std::tuple(a, D()); }, x, std::tuple(x, x)),
        "vjp: the function's output 1 is undefined", xg::GraphError);
    // what the function throws comes out, and the next call works
    CHECK_THROWS_WITH(xg::vjp(
                          [](D const& a) -> D {
                              return a * D({1., 2., 3.});
                          },
                          x, x),
        doctest::Contains("[2]"));
    CHECK_THROWS_WITH_AS(xg::vjp(
                             [](D const& a) {
                                 D b = a;
                                 b += 1.;
                                 return b;
                             },
                             x, x),
        doctest::Contains("a leaf Variable that requires grad"), xg::GraphError);
    CHECK_FALSE(xg::vjp(f, x, x).second.requires_grad());
}

TEST_CASE("gradients are contiguous, also those that a view transposes") {
    D const m({{1., 2.}, {3., 4.}}), v({{1., 2.}, {3., 4.}});
    auto const f = [](D const& t) { return t.transpose(); };
    D const g = xg::vjp(f, m, v).second;
    CHECK(g.strides() == m.strides());
    CHECK(g.data()[1] == 3.);
    CHECK(difference(g, {{1., 3.}, {2., 4.}}) == "");
    D const w({{1., 2.}, {3., 4.}}, xg::requires_grad);
    D const recorded = xg::vjp(f, m, w, {.create_graph = true}).second;
    CHECK(recorded.data()[1] == 3.);
    CHECK(difference(xg::grad(sum(recorded * recorded), w), {{2., 4.}, {6., 8.}}) == "");
}

TEST_CASE("the identity, strided and empty inputs") {
    D const m({{1., 2.}, {3., 4.}});
    auto const [y, g] = xg::vjp([](D const& a) { return a; }, m.t(), D({{1., 2.}, {3., 4.}}));
    CHECK(difference(y, {{1., 3.}, {2., 4.}}) == "");
    CHECK(difference(g, {{1., 2.}, {3., 4.}}) == "");
    D const row({1., 2.}, xg::requires_grad);
    auto const wide = xg::vjp([](D const& a) { return a * a; }, row.expand({3, 2}),
        xg::ones({3, 2}), {.create_graph = true})
                          .second;
    CHECK(difference(wide, {{2., 4.}, {2., 4.}, {2., 4.}}) == "");
    CHECK(difference(xg::grad(sum(wide), row), {6., 6.}) == "");
    auto const none = xg::value_and_grad([](D const& a) { return sum(a * a); }, xg::zeros({0, 3}));
    CHECK(none.first.item() == 0);
    CHECK(none.second.shape() == xg::Shape{0, 3});
}
