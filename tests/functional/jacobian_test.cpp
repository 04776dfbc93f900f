// jacobian(): shapes, closed forms, structures, recorded Jacobians, what is refused.
#include <xgrad/functional/jacobian.hpp>

#include "tensor/compare.hpp"

using namespace std::complex_literals;

TEST_CASE("the shape is that of the output and then that of the input") {
    D const x({{1., 2., 3.}, {4., 5., 6.}});
    auto const J = xg::jacobian([](D const& a) { return sum(a * a, {0}); }, x);
    CHECK(J.shape() == xg::Shape{3, 2, 3});
    for (std::ptrdiff_t k = 0; k < 3; ++k)
        for (std::ptrdiff_t i = 0; i < 2; ++i)
            for (std::ptrdiff_t j = 0; j < 3; ++j)
                CHECK(J(k, i, j).item() == (j == k ? 2 * x(i, j).item() : 0));
    CHECK(xg::jacobian([](D const& a) { return sum(a); }, x).shape() == xg::Shape{2, 3});
    CHECK(xg::jacobian([&](D const& a) { return a * x; }, D(2.)).shape() == xg::Shape{2, 3});
    CHECK(xg::jacobian([](D const& a) { return a * a; }, D(2.)).item() == 4);
}

TEST_CASE("structures of blocks") {
    D const x({1., 2.});
    F const w(3.f);
    auto const f = [](D const& a, F const& b) { return std::tuple(a * a * b, sum(a) * b); };
    auto const [first, second] = xg::jacobian(f, xg::inputs(x, w));
    auto const& [first_x, first_w] = first;
    auto const& [second_x, second_w] = second;
    static_assert(std::is_same_v<std::remove_cvref_t<decltype(first_w)>, F>);
    CHECK(difference(first_x, {{6., 0.}, {0., 12.}}) == "");
    CHECK(difference(first_w, {1.f, 4.f}) == "");
    CHECK(difference(second_x, {3., 3.}) == "");
    CHECK(difference(second_w, F(3.f)) == "");
    auto const [a, b] = xg::jacobian([](D const& t) { return std::tuple(t * 2., sum(t)); }, x);
    CHECK(difference(a, {{2., 0.}, {0., 2.}}) == "");
    CHECK(difference(b, {1., 1.}) == "");
}

TEST_CASE("a matrix product, against the matrix") {
    xg::manual_seed(3);
    D const A = xg::randn({3, 4}), x = xg::randn({4});
    CHECK(difference(xg::jacobian([&](D const& a) { return matmul(A, a); }, x), A) == "");
    // y_i = sum_j A_ij x_j: dy_i/dA_kl is x_l where k == i
    auto const J = xg::jacobian([&](D const& a) { return matmul(a, x); }, A);
    CHECK(difference(J, D(reshape(xg::eye(3), {3, 3, 1}) * x)) == "");
}

TEST_CASE("rows of a complex Jacobian: the conjugate derivative of a holomorphic function, the "
          "gradient of a real one") {
    Z const z({1. + 2.i, 0.5 - 1.i});
    auto const at = values(z);
    auto const J = xg::jacobian([](Z const& a) { return exp(a); }, z);
    CHECK(difference(J, Z({{std::conj(std::exp(at[0])), 0.}, {0., std::conj(std::exp(at[1]))}})) ==
          "");
    auto const real = xg::jacobian([](Z const& a) { return abs2(a); }, z);
    CHECK(difference(real, Z({{2. * at[0], 0.}, {0., 2. * at[1]}})) == "");
    // of conj(z), the gradients of its parts x and -y
    auto const parts = xg::jacobian([](Z const& a) { return view_as_real(Z(conj(a))); }, z[0]);
    CHECK(difference(parts, Z({1., -1.i})) == "");
    // a row is what vjp gives from a unit vector
    auto const f = [](Z const& a) { return a * a * conj(a); };
    auto const whole = xg::jacobian(f, z);
    CHECK(difference(whole[0], xg::vjp(f, z, Z({1., 0.})).second) == "");
    CHECK(difference(whole[1], xg::vjp(f, z, Z({0., 1.})).second) == "");
}

TEST_CASE("a recorded Jacobian is differentiated like anything else") {
    D const x({1., 2., -1.}, xg::requires_grad), w({2., 3., 4.}, xg::requires_grad);
    D const weights({{1., 2., 3.}, {4., 5., 6.}, {7., 8., 9.}});
    auto const J = xg::jacobian([&](D const& a) { return a * a * w; }, x, {.create_graph = true});
    CHECK(difference(J, {{4., 0., 0.}, {0., 12., 0.}, {0., 0., -8.}}) == "");
    auto const [gx, gw] = xg::grad(sum(J * weights), xg::inputs(x, w), {.create_graph = true});
    CHECK(difference(gx, {2. * 2. * 1., 2. * 3. * 5., 2. * 4. * 9.}) == "");
    CHECK(difference(gw, {2. * 1. * 1., 2. * 2. * 5., 2. * -1. * 9.}) == "");
    CHECK(difference(xg::grad(sum(gx), w), {2., 10., 18.}) == "");
    CHECK_FALSE(xg::jacobian([&](D const& a) { return a * w; }, x).requires_grad());
}

TEST_CASE("Jacobians within Jacobians") {
    D const x({0.5, -1.});
    auto const cubes = [](D const& a) { return a * a * a; };
    auto const inner = [&](D const& a) { return xg::jacobian(cubes, a); };
    auto const second = xg::jacobian(inner, x);
    CHECK(second.shape() == xg::Shape{2, 2, 2});
    CHECK(difference(second, {{{6. * 0.5, 0.}, {0., 0.}}, {{0., 0.}, {0., -6.}}}) == "");
    auto const third = xg::jacobian([&](D const& a) { return xg::jacobian(inner, a); }, x);
    CHECK(sum(third).item() == doctest::Approx(12));
    CHECK_FALSE(third.requires_grad());
    // the trace of a Jacobian (a divergence), and its gradient: d/dx of sum 3 x^2
    auto const divergence = [&](D const& a) { return sum(xg::jacobian(cubes, a).diagonal()); };
    CHECK(difference(xg::grad(divergence)(x), {3., -6.}) == "");
}

TEST_CASE("a Jacobian agrees with products with its rows and with differences") {
    xg::manual_seed(5);
    D const x = xg::randn({3}), w = xg::randn({3, 3});
    auto const f = [&](D const& a) { return D(tanh(matmul(w, a)) * exp(-a)); };
    auto const J = xg::jacobian(f, x);
    D const v = xg::randn({3});
    CHECK(difference(xg::vjp(f, x, v).second, D(matmul(mT(J), v)), 1e-13) == "");
    double const h = 1e-6;
    for (std::ptrdiff_t j = 0; j < 3; ++j) {
        D const step = h * xg::eye(3)[j];
        CHECK(difference(D(mT(J))[j], D((f(x + step) - f(x - step)) / (2 * h)), 1e-9) == "");
    }
}

TEST_CASE("columns agree with rows") {
    xg::manual_seed(6);
    D const x = xg::randn({2});
    F const w = xg::randn<float>({3});
    Z const z = xg::randn<std::complex<double>>({2});
    int calls = 0;
    auto const real = [&](D const& a, F const& b, Z const& c) {
        ++calls;
        return std::tuple(D(sin(a) * unsqueeze(exp(b), 1)), F(b * b), D(abs2(c) * a), x);
    };
    auto const rows = xg::jacobian(real, xg::inputs(x, w, z)),
               columns = xg::jacobian(real, xg::inputs(x, w, z), {.strategy = xg::Mode::forward});
    CHECK(calls == 2);
    auto const agree = [](auto const& a, auto const& b) {
        CHECK(difference(std::get<0>(a), std::get<0>(b)) == "");
        CHECK(difference(std::get<1>(a), std::get<1>(b)) == "");
        CHECK(difference(std::get<2>(a), std::get<2>(b)) == "");
    };
    agree(std::get<0>(rows), std::get<0>(columns));
    agree(std::get<1>(rows), std::get<1>(columns));
    agree(std::get<2>(rows), std::get<2>(columns));
    agree(std::get<3>(rows), std::get<3>(columns));
    CHECK(std::get<0>(std::get<0>(columns)).shape() == xg::Shape{3, 2, 2});
    CHECK(norm(std::get<2>(std::get<2>(columns))).item() > 0);
    auto const complex = [](Z const& a) {
        return Z(a * a * conj(a) + matmul(Z({{1., 2.i}, {3., 4.}}), a));
    };
    CHECK(difference(xg::jacobian(complex, z, {.strategy = xg::Mode::forward}),
              xg::jacobian(complex, z)) == "");
    D const phase(0.3);
    D const tall = xg::jacobian([](D const& a) { return sin(a * xg::arange(0., 1000.)); }, phase,
        {.strategy = xg::Mode::automatic});
    CHECK(difference(tall, D(xg::arange(0., 1000.) * cos(0.3 * xg::arange(0., 1000.)))) == "");
    CHECK_FALSE(tall.requires_grad());
}

TEST_CASE("which way is chosen") {
    // hooks are called by backward passes only
    int rows = 0;
    auto const f = [&](D const& a) {
        D y = a * xg::ones({4});
        y.register_hook([&](D const&) { ++rows; });
        return y;
    };
    D const x(2.), ones = xg::ones({4});
    auto const rows_of = [&](xg::JacobianOptions const& options) {
        rows = 0;
        CHECK(difference(xg::jacobian(f, x, options), ones) == "");
        return rows;
    };
    CHECK(rows_of({}) == 4);
    CHECK(rows_of({.strategy = xg::Mode::forward}) == 0);
    CHECK(rows_of({.strategy = xg::Mode::automatic}) == 4);
    CHECK(rows_of({.strict = true, .strategy = xg::Mode::automatic}) == 4);
    CHECK(rows_of({.create_graph = true, .strategy = xg::Mode::automatic}) == 4);
    rows = 0;
    CHECK(difference(xg::jacobian([&](D const& a) { return sum(f(a)); }, x,
                         {.strategy = xg::Mode::automatic}),
              D(4.)) == "");
    CHECK(rows == 1);
    CHECK_THROWS_WITH_AS(xg::jacobian(f, x, {.create_graph = true, .strategy = xg::Mode::forward}),
        "jacobian: create_graph or strict and Mode::forward are not supported together",
        xg::GraphError);
    CHECK_THROWS_WITH_AS(xg::jacobian(f, x, {.strict = true, .strategy = xg::Mode::forward}),
        doctest::Contains("not supported together"), xg::GraphError);
}

TEST_CASE("strict mode and outputs that do not depend on an input") {
    D const x({1., 2.}), w({3., 4.});
    auto const f = [](D const& a, D const& b) { return std::tuple(a * a, a * b); };
    auto const [first, second] = xg::jacobian(f, xg::inputs(x, w));
    CHECK(difference(std::get<1>(first), {{0., 0.}, {0., 0.}}) == "");
    CHECK(difference(std::get<1>(second), {{1., 0.}, {0., 2.}}) == "");
    CHECK_THROWS_WITH_AS(xg::jacobian(f, xg::inputs(x, w), {.strict = true}),
        doctest::Contains("Output 0 of the user-provided function is independent of input 1. This "
                          "is not allowed in strict mode."),
        xg::GraphError);
    CHECK_THROWS_WITH_AS(xg::jacobian([&](D const&) { return w; }, x, {.strict = true}),
        doctest::Contains("Output 0 of the user-provided function does not require gradients"),
        xg::GraphError);
    CHECK(difference(xg::jacobian([&](D const&) { return w; }, x), xg::zeros({2, 2})) == "");
    CHECK_THROWS_WITH_AS(
        xg::jacobian([&](D const& a) { return a * w; }, x, {.create_graph = true, .strict = true}),
        doctest::Contains("The jacobian of the user-provided function is independent of input 0"),
        xg::GraphError);
}

TEST_CASE("no outputs, no inputs") {
    CHECK(
        xg::jacobian([](D const& a) { return a * 2.; }, xg::zeros({0})).shape() == xg::Shape{0, 0});
    CHECK(xg::jacobian([](D const& a) { return sum(a * 2., {0}); }, xg::zeros({0, 3})).shape() ==
          xg::Shape{3, 0, 3});
}
