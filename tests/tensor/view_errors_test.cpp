// Views that may not be changed in place, and what the error says.
#include "graph/walk.hpp"

namespace {

char const* const leaf_text =
    "a view of a leaf Variable that requires grad is being used in an in-place operation.";
char const* const no_grad_text =
    "A view was created in no_grad mode and is being modified inplace with grad mode enabled.";
char const* const several_text =
    "This view is the output of a function that returns multiple views. Such functions do not "
    "allow the output views to be modified inplace.";

/// A view as it is made without recording.
template <class F> D unrecorded(F look) {
    xg::NoGradGuard const off;
    return look();
}

} // namespace

TEST_CASE("a view of a leaf that requires grad is not changed while changes are recorded") {
    D const x({{1., 2.}, {3., 4.}}, xg::requires_grad);
    CHECK_THROWS_WITH_AS(x[0] += 1., doctest::Contains(leaf_text), xg::GraphError);
    CHECK_THROWS_WITH_AS(x[0] = D({1., 2.}), doctest::Contains(leaf_text), xg::GraphError);
    CHECK_THROWS_WITH_AS(x(0, 1) = 5., doctest::Contains(leaf_text), xg::GraphError);
    CHECK_THROWS_WITH_AS(x.t().exp_(), doctest::Contains(leaf_text), xg::GraphError);
    CHECK_THROWS_WITH_AS(x.view({4}).zero_(), doctest::Contains(leaf_text), xg::GraphError);
    CHECK_THROWS_WITH_AS(x.t()[0](0).sin_(), doctest::Contains(leaf_text), xg::GraphError);
    CHECK_THROWS_WITH_AS(x.diagonal().fill_(0.), doctest::Contains(leaf_text), xg::GraphError);
    CHECK(difference(x, {{1., 2.}, {3., 4.}}) == "");
    CHECK(x.version() == 0);
    {
        xg::NoGradGuard const off;
        x[0] += 1.;
    }
    x.detach()[1] = 0.;
    CHECK(difference(x, {{2., 3.}, {0., 0.}}) == "");
    CHECK(x.is_leaf());
}

TEST_CASE("one of several views is not changed while changes are recorded") {
    D const x({{1., 2.}, {3., 4.}}, xg::requires_grad);
    D const base = x * 1.;
    SUBCASE("of unbind") {
        CHECK_THROWS_WITH_AS(
            base.unbind()[1] += 1., doctest::Contains(several_text), xg::GraphError);
        CHECK_THROWS_WITH_AS(base.unbind()[1] += 1.,
            doctest::Contains(
                "Output 1 of UnbindBackward is a view and is being modified inplace."),
            xg::GraphError);
    }
    SUBCASE("of split") {
        CHECK_THROWS_WITH_AS(base.split(1)[0].exp_(),
            doctest::Contains("Output 0 of SplitBackward is a view"), xg::GraphError);
    }
    SUBCASE("of chunk") {
        CHECK_THROWS_WITH_AS(
            base.chunk(2, 1)[1].zero_(), doctest::Contains(several_text), xg::GraphError);
    }
    SUBCASE("a view of one") {
        CHECK_THROWS_WITH_AS(
            base.unbind()[0](xg::slice(1)) += 1., doctest::Contains(several_text), xg::GraphError);
    }
    SUBCASE("after the base was changed") {
        auto const rows = base.unbind();
        D(base) *= 2.;
        CHECK_THROWS_WITH_AS(D(rows[0]) += 1., doctest::Contains(several_text), xg::GraphError);
        sum(rows[0]).backward();
        CHECK(difference(x.grad(), {{2., 2.}, {0., 0.}}) == "");
    }
    SUBCASE("of a plain base, where the new value has a history") {
        D const plain = xg::zeros({2, 2});
        auto const rows = plain.unbind();
        CHECK_THROWS_WITH_AS(
            D(rows[0]).copy_(x[0]), doctest::Contains(several_text), xg::GraphError);
        D(rows[0]).fill_(3.);
        CHECK(difference(plain, {{3., 3.}, {0., 0.}}) == "");
    }
    SUBCASE("without recording it is") {
        auto const rows = base.unbind();
        xg::NoGradGuard const off;
        D(rows[1]) += 1.;
        CHECK(difference(base, {{1., 2.}, {4., 5.}}) == "");
    }
}

TEST_CASE("parts that are taken one by one may be changed") {
    D const x({{1., 2.}, {3., 4.}}, xg::requires_grad);
    D const base = x * 1.;
    for (int i = 0; i < 2; ++i) base[i] *= i + 2.;
    sum(base).backward();
    CHECK(difference(x.grad(), {{2., 2.}, {3., 3.}}) == "");
}

TEST_CASE(
    "a view that was made in no_grad mode is not changed where the change would be recorded") {
    D const x({1., 2.}, xg::requires_grad);
    D base = x * 1.;
    SUBCASE("of a base with a history") {
        CHECK_THROWS_WITH_AS(unrecorded([&] { return base[0]; }) += 1.,
            doctest::Contains(no_grad_text), xg::GraphError);
    }
    SUBCASE("a view of it") {
        CHECK_THROWS_WITH_AS(unrecorded([&] { return base(xg::slice(0)); })[1] += 1.,
            doctest::Contains(no_grad_text), xg::GraphError);
    }
    SUBCASE("several views") {
        CHECK_THROWS_WITH_AS(unrecorded([&] { return base.unbind()[1]; }) += 1.,
            doctest::Contains(no_grad_text), xg::GraphError);
    }
    SUBCASE("of a leaf") {
        CHECK_THROWS_WITH_AS(unrecorded([&] { return x[0]; }) += 1.,
            doctest::Contains(no_grad_text), xg::GraphError);
    }
    SUBCASE("of a plain base, where the new value has a history") {
        D const plain = xg::zeros({2});
        CHECK_THROWS_WITH_AS(unrecorded([&] { return plain[0]; }).copy_(x[0]),
            doctest::Contains(no_grad_text), xg::GraphError);
        unrecorded([&] { return plain[0]; }) += 1.;
        CHECK(difference(plain, {1., 0.}) == "");
    }
    SUBCASE("without recording it is") {
        D const view = unrecorded([&] { return base[0]; });
        CHECK(view.requires_grad());
        xg::NoGradGuard const off;
        D(view) += 10.;
        CHECK(difference(base, {11., 2.}) == "");
    }
}

TEST_CASE("a view made without recording is not used with it after its base was changed") {
    char const* const text = "A view was created in no_grad mode and its base or another view of "
                             "its base has been modified inplace with grad mode enabled.";
    D const x({1., 2.}, xg::requires_grad);
    D base = 3. * x, plain({1., 2.});
    SUBCASE("by a recorded change") {
        D const view = unrecorded([&] { return base[0]; });
        base *= 2.;
        CHECK_THROWS_WITH_AS(D(view * 5.), doctest::Contains(text), xg::GraphError);
        CHECK_THROWS_WITH_AS(view.grad_fn(), doctest::Contains(text), xg::GraphError);
        CHECK(unrecorded([&] { return D(view * 5.); }).item() == 30);
    }
    SUBCASE("by a change of the view that was not recorded") {
        D const view = unrecorded([&] {
            D v = base[0];
            v *= 2.;
            return v;
        });
        CHECK_THROWS_WITH_AS(D(view * 5.), doctest::Contains(text), xg::GraphError);
        CHECK(difference(grad(sum(base), x), {3., 3.}) == "");
    }
    SUBCASE("of a leaf") {
        D const view = unrecorded([&] {
            D const v = x[0];
            D(x).mul_(2.);
            return v;
        });
        CHECK_THROWS_WITH_AS(D(view * 5.), doctest::Contains(text), xg::GraphError);
    }
    SUBCASE("of a base that had no history") {
        D const view = unrecorded([&] { return plain[0]; });
        plain *= x;
        CHECK_THROWS_WITH_AS(D(view * 5.), doctest::Contains(text), xg::GraphError);
    }
    SUBCASE("of a base that wants no gradient: used as any tensor") {
        D const view = unrecorded([&] { return plain[0]; });
        plain *= 2.;
        CHECK(D(view * 5.).item() == 10);
    }
}

TEST_CASE("a view cannot be detached in place") {
    D const x({1., 2.}, xg::requires_grad);
    D y = x * 1.;
    CHECK_THROWS_WITH_AS(y[0].detach_(),
        doctest::Contains("Can't detach views in-place. Use detach() instead."), xg::GraphError);
    y.detach_();
    CHECK_FALSE(y.requires_grad());
    y += 1.;
    CHECK(difference(y, {2., 3.}) == "");
}

TEST_CASE("elements that share a place are not written") {
    auto const text = doctest::Contains(
        "more than one element of the written-to tensor refers to a single memory location. Please "
        "clone() the tensor before performing the operation.");
    D x({1., 2.});
    CHECK_THROWS_WITH_AS(x.expand({3, 2}) += 1., text, xg::ShapeError);
    CHECK_THROWS_WITH_AS(x.expand({3, 2})(xg::slice(1), 0).zero_(), text, xg::ShapeError);
    CHECK_THROWS_WITH_AS(broadcast_to(D(5.), {2, 2}).t() = 1., text, xg::ShapeError);
    CHECK(difference(x, {1., 2.}) == "");
    x.expand({3, 2})[1] += 1.;
    x.expand({1, 2}) += 1.;
    CHECK(difference(x, {3., 4.}) == "");
}

TEST_CASE("overlapping parts of a recorded tensor are read as they were, also by the gradient") {
    D const x({1., 2., 3., 4.}, xg::requires_grad);
    D y = x * 1.;
    D const tail = y(xg::slice(1));
    SUBCASE("a sum") {
        y(xg::slice(1)) += y(xg::slice(0, 3));
        CHECK(difference(y, {1., 3., 5., 7.}) == "");
        sum(y * D({1., 10., 100., 1000.})).backward();
        CHECK(difference(x.grad(), {11., 110., 1100., 1000.}) == "");
    }
    SUBCASE("a product") {
        y(xg::slice(1)) *= y(xg::slice(0, 3));
        CHECK(difference(y, {1., 2., 6., 12.}) == "");
        sum(y * D({1., 10., 100., 1000.})).backward();
        CHECK(difference(x.grad(), {1. + 20., 10. + 300., 200. + 4000., 3000.}) == "");
    }
}

TEST_CASE(
    "a part of memory that repeats elsewhere is not changed where the change would be recorded") {
    D const w({3.}, xg::requires_grad);
    D const repeated = xg::full({1}, 2.).expand({2}).detach();
    CHECK_THROWS_WITH_AS(repeated(xg::slice(0, 1)) *= w,
        doctest::Contains("more than one element of the base of the written-to tensor refers to a "
                          "single memory location"),
        xg::ShapeError);
    CHECK(difference(repeated, {2., 2.}) == "");
    xg::NoGradGuard const off;
    repeated(xg::slice(0, 1)) *= w;
    CHECK(difference(repeated, {6., 6.}) == "");
}

TEST_CASE("parts of no extent, or of a negative one, are refused") {
    D const v({1., 2., 3., 4., 5.});
    auto const number = [](std::ptrdiff_t n) { return static_cast<std::size_t>(n); };
    for (std::ptrdiff_t const n : {0, -1, -3}) {
        auto const text = std::to_string(n);
        CHECK_THROWS_WITH_AS(v.split(number(n)),
            ("split: the parts of shape [5] have extent " + text).c_str(), xg::ShapeError);
        CHECK_THROWS_WITH_AS(v.chunk(number(n)),
            ("chunk: the number of chunks of shape [5] is " + text).c_str(), xg::ShapeError);
    }
}
