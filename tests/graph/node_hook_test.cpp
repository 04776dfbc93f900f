// Hooks on Nodes: before a Node runs, with the gradients of its outputs, and after, with those of
// its inputs as well.
#include <xgrad/nn/linear.hpp>

#include "walk.hpp"

namespace {
using Gradients = std::vector<xg::AnyTensor>;
D typed(xg::AnyTensor const& g) { return g.as<double>(); }
} // namespace

TEST_CASE(
    "prehooks run in the order of their registration, and what they return is what the Node gets") {
    D const x({1., 2.}, xg::requires_grad);
    D const y = x * x;
    D seen;
    y.grad_fn()->register_prehook(
        [](Gradients const& g) { return Gradients{D(typed(g[0]) * 2.)}; });
    y.grad_fn()->register_prehook(
        [](Gradients const& g) { return Gradients{D(typed(g[0]) + 1.)}; });
    y.grad_fn()->register_hook(
        [&](Gradients const&, Gradients const& out) { seen = typed(out[0]); });
    sum(y).backward();
    CHECK(difference(seen, {3., 3.}) == "");
    CHECK(difference(x.grad(), {6., 12.}) == "");
}

TEST_CASE(
    "post hooks see the gradients of every edge, and each sees what the one before returned") {
    D const x({1., 2.}, xg::requires_grad), w({3., 4.}, xg::requires_grad), c({5., 6.});
    D const y = x * w + c;
    std::vector<D> seen;
    y.grad_fn()->register_hook([&](Gradients const& in, Gradients const&) {
        for (auto const& g : in) seen.push_back(typed(g));
        return Gradients{D(typed(in[0]) * 10.), in[1]};
    });
    y.grad_fn()->register_hook(
        [&](Gradients const& in, Gradients const&) { seen.push_back(typed(in[0])); });
    sum(y * 2.).backward();
    REQUIRE(y.grad_fn()->next_edges().size() == 2);
    REQUIRE(seen.size() == 3);
    CHECK(difference(seen[0], {6., 8.}) == "");
    CHECK(difference(seen[1], {2., 4.}) == "");
    CHECK(difference(seen[2], {60., 80.}) == "");
    CHECK(difference(x.grad(), {60., 80.}) == "");
    CHECK(difference(w.grad(), {2., 4.}) == "");
}

TEST_CASE("libtorch's names for the two are the same hooks") {
    D const x({1.}, xg::requires_grad);
    D const y = x * 3.;
    y.grad_fn()->add_pre_hook([](Gradients const& g) { return Gradients{D(typed(g[0]) * 2.)}; });
    y.grad_fn()->add_post_hook([](Gradients const& in, Gradients const& out) {
        CHECK(typed(out[0]).item() == 2);
        return Gradients{D(typed(in[0]) * 5.)};
    });
    y.backward();
    CHECK(x.grad().item() == 30);
}

TEST_CASE("a Node hook that returns nothing, or an empty list, leaves the gradients") {
    D const x({1., 2.}, xg::requires_grad);
    D const y = x * x;
    int calls = 0;
    y.grad_fn()->register_prehook([&](Gradients const&) { ++calls; });
    y.grad_fn()->register_prehook(
        [&](Gradients const&) -> Gradients { return ++calls, Gradients{}; });
    y.grad_fn()->register_hook([&](Gradients const&, Gradients const&) { ++calls; });
    y.grad_fn()->register_hook(
        [&](Gradients const&, Gradients const&) -> Gradients { return ++calls, Gradients{}; });
    sum(y).backward();
    CHECK(calls == 4);
    CHECK(difference(x.grad(), {2., 4.}) == "");
}

TEST_CASE("an undefined gradient in what a Node hook returns stops that gradient") {
    D const x({1., 2.}, xg::requires_grad), w({3., 4.}, xg::requires_grad);
    D const y = x * w;
    SUBCASE("before the Node") {
        y.grad_fn()->register_prehook([](Gradients const&) { return Gradients{xg::AnyTensor()}; });
        sum(y * 1.).backward();
        CHECK_FALSE(x.grad().defined());
        CHECK_FALSE(w.grad().defined());
    }
    SUBCASE("behind it, one of two") {
        y.grad_fn()->register_hook([](Gradients const& in, Gradients const&) {
            return Gradients{xg::AnyTensor(), in[1]};
        });
        sum(y * 1.).backward();
        CHECK_FALSE(x.grad().defined());
        CHECK(difference(w.grad(), {1., 2.}) == "");
    }
}

TEST_CASE("a Node hook must return as many gradients as it was given, each of its shape and type") {
    D const x({1., 2.}, xg::requires_grad), w({3., 4.}, xg::requires_grad);
    D const y = x * w, z = sum(y * 1.);
    auto const leaf = y.grad_fn()->next_edges()[0].function;
    auto const refused = [&](xg::HookHandle handle, char const* text) {
        CHECK_THROWS_WITH_AS(
            z.backward({.retain_graph = true}), doctest::Contains(text), xg::Error);
        handle.remove();
    };
    auto const post = [&](auto gradients) {
        return y.grad_fn()->register_hook(
            [=](Gradients const&, Gradients const&) { return gradients; });
    };
    auto const pre = [&](auto gradients) {
        return y.grad_fn()->register_prehook([=](Gradients const&) { return gradients; });
    };
    D const good({1., 1.});
    refused(post(Gradients{good}),
        "has returned an incorrect number of values (got 1, but expected 2)");
    refused(post(Gradients{good, good, good}),
        "has returned an incorrect number of values (got 3, but expected 2)");
    refused(pre(Gradients{good, good}),
        "has returned an incorrect number of values (got 2, but expected 1)");
    refused(
        leaf->register_hook([=](Gradients const&, Gradients const&) { return Gradients{good}; }),
        "has returned an incorrect number of values (got 1, but expected 0)");
    refused(pre(Gradients{D({1., 1., 1.})}), "has changed the size of value");
    refused(pre(Gradients{D({1.})}), "has changed the size of value");
    refused(
        pre(Gradients{F({1.f, 1.f})}), "has changed the type of value (was float64 got float32)");
    refused(post(Gradients{good, D({{1., 1.}})}), "has changed the size of value");
    refused(post(Gradients{Z({1., 1.}), good}),
        "has changed the type of value (was float64 got complex128)");
    xg::backward({z});
    CHECK(w.grad().defined());
}

TEST_CASE(
    "Node hooks can be removed: before a pass, within it, twice, and after their Node is gone") {
    D const x({1.}, xg::requires_grad);
    xg::HookHandle late;
    {
        D const y = x * 2., z = y * 1.;
        std::string order;
        auto first = y.grad_fn()->register_prehook([&](Gradients const&) { order += 'a'; });
        xg::HookHandle self;
        self = y.grad_fn()->register_prehook([&](Gradients const&) {
            order += 'b';
            self.remove();
        });
        auto next =
            y.grad_fn()->register_hook([&](Gradients const&, Gradients const&) { order += 'd'; });
        y.grad_fn()->register_prehook([&](Gradients const&) {
            order += 'c';
            next.remove();
        });
        late =
            y.grad_fn()->register_hook([&](Gradients const&, Gradients const&) { order += 'e'; });
        z.backward({.retain_graph = true});
        CHECK(order == "abce");
        first.remove();
        first.remove();
        self.remove();
        order.clear();
        z.backward({.retain_graph = true});
        CHECK(order == "ce");
    }
    late.remove();
}

TEST_CASE("a Node hook that is registered by another kind's hook of the same pass runs when its "
          "turn comes") {
    D const x({1.}, xg::requires_grad);
    D y = x * 2.;
    std::string order;
    y.register_hook([&](D const&) {
        order += 't';
        y.grad_fn()->register_prehook([&](Gradients const&) {
            order += 'a';
            y.grad_fn()->register_prehook([&](Gradients const&) { order += 'n'; });
            y.grad_fn()->register_hook([&](Gradients const&, Gradients const&) { order += 'z'; });
        });
    });
    y.backward();
    CHECK(order == "taz");
}

TEST_CASE("edges lead to AccumulateGrad Nodes for leaves, name the output they come from, and are "
          "empty for constants") {
    D const m({{1., 2.}, {3., 4.}}, xg::requires_grad), c({5., 6.});
    auto const rows = unbind(m);
    D const y = rows[1] * c + rows[0];
    auto const edges = y.grad_fn()->next_edges();
    std::vector<std::uint32_t> outputs;
    for (auto const& e : edges) {
        if (!e) continue;
        CHECK(e.function.get() == rows[0].grad_fn());
        outputs.push_back(e.input_nr);
    }
    CHECK(outputs == std::vector<std::uint32_t>{1, 0});
    auto const to_leaf = rows[0].grad_fn()->next_edges();
    REQUIRE(to_leaf.size() == 1);
    CHECK(to_leaf[0].function->name() == "AccumulateGrad");
    CHECK(to_leaf[0].function->next_edges().empty());
    CHECK(rows[0].grad_fn()->num_outputs() == 2);
    CHECK(rows[1].output_nr() == 1);
}

namespace {
struct Scaled : xg::Function<Scaled> {
    static D forward(Context&, D const& x, double factor, D const& y) { return x * factor + y; }
    static auto backward(Context&, D const& g) { return std::tuple(D(g * 3.), std::nullopt, g); }
};
} // namespace

TEST_CASE("which edges the Nodes of each kind have, where one input requires no gradient") {
    D const x({{1., 2.}, {3., 4.}}, xg::requires_grad), c({{5., 6.}, {7., 8.}});
    auto const leaf = D(x * 1.).grad_fn()->next_edges()[0].function;
    /// "x", a dash for an empty edge, or the name of another Node.
    auto const edges = [&](xg::AnyTensor const& y) {
        std::string text;
        for (auto const& e : y.grad_fn()->next_edges())
            text += (text.empty() ? "" : " ") + (e.function == leaf ? "x"
                                                    : e             ? e.function->name()
                                                                    : "-");
        return text;
    };
    SUBCASE("expressions and operations on whole arrays: only those that require one") {
        CHECK(edges(D(c * x + c * x * x)) == "x");
        CHECK(edges(sum(c * x)) == "x");
        CHECK(edges(matmul(c, x)) == "x");
        CHECK(edges(matmul(x, x)) == "x x");
        CHECK(edges(D(where(c > 6., c, x))) == "x");
        CHECK(edges(cumsum(x, 0)) == "x");
    }
    SUBCASE("views: the base") {
        CHECK(edges(x[0]) == "x");
        CHECK(edges(x.t()) == "x");
        CHECK(edges(unbind(x)[1]) == "x");
        D base = c.clone();
        D const row = base[1], other = base[0];
        base[0].copy_(x[1]);
        CHECK(edges(row) == "CopySlices");
        CHECK(edges(base) == "- CopyBackward");
    }
    SUBCASE("lists of tensors: all, with empty ones") {
        CHECK(edges(xg::cat(std::vector{c, x, c})) == "- x -");
        CHECK(edges(xg::stack(std::vector{x, c})) == "x -");
    }
    SUBCASE("custom Functions: all tensors, with empty ones") {
        CHECK(edges(Scaled::apply(x, 3., c)) == "x -");
        CHECK(edges(Scaled::apply(c, 3., x)) == "- x");
        D const y = Scaled::apply(c, 3., x);
        std::string seen;
        y.grad_fn()->register_hook([&](Gradients const& in, Gradients const&) {
            for (auto const& g : in) seen += g.defined() ? '+' : '-';
        });
        sum(y).backward();
        CHECK(seen == "-+");
    }
    SUBCASE("a module's backward hooks: all tensors, with empty ones") {
        xg::nn::Bilinear<double> m(2, 2, 1);
        m.register_full_backward_hook([](auto&, auto const&, auto const&) {});
        D const y = m(x, c);
        std::string seen;
        for (auto* const node : nodes_of(y))
            if (node->name() == "BackwardHookFunctionBackward" && node->num_outputs() == 2)
                for (auto const& e : node->next_edges()) seen += e ? '+' : '-';
        CHECK(seen == "+-");
    }
    SUBCASE("leaves: none") { CHECK(leaf->next_edges().empty()); }
}

TEST_CASE("what a Node hook throws comes out as it is, and the graph can be used again") {
    struct Boom {
        int code;
    };
    D const x({1., 2.}, xg::requires_grad);
    D const y = x * x, z = sum(y + y);
    xg::HookHandle handle;
    SUBCASE("before the Node") {
        handle = y.grad_fn()->register_prehook([](Gradients const&) { throw Boom{7}; });
    }
    SUBCASE("behind it") {
        handle =
            y.grad_fn()->register_hook([](Gradients const&, Gradients const&) { throw Boom{7}; });
    }
    int code = 0;
    try {
        z.backward();
    } catch (Boom const& b) { code = b.code; }
    CHECK(code == 7);
    CHECK_FALSE(x.grad().defined());
    handle.remove();
    z.backward();
    CHECK(difference(x.grad(), {4., 8.}) == "");
}
