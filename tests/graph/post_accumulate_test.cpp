// Hooks that run when a leaf's .grad is complete.
#include "walk.hpp"

TEST_CASE(
    "post-accumulate hooks run in the order of their registration, each time with the sum so far") {
    D x({1., 2.}, xg::requires_grad);
    std::string order;
    std::vector<D> seen;
    x.register_post_accumulate_grad_hook([&](D const& leaf) {
        order += 'a';
        seen.push_back(leaf.grad().clone());
    });
    x.register_post_accumulate_grad_hook([&](D const&) { order += 'b'; });
    sum(x * 2.).backward();
    D const y = x * 3.;
    sum(y).backward();
    CHECK(order == "abab");
    REQUIRE(seen.size() == 2);
    CHECK(difference(seen[0], {2., 2.}) == "");
    CHECK(difference(seen[1], {5., 5.}) == "");
}

TEST_CASE("what a post-accumulate hook does to .grad stays, and the next hook sees it") {
    D x(1., xg::requires_grad);
    x.register_post_accumulate_grad_hook([](D leaf) { leaf.grad() -= 2.; });
    x.register_post_accumulate_grad_hook([](D leaf) { leaf.grad() /= 5.; });
    x.register_post_accumulate_grad_hook([](D leaf) { leaf.grad() += .5; });
    x.register_hook([](D const& g) { return D(g * 2.); });
    D(x * 6.).backward();
    CHECK(x.grad().item() == 2.5); // (12 - 2)/5 + 0.5
}

TEST_CASE("an optimizer may step within the pass, and no gradient is left") {
    D x({1., 2.}, xg::requires_grad), w({3., 4.}, xg::requires_grad);
    std::vector<std::string> steps;
    auto const step = [&](char const* name) {
        return [&steps, name](D leaf) {
            steps.push_back(name);
            leaf -= 0.5 * leaf.grad();
            leaf.zero_grad();
        };
    };
    x.register_post_accumulate_grad_hook(step("x"));
    w.register_post_accumulate_grad_hook(step("w"));
    for (int i = 0; i < 2; ++i) sum(x * 2. + w * 4.).backward();
    CHECK(difference(x, {-1., 0.}) == "");
    CHECK(difference(w, {-1., 0.}) == "");
    CHECK(steps.size() == 4);
    CHECK_FALSE(x.grad().defined());
    CHECK_FALSE(w.grad().defined());
    CHECK(x.is_leaf());
    CHECK(x.requires_grad());
}

TEST_CASE("steps within a pass give the numbers of steps after it") {
    auto const train = [](bool within) {
        D x({1., -2.}, xg::requires_grad), w({.5, .25}, xg::requires_grad);
        auto const step = [](D leaf) {
            xg::NoGradGuard const off;
            leaf -= 0.1 * leaf.grad();
            leaf.zero_grad();
        };
        if (within) {
            x.register_post_accumulate_grad_hook(step);
            w.register_post_accumulate_grad_hook(step);
        }
        for (int i = 0; i < 5; ++i) {
            D const loss = sum(abs2(x * w - 1.)) + sum(x * x);
            loss.backward();
            if (!within) step(x), step(w);
        }
        return std::vector{values(x)[0], values(x)[1], values(w)[0], values(w)[1]};
    };
    CHECK(train(true) == train(false));
}

TEST_CASE("post-accumulate hooks belong to leaves that require grad") {
    D x({1.}, xg::requires_grad), c({1.});
    D y = x * x;
    CHECK_THROWS_WITH_AS(y.register_post_accumulate_grad_hook([](D const&) {}),
        doctest::Contains("post accumulate grad hooks cannot be registered on non-leaf tensors"),
        xg::GraphError);
    CHECK_THROWS_WITH_AS(c.register_post_accumulate_grad_hook([](D const&) {}),
        doctest::Contains("cannot register a hook on a tensor that doesn't require gradient"),
        xg::GraphError);
}

TEST_CASE("post-accumulate hooks run only where a gradient was accumulated") {
    D x({1.}, xg::requires_grad), w({2.}, xg::requires_grad);
    int at_x = 0, at_w = 0;
    x.register_post_accumulate_grad_hook([&](D const&) { ++at_x; });
    w.register_post_accumulate_grad_hook([&](D const&) { ++at_w; });
    D y = x * w;
    SUBCASE("not under grad()") {
        grad(y, xg::inputs(x, w));
        CHECK(at_x + at_w == 0);
    }
    SUBCASE("for the inputs of backward") {
        y.backward({.inputs = {x}});
        CHECK(at_x == 1);
        CHECK(at_w == 0);
    }
    SUBCASE("not where no gradient came") {
        y.grad_fn()->register_hook(
            [](std::vector<xg::AnyTensor> const& in, std::vector<xg::AnyTensor> const&) {
                return std::vector{xg::AnyTensor(), in[1]};
            });
        y.backward();
        CHECK(at_x == 0);
        CHECK(at_w == 1);
    }
}

TEST_CASE("a post-accumulate hook can be removed, also by an earlier one in the same pass") {
    D x({1.}, xg::requires_grad);
    std::string order;
    xg::HookHandle second;
    auto first = x.register_post_accumulate_grad_hook([&](D const&) {
        order += 'a';
        second.remove();
    });
    second = x.register_post_accumulate_grad_hook([&](D const&) { order += 'b'; });
    x.register_post_accumulate_grad_hook([&](D const&) { order += 'c'; });
    D(x * x).backward();
    CHECK(order == "ac");
    first.remove();
    D(x * x).backward();
    CHECK(order == "acc");
}

TEST_CASE("what a post-accumulate hook throws comes out as it is; the gradient has been added") {
    D x({1.}, xg::requires_grad);
    auto handle = x.register_post_accumulate_grad_hook([](D const&) { throw 7; });
    CHECK_THROWS_AS(D(x * 3.).backward(), int);
    CHECK(x.grad().item() == 3);
    handle.remove();
    D(x * 3.).backward();
    CHECK(x.grad().item() == 6);
}

TEST_CASE("a post-accumulate hook may differentiate something else") {
    D x(2., xg::requires_grad), w(3., xg::requires_grad);
    x.register_post_accumulate_grad_hook([&](D const& leaf) {
        xg::EnableGradGuard const on;
        D(w * leaf.grad()).backward();
    });
    D(x * x).backward();
    CHECK(x.grad().item() == 4);
    CHECK(w.grad().item() == 4);
}

TEST_CASE("with create_graph a post-accumulate hook sees a gradient that can be differentiated") {
    D x(3., xg::requires_grad);
    double second = 0;
    auto handle = x.register_post_accumulate_grad_hook(
        [&](D const& leaf) { second = grad(leaf.grad(), x, {.retain_graph = true}).item(); });
    D(x * x * x).backward({.create_graph = true});
    CHECK(second == 18);
    x.zero_grad();
}

TEST_CASE("a leaf that was turned off after recording gets no gradient, and its post-accumulate "
          "hooks nothing to look at") {
    D x(2., xg::requires_grad), w(3., xg::requires_grad);
    int at_x = 0, at_w = 0;
    x.register_post_accumulate_grad_hook([&](D const&) { ++at_x; });
    w.register_post_accumulate_grad_hook([&](D const&) { ++at_w; });
    D const loss = x * w;
    x.requires_grad_(false);
    loss.backward({.retain_graph = true});
    CHECK(at_x == 0);
    CHECK(at_w == 1);
    x.requires_grad_();
    loss.backward();
    CHECK(at_x == 1);
    CHECK(x.grad().item() == 3);
}
