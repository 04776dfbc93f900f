// Hooks around the backward pass of a module: what they see and may return, in which order they
// run.
#include "two_layers.hpp"

namespace {

struct Scale : nn::Module<Scale> {
    nn::Parameter<double> weight{*this, "weight", {3.}};
    D forward(D const& x) const { return x * weight; }
};
struct Sum : nn::Module<Sum> {
    D forward(D const& x, double factor, D const& y) const { return factor * x + y; }
};
struct Both : nn::Module<Both> {
    nn::Parameter<double> weight{*this, "weight", {3.}};
    std::tuple<D, F, int> forward(D const& x) const {
        return {x * weight, F(cast<float>(x * x)), 7};
    }
};
struct Constant : nn::Module<Constant> {
    nn::Parameter<double> weight{*this, "weight", {3.}};
    D forward(int n) const { return weight * double(n); }
};
struct Halves : nn::Module<Halves> {
    std::vector<D> forward(D const& x) const { return {x * 0.5, x * 0.25}; }
};
struct Id : nn::Module<Id> {
    D forward(D const& x) const { return x; }
};

D as_double(xg::AnyTensor const& t) { return t.as<double>(); }
auto append(std::string& log, char const* what) {
    return [&log, what](auto const&...) { log += what; };
}

} // namespace

TEST_CASE("the order of all hooks of a module") {
    std::string log;
    Scale m;
    D const x({2.}, xg::requires_grad);
    m.register_full_backward_hook(append(log, "bwd "));
    m.register_full_backward_pre_hook(append(log, "bwd_pre "));
    m.register_forward_hook(append(log, "fwd "));
    m.register_forward_pre_hook(append(log, "fwd_pre "));
    auto handles = {xg::nn::register_module_full_backward_hook(append(log, "global_bwd ")),
        xg::nn::register_module_full_backward_pre_hook(append(log, "global_bwd_pre ")),
        xg::nn::register_module_forward_hook(append(log, "global_fwd ")),
        xg::nn::register_module_forward_pre_hook(append(log, "global_fwd_pre "))};
    D x_handle = x;
    x_handle.register_hook(append(log, "x "));
    m.weight.register_hook(append(log, "weight "));
    D y = m(x);
    CHECK(log == "global_fwd_pre fwd_pre global_fwd fwd ");
    log.clear();
    y.register_hook(append(log, "y "));
    y.backward(D({1.}));
    CHECK(log == "y global_bwd_pre bwd_pre weight global_bwd bwd x ");
    for (auto h : handles) h.remove();
    log.clear();
    D(m(x)).backward(D({1.}));
    CHECK(log == "fwd_pre fwd bwd_pre weight bwd x ");
}

TEST_CASE("prepend puts a hook before the others") {
    std::string log;
    Scale m;
    m.register_full_backward_hook(append(log, "b1 "));
    m.register_full_backward_hook(append(log, "b0 "), {.prepend = true});
    m.register_full_backward_pre_hook(append(log, "p1 "));
    m.register_full_backward_pre_hook(append(log, "p0 "), {.prepend = true});
    m(D({2.}, xg::requires_grad)).backward(D({1.}));
    CHECK(log == "p0 p1 b0 b1 ");
}

TEST_CASE("a module called twice: the hooks run for each call, the last one first") {
    std::string log;
    Scale m;
    m.register_full_backward_hook([&](Scale&, Gradients const& in, Gradients const& out) {
        log += to_string(as_double(in[0])) + to_string(as_double(out[0])) + "\n";
    });
    D const x({2.}, xg::requires_grad);
    m(m(x)).backward(D({1.}));
    CHECK(log ==
          "Tensor([3], shape=[1], dtype=float64)Tensor([1], shape=[1], dtype=float64)\nTensor([9], "
          "shape=[1], dtype=float64)Tensor([3], shape=[1], dtype=float64)\n");
    CHECK(difference(x.grad(), {9.}) == "");
}

TEST_CASE("hooks of modules inside each other run from the outside in, and back") {
    std::string log;
    TwoLayers<double> net;
    for (auto& [name, m] : net.named_modules()) {
        m->register_full_backward_pre_hook(
            [&log, name = name](auto&, auto const&) { log += "pre:" + name + " "; });
        m->register_full_backward_hook([&log, name = name](nn::AnyModule&, Gradients const&,
                                           Gradients const&) { log += "full:" + name + " "; });
    }
    sum(net(D({.3}, xg::requires_grad))).backward();
    CHECK(log == "pre: pre:f1 full:f1 pre:f0 full:f0 full: ");
}

TEST_CASE(
    "arguments: zeros for a tensor that requires no gradient, nothing for what is no tensor") {
    Sum m;
    int calls = 0;
    m.register_full_backward_hook([&](Sum&, Gradients const& in, Gradients const& out) {
        ++calls;
        REQUIRE(in.size() == 3);
        CHECK(difference(as_double(in[0]), {5., 10.}) == "");
        CHECK_FALSE(in[1].defined());
        CHECK(difference(as_double(in[2]), {0., 0.}) == "");
        CHECK(difference(as_double(out[0]), {1., 2.}) == "");
        return Gradients{D({7., 8.}), D(), D({1., 1.})};
    });
    D const x({1., 1.}, xg::requires_grad), y({1., 1.});
    m(x, 5., y).backward(D({1., 2.}));
    CHECK(calls == 1);
    CHECK(difference(x.grad(), {7., 8.}) == "");
    CHECK_FALSE(y.grad().defined());
}

TEST_CASE("hooks change neither which arguments require a gradient, nor their values") {
    struct Look : nn::Module<Look> {
        std::vector<bool> flags;
        D forward(D const& a, D const& b, F const& c) {
            flags = {a.requires_grad(), b.requires_grad(), c.requires_grad()};
            return a * b * cast<double>(c);
        }
    } m;
    m.register_full_backward_hook([](auto&, auto const&, auto const&) {});
    D const a({2.}, xg::requires_grad), b({3.});
    F const c({4.f}, xg::requires_grad);
    D const y = m(a * 2., b, c);
    CHECK(m.flags == std::vector<bool>{true, false, true});
    CHECK(difference(y, {48.}) == "");
    sum(y).backward();
    CHECK(difference(a.grad(), {24.}) == "");
    CHECK(difference(c.grad(), {12.f}) == "");
    CHECK_FALSE(b.grad().defined());
    m(b, b, F({1.f}));
    CHECK(m.flags == std::vector<bool>{false, false, false});
}

TEST_CASE("one tensor as two arguments has two gradients") {
    Sum m;
    m.register_full_backward_hook([&](Sum&, Gradients const& in, Gradients const&) {
        CHECK(difference(as_double(in[0]), {5.}) == "");
        CHECK(difference(as_double(in[2]), {1.}) == "");
    });
    D const x({1.}, xg::requires_grad);
    m(x, 5., x).backward(D({1.}));
    CHECK(difference(x.grad(), {6.}) == "");
}

TEST_CASE("results: a place for each, without a gradient where none came") {
    Both m;
    Gradients seen;
    m.register_full_backward_hook([&](Both&, Gradients const& in, Gradients const& out) {
        seen = out;
        CHECK(difference(as_double(in[0]), {4.}) == "");
    });
    D const x({2.}, xg::requires_grad);
    auto const [a, b, n] = m(x);
    CHECK(n == 7);
    xg::backward({b});
    REQUIRE(seen.size() == 3);
    CHECK_FALSE(seen[0].defined());
    CHECK(difference(seen[1].as<float>(), {1.f}) == "");
    CHECK_FALSE(seen[2].defined());
    CHECK(difference(x.grad(), {4.}) == "");
}

TEST_CASE("no argument requires a gradient: the hook sees none, before those of the parameters") {
    std::string log;
    Scale m;
    bool returns = false;
    m.register_full_backward_hook(
        [&](Scale&, Gradients const& in, Gradients const& out) -> std::optional<Gradients> {
            log += "bwd ";
            CHECK(in.size() == 1);
            CHECK_FALSE(in[0].defined());
            CHECK(difference(as_double(out[0]), {1.}) == "");
            if (returns) return Gradients{D({1.})};
            return Gradients{D()};
        });
    m.weight.register_hook(append(log, "weight "));
    D(m(D({2.}))).backward(D({1.}));
    CHECK(log == "bwd weight ");
    CHECK(difference(m.weight.grad(), {2.}) == "");
    returns = true;
    CHECK_THROWS_WITH_AS(D(m(D({2.}))).backward(D({1.})),
        "Backward hook for Modules where no input requires gradient should always return nothing "
        "or undefined tensors for all gradients.",
        xg::GraphError);

    Constant c;
    int calls = 0;
    c.register_full_backward_hook([&](Constant&, Gradients const& in, Gradients const&) {
        calls += in.size() == 1 && !in[0].defined();
    });
    c(4).backward(D({1.}));
    CHECK(calls == 1);
    CHECK(difference(c.weight.grad(), {4.}) == "");
}

TEST_CASE("wrong numbers of gradients, and gradients of another size or type") {
    D const x({2.}, xg::requires_grad);
    auto const with = [&](Gradients returned) {
        Scale m;
        m.register_full_backward_hook(
            [&](Scale&, Gradients const&, Gradients const&) { return returned; });
        m(x).backward(D({1.}));
    };
    CHECK_THROWS_WITH_AS(with({D({1.}), D({1.})}),
        "Backward hook returned an invalid number of grad_input, got 2, but expected 1",
        xg::GraphError);
    CHECK_THROWS_WITH_AS(with({}),
        "Backward hook returned an invalid number of grad_input, got 0, but expected 1",
        xg::GraphError);
    CHECK_THROWS_WITH(with({D({1., 2.})}), doctest::Contains("has changed the size of value"));
    CHECK_THROWS_WITH(with({F({1.f})}), doctest::Contains("has changed the type of value"));
    Scale m;
    m.register_full_backward_pre_hook([&](Scale&, Gradients const&) { return Gradients(); });
    CHECK_THROWS_WITH_AS(D(m(x)).backward(D({1.})),
        "Backward pre hook returned an invalid number of grad_output, got 0, but expected 1",
        xg::GraphError);
    CHECK_FALSE(x.grad().defined());
}

TEST_CASE("a pre-hook's zeros are the gradients of weight and argument, and what the hook gets") {
    Scale m;
    D const x({2.}, xg::requires_grad);
    m.register_full_backward_pre_hook(
        [](Scale&, Gradients const& out) { return Gradients{zeros_like(out[0].as<double>())}; });
    m.register_full_backward_hook([](Scale&, Gradients const& in, Gradients const& out) {
        CHECK(difference(as_double(in[0]), {0.}) == "");
        CHECK(difference(as_double(out[0]), {0.}) == "");
    });
    m(x).backward(D({1.}));
    CHECK(difference(x.grad(), {0.}) == "");
    CHECK(difference(m.weight.grad(), {0.}) == "");
}

TEST_CASE("no_grad, and a pass that does not come through the results: no hook") {
    struct Leaky : nn::Module<Leaky> {
        D middle;
        D forward(D const& x) {
            middle = 2. * x;
            return middle * 3.;
        }
    } m;
    int calls = 0;
    m.register_full_backward_hook([&](auto&, auto const&, auto const&) { ++calls; });
    D const x({1.}, xg::requires_grad);
    {
        xg::NoGradGuard const off;
        CHECK_FALSE(D(m(x)).requires_grad());
    }
    {
        xg::InferenceMode const on;
        CHECK_FALSE(D(m(x)).requires_grad());
    }
    D const y = m(x);
    m.middle.backward(D({1.}));
    CHECK(calls == 0);
    CHECK(difference(x.grad(), {2.}) == "");
    y.backward(D({1.}));
    CHECK(calls == 1);
}

TEST_CASE("both kinds of hook on one module are an error") {
    std::string const text = "Cannot use both regular backward hooks and full backward hooks on a "
                             "single Module. Please use only one of them.";
    Scale a, b;
    a.register_full_backward_hook([](auto&, auto const&, auto const&) {});
    CHECK_THROWS_WITH_AS(a.register_backward_hook([](auto&, auto const&, auto const&) {}),
        text.c_str(), xg::GraphError);
    b.register_backward_hook([](auto&, auto const&, auto const&) {});
    CHECK_THROWS_WITH_AS(b.register_full_backward_hook([](auto&, auto const&, auto const&) {}),
        text.c_str(), xg::GraphError);
}

TEST_CASE("a module that returns its argument") {
    Id m;
    int calls = 0;
    m.register_full_backward_hook([&](Id&, Gradients const& in, Gradients const&) {
        ++calls;
        return Gradients{D(2. * as_double(in[0]))};
    });
    D const x({1.}, xg::requires_grad);
    m(x).backward(D({5.}));
    CHECK(calls == 1);
    CHECK(difference(x.grad(), {10.}) == "");
}

TEST_CASE("a legacy hook must return as many gradients as it was given") {
    Scale m;
    D const x({1.}, xg::requires_grad);
    Gradients returned;
    m.register_backward_hook([&](Scale&, Gradients const& in, Gradients const&) {
        CHECK(in.size() == 2);
        return returned;
    });
    CHECK_THROWS_WITH_AS(m(x).backward(D({1.})),
        "a hook has returned an incorrect number of values (got 0, but expected 2)",
        xg::GraphError);
    returned = {D({1.})};
    CHECK_THROWS_WITH_AS(m(x).backward(D({1.})),
        "a hook has returned an incorrect number of values (got 1, but expected 2)",
        xg::GraphError);
    CHECK_FALSE(x.grad().defined());
    returned = {D({10.}), D({20.})};
    m(x).backward(D({1.}));
    CHECK(difference(x.grad(), {10.}) == "");
    CHECK(difference(m.weight.grad(), {20.}) == "");
}

TEST_CASE("a legacy hook warns of what it will not see") {
    Warnings warnings;
    auto const warned = [&](std::string const& text) {
        REQUIRE(warnings.texts.size() == 1);
        CHECK(warnings.texts[0].find(text) == 0);
        CHECK(warnings.texts[0].find("Please use register_full_backward_hook to get") != text.npos);
    };
    D const x({1.}, xg::requires_grad);
    std::string seen;
    auto const see = [&](auto&, Gradients const& in, Gradients const& out) {
        seen += std::to_string(as_double(in[0]).item()) + ' ' + std::to_string(out.size());
    };
    SUBCASE("nothing of one Node") {
        Scale m;
        m.register_backward_hook(see);
        m(x).backward(D({1.}));
        CHECK(warnings.texts.size() == 1); // the edge to the weight is none of the arguments'
        CHECK(seen == "3.000000 1");
    }
    SUBCASE("results in a list: it stands on the Node of the first") {
        Halves m;
        m.register_backward_hook(see);
        auto const y = m(x);
        warned("Using non-full backward hooks on a Module that does not return a single Tensor or "
               "a tuple "
               "of Tensors is deprecated");
        y[1].backward(D({1.}));
        CHECK(seen == "");
        y[0].backward(D({1.}));
        CHECK(seen == "0.500000 1");
    }
    SUBCASE("results that are no tensors") {
        Both m;
        m.register_backward_hook(see);
        auto const y = m(x);
        warned("Using non-full backward hooks on a Module that does not return a single Tensor or "
               "a tuple "
               "of Tensors is deprecated");
        std::get<0>(y).backward(D({1.}));
        CHECK(seen == "3.000000 1");
    }
    SUBCASE("arguments that are no tensors") {
        Sum m;
        m.register_backward_hook(see);
        D const y = m(x, 3., D({1.}));
        warned("Using non-full backward hooks on a Module that does not take as input a single "
               "Tensor or a "
               "tuple of Tensors is deprecated");
        y.backward(D({1.}));
        CHECK(seen == "3.000000 1");
    }
}
