// How leaves collect gradients.
#include "walk.hpp"

TEST_CASE("a second gradient is added in place, into the same tensor") {
    D const x({1., 2.}, xg::requires_grad);
    sum(x * x).backward();
    D const first = x.grad();
    sum(x * x).backward();
    CHECK(x.grad().is_same(first));
    CHECK(difference(first, {4., 8.}) == "");
    CHECK(first.version() == 1);
}

TEST_CASE("with create_graph the sum is a new tensor, and the old gradient keeps its values") {
    D const x({1., 2.}, xg::requires_grad);
    sum(x * x).backward({.create_graph = true});
    D const first = x.grad();
    sum(x * x).backward({.create_graph = true});
    CHECK_FALSE(x.grad().is_same(first));
    CHECK(difference(first, {2., 4.}) == "");
    CHECK(difference(x.grad(), {4., 8.}) == "");
    CHECK(x.grad().requires_grad());
    x.impl().grad = nullptr;
}

TEST_CASE("a leaf's gradient shares no memory with the gradient that the user gave") {
    D const x({1., 2.}, xg::requires_grad);
    D const g({3., 4.});
    x.backward(g);
    CHECK_FALSE(share_memory(x.grad(), g));
    x.backward(g);
    CHECK(difference(g, {3., 4.}) == "");
    CHECK(difference(x.grad(), {6., 8.}) == "");
    D const w({1., 2.}, xg::requires_grad);
    w.reshape({2, 1}).backward(g.reshape({2, 1}));
    CHECK_FALSE(share_memory(w.grad(), g));
}

TEST_CASE("nor does it with create_graph") {
    D const x({1., 2.}, xg::requires_grad);
    D const g({3., 4.});
    x.backward(g, {.create_graph = true});
    CHECK_FALSE(share_memory(x.grad(), g));
    x.backward(g);
    CHECK(difference(g, {3., 4.}) == "");
    CHECK(difference(x.grad(), {6., 8.}) == "");
}

TEST_CASE("the gradients of two leaves never share memory") {
    D x({1., 2.}, xg::requires_grad), w({3., 4.}, xg::requires_grad),
        v({{5.}, {6.}}, xg::requires_grad);
    SUBCASE("where one Node hands one gradient to both") { D(x + w).backward(D({1., 1.})); }
    SUBCASE("where views pass a gradient on") {
        D const a = x.reshape({2, 1}), b = v(xt::all());
        D(a + b).backward(D({{1.}, {1.}}));
        CHECK_FALSE(share_memory(x.grad(), v.grad()));
        w.backward(D({1., 1.}));
    }
    SUBCASE("with create_graph") { D(x + w).backward(D({1., 1.}), {.create_graph = true}); }
    SUBCASE("with create_graph, from a gradient that requires grad itself") {
        D(x + w).backward(D({1., 1.}, xg::requires_grad), {.create_graph = true});
    }
    CHECK_FALSE(share_memory(x.grad(), w.grad()));
    auto const before = values(w.grad());
    x.backward(D({10., 10.}));
    CHECK(values(w.grad()) == before);
    CHECK(difference(x.grad(), {11., 11.}) == "");
    x.zero_grad(); // with create_graph it keeps the graph, which keeps the leaves
    w.zero_grad();
}

TEST_CASE("gradients that leaves collect and hooks keep do not share memory") {
    D x({1., 2.}, xg::requires_grad);
    D seen;
    x.register_hook([&](D const& g) { seen = g; });
    sum(x * x).backward();
    CHECK_FALSE(share_memory(x.grad(), seen));
    sum(x * x).backward();
    CHECK(difference(x.grad(), {4., 8.}) == "");
}

TEST_CASE("a leaf's gradient is contiguous, whatever way it came") {
    D const x({{1., 2., 3.}, {4., 5., 6.}}, xg::requires_grad);
    SUBCASE("through a transposition") { x.t().backward(D({{1., 2.}, {3., 4.}, {5., 6.}})); }
    SUBCASE("through a transposition, recorded") {
        x.t().backward(D({{1., 2.}, {3., 4.}, {5., 6.}}), {.create_graph = true});
    }
    SUBCASE("from a gradient that repeats one number") {
        x.clone().backward(broadcast_to(D(2.), {2, 3}));
    }
    CHECK(x.grad().is_contiguous());
    CHECK(x.grad().shape() == xg::Shape{2, 3});
    if (x.grad().data()[1] != 2) CHECK(difference(x.grad(), {{1., 3., 5.}, {2., 4., 6.}}) == "");
}

TEST_CASE("a gradient that nobody else holds is taken over, not copied") {
    xg::empty_cache();
    D x = xg::ones({1000}, xg::requires_grad);
    double const* made = nullptr;
    D const y = sum(x * x);
    x.register_hook([&](D const& g) { made = g.data(); });
    y.backward({.retain_graph = true});
    CHECK(x.grad().data() == made);
}

TEST_CASE("so is one that looks into another, unless that is held") {
    D x = xg::ones({20, 30}, xg::requires_grad);
    double const* made = nullptr;
    auto const handle = x.register_hook([&](D const& g) { made = g.data(); });
    sum(square(transpose(x) + 1)).backward();
    CHECK(x.grad().data() == made);
    x.grad().fill_(0);

    D held;
    D transposed = transpose(x);
    transposed.register_hook([&](D const& g) { held = g; });
    x.zero_grad();
    sum(square(transposed + 1)).backward();
    CHECK(x.grad().strided_data() != held.strided_data());
    sum(square(x + 1)).backward();
    CHECK(difference(held, xg::full({30, 20}, 4.)) == "");
    CHECK(difference(x.grad(), xg::full({20, 30}, 8.)) == "");
}

TEST_CASE("one gradient buffered for several inputs is never added to in place") {
    D const x({1., 2.}, xg::requires_grad), g({1., 1.});
    D const a = x.clone(), b = x.clone(), c = x.clone();
    xg::backward({a, b, c, a}, {g, g, g, g});
    CHECK(difference(g, {1., 1.}) == "");
    CHECK(difference(x.grad(), {4., 4.}) == "");
}

TEST_CASE("zero_grad and set_grad decide what the next gradient is added to") {
    D x({1., 2.}, xg::requires_grad);
    sum(x * x).backward();
    x.zero_grad();
    CHECK_FALSE(x.grad().defined());
    sum(x * x).backward();
    CHECK(difference(x.grad(), {2., 4.}) == "");
    x.set_grad(D({100., 100.}));
    sum(x * x).backward();
    CHECK(difference(x.grad(), {102., 104.}) == "");
}

TEST_CASE("a gradient set as a strided view is added to where it lies") {
    D x({1., 2.}, xg::requires_grad);
    D m = xg::zeros({2, 2});
    x.set_grad(m(xt::all(), 1));
    sum(x * x).backward();
    CHECK(difference(m, {{0., 2.}, {0., 4.}}) == "");
}

TEST_CASE("a gradient whose elements share a place is added to out of place") {
    D x({1., 2.}, xg::requires_grad);
    D const one(1.);
    x.set_grad(one.expand({2}));
    sum(x * x).backward();
    CHECK(difference(x.grad(), {3., 5.}) == "");
    CHECK(one.item() == 1);
}

TEST_CASE("a leaf that only the graph still holds collects its gradient all the same") {
    D y;
    double total = 0;
    {
        D x({1., 2.}, xg::requires_grad);
        x.register_hook([&](D const& g) { total = sum(g).item(); });
        y = sum(x * x);
    }
    y.backward();
    CHECK(total == 6);
}

TEST_CASE("the leaf behind an AccumulateGrad Node is known to it") {
    D const x({1., 2.}, xg::requires_grad);
    D const y = x * 2.;
    auto const edge = y.grad_fn()->next_edges()[0];
    CHECK(edge.function->name() == "AccumulateGrad");
    CHECK(edge.function->next_edges().empty());
    CHECK(static_cast<xg::detail::AccumulateGrad*>(edge.function.get())->variable().is_same(x));
    CHECK(D(x * 3.).grad_fn()->next_edges()[0].function.get() == edge.function.get());
}
