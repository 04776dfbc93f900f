// Backward hooks and higher derivatives, changes in place, removed hooks, modules that move or go.
#include "two_layers.hpp"

namespace {

struct Square : nn::Module<Square> {
    D forward(D const& x) const { return x * x; }
};
struct InPlace : nn::Module<InPlace> {
    D forward(D x) const {
        x += 1.;
        return x * x;
    }
};

std::string text_of(auto const& f) {
    try {
        f();
    } catch (xg::GraphError const& e) { return e.what(); }
    return "";
}
std::string const is_view = "Output 0 of BackwardHookFunctionBackward is a view and is being "
                            "modified inplace. This view was created inside a custom Function";

} // namespace

TEST_CASE("double backward: the hook runs in the pass that comes through the results, and its "
          "results are differentiated") {
    Square m;
    int calls = 0;
    m.register_full_backward_hook([&](Square&, Gradients const& in, Gradients const&) {
        ++calls;
        return Gradients{D(in[0].as<double>() * 10.)};
    });
    D const x({3.}, xg::requires_grad);
    D const g = xg::grad(sum(m(x)), x, {.create_graph = true});
    CHECK(calls == 1);
    CHECK(difference(g, {60.}) == "");
    D const gg = xg::grad(sum(g), x);
    CHECK(calls == 1);
    CHECK(difference(gg, {20.}) == "");
}

TEST_CASE("a kept graph runs its hooks in each pass") {
    Square m;
    int calls = 0;
    m.register_full_backward_hook([&](auto&, auto const&, auto const&) { ++calls; });
    D const x({3.}, xg::requires_grad);
    D const y = m(x);
    y.backward(D({1.}), {.retain_graph = true});
    y.backward(D({1.}));
    CHECK(calls == 2);
    CHECK(difference(x.grad(), {12.}) == "");
}

TEST_CASE("nothing keeps a graph with hooks alive") {
    Warnings const about_the_cycle_of_a_leaf_and_its_gradient;
    Square m;
    m.register_full_backward_hook(
        [](Square&, Gradients const& in, Gradients const&) { return in; });
    m.register_full_backward_pre_hook([](Square&, Gradients const& out) { return out; });
    xg::WeakTensor weak;
    {
        D const x({3.}, xg::requires_grad);
        D const inner = x * 2.;
        weak = xg::WeakTensor(inner);
        D const y = m(inner);
        y.backward(D({1.}), {.create_graph = true});
        CHECK(x.grad().requires_grad());
        x.impl().grad = nullptr;
    }
    CHECK_FALSE(weak.lock().defined());
}

TEST_CASE("changing an argument or a result in place would lead past the hooks") {
    D const x({1.}, xg::requires_grad);
    D const computed = x * 1.;
    InPlace in_place;
    in_place.register_full_backward_hook([](auto&, auto const&, auto const&) {});
    CHECK(text_of([&] { in_place(computed); }).find(is_view) != std::string::npos);
    Square m;
    m.register_full_backward_hook([](auto&, auto const&, auto const&) {});
    D y = m(x);
    CHECK(text_of([&] { y += 1.; }).find(is_view) != std::string::npos);
    D z = y.clone();
    z += 1.;
    z.backward(D({1.}));
    CHECK(difference(x.grad(), {2.}) == "");
}

TEST_CASE("a hook that was removed does not run; one registered after the call does not either") {
    Square m;
    int first = 0, later = 0;
    auto handle = m.register_full_backward_hook([&](auto&, auto const&, auto const&) { ++first; });
    m.register_full_backward_hook([&](auto&, auto const&, auto const&) {});
    D const x({3.}, xg::requires_grad);
    D const y = m(x);
    handle.remove();
    handle.remove();
    m.register_full_backward_hook([&](auto&, auto const&, auto const&) { ++later; });
    y.backward(D({1.}));
    CHECK(first == 0);
    CHECK(later == 0);
    m(x).backward(D({1.}));
    CHECK(later == 1);
}

TEST_CASE("hooks go with a module that is moved, not with a copy; without its module a hook is an "
          "error") {
    int calls = 0;
    nn::AnyModule* seen = nullptr;
    D const x({3.}, xg::requires_grad);
    auto a = std::make_unique<Square>();
    a->register_full_backward_hook(
        [&](Square& m, auto const&, auto const&) { ++calls, seen = &m; });
    Square copy = *a;
    copy(x).backward(D({1.}));
    CHECK(calls == 0);
    D const y = (*a)(x);
    Square moved = std::move(*a);
    a.reset();
    y.backward(D({1.}));
    CHECK(calls == 1);
    CHECK(seen == &moved);

    D orphan;
    {
        Square gone;
        gone.register_full_backward_hook([&](auto&, auto const&, auto const&) {});
        orphan = gone(x);
    }
    CHECK_THROWS_WITH_AS(orphan.backward(D({1.})),
        doctest::Contains("was destroyed before the backward pass"), xg::GraphError);
}

TEST_CASE("a hook that throws leaves as its own exception, and the next pass is as ever") {
    struct Boom {};
    Square m;
    bool throws = true;
    int calls = 0;
    m.register_full_backward_hook([&](auto&, auto const&, auto const&) {
        ++calls;
        if (throws) throw Boom();
    });
    D const x({3.}, xg::requires_grad);
    D const y = m(x);
    CHECK_THROWS_AS(y.backward(D({1.}), {.retain_graph = true}), Boom);
    throws = false;
    y.backward(D({1.}));
    CHECK(calls == 2);
    CHECK(difference(x.grad(), {6.}) == "");
}

TEST_CASE("complex modules") {
    struct Phase : nn::Module<Phase> {
        nn::Parameter<std::complex<double>> c{*this, "c", {std::complex<double>(0, 1)}};
        Z forward(Z const& z) const { return z * c; }
    } m;
    Z seen;
    m.register_full_backward_hook([&](auto&, Gradients const& in, Gradients const&) {
        seen = in[0].as<std::complex<double>>();
    });
    Z const z({std::complex<double>(1, 2)}, xg::requires_grad);
    D(sum(abs2(m(z)))).backward();
    CHECK(difference(seen, {std::complex<double>(2, 4)}) == "");        // 2 z |c|^2
    CHECK(difference(m.c.grad(), {std::complex<double>(0, 10)}) == ""); // 2 |z|^2 c
}
