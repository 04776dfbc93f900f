// Parts of tensors by index, slice, new axis and ellipsis: views, through which gradients flow.
#include "compare.hpp"

#if __has_include(<xtensor/views/xview.hpp>)
#    include <xtensor/views/xview.hpp>
#else
#    include <xtensor/xview.hpp>
#endif

namespace {
D matrix() { return D({{1., 2., 3., 4.}, {5., 6., 7., 8.}, {9., 10., 11., 12.}}); }
} // namespace

TEST_CASE("integers take one element of an axis, negative ones from its end") {
    D const m = matrix();
    CHECK(m(1, 2).item() == 7);
    CHECK(m(-1, -4).item() == 9);
    CHECK(m(1, 2).dim() == 0);
    CHECK(difference(m(-2), {5., 6., 7., 8.}) == "");
    CHECK(difference(m[0], {1., 2., 3., 4.}) == "");
    CHECK(m[2][3].item() == 12);
    CHECK(m(std::size_t{2}, 0u).item() == 9);
}

TEST_CASE("slices take ranges, with steps, open ends and ends that lie outside") {
    D const v = xg::arange(0., 6.);
    CHECK(difference(v(xg::slice(1, 4)), {1., 2., 3.}) == "");
    CHECK(difference(v(xg::slice(4)), {4., 5.}) == "");
    CHECK(difference(v(xg::slice({}, 2)), {0., 1.}) == "");
    CHECK(difference(v(xg::slice({}, {}, 4)), {0., 4.}) == "");
    CHECK(difference(v(xg::slice(-2)), {4., 5.}) == "");
    CHECK(difference(v(xg::slice(-4, -1, 2)), {2., 4.}) == "");
    CHECK(difference(v(xg::slice(3, 100)), {3., 4., 5.}) == "");
    CHECK(difference(v(xg::slice(-100, 1)), {0.}) == "");
    CHECK(v(xg::slice(4, 2)).shape() == xg::Shape{0});
    CHECK(v(xg::slice(6)).shape() == xg::Shape{0});
    CHECK(difference(v(xg::slice()), v) == "");
}

TEST_CASE("a slice's step must be positive") {
    D const v = xg::arange(0., 6.);
    CHECK_THROWS_WITH_AS(v(xg::slice({}, {}, 0)), doctest::Contains("step 0"), xg::IndexError);
    CHECK_THROWS_WITH_AS(v(xg::slice({}, {}, -1)), doctest::Contains("step -1"), xg::IndexError);
}

TEST_CASE("xtensor's ranges and all() are taken as xtensor takes them") {
    D const m = matrix();
    CHECK(difference(m(xt::range(0, 2), 1), {2., 6.}) == "");
    CHECK(difference(m(xt::all(), xt::range(1, 4, 2)), {{2., 4.}, {6., 8.}, {10., 12.}}) == "");
    CHECK(difference(m(0, xt::range(-2, xt::placeholders::_)), {3., 4.}) == "");
    CHECK(difference(m(0, xt::range(xt::placeholders::_, 2)), {1., 2.}) == "");
}

TEST_CASE("axes that no index names are taken whole") {
    D const t = reshape(xg::arange(0., 24.), {2, 3, 4});
    CHECK(t(1).shape() == xg::Shape{3, 4});
    CHECK(t().shape() == xg::Shape{2, 3, 4});
    CHECK(difference(t(1, 2), {20., 21., 22., 23.}) == "");
    CHECK(t(xt::all(), 0).shape() == xg::Shape{2, 4});
}

TEST_CASE("an ellipsis stands for the axes between, none included") {
    D const t = reshape(xg::arange(0., 24.), {2, 3, 4});
    CHECK(difference(t(xt::ellipsis(), 1), {{1., 5., 9.}, {13., 17., 21.}}) == "");
    CHECK(difference(t(1, xt::ellipsis(), 1), {13., 17., 21.}) == "");
    CHECK(t(1, xt::ellipsis(), 2, 3).item() == 23);
    CHECK(t(xt::ellipsis()).shape() == xg::Shape{2, 3, 4});
}

TEST_CASE("newaxis makes an axis of extent 1 where it stands") {
    D const v({1., 2., 3.});
    CHECK(v(xt::newaxis()).shape() == xg::Shape{1, 3});
    CHECK(v(xt::all(), xt::newaxis()).shape() == xg::Shape{3, 1});
    CHECK(v(xt::newaxis(), 1).shape() == xg::Shape{1});
    CHECK(v(xt::ellipsis(), xt::newaxis()).shape() == xg::Shape{3, 1});
    CHECK(D(v(xt::all(), xt::newaxis()) * v).shape() == xg::Shape{3, 3});
}

TEST_CASE(
    "an index out of range names itself, the axis and its extent, and leaves everything alone") {
    D const m = matrix();
    CHECK_THROWS_WITH_AS(m(3),
        doctest::Contains("index 3 is out of range for axis 0 with extent 3"), xg::IndexError);
    CHECK_THROWS_WITH_AS(m(0, -5),
        doctest::Contains("index -5 is out of range for axis 1 with extent 4"), xg::IndexError);
    CHECK_THROWS_WITH_AS(m(0, 0, 0), doctest::Contains("too many indices"), xg::IndexError);
    CHECK_THROWS_AS(xg::zeros({0})(0), xg::IndexError);
    CHECK_THROWS_AS(D(1.)(0), xg::IndexError);
    CHECK(m(2, 3).item() == 12);
}

TEST_CASE("parts are views: they share memory and version") {
    D m = matrix();
    D column = m(xt::all(), 1);
    CHECK(share_memory(column, m));
    CHECK(column.strides() == xg::Strides{4});
    CHECK_FALSE(column.is_contiguous());
    column.fill_(0.);
    CHECK(difference(m(1), {5., 0., 7., 8.}) == "");
    CHECK(m.version() == 1);
}

TEST_CASE("the gradient of a part lands in its place, and is 0 elsewhere") {
    D const x({{1., 2., 3.}, {4., 5., 6.}}, xg::requires_grad);
    sum(x(1, xg::slice(0, 3, 2)) * D({10., 20.})).backward();
    CHECK(difference(x.grad(), {{0., 0., 0.}, {10., 0., 20.}}) == "");
}

TEST_CASE("gradients of overlapping parts add up") {
    D const x({1., 2., 3.}, xg::requires_grad);
    sum(x(xg::slice(0, 2)) * x(xg::slice(1, 3))).backward();
    CHECK(difference(x.grad(), {2., 4., 2.}) == "");
}

TEST_CASE("gradients pass through an integer index, a new axis and an empty part") {
    D const x({1., 2., 3.}, xg::requires_grad);
    D const y = x[1] * x[-1];
    y.backward();
    CHECK(difference(x.grad(), {0., 3., 2.}) == "");
    D const z({1., 2., 3.}, xg::requires_grad);
    sum(z(xt::all(), xt::newaxis()) * z).backward();
    CHECK(difference(z.grad(), {12., 12., 12.}) == "");
    D const w({1., 2.}, xg::requires_grad);
    sum(w(xg::slice(2))).backward();
    CHECK(difference(w.grad(), {0., 0.}) == "");
}

TEST_CASE("a part of a part differentiates twice") {
    D const x({1., 2., 3., 4.}, xg::requires_grad);
    D const part = x(xg::slice(1))(xg::slice(0, 3, 2));
    D const g = grad(sum(part * part * part), x, {.create_graph = true});
    CHECK(difference(g, {0., 12., 0., 48.}) == "");
    CHECK(difference(grad(sum(g), x), {0., 12., 0., 24.}) == "");
}

TEST_CASE("view needs contiguous memory, reshape copies where it must") {
    D const m = matrix();
    CHECK(share_memory(m.view({4, 3}), m));
    CHECK(share_memory(m.reshape({-1}), m));
    CHECK_FALSE(share_memory(m.t().reshape({-1}), m));
    CHECK_THROWS_AS(m.t().view({12}), xg::ShapeError);
    CHECK(difference(
              m(xg::slice(0, 2), 0).reshape({2, 1}), D(m(xg::slice(0, 2), xg::slice(0, 1)))) == "");
}

TEST_CASE("axes and shapes that do not exist are errors that name the operation") {
    D const m = matrix();
    CHECK_THROWS_WITH_AS(m.reshape({5, -1}), doctest::Contains("reshape"), xg::ShapeError);
    CHECK_THROWS_WITH_AS(m.reshape({-1, -1}), doctest::Contains("reshape"), xg::ShapeError);
    CHECK_THROWS_WITH_AS(
        m.permute({0, 2}), doctest::Contains("permute: axis 2 is out of range"), xg::IndexError);
    CHECK_THROWS_AS(m.permute({0}), xg::ShapeError);
    CHECK_THROWS_AS(m.permute({0, 0}), xg::Error);
    CHECK_THROWS_WITH_AS(
        m.transpose(0, 2), doctest::Contains("transpose: axis 2 is out of range"), xg::IndexError);
    CHECK_THROWS_WITH_AS(
        sum(m, {2}), doctest::Contains("sum: axis 2 is out of range"), xg::IndexError);
    CHECK_THROWS_WITH_AS(
        sum(m, {-3}), doctest::Contains("sum: axis -3 is out of range"), xg::IndexError);
    CHECK_THROWS_WITH_AS(sum(m, {0, -2}), doctest::Contains("given twice"), xg::IndexError);
    CHECK_THROWS_WITH_AS(unsqueeze(m, 3), doctest::Contains("unsqueeze"), xg::IndexError);
    CHECK(squeeze(m, 0).shape() == m.shape());
    CHECK_THROWS_WITH_AS(
        broadcast_to(m, {3, 5}), doctest::Contains("broadcast_to: shape [3, 4]"), xg::ShapeError);
}

TEST_CASE("a step may be as large as it likes") {
    CHECK(matrix()(xg::slice({}, {}, PTRDIFF_MAX)).shape() == xg::Shape{1, 4});
    CHECK(difference(xg::arange(0., 6.)(xg::slice(1, {}, PTRDIFF_MAX)), {1.}) == "");
    CHECK(matrix()(xg::slice(3, {}, PTRDIFF_MAX)).shape() == xg::Shape{0, 4});
}

TEST_CASE("arrays of indices that do not broadcast are told as such") {
    using I = xg::Tensor<std::int64_t>;
    D const x({{1., 2., 3.}, {4., 5., 6.}});
    CHECK_THROWS_WITH_AS(x(I({0, 1}), I({0, 1, 2})),
        "x(index): shapes [2] and [3] do not broadcast", xg::ShapeError);
    CHECK(D(x(I({{0}, {1}}), I({{0, 2}}))).shape() == xg::Shape{2, 2});
}
