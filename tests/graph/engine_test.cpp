// The engine on graphs that are long, wide, or branch and meet.
#include <thread>

#include "walk.hpp"

TEST_CASE("a chain of a million Nodes is built, differentiated and freed without a deep stack") {
    // in a thread, whose stack stays small where that of the main one is unlimited: no recursion
    // could pay for a million calls
    double gradient = 0, second = 0;
    std::thread([&] {
        D const x(1., xg::requires_grad);
        {
            D y = x;
            for (int i = 0; i < 1'000'000; ++i) y = y * 1.;
            y.backward({.retain_graph = true});
            gradient = x.grad().item();
            second = grad(y, x).item();
        }
        D y = x;
        for (int i = 0; i < 1'000'000; ++i)
            y = y * y; // never differentiated, with saved operands: only freed
    }).join();
    CHECK(gradient == 1);
    CHECK(second == 1);
}

TEST_CASE("a long chain whose values are saved is freed Node by Node as well") {
    D const x({1., 1.}, xg::requires_grad);
    D y = x;
    for (int i = 0; i < 100'000; ++i) y = y * x;
    sum(y).backward();
    CHECK(difference(x.grad(), {100'001., 100'001.}) == "");
}

TEST_CASE("a long recorded gradient is freed without recursion") {
    D const x(1., xg::requires_grad);
    D g;
    {
        D y = x;
        for (int i = 0; i < 50'000; ++i) y = y * x;
        g = grad(y, x, {.create_graph = true});
    }
    CHECK(g.item() == 50'001);
    CHECK(grad(g, x, {.retain_graph = true}).item() == 50'001. * 50'000.);
    g = D();
}

TEST_CASE("ten thousand leaves summed pairwise each get their gradient") {
    std::vector<D> leaves, level;
    for (int i = 0; i < 10'000; ++i)
        leaves.push_back(D({static_cast<double>(i)}, xg::requires_grad));
    for (auto const& x : leaves) level.push_back(x * 2.);
    while (level.size() > 1) {
        std::vector<D> next;
        for (std::size_t i = 0; i + 1 < level.size(); i += 2)
            next.push_back(level[i] + level[i + 1]);
        if (level.size() % 2) next.push_back(level.back());
        level = std::move(next);
    }
    CHECK(level[0].item() == 9999. * 10'000.);
    level[0].backward();
    bool right = true;
    for (auto const& x : leaves) right &= x.grad().item() == 2;
    CHECK(right);
}

TEST_CASE("one leaf used ten thousand times gets the sum") {
    D x({1., 2.}, xg::requires_grad);
    int calls = 0;
    x.register_hook([&](D const&) { ++calls; });
    D total = x * 0.;
    for (int i = 0; i < 10'000; ++i) total = total + x * 1.;
    sum(total).backward();
    CHECK(difference(x.grad(), {10'000., 10'000.}) == "");
    CHECK(calls == 1);
}

TEST_CASE("where paths meet, each Node runs once, with the whole gradient") {
    D x(2., xg::requires_grad);
    std::vector<int> calls;
    auto const count = [&](D& t) {
        t.register_hook([&calls, i = calls.size()](D const&) { ++calls[i]; });
        calls.push_back(0);
    };
    count(x);
    D at = x;
    double wanted = 1;
    for (int i = 0; i < 40; ++i) { // 2^40 paths
        D left = at * 0.5, right = at * 1.5;
        count(left);
        count(right);
        at = left + right;
        count(at);
        wanted *= 2;
    }
    at.backward();
    CHECK(calls == std::vector<int>(calls.size(), 1));
    CHECK(x.grad().item() == wanted);
}

TEST_CASE("of Nodes that are ready the newest runs first") {
    D const x(1., xg::requires_grad);
    std::string order;
    auto const note = [&](D& t, char name) {
        t.register_hook([&order, name](D const&) { order += name; });
    };
    D a = x * 2., b = x * 3., c = x * 4.;
    note(a, 'a');
    note(b, 'b');
    note(c, 'c');
    SUBCASE("in the order of the sum") { D(a + b + c).backward(); }
    SUBCASE("in another order") { D(c + (b + a)).backward(); }
    SUBCASE("on paths of different lengths") {
        D const d = a + b;
        D(d + c).backward();
        CHECK(order == "cba");
    }
    CHECK(order == "cba");
}

TEST_CASE("a leaf is done as soon as its gradient is complete") {
    D x(1., xg::requires_grad), y(1., xg::requires_grad);
    std::string order;
    D p = x * 2.;
    p.register_hook([&](D const&) { order += 'p'; });
    y.register_hook([&](D const&) { order += 'y'; });
    x.register_hook([&](D const&) { order += 'x'; });
    D(p * y).backward();
    CHECK(order == "ypx");
}

TEST_CASE("a Node waits for every gradient that is on its way") {
    D const x(1., xg::requires_grad);
    D early = x * 2.;
    D late = early * 3.;
    double seen = 0;
    early.register_hook([&](D const& g) { seen = g.item(); });
    D far = late;
    for (int i = 0; i < 10; ++i) far = far * 1.;
    D(early + far).backward();
    CHECK(seen == 4);
    CHECK(x.grad().item() == 8);
}

TEST_CASE("a leaf's gradient that was complete before a failure stays, and the rest is untouched") {
    D x(1., xg::requires_grad), y(1., xg::requires_grad);
    D p = x * 2.;
    p.register_hook([](D const&) { throw 1; });
    D const z = p * y;
    CHECK_THROWS_AS(z.backward({.retain_graph = true}), int);
    CHECK_FALSE(x.grad().defined());
    CHECK(values(x)[0] == 1);
    CHECK(values(p)[0] == 2);
    CHECK(x.version() + y.version() + p.version() == 0);
    D const other = y * 3.;
    y.zero_grad();
    other.backward();
    CHECK(y.grad().item() == 3);
}

TEST_CASE("an operation that throws while values are computed leaves its operands alone") {
    D const x({1., 2.}, xg::requires_grad), w({1., 2., 3.});
    D y = x * x;
    auto* const node = y.grad_fn();
    CHECK_THROWS_AS(y = x * w, xg::ShapeError);
    CHECK(y.grad_fn() == node);
    CHECK(difference(y, {1., 4.}) == "");
    sum(y).backward();
    CHECK(difference(x.grad(), {2., 4.}) == "");
}

namespace {
/// y = x, whose backward throws when told to, and counts.
class Unreliable : public xg::Node {
public:
    explicit Unreliable(xg::AnyTensor const& x) : edge_(xg::detail::gradient_edge(x)) {
        set_edges(&edge_, 1);
    }
    void apply(std::span<xg::AnyTensor> gradients, std::span<xg::AnyTensor> results) override {
        ++calls;
        if (fails) throw std::logic_error("unreliable");
        results[0] = gives_nothing ? xg::AnyTensor() : gradients[0];
    }
    std::string name() const override { return "UnreliableBackward"; }
    bool fails = false, gives_nothing = false;
    int calls = 0;

private:
    xg::Edge edge_;
};

D through(xg::detail::Ref<Unreliable>& node, D const& x) {
    node = xg::detail::Ref<Unreliable>(new Unreliable(x));
    D y(x.array_of());
    y.impl().grad_fn = node;
    return y;
}
} // namespace

TEST_CASE("a Node that throws ends the pass with its own exception, and works in the next") {
    D const x({1., 2.}, xg::requires_grad);
    xg::detail::Ref<Unreliable> node;
    D const y = through(node, x);
    D const z = sum(y * 2.);
    node->fails = true;
    CHECK_THROWS_WITH_AS(z.backward({.retain_graph = true}), "unreliable", std::logic_error);
    CHECK_FALSE(x.grad().defined());
    node->fails = false;
    z.backward();
    CHECK(difference(x.grad(), {2., 2.}) == "");
    CHECK(node->calls == 2);
}

TEST_CASE("an undefined gradient stands for zero: what is behind it runs hooks with it, and gets "
          "no gradient") {
    D x({1., 2.}, xg::requires_grad), w({3., 4.}, xg::requires_grad);
    D a = x * w;
    int calls = 0;
    bool defined = true;
    a.register_hook([&](D const& g) {
        ++calls;
        defined = g.defined();
    });
    x.register_hook([](D const& g) { return g; });
    xg::detail::Ref<Unreliable> node;
    D const y = through(node, a);
    node->gives_nothing = true;
    SUBCASE("alone") {
        sum(y).backward();
        CHECK(calls == 1);
        CHECK_FALSE(defined);
        CHECK_FALSE(x.grad().defined());
    }
    SUBCASE("beside another path to the same leaf") {
        sum(y + w).backward();
        CHECK(difference(w.grad(), {1., 1.}) == "");
        CHECK_FALSE(x.grad().defined());
    }
    SUBCASE("asked for by grad") {
        CHECK_THROWS_AS(grad(sum(y), x), xg::GraphError);
        CHECK_FALSE(grad(sum(y), x, {.allow_unused = true}).defined());
    }
}

TEST_CASE("a hook cannot make a gradient where none came") {
    D const x({1., 2.}, xg::requires_grad);
    D a = x * x;
    a.register_hook([](D const&) { return D({1., 1.}); });
    xg::detail::Ref<Unreliable> node;
    D const y = through(node, a);
    node->gives_nothing = true;
    CHECK_THROWS_WITH_AS(sum(y).backward(),
        doctest::Contains("can't replace a empty gradient with a non-empty value"), xg::GraphError);
    CHECK_FALSE(x.grad().defined());
}

TEST_CASE("Nodes off the way from outputs to inputs are not executed") {
    D const x({1., 2.}, xg::requires_grad), w({1., 2.}, xg::requires_grad);
    xg::detail::Ref<Unreliable> on, off;
    D const y = through(on, x), z = through(off, w);
    off->fails = true;
    CHECK(difference(grad(sum(y * z), x), {1., 2.}) == "");
    CHECK(on->calls == 1);
    CHECK(off->calls == 0);
}
