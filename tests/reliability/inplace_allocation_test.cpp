// No memory during changes in place: each has happened wholly, with a new version, or not at all.
#include "allocations.hpp"

using allocations::each_fault;
using allocations::fails;

namespace {

/// Runs change(t, view of t, leaf) on a tensor of the graph with each allocation failing in turn.
template <class Change> allocations::Outcome with_each_fault(Change change) {
    struct Parts {
        D x{D({{0.5, -1., 1.5}, {2., 0.25, -0.75}}, xg::requires_grad)};
        D t{x * 2.}, view{t(xt::all(), xg::slice(0, 2))};
    };
    Parts done;
    change(done.t, done.view, done.x);
    D const right = grad(sum(done.t * done.t), done.x);
    D const unchanged = Parts().t;
    return each_fault([&](long k) -> char const* {
        Parts p;
        p.t.retain_grad();
        bool const threw = fails(k, [&] { change(p.t, p.view, p.x); });
        if (p.t.version() != (threw ? 0u : 1u)) return "the version does not tell what happened";
        if (!same(p.t, threw ? unchanged : done.t)) return "half written";
        if (p.x.version() != 0) return "another tensor changed";
        if (threw) change(p.t, p.view, p.x);
        sum(p.t * p.t).backward();
        if (!same(p.x.grad(), right)) return "a wrong gradient afterwards";
        D const seen = p.t * 2.;
        return same(p.t.grad(), seen) ? nullptr : "retain_grad was lost";
    });
}

} // namespace

TEST_CASE("a change in place happens wholly or not at all where memory is short") {
    allocations::Outcome outcome;
    SUBCASE("of a tensor") {
        outcome = with_each_fault([](D& t, D&, D const& x) { t *= x; });
    }
    SUBCASE("whose result is saved") {
        outcome = with_each_fault([](D& t, D&, D const&) { t.exp_(); });
    }
    SUBCASE("through a view") {
        outcome = with_each_fault([](D&, D& view, D const&) { view *= 3.; });
    }
    SUBCASE("through a view, whose result is saved") {
        outcome = with_each_fault([](D&, D& view, D const&) { view.tanh_(); });
    }
    SUBCASE("with a value that needs a gradient itself") {
        outcome = with_each_fault(
            [](D&, D& view, D const& x) { view.copy_(x(xt::all(), xg::slice(1, 3))); });
    }
    SUBCASE("of one row by an index") {
        outcome = with_each_fault([](D& t, D&, D const& x) { t(0) = x(1) * 2.; });
    }
    SUBCASE("of the elements of a mask") {
        outcome = with_each_fault([](D& t, D&, D const&) { t(xg::Tensor<bool>(t > 0.)) = 0.25; });
    }
    SUBCASE("from memory that it shares") {
        outcome = with_each_fault([](D& t, D&, D const&) {
            t(xt::all(), xg::slice(1, 3)) += t(xt::all(), xg::slice(0, 2));
        });
    }
    bool allocates = true;
    SUBCASE("that is not recorded, and needs no memory") {
        outcome = with_each_fault([](D& t, D&, D const& x) {
            xg::NoGradGuard const off;
            t *= x;
        });
        allocates = false;
    }
    SUBCASE("that is not recorded, through a view") {
        outcome = with_each_fault([](D&, D& view, D const&) {
            xg::NoGradGuard const off;
            view.exp_();
        });
    }
    CHECK((outcome.faults > 0) == allocates);
    CHECK(outcome.leaked == 0);
    CHECK(outcome.wrong == nullptr);
}

TEST_CASE("a change of many elements happens wholly or not at all, on any number of threads") {
    D const row(xt::xarray<double>(xt::linspace<double>(0., 1., 300)));
    D const before(xt::xarray<double>(xt::linspace<double>(1., 2., 400 * 300).reshape({400, 300})));
    D const after = before - row;
    for (std::size_t const threads : {1u, 3u}) {
        CAPTURE(threads);
        xg::set_num_threads(threads);
        auto const outcome = each_fault([&](long k) -> char const* {
            D t = before.clone();
            bool const threw = fails(k, [&] { t -= row; });
            if (t.version() != (threw ? 0u : 1u)) return "the version does not tell what happened";
            return same(t, threw ? before : after) ? nullptr : "half written";
        });
        CHECK(outcome.faults > 0);
        CHECK(outcome.leaked == 0);
        CHECK(outcome.wrong == nullptr);
    }
    xg::set_num_threads(1);
}

TEST_CASE("a step of an optimiser in place happens wholly or not at all") {
    auto const outcome = each_fault([](long k) -> char const* {
        D w({1., 2., 3.}, xg::requires_grad);
        sum(w * w).backward();
        bool const threw = fails(k, [&] {
            xg::NoGradGuard const off;
            w -= w.grad() * 0.25;
        });
        if (w.version() != (threw ? 0u : 1u)) return "the version does not tell what happened";
        return difference(w, threw ? D({1., 2., 3.}) : D({0.5, 1., 1.5})).empty() ? nullptr
                                                                                  : "half written";
    });
    CHECK(outcome.leaked == 0);
    CHECK(outcome.wrong == nullptr);
}
