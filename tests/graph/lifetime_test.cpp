// How long Nodes, saved tensors and what hooks hold stay alive.
#include <thread>

#include "walk.hpp"

namespace {
using Gradients = std::vector<xg::AnyTensor>;

/// Says, by its copies, what is alive.
struct Tag {
    std::shared_ptr<int> const alive = std::make_shared<int>();
    /// A hook that holds a copy.
    auto hook() const {
        return [copy = alive](auto const&...) {};
    }
    long copies() const { return alive.use_count() - 1; }
};
} // namespace

TEST_CASE("a Node lives as long as its tensor, or a graph above it") {
    Tag const tag;
    D const x({1., 2.}, xg::requires_grad);
    D z;
    {
        D const y = x * x;
        y.grad_fn()->register_hook(tag.hook());
        z = sum(y * 1.);
    }
    CHECK(tag.copies() == 1);
    SUBCASE("never differentiated") {}
    SUBCASE("differentiated") { z.backward(); }
    SUBCASE("differentiated and kept") { z.backward({.retain_graph = true}); }
    SUBCASE("after an error") {
        D(x).register_hook([](D const&) { throw 1; });
        CHECK_THROWS_AS(z.backward(), int);
    }
    CHECK(tag.copies() == 1);
    z = D();
    CHECK(tag.copies() == 0);
}

TEST_CASE("every kind of hook is freed with what it was set on") {
    Tag const tag;
    {
        D x({1., 2.}, xg::requires_grad);
        D y = x * x;
        x.register_hook(tag.hook());
        x.register_post_accumulate_grad_hook(tag.hook());
        y.register_hook(tag.hook());
        y.grad_fn()->register_prehook(tag.hook());
        y.grad_fn()->register_hook(tag.hook());
        xg::register_multi_grad_hook({x, y}, tag.hook());
        CHECK(tag.copies() == 6);
        sum(y).backward();
        y = D();
        CHECK(tag.copies() == 3);
    }
    CHECK(tag.copies() == 0);
}

TEST_CASE("the memory of an operand that only the graph still holds is freed by backward, and kept "
          "with retain_graph") {
    D const x({1., 2.}, xg::requires_grad);
    auto const held = [](D const& t) {
        std::size_t n = 0;
        for (auto* const node : nodes_of(t))
            for (auto const& saved : node->saved_tensors()) n += saved.tensor->holds();
        return n;
    };
    xg::WeakTensor operand;
    D z;
    {
        D const factor({3., 4.});
        operand = xg::WeakTensor(factor);
        D const y = x * factor;
        z = sum(y * y);
    }
    auto const before = held(z);
    CHECK(before == 2);
    z.backward({.retain_graph = true});
    CHECK(held(z) == before);
    z.backward();
    CHECK(held(z) == 0);
    CHECK_FALSE(operand.lock().defined());
    CHECK(difference(x.grad(), {36., 128.}) == "");
}

TEST_CASE("a leaf that only the graph holds lives until the graph ends") {
    xg::WeakTensor leaf;
    D z;
    {
        D const w({1., 2.}, xg::requires_grad);
        leaf = xg::WeakTensor(w);
        z = sum(w * 2.);
    }
    CHECK(leaf.lock().defined());
    z.backward();
    CHECK(difference(leaf.lock().as<double>().grad(), {2., 2.}) == "");
    z = D();
    CHECK_FALSE(leaf.lock().defined());
}

TEST_CASE(
    "an intermediate that nobody holds is freed at once, whatever hooks and retain_grad it has") {
    D const x({1., 2.}, xg::requires_grad);
    xg::WeakTensor weak;
    D z;
    {
        D y = x + 1.;
        y.retain_grad();
        y.register_hook([](D const&) {});
        weak = xg::WeakTensor(y);
        z = sum(y + 2.);
    }
    CHECK_FALSE(weak.lock().defined());
    z.backward();
    CHECK(difference(x.grad(), {1., 1.}) == "");
}

TEST_CASE("a hook that knows its own tensor by a WeakTensor keeps nothing alive") {
    Tag const tag;
    {
        D x({1., 2.}, xg::requires_grad);
        D y = x * x;
        int seen = 0;
        auto const hook = [&seen, &tag](D const& t) {
            return [&seen, self = xg::WeakTensor(t), copy = tag.alive](
                       auto const&...) { seen += self.lock().defined(); };
        };
        x.register_hook(hook(x));
        y.register_hook(hook(y));
        x.register_post_accumulate_grad_hook(hook(x));
        y.grad_fn()->register_prehook(hook(y));
        sum(y).backward();
        CHECK(seen == 4);
        CHECK(tag.copies() == 4);
    }
    CHECK(tag.copies() == 0);
}

TEST_CASE("a hook may hold tensors from further down the graph, and a removed one lets them go") {
    D const x({1., 2.}, xg::requires_grad);
    xg::WeakTensor weak;
    D y = x * 2.;
    xg::HookHandle handle;
    {
        D const below = x * 3.;
        weak = xg::WeakTensor(below);
        handle = y.register_hook([below](D const& g) { return D(g * below); });
    }
    sum(y).backward();
    CHECK(difference(x.grad(), {6., 12.}) == "");
    CHECK(weak.lock().defined());
    handle.remove();
    CHECK_FALSE(weak.lock().defined());
}

TEST_CASE("outputs of one Node share it, and the last of them ends it") {
    Tag const tag;
    D const m({{1., 2.}, {3., 4.}}, xg::requires_grad);
    D last;
    {
        auto const rows = unbind(m);
        CHECK(rows[0].grad_fn() == rows[1].grad_fn());
        rows[0].grad_fn()->register_hook(tag.hook());
        last = rows[1];
    }
    CHECK(tag.copies() == 1);
    sum(last).backward();
    CHECK(difference(m.grad(), {{0., 0.}, {1., 1.}}) == "");
    last = D();
    CHECK(tag.copies() == 0);
}

TEST_CASE("a hook that drops the last handle to its own tensor, or to the root, ends well") {
    D x({1., 2.}, xg::requires_grad);
    D y = x * x, z = sum(y * 3.);
    z.register_hook([&](D const&) { z = D(); });
    y.register_hook([&](D const&) { y = D(); });
    y.grad_fn()->register_prehook([&](Gradients const&) { y = D(); });
    z.backward();
    CHECK_FALSE(y.defined());
    CHECK_FALSE(z.defined());
    CHECK(difference(x.grad(), {6., 12.}) == "");
}

TEST_CASE("gradients of gradients are freed when their tensors are, and grad() leaves no cycle") {
    Tag const tag;
    {
        D const x({1., 2.}, xg::requires_grad);
        D const y = sum(x * x * x);
        y.grad_fn()->register_hook(tag.hook());
        D const g = grad(y, x, {.create_graph = true});
        CHECK(difference(grad(sum(g), x), {6., 12.}) == "");
    }
    CHECK(tag.copies() == 0);
}

TEST_CASE("retain_grad with in-place changes leaves no cycle") {
    Tag const tag;
    xg::WeakTensor weak;
    {
        D x({1., 2.}, xg::requires_grad);
        D y = x * 2.;
        y.register_hook(tag.hook());
        y.retain_grad();
        y += 1.;
        y *= 3.;
        sum(y).backward();
        CHECK(difference(y.grad(), {1., 1.}) == "");
        weak = xg::WeakTensor(y);
    }
    CHECK_FALSE(weak.lock().defined());
    CHECK(tag.copies() == 0);
}

TEST_CASE("a graph of 100,000 Nodes with hooks is freed without recursion") {
    Tag const tag;
    std::thread([&] { // whose stack stays small where that of the main one is unlimited
        D x(1., xg::requires_grad);
        auto const grow = [&](auto add_hook) {
            D y = x;
            for (int i = 0; i < 100'000; ++i) {
                y = y * 1.;
                add_hook(y);
            }
            return y;
        };
        grow([&](D& y) { y.register_hook(tag.hook()); });
        D const kept = grow([&](D& y) { y.grad_fn()->register_hook(tag.hook()); });
        kept.backward({.retain_graph = true});
        // each hook holds the tensor below its own: the graph is held twice over
        D below = x;
        grow([&](D& y) {
            y.register_hook([below, copy = tag.alive](D const&) {});
            below = y;
        });
    })
        .join();
    CHECK(tag.copies() == 0);
}

TEST_CASE(
    "a chain of 200,000 leaves, each held by a hook of the next, is freed without recursion") {
    Tag const tag;
    constexpr int count = 200'000;
    SUBCASE("tensor hooks") {
        D last;
        for (int i = 0; i < count; ++i) {
            D x(1., xg::requires_grad);
            x.register_hook([last, copy = tag.alive](D const&) {});
            last = x;
        }
        CHECK(tag.copies() == count);
    }
    SUBCASE("hooks after accumulation, as a graph ends") {
        D last(1., xg::requires_grad), end;
        for (int i = 0; i < count; ++i) {
            D x(1., xg::requires_grad);
            x.register_post_accumulate_grad_hook([last, copy = tag.alive](D const&) {});
            last = x;
        }
        end = exp(last);
        last = D();
        CHECK(tag.copies() == count);
        end.backward();
    }
    CHECK(tag.copies() == 0);
}

TEST_CASE("100,000 Nodes that branch and meet are freed without recursion") {
    double gradient = 0;
    std::thread([&] {
        D const x(1., xg::requires_grad);
        D before = x, y = x;
        for (int i = 0; i < 100'000; ++i) before = std::exchange(y, D(y * 0.5 + before * 0.5));
        y.backward();
        gradient = x.grad().item();
    }).join();
    CHECK(gradient == doctest::Approx(1));
}
