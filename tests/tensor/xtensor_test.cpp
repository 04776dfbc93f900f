// Tensors beside xtensor's arrays: made from them, read and written as them, mixed with them in one
// expression.
#include "compare.hpp"

#if __has_include(<xtensor/containers/xtensor.hpp>)
#    include <xtensor/containers/xtensor.hpp>
#    include <xtensor/core/xmath.hpp>
#    include <xtensor/views/xview.hpp>
#else
#    include <xtensor/xmath.hpp>
#    include <xtensor/xtensor.hpp>
#    include <xtensor/xview.hpp>
#endif

TEST_CASE("a tensor is made from an xarray, an xtensor, a lazy function and a view, by copying") {
    xt::xarray<double> a({2, 3}, 1.5);
    a(1, 2) = 4;
    D const x(a);
    CHECK(difference(x, {{1.5, 1.5, 1.5}, {1.5, 1.5, 4.}}) == "");
    a(0, 0) = 9;
    CHECK(x.data()[0] == 1.5);

    xt::xtensor<double, 2> const fixed({{1., 2.}, {3., 4.}});
    D const y(fixed, xg::requires_grad);
    CHECK(difference(y, {{1., 2.}, {3., 4.}}) == "");
    CHECK(y.requires_grad());

    D const lazy(fixed * 2. + 1.);
    CHECK(difference(lazy, {{3., 5.}, {7., 9.}}) == "");
    D const column(xt::view(fixed, xt::all(), 1));
    CHECK(difference(column, {2., 4.}) == "");
}

TEST_CASE("the scalar type follows the xtensor expression, or converts to the one that is named") {
    xt::xarray<float> const f({2}, 0.5f);
    xg::Tensor x(f);
    static_assert(std::same_as<decltype(x), F>);
    D const wide(f);
    CHECK(difference(wide, {0.5, 0.5}) == "");
    xt::xarray<std::int64_t> const i({2}, 3);
    xg::Tensor n(i);
    static_assert(std::same_as<decltype(n), xg::Tensor<std::int64_t>>);
    xt::xarray<complex<double>> const c({1}, complex<double>(1, 2));
    CHECK(Z(c).item() == complex<double>(1, 2));
}

TEST_CASE("column-major and empty xtensor containers keep their indices") {
    xt::xarray<double, xt::layout_type::column_major> a({2, 2}, 0.);
    a(0, 1) = 5;
    CHECK(difference(D(a), {{0., 5.}, {0., 0.}}) == "");
    xt::xarray<double> const none(std::vector<std::size_t>{0, 3});
    CHECK(D(none).shape() == xg::Shape{0, 3});
    xt::xarray<double> const number(3.);
    CHECK(D(number).dim() == 0);
    CHECK(D(number).item() == 3);
}

TEST_CASE("array() is an xtensor expression over the tensor's memory") {
    D const x({{1., 2., 3.}, {4., 5., 6.}});
    auto const a = x.array();
    CHECK(a.dimension() == 2);
    CHECK(a(1, 2) == 6);
    CHECK(&a(0, 0) == x.data());
    CHECK(xt::sum(a)() == 21);
    xt::xarray<double> const twice = a * 2.;
    CHECK(twice(0, 2) == 6);
}

TEST_CASE("array() of a strided view shows the view's elements") {
    D const x({{1., 2., 3.}, {4., 5., 6.}});
    D const t = x.t(), part = x(xt::all(), xg::slice(0, 3, 2));
    CHECK(t.array()(2, 1) == 6);
    CHECK(part.array()(1, 1) == 6);
    xt::xarray<double> const copy = part.array();
    CHECK(copy == xt::xarray<double>({{1., 3.}, {4., 6.}}));
    D const wide = broadcast_to(D({1., 2.}), {3, 2});
    CHECK(xt::sum(wide.array())() == 9);
}

TEST_CASE("array() of a temporary is a copy, so that it does not dangle") {
    D const x({1., 2.});
    auto const a = D(x * 2.).array();
    static_assert(std::same_as<decltype(a), xt::xarray<double> const>);
    CHECK(a(1) == 4);
}

TEST_CASE("mutable_array writes the tensor and counts as a change, array() does not") {
    D x({1., 2., 3.});
    x.array();
    CHECK(x.version() == 0);
    x.mutable_array()(1) = 7;
    CHECK(values(x) == std::vector<double>{1, 7, 3});
    CHECK(x.version() == 1);
    x.mutable_data()[0] = -1;
    CHECK(x.version() == 2);
}

TEST_CASE("mutable_array of a strided view writes the view's elements and no others") {
    D m({{1., 2., 3.}, {4., 5., 6.}});
    D column = m(xt::all(), 1), t = m.t(), ends = m(xt::all(), xg::slice(0, 3, 2));
    column.mutable_array() *= 10.;
    CHECK(difference(m, {{1., 20., 3.}, {4., 50., 6.}}) == "");
    column.mutable_array() = xt::xarray<double>({7., 8.});
    CHECK(difference(m, {{1., 7., 3.}, {4., 8., 6.}}) == "");
    t.mutable_array() = xt::xarray<double>({{1., 2.}, {3., 4.}, {5., 6.}});
    CHECK(difference(m, {{1., 3., 5.}, {2., 4., 6.}}) == "");
    ends.mutable_array() += xt::xarray<double>({10., 20.});
    CHECK(difference(m, {{11., 3., 25.}, {12., 4., 26.}}) == "");
    ends.mutable_array().fill(0);
    CHECK(difference(m, {{0., 3., 0.}, {0., 4., 0.}}) == "");
    ends.mutable_array()(1, 1) = 9;
    CHECK(difference(m, {{0., 3., 0.}, {0., 4., 9.}}) == "");
    CHECK(m.version() == 6);
}

TEST_CASE("xtensor's arrays and tensors mix in one expression, on either side") {
    D const x({1., 2., 3.}, xg::requires_grad);
    xt::xarray<double> const a({3}, 2.);
    D const left = a * x, right = x * a;
    CHECK(difference(left, {2., 4., 6.}) == "");
    CHECK(difference(right, {2., 4., 6.}) == "");
    sum(a * x + x).backward();
    CHECK(difference(x.grad(), {3., 3., 3.}) == "");
}

TEST_CASE("a lazy xtensor function beside a tensor is evaluated, and broadcasts") {
    D const x({1., 2., 3.}, xg::requires_grad);
    xt::xtensor<double, 2> const a({{1., 2., 3.}, {4., 5., 6.}});
    D const y = x * (a + 1.);
    CHECK(difference(y, {{2., 6., 12.}, {5., 12., 21.}}) == "");
    sum(y).backward();
    CHECK(difference(x.grad(), {7., 9., 11.}) == "");
}

TEST_CASE(
    "an xtensor array is copied into the expression, so that changing it later does no harm") {
    D const x({1., 2.}, xg::requires_grad);
    xt::xarray<double> a({2}, 3.);
    D const y = sum(x * a);
    a.fill(100);
    y.backward();
    CHECK(difference(x.grad(), {3., 3.}) == "");
}

TEST_CASE("shapes that do not broadcast are named where an xtensor array takes part") {
    D const x({1., 2., 3.});
    xt::xarray<double> const a({2}, 1.);
    CHECK_THROWS_WITH_AS(
        D(x * a), doctest::Contains("*: shapes [3] and [2] do not broadcast"), xg::ShapeError);
}

namespace {

/// A tensor beside an xtensor expression is the same as beside the tensor of its values.
template <class T> void check_elements() {
    INFO(__PRETTY_FUNCTION__);
    xt::xarray<T> const a{T(0), T(1), T(2)};
    using S = std::conditional_t<std::is_same_v<T, bool>, bool,
        std::conditional_t<std::is_integral_v<T>, std::int64_t, double>>;
    xg::Tensor<S> const same({S(T(0)), S(T(1)), S(T(2))});
    D const x({1.5, 2., -3.}, xg::requires_grad);
    F const f({1.5f, 2.f, -3.f});
    Z const z({complex<double>(1.5, 1), 2., complex<double>(0, -3)});
    xg::Tensor<std::int64_t> const n({4, 5, 6});
    auto const agrees = [](auto const& got, auto const& wanted) {
        static_assert(std::is_same_v<typename std::remove_cvref_t<decltype(got)>::scalar,
            typename std::remove_cvref_t<decltype(wanted)>::scalar>);
        CHECK(difference(xg::Tensor(got), xg::Tensor(wanted), 0) == "");
    };
    agrees(x * a, x * same);
    agrees(a * x, same * x);
    agrees(x + a, x + same);
    agrees(a - x, same - x);
    agrees(1. - a - x, 1. - same - x);
    agrees(a / x, same / x);
    agrees(f * a, f * same);
    agrees(z + a, z + same);
    agrees(n * a, n * same);
    agrees(x < a, x < same);
    agrees(a >= x, same >= x);
    agrees(a == x, same == x);
    agrees(maximum(x, a), maximum(x, same));
    agrees(sin(x * a + x), sin(x * same + x));
    agrees((x + 1.) * a, (x + 1.) * same);
    agrees(where(x > 0., x, a), where(x > 0., x, same));
    D changed = x.detach().clone();
    changed += a;
    agrees(changed, x + same);
    D const y = sum(a * x * x);
    CHECK(difference(xg::grad(y, x), D(2. * same * x.detach())) == "");
    xg::Tensor const made(a);
    static_assert(std::is_same_v<decltype(made), xg::Tensor<S> const>);
}

} // namespace

TEST_CASE("arrays of any arithmetic type stand beside a tensor, and integers promote as integer "
          "tensors do") {
    check_elements<bool>();
    check_elements<char>();
    check_elements<signed char>();
    check_elements<unsigned char>();
    check_elements<short>();
    check_elements<unsigned short>();
    check_elements<int>();
    check_elements<unsigned>();
    check_elements<long>();
    check_elements<unsigned long>();
    check_elements<long long>();
    check_elements<unsigned long long>();
    check_elements<double>();
    check_elements<long double>();
}

TEST_CASE("lazy expressions and views of integers stand beside a tensor") {
    xt::xarray<int> const a{{1, 2}, {3, 4}};
    D const x({10., 20.});
    CHECK(difference(D(x * (a + 1)), {{20., 60.}, {40., 100.}}) == "");
    CHECK(difference(D(xt::view(a, 0, xt::all()) * x), {10., 40.}) == "");
    CHECK(difference(D(x - (a > 2)), {{10., 20.}, {9., 19.}}) == "");
    CHECK(difference(D(1. - xt::xarray<bool>{true, false} + x), {10., 21.}) == "");
}
