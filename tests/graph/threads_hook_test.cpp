// Hooks while several threads run passes.
#include "threads.hpp"

TEST_CASE("a hook of several gradients runs once in each of five threads' passes, with the "
          "gradients of that pass") {
    D const a({1., 2.}, xg::requires_grad), b({3., 4.}, xg::requires_grad);
    D const product = a * b;
    std::atomic<int> calls = 0, right = 0;
    SUBCASE("when all have come") {
        xg::register_multi_grad_hook({a, b, product}, [&](std::vector<xg::AnyTensor> const& g) {
            ++calls;
            D const k = g[2].as<double>();
            right += difference(g[0].as<double>(), D(k * b.detach())).empty() &&
                     difference(g[1].as<double>(), D(k * a.detach())).empty();
        });
        at_once(5, [&](int k) {
            for (int i = 0; i < 20; ++i)
                grad(sum(product * (1. + k)), xg::inputs(a, b), {.retain_graph = true});
        });
        CHECK(right == 100);
    }
    SUBCASE("when the first has come") {
        xg::register_multi_grad_hook(
            {a, b, product},
            [&](xg::AnyTensor const& g) {
                ++calls;
                right += g.as<double>().data()[0] >= 1 && g.as<double>().data()[0] <= 5;
            },
            xg::any);
        at_once(5, [&](int k) {
            for (int i = 0; i < 20; ++i)
                grad(sum(product * (1. + k)), xg::inputs(a, b), {.retain_graph = true});
        });
        CHECK(right == 100);
    }
    CHECK(calls == 100);
}

TEST_CASE("hooks come and go on a leaf and on a Node while other threads run passes over them") {
    D x({1., 2.}, xg::requires_grad);
    D y = x * 2.;
    xg::Node* const node = y.grad_fn();
    std::atomic<int> calls = 0, right = 0;
    std::atomic<bool> done = false;
    std::thread coming_and_going([&] {
        while (!done) {
            auto a = x.register_hook([&](D const&) { ++calls; });
            auto b = y.register_hook([&](D const& g) {
                ++calls;
                return g;
            });
            auto c = node->register_prehook([&](std::vector<xg::AnyTensor> const&) { ++calls; });
            auto d = node->register_hook([&](std::vector<xg::AnyTensor> const&,
                                             std::vector<xg::AnyTensor> const&) { ++calls; });
            auto e = x.register_post_accumulate_grad_hook([&](D const&) { ++calls; });
            for (auto* handle : {&a, &b, &c, &d, &e}) handle->remove();
        }
    });
    at_once(3, [&](int) {
        for (int i = 0; i < 100; ++i) {
            right += difference(grad(sum(y), x, {.retain_graph = true}), {2., 2.}) == "";
            y.backward(D({1., 1.}), {.retain_graph = true});
        }
    });
    done = true;
    coming_and_going.join();
    CHECK(right == 300);
    CHECK(difference(x.grad(), {600., 600.}) == "");
    int const before = calls;
    y.backward(D({1., 1.}));
    CHECK(calls == before);
}

TEST_CASE("threads that register hooks on one tensor at once lose none") {
    for (int round = 0; round < 20; ++round) {
        D x(1., xg::requires_grad);
        D y = x * 2.;
        std::atomic<int> calls = 0;
        at_once(4, [&](int) {
            D leaf = x, result = y;
            leaf.register_hook([&](D const&) { ++calls; });
            result.register_hook([&](D const&) { ++calls; });
            result.grad_fn()->register_prehook([&](std::vector<xg::AnyTensor> const&) { ++calls; });
        });
        y.backward();
        CHECK(calls == 12);
    }
}

TEST_CASE("a hook after accumulation sees a finished .grad, one thread at a time") {
    // the hook empties .grad into a sum of its own, without a lock: nothing is lost, nothing taken
    // twice
    D w({0., 0.}, xg::requires_grad);
    D total({0., 0.});
    w.register_post_accumulate_grad_hook([&](D leaf) {
        total += leaf.grad();
        leaf.zero_grad();
    });
    at_once(4, [&](int k) {
        for (int i = 0; i < 50; ++i) sum(w * (1. + k)).backward();
    });
    CHECK(difference(total, {500., 500.}) == "");
    CHECK_FALSE(w.grad().defined());
}

TEST_CASE("a kept .grad of an intermediate collects from all threads") {
    D const x({1., 2.}, xg::requires_grad);
    D y = x * 2.;
    y.retain_grad();
    at_once(4, [&](int k) {
        for (int i = 0; i < 25; ++i) sum(y * (1. + k)).backward({.retain_graph = true});
    });
    CHECK(difference(y.grad(), {250., 250.}) == "");
    CHECK(difference(x.grad(), {500., 500.}) == "");
}

TEST_CASE("backward() into an intermediate collects from all threads") {
    D const x({1., 2.}, xg::requires_grad);
    D const y = x * 2.;
    at_once(4, [&](int k) {
        for (int i = 0; i < 25; ++i)
            sum(y * (1. + k)).backward({.retain_graph = true, .inputs = {y}});
    });
    CHECK(difference(D(xg::AnyTensor(y.impl().grad).as<double>()), {250., 250.}) == "");
    CHECK_FALSE(x.grad().defined());
}

TEST_CASE("weak handles of one tensor are made and looked at by several threads while it ends") {
    for (int round = 0; round < 50; ++round) {
        D x({1., 2.}, xg::requires_grad);
        std::vector<D> owners(4, x);
        x = D();
        std::atomic<int> right = 0;
        at_once(4, [&](int k) {
            auto& mine = owners[static_cast<std::size_t>(k)];
            xg::WeakTensor const weak(mine);
            right += weak.lock().is_same(mine);
            mine = D();
            auto const still = weak.lock();
            right += !still.defined() || still.as<double>().data()[1] == 2.;
        });
        CHECK(right == 8);
    }
}

TEST_CASE("callbacks of a pass run once each, after that pass, in its thread") {
    std::atomic<int> right = 0;
    at_once(4, [&](int k) {
        for (int i = 0; i < 25; ++i) {
            D x(1. + k, xg::requires_grad);
            D y = x * x;
            auto const me = std::this_thread::get_id();
            y.register_hook([&](D const&) {
                xg::queue_callback([&] {
                    right += x.grad().item() == 2. * (1. + k) && std::this_thread::get_id() == me;
                });
            });
            y.backward();
        }
    });
    CHECK(right == 100);
}
