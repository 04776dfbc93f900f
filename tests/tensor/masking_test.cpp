// Elements selected by a mask, read and written.
#include <doctest/doctest.h>

#include <support/derivatives.hpp>

using namespace support;
using Real = xg::Tensor<double>;
using Mask = xg::Tensor<bool>;

namespace {
Point reals(xg::Shape const& a, xg::Shape const& b) {
    return {sample(xg::DType::float64, a), sample(xg::DType::float64, b, 2)};
}
Mask checkered() { return Mask({{true, false, true}, {false, true, false}}); }
} // namespace

TEST_CASE("a mask reads its elements in row-major order") {
    Real const x({{1., 2., 3.}, {4., 5., 6.}});
    CHECK(holds(Real(x(checkered())), {1, 3, 5}));
    CHECK(holds(Real(x(x > 4)), {5, 6}));
    CHECK(holds(Real(x.t()(Mask(x.t() > 2))), {4, 5, 3, 6}));
    CHECK(holds(Real(x(Mask({true, false, true}))), {1, 3, 4, 6}));
    CHECK(Real(x(x > 9)).shape() == xg::Shape{0});
    CHECK(message_of([&] {
        Real(x(Mask({true, false})));
    }) == "x(mask): a mask of shape [2] does not broadcast to the shape [2, 3] of what it is to "
          "pick from");
}

TEST_CASE("gradients go back to where the elements were") {
    CHECK(differentiates(
        function_of<double>([](auto const& x) { return square(Real(x(checkered()))); }),
        {sample(xg::DType::float64, {2, 3})}));
    CHECK(differentiates(function_of<double>([](auto const& x) { return exp(Real(x(x > 0))); }),
        {sample(xg::DType::float64, {2, 3})}));
    CHECK(differentiates(
        function_of<cd>([](auto const& z) { return square(xg::Tensor<cd>(z(checkered()))); }),
        {sample(xg::DType::complex128, {2, 3})}));
}

TEST_CASE("assignment writes one number, one value, or as many as the mask is true") {
    Real x({{1., 2., 3.}, {4., 5., 6.}});
    x(checkered()) = 0.;
    CHECK(holds(x, {0, 2, 0, 4, 0, 6}));
    x(checkered()) = Real({10., 20., 30.});
    CHECK(holds(x, {10, 2, 20, 4, 30, 6}));
    x(x > 9.) = -x(xg::slice(0, 1), 1);
    CHECK(holds(x, {-2, 2, -2, 4, -2, 6}));
    x(x < 0) = Real(x(x > 3))(xg::slice(0, 1));
    CHECK(holds(x, {4, 2, 4, 4, 4, 6}));
    CHECK(x.version() == 4);
    CHECK_THROWS_AS(x(checkered()) = Real({1., 2.}), xg::ShapeError);
    CHECK(holds(x, {4, 2, 4, 4, 4, 6}));
    x(x > 99) = 7.;
    CHECK(holds(x, {4, 2, 4, 4, 4, 6}));
}

TEST_CASE("compound assignment through a mask changes the elements that it picks") {
    Real x({{1., 2., 3.}, {4., 5., 6.}}, xg::requires_grad);
    Real y = x * 1.;
    y(checkered()) += 10.;
    y(y > 5.) -= Real({1., 2., 3., 4.});
    y(checkered()) *= y(checkered());
    y(y < 3.) /= 2.;
    CHECK(holds(y, {100, 1, 121, 4, 144, 1}));
    sum(y).backward();
    CHECK(holds(x.grad(), {20, .5, 22, 1, 24, .5}));
    auto picked = y(y > 50.);
    picked += 1.;
    CHECK(holds(picked, {101, 122, 145}));
    CHECK(holds(y, {100, 1, 121, 4, 144, 1}));
    CHECK_THROWS_AS(x(x > 1.) += 1., xg::GraphError);
}

TEST_CASE("assignment through a mask is a recorded change in place") {
    auto const same = [](auto in_place, auto out_of_place, Point const& at) {
        return agrees_with(
            function_of<double, double>(in_place), function_of<double, double>(out_of_place), at);
    };
    CHECK(same(
        [](auto const& x, auto const& b) {
            auto y = x.clone();
            y(checkered()) = b;
            return y * y;
        },
        [](auto const& x, auto const& b) { return square(where(checkered(), b, x)); },
        reals({2, 3}, {})));
    CHECK(same(
        [](auto const& x, auto const& b) {
            auto y = x.clone();
            y(checkered()) = b * 2;
            return y * y;
        },
        [](auto const& x, auto const& b) {
            return square(where(checkered(),
                2 * (b(0) * Real({{1., 0, 0}, {0, 0, 0}}) + b(1) * Real({{0., 0, 1}, {0, 0, 0}}) +
                        b(2) * Real({{0., 0, 0}, {0, 1, 0}})),
                x));
        },
        reals({2, 3}, {3})));
    CHECK(same(
        [](auto const& x, auto const& b) {
            auto y = x.clone();
            y(y > 0) = 3;
            return y * b;
        },
        [](auto const& x, auto const& b) { return where(x > 0, 3, x) * b; }, reals({2, 3}, {3})));
    CHECK(same(
        [](auto const& x, auto const& b) {
            auto y = x.clone();
            y.masked_fill_(checkered(), b);
            return y * y;
        },
        [](auto const& x, auto const& b) { return square(where(checkered(), b, x)); },
        reals({2, 3}, {})));
    CHECK(same(
        [](auto const& x, auto const& b) {
            auto y = x.clone();
            y.t()(Mask(checkered().t())) = b;
            return y * y;
        },
        [](auto const& x, auto const& b) { return square(where(checkered(), b, x)); },
        reals({2, 3}, {})));
    CHECK(same(
        [](auto const& x, auto const& b) {
            auto y = x.clone();
            y[1](Mask({true, false, true})) = b;
            return y * y;
        },
        [](auto const& x, auto const& b) {
            return square(where(Mask({{false, false, false}, {true, false, true}}), b, x));
        },
        reals({2, 3}, {})));
}

TEST_CASE("a value that requires grad makes a plain tensor require it") {
    Real y = xg::zeros({2, 3});
    auto const v = leaf_of<double>(sample(xg::DType::float64, {3}));
    y(checkered()) = v;
    CHECK(y.requires_grad());
    CHECK(holds(xg::grad(sum(y * Real({{1., 2., 3.}, {4., 5., 6.}})), v), {1, 3, 5}));
}

TEST_CASE("a leaf that requires grad is not written through a mask") {
    Real const x({1., 2.}, xg::requires_grad);
    CHECK_THROWS_AS(x(x > 1) = 0., xg::GraphError);
    CHECK(holds(x.detach(), {1, 2}));
}

TEST_CASE("a mask that changes later leaves recorded gradients as they were") {
    auto const x = leaf_of<double>(sample(xg::DType::float64, {2, 3}));
    Mask mask = checkered().clone();
    Real const picked = x(mask);
    mask.fill_(true);
    CHECK(holds(xg::grad(sum(picked), x), {1, 0, 1, 0, 1, 0}));
}

TEST_CASE("a mask of rows picks rows where it has an axis behind") {
    Real x({{1., 2., 3.}, {4., 5., 6.}, {7., 8., 9.}});
    Mask const rows({true, false, true});
    CHECK(holds(Real(x(unsqueeze(rows, 1))), {1, 2, 3, 7, 8, 9}));
    x(unsqueeze(rows, 1)) = 0.;
    CHECK(holds(x, {0, 0, 0, 4, 5, 6, 0, 0, 0}));
}
