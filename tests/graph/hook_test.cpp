// Hooks on the gradients of tensors.
#include <numeric>

#include "walk.hpp"

TEST_CASE("a hook sees the gradient of its tensor, a leaf or not") {
    D x({1., 2.}, xg::requires_grad);
    D y = x * x;
    D at_x, at_y;
    x.register_hook([&](D const& g) { at_x = g; });
    y.register_hook([&](D const& g) { at_y = g; });
    sum(y * 3.).backward();
    CHECK(difference(at_y, {3., 3.}) == "");
    CHECK(difference(at_x, {6., 12.}) == "");
    CHECK(difference(x.grad(), {6., 12.}) == "");
}

TEST_CASE("a hook sees the whole gradient, once, however many uses the tensor has") {
    D x({1., 2.}, xg::requires_grad);
    D y = x * 2.;
    int calls = 0;
    D seen;
    y.register_hook([&](D const& g) {
        ++calls;
        seen = g;
    });
    D const a = y * 3., b = y * 4., c = y + a;
    sum(a + b + c).backward();
    CHECK(calls == 1);
    CHECK(difference(seen, {11., 11.}) == "");
}

TEST_CASE("a returned gradient replaces the one that came, a void hook leaves it") {
    D x({1., 2.}, xg::requires_grad);
    SUBCASE("a tensor") {
        x.register_hook([](D const& g) { return D(g * 10.); });
    }
    SUBCASE("an expression") {
        x.register_hook([](D const& g) { return g * 10.; });
    }
    SUBCASE("an AnyTensor") {
        x.register_hook([](D const& g) -> xg::AnyTensor { return D(g * 10.); });
    }
    SUBCASE("with a hook that takes its argument by value") {
        x.register_hook([](D g) { return D(g * 10.); });
    }
    SUBCASE("between hooks that leave it") {
        x.register_hook([](D const&) {});
        x.register_hook([](D const& g) { return D(g * 10.); });
        x.register_hook([](D const&) { return D(); });
    }
    sum(x * x).backward();
    CHECK(difference(x.grad(), {20., 40.}) == "");
}

TEST_CASE("hooks run in the order of their registration, each with the result of the one before") {
    D x({1., 2.}, xg::requires_grad);
    std::vector<double> seen;
    x.register_hook([&](D const& g) {
        seen.push_back(values(g)[0]);
        return D(g + 1.);
    });
    x.register_hook([&](D const& g) {
        seen.push_back(values(g)[0]);
        return D(g * 10.);
    });
    x.register_hook([&](D const& g) { seen.push_back(values(g)[0]); });
    sum(x * 2.).backward();
    CHECK(seen == std::vector<double>{2, 3, 30});
    CHECK(difference(x.grad(), {30., 30.}) == "");
}

TEST_CASE("what a hook of an intermediate returns flows on to the leaves") {
    D x({1., 2.}, xg::requires_grad);
    D y = x * x;
    y.register_hook([](D const& g) { return D(g * 10.); });
    sum(y * 3.).backward();
    CHECK(difference(x.grad(), {60., 120.}) == "");
}

TEST_CASE("two hooks over three passes, the second registered and removed on the way") {
    D x = xg::ones({5, 5}, xg::requires_grad), y = xg::full({5, 5}, 4., xg::requires_grad);
    int counter = 0;
    D z = x * x + x * 2. + x * y + y;
    auto const count = [&](int by) { return [&counter, by](D const&) { counter += by; }; };
    x.register_hook(count(0));
    auto first = z.register_hook(count(1));
    z.backward(xg::ones({5, 5}), {.retain_graph = true});
    CHECK(counter == 1);
    auto second = z.register_hook(count(2));
    z.backward(xg::ones({5, 5}), {.retain_graph = true});
    CHECK(counter == 4);
    second.remove();
    z.backward(xg::ones({5, 5}), {.retain_graph = true});
    CHECK(counter == 5);
    first.remove();
    z.register_hook([](D const& g) { return D(g * 2.); });
    y.zero_grad();
    z.backward(xg::ones({5, 5}));
    CHECK(difference(y.grad(), xg::full({5, 5}, 4.)) == "");
    CHECK(counter == 5);
}

TEST_CASE("removing twice is harmless, and dropping the handle keeps the hook") {
    D x({1.}, xg::requires_grad);
    int kept = 0, removed = 0;
    x.register_hook([&](D const&) { ++kept; });
    auto handle = x.register_hook([&](D const&) { ++removed; });
    auto copy = handle;
    handle.remove();
    handle.remove();
    copy.remove();
    D(x * x).backward();
    CHECK(kept == 1);
    CHECK(removed == 0);
}

TEST_CASE("a handle may outlive its tensor") {
    xg::HookHandle handle;
    {
        D x({1.}, xg::requires_grad);
        handle = x.register_hook([](D const&) {});
    }
    handle.remove();
    xg::HookHandle().remove();
}

TEST_CASE("a hook may remove itself: the others run, and next time it does not") {
    D x({1.}, xg::requires_grad);
    int self = 0, other = 0;
    xg::HookHandle handle;
    handle = x.register_hook([&](D const& g) {
        handle.remove();
        ++self;
        return D(g * 2.);
    });
    x.register_hook([&](D const&) { ++other; });
    D(x * x).backward();
    CHECK(x.grad().item() == 4);
    D(x * x).backward();
    CHECK(self == 1);
    CHECK(other == 2);
}

TEST_CASE("a later hook that is removed by an earlier one does not run") {
    D x({1.}, xg::requires_grad);
    int later = 0;
    xg::HookHandle handle;
    x.register_hook([&](D const&) { handle.remove(); });
    handle = x.register_hook([&](D const&) { ++later; });
    D(x * x).backward();
    CHECK(later == 0);
}

TEST_CASE("a hook that is removed by another tensor's hook in the same pass does not run") {
    D x({1.}, xg::requires_grad);
    D y = x * x;
    int calls = 0;
    auto handle = x.register_hook([&](D const&) { ++calls; });
    y.register_hook([&](D const&) { handle.remove(); });
    D(y * 2.).backward();
    CHECK(calls == 0);
}

TEST_CASE("a hook added by a hook runs from the next pass on") {
    D x({1.}, xg::requires_grad);
    int added = 0;
    auto handle = x.register_hook([&](D const&) { x.register_hook([&](D const&) { ++added; }); });
    D(x * x).backward();
    CHECK(added == 0);
    handle.remove();
    D(x * x).backward();
    CHECK(added == 1);
}

TEST_CASE("a hook keeps a state of its own from call to call") {
    D x({1.}, xg::requires_grad);
    int last = 0;
    x.register_hook([&last, calls = 0](D const&) mutable { last = ++calls; });
    D(x * x).backward();
    D(x * x).backward();
    CHECK(last == 2);
}

TEST_CASE(
    "hooks belong to the tensor, not to its copies by clone or detach; a handle to it is it") {
    D x({1.}, xg::requires_grad);
    int calls = 0;
    D same = x;
    same.register_hook([&](D const&) { ++calls; });
    D copy = x.detach().requires_grad_();
    D(copy * copy).backward();
    CHECK(calls == 0);
    D(x * x).backward();
    CHECK(calls == 1);
}

TEST_CASE("a hook may return only a gradient of the same shape and scalar type") {
    D x({1., 2., 3.}, xg::requires_grad);
    auto const refused = [&]<class Error>(std::type_identity<Error>, auto hook, char const* text) {
        auto handle = x.register_hook(hook);
        CHECK_THROWS_WITH_AS(sum(x * x).backward(), doctest::Contains(text), Error);
        handle.remove();
        CHECK_FALSE(x.grad().defined());
    };
    std::type_identity<xg::ShapeError> const shape;
    std::type_identity<xg::TypeError> const type;
    refused(
        shape,
        [](D const&) {
            return D({1., 2.});
        },
        "has changed the size of value");
    refused(
        shape, [](D const&) { return D({1.}); }, "has changed the size of value");
    refused(
        shape, [](D const& g) { return sum(g); }, "has changed the size of value");
    refused(
        type,
        [](D const&) {
            return xg::AnyTensor(F({1.f, 2.f, 3.f}));
        },
        "has changed the type of value (was float64 got float32)");
    refused(
        type, [](D const& g) { return xg::AnyTensor(Z(g * complex<double>(1, 0))); },
        "has changed the type of value (was float64 got complex128)");
    sum(x * x).backward();
    CHECK(difference(x.grad(), {2., 4., 6.}) == "");
}

TEST_CASE("a tensor that requires no grad takes no hook") {
    D c({1., 2.});
    CHECK_THROWS_WITH_AS(c.register_hook([](D const&) {}),
        doctest::Contains("cannot register a hook on a variable that doesn't require gradient"),
        xg::GraphError);
    CHECK_THROWS_AS(D().register_hook([](D const&) {}), xg::Error);
    D x({1., 2.}, xg::requires_grad);
    CHECK_THROWS_AS(x.detach().register_hook([](D const&) {}), xg::GraphError);
}

namespace {
struct Boom {
    int code;
};
} // namespace

TEST_CASE("what a hook throws comes out as it is, and another pass works") {
    D x({1., 2.}, xg::requires_grad), w({3., 4.}, xg::requires_grad);
    D y = x * w;
    auto handle = y.register_hook([](D const&) { throw Boom{7}; });
    D const z = sum(y * y);
    try {
        z.backward();
        FAIL("nothing was thrown");
    } catch (Boom const& b) { CHECK(b.code == 7); }
    CHECK_FALSE(x.grad().defined());
    CHECK_FALSE(w.grad().defined());
    CHECK(values(x) == std::vector<double>{1, 2});
    CHECK(x.version() == 0);
    handle.remove();
    sum(x * w).backward();
    CHECK(difference(x.grad(), {3., 4.}) == "");
}

TEST_CASE("after a hook has thrown, what had not run yet can still be differentiated") {
    D x({1., 2.}, xg::requires_grad);
    D y = x * x;
    bool fail = true;
    y.register_hook([&](D const&) {
        if (fail) throw Boom{1};
    });
    D const z = sum(y + y); // saves nothing, so it can run twice
    CHECK_THROWS_AS(z.backward(), Boom);
    CHECK_THROWS_AS(z.backward(), Boom);
    fail = false;
    z.backward();
    CHECK(difference(x.grad(), {4., 8.}) == "");
}

TEST_CASE("a hook on a leaf that throws leaves its gradient as it was") {
    D x({1., 2.}, xg::requires_grad);
    sum(x * x).backward();
    auto handle = x.register_hook([](D const&) { throw Boom{1}; });
    CHECK_THROWS_AS(sum(x * x).backward(), Boom);
    CHECK(difference(x.grad(), {2., 4.}) == "");
    handle.remove();
    sum(x * x).backward();
    CHECK(difference(x.grad(), {4., 8.}) == "");
}

TEST_CASE("under create_graph the gradient of a hook's arithmetic is found too") {
    D x(3., xg::requires_grad);
    x.register_hook([](D const& g) { return D(g * g); });
    D const g = grad(D(x * x), x, {.create_graph = true}); // (2x)^2 = 36
    CHECK(g.item() == 36);
    // of 4 x^2: 8x = 24, then through the hook once more
    CHECK(grad(g, x).item() == 576);
}

TEST_CASE("a hook may start a pass of its own") {
    D x({1., 2.}, xg::requires_grad), w({5., 6.}, xg::requires_grad);
    D y = x * x;
    SUBCASE("over another graph") {
        y.register_hook([&](D const&) {
            xg::EnableGradGuard const on;
            sum(w * w).backward();
        });
        sum(y * 3.).backward();
        CHECK(difference(w.grad(), {10., 12.}) == "");
        CHECK(difference(x.grad(), {6., 12.}) == "");
    }
    SUBCASE("into the same leaf") {
        y.register_hook([&](D const&) {
            xg::EnableGradGuard const on;
            sum(x * x).backward();
        });
        sum(y * 3.).backward();
        CHECK(difference(x.grad(), {8., 16.}) == "");
    }
    SUBCASE("over the same graph") {
        D const z = sum(y * w);
        bool inner = false;
        D inner_gradient;
        y.register_hook([&](D const&) {
            if (std::exchange(inner, true)) return;
            inner_gradient = grad(z, x, {.retain_graph = true});
        });
        z.backward({.retain_graph = true});
        CHECK(difference(inner_gradient, {10., 24.}) == "");
        CHECK(difference(x.grad(), {10., 24.}) == "");
        CHECK(difference(w.grad(), {1., 4.}) == "");
    }
    SUBCASE("which fails, and leaves the outer one as it was") {
        y.register_hook([&](D const&) {
            CHECK_THROWS_AS(sum(D({1., 2.})).backward(), xg::GraphError);
        });
        sum(y * 3.).backward();
        CHECK(difference(x.grad(), {6., 12.}) == "");
    }
}

TEST_CASE("passes nest deeply") {
    D x(1., xg::requires_grad);
    int depth = 0;
    std::function<void()> const descend = [&] {
        xg::EnableGradGuard const on;
        D y = x * 2.;
        y.register_hook([&](D const&) {
            if (++depth < 200) descend();
        });
        y.backward();
    };
    descend();
    CHECK(depth == 200);
    CHECK(x.grad().item() == 400);
}

TEST_CASE("a hook may register a hook on another tensor of the running pass") {
    D x({1.}, xg::requires_grad);
    D y = x * x;
    int calls = 0;
    y.register_hook([&](D const&) { x.register_hook([&](D const&) { ++calls; }); });
    D(y * 2.).backward();
    CHECK(calls == 1);
}

TEST_CASE("retain_grad keeps the gradient of a tensor that is no leaf, and adds up over passes") {
    D const x({1., 2.}, xg::requires_grad);
    D y = x * x;
    CHECK_FALSE(y.retains_grad());
    y.retain_grad();
    y.retain_grad();
    CHECK(y.retains_grad());
    D const z = sum(y * 3.);
    z.backward({.retain_graph = true});
    CHECK(difference(y.grad(), {3., 3.}) == "");
    z.backward();
    CHECK(difference(y.grad(), {6., 6.}) == "");
    CHECK(difference(x.grad(), {12., 24.}) == "");
    CHECK_FALSE(share_memory(x.grad(), y.grad()));
}

TEST_CASE("without retain_grad only leaves keep a gradient") {
    D const x({1., 2.}, xg::requires_grad);
    D const y = x * x;
    sum(y * 3.).backward();
    CHECK_FALSE(y.grad().defined());
}

TEST_CASE("retain_grad sees what all hooks made of the gradient, whenever they were registered") {
    D const x({1., 2.}, xg::requires_grad);
    D y = x * x;
    y.register_hook([](D const& g) { return D(g * 2.); });
    y.retain_grad();
    y.register_hook([](D const& g) { return D(g * 5.); });
    sum(y).backward();
    CHECK(difference(y.grad(), {10., 10.}) == "");
    CHECK(difference(x.grad(), {20., 40.}) == "");
}

TEST_CASE("retain_grad does nothing to a leaf, and is refused where there is no gradient") {
    D x({1., 2.}, xg::requires_grad), c({1., 2.});
    x.retain_grad();
    CHECK_FALSE(x.retains_grad());
    sum(x * x).backward();
    CHECK(difference(x.grad(), {2., 4.}) == "");
    CHECK_THROWS_WITH_AS(c.retain_grad(),
        doctest::Contains("can't retain_grad on Tensor that has requires_grad=False"),
        xg::GraphError);
}

TEST_CASE("retain_grad of a tensor that is gone does no harm") {
    D const x({1., 2.}, xg::requires_grad);
    D z;
    {
        D y = x * x;
        y.retain_grad();
        z = sum(y + 1.);
    }
    z.backward();
    CHECK(difference(x.grad(), {2., 4.}) == "");
}

TEST_CASE("a retained gradient can be differentiated where the pass is recorded") {
    D const x({1., 2.}, xg::requires_grad);
    D y = x * x;
    y.retain_grad();
    sum(y * y).backward({.create_graph = true});
    CHECK(difference(y.grad(), {2., 8.}) == "");
    CHECK(difference(grad(sum(y.grad()), x), {4., 8.}) == "");
    x.impl().grad = nullptr;
}

TEST_CASE("hooks of float and complex tensors get gradients of their type") {
    F f({1.f, 2.f}, xg::requires_grad);
    Z z({complex<double>(1, 2)}, xg::requires_grad);
    F seen_f;
    Z seen_z;
    f.register_hook([&](F const& g) { seen_f = g; });
    z.register_hook([&](Z const& g) {
        seen_z = g;
        return Z(g * 2.);
    });
    sum(f * f).backward();
    sum(abs2(z)).backward();
    CHECK(difference(seen_f, {2.f, 4.f}) == "");
    CHECK(difference(seen_z, {complex<double>(2, 4)}) == "");
    CHECK(difference(z.grad(), {complex<double>(4, 8)}) == "");
}
