// Which hooks run: under backward(), backward() with inputs, and grad().
#include "walk.hpp"

namespace {
using Gradients = std::vector<xg::AnyTensor>;

/// Counts the calls of each kind of hook of a tensor: "tensor/pre/post".
struct Counts {
    int tensor = 0, pre = 0, post = 0, accumulated = 0;

    void watch(D t) {
        t.register_hook([this](D const&) { ++tensor; });
        auto const node = xg::detail::gradient_edge(t).function;
        node->register_prehook([this](Gradients const&) { ++pre; });
        node->register_hook([this](Gradients const&, Gradients const&) { ++post; });
        if (t.is_leaf()) t.register_post_accumulate_grad_hook([this](D const&) { ++accumulated; });
    }
    std::string text() const {
        return std::to_string(tensor) + "/" + std::to_string(pre) + "/" + std::to_string(post);
    }
};
} // namespace

TEST_CASE(
    "hooks of a Node run where the Node runs, those of a tensor where its gradient is computed") {
    D const a(1., xg::requires_grad);
    D const b = a * 2., c = b * 1.;
    Counts at_a, at_b;
    at_a.watch(a);
    at_b.watch(b);
    SUBCASE("grad of the intermediate") {
        grad(c, b);
        CHECK(at_b.text() == "1/0/0");
        CHECK(at_a.text() == "0/0/0");
    }
    SUBCASE("grad of both") {
        grad(c, xg::inputs(a, b));
        CHECK(at_b.text() == "1/1/1");
        CHECK(at_a.text() == "1/0/0");
    }
    SUBCASE("grad of the leaf") {
        grad(c, a);
        CHECK(at_b.text() == "1/1/1");
        CHECK(at_a.text() == "1/0/0");
        CHECK(at_a.accumulated == 0);
    }
    SUBCASE("backward") {
        c.backward();
        CHECK(at_b.text() == "1/1/1");
        CHECK(at_a.text() == "1/1/1");
        CHECK(at_a.accumulated == 1);
    }
    SUBCASE("backward to both") {
        c.backward({.inputs = {a, b}});
        CHECK(at_b.text() == "1/1/1");
        CHECK(at_a.text() == "1/1/1");
        CHECK(at_a.accumulated == 1);
    }
    SUBCASE("backward to the intermediate") {
        c.backward({.inputs = {b}});
        CHECK(at_b.text() == "1/1/1");
        CHECK(at_a.text() == "0/0/0");
        CHECK(b.impl().grad);
        CHECK_FALSE(a.grad().defined());
    }
    SUBCASE("backward to a sibling") {
        D const w(3., xg::requires_grad);
        D(b * w).backward({.inputs = {w}});
        CHECK(w.grad().item() == 2);
        CHECK(at_b.text() == "0/0/0");
        CHECK(at_a.text() == "0/0/0");
    }
}

TEST_CASE("what hooks make of the gradient is what grad() returns and retain_grad keeps") {
    D const x(1., xg::requires_grad);
    D y = x * 2.;
    y.register_hook([](D const& g) { return D(g * 10.); });
    y.retain_grad();
    y.grad_fn()->register_prehook(
        [](Gradients const& g) { return Gradients{D(g[0].as<double>() * 100.)}; });
    D const z = y * 3.;
    SUBCASE("alone") { CHECK(grad(z, y).item() == 30); }
    SUBCASE("beside what is behind it") {
        auto const [gy, gx] = grad(z, xg::inputs(y, x));
        CHECK(gy.item() == 30);
        CHECK(gx.item() == 6000);
    }
    CHECK(y.grad().item() == 30);
    CHECK_FALSE(x.grad().defined());
}

TEST_CASE("a hook of one output of a Node is called with an undefined gradient where only another "
          "one is used") {
    D const x({1., 2.}, xg::requires_grad);
    auto parts = unbind(x);
    int defined = 0, undefined = 0;
    auto const count = [&](D const& g) { ++(g.defined() ? defined : undefined); };
    parts[0].register_hook(count);
    parts[1].register_hook(count);
    std::vector<bool> pre, post;
    parts[0].grad_fn()->register_prehook([&](Gradients const& g) {
        pre = {g[0].defined(), g[1].defined()};
    });
    parts[0].grad_fn()->register_hook([&](Gradients const& in, Gradients const& out) {
        post = {out[0].defined(), out[1].defined()};
        CHECK(difference(in[0].as<double>(), {3., 0.}) == "");
    });
    D(parts[0] * 3.).backward();
    CHECK(defined == 1);
    CHECK(undefined == 1);
    CHECK(pre == std::vector{true, false});
    CHECK(post == pre);
    CHECK(difference(x.grad(), {3., 0.}) == "");
}

TEST_CASE("hooks may return the undefined gradient that they got, and no other") {
    D const x({1., 2.}, xg::requires_grad);
    auto parts = split(x, 1);
    SUBCASE("the same") {
        parts[1].register_hook([](D const& g) { return g; });
        sum(parts[0]).backward();
        CHECK(difference(x.grad(), {1., 0.}) == "");
    }
    SUBCASE("another") {
        parts[1].register_hook([](D const&) { return D({1.}); });
        CHECK_THROWS_WITH_AS(sum(parts[0]).backward(),
            doctest::Contains("can't replace a empty gradient with a non-empty value"),
            xg::GraphError);
    }
    SUBCASE("another, by a prehook") {
        parts[1].grad_fn()->register_prehook([](Gradients const& g) {
            return Gradients{g[0], D({1.})};
        });
        CHECK_THROWS_WITH_AS(sum(parts[0]).backward(),
            doctest::Contains("can't replace a empty gradient with a non-empty value"),
            xg::GraphError);
    }
}

TEST_CASE("outputs of one Node are asked for together, also with one that is not used") {
    D const x({1., 2., 3.}, xg::requires_grad);
    auto const parts = unbind(x);
    D const y = parts[0] * 2. + parts[2] * 5.;
    auto const [g0, g1, g2, gx] =
        grad(y, xg::inputs(parts[0], parts[1], parts[2], x), {.allow_unused = true});
    CHECK(g0.item() == 2);
    CHECK_FALSE(g1.defined());
    CHECK(g2.item() == 5);
    CHECK(difference(gx, {2., 0., 5.}) == "");
}

TEST_CASE("retain_grad of an output that is not used keeps nothing") {
    D const x({1., 2.}, xg::requires_grad);
    auto parts = unbind(x);
    parts[0].retain_grad();
    parts[1].retain_grad();
    D(parts[1] * 4.).backward();
    CHECK_FALSE(parts[0].grad().defined());
    CHECK(parts[1].grad().item() == 4);
}

TEST_CASE("hooks of a leaf last over graphs, those of an intermediate as long as it does") {
    D x(1., xg::requires_grad);
    int at_leaf = 0, at_old = 0;
    x.register_hook([&](D const&) { ++at_leaf; });
    D y = x * 2.;
    y.register_hook([&](D const&) { ++at_old; });
    y.backward();
    y = x * 2.;
    y.backward();
    CHECK(at_leaf == 2);
    CHECK(at_old == 1);
}

TEST_CASE("hooks are set on a tensor that was assigned, through whichever handle") {
    D x(1., xg::requires_grad);
    D const y = x * 2.;
    D handle = y;
    int calls = 0;
    handle.register_hook([&](D const&) { ++calls; });
    handle = D();
    y.backward();
    CHECK(calls == 1);
}

TEST_CASE("a leaf whose requires_grad was turned off and on again still has its hooks") {
    D x(1., xg::requires_grad);
    int calls = 0;
    x.register_hook([&](D const&) { ++calls; });
    x.requires_grad_(false);
    CHECK_FALSE(D(x * 2.).requires_grad());
    x.requires_grad_();
    D(x * 2.).backward();
    CHECK(calls == 1);
}
