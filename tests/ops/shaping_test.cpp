// Operations that only move elements: values, views, gradients in both orders.
#include <doctest/doctest.h>

#include <support/derivatives.hpp>

using namespace support;

namespace {

using D = xg::Tensor<double>;

D counting(xg::Shape const& shape) {
    return reshape(xg::arange<double>(0, static_cast<double>(xg::numel(shape))), xg::Axes(shape));
}
Point reals(xg::Shape const& shape) { return {sample(xg::DType::float64, shape)}; }

/// The square of what f makes of x, so that gradients and second derivatives depend on where
/// elements went.
template <class F> CheckResult moves(F f, xg::Shape const& shape) {
    if (auto const wrong =
            differentiates(function_of<double>([=](auto x) { return square(f(x)); }), reals(shape));
        !wrong)
        return wrong;
    return differentiates(function_of<cd>([=](auto x) { return square(f(x)); }),
        {sample(xg::DType::complex128, shape)});
}

} // namespace

TEST_CASE("reshape keeps the elements in row-major order, and finds one extent") {
    auto const x = counting({2, 6});
    CHECK(holds_exactly(reshape(x, {3, 4}), x));
    CHECK(reshape(x, {3, -1}).shape() == xg::Shape{3, 4});
    CHECK(reshape(x, {-1}).shape() == xg::Shape{12});
    CHECK(reshape(x, {2, 1, 3, 2}).shape() == xg::Shape{2, 1, 3, 2});
    CHECK(flatten(x).shape() == xg::Shape{12});
    CHECK(holds_exactly(flatten(transpose(x)), {0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11}));
    CHECK(moves([](auto a) { return reshape(a, {3, -1}); }, {2, 6}));
    CHECK(moves([](auto a) { return flatten(transpose(a)); }, {2, 3}));
}

TEST_CASE("permute and transpose put axes in another order") {
    auto const x = counting({2, 3, 4});
    D const y = permute(x, {2, 0, 1});
    CHECK(y.shape() == xg::Shape{4, 2, 3});
    CHECK(y(1, 1, 2).item() == x(1, 2, 1).item());
    CHECK(permute(x, {-1, 0, -2}).shape() == xg::Shape{4, 2, 3});
    CHECK(transpose(x).shape() == xg::Shape{4, 3, 2});
    CHECK(transpose(x, 0, -1)(3, 2, 1).item() == x(1, 2, 3).item());
    CHECK(mT(x).shape() == xg::Shape{2, 4, 3});
    CHECK(x.t().shape() == xg::Shape{4, 3, 2});
    CHECK(moves([](auto a) { return permute(a, {2, 0, 1}); }, {2, 3, 2}));
    CHECK(moves([](auto a) { return transpose(a, 0, -2); }, {2, 3, 2}));
}

TEST_CASE("squeeze and unsqueeze take axes of extent 1 away and put them in") {
    auto const x = counting({1, 3, 1, 2});
    CHECK(squeeze(x).shape() == xg::Shape{3, 2});
    CHECK(squeeze(x, 0).shape() == xg::Shape{3, 1, 2});
    CHECK(squeeze(x, -2).shape() == xg::Shape{1, 3, 2});
    CHECK(squeeze(x, 1).shape() == x.shape());
    CHECK(unsqueeze(squeeze(x), 0).shape() == xg::Shape{1, 3, 2});
    CHECK(unsqueeze(squeeze(x), 1).shape() == xg::Shape{3, 1, 2});
    CHECK(unsqueeze(squeeze(x), -1).shape() == xg::Shape{3, 2, 1});
    CHECK(holds_exactly(unsqueeze(squeeze(x), -2), x));
    CHECK(moves([](auto a) { return unsqueeze(squeeze(a, 1), -1); }, {3, 1}));
}

TEST_CASE("movedim moves some axes, and the others stay in order") {
    auto const x = counting({2, 3, 4, 5});
    CHECK(movedim(x, {0, 3}, {2, 0}).shape() == xg::Shape{5, 3, 2, 4});
    CHECK(movedim(x, {3, 1}, {0, 2}).shape() == xg::Shape{5, 2, 3, 4});
    CHECK(movedim(x, 0, -1).shape() == xg::Shape{3, 4, 5, 2});
    CHECK(movedim(x, 0, -1)(2, 1, 3, 1).item() == x(1, 2, 1, 3).item());
    CHECK(movedim(x, {}, {}).shape() == x.shape());
    CHECK(movedim(x, 0, 3).strided_data() == x.data());
    CHECK(moves([](auto a) { return movedim(a, {0, -1}, {1, 0}); }, {2, 3, 2}));
    CHECK_THROWS_WITH_AS(movedim(x, {0, 1}, {0}),
        "movedim: there are axes [0, 1] to be moved, and places [0]", xg::ShapeError);
    CHECK_THROWS_WITH_AS(movedim(x, {0, 1}, {2, -2}),
        "movedim: an axis is given twice in [2, 2] of shape [2, 3, 4, 5]", xg::IndexError);
    CHECK_THROWS_WITH_AS(movedim(x, 4, 0),
        "movedim: axis 4 is out of range for an array with 4 dimensions, of shape [2, 3, 4, 5]",
        xg::IndexError);
}

TEST_CASE("unflatten makes several axes of one") {
    auto const x = counting({2, 6});
    CHECK(unflatten(x, 1, {2, 3}).shape() == xg::Shape{2, 2, 3});
    CHECK(unflatten(x, -1, {-1, 2, 1}).shape() == xg::Shape{2, 3, 2, 1});
    CHECK(unflatten(transpose(x), 0, {3, -1}).shape() == xg::Shape{3, 2, 2});
    CHECK(holds_exactly(unflatten(transpose(x), 0, {3, 2}), transpose(x)));
    CHECK(unflatten(transpose(x), 0, {3, 2}).strided_data() == x.data());
    CHECK(unflatten(xg::zeros({2, 0}), 1, {3, -1}).shape() == xg::Shape{2, 3, 0});
    CHECK(unflatten(xg::zeros({0, 4}), 1, {2, -1}).shape() == xg::Shape{0, 2, 2});
    CHECK(moves([](auto a) { return unflatten(a, 0, {2, -1}); }, {4, 2}));
    CHECK_THROWS_WITH_AS(unflatten(x, 1, {4, -1}),
        "unflatten: sizes [4, -1] do not hold the 6 positions of axis 1 of shape [2, 6]",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(unflatten(x, 1, {-1, -1}),
        "unflatten: sizes [-1, -1] do not hold the 6 positions of axis 1 of shape [2, 6]",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(unflatten(x, 0, {-2, -1}),
        "unflatten: sizes [-2, -1] do not hold the 2 positions of axis 0 of shape [2, 6]",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(unflatten(xg::zeros({0}), 0, {0, -1}),
        "unflatten: sizes [0, -1] do not hold the 0 positions of axis 0 of shape [0]",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(unflatten(xg::zeros({1}), 0, {}),
        "unflatten: sizes [] do not hold the 1 positions of axis 0 of shape [1]", xg::ShapeError);
    CHECK_THROWS_WITH_AS(unflatten(x, 2, {1}),
        "unflatten: axis 2 is out of range for an array with 2 dimensions, of shape [2, 6]",
        xg::IndexError);
}

TEST_CASE("broadcast_to repeats elements, and the gradient is their sum") {
    D const y = broadcast_to(counting({2, 1}), {3, 2, 2});
    CHECK(holds_exactly(y, {0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1}));
    CHECK(moves([](auto a) { return broadcast_to(a, {3, 2, 4}); }, {2, 1}));
    CHECK(moves([](auto a) { return broadcast_to(a, {2, 2}); }, {}));
    CHECK(moves([](auto a) { return sum_to(broadcast_to(a, {3, 2, 4}) * a, {2, 1}); }, {2, 1}));
}

TEST_CASE("shaped tensors share memory where they can, and are copied where they must be") {
    auto const x = counting({2, 6});
    CHECK(reshape(x, {3, 4}).data() == x.data());
    CHECK(transpose(x).strided_data() == x.data());
    CHECK(broadcast_to(x, {5, 2, 6}).strided_data() == x.data());
    CHECK(unsqueeze(x, 1).data() == x.data());
    CHECK(reshape(transpose(x), {12}).data() != x.data());
    CHECK(x.clone().data() != x.data());
    CHECK(x.view({4, 3}).data() == x.data());
    CHECK(has(message_of<xg::ShapeError>([&] { x.t().view({12}); }), {"view", "reshape"}));
}

TEST_CASE("clone copies, and passes the gradient on") {
    CHECK(moves([](auto a) { return a.clone(); }, {2, 3}));
    auto const x = leaf_of<double>(reals({3})[0]);
    CHECK(holds_exactly(x.clone(), x));
    CHECK(x.clone().requires_grad());
}

TEST_CASE("contiguous gives the tensor itself, or a recorded copy where its elements do not lie in "
          "order") {
    auto const x = counting({2, 3}).requires_grad_();
    CHECK(x.contiguous().is_same(x));
    CHECK(x(1).contiguous().is_view());
    CHECK(transpose(x).contiguous().is_contiguous());
    CHECK(transpose(x).contiguous().data() != x.data());
    CHECK(holds_exactly(transpose(x).contiguous(), D({{0., 3.}, {1., 4.}, {2., 5.}})));
    CHECK(moves([](auto a) { return transpose(a).contiguous() * reshape(a, {3, 2}); }, {2, 3}));
}

TEST_CASE("cast converts elements, and the gradient back") {
    CHECK(holds(xg::cast<std::int64_t>(D({1.7, -1.7})), {1, -1}));
    CHECK(holds(xg::cast<bool>(D({0., 2., -1.})), {0, 1, 1}));
    CHECK(holds(xg::cast<cd>(xg::Tensor<float>({1.5f})), {1.5}));
    CHECK(differentiates(
        function_of<double>([](auto x) { return square(xg::cast<cd>(x)) * cd(1, 2); }),
        reals({3})));
    auto const x = leaf_of<float>(sample(xg::DType::float32, {3}));
    D const y = xg::cast<double>(x) * 3;
    CHECK(holds(xg::grad(y, x, {.gradients = {xg::ones({3})}}), {3, 3, 3}));
    CHECK_FALSE(xg::cast<std::int64_t>(x).requires_grad());
}

TEST_CASE("cat joins along any axis, and cuts the gradient again") {
    auto const a = counting({2, 2}), b = counting({2, 1});
    CHECK(holds_exactly(xg::cat<double>({a, b, a}, 1), {0, 1, 0, 0, 1, 2, 3, 1, 2, 3}));
    CHECK(holds_exactly(xg::cat<double>({a, transpose(a)}), {0, 1, 2, 3, 0, 2, 1, 3}));
    CHECK(xg::cat<double>({a, a}, -2).shape() == xg::Shape{4, 2});
    CHECK(holds_exactly(
        xg::cat<bool>({xg::Tensor<bool>({true}), xg::Tensor<bool>({false})}), {1, 0}));
    auto const joined = function_of<double, double>([](auto x, auto y) {
        return square(xg::cat<double>({x, y, x * y}, 1));
    });
    CHECK(differentiates(joined, {reals({2, 3})[0], sample(xg::DType::float64, {2, 3}, 2)}));
    auto const constant = function_of<double>([](auto x) {
        return square(xg::cat<double>({xg::ones({2}), x}));
    });
    CHECK(differentiates(constant, reals({3})));
}

TEST_CASE("stack joins along a new axis") {
    D const a = counting({2}), b = a + 5;
    CHECK(holds_exactly(xg::stack<double>({a, b}), {0, 1, 5, 6}));
    CHECK(holds_exactly(xg::stack<double>({a, b}, -1), {0, 5, 1, 6}));
    CHECK(xg::stack<double>({a, b, a}, 1).shape() == xg::Shape{2, 3});
    auto const stacked = function_of<double, double>([](auto x, auto y) {
        return square(xg::stack<double>({x, x * y, y}, 1));
    });
    CHECK(differentiates(stacked, {reals({2, 3})[0], sample(xg::DType::float64, {2, 3}, 2)}));
}
