// Hooks and retain_grad of tensors that are changed in place, and of views.
#include "walk.hpp"

TEST_CASE(
    "a hook stays with the value that it was set on, and a new one belongs to the new value") {
    D const leaf(1., xg::requires_grad);
    D t = sin(leaf);
    std::vector<std::pair<int, double>> seen;
    t.register_hook([&](D const& g) { seen.emplace_back(0, g.item()); });
    t.cos_();
    t.register_hook([&](D const& g) { seen.emplace_back(1, g.item()); });
    t.backward();
    REQUIRE(seen.size() == 2);
    CHECK(seen[0] == std::pair(1, 1.));
    CHECK(seen[1].first == 0);
    CHECK(seen[1].second == doctest::Approx(-std::sin(std::sin(1.))));
    CHECK(leaf.grad().item() == doctest::Approx(-std::sin(std::sin(1.)) * std::cos(1.)));
}

TEST_CASE("hooks around changes in place, with retain_grad between them") {
    D const x = xg::ones({3}, xg::requires_grad);
    D a = x.clone();
    std::vector<double> first, second, third;
    auto const note = [](std::vector<double>& to) { return [&to](D const& g) { to = values(g); }; };
    a.register_hook(note(first));
    SUBCASE("one change") {
        a.retain_grad();
        a.register_hook(note(second));
        a *= 2.;
        a.register_hook(note(third));
        CHECK(a.retains_grad());
        sum(a).backward();
        CHECK(first == std::vector{2., 2., 2.});
        CHECK(second == first);
    }
    SUBCASE("two changes") {
        a.retain_grad();
        a.register_hook(note(second));
        a *= 2.;
        a *= 2.;
        a.register_hook(note(third));
        sum(a).backward();
        CHECK(first == std::vector{4., 4., 4.});
        CHECK(second == first);
    }
    SUBCASE("retain_grad after the change") {
        a *= 4.;
        a.retain_grad();
        a.register_hook(note(third));
        sum(a).backward();
        CHECK(first == std::vector{4., 4., 4.});
    }
    CHECK(third == std::vector{1., 1., 1.});
    CHECK(difference(a.grad(), {1., 1., 1.}) == "");
    CHECK(values(x.grad()) == first);
}

TEST_CASE("a hook's handle removes it after its tensor was changed in place") {
    D const x(1., xg::requires_grad);
    D a = x * 1.;
    int calls = 0;
    auto handle = a.register_hook([&](D const&) { ++calls; });
    a *= 2.;
    handle.remove();
    a.backward();
    CHECK(calls == 0);
    CHECK(x.grad().item() == 2);
}

TEST_CASE("Node hooks stay with their Node") {
    D const x(1., xg::requires_grad);
    D a = x * 3.;
    double seen = 0;
    a.grad_fn()->register_prehook(
        [&](std::vector<xg::AnyTensor> const& g) { seen = g[0].as<double>().item(); });
    a *= 2.;
    D(a * 5.).backward();
    CHECK(seen == 10);
    CHECK(x.grad().item() == 30);
}

TEST_CASE("hooks of a leaf survive a change of its values under NoGradGuard") {
    D x(1., xg::requires_grad);
    int calls = 0;
    x.register_hook([&](D const&) { ++calls; });
    {
        xg::NoGradGuard const off;
        x += 1.;
    }
    D(x * x).backward();
    CHECK(calls == 1);
    CHECK(x.grad().item() == 4);
}

TEST_CASE("a hook of a view that is itself changed in place sees the gradient of its old value") {
    D const x({1., 2.}, xg::requires_grad);
    D const both = x * 2.;
    D base = both.clone();
    D row = base(0);
    std::vector<double> before, after;
    row.register_hook([&](D const& g) { before.push_back(g.item()); });
    row *= 3.;
    row.register_hook([&](D const& g) { after.push_back(g.item()); });
    D(row * 5.).backward();
    CHECK(after == std::vector{5.});
    CHECK(before == std::vector{15.});
    CHECK(difference(x.grad(), {30., 0.}) == "");
}

TEST_CASE("hooks of a view end when its base is changed in place; its retain_grad and later hooks "
          "do not") {
    D const x({1., 2.}, xg::requires_grad);
    D base = x * 1.;
    D view = base(xg::slice(0, 1));
    int old_calls = 0, new_calls = 0;
    view.register_hook([&](D const&) { ++old_calls; });
    view.retain_grad();
    base *= 2.;
    view.register_hook([&](D const&) { ++new_calls; });
    sum(view * 5.).backward();
    CHECK(old_calls == 0);
    CHECK(new_calls == 1);
    CHECK(difference(view.grad(), {5.}) == "");
    CHECK(difference(x.grad(), {10., 0.}) == "");
}

TEST_CASE("hooks of a base see the gradient of what it holds after a change through a view") {
    D const x({1., 2., 3.}, xg::requires_grad), w({10.}, xg::requires_grad);
    D base = x * 1.;
    std::vector<double> old_value, new_value;
    base.register_hook([&](D const& g) { old_value = values(g); });
    base.retain_grad();
    base(xg::slice(1, 2)) *= w;
    base.register_hook([&](D const& g) { new_value = values(g); });
    sum(base * 2.).backward();
    CHECK(new_value == std::vector{2., 2., 2.});
    CHECK(old_value == std::vector{2., 20., 2.});
    CHECK(difference(base.grad(), {2., 2., 2.}) == "");
    CHECK(difference(x.grad(), {2., 20., 2.}) == "");
    CHECK(difference(w.grad(), {4.}) == "");
}

TEST_CASE("a base that did not require grad keeps it from the change on that made it") {
    D base({1., 2.});
    D const w({3.}, xg::requires_grad);
    base(xg::slice(0, 1)) += w;
    REQUIRE(base.requires_grad());
    base.retain_grad();
    base *= 2.;
    int calls = 0;
    base.register_hook([&](D const&) { ++calls; });
    sum(base).backward();
    CHECK(calls == 1);
    CHECK(difference(base.grad(), {1., 1.}) == "");
    CHECK(difference(w.grad(), {2.}) == "");
}

TEST_CASE("a tensor changed in place inside a hook of another tensor has a new version for the "
          "Nodes that saved it") {
    D const x({1., 2.}, xg::requires_grad);
    D w({3., 4.});
    D const y = x * w;
    D z = y * 1.;
    z.register_hook([&](D const&) { w += 1.; });
    CHECK_THROWS_AS(sum(z * 1.).backward(), xg::VersionError);
    CHECK_FALSE(x.grad().defined());
}
