// One hook on several tensors: on all their gradients, or on the first that comes.
#include "walk.hpp"

namespace {
using Gradients = std::vector<xg::AnyTensor>;

/// "2 1 -": numbers, and a dash where there is none.
std::string text(Gradients const& gradients) {
    std::ostringstream out;
    for (auto const& g : gradients) {
        if (g.defined()) out << g.as<double>().item() << ' ';
        else out << "- ";
    }
    return out.str();
}
} // namespace

TEST_CASE("a hook on all of several tensors is called once, with a gradient for each that is in "
          "the graph") {
    D const a(1., xg::requires_grad), b(2., xg::requires_grad), c(3., xg::requires_grad);
    std::vector<std::string> seen;
    auto handle = xg::register_multi_grad_hook(
        {a, b, c}, [&](Gradients const& g) { seen.push_back(text(g)); });
    using Seen = std::vector<std::string>;
    SUBCASE("two of three") {
        D(a * b).backward();
        CHECK(seen == Seen{"2 1 - "});
    }
    SUBCASE("all") {
        D(a * b * c).backward();
        CHECK(seen == Seen{"6 3 2 "});
    }
    SUBCASE("none") {
        D const d(1., xg::requires_grad);
        D(d * d).backward();
        CHECK(seen.empty());
    }
    SUBCASE("once in each pass") {
        D const y = a * b;
        D const z = sum(y * 1.);
        z.backward({.retain_graph = true});
        z.backward();
        D(b * c).backward();
        CHECK(seen == Seen{"2 1 - ", "2 1 - ", "- 3 2 "});
    }
    SUBCASE("not after it was removed") {
        handle.remove();
        handle.remove();
        D(a * b).backward();
        CHECK(seen.empty());
    }
    SUBCASE("removed and registered again") {
        handle.remove();
        xg::register_multi_grad_hook(
            {a, b}, [&](Gradients const& g) { seen.push_back("again " + text(g)); });
        D(a * b).backward();
        CHECK(seen == Seen{"again 2 1 "});
    }
    SUBCASE("with what the tensors' own earlier hooks made of the gradients") {
        D e(1., xg::requires_grad);
        e.register_hook([](D const& g) { return D(g * 10.); });
        xg::register_multi_grad_hook({e, a}, [&](Gradients const& g) { seen.push_back(text(g)); });
        D(e * 2.).backward();
        CHECK(seen == Seen{"20 - "});
    }
}

TEST_CASE("a hook on all waits for the last gradient, intermediates among them") {
    D const x(1., xg::requires_grad);
    std::string order;
    D a = x * 2., b = a * 3., c = b * 4.;
    auto const note = [&](D& t, char name) {
        t.register_hook([&order, name](D const&) { order += name; });
    };
    note(a, 'a');
    note(b, 'b');
    note(c, 'c');
    std::string seen;
    xg::register_multi_grad_hook({b, c}, [&](Gradients const& g) {
        order += '!';
        seen = text(g);
    });
    c.backward();
    CHECK(order == "cb!a");
    CHECK(seen == "4 1 ");
}

TEST_CASE("under grad() a hook on all waits for those gradients that are computed") {
    D const x(1., xg::requires_grad), w(1., xg::requires_grad);
    D const a = x * 2., b = w * 3.;
    std::vector<std::string> seen;
    xg::register_multi_grad_hook({a, b}, [&](Gradients const& g) { seen.push_back(text(g)); });
    D const y = a * b;
    grad(y, x, {.retain_graph = true});
    grad(y, w, {.retain_graph = true});
    grad(y, b, {.retain_graph = true});
    y.backward();
    CHECK(seen == std::vector<std::string>{"3 - ", "- 2 ", "- 2 ", "3 2 "});
}

TEST_CASE("outputs of one Node get their gradients together, undefined ones included") {
    D const m({1., 2., 3.}, xg::requires_grad);
    auto const e = unbind(m);
    std::vector<std::string> seen;
    xg::register_multi_grad_hook(
        {e[0], e[2]}, [&](Gradients const& g) { seen.push_back(text(g)); });
    D(e[0] * 5.).backward({.retain_graph = true});
    D(e[2] * e[0]).backward();
    CHECK(seen == std::vector<std::string>{"5 - ", "3 1 "});
}

TEST_CASE("a hook on all that throws is called again in the next pass") {
    D const a(1., xg::requires_grad), b(2., xg::requires_grad);
    int calls = 0;
    bool fails = true;
    xg::register_multi_grad_hook({a, b}, [&](Gradients const&) {
        ++calls;
        if (fails) throw 7;
    });
    CHECK_THROWS_AS(D(a * b).backward(), int);
    fails = false;
    D(a * b).backward();
    CHECK(calls == 2);
}

TEST_CASE("a tensor's own hook that throws leaves no half-counted gradients") {
    D const x(1., xg::requires_grad);
    D a = x * 2., b = a * 3.;
    int calls = 0;
    xg::register_multi_grad_hook({a, b}, [&](Gradients const&) { ++calls; });
    auto handle = a.register_hook([](D const&) { throw 7; });
    D const y = b + 1.;
    CHECK_THROWS_AS(y.backward({.retain_graph = true}), int);
    CHECK(calls == 1); // a's gradient had come before its second hook threw
    handle.remove();
    y.backward();
    CHECK(calls == 2);
}

TEST_CASE("a hook on any is called once in each pass, with the first gradient that comes") {
    D const x(1., xg::requires_grad), other(1., xg::requires_grad);
    D const a = x * 2., b = a * 3., c = b * 5.;
    std::vector<double> seen;
    auto const note = [&](xg::AnyTensor const& g) { seen.push_back(g.as<double>().item()); };
    auto first = xg::register_multi_grad_hook({x, a, b}, note, xg::any);
    D const z = c * 7.;
    SUBCASE("the newest tensor's") {
        z.backward({.retain_graph = true});
        CHECK(seen == std::vector<double>{35});
        z.backward();
        CHECK(seen == std::vector<double>{35, 35});
    }
    SUBCASE("two such hooks, of which one is removed") {
        xg::register_multi_grad_hook({x, c}, note, xg::any);
        z.backward({.retain_graph = true});
        CHECK(seen == std::vector<double>{7, 35});
        first.remove();
        z.backward();
        CHECK(seen == std::vector<double>{7, 35, 7});
    }
    SUBCASE("none that is part of the graph") {
        D(other * other).backward();
        CHECK(seen.empty());
    }
}

TEST_CASE("a hook on several tensors takes tensors of several types, and a list of them") {
    F const f(2.f, xg::requires_grad);
    D const d(3., xg::requires_grad);
    std::vector<xg::AnyTensor> const both{f, d};
    double sum_of = 0;
    xg::register_multi_grad_hook(
        both,
        [&](Gradients const& g) {
            sum_of = static_cast<double>(g[0].as<float>().item()) + g[1].as<double>().item();
        },
        xg::all);
    D(f * d).backward();
    CHECK(sum_of == 5);
}

TEST_CASE("each of the tensors must require grad") {
    D const a(1., xg::requires_grad), c(1.);
    int calls = 0;
    CHECK_THROWS_AS(
        xg::register_multi_grad_hook({a, c}, [&](Gradients const&) { ++calls; }), xg::GraphError);
    CHECK_THROWS_AS(xg::register_multi_grad_hook(
                        {a, c}, [&](xg::AnyTensor const&) { ++calls; }, xg::any),
        xg::GraphError);
    D(a * a).backward();
    CHECK(calls == 0);
}

TEST_CASE("tensors that are gone count no longer") {
    D const x(1., xg::requires_grad);
    std::vector<std::string> seen;
    {
        D const gone = x * 2.;
        xg::register_multi_grad_hook(
            {x, gone}, [&](Gradients const& g) { seen.push_back(text(g)); });
    }
    D(x * 3.).backward();
    CHECK(seen == std::vector<std::string>{"3 - "});
}

TEST_CASE("a pass inside a pass counts for itself") {
    D const x(1., xg::requires_grad);
    std::vector<std::string> seen;
    D a = x * 2., b = a * 3.;
    D const w(1., xg::requires_grad);
    D const inner = a * w;
    bool nested = false;
    xg::register_multi_grad_hook({a, b}, [&](Gradients const& g) { seen.push_back(text(g)); });
    b.register_hook([&](D const&) {
        if (!std::exchange(nested, true)) inner.backward({.retain_graph = true});
    });
    D(b * 5.).backward();
    CHECK(seen == std::vector<std::string>{"1 - ", "15 5 "});
}

TEST_CASE("a hook that is registered during a pass knows nothing of one that was removed in it") {
    D const x(1., xg::requires_grad);
    D a = x * 2., b = a * 3.;
    int calls = 0;
    xg::HookHandle handle;
    SUBCASE("of the first gradient") {
        handle = xg::register_multi_grad_hook(
            {b, x}, [&](xg::AnyTensor const&) { ++calls; }, xg::any);
    }
    SUBCASE("of all gradients") {
        handle = xg::register_multi_grad_hook({b, x}, [&](Gradients const&) { calls += 100; });
    }
    std::vector<std::string> seen;
    a.register_hook([&](D const&) {
        handle.remove();
        // enough of them that one stands in the memory that was freed
        for (int i = 0; i < 64; ++i)
            xg::register_multi_grad_hook({x}, [&](Gradients const& g) { seen.push_back(text(g)); });
    });
    D(b * 5.).backward();
    CHECK(calls <= 1);
    CHECK(seen == std::vector<std::string>(64, "30 "));
}
