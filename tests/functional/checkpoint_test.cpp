// checkpoint(): the same gradients as without, what is kept and when the function is called again,
// replay, errors.
#include <xgrad/functional/checkpoint.hpp>
#include <xgrad/functional/hvp.hpp>

#include <thread>

#include "tensor/compare.hpp"

using namespace std::complex_literals;

namespace {
/// A layer that saves several tensors, counts its calls, and captures a parameter.
struct Layer {
    D weight;
    int* calls;
    D operator()(D const& x) const {
        ++*calls;
        D const h = sin(x) * weight;
        D const e = exp(-square(h));
        return e * x;
    }
};
/// A tensor's memory, to see who else still holds it.
using Memory = xg::detail::Ref<xg::detail::Storage>;
Memory memory_of(D const& t) { return t.impl().array.storage; }
bool is_held(Memory const& m) { return m->refs.load() > 1; }
} // namespace

TEST_CASE("gradients for inputs and for captured tensors are those of the plain call") {
    int calls = 0;
    D const x({0.5, -1., 2.}, xg::requires_grad), w({1., 2., 3.}, xg::requires_grad);
    Layer const layer{w, &calls};
    auto const [gx, gw] = xg::grad(sum(layer(x)), xg::inputs(x, w));
    calls = 0;
    D const y = xg::checkpoint(layer, x);
    CHECK(calls == 1);
    CHECK(difference(y, layer(x)) == "");
    calls = 0;
    sum(y).backward();
    CHECK(calls == 1);
    CHECK(difference(x.grad(), gx, 0) == "");
    CHECK(difference(w.grad(), gw, 0) == "");
    CHECK_THROWS_WITH_AS(sum(y).backward(), doctest::Contains("a second time"), xg::GraphError);
    CHECK(calls == 1);
}

TEST_CASE("only inputs are kept") {
    D const x({0.5, -1.}, xg::requires_grad);
    Memory inside;
    auto const f = [&](D const& a) {
        D const e = exp(a);
        inside = memory_of(e);
        return D(e * e);
    };
    D const plain = f(x);
    CHECK(is_held(inside));
    D const y = xg::checkpoint(f, x);
    CHECK_FALSE(is_held(inside));
    sum(y).backward();
    CHECK_FALSE(is_held(inside)); // nor what the second call made
    CHECK(difference(x.grad(), D(2. * exp(2. * x)).detach()) == "");
}

TEST_CASE("what is computed again is let go of as the pass goes") {
    D x({0.5, -1.}, xg::requires_grad);
    D const w({2., 3.}, xg::requires_grad);
    std::vector<Memory> inside;
    auto const f = [&](D const& a) {
        inside.clear();
        D h = a;
        for (int i = 0; i < 4; ++i) {
            D const s = sin(h);
            inside.push_back(memory_of(s));
            h = s * s;
        }
        return D(h * w);
    };
    D y = xg::checkpoint(f, x);
    std::string held;
    auto const note = [&](auto const&...) {
        for (auto const& m : inside) held += is_held(m) ? '1' : '0';
        held += ' ';
    };
    y.grad_fn()->register_hook(
        [&](auto const& inputs, auto const& outputs) { note(inputs, outputs); });
    y.register_hook([&](D const& g) { note(g); });
    x.register_hook([&](D const& g) { note(g); });
    sum(y).backward({.retain_graph = true});
    CHECK(held == "0000 1111 0000 ");
    // a pass that uses a part of it leaves nothing behind
    xg::grad(sum(y), w, {.retain_graph = true});
    for (auto const& m : inside) CHECK_FALSE(is_held(m));
}

TEST_CASE("grad(), retained and recorded passes") {
    int calls = 0;
    D const x({0.5, -1.}, xg::requires_grad), w({2., 3.}, xg::requires_grad);
    Layer const layer{w, &calls};
    D const y = xg::checkpoint(layer, x);
    auto const [gx, gw] = xg::grad(sum(y), xg::inputs(x, w), {.retain_graph = true});
    CHECK(calls == 2);
    D const only_w = xg::grad(sum(y), w, {.retain_graph = true});
    CHECK(calls == 3);
    CHECK(difference(only_w, gw, 0) == "");
    auto const [hx, hw] = xg::grad(sum(y), xg::inputs(x, w), {.create_graph = true});
    CHECK(difference(hx, gx) == "");
    auto const [hxx, hxw] = xg::grad(sum(hx * hx), xg::inputs(x, w), {.retain_graph = true});
    int unused = 0;
    Layer const plain{w, &unused};
    D const px = xg::grad(sum(plain(x)), x, {.create_graph = true});
    auto const [pxx, pxw] = xg::grad(sum(px * px), xg::inputs(x, w));
    CHECK(difference(hxx, pxx) == "");
    CHECK(difference(hxw, pxw) == "");
    CHECK_FALSE(x.grad().defined());
}

TEST_CASE("several inputs and outputs of several types, and tensors that need no gradient") {
    D const x({1., 2.}, xg::requires_grad), c({3., 4.});
    Z const z({1. + 2.i, 0.5i}, xg::requires_grad);
    xg::Tensor<bool> const mask({true, false});
    auto const f = [](D const& a, Z const& b, D const& k, xg::Tensor<bool> const& m) {
        return std::tuple(where(m, a * a * k, 0.), exp(b) * a, a > 1.);
    };
    auto const [p, q, r] = xg::checkpoint(f, x, z, c, mask);
    static_assert(std::is_same_v<std::remove_cvref_t<decltype(r)>, xg::Tensor<bool>>);
    CHECK_FALSE(r.requires_grad());
    auto const [gx, gz] = xg::grad(D(sum(p) + sum(abs2(q))), xg::inputs(x, z));
    auto const [p1, q1, r1] = f(x, z, c, mask);
    auto const [wx, wz] = xg::grad(D(sum(p1) + sum(abs2(q1))), xg::inputs(x, z));
    CHECK(difference(gx, wx) == "");
    CHECK(difference(gz, wz) == "");
    // one of several outputs only
    auto const [u, v, s] = xg::checkpoint(f, x, z, c, mask);
    CHECK(difference(xg::grad(sum(u), x), {6., 0.}) == "");
    CHECK(difference(xg::grad(sum(abs2(v)), z), xg::grad(sum(abs2(D(x.detach()) * exp(z))), z)) ==
          "");
}

TEST_CASE("the same tensor as input, twice as input, and captured") {
    D const leaf({0.5, 2.}, xg::requires_grad);
    D const x = leaf * 2.;
    auto const f = [&](D const& a, D const& b) { return sum(a * b * x * leaf); };
    D const y = xg::checkpoint(f, x, x);
    CHECK(difference(xg::grad(y, leaf), xg::grad(f(x, x), leaf)) == "");
    D const identity = xg::checkpoint([](D const& a) { return a; }, x);
    CHECK(difference(xg::grad(sum(identity * identity), leaf, {.retain_graph = true}),
              D(8. * leaf).detach()) == "");
    D const no_input = xg::checkpoint([&] { return exp(leaf) * leaf; });
    CHECK(difference(xg::grad(sum(no_input), leaf), D(exp(leaf) * (1. + leaf)).detach()) == "");
}

TEST_CASE("checkpoints in checkpoints") {
    int outer = 0, inner = 0;
    D const x({0.5, -1.}, xg::requires_grad), w({2., 3.}, xg::requires_grad);
    Memory between;
    auto const whole = [&](auto part) {
        return [&, part](D const& a) {
            ++outer;
            D const input = sin(a) * w;
            between = memory_of(input);
            D const b = part(input);
            return D(exp(b) * a);
        };
    };
    auto const part = [&](D const& a) {
        ++inner;
        return D(cos(a) * square(a));
    };
    D const plain = whole(part)(x);
    auto const [wx, ww] = xg::grad(sum(plain), xg::inputs(x, w));
    outer = inner = 0;
    D const y = xg::checkpoint(whole([&](D const& a) { return xg::checkpoint(part, a); }), x);
    CHECK(outer == 1);
    CHECK(inner == 1);
    CHECK_FALSE(is_held(between)); // also the input of the inner one is not kept
    auto const [gx, gw] = xg::grad(sum(y), xg::inputs(x, w), {.retain_graph = true});
    CHECK(outer == 2);
    CHECK(inner == 3);
    CHECK(difference(gx, wx) == "");
    CHECK(difference(gw, ww) == "");
    D const hx = xg::grad(sum(y), x, {.create_graph = true});
    D const px = xg::grad(sum(whole(part)(x)), x, {.create_graph = true});
    CHECK(difference(xg::grad(sum(hx), x), xg::grad(sum(px), x)) == "");
}

TEST_CASE("random numbers are drawn again, and those of the caller go on as if they had not been") {
    D const x = xg::ones({50}, xg::requires_grad);
    auto const dropout = [](D const& a) {
        D const keep = xg::rand({50});
        return D(exp(where(keep > 0.5, a, 0.) * xg::randn({50})));
    };
    xg::manual_seed(7);
    D const plain = dropout(x);
    D const next = xg::rand({3});
    D const wanted = xg::grad(sum(plain), x);
    xg::manual_seed(7);
    D const y = xg::checkpoint(dropout, x);
    CHECK(difference(xg::rand({3}), next, 0) == "");
    xg::manual_seed(99);
    D const before = xg::rand({3});
    xg::manual_seed(99);
    CHECK(difference(xg::grad(sum(y), x), wanted, 0) == "");
    CHECK(difference(xg::rand({3}), before, 0) == "");
}

TEST_CASE("modes: nothing to do without recording, grad mode on when the function runs again") {
    int calls = 0;
    D const x({0.5, -1.}, xg::requires_grad), w({2., 3.}, xg::requires_grad);
    {
        xg::NoGradGuard const off;
        CHECK_FALSE(xg::checkpoint(Layer{w, &calls}, x).requires_grad());
    }
    D const frozen = xg::checkpoint(
        [&](D const& a) {
            CHECK(xg::is_grad_enabled());
            D mask;
            {
                xg::NoGradGuard const off;
                mask = exp(a);
            }
            return D(mask * a * w);
        },
        x);
    D const total = sum(frozen);
    xg::NoGradGuard const off;
    total.backward();
    CHECK(difference(x.grad(), D(exp(x) * w).detach()) == "");
    CHECK(difference(w.grad(), D(exp(x) * x).detach()) == "");
    CHECK_FALSE(xg::is_grad_enabled());
}

TEST_CASE(
    "hooks on saved tensors around the call get the inputs, those in the function what it saves") {
    int packed = 0, unpacked = 0;
    D const x({0.5, -1.}, xg::requires_grad);
    auto const pack = [&](xg::AnyTensor const& t) { return ++packed, t.as<double>().clone(); };
    auto const unpack = [&](D const& t) { return ++unpacked, t; };
    D y;
    {
        xg::SavedTensorsHooks const hooks(pack, unpack);
        y = xg::checkpoint(
            [](D const& a) {
                D b = exp(a);
                return D(b * b);
            },
            x);
    }
    CHECK(packed == 1);
    sum(y).backward();
    CHECK(unpacked == 1);
    CHECK(difference(x.grad(), D(2. * exp(2. * x)).detach()) == "");
    packed = 0;
    D const z = xg::checkpoint(
        [&](D const& a) {
            xg::SavedTensorsHooks const hooks(pack, unpack);
            return D(a * a);
        },
        x);
    CHECK(packed == 1);
    CHECK(difference(xg::grad(sum(z), x), D(2. * x).detach()) == "");
}

TEST_CASE("backward passes inside the function, and inside transforms") {
    D const x({0.5, -1.}, xg::requires_grad);
    // a penalty on a gradient
    auto const penalty = [](D const& a) {
        D const g = xg::grad(sum(sin(a) * a), a, {.create_graph = true});
        return D(sum(g * g));
    };
    D const wanted = xg::grad(penalty(x), x);
    CHECK(difference(xg::grad(xg::checkpoint(penalty, x), x), wanted) == "");
    auto const checkpointed = [](D const& a) {
        return xg::checkpoint([](D const& b) { return sum(sin(b) * b * b); }, a);
    };
    auto const plain = [](D const& a) { return sum(sin(a) * a * a); };
    CHECK(difference(xg::hessian(checkpointed, x), xg::hessian(plain, x)) == "");
    CHECK(difference(xg::grad([](D const& a) {
        return xg::checkpoint(
            [](D const& b) { return sum(xg::grad([](D const& c) { return sum(sin(c) * c); })(b)); },
            a);
    })(x),
              D(2. * cos(x) - x * sin(x)).detach()) == "");
}

TEST_CASE("saved tensors can be looked at") {
    int calls = 0;
    D const x({0.5, -1.}, xg::requires_grad), w({2., 3.});
    D const y = xg::checkpoint(Layer{w, &calls}, x);
    auto const saved = y.grad_fn()->saved("a").unpack().as<double>();
    CHECK(calls == 2);
    D const h = sin(x) * w;
    CHECK(difference(saved, D(exp(-square(h)))) == "");
    CHECK(calls == 2);
    sum(y).backward();
    CHECK(calls == 3);
}

TEST_CASE("changes in place that would make gradients wrong are errors") {
    D x({0.5, -1.}, xg::requires_grad), w({2., 3.}, xg::requires_grad);
    auto const f = [&](D const& a) { return D(exp(a * w)); };
    D const y = xg::checkpoint(f, x);
    {
        xg::NoGradGuard const off;
        x += 1.;
    }
    CHECK_THROWS_WITH_AS(sum(y).backward(),
        doctest::Contains("has been modified by an inplace operation: [float64 [2]] is at version "
                          "1; expected version 0 instead. It was saved by CheckpointBackward"),
        xg::VersionError);
    D const z = xg::checkpoint(f, x);
    {
        xg::NoGradGuard const off;
        w += 1.;
    }
    CHECK_THROWS_WITH_AS(sum(z).backward(),
        doctest::Contains("which a function under checkpoint() captures, is at version 1; expected "
                          "version 0 instead."),
        xg::VersionError);
    // the function changes what it saved: told as without checkpoint
    D const v = xg::checkpoint(
        [](D const& a) {
            D b = exp(a);
            D const c = b * 1.;
            b.detach() += 1.;
            return D(b * c);
        },
        x);
    CHECK_THROWS_WITH_AS(sum(v).backward(),
        doctest::Contains("modified by an inplace operation: [float64 [2]] is at version 1; "
                          "expected version 0 instead. It was saved under checkpoint()"),
        xg::VersionError);
    CHECK_THROWS_WITH_AS(xg::checkpoint(
                             [](D const& a) {
                                 xg::NoGradGuard const off;
                                 D b = a;
                                 b += 1.;
                                 return D(a);
                             },
                             x),
        doctest::Contains("checkpoint: the function changes its input 0 in place"), xg::GraphError);
}

TEST_CASE("an input that was written before, and is packed elsewhere") {
    D x({0.5, -1.});
    x += 1.;
    x.requires_grad_();
    D y;
    {
        xg::SavedTensorsHooks const hooks(
            [](xg::AnyTensor const& t) { return t.as<double>().clone(); },
            [](D const& t) { return t; });
        y = xg::checkpoint([](D const& a) { return D(exp(a) * a); }, x);
    }
    CHECK(difference(xg::grad(sum(y), x), D(exp(x) * (1. + x)).detach()) == "");
}

TEST_CASE("a function that does something else the second time") {
    D const x({0.5, -1.}, xg::requires_grad);
    int calls = 0;
    D const y = xg::checkpoint(
        [&](D const& a) {
            D const e = exp(a);
            return ++calls == 1 ? e : D(e * e);
        },
        x);
    CHECK_THROWS_WITH_AS(sum(y).backward(),
        doctest::Contains("checkpoint: A different number of tensors was saved during the original "
                          "forward and recomputation: 1 and 2"),
        xg::GraphError);
    calls = 0;
    D const z = xg::checkpoint(
        [&](D const& a) {
            return ++calls == 1 ? sum(exp(D(a * 1.))) : sum(exp(D(a(xg::slice(0, 1)))));
        },
        x);
    CHECK_THROWS_WITH_AS(z.backward(),
        doctest::Contains("checkpoint: Recomputed values have different metadata than during the "
                          "forward pass: saved tensor 0 was [float64 [2]] and is [float64 [1]]"),
        xg::GraphError);
}

TEST_CASE("another formula the second time, where both save the same") {
    D const x({0.5, -1.}, xg::requires_grad), w({2., 3.}, xg::requires_grad);
    auto const message = [&](auto const& first, auto const& second) -> std::string {
        int calls = 0;
        D const y = xg::checkpoint(
            [&](D const& a) { return ++calls == 1 ? D(first(a)) : D(second(a)); }, x);
        try {
            sum(y).backward();
        } catch (xg::GraphError const& e) { return e.what(); }
        return "";
    };
    auto const says = [](std::string const& is, std::string const& was) {
        return "checkpoint: The function computes something else than the first time: " + is +
               " where it was " + was +
               ". The function must do the same each time it is called with the same inputs.";
    };
    CHECK(message([](D const& a) { return sin(a) * a; }, [](D const& a) { return sin(a) + 1.; }) ==
          says("Add(Sin(a), number)", "Mul(Sin(a), b)"));
    SUBCASE("above what is saved") {
        auto const one = [](D const& a) { return D(exp(a)) + 1.; };
        CHECK(message(one, [](D const& a) { return D(exp(a)) * 2.; }) ==
              says("Mul(a, number)", "Add(a, number)"));
        CHECK(message(one, [](D const& a) { return exp(a); }) == says("Exp(a)", "Add(a, number)"));
    }
    SUBCASE("of another tensor") {
        CHECK(message([](D const& a) { return sin(a); }, [&](D const&) { return sin(w); }) ==
              says("AccumulateGrad", "another tensor"));
        CHECK(message([&](D const&) { return sin(w); }, [](D const& a) { return sin(a); }) ==
              says("AccumulateGrad", "a leaf"));
        D const u = w * 2., v = w * 3.;
        CHECK(message(
                  [&](D const& a) { return a + sin(u); }, [&](D const& a) { return a + sin(v); }) ==
              says("Mul(a, number)", "another tensor"));
        CHECK(message([](D const& a) { return sin(a); },
                  [](D const& a) {
                      xg::NoGradGuard const off;
                      return D(sin(a));
                  })
                  .find("A different number of tensors was saved") != std::string::npos);
    }
    SUBCASE("another output of the same operation") {
        D const m({{2., 1.}, {1., 3.}}, xg::requires_grad);
        int calls = 0;
        D const y = xg::checkpoint(
            [&](D const& a) {
                std::vector<D> const rows = D(exp(a)).unbind();
                return rows[++calls == 1 ? 0 : 1];
            },
            m);
        CHECK_THROWS_AS(sum(y).backward(), xg::GraphError);
    }
    SUBCASE("the same, also by another thread and beside Nodes of other threads") {
        D u;
        std::thread([&] { u = exp(w); }).join();
        auto const f = [&](D const& a) {
            D const b = sin(a) * u, own(2., xg::requires_grad);
            return std::tuple<D, D, D, D, D, D>(b * own, sum(b) + a, a, w, u, D(3.));
        };
        auto const loss = [](auto const& r) {
            auto const& [p, q, a, b, c, constant] = r;
            return D(sum(p * q) + sum(a * b * c) * constant);
        };
        auto const want = xg::grad(loss(f(x)), inputs(x, w), {.retain_graph = true});
        D const y = loss(xg::checkpoint(f, x));
        std::tuple<D, D> got;
        std::thread([&] { got = xg::grad(y, inputs(x, w)); }).join();
        CHECK(difference(std::get<0>(got), std::get<0>(want)) == "");
        CHECK(difference(std::get<1>(got), std::get<1>(want)) == "");
    }
}

TEST_CASE("captured tensors that are changed in place after the call, where nothing saved them") {
    D const x({0.5, -1.}, xg::requires_grad), w({2., 3., 4.}, xg::requires_grad);
    D b, h;
    auto const f = [&](D const& a) { return D(sin(a) + h); };
    auto const begin = [&] {
        b = w * 2.;
        h = b(xg::slice(0, 2));
        return D(xg::checkpoint(f, x));
    };
    auto const check = [&](D const& y) {
        auto const [gx, gw] = xg::grad(sum(y), xg::inputs(x, w));
        CHECK(difference(gx, D(cos(x)).detach()) == "");
        CHECK(difference(gw, {2., 2., 0.}) == "");
    };
    SUBCASE("the base of a view") {
        D const y = begin();
        b(2) += 1.;
        check(y);
    }
    SUBCASE("the base, again") {
        b = w * 2.;
        h = b(xg::slice(0, 2));
        b(2) += 1.;
        D const y = xg::checkpoint(f, x);
        b(2) += 1.;
        check(y);
    }
    SUBCASE("the tensor itself") {
        D const y = begin();
        h += 1.;
        check(y);
    }
    SUBCASE("the pass is in another thread") {
        D const y = begin();
        b(2) += 1.;
        std::thread([&] { check(y); }).join();
    }
    SUBCASE("another output of a captured Node is another tensor") {
        std::vector<D> const rows = D(w * 2.).unbind();
        D const z = xg::checkpoint(
            [&, n = 0](D const& a) mutable { return D(sin(a) + rows[++n == 1 ? 0 : 1]); }, x);
        CHECK_THROWS_AS(sum(z).backward(), xg::GraphError);
    }
}

TEST_CASE("exceptions") {
    D const x({0.5, -1.}, xg::requires_grad);
    CHECK_THROWS_WITH_AS(xg::checkpoint([](D const& a) { return a; }, D()),
        "checkpoint: input 0 is undefined", xg::GraphError);
    CHECK_THROWS_AS(xg::checkpoint([](D const&) -> D { throw 7; }, x), int);
    bool ready = true;
    D const y = xg::checkpoint(
        [&](D const& a) {
            D const b = exp(a);
            xg::rand({3});
            if (!ready) throw std::string("not ready");
            return D(b * b);
        },
        x);
    ready = false;
    xg::manual_seed(5);
    D const next = xg::rand({2});
    xg::manual_seed(5);
    CHECK_THROWS_AS(sum(y).backward(), std::string);
    CHECK(difference(xg::rand({2}), next, 0) == "");
    CHECK(xg::detail::default_packing == nullptr);
    ready = true;
    sum(y).backward();
    CHECK(difference(x.grad(), D(2. * exp(2. * x)).detach()) == "");
    xg::DisableSavedTensorsHooks const off("no hooks today");
    D const z = xg::checkpoint([](D const& a) { return D(exp(a)); }, x);
    CHECK(difference(xg::grad(sum(z), x), D(exp(x)).detach()) == "");
}

TEST_CASE("a chain of checkpoints, and what only moves") {
    struct MoveOnly {
        std::unique_ptr<double> factor;
        D operator()(D const& a) const { return D(sin(a) * *factor); }
    };
    D const x({0.5, -1.}, xg::requires_grad);
    D y = x, plain = x;
    for (int i = 0; i < 300; ++i) {
        y = xg::checkpoint(MoveOnly{std::make_unique<double>(1.1)}, y);
        plain = sin(plain) * 1.1;
    }
    CHECK(difference(xg::grad(sum(y), x), xg::grad(sum(plain), x)) == "");
}

TEST_CASE("threads that pass one graph each call the function for themselves") {
    D const x({0.5, -1.}, xg::requires_grad), w({2., 3.}, xg::requires_grad);
    std::atomic<int> calls = 0;
    D const y = xg::checkpoint(
        [&](D const& a) {
            ++calls;
            return D(exp(a * w) * xg::rand({2}));
        },
        x);
    D const wanted = xg::grad(sum(y), x, {.retain_graph = true});
    std::vector<std::thread> threads;
    std::vector<D> got(4);
    for (auto& g : got)
        threads.emplace_back([&] { g = xg::grad(sum(y), x, {.retain_graph = true}); });
    for (auto& t : threads) t.join();
    for (auto const& g : got) CHECK(difference(g, wanted, 0) == "");
    CHECK(calls == 6);
}

TEST_CASE(
    "a checkpoint calls its function once forward and once backward, whatever its Nodes save") {
    D const x = xg::rand({4, 4}, xg::requires_grad), k({1.5}, xg::requires_grad),
            m = xg::rand({4, 4}, xg::requires_grad);
    auto const calls_of = [&](auto const& step, bool create_graph = false) {
        int calls = 0;
        D const y = xg::checkpoint(
            [&](D const& a) {
                ++calls;
                D u = a;
                for (int i = 0; i < 6; ++i) u = step(u);
                return sum(u);
            },
            x);
        auto const parameters = std::vector<D>{x, k, m};
        auto const got =
            xg::grad(y, parameters, {.create_graph = create_graph, .allow_unused = true});
        D plain = x;
        for (int i = 0; i < 6; ++i) plain = step(plain);
        auto const wanted = xg::grad(sum(plain), parameters, {.allow_unused = true});
        for (std::size_t i = 0; i < got.size(); ++i) {
            CHECK(got[i].defined() == wanted[i].defined());
            if (got[i].defined()) CHECK(difference(got[i], wanted[i], 1e-12) == "");
        }
        return calls;
    };
    auto const rows = [](D const& u, std::ptrdiff_t from) {
        return u(xt::range(from, from + 2), xt::all());
    };
    CHECK(calls_of([&](D const& u) { return D(k * u.t()); }) == 2);
    CHECK(calls_of([&](D const& u) { return D(m * u.t() * u); }) == 2);
    CHECK(calls_of([&](D const& u) { return D(m * sin(u)); }) == 2);
    CHECK(calls_of([&](D const& u) {
        return D(u * sum(rows(u, 0) * rows(u, 1) * k * rows(u, 2)));
    }) == 2);
    CHECK(calls_of([&](D const& u) { return matmul(u.t(), m) / 3.; }) == 2);
    CHECK(calls_of([&](D const& u) { return D(u * u * u + m * u); }, true) == 2);
}

TEST_CASE("a second call that fails names the checkpoint and the capture by reference") {
    D const x({1., 2.}, xg::requires_grad);
    D k({3.}, xg::requires_grad);
    D const y = xg::checkpoint([&](D const& a) { return D(a * k); }, x);
    D const z = xg::checkpoint([=](D const& a) { return D(a * k); }, x);
    k = D();
    CHECK_THROWS_WITH_AS(sum(y).backward(),
        doctest::Contains(
            "checkpoint: the function was called again, for the backward pass, and failed there: "
            "what it captured by reference is gone or changed. Capture it by value: [=]. *: "
            "argument 1 is undefined"),
        xg::GraphError);
    sum(z).backward();
    CHECK(difference(x.grad(), D({3., 3.})) == "");
}

TEST_CASE("and once for a forward pass, also where a gradient is differentiated") {
    D const x({0.3, -0.2}), k({1.5, 0.5}), t({1., 2.});
    int calls = 0;
    auto const f = [&](D const& a) {
        return xg::checkpoint(
            [&calls, k, a](D const& b) {
                ++calls;
                D u = b;
                for (int i = 0; i < 6; ++i) u = sin(u) * k * a;
                return sum(u);
            },
            a);
    };
    auto const plain = [&](D const& a) {
        D u = a;
        for (int i = 0; i < 6; ++i) u = sin(u) * k * a;
        return sum(u);
    };
    CHECK(difference(xg::jvp(f, x, t).second, xg::jvp(plain, x, t).second) == "");
    CHECK(calls == 2);
    calls = 0;
    auto const h = xg::hvp(f, x, t).second;
    CHECK(difference(h, xg::vhp(plain, x, t).second, 1e-12) == "");
    CHECK(calls <= 4);
}

TEST_CASE("hooks unpack what a Node saved once, also where its gradient is added to another one") {
    D const k({1.5}, xg::requires_grad), x({1., 2.}, xg::requires_grad);
    int unpacked = 0;
    D y;
    {
        xg::SavedTensorsHooks const hooks([](xg::AnyTensor const& t) { return t; },
            [&](xg::AnyTensor const& t) { return ++unpacked, t; });
        D const first = k * x;
        y = k * first;
    }
    sum(y).backward();
    CHECK(unpacked == 4); // k twice, x and first
    CHECK(difference(k.grad(), D({9.})) == "");
}
