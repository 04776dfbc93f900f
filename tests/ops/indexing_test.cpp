// Indices, slices, ranges and new axes: the elements that they name, and the way back of the
// gradient.
#include <doctest/doctest.h>

#include <support/derivatives.hpp>

using namespace support;

namespace {

using D = xg::Tensor<double>;
using xg::slice;

D const x = reshape(xg::arange<double>(0, 24), {2, 3, 4});
Point reals(xg::Shape const& shape) { return {sample(xg::DType::float64, shape)}; }
template <class F> CheckResult moves(F f, xg::Shape const& shape) {
    return differentiates(function_of<double>([=](auto a) { return square(f(a)); }), reals(shape));
}

} // namespace

TEST_CASE("whole numbers take one element of an axis, from either end") {
    CHECK(x(1, 2, 3).item() == 23);
    CHECK(x(-1, 0, -2).item() == 14);
    CHECK(holds_exactly(x[1], {12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}));
    CHECK(holds_exactly(x[0](2), {8, 9, 10, 11}));
    CHECK(x(1, 2, 3).shape() == xg::Shape{});
    CHECK(x(1u, std::size_t(2), 'a' - 'a').item() == 20);
}

TEST_CASE("slices take parts as in Python, with bounds cut to the array") {
    auto const v = xg::arange<double>(0, 7);
    CHECK(holds_exactly(v(slice(2, 5)), {2, 3, 4}));
    CHECK(holds_exactly(v(slice({}, 3)), {0, 1, 2}));
    CHECK(holds_exactly(v(slice(-3)), {4, 5, 6}));
    CHECK(holds_exactly(v(slice(-100, 2)), {0, 1}));
    CHECK(holds_exactly(v(slice(5, 100)), {5, 6}));
    CHECK(holds_exactly(v(slice({}, {}, 3)), {0, 3, 6}));
    CHECK(holds_exactly(v(slice(1, -1, 2)), {1, 3, 5}));
    CHECK(v(slice(5, 2)).numel() == 0);
    CHECK(v(slice(7)).numel() == 0);
    CHECK(holds_exactly(x(0, slice(1), slice({}, {}, 2)), {4, 6, 8, 10}));
}

TEST_CASE("xtensor's ranges, all, newaxis and ellipsis mean what they mean there") {
    CHECK(holds_exactly(x(xt::range(0, 1), 2, xt::range(1, 3)), {9, 10}));
    CHECK(holds_exactly(x(1, xt::all(), 0), {12, 16, 20}));
    CHECK(holds_exactly(x(xt::ellipsis(), 0), {0, 4, 8, 12, 16, 20}));
    CHECK(holds_exactly(x(1, xt::ellipsis(), 3), {15, 19, 23}));
    CHECK(x(1, xt::newaxis(), xt::all()).shape() == xg::Shape{1, 3, 4});
    CHECK(x(xt::newaxis(), xt::ellipsis(), xt::newaxis()).shape() == xg::Shape{1, 2, 3, 4, 1});
    CHECK(holds_exactly(xg::arange<double>(0, 9)(xt::range(1, 8, 3)), {1, 4, 7}));
}

TEST_CASE("a window shares memory") {
    D base = x.clone();
    D window = base(1, slice(1));
    base.mutable_data()[20] = 99;
    CHECK(window(1, 0).item() == 99);
    CHECK(window.version() == base.version());
}

TEST_CASE("the gradient of a window is its gradient among zeros, in both orders") {
    CHECK(moves([](auto a) { return a(1, slice(1), slice({}, {}, 2)); }, {2, 3, 4}));
    CHECK(moves([](auto a) { return a(xt::ellipsis(), -1); }, {2, 3}));
    CHECK(moves([](auto a) { return a(xt::newaxis(), xt::range(0, 5, 2)); }, {5, 2}));
    CHECK(moves([](auto a) { return a[1](0) * a; }, {2, 3}));
    auto const v = leaf_of<double>(reals({5})[0]);
    CHECK(holds_exactly(
        xg::grad(v(slice(1, 4, 2)), v, {.gradients = {D({2., 3.})}}), {0, 2, 0, 3, 0}));
    CHECK(holds_exactly(
        xg::grad(D(v(slice(0, 3)) + v(slice(2))), v, {.gradients = {D({1., 2., 4.})}}),
        {1, 2, 5, 2, 4}));
}

TEST_CASE("windows of complex tensors and of masks") {
    CHECK(differentiates(function_of<cd>([](auto a) { return square(a(slice(1), 0)); }),
        {sample(xg::DType::complex128, {3, 2})}));
    CHECK(holds_exactly(xg::Tensor<bool>({true, false, true})(slice(1)), {0, 1}));
}

TEST_CASE("an index out of range, too many indices and steps that are not positive are errors that "
          "say so") {
    CHECK(has(message_of<xg::IndexError>([] { x(2); }), {"index 2", "axis 0", "extent 2"}));
    CHECK(has(message_of<xg::IndexError>([] { x(0, -4); }), {"index -4", "axis 1", "extent 3"}));
    CHECK(has(
        message_of<xg::IndexError>([] { x(0, 0, 0, 0); }), {"too many indices", "3 dimensions"}));
    CHECK(has(message_of<xg::IndexError>([] { x(slice(0, 2, 0)); }), {"step 0", "positive"}));
    CHECK(has(message_of<xg::IndexError>([] { x(slice({}, {}, -1)); }), {"step -1", "positive"}));
    CHECK(has(message_of<xg::IndexError>([] { D(1.)[0]; }), {"too many indices", "0 dimensions"}));
    CHECK(has(message_of<xg::IndexError>([] { x(xt::ellipsis(), 0, xt::ellipsis()); }),
        {"more than one ellipsis"}));
}
