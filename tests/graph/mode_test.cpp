// Switching recording off and on.
#include <thread>

#include "walk.hpp"

TEST_CASE("under NoGradGuard nothing is recorded, and afterwards it is again") {
    D const x({1., 2.}, xg::requires_grad);
    {
        xg::NoGradGuard const off;
        CHECK_FALSE(xg::is_grad_enabled());
        CHECK_FALSE(D(x * x).requires_grad());
        CHECK_FALSE(sum(x).requires_grad());
        CHECK(x.requires_grad());
        CHECK(D({1.}, xg::requires_grad).requires_grad());
    }
    CHECK(xg::is_grad_enabled());
    CHECK(D(x * x).requires_grad());
}

TEST_CASE("guards nest and restore what was before them") {
    xg::NoGradGuard const off;
    {
        xg::EnableGradGuard const on;
        CHECK(xg::is_grad_enabled());
        {
            xg::AutoGradMode const off_again(false);
            CHECK_FALSE(xg::is_grad_enabled());
            xg::AutoGradMode const on_again(true);
            CHECK(xg::is_grad_enabled());
        }
        CHECK(xg::is_grad_enabled());
    }
    CHECK_FALSE(xg::is_grad_enabled());
}

TEST_CASE("guards restore after an exception") {
    try {
        xg::NoGradGuard const off;
        throw std::runtime_error("boom");
    } catch (std::runtime_error const&) {}
    CHECK(xg::is_grad_enabled());
    D const x({1., 2.}, xg::requires_grad), w({1., 2., 3.});
    try {
        xg::NoGradGuard const off;
        D const y = x * w;
    } catch (xg::ShapeError const&) {}
    CHECK(xg::is_grad_enabled());
}

TEST_CASE("grad mode belongs to its thread, and a new thread starts with recording on") {
    xg::NoGradGuard const off;
    bool at_start = false, after = true;
    std::thread([&] {
        at_start = xg::is_grad_enabled();
        xg::NoGradGuard const theirs;
        after = xg::is_grad_enabled();
    }).join();
    CHECK(at_start);
    CHECK_FALSE(after);
    xg::EnableGradGuard const on;
    std::thread([] { xg::NoGradGuard const theirs; }).join();
    CHECK(xg::is_grad_enabled());
}

TEST_CASE("backward and grad work under NoGradGuard, create_graph included") {
    D const x({1., 2.}, xg::requires_grad);
    D const y = sum(x * x * x);
    xg::NoGradGuard const off;
    D const g = grad(y, x, {.create_graph = true});
    CHECK(g.requires_grad());
    CHECK(difference(grad(g, x, {.gradients = {D({1., 1.})}}), {6., 12.}) == "");
    y.backward();
    CHECK(difference(x.grad(), {3., 12.}) == "");
    CHECK_FALSE(xg::is_grad_enabled());
}

TEST_CASE("a pass that fails restores grad mode") {
    D const x({1., 2.}, xg::requires_grad);
    D y = x * x;
    y.register_hook([](D const&) { throw 1; });
    CHECK_THROWS_AS(y.backward(D({1., 1.})), int);
    CHECK(xg::is_grad_enabled());
    xg::NoGradGuard const off;
    CHECK_THROWS_AS(y.backward(D({1., 1.}), {.create_graph = true}), int);
    CHECK_FALSE(xg::is_grad_enabled());
}

TEST_CASE("hooks run with recording on only where the pass is recorded") {
    D const x({1., 2.}, xg::requires_grad);
    D y = x * x;
    bool mode = true, history = true;
    y.register_hook([&](D const& g) {
        mode = xg::is_grad_enabled();
        history = g.requires_grad();
    });
    D const z = sum(y * y);
    z.backward({.retain_graph = true});
    CHECK_FALSE(mode);
    CHECK_FALSE(history);
    z.backward({.create_graph = true});
    CHECK(mode);
    CHECK(history);
    x.impl().grad = nullptr;
}
