// Callbacks for the end of a backward pass.
#include "walk.hpp"

TEST_CASE("callbacks run after the whole pass, in the order of queueing") {
    D x(1., xg::requires_grad);
    D y = x * 2.;
    std::string order;
    D at_end;
    y.register_hook([&](D const&) {
        order += 'y';
        xg::queue_callback([&] {
            order += '1';
            at_end = x.grad();
        });
        xg::queue_callback([&] { order += '2'; });
    });
    x.register_hook([&](D const&) {
        order += 'x';
        xg::queue_callback([&] { order += '3'; });
    });
    SUBCASE("a graph of one Node") {
        y.backward();
        CHECK(difference(at_end, D(2.)) == "");
    }
    SUBCASE("a longer one") {
        D(y * 3.).backward();
        CHECK(difference(at_end, D(6.)) == "");
    }
    CHECK(order == "yx123");
}

TEST_CASE("a callback may queue another, which runs after all that were queued") {
    D x(1., xg::requires_grad);
    std::string order;
    x.register_hook([&](D const&) {
        xg::queue_callback([&] {
            order += 'a';
            xg::queue_callback([&] {
                order += 'c';
                xg::queue_callback([&] { order += 'd'; });
            });
        });
        xg::queue_callback([&] { order += 'b'; });
    });
    D(x * x).backward();
    CHECK(order == "abcd");
    D(x * x).backward();
    CHECK(order == "abcdabcd");
}

TEST_CASE("many callbacks, each queued by the one before") {
    D x(1., xg::requires_grad);
    int count = 0;
    std::function<void()> const next = [&] {
        if (++count < 10'000) xg::queue_callback(next);
    };
    x.register_hook([&](D const&) { xg::queue_callback(next); });
    D(x * x).backward();
    CHECK(count == 10'000);
}

TEST_CASE("callbacks can only be queued inside a pass") {
    char const* const text = "Final callbacks can only be installed during backward pass.";
    CHECK_THROWS_WITH_AS(xg::queue_callback([] {}), doctest::Contains(text), xg::GraphError);
    D x(1., xg::requires_grad);
    x.register_hook([](D const&) { throw 1; });
    CHECK_THROWS_AS(D(x * x).backward(), int);
    CHECK_THROWS_WITH_AS(xg::queue_callback([] {}), doctest::Contains(text), xg::GraphError);
}

TEST_CASE("what a callback throws leaves backward; the gradients are there, and later callbacks "
          "are dropped") {
    D x(1., xg::requires_grad);
    int later = 0;
    auto handle = x.register_hook([&](D const&) {
        xg::queue_callback([] { throw std::string("callback"); });
        xg::queue_callback([&] { ++later; });
    });
    CHECK_THROWS_AS(D(x * 3.).backward(), std::string);
    CHECK(x.grad().item() == 3);
    CHECK(later == 0);
    handle.remove();
    D(x * 3.).backward();
    CHECK(x.grad().item() == 6);
    CHECK(later == 0);
}

TEST_CASE("callbacks of a pass that failed do not run") {
    D x(1., xg::requires_grad);
    D y = x * 2.;
    int calls = 0;
    y.register_hook([&](D const&) { xg::queue_callback([&] { ++calls; }); });
    auto handle = x.register_hook([](D const&) { throw 1; });
    D const z = y * 1.;
    CHECK_THROWS_AS(z.backward({.retain_graph = true}), int);
    CHECK(calls == 0);
    handle.remove();
    z.backward();
    CHECK(calls == 1);
}

TEST_CASE("callbacks belong to the level of the pass that queues them") {
    D x(1., xg::requires_grad), w(1., xg::requires_grad);
    std::string order;
    bool outer = false, inner = false;
    SUBCASE("the outer") { outer = true; }
    SUBCASE("the inner") { inner = true; }
    SUBCASE("both") { outer = inner = true; }
    w.register_hook([&](D const&) {
        if (inner) xg::queue_callback([&] { order += 'i'; });
    });
    D y = x * 2.;
    y.register_hook([&](D const&) {
        if (outer) xg::queue_callback([&] { order += 'o'; });
        {
            xg::EnableGradGuard const on;
            D(w * w).backward();
        }
        order += '|';
        if (outer) xg::queue_callback([&] { order += 'p'; });
    });
    x.register_hook([&](D const&) { order += 'x'; });
    D(y * 1.).backward();
    CHECK(order == std::string(inner ? "i" : "") + "|x" + (outer ? "op" : ""));
}

TEST_CASE("a callback may start a pass of its own, with callbacks of its own") {
    D x(1., xg::requires_grad), w(2., xg::requires_grad);
    std::string order;
    w.register_hook([&](D const&) { xg::queue_callback([&] { order += 'w'; }); });
    x.register_hook([&](D const&) {
        xg::queue_callback([&] {
            order += 'x';
            D(w * x.grad()).backward();
            order += '.';
        });
    });
    D(x * x).backward();
    CHECK(order == "xw.");
    CHECK(w.grad().item() == 2);
}

TEST_CASE("grad() runs callbacks too") {
    D const x(1., xg::requires_grad);
    D y = x * 2.;
    int calls = 0;
    y.register_hook([&](D const&) { xg::queue_callback([&] { ++calls; }); });
    CHECK(grad(D(y * 1.), x).item() == 2);
    CHECK(calls == 1);
}
