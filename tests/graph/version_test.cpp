// Versions: how often memory was changed in place, who shares the count, and what a backward pass
// says of a change.
#include "walk.hpp"

TEST_CASE("every change counts, views and detached tensors share the count, copies do not") {
    D x({{1., 2.}, {3., 4.}});
    CHECK(x.version() == 0);
    D const row = x[0], flat = x.view({4}), detached = x.detach(), clone = x.clone();
    D const sum_of = x + 0.;
    x += 1.;
    CHECK(x.version() == 1);
    CHECK(row.version() == 1);
    CHECK(flat.version() == 1);
    CHECK(detached.version() == 1);
    CHECK(clone.version() == 0);
    CHECK(sum_of.version() == 0);
    x[1] = 0.;
    x.t()(0).exp_();
    CHECK(x.version() == 3);
    x(x > 0.) = 1.;
    CHECK(detached.version() == 4);
    D late = x(1);
    CHECK(late.version() == 4);
    late.detach().zero_();
    CHECK(x.version() == 5);
}

TEST_CASE("reading does not count, nor does requires_grad or detach_") {
    D x({1., 2.});
    CHECK(x.array()(0) == 1);
    CHECK(x.data()[1] == 2);
    x.requires_grad_();
    D y = x * x;
    y.retain_grad();
    sum(y).backward();
    y.detach_();
    CHECK(x.version() == 0);
    CHECK(y.version() == 0);
}

TEST_CASE("a failed change does not count") {
    D const x({1., 2.}, xg::requires_grad);
    D y = x * 1.;
    CHECK_THROWS_AS(y += D({1., 2., 3.}), xg::ShapeError);
    CHECK_THROWS_AS(y.expand({3, 2}).zero_(), xg::ShapeError);
    CHECK_THROWS_AS(y.unbind()[0] += 1., xg::GraphError);
    CHECK(y.version() == 0);
    CHECK(y.grad_fn()->name() == "MulBackward");
    CHECK(difference(y, {1., 2.}) == "");
}

TEST_CASE("an error names the tensor, what made it, both versions and who saved it") {
    D const x({{1., 2., 3.}, {4., 5., 6.}}, xg::requires_grad), w = xg::ones({2, 3});
    std::string message;
    auto const failed = [&](D const& y) {
        try {
            sum(y).backward();
        } catch (xg::VersionError const& e) { message = e.what(); }
        return [&](char const* part) {
            return message.find(part) != std::string::npos ? std::string("said") : message;
        };
    };
    SUBCASE("a result") {
        D y = exp(x);
        D const z = y * 1.;
        y += 1.;
        auto const says = failed(z);
        CHECK(
            says(
                "one of the variables needed for gradient computation has been modified by an "
                "inplace operation: [float64 [2, 3]], "
                "which is output 0 of ExpBackward, is at version 1; expected version 0 instead.") ==
            "said");
        CHECK(says("saved by ExpBackward") == "said");
        CHECK(says("AnomalyMode") == "said");
    }
    SUBCASE("an operand that another operation made") {
        D y = x + 1.;
        D const z = y * y;
        y += 1.;
        y += 1.;
        auto const says = failed(z);
        CHECK(
            says(
                "which is output 0 of AddBackward, is at version 2; expected version 0 instead.") ==
            "said");
        CHECK(says("saved by MulBackward") == "said");
    }
    SUBCASE("a part of a tensor") {
        D y = x + 1.;
        D const z = y[0] * y[1];
        y[0] += 1.;
        auto const says = failed(z);
        CHECK(says("[float64 [3]], which is output 0 of WindowBackward, is at version 1; expected "
                   "version 0") == "said");
    }
    SUBCASE("one of several parts") {
        D y = x + 1.;
        auto const rows = y.unbind();
        D const z = rows[1] * rows[1];
        y += 1.;
        CHECK(failed(z)("[float64 [3]], which is output 1 of UnbindBackward, is at version 1; "
                        "expected version 0") == "said");
    }
    SUBCASE("a leaf has no maker") {
        D const z = x * x;
        {
            xg::NoGradGuard const off;
            D(x) += 1.;
        }
        auto const says = failed(z);
        CHECK(says("[float64 [2, 3]] is at version 1; expected version 0 instead.") == "said");
        CHECK(says("which is output") != "said");
    }
}

TEST_CASE("the error tells file and line of what saved the value, where anomaly mode was on") {
    D const x({1., 2.}, xg::requires_grad);
    D y = x + 1.;
    D z;
    int line = 0;
    {
        xg::AnomalyMode const on;
        line = __LINE__ + 1;
        z = D(y * y);
    }
    y += 1.;
    auto const place = "version_test.cpp:" + std::to_string(line);
    CHECK_THROWS_WITH_AS(sum(z).backward(), doctest::Contains(place.c_str()), xg::VersionError);
}

TEST_CASE("only what a gradient needs is checked") {
    D const x({1., 2.}, xg::requires_grad);
    D y = x + 1., w({3., 4.});
    SUBCASE("operands of sums") {
        D const z = y + w;
        y += 1.;
        w += 1.;
        CHECK(difference(grad(sum(z), x), {1., 1.}) == "");
    }
    SUBCASE("a factor beside one that needs no gradient") {
        D const z = y * w;
        y += 1.;
        CHECK(difference(grad(sum(z), x), {3., 4.}) == "");
        w += 1.;
    }
    SUBCASE("the result of a product") {
        D z = y * w;
        D const u = z + 1.;
        z += 1.;
        CHECK(difference(grad(sum(u), x), {3., 4.}) == "");
    }
}

TEST_CASE("after the error the graph can be used, and so can the tensor") {
    D const x({1., 2.}, xg::requires_grad);
    D y = x * 2.;
    D const bad = y * y, good = y * 5.;
    y *= 3.;
    CHECK_THROWS_AS(sum(bad).backward(), xg::VersionError);
    CHECK_FALSE(x.grad().defined());
    sum(good + y).backward();
    CHECK(difference(x.grad(), {16., 16.}) == "");
    CHECK_THROWS_AS(sum(bad).backward(), xg::VersionError);
}
