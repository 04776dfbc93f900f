// The grad_fn of a base, and of its older and newer views, after a change in place.
#include "graph/walk.hpp"

TEST_CASE(
    "a value that requires grad written into a view makes the base and older views require grad") {
    D base = xg::zeros({2, 2});
    D const older = base[1], unchanged = base[0];
    D const x({1., 2.}, xg::requires_grad);
    CHECK_FALSE(base.requires_grad());
    base[1].copy_(x * 3.);
    CHECK(base.requires_grad());
    CHECK(older.requires_grad());
    CHECK(unchanged.requires_grad());
    CHECK(base.grad_fn()->name() == "CopySlices");
    CHECK_FALSE(older.is_leaf());
    D const g = grad(sum(older * older), x);
    CHECK(difference(g, {18., 36.}) == "");
    CHECK(difference(grad(sum(unchanged), x), {0., 0.}) == "");
}

TEST_CASE("a base that is changed in place refreshes the history of its views") {
    D const x({{1., 2.}, {3., 4.}}, xg::requires_grad);
    D base = x * 1.;
    D row = base[0];
    auto const before = row.grad_fn()->name();
    CHECK(before == "WindowBackward");
    base *= base;
    CHECK(row.grad_fn()->name() == "AsStridedBackward");
    CHECK(difference(row, {1., 4.}) == "");
    sum(row * 2.).backward();
    CHECK(difference(x.grad(), {{4., 8.}, {0., 0.}}) == "");
}

TEST_CASE("a base that is changed through one view refreshes the others") {
    D const x({1., 2., 3., 4.}, xg::requires_grad);
    D base = x * 1.;
    D left = base(xg::slice(0, 3)), right = base(xg::slice(1, 4));
    left *= 10.;
    CHECK(difference(right, {20., 30., 4.}) == "");
    sum(right * D({1., 2., 3.})).backward();
    CHECK(difference(x.grad(), {0., 10., 20., 3.}) == "");
}

TEST_CASE("a view changed in place keeps a history of its own part only") {
    D const x({{1., 2.}, {3., 4.}}, xg::requires_grad);
    D base = x * 2.;
    D view = base[0];
    view.mul_(3.);
    CHECK(difference(base, {{6., 12.}, {6., 8.}}) == "");
    sum(base * base).backward();
    CHECK(difference(x.grad(), {{72., 144.}, {24., 32.}}) == "");
}

TEST_CASE("only what was written is cut off from the old history") {
    D const x({{1., 2.}, {3., 4.}}, xg::requires_grad), v({5., 6.}, xg::requires_grad);
    D base = x * 2.;
    base[0].copy_(v);
    sum(base).backward();
    CHECK(difference(x.grad(), {{0., 0.}, {2., 2.}}) == "");
    CHECK(difference(v.grad(), {1., 1.}) == "");
}

TEST_CASE("assignment to what an index gives is recorded") {
    D const x({{1., 2.}, {3., 4.}}, xg::requires_grad), v(5., xg::requires_grad);
    D y = x * 2.;
    SUBCASE("a tensor") {
        y(0, 1) = v;
        y(1) = y(0);
        CHECK(difference(y, {{2., 5.}, {2., 5.}}) == "");
        sum(y).backward();
        CHECK(difference(x.grad(), {{4., 0.}, {0., 0.}}) == "");
        CHECK(difference(v.grad(), D(2.)) == "");
    }
    SUBCASE("an expression") {
        y[0] = v * x[1];
        sum(y).backward();
        CHECK(difference(x.grad(), {{0., 0.}, {7., 7.}}) == "");
        CHECK(difference(v.grad(), D(7.)) == "");
    }
    SUBCASE("a number") {
        y(xt::all(), 0) = 0.;
        y(1) += 1.;
        y(1) *= y(0);
        sum(y).backward();
        CHECK(difference(x.grad(), {{0., 20.}, {0., 8.}}) == "");
    }
}

TEST_CASE("values computed before a change keep the gradients that they had") {
    D const x({1., 2.}, xg::requires_grad);
    D y = x * x;
    D const before = y * 10., part = y[0];
    D const from_part = part * 100.;
    y.mul_(y);
    D const after = y * 1.;
    CHECK(difference(grad(sum(before), x, {.retain_graph = true}), {20., 40.}) == "");
    CHECK(difference(grad(from_part, x, {.retain_graph = true}), {200., 0.}) == "");
    CHECK(difference(grad(sum(after), x), {4., 32.}) == "");
}

TEST_CASE("a leaf without gradient that takes part in a recorded change becomes the result of an "
          "operation") {
    D y = xg::ones({3});
    D const x({1., 2., 3.}, xg::requires_grad);
    CHECK(y.is_leaf());
    y(xg::slice(1, 3)) += x(xg::slice(0, 2));
    CHECK_FALSE(y.is_leaf());
    CHECK(y.version() == 1);
    sum(y * y).backward();
    CHECK(difference(x.grad(), {4., 6., 0.}) == "");
    CHECK_THROWS_WITH_AS(y.requires_grad_(false),
        doctest::Contains("you can only change requires_grad flags of leaf variables"),
        xg::GraphError);
}

TEST_CASE("other handles see the change and its history") {
    D const x({1., 2.}, xg::requires_grad);
    D y = x * 1.;
    D const handle = y;
    y *= 3.;
    CHECK(handle.grad_fn() == y.grad_fn());
    CHECK(difference(grad(sum(handle), x), {3., 3.}) == "");
}

TEST_CASE("a broadcast view follows its base") {
    D const x({1., 2.}, xg::requires_grad);
    D base = x * 1.;
    D const wide = base.expand({3, 2});
    base.square_();
    CHECK(difference(wide, {{1., 4.}, {1., 4.}, {1., 4.}}) == "");
    sum(wide * D({{1.}, {2.}, {3.}})).backward();
    CHECK(difference(x.grad(), {12., 24.}) == "");
}

TEST_CASE("a change through a detached tensor or without recording leaves the history as it was") {
    D const x({1., 2.}, xg::requires_grad);
    D y = x * 3.;
    D const part = y[0];
    y.detach() += 100.;
    {
        xg::NoGradGuard const off;
        y[1] += 100.;
    }
    CHECK(difference(y, {103., 206.}) == "");
    CHECK(y.version() == 2);
    CHECK(y.grad_fn()->name() == "MulBackward");
    CHECK(difference(grad(D(part * 1.), x, {.retain_graph = true}), {3., 0.}) == "");
    CHECK(difference(grad(sum(y), x), {3., 3.}) == "");
}

TEST_CASE("a tensor detached from another gets a history of its own") {
    D const x({1., 2.}, xg::requires_grad), w({10., 20.}, xg::requires_grad);
    D y = x * 3.;
    D d = y.detach();
    d += w;
    CHECK(difference(grad(sum(d), w), {1., 1.}) == "");
    CHECK(difference(y, {13., 26.}) == "");
    CHECK(difference(grad(sum(y), x), {3., 3.}) == "");
}

TEST_CASE("changes in place that repeat a long time can be differentiated") {
    D const x({1., 2.}, xg::requires_grad);
    D y = x * 1.;
    for (int i = 0; i < 2000; ++i) y(i % 2) += 1.;
    CHECK(difference(y, {1001., 1002.}) == "");
    sum(y * y).backward();
    CHECK(difference(x.grad(), {2002., 2004.}) == "");
}

TEST_CASE("a change in place of part of what is not used gets no gradient") {
    D const x({1., 2.}, xg::requires_grad), v({3.}, xg::requires_grad);
    D y = x * 1.;
    D const used = y[1];
    y(xg::slice(0, 1)).copy_(v);
    sum(used * 2.).backward();
    CHECK(difference(x.grad(), {0., 2.}) == "");
    CHECK(difference(v.grad(), {0.}) == "");
}

TEST_CASE("a view made in no-grad mode and changed there leaves the base its history") {
    D const x({1., 2.}, xg::requires_grad);
    D y = 3. * x, view;
    {
        xg::NoGradGuard const off;
        view = y(xg::slice(0, 1));
        view *= 2.;
        CHECK(difference(D(view * 5.), {30.}) == "");
    }
    CHECK(
        difference(grad(sum(y * y), x), {36., 36.}) == ""); // which sees the values that y has now
}

TEST_CASE(
    "a base that wants a gradient only after a change passes it on to the views made before") {
    D b({1., 2.});
    D const v = b[0];
    b.sin_();
    CHECK(v.is_leaf());
    b.requires_grad_();
    D(v * v).backward();
    CHECK(difference(b.grad(), {2 * std::sin(1.), 0.}, 1e-12) == "");
}

TEST_CASE("what an operation gives is no view, though its shape was the last thing to be found") {
    D const x({1., 2.}), w({1., 2.}, xg::requires_grad), square = xg::ones({2, 2});
    auto const changed = [&](D result) { // made without recording, changed with it
        CHECK_FALSE(result.is_view());
        result += sum(w);
        return grad(sum(result), w);
    };
    auto const unrecorded = [](auto make) {
        xg::NoGradGuard const off;
        return D(make());
    };
    CHECK(difference(changed(unrecorded([&] { return matmul(x, x); })), {1., 1.}) == "");
    CHECK(difference(changed(unrecorded([&] { return matmul(square, x); })), {2., 2.}) == "");
    CHECK(difference(changed(unrecorded([&] { return matmul(x, square); })), {2., 2.}) == "");
    CHECK(difference(changed(unrecorded([&] { return logsumexp(square, {1}); })), {2., 2.}) == "");
    CHECK(difference(changed(unrecorded([&] { return sum_to(square, {2}); })), {2., 2.}) == "");
    D product = matmul(w, w);
    D view = unsqueeze(product, 0);
    view.mul_(3.);
    CHECK(difference(grad(sum(view), product), D(1.)) == "");
}

TEST_CASE("detach_() of a base: views keep the history of the old values, and lose it with them") {
    D const x({1., 2.}, xg::requires_grad);
    D base = x * 3.;
    D first = base[0], second = base[1];
    base.detach_();
    CHECK_FALSE(base.requires_grad());
    CHECK(base.is_leaf());
    CHECK(difference(grad(sum(first * 5.), x, {.retain_graph = true}), {15., 0.}) == "");
    auto const ends_at_base = [&](D const& view) {
        CHECK(view.requires_grad());
        CHECK(view.grad_fn()->name() == "AsStridedBackward");
        REQUIRE(view.grad_fn()->next_edges().size() == 1);
        CHECK_FALSE(view.grad_fn()->next_edges()[0]);
        CHECK_FALSE(grad(sum(view), x, {.allow_unused = true}).defined());
    };
    SUBCASE("changed through the base") {
        base *= 2.;
        CHECK(first.item() == 6);
        ends_at_base(first);
        ends_at_base(second);
        CHECK_FALSE(base.requires_grad());
    }
    SUBCASE("changed in no-grad mode") {
        {
            xg::NoGradGuard const guard;
            base *= 2.;
        }
        ends_at_base(first);
    }
    SUBCASE("a value with a history is written into the base") {
        D const w({5., 7.}, xg::requires_grad);
        base.copy_(w * w);
        CHECK(difference(grad(sum(second), w), {0., 14.}) == "");
    }
    SUBCASE("the base collects a gradient of its own") {
        base.mutable_data()[0] = 1.;
        base.requires_grad_();
        sum(first * 4.).backward();
        CHECK(difference(base.grad(), {4., 0.}) == "");
        CHECK_FALSE(x.grad().defined());
    }
}
