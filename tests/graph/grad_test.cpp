// grad(): gradients handed back instead of collected.
#include "walk.hpp"

TEST_CASE("grad returns gradients, each with its type, and touches no .grad") {
    D const x({1., 2.}, xg::requires_grad);
    Z const z({complex<double>(1, 2), complex<double>(0, 1)}, xg::requires_grad);
    D const loss = sum(x * abs2(z));
    auto const [gx, gz] = grad(loss, xg::inputs(x, z));
    static_assert(std::same_as<decltype(gx), D const>);
    static_assert(std::same_as<decltype(gz), Z const>);
    CHECK(difference(gx, {5., 1.}) == "");
    CHECK(difference(gz, {complex<double>(2, 4), complex<double>(0, 4)}) == "");
    CHECK_FALSE(x.grad().defined());
    CHECK_FALSE(z.grad().defined());
    CHECK_FALSE(gx.requires_grad());
}

TEST_CASE("grad of several outputs is the sum of theirs, weighted by their gradients") {
    D const x({1., 2.}, xg::requires_grad);
    D const a = x * x, b = x * 3.;
    auto const g = xg::grad({a, b}, {x}, {.gradients = {D({1., 10.}), D({100., 1000.})}});
    CHECK(difference(g[0].as<double>(), {302., 3040.}) == "");
}

TEST_CASE("a tensor's gradient for itself is 1, and for an intermediate what flows through it") {
    D const x(3., xg::requires_grad);
    CHECK(grad(x, x).item() == 1);
    D const y = x * x;
    D const z = y * y;
    CHECK(grad(y, y).item() == 1);
    CHECK(grad(z, y).item() == 18);
}

TEST_CASE("an input given twice has its gradient returned twice") {
    D const x({1., 2.}, xg::requires_grad);
    auto const [a, b] = grad(sum(x * x), xg::inputs(x, x));
    CHECK(difference(a, {2., 4.}) == "");
    CHECK(difference(b, {2., 4.}) == "");
}

TEST_CASE("grad of one sum: for some of its tensors, for one twice, with one that it does not use, "
          "and once unless it is kept") {
    D x({1., 2.}, xg::requires_grad);
    D const y({3., 4.}, xg::requires_grad), other(1., xg::requires_grad);
    auto const loss = [&] { return D(sum(x * x * y)); };
    CHECK(difference(grad(loss(), y), {1., 4.}) == "");
    auto const [first, of_y, second] = grad(loss(), xg::inputs(x, y, x));
    CHECK(difference(first, {6., 16.}) == "");
    CHECK(difference(second, {6., 16.}) == "");
    CHECK(difference(of_y, {1., 4.}) == "");
    auto const [used, unused] = grad(loss(), xg::inputs(x, other), {.allow_unused = true});
    CHECK(difference(used, {6., 16.}) == "");
    CHECK_FALSE(unused.defined());
    CHECK_THROWS_WITH_AS(
        grad(loss(), other), doctest::Contains("not have been used in the graph"), xg::GraphError);

    D const once = loss(), kept = loss();
    CHECK(difference(grad(kept, x, {.retain_graph = true}), {6., 16.}) == "");
    CHECK(difference(grad(kept, x), {6., 16.}) == "");
    grad(once, y);
    CHECK_THROWS_WITH_AS(grad(once, x), doctest::Contains("a second time"), xg::GraphError);
    CHECK_FALSE(x.grad().defined());
    CHECK_FALSE(y.grad().defined());

    auto const hook = x.register_hook([](D const& g) { return D(g * 10.); });
    CHECK(difference(grad(loss(), x), {60., 160.}) == "");
    CHECK(difference(grad(loss(), y), {1., 4.}) == "");
}

TEST_CASE("a tensor and what it depends on can be asked for together") {
    D const x({1., 2.}, xg::requires_grad);
    D y = x * x;
    y.register_hook([](D const& g) { return D(g * 10.); });
    D const z = sum(y * 3.);
    auto const [gy, gx] = grad(z, xg::inputs(y, x), {.retain_graph = true});
    CHECK(difference(gy, {30., 30.}) == "");
    CHECK(difference(gx, {60., 120.}) == "");
    CHECK(difference(grad(z, y), {30., 30.}) == "");
}

TEST_CASE("grad frees the graph unless told to keep it") {
    D const x({1., 2.}, xg::requires_grad);
    D const y = sum(x * x);
    grad(y, x, {.retain_graph = true});
    grad(y, x);
    CHECK_THROWS_WITH_AS(grad(y, x), doctest::Contains("a second time"), xg::GraphError);
}

TEST_CASE("an input that was not used is an error, or undefined where that is allowed") {
    D const x({1., 2.}, xg::requires_grad), unused({1.}, xg::requires_grad),
        never = D({1.}, xg::requires_grad);
    D const apart = unused * 2.;
    D const y = sum(x * x);
    CHECK_THROWS_WITH_AS(grad(y, xg::inputs(x, unused), {.retain_graph = true}),
        doctest::Contains(
            "One of the differentiated Tensors appears to not have been used in the graph."),
        xg::GraphError);
    CHECK_THROWS_WITH_AS(
        grad(y, apart, {.retain_graph = true}), doctest::Contains("allow_unused"), xg::GraphError);
    auto const [gx, gu, ga, gn] =
        grad(y, xg::inputs(x, unused, apart, never), {.allow_unused = true});
    CHECK(difference(gx, {2., 4.}) == "");
    CHECK_FALSE(gu.defined());
    CHECK_FALSE(ga.defined());
    CHECK_FALSE(gn.defined());
}

TEST_CASE("a refused unused input leaves the graph as it was") {
    D const x({1., 2.}, xg::requires_grad), unused({1.}, xg::requires_grad);
    D const y = sum(x * x);
    CHECK_THROWS_AS(grad(y, unused), xg::GraphError);
    CHECK(difference(grad(y, x), {2., 4.}) == "");
}

TEST_CASE("grad refuses what it cannot answer") {
    D const x({1., 2.}, xg::requires_grad), c({1., 2.});
    D const y = sum(x * x);
    CHECK_THROWS_WITH_AS(
        xg::grad({y}, {}), doctest::Contains("grad requires non-empty inputs."), xg::GraphError);
    CHECK_THROWS_WITH_AS(grad(y, c),
        doctest::Contains("One of the differentiated Tensors does not require grad"),
        xg::GraphError);
    CHECK_THROWS_WITH_AS(grad(sum(c), x),
        doctest::Contains("element 0 of tensors does not require grad"), xg::GraphError);
    CHECK_THROWS_WITH_AS(
        grad(D(x * x), x), doctest::Contains("only for scalar outputs"), xg::GraphError);
    CHECK_THROWS_WITH_AS(grad(D(x * x), x, {.gradients = {D({1.})}}),
        doctest::Contains("Mismatch in shape: grad_output[0] has a shape of [1] and output[0] has "
                          "a shape of [2]."),
        xg::ShapeError);
    CHECK_THROWS_AS(grad(D(), x), xg::Error);
    CHECK_THROWS_AS(grad(y, D()), xg::Error);
    CHECK(difference(grad(y, x), {2., 4.}) == "");
}

TEST_CASE("only what lies between outputs and inputs is executed") {
    D const x({1., 2.}, xg::requires_grad), w({1., 2.}, xg::requires_grad);
    D behind = w * w, aside = w * 2., between = x * behind;
    int behind_calls = 0, aside_calls = 0, between_calls = 0;
    behind.register_hook([&](D const&) { ++behind_calls; });
    aside.register_hook([&](D const&) { ++aside_calls; });
    between.register_hook([&](D const&) { ++between_calls; });
    D const y = sum(between + aside);
    grad(y, x);
    CHECK(between_calls == 1);
    CHECK(behind_calls == 0);
    CHECK(aside_calls == 0);
}

TEST_CASE("hooks of an output that leads to no input do not run") {
    D const x({1., 2.}, xg::requires_grad), w({1., 2.}, xg::requires_grad);
    D a = sum(x * x), b = sum(w * w);
    int calls = 0;
    b.register_hook([&](D const&) { ++calls; });
    xg::grad({a, b}, {x});
    CHECK(calls == 0);
}

TEST_CASE("grad runs the hooks of its inputs, but accumulates nothing") {
    D x({1., 2.}, xg::requires_grad);
    x.register_hook([](D const& g) { return D(g * 2.); });
    CHECK(difference(grad(sum(x * x), x), {4., 8.}) == "");
    CHECK_FALSE(x.grad().defined());
}

TEST_CASE("a gradient obtained without create_graph has no history") {
    D const x({1., 2.}, xg::requires_grad);
    D const g = grad(sum(x * x * x), x);
    CHECK_FALSE(g.requires_grad());
    CHECK_THROWS_WITH_AS(grad(sum(g), x),
        doctest::Contains("element 0 of tensors does not require grad"), xg::GraphError);
}

TEST_CASE(
    "grad() of a chain runs the hooks of what it is asked for, and nothing behind or beside it") {
    D a({1., 2.}, xg::requires_grad), b({3., 4.}, xg::requires_grad),
        c({5., 6.}, xg::requires_grad);
    int of_a = 0, of_b = 0, of_c = 0, of_inner = 0;
    a.register_hook([&](D const& g) {
        ++of_a;
        return D(10 * g);
    });
    b.register_hook([&](D const&) { ++of_b; });
    c.register_hook([&](D const&) { ++of_c; });
    D inner = a * c;
    inner.register_hook([&](D const&) { ++of_inner; });
    D const loss = sum(inner * b);
    CHECK(difference(xg::grad(loss, b, {.retain_graph = true}), {5., 12.}) == "");
    CHECK(std::array{of_a, of_b, of_c, of_inner} == std::array{0, 1, 0, 0});
    auto const [first, again, gb] = xg::grad(loss, xg::inputs(a, a, b));
    CHECK(difference(first, {150., 240.}) == "");
    CHECK(difference(again, {150., 240.}) == "");
    CHECK(difference(gb, {5., 12.}) == "");
    CHECK(std::array{of_a, of_b, of_c, of_inner} == std::array{1, 2, 0, 1});
    CHECK_FALSE(a.grad().defined());
    CHECK_FALSE(c.grad().defined());
}

TEST_CASE("inputs may be a list or a vector, of one type or of several") {
    D const x({1., 2.}, xg::requires_grad), w({3., 4.}, xg::requires_grad),
        unused({5.}, xg::requires_grad);
    xg::Tensor<float> const f({2.f, 2.f}, xg::requires_grad);
    D const loss = sum(x * w * f);
    std::vector<D> const of_one_type = xg::grad(loss, {x, w}, {.retain_graph = true});
    CHECK(difference(of_one_type[0], {6., 8.}) == "");
    CHECK(difference(of_one_type[1], {2., 4.}) == "");
    CHECK(difference(xg::grad(loss, {w}, {.retain_graph = true})[0], {2., 4.}) == "");
    std::vector<xg::AnyTensor> const mixed = xg::grad(loss, {f, x}, {.retain_graph = true});
    CHECK(mixed[0].dtype() == xg::DType::float32);
    CHECK(difference(mixed[1].as<double>(), {6., 8.}) == "");
    CHECK_FALSE(
        xg::grad(loss, std::vector<D>{unused, x}, {.retain_graph = true, .allow_unused = true})[0]
            .defined());
    CHECK(difference(xg::grad(loss, std::vector<xg::AnyTensor>{x, f})[0].as<double>(), {6., 8.}) ==
          "");
}
