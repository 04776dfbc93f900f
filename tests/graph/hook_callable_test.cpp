// What may be a hook: functions, objects, lambdas that change or share a state.
#include "walk.hpp"

namespace {
D doubled(D const& g) { return g * 2.; }
int calls_of_counted = 0;
void counted(D const&) { ++calls_of_counted; }

struct Scale {
    double factor;
    D operator()(D const& g) const { return g * factor; }
};
} // namespace

TEST_CASE("a hook is anything that can be called with a gradient") {
    D x({1., 2.}, xg::requires_grad);
    SUBCASE("a function") { x.register_hook(doubled); }
    SUBCASE("a pointer to a function") { x.register_hook(&doubled); }
    SUBCASE("a std::function") { x.register_hook(std::function<D(D const&)>(doubled)); }
    SUBCASE("a std::function that returns nothing, beside one") {
        x.register_hook(std::function<void(D const&)>([](D const&) {}));
        x.register_hook(doubled);
    }
    SUBCASE("an object of a class") { x.register_hook(Scale{2}); }
    SUBCASE("a reference to an object, which may change later") {
        static Scale scale{100};
        x.register_hook(std::ref(scale));
        scale.factor = 2;
    }
    SUBCASE("a generic lambda") {
        x.register_hook([](auto const& g) { return D(g * 2.); });
    }
    SUBCASE("a lambda with move-only state behind a shared pointer") {
        auto state = std::make_shared<std::unique_ptr<double>>(std::make_unique<double>(2));
        x.register_hook([state](D const& g) { return D(g * **state); });
        state.reset();
    }
    sum(x * x).backward();
    CHECK(difference(x.grad(), {4., 8.}) == "");
}

TEST_CASE("a function without a result is a hook") {
    D x({1.}, xg::requires_grad);
    x.register_hook(counted);
    x.register_post_accumulate_grad_hook(counted);
    calls_of_counted = 0;
    D(x * x).backward();
    CHECK(calls_of_counted == 2);
}

TEST_CASE("one callable registered twice is two hooks, each with a state of its own") {
    D x(1., xg::requires_grad);
    std::vector<int> seen;
    auto hook = [&seen, n = 0](D const& g) mutable {
        seen.push_back(++n);
        return D(g * 2.);
    };
    x.register_hook(hook);
    auto second = x.register_hook(hook);
    D(x * 1.).backward();
    CHECK(seen == std::vector{1, 1});
    CHECK(x.grad().item() == 4);
    second.remove();
    D(x * 1.).backward();
    CHECK(seen == std::vector{1, 1, 2});
}

TEST_CASE("removing a hook frees what it holds, and so does the end of its tensor") {
    auto const held = std::make_shared<int>(1);
    D x({1.}, xg::requires_grad);
    {
        auto handle = x.register_hook([held](D const&) {});
        CHECK(held.use_count() == 2);
        handle.remove();
        CHECK(held.use_count() == 1);
    }
    x.register_hook([held](D const&) {});
    x.register_post_accumulate_grad_hook([held](D const&) {});
    CHECK(held.use_count() == 3);
    D y = x * x;
    y.register_hook([held](D const&) {});
    D(y * 1.).backward();
    CHECK(held.use_count() == 4);
    y = D();
    CHECK(held.use_count() == 3);
    x = D();
    CHECK(held.use_count() == 1);
}

TEST_CASE("a hook that removes itself may still use what it holds") {
    D x(1., xg::requires_grad);
    xg::HookHandle handle;
    handle = x.register_hook([&handle, text = std::string(100, 'x')](D const& g) {
        handle.remove();
        return D(g * static_cast<double>(text.size()));
    });
    D(x * 1.).backward();
    CHECK(x.grad().item() == 100);
}

TEST_CASE("a hook may change the gradient in place") {
    D x({1., 2.}, xg::requires_grad);
    x.register_hook([](D g) { g.fill_(5.); });
    D const y = x * x;
    y.backward(D({1., 1.}));
    CHECK(difference(x.grad(), {5., 5.}) == "");
}

TEST_CASE("hooks are not recorded unless the pass is, and then they are") {
    D x(3., xg::requires_grad);
    bool on = true;
    bool gradient_requires_grad = true;
    x.register_hook([&](D const& g) {
        on = xg::is_grad_enabled();
        gradient_requires_grad = g.requires_grad();
        return D(g * x);
    });
    D const y = x * x;
    CHECK_FALSE(grad(y, x, {.retain_graph = true}).requires_grad());
    CHECK_FALSE(on);
    CHECK_FALSE(gradient_requires_grad);
    D const g = grad(y, x, {.create_graph = true}); // 2x x
    CHECK(g.item() == 18);
    CHECK(on);
    CHECK(gradient_requires_grad);
    CHECK(grad(g, x).item() == 12 * 3); // 4x, times x by the hook
}

TEST_CASE("an expression is no place for a hook, the tensor made from it is") {
    D const x({1., 2.}, xg::requires_grad);
    D a = x * 2.;
    int calls = 0;
    a.register_hook([&](D const&) { ++calls; });
    D const b = x * 2.;
    sum(b).backward();
    CHECK(calls == 0);
    sum(a).backward();
    CHECK(calls == 1);
}
