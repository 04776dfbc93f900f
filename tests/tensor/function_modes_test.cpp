// Custom Functions in grad modes, in passes that need only a part of them, with hooks, and in
// passes of their own.
#include "compare.hpp"

namespace {

/// a b, which notes what it is asked for and in which mode.
struct Noted : xg::Function<Noted> {
    using Saved = std::tuple<D, D>;
    struct Notes {
        std::vector<bool> forward, backward;
        bool recorded_in_forward = true, recorded_in_backward = true;
    };
    struct Data {
        Notes* notes;
    };
    static auto forward(Context& ctx, std::vector<D> const& x, D const& w, Notes* notes) {
        ctx.notes = notes;
        notes->forward = {ctx.needs_input_grad(0), ctx.needs_input_grad(0, 0),
            ctx.needs_input_grad(0, 1), ctx.needs_input_grad(1), ctx.needs_input_grad(2)};
        ctx.save_for_backward(x[0], w);
        D const product = x[0] * w;
        notes->recorded_in_forward = product.requires_grad() || xg::is_grad_enabled();
        return product + x[1];
    }
    static auto backward(Context& ctx, D const& g) {
        auto const [x, w] = ctx.saved_tensors();
        ctx.notes->backward = {ctx.needs_input_grad(0), ctx.needs_input_grad(0, 0),
            ctx.needs_input_grad(0, 1), ctx.needs_input_grad(1), ctx.needs_input_grad(2)};
        ctx.notes->recorded_in_backward = xg::is_grad_enabled();
        return std::tuple(std::vector<D>{g * w, g}, g * x, std::nullopt);
    }
};

/// x, whose backward computes what it returns by a pass of its own.
struct Reenters : xg::Function<Reenters> {
    using Saved = std::tuple<D>;
    static D forward(Context& ctx, D const& x) {
        ctx.save_for_backward(x);
        return x * x * x;
    }
    static auto backward(Context& ctx, D const& g) {
        auto const [x] = ctx.saved_tensors();
        xg::EnableGradGuard const on;
        D const again = x.detach().requires_grad_();
        sum(again * again * again * g).backward();
        return again.grad();
    }
};

/// Each backward starts a pass over the same Function one step lower.
struct Deep : xg::Function<Deep> {
    using Saved = std::tuple<D>;
    static D forward(Context& ctx, D const& x) {
        ctx.save_for_backward(x);
        return x - 1.;
    }
    static D backward(Context& ctx, D const& g) {
        auto const [x] = ctx.saved_tensors();
        if (x.item() > 0) {
            xg::EnableGradGuard const on;
            Deep::apply(D(x.item() - 1., xg::requires_grad)).backward();
        }
        return g;
    }
};

/// Saves where it is too late.
struct Late : xg::Function<Late> {
    using Saved = std::tuple<D>;
    static D forward(Context&, D const& x) { return x * 1.; }
    static auto backward(Context& ctx, D const& g) {
        ctx.save_for_backward(g);
        return g;
    }
};

/// Saves its result, so that edges and saved tensors both link the Nodes of a chain.
struct Doubled : xg::Function<Doubled> {
    using Saved = std::tuple<D, D>;
    static D forward(Context& ctx, D const& x) {
        D const y = x + x;
        ctx.save_for_backward(x, y);
        return y;
    }
    static auto backward(Context&, D const& g) { return 2. * g; }
};

struct Index : xg::Function<Index> {
    static D forward(Context& ctx, D const& x) {
        ctx.needs_input_grad(1);
        return x * 1.;
    }
    static auto backward(Context&, D const& g) { return g; }
};

template <class E = xg::Error, class F> std::string message(F f) {
    try {
        f();
    } catch (E const& e) { return e.what(); }
    return "nothing was thrown";
}

} // namespace

TEST_CASE("forward runs unrecorded, and backward where create_graph is set") {
    D const x({1., 2.}, xg::requires_grad), w({3., 4.}, xg::requires_grad);
    Noted::Notes notes;
    D const y = Noted::apply(std::vector{x, x}, w, &notes);
    CHECK_FALSE(notes.recorded_in_forward);
    D const g = xg::grad(sum(y), w, {.retain_graph = true});
    CHECK_FALSE(notes.recorded_in_backward);
    CHECK_FALSE(g.requires_grad());
    CHECK(xg::grad(sum(y), w, {.create_graph = true}).requires_grad());
    CHECK(notes.recorded_in_backward);
}

TEST_CASE(
    "needs_input_grad says what requires a gradient, and in backward what the pass will use") {
    D const x({1., 2.}, xg::requires_grad), w({3., 4.}, xg::requires_grad), constant({5., 6.});
    Noted::Notes notes;
    auto const y = Noted::apply(std::vector{x, constant}, w, &notes);
    CHECK(notes.forward == std::vector{true, true, false, true, false});
    auto const gw = xg::grad(sum(y), w, {.retain_graph = true});
    CHECK(notes.backward == std::vector{false, false, false, true, false});
    CHECK(difference(gw, {1., 2.}) == "");
    sum(y).backward({.retain_graph = true, .inputs = {x}});
    CHECK(notes.backward == std::vector{true, true, false, false, false});
    CHECK_FALSE(w.grad().defined());
    sum(y).backward();
    CHECK(notes.backward == std::vector{true, true, false, true, false});
    CHECK(message<xg::IndexError>([&] { Index::apply(x); }) ==
          "Index: needs_input_grad(1): forward was given 1 arguments");
}

TEST_CASE("nothing is recorded in no-grad and inference mode, nor of arguments that require no "
          "gradient") {
    D const x({1., 2.}, xg::requires_grad), w({3., 4.}, xg::requires_grad), constant({1., 1.});
    Noted::Notes notes;
    CHECK_FALSE(Noted::apply(std::vector{constant, constant}, constant, &notes).requires_grad());
    CHECK(notes.forward == std::vector(5, false));
    {
        xg::NoGradGuard const off;
        D const y = Noted::apply(std::vector{x, x}, w, &notes);
        CHECK_FALSE(y.requires_grad());
        CHECK(difference(y, {4., 10.}) == "");
    }
    xg::InferenceMode const inference;
    D const var1 = xg::ones({2}, xg::requires_grad), var2 = var1.clone();
    D const y = Noted::apply(std::vector{var1, var2}, var2, &notes);
    CHECK(y.is_inference());
    CHECK_FALSE(y.requires_grad());
    CHECK(difference(y, {2., 2.}) == "");
}

TEST_CASE("inference tensors cannot be saved") {
    D const x({1., 2.}, xg::requires_grad);
    D t;
    {
        xg::InferenceMode const inference;
        t = xg::ones({2});
    }
    Noted::Notes notes;
    CHECK(message<xg::GraphError>([&] {
        Noted::apply(std::vector{x, x}, t, &notes);
    }).find("Inference tensors cannot be saved for backward.") == 0);
    CHECK(Noted::apply(std::vector{x, t}, x, &notes).requires_grad());
}

TEST_CASE("a Function's Node takes hooks like any other") {
    D const x({1., 2.}, xg::requires_grad), w({3., 4.}, xg::requires_grad);
    using Gradients = std::vector<xg::AnyTensor>;
    Noted::Notes notes;
    D y = Noted::apply(std::vector{x, x}, w, &notes);
    std::vector<std::string> order;
    y.register_hook([&](D const&) { order.push_back("tensor hook"); });
    y.grad_fn()->register_prehook([&](Gradients const& g) {
        order.push_back("prehook");
        return Gradients{D(g[0].as<double>() * 10.)};
    });
    y.grad_fn()->register_hook([&](Gradients const& in, Gradients const& out) {
        order.push_back("hook");
        CHECK(in.size() == 3);
        CHECK(out.size() == 1);
        return Gradients{in[0], in[1], D(in[2].as<double>() * 2.)};
    });
    sum(y).backward();
    CHECK(order == std::vector<std::string>{"tensor hook", "prehook", "hook"});
    CHECK(difference(x.grad(), {40., 50.}) == "");
    CHECK(difference(w.grad(), {20., 40.}) == "");
}

TEST_CASE("backward may start passes of its own, as deep as it likes") {
    D const x({1., 2.}, xg::requires_grad);
    sum(Reenters::apply(x)).backward();
    CHECK(difference(x.grad(), {3., 12.}) == "");
    D const depth(300., xg::requires_grad);
    sum(Deep::apply(depth)).backward();
    CHECK(depth.grad().item() == 1);
}

TEST_CASE("what is for forward is an error later") {
    D const x({1., 2.}, xg::requires_grad);
    CHECK(message<xg::GraphError>([&] { sum(Late::apply(x)).backward(); }) ==
          "Late: save_for_backward() is for forward; it has returned");
}

TEST_CASE("chains of many Functions are differentiated and freed without deep recursion") {
    D const x({1.}, xg::requires_grad);
    D y = x * 1.;
    for (int i = 0; i < 100000; ++i) y = Doubled::apply(i % 2 ? D(y * 0.25) : y);
    sum(y).backward();
    CHECK(x.grad().defined());
    for (int i = 0; i < 100000; ++i) y = Doubled::apply(y);
    CHECK(y.requires_grad());
}
