// Hooks and retain_grad() of tensors that are changed in place: hooks stay with the value they were
// set on, retain_grad() follows the tensor.
#include "walk.hpp"

TEST_CASE("a hook set before a change in place sees the gradient of the old value, one set "
          "afterwards that of the new") {
    D const x({0.5}, xg::requires_grad);
    D y = sin(x);
    std::vector<std::pair<int, double>> seen;
    y.register_hook([&](D const& g) { seen.emplace_back(0, values(g)[0]); });
    double const old = values(y)[0];
    y.cos_();
    y.register_hook([&](D const& g) { seen.emplace_back(1, values(g)[0]); });
    y.backward(D({1.}));
    REQUIRE(seen.size() == 2);
    CHECK(seen[0] == std::pair{1, 1.});
    CHECK(seen[1].first == 0);
    CHECK(seen[1].second == doctest::Approx(-std::sin(old)));
}

TEST_CASE("retain_grad follows the tensor through changes in place") {
    D const x({1., 2.}, xg::requires_grad);
    D y = x * 3.;
    y.retain_grad();
    SUBCASE("one") { y *= 2.; }
    SUBCASE("several") {
        y *= 2.;
        y += 1.;
        y.exp_();
    }
    SUBCASE("through a view") { y[0] *= 2.; }
    SUBCASE("under NoGradGuard") {
        xg::NoGradGuard const off;
        y *= 2.;
    }
    CHECK(y.retains_grad());
    sum(y * 5.).backward();
    CHECK(difference(y.grad(), {5., 5.}) == "");
}

TEST_CASE("retain_grad of a view follows it") {
    D const x({1., 2.}, xg::requires_grad);
    D y = x * 3.;
    D view = y[1];
    view.retain_grad();
    SUBCASE("where it is changed itself") { view *= 2.; }
    SUBCASE("where its base is") { y *= 2.; }
    SUBCASE("where another view is") { y(xg::slice(1)) += 1.; }
    D(view * 5.).backward();
    CHECK(difference(view.grad(), D(5.)) == "");
}

TEST_CASE("a view that was written keeps the gradient of its new values only, also where nobody "
          "looked at it since") {
    D const x({1., 2.}, xg::requires_grad);
    D y = x * 3.;
    D view = y[1];
    view.retain_grad();
    SUBCASE("and where the loss sees its base") {
        view *= 2.;
        sum(y).backward();
        CHECK_FALSE(view.grad().defined());
    }
    SUBCASE("and where the loss sees the view") {
        view *= 2.;
        view += y[0];
        view.copy_(view * 4.);
        D(view * 5.).backward();
        CHECK(difference(view.grad(), D(5.)) == "");
    }
}

TEST_CASE("retain_grad of both a base and what was computed before its change") {
    D const x({1., 2.}, xg::requires_grad);
    D y = x * 3.;
    y.retain_grad();
    D const before = y * 7.;
    y *= 2.;
    sum(before + y * 5.).backward();
    CHECK(difference(y.grad(), {5., 5.}) == "");
    CHECK(difference(x.grad(), {51., 51.}) == "");
}

TEST_CASE("hooks of a leaf stay with it while it is changed without recording") {
    D x({1., 2.}, xg::requires_grad);
    int calls = 0;
    x.register_hook([&](D const&) { ++calls; });
    {
        xg::NoGradGuard const off;
        x += 1.;
    }
    sum(x * x).backward();
    CHECK(calls == 1);
    CHECK(difference(x.grad(), {4., 6.}) == "");
}

TEST_CASE("a hook that changes its gradient in place is seen by what follows") {
    D const x({1., 2.}, xg::requires_grad);
    D y = x * 1.;
    y.register_hook([](D const& g) { D(g) *= 10.; });
    sum(y * y).backward();
    CHECK(difference(x.grad(), {20., 40.}) == "");
}

TEST_CASE("a gradient kept by a hook is not overwritten by the pass through changed views") {
    D const x({1., 2., 3.}, xg::requires_grad);
    D y = x * 1.;
    D kept;
    y[0] *= 2.;
    y.register_hook([&](D const& g) { kept = g; });
    y.retain_grad();
    sum(y * 5.).backward();
    CHECK(difference(kept, {5., 5., 5.}) == "");
    CHECK(difference(y.grad(), {5., 5., 5.}) == "");
    CHECK(difference(x.grad(), {10., 5., 5.}) == "");
}
