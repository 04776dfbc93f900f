// Backward passes inside backward passes.
#include "walk.hpp"

namespace {
/// y = x, whose backward first calls a function with the gradient.
class Calling : public xg::Node {
public:
    Calling(xg::AnyTensor const& x, std::function<void(D const&)> f)
        : edge_(xg::detail::gradient_edge(x)), f_(std::move(f)) {
        set_edges(&edge_, 1);
    }
    void apply(std::span<xg::AnyTensor> gradients, std::span<xg::AnyTensor> results) override {
        f_(gradients[0].as<double>());
        results[0] = gradients[0];
    }
    std::string name() const override { return "CallingBackward"; }

private:
    xg::Edge edge_;
    std::function<void(D const&)> f_;
};

D calling(D const& x, std::function<void(D const&)> f) {
    D y(x.array_of());
    y.impl().grad_fn = xg::detail::Ref<xg::Node>(new Calling(x, std::move(f)));
    return y;
}
} // namespace

TEST_CASE("a Node may differentiate other graphs while it runs") {
    D const x({1., 2.}, xg::requires_grad), w({3., 4.}, xg::requires_grad);
    D const y = calling(x, [&](D const& g) {
        xg::EnableGradGuard const on;
        sum(w * w * g).backward();
    });
    sum(y * 2.).backward();
    CHECK(difference(x.grad(), {2., 2.}) == "");
    CHECK(difference(w.grad(), {12., 16.}) == "");
}

TEST_CASE("a hook of a leaf may add to that leaf's gradient by a pass of its own") {
    D x(1., xg::requires_grad), parameter(2., xg::requires_grad);
    int calls = 0;
    parameter.register_hook([&](D const& g) {
        ++calls;
        xg::EnableGradGuard const on;
        D const local = x.detach().requires_grad_();
        D(local * 3.).backward();
        return D(g + local.grad());
    });
    D(parameter * 4.).backward();
    CHECK(calls == 1);
    CHECK(parameter.grad().item() == 7);
}

TEST_CASE("a pass inside a hook may reach the leaf whose hook it is") {
    D parameter(2., xg::requires_grad);
    int depth = 0, deepest = 0;
    parameter.register_hook([&](D const&) {
        deepest = std::max(deepest, ++depth);
        if (depth < 3) {
            xg::EnableGradGuard const on;
            D(parameter * 10.).backward();
        }
        --depth;
    });
    D(parameter * 1.).backward();
    CHECK(deepest == 3);
    CHECK(parameter.grad().item() == 21);
}

TEST_CASE("8193 passes nest") {
    int constexpr levels = 8193;
    D const x(1., xg::requires_grad);
    int depth = 0, deepest = 0;
    std::function<D()> level;
    SUBCASE("in Nodes") {
        level = [&] {
            D const y = calling(x, [&](D const&) {
                deepest = std::max(deepest, ++depth);
                xg::EnableGradGuard const on;
                if (depth < levels) level().backward();
                --depth;
            });
            return y;
        };
    }
    SUBCASE("in hooks, over graphs of several Nodes") {
        level = [&] {
            D y = x * 1.;
            y.register_hook([&](D const&) {
                deepest = std::max(deepest, ++depth);
                xg::EnableGradGuard const on;
                if (depth < levels) level().backward();
                --depth;
            });
            return D(y + 0.);
        };
    }
    level().backward();
    CHECK(deepest == levels);
    CHECK(depth == 0);
    CHECK(x.grad().item() == levels);
}

TEST_CASE("what is thrown at a deep level comes out at every level until it is caught") {
    struct Boom {
        int level;
    };
    D const x(1., xg::requires_grad);
    int depth = 0, passed = 0;
    std::function<void()> const descend = [&] {
        xg::EnableGradGuard const on;
        D y = x * 1.;
        y.register_hook([&](D const&) {
            if (++depth == 500) throw Boom{depth};
            try {
                descend();
            } catch (...) {
                if (++passed == 400) return;
                throw;
            }
        });
        D(y + 0.).backward();
    };
    descend();
    CHECK(passed == 400);
    CHECK(x.grad().item() == 100);
    CHECK(xg::is_grad_enabled());
    passed = depth = 0;
    x.impl().grad = nullptr;
    descend();
    CHECK(x.grad().item() == 100);
}

TEST_CASE("a nested pass is complete before any other branch of the outer one goes on") {
    D const x(1., xg::requires_grad);
    std::string order;
    auto const branch = [&](char name) {
        return calling(x, [&order, name](D const&) { order += name; });
    };
    D const older = branch('0');
    int depth = 0;
    std::function<void(D const&)> nest = [&](D const&) {
        order += '1';
        if (++depth == 9) return;
        xg::EnableGradGuard const on;
        D const deeper = calling(x, nest), aside = branch('2');
        D(deeper + aside).backward();
    };
    D const newer = calling(x, nest);
    D(newer + older).backward();
    // at each level the branch '2', which is newer, then the next level; the older branch of the
    // outermost one comes last
    CHECK(order == "121212121212121210");
    CHECK(x.grad().item() == 18);
}

TEST_CASE("a nested pass that fails does not disturb the outer one, where its error is caught") {
    D const x({1., 2.}, xg::requires_grad), w({3., 4.}, xg::requires_grad);
    std::string message;
    D const y = calling(x, [&](D const&) {
        xg::EnableGradGuard const on;
        try {
            D(w * w).backward();
        } catch (xg::GraphError const& e) { message = e.what(); }
    });
    sum(y * w).backward();
    CHECK(message.find("only for scalar outputs") != std::string::npos);
    CHECK(difference(x.grad(), {3., 4.}) == "");
    CHECK(difference(w.grad(), {1., 2.}) == "");
}

TEST_CASE("a nested pass's error that nobody catches ends the outer one too") {
    D const x({1., 2.}, xg::requires_grad), w({3., 4.}, xg::requires_grad);
    D const y = calling(x, [&](D const&) { D(w * w).backward(); });
    D const z = sum(y * 1.);
    CHECK_THROWS_WITH_AS(z.backward(), doctest::Contains("does not require grad"), xg::GraphError);
    CHECK_FALSE(x.grad().defined());
    CHECK(xg::is_grad_enabled());
    sum(x * w).backward();
    CHECK(difference(x.grad(), {3., 4.}) == "");
}

TEST_CASE("a nested pass over the Nodes that wait in the outer one leaves their gradients alone") {
    D const x(1., xg::requires_grad), w(2., xg::requires_grad);
    D a = x * 3., b = w * 5.;
    std::vector<double> inner;
    bool nested = false;
    D const z = a * b;
    D top = z * z;
    D early = a * 7. + top; // a's gradient has come in part when top's hook runs
    top.register_hook([&](D const&) {
        if (std::exchange(nested, true)) return;
        inner.push_back(grad(early, x, {.retain_graph = true}).item());
        inner.push_back(grad(early, w, {.retain_graph = true}).item());
    });
    early.backward({.retain_graph = true});
    double const at_x = 7 * 3 + 2 * 30 * 10 * 3, at_w = 2 * 30 * 3 * 5;
    CHECK(inner == std::vector{at_x, at_w});
    CHECK(x.grad().item() == at_x);
    CHECK(w.grad().item() == at_w);
}

TEST_CASE("at any depth the newest Node runs first") {
    D const x(1., xg::requires_grad);
    D older = x * 2.;
    std::string order;
    older.register_hook([&](D const&) { order += 'o'; });
    int depth = 0;
    std::function<void()> const descend = [&] {
        xg::EnableGradGuard const on;
        D y = x * 1.;
        y.register_hook([&](D const&) {
            if (++depth < 200) return descend();
            xg::EnableGradGuard const here;
            D newer = x * 3.;
            newer.register_hook([&](D const&) { order += 'n'; });
            D(older + newer).backward();
        });
        D(y + 0.).backward();
    };
    descend();
    CHECK(order == "no");
    D const last = x * 4.;
    CHECK(last.grad_fn()->sequence_nr() > older.grad_fn()->sequence_nr() + 200);
}

namespace {
struct NoScope {};

/// Calls f at each of 130 depths of passes inside passes, which takes three stacks. The passes run
/// in a Scope.
template <class Scope = NoScope>
void at_each_depth(std::function<void()> const& f, xg::BackwardOptions const& options = {}) {
    constexpr std::size_t levels = 130;
    D const x(1., xg::requires_grad);
    std::vector<D> y;
    for (std::size_t i = 0; i < levels; ++i) y.push_back(x * 1.);
    for (std::size_t i = 0; i < levels; ++i)
        y[i].register_hook([&, i](D const&) {
            f();
            if (i + 1 < levels) y[i + 1].backward(options);
        });
    [[maybe_unused]] Scope const scope{};
    y[0].backward(options);
}
} // namespace

TEST_CASE("at any depth all that belongs to the calling thread is there") {
    SUBCASE("grad mode, and that a pass will be differentiated") {
        for (bool const on : {false, true}) {
            int calls = 0;
            auto const before = xg::set_warning_handler([](auto const&) {});
            auto const look = [&] {
                calls += xg::is_grad_enabled() == on;
                D const v(3., xg::requires_grad);
                xg::EnableGradGuard const
                    guard; // transforms record where their results will be differentiated
                calls += xg::value_and_grad([](D const& t) { return t * t; }, v)
                             .second.requires_grad() == on;
            };
            at_each_depth(look, {.create_graph = on});
            xg::set_warning_handler(before);
            CHECK(calls == 2 * 130);
        }
        CHECK(xg::is_grad_enabled());
    }
    SUBCASE("inference mode") {
        int calls = 0;
        at_each_depth<xg::InferenceMode>([&] { calls += xg::is_inference_mode_enabled(); });
        CHECK(calls == 130);
        CHECK_FALSE(xg::is_inference_mode_enabled());
    }
    SUBCASE("anomaly mode") {
        struct Anomaly {
            xg::AnomalyMode mode{};
        };
        int calls = 0;
        auto const before = xg::set_warning_handler([](auto const&) {});
        auto const look = [&] {
            D const zero(0., xg::requires_grad);
            xg::EnableGradGuard const on;
            D const y = sqrt(zero) * 0.;
            CHECK_THROWS_AS(y.backward(), xg::GraphError);
            ++calls;
        };
        at_each_depth<Anomaly>(look);
        xg::set_warning_handler(before);
        CHECK(calls == 130);
    }
    SUBCASE("hooks on saved tensors") {
        static int packed;
        packed = 0;
        struct Hooks {
            xg::SavedTensorsHooks hooks{[](xg::AnyTensor const& t) { return ++packed, t; },
                [](xg::AnyTensor const& t) { return t; }};
        };
        D const x(2., xg::requires_grad);
        at_each_depth<Hooks>([&] {
            xg::EnableGradGuard const on;
            D const square = x * x;
        });
        CHECK(packed == 130);
    }
    SUBCASE("that hooks on saved tensors are disabled") {
        struct Disabled {
            xg::DisableSavedTensorsHooks disabled{"not here"};
        };
        auto const keep = [](xg::AnyTensor const& t) { return t; };
        at_each_depth<Disabled>([&] {
            CHECK_THROWS_WITH(static_cast<void>(xg::SavedTensorsHooks(keep, keep)), "not here");
        });
    }
    SUBCASE("random numbers") {
        auto const draw = [] { return xg::rand({}).item(); };
        xg::manual_seed(7);
        std::vector<double> wanted, seen;
        for (int i = 0; i < 130; ++i) wanted.push_back(draw());
        double const next = draw();
        xg::manual_seed(7);
        at_each_depth([&] { seen.push_back(draw()); });
        CHECK(seen == wanted);
        CHECK(draw() == next);
        at_each_depth([&] {
            if (seen.size() < 230) seen.push_back(0);
            else xg::manual_seed(7);
        });
        CHECK(draw() == wanted[0]);
    }
    SUBCASE("numbers of Nodes") {
        D const x(2., xg::requires_grad);
        std::vector<std::uint64_t> seen;
        at_each_depth([&] {
            xg::EnableGradGuard const on;
            seen.push_back(D(x * x).grad_fn()->sequence_nr());
        });
        CHECK(std::ranges::is_sorted(seen, std::less_equal<>()));
        CHECK(D(x * x).grad_fn()->sequence_nr() > seen.back());
    }
    SUBCASE("the running pass") {
        int queued = 0, called = 0;
        at_each_depth([&] {
            ++queued;
            xg::queue_callback([&] { ++called; });
        });
        CHECK(queued == 130);
        CHECK(called == 130);
    }
}
