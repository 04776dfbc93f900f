// Views that a program written for xtensor assigns to: the same lines on a Tensor and on an xarray.
#include <doctest/doctest.h>

#include <xgrad/nn/module.hpp>
#include <xgrad/xtensor_functions.hpp>

namespace {

using A = xt::xarray<double>;
using D = xgrad::Tensor<double>;

struct Net : xgrad::nn::Module<Net> {
    xgrad::nn::Parameter<double> scale{*this, "scale", {3., 4.}};
};

bool agrees(D const& x, A const& expected) {
    return x.shape() == xgrad::Shape(expected.shape().begin(), expected.shape().end()) &&
           xt::allclose(x.detach().array(), expected);
}

A const start{{1., 2., 3.}, {4., 5., 6.}, {7., 8., 9.}};

/// What a function that changes its argument does to a tensor and to an array must be the same.
void check_same(auto const& change) {
    A a = start;
    D x(start);
    change(a);
    change(x);
    CHECK(agrees(x, a));
    CHECK_FALSE(agrees(x, start));
}

} // namespace

TEST_CASE("an assignment to a named view writes to the tensor") {
    SUBCASE("a scalar") {
        check_same([](auto& out) {
            auto v = xt::view(out, xt::all(), 1);
            v = 0.5;
        });
    }
    SUBCASE("a formula") {
        check_same([](auto& out) {
            auto v = xt::view(out, xt::range(0, 2), xt::all());
            v = xt::exp(v) + xt::view(out, xt::range(1, 3), xt::all());
        });
    }
    SUBCASE("a view of the same tensor, which overlaps") {
        check_same([](auto& out) {
            auto v = xt::view(out, xt::range(1, 3), xt::all());
            v = xt::view(out, xt::range(0, 2), xt::all());
        });
    }
    SUBCASE("another named view") {
        check_same([](auto& out) {
            auto v = xt::row(out, 0), w = xt::row(out, 2);
            v = w;
            w = 1.;
        });
    }
    SUBCASE("a tensor or an array") {
        check_same([](auto& out) {
            std::remove_reference_t<decltype(out)> const y(A{10., 11., 12.});
            auto v = xt::col(out, -1);
            v = y;
        });
    }
    SUBCASE("an array beside a tensor") {
        check_same([](auto& out) {
            auto v = xt::view(out, 1);
            v = A{10., 11., 12.} * 2.;
        });
    }
    SUBCASE("a part by strides") {
        check_same([](auto& out) {
            auto v = xt::strided_view(out, {xt::range(0, 3, 2), xt::ellipsis(), 1});
            v = xt::square(v);
        });
        check_same([](auto& out) {
            xt::xstrided_slice_vector const slices{
                xt::all(), xt::newaxis(), xt::xrange<std::ptrdiff_t>(1, 3)};
            auto v = xt::strided_view(out, slices);
            v = 0.;
        });
    }
    SUBCASE("a view that has no name") {
        check_same([](auto& out) { xt::row(out, 1) = 0.; });
        check_same([](auto& out) { xt::view(out, xt::keep(0, 2), xt::all()) = 0.; });
    }
    SUBCASE("without xt::") {
        check_same([](auto& out) {
            auto v = view(out, xt::all(), 0);
            v = 2. * v;
            v += 1.;
        });
    }
    SUBCASE("a list") {
        D x(start);
        auto v = xt::row(x, 1);
        v = {10., 11., 12.};
        CHECK(agrees(x, {{1., 2., 3.}, {10., 11., 12.}, {7., 8., 9.}}));
    }
}

TEST_CASE("a copy of a view is a view, and a Tensor made of it is a variable") {
    D x(start);
    auto v = xt::row(x, 0);
    auto w = v;
    w = 0.;
    CHECK(agrees(v, {0., 0., 0.}));
    D variable = v;
    CHECK(variable.is_same(v));
    variable = D({5., 6., 7.});
    CHECK(agrees(x, {{0., 0., 0.}, {4., 5., 6.}, {7., 8., 9.}}));
}

TEST_CASE("an assignment to a view is recorded, and a shape that does not fit is an error") {
    D const a({2., 3.}, xgrad::requires_grad);
    D out = xgrad::zeros({2, 2});
    auto v = xt::col(out, 1);
    v = a * a;
    sum(out).backward();
    CHECK(agrees(a.grad(), {4., 6.}));
    CHECK_THROWS_WITH_AS(v = D({1., 2., 3.}),
        doctest::Contains("copy_: shapes [2] and [3] do not broadcast"), xgrad::ShapeError);
    CHECK_THROWS_AS((v = xgrad::zeros({2, 2})), xgrad::ShapeError);
    CHECK(agrees(out, {{0., 4.}, {0., 9.}}));
    D leaf({1., 2.}, xgrad::requires_grad);
    auto part = xt::view(leaf, 0);
    CHECK_THROWS_AS(part = 1., xgrad::GraphError);
    CHECK_THROWS_WITH_AS(
        xt::row(a, 0), "row: a matrix is needed, not an array of shape [2]", xgrad::ShapeError);
    CHECK_THROWS_AS(xt::strided_view(out, {xt::all(), xt::all(), 1}), xgrad::IndexError);
}

TEST_CASE("what unbind returns is a list of tensors") {
    D x(start);
    for (auto row : x.unbind()) row += 1.;
    for (auto& row : x.unbind()) row.copy_(2. * row);
    CHECK(agrees(x, 2. * (start + 1.)));
    x.unbind()[1] = 0.;
    CHECK(agrees(x, {{4., 6., 8.}, {0., 0., 0.}, {16., 18., 20.}}));
    D total = xgrad::zeros({3});
    for (D row : x.unbind()) {
        row = row * 2.;
        total += row;
    }
    CHECK(agrees(total, {40., 48., 56.}));
    auto rows = x.unbind();
    rows[0] = total;
    CHECK(agrees(x[0], {4., 6., 8.}));
    CHECK(rows.front().is_same(total));
    std::vector<D> const list = rows;
    CHECK(list.size() == 3);
    CHECK(list[0].is_same(total));
    CHECK(agrees(stack(x.unbind(1), 1), x.array()));
    CHECK(agrees(cat(split(x, 2)), x.array()));
    CHECK(agrees(vstack(x.unbind()), x.array()));
    rows = x.unbind();
    CHECK(rows.size() == 3);
    D const leaf({1., 2.}, xgrad::requires_grad);
    auto const parts = leaf.unbind();
    auto const gradients = grad(parts[0] * parts[1], parts);
    CHECK(gradients[0].item() == 2.);
    sum(parts[0] * parts[1]).backward({.inputs = parts});
    CHECK(parts[1].grad().item() == 1.);
}

TEST_CASE("functions of xt:: take views and parameters of modules") {
    D x(start);
    auto v = xt::row(x, 1);
    CHECK(xt::sum(v).item() == 15.);
    CHECK(agrees(xt::flip(xt::row(x, 2), 0), {9., 8., 7.}));
    CHECK(agrees(xt::sum(xt::view(x, xt::range(0, 2), xt::all()), {0}), {5., 7., 9.}));
    Net const net;
    CHECK(xt::sum(xt::square(net.scale)).item() == 25.);
    CHECK(xt::amax(net.scale, 0).item() == 4.);
    CHECK(xt::prod(xt::view(net.scale, xt::all())).item() == 12.);
}
