// grad() with is_grads_batched: as one call for each row, stacked.
#include "walk.hpp"

using namespace std::complex_literals;

TEST_CASE("rows of a Jacobian from rows of the identity") {
    D const x({1., 2., 3.}, xg::requires_grad);
    D const y = x * x;
    D const J = grad(y, x, {.gradients = {xg::eye(3)}, .is_grads_batched = true});
    CHECK(difference(J, {{2., 0., 0.}, {0., 4., 0.}, {0., 0., 6.}}) == "");
    CHECK_FALSE(J.requires_grad());
    CHECK_THROWS_WITH_AS(grad(y, x, {.gradients = {xg::eye(3)}, .is_grads_batched = true}),
        doctest::Contains("a second time"), xg::GraphError);
}

TEST_CASE("no rows give gradients without rows") {
    D const x({1., 2., 3.}, xg::requires_grad);
    D const none =
        grad(D(x * x), x, {.gradients = {xg::zeros<double>({0, 3})}, .is_grads_batched = true});
    CHECK(none.shape() == xg::Shape{0, 3});
}

TEST_CASE("gradients of each sample's loss") {
    xg::manual_seed(2);
    D const data = xg::randn({4, 3}), target = xg::randn({4}),
            w = xg::randn({3}, xg::requires_grad), b(0.5, xg::requires_grad);
    auto const losses = [&](D const& inputs, D const& wanted) {
        return D(square(matmul(inputs, w) + b - wanted));
    };
    auto const each = xg::grad(
        {losses(data, target)}, {w, b}, {.gradients = {xg::eye(4)}, .is_grads_batched = true});
    CHECK(each[0].shape() == xg::Shape{4, 3});
    CHECK(each[1].shape() == xg::Shape{4});
    for (std::ptrdiff_t i = 0; i < 4; ++i) {
        auto const [gw, gb] = grad(
            sum(losses(data(xg::slice(i, i + 1)), target(xg::slice(i, i + 1)))), xg::inputs(w, b));
        CHECK(difference(each[0].as<double>()[i], gw) == "");
        CHECK(difference(each[1].as<double>()[i], gb) == "");
    }
}

TEST_CASE("several outputs, complex numbers, strided and repeated gradients") {
    Z const z({1. + 2.i, 3. - 1.i}, xg::requires_grad);
    Z const square = z * z;
    D const size = sum(abs2(z));
    Z const seeds({{1., 1.i}, {2., 0.}});
    D const weights({10., 20.});
    auto const g = xg::grad({square, size}, {z},
        {.gradients = {seeds.t(), weights}, .retain_graph = true, .is_grads_batched = true})[0]
                       .as<std::complex<double>>();
    for (std::ptrdiff_t i = 0; i < 2; ++i)
        CHECK(
            difference(g[i], xg::grad({square, size}, {z},
                                 {.gradients = {seeds.t()[i], weights[i]}, .retain_graph = true})[0]
                                 .as<std::complex<double>>()) == "");
    Z const same =
        grad(square, z, {.gradients = {Z({1., 1.}).expand({3, 2})}, .is_grads_batched = true});
    CHECK(difference(same[2], Z(2. * conj(z)).detach()) == "");
}

TEST_CASE("recorded batched gradients are differentiated, for inputs and for the gradients that "
          "they start from") {
    D const x({1., 2.}, xg::requires_grad),
        seeds({{1., 0.}, {0., 1.}, {1., 1.}}, xg::requires_grad);
    D const y = x * x * x;
    D const g = grad(y, x, {.gradients = {seeds}, .create_graph = true, .is_grads_batched = true});
    CHECK(difference(g, {{3., 0.}, {0., 12.}, {3., 12.}}) == "");
    D const v({{1., 10.}, {100., 1000.}, {2., 3.}});
    auto const [gx, gs] = grad(sum(g * v), xg::inputs(x, seeds), {.create_graph = true});
    CHECK(difference(gx, {6. * 1. * (1. + 2.), 6. * 2. * (1000. + 3.)}) == "");
    CHECK(difference(gs, {{3., 120.}, {300., 12000.}, {6., 36.}}) == "");
    CHECK(difference(grad(sum(gx), x), {6. * 3., 6. * 1003.}) == "");
}

TEST_CASE("hooks run for each row") {
    D x({1., 2.}, xg::requires_grad);
    int calls = 0;
    x.register_hook([&](D const& g) { return ++calls, 2. * g; });
    D const y = x * 3.;
    CHECK(difference(grad(y, x, {.gradients = {xg::eye(2)}, .is_grads_batched = true}),
              {{6., 0.}, {0., 6.}}) == "");
    CHECK(calls == 2);
}

TEST_CASE("unused inputs, no rows, scalars") {
    D const x({1., 2.}, xg::requires_grad), unused({1., 2., 3.}, xg::requires_grad);
    D const y = x * x, s = sum(y);
    xg::GradOptions options{
        .gradients = {xg::eye(2)}, .retain_graph = true, .is_grads_batched = true};
    CHECK_THROWS_WITH_AS(
        grad(y, unused, options), doctest::Contains("Set .allow_unused = true"), xg::GraphError);
    options.allow_unused = true;
    CHECK_FALSE(grad(y, unused, options).defined());
    options.materialize_grads = true;
    CHECK(difference(grad(y, unused, options), xg::zeros({2, 3})) == "");
    CHECK(grad(y, unused, options).requires_grad());
    CHECK(difference(
              grad(s, x,
                  {.gradients = {D({1., 2.})}, .retain_graph = true, .is_grads_batched = true}),
              {{2., 4.}, {4., 8.}}) == "");
    CHECK(grad(y, x,
              {.gradients = {xg::zeros({0, 2})},
                  .allow_unused = true,
                  .materialize_grads = true,
                  .is_grads_batched = true})
              .shape() == xg::Shape{0, 2});
}

TEST_CASE("errors") {
    D const x({1., 2.}, xg::requires_grad);
    D const y = x * x;
    CHECK_THROWS_WITH_AS(grad(y, x, {.gradients = {D({1., 2.})}, .is_grads_batched = true}),
        doctest::Contains("grad_output[0] has a shape of [2] and output[0] has a shape of [2]"),
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(grad(y, x, {.gradients = {D(1.)}, .is_grads_batched = true}),
        doctest::Contains(
            "interpret the first dimension of each grad_output as the batch dimension"),
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(grad(sum(y), x, {.is_grads_batched = true}),
        doctest::Contains("got 1 tensors and 0 gradients"), xg::GraphError);
    CHECK_THROWS_WITH_AS(
        xg::grad(
            {y, y}, {x}, {.gradients = {xg::eye(2), xg::ones({3, 2})}, .is_grads_batched = true}),
        doctest::Contains("gradients of shapes [2, 2] and [3, 2]"), xg::ShapeError);
    CHECK_THROWS_WITH_AS(grad(y, x, {.gradients = {D()}, .is_grads_batched = true}),
        doctest::Contains("gradient 0 is undefined"), xg::GraphError);
    CHECK_THROWS_WITH_AS(grad(y, x, {.gradients = {F({{1.f, 1.f}})}, .is_grads_batched = true}),
        doctest::Contains("Mismatch in dtype"), xg::TypeError);
    CHECK(difference(grad(sum(y), x), {2., 4.}) == "");
}
