// Arrays without elements, and arrays without dimensions.
#include <doctest/doctest.h>

#include <support/derivatives.hpp>

using namespace support;

namespace {
using D = xg::Tensor<double>;
using Z = xg::Tensor<cd>;

D none(xg::Shape const& shape) { return xg::zeros(shape, xg::requires_grad); }
} // namespace

TEST_CASE("elementwise operations on arrays without elements give arrays without elements, and so "
          "do their gradients") {
    for (auto const& shape : {xg::Shape{0}, xg::Shape{2, 0, 3}, xg::Shape{0, 0}}) {
        auto const x = none(shape), y = none(shape);
        D const z = sin(x) * y + x;
        CHECK(z.shape() == shape);
        auto const [gx, gy] = xg::grad(z, xg::inputs(x, y), {.gradients = {xg::zeros(shape)}});
        CHECK(gx.shape() == shape);
        CHECK(gy.shape() == shape);
        CHECK(gx.numel() == 0);
    }
}

TEST_CASE("an operand that was stretched to no elements gets gradient 0") {
    auto const row = leaf_of<double>(sample(xg::DType::float64, {1, 3}));
    D const z = row * none({0, 3}) + row;
    CHECK(z.shape() == xg::Shape{0, 3});
    CHECK(holds(xg::grad(z, row, {.gradients = {xg::zeros({0, 3})}}), {0, 0, 0}));
}

TEST_CASE("reductions of nothing are their neutral elements, or say that there are none") {
    auto const x = none({0});
    CHECK(holds(sum(x), {0}));
    CHECK(holds(mean(x), {NaN}));
    CHECK(holds(prod(x), {1}));
    CHECK(holds(logsumexp(x), {-inf}));
    CHECK(holds(norm(x), {0}));
    CHECK(holds(norm(x, 1), {0}));
    CHECK(has(message_of<xg::ShapeError>([&] { amax(x); }), {"amax", "[0]"}));
    CHECK(has(message_of<xg::ShapeError>([&] { amin(x); }), {"amin", "[0]"}));
    CHECK(has(message_of<xg::ShapeError>([&] { norm(x, inf); }), {"[0]"}));
    CHECK(xg::grad(sum(x * x), x).shape() == xg::Shape{0});
    CHECK(xg::grad(prod(x), x).shape() == xg::Shape{0});
    CHECK(xg::grad(logsumexp(x), x).shape() == xg::Shape{0});
    CHECK(xg::grad(norm(x), x).shape() == xg::Shape{0});
}

TEST_CASE("reductions over an axis without elements, and over others beside one") {
    auto const x = none({2, 0});
    CHECK(holds(sum(x, {1}), {0, 0}));
    CHECK(holds(prod(x, {1}), {1, 1}));
    CHECK(holds(mean(x, {1}), {NaN, NaN}));
    CHECK(holds(logsumexp(x, {1}), {-inf, -inf}));
    CHECK(sum(x, {0}).shape() == xg::Shape{0});
    CHECK(amax(x, {0}).shape() == xg::Shape{0});
    CHECK(prod(x, {0}, xg::keepdims).shape() == xg::Shape{1, 0});
    CHECK(xg::grad(sum(sum(x * 2, {1})), x).shape() == xg::Shape{2, 0});
}

TEST_CASE("matrix products over no terms are 0, and have gradients without elements") {
    auto const a = none({2, 0}), b = none({0, 3});
    D const c = matmul(a, b);
    CHECK(holds(c, {0, 0, 0, 0, 0, 0}));
    auto const [ga, gb] = xg::grad(c, xg::inputs(a, b), {.gradients = {xg::ones({2, 3})}});
    CHECK(ga.shape() == xg::Shape{2, 0});
    CHECK(gb.shape() == xg::Shape{0, 3});
    CHECK(matmul(none({0, 2}), none({2, 3})).shape() == xg::Shape{0, 3});
    CHECK(matmul(none({0, 2, 2}), none({2, 2})).shape() == xg::Shape{0, 2, 2});
    CHECK(holds(dot(none({0}), none({0})), {0}));
    CHECK(outer(none({0}), none({2})).shape() == xg::Shape{0, 2});
}

TEST_CASE("shaping and joining of arrays without elements") {
    auto const x = none({2, 0, 3});
    CHECK(transpose(x).shape() == xg::Shape{3, 0, 2});
    CHECK(reshape(x, {0, 7}).shape() == xg::Shape{0, 7});
    CHECK(reshape(x, {6, -1}).shape() == xg::Shape{6, 0});
    CHECK(x(0).shape() == xg::Shape{0, 3});
    CHECK(none({5})(xg::slice(3, 3)).shape() == xg::Shape{0});
    CHECK(broadcast_to(none({1, 0}), {4, 0}).shape() == xg::Shape{4, 0});
    auto const some = leaf_of<double>(sample(xg::DType::float64, {2, 3}));
    auto const joined = xg::cat<double>({none({0, 3}), some, none({0, 3})});
    CHECK(holds_exactly(joined, some));
    CHECK(holds(xg::grad(joined, some, {.gradients = {xg::ones({2, 3})}}), {1, 1, 1, 1, 1, 1}));
    CHECK(fft(Z(xg::zeros<cd>({0, 4}))).shape() == xg::Shape{0, 4});
    CHECK(has(message_of<xg::ShapeError>([] {
        fft(xg::zeros<cd>({2, 0}));
    }),
        {"fft", "at least one point"}));
}

TEST_CASE("an array without dimensions is a number: it can be computed with, reduced, shaped and "
          "differentiated") {
    Point const x{{xg::DType::float64, {}, {0.75}}};
    CHECK(differentiates(function_of<double>([](auto a) { return sin(a) * a + 2; }), x));
    CHECK(differentiates(function_of<double>([](auto a) {
        return sum(a * a) + mean(a) + prod(a) + amax(a) + logsumexp(a) + norm(a);
    }),
        x));
    CHECK(differentiates(function_of<double>([](auto a) {
        return sum(a * a, xg::Axes{}) + reshape(a, {1}) * unsqueeze(a, 0);
    }),
        x));
    CHECK(differentiates(function_of<double>([](auto a) {
        return transpose(a) * squeeze(reshape(a, {1, 1})) * broadcast_to(a, {2, 2});
    }),
        x));
    CHECK(differentiates(function_of<double>([](auto a) {
        return xg::stack<double>({a, a * a});
    }),
        x));
    CHECK(value_of(function_of<double>([](auto a) { return sum(a); }), x).shape.empty());
    CHECK(D(0.5).item() == 0.5);
    CHECK(D(0.5).numel() == 1);
    CHECK(D(0.5).dim() == 0);
}

TEST_CASE("item of anything but one element says the shape") {
    CHECK(has(message_of<xg::ShapeError>([] { D({1., 2.}).item(); }), {"item", "[2]"}));
    CHECK(has(message_of<xg::ShapeError>([] { none({0}).item(); }), {"item", "[0]"}));
    CHECK(xg::full({1, 1}, 4.).item() == 4);
}

TEST_CASE("empty tensors and other forms are taken or refused as the list of differences says") {
    using D = xg::Tensor<double>;
    CHECK(D(amax(xg::zeros({0, 0}), {1})).shape() == xg::Shape{0});
    CHECK(argmax(xg::zeros({0, 0}), 1).shape() == xg::Shape{0});
    CHECK_THROWS_WITH_AS(amax(xg::zeros({2, 0}), {1}),
        doctest::Contains("nothing to choose from in shape [2, 0]"), xg::ShapeError);
    CHECK(holds(D(pad(xg::zeros({2, 0}), {1, 1}, xg::PadMode::constant, 7.)), {7, 7, 7, 7}));
    CHECK(fft(xg::zeros({0, 2})).shape() == xg::Shape{0, 2});
    CHECK_THROWS_WITH_AS(
        fft(xg::zeros({2, 0})), doctest::Contains("at least one point"), xg::Error);
    CHECK_THROWS_WITH_AS(roll(xg::ones({2, 2}), {1, 1}, {0, 0}),
        doctest::Contains("an axis is given twice"), xg::Error);
    CHECK_THROWS_WITH_AS(cat(std::vector{xg::zeros({0}), xg::zeros({2, 2})}),
        doctest::Contains("do not fit together"), xg::ShapeError);

    D m({{1., 2.}, {3., 4.}}), x({1., 2., 3.});
    m.copy_(transpose(m));
    x.copy_(flip(x, {0}));
    CHECK(holds(m, {1, 3, 2, 4}));
    CHECK(holds(x, {3, 2, 1}));

    D const leaf({1., 2.}, xg::requires_grad);
    D view;
    {
        xg::NoGradGuard guard;
        view = leaf(xt::range(0, 1));
    }
    CHECK(view.requires_grad());
    CHECK_THROWS_AS(xg::grad(sum(view * view), view), xg::GraphError);
}
