// Lines that a user of xtensor has in a program, with a Tensor in the place of an xarray.
#include <complex>

#include <doctest/doctest.h>

#include <xgrad/xgrad.hpp>

#include <xtensor/xeval.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xview.hpp>

namespace xg = xgrad;
using D = xg::Tensor<double>;
using I = xg::Tensor<std::int64_t>;
using A = xt::xarray<double>;

namespace {
bool same(D const& x, A const& expected) {
    return x.shape() == xg::Shape(expected.shape().begin(), expected.shape().end()) &&
           xt::allclose(x.array(), expected);
}
// Templates that name no namespace take both.
auto energy(auto const& e) { return sum(exp(e) * e); }
auto first_column(auto const& e) { return eval(view(e, xt::all(), 0)); }
} // namespace

TEST_CASE("there and back") {
    A const m{{1., 2.}, {3., 4.}};
    xt::xtensor<double, 1> const t{1., 2.};
    CHECK(same(D(m), m));
    CHECK(same(D(t), {1, 2}));
    CHECK(same(D(m + 1.), {{2, 3}, {4, 5}}));
    CHECK(same(D(xt::linspace<double>(0, 1, 3)), {0, 0.5, 1}));
    CHECK(same(D(xt::transpose(m)), {{1, 3}, {2, 4}}));
    D const x(m);
    A const back = x;
    CHECK(back == m);
    A const values = x.array();
    CHECK(values == m);
    CHECK(x.to_xtensor<2>() == xt::xtensor<double, 2>(m));
    CHECK_THROWS_WITH_AS(x.to_xtensor<1>(),
        "to_xtensor: a tensor of shape [2, 2] has 2 dimensions, not 1", xg::ShapeError);
    std::vector<double> const numbers{1., 2., 3., 4.};
    CHECK(same(D(numbers), {1, 2, 3, 4}));
    CHECK(same(D(numbers, {2, 2}), m));
    CHECK_THROWS_AS(D(numbers, {3}), xg::ShapeError);
}

TEST_CASE("arithmetic beside arrays") {
    A const m{{1., 2.}, {3., 4.}};
    D const x(m, xg::requires_grad);
    CHECK(same(D(x + m).detach(), 2 * m));
    CHECK(same(D(m * x).detach(), m * m));
    CHECK(same(D(x * xt::ones<double>({2})).detach(), m));
    CHECK(same(D(x - xt::sin(m)).detach(), m - xt::sin(m)));
    CHECK(same(matmul(m, x).detach(), {{7, 10}, {15, 22}}));
    xt::xarray<int> const whole{1, 2};
    CHECK(same(D(x + whole).detach(), {{2, 4}, {4, 6}}));
    CHECK(same(maximum(x, 2.).detach(), {{2, 2}, {3, 4}}));
    CHECK(same(where(m > 2., x, 0.).detach(), {{0, 0}, {3, 4}}));
    CHECK(energy(m)() == doctest::Approx(energy(x).item()));
    CHECK(xt::allclose(first_column(m), A{1, 3}));
    CHECK(same(first_column(x).detach(), {1, 3}));
    energy(x).backward();
    CHECK(same(x.grad(), xt::exp(m) * (m + 1)));
}

TEST_CASE("xtensor expressions as arguments") {
    A const a = {{1., 2.}, {3., 4.}};
    D x(a, xg::requires_grad);
    CHECK(same(matmul(a * 2., x).detach(), {{14, 20}, {30, 44}}));
    CHECK(dot(xt::row(a, 0) + 1., D({1., 2.})).item() == 8);
    CHECK(allclose(xg::fft(a * 2.), fft(2. * x)));
    CHECK(allclose(xg::rfft(a, 3, 0, "ortho"), rfft(x, 3, 0, "ortho")));
    CHECK(allclose(xg::fft(a, {}, 0), fft(x, {}, 0)));
    CHECK(allclose(xg::fftn(a, {0}), fftn(x, {0})));
    CHECK(allclose(xg::ifft2(a + 1.), ifft2(x + 1.)));
    x.set_grad(a * 3.);
    sum(x).backward();
    CHECK(same(x.grad(), {{4, 7}, {10, 13}}));
    CHECK_THROWS_AS(x.set_grad(xt::ones<double>({3})), xg::ShapeError);
}

TEST_CASE("members and reductions") {
    D x({{1., 2.}, {3., 4.}});
    CHECK(x.dimension() == 2);
    CHECK(x.size() == 4);
    CHECK(x.shape(0) == 2);
    CHECK(x.shape()[1] == 2);
    CHECK(same(sum(x, {0}), {4, 6}));
    CHECK(same(mean(x, {1}), {1.5, 3.5}));
    CHECK(same(amax(x, {0}), {3, 4}));
    CHECK(same(prod(x, {0}), {3, 8}));
    CHECK(sum(x).item() == 10);
    CHECK(same(cumsum(x, 0), {{1, 2}, {4, 6}}));
    CHECK(same(diff(x, 1, 0), {{2, 2}}));
    CHECK(trapz(D({1., 2., 3.})).item() == 4);
    CHECK(same(sort(D({2., 1.})), {1, 2}));
    CHECK(argmin(x).item() == 0);
    CHECK(allclose(x, x));
    CHECK(all_of(isclose(x, x)).item());
    CHECK(same(transpose(x, {1, 0}), {{1, 3}, {2, 4}}));
    CHECK(expand_dims(x, 0).dimension() == 3);
    CHECK(same(ravel(x), {1, 2, 3, 4}));
    CHECK(same(concatenate(xt::xtuple(x, x), 0)(2), {1, 2}));
    CHECK(same(flip(x, 0), {{3, 4}, {1, 2}}));
    x.fill(3.);
    CHECK(same(x, {{3, 3}, {3, 3}}));
}

TEST_CASE("indices and views") {
    D x({{1., 2., 3.}, {4., 5., 6.}});
    CHECK(same(x(1, xt::all()), {4, 5, 6}));
    CHECK(same(x(xt::range(0, 1), xt::all()), {{1, 2, 3}}));
    CHECK(same(x(xt::ellipsis(), 0), {1, 4}));
    CHECK(x(xt::newaxis()).dimension() == 3);
    CHECK(same(view(x, xt::all(), xt::range(0, 2)), {{1, 2}, {4, 5}}));
    CHECK(same(x(xt::keep(1), xt::all()), {{4, 5, 6}}));
    CHECK(same(x(xt::all(), xt::keep(0, 2)), {{1, 3}, {4, 6}}));
    CHECK(same(x(xt::all(), xt::drop(1)), {{1, 3}, {4, 6}}));
    CHECK_THROWS_AS(x(xt::all(), xt::drop(5)), xg::IndexError);
    CHECK_THROWS_AS(x(xt::keep(2)), xg::IndexError);
    x(xt::keep(0)) = 0.;
    CHECK(same(x, {{0, 0, 0}, {4, 5, 6}}));
    x(0, 1) = 5.;
    x(xt::all(), 0) = A{7., 8.};
    CHECK(same(x, {{7, 5, 0}, {8, 5, 6}}));
    x.mutable_array() += 1.;
    xt::noalias(x.mutable_array()) = A{{1, 2, 3}, {4, 5, 6}};
    CHECK(same(x, {{1, 2, 3}, {4, 5, 6}}));
    // memory that is read in another order, a row that is broadcast, views that are not contiguous
    D square({{1., 2.}, {3., 4.}});
    square.mutable_array() = xt::transpose(square.array());
    CHECK(same(square, {{1, 3}, {2, 4}}));
    square.mutable_array() = A{7., 8.};
    CHECK(same(square, {{7, 8}, {7, 8}}));
    square.mutable_array() *= A{{1., 2.}, {3., 4.}};
    CHECK(same(square, {{7, 16}, {21, 32}}));
    xt::noalias(square.mutable_array()) -= A{{1., 2.}, {3., 4.}};
    CHECK(same(square, {{6, 14}, {18, 28}}));
    D transposed = square.T();
    transposed.mutable_array() = A{{1., 2.}, {3., 4.}};
    CHECK(same(square, {{1, 3}, {2, 4}}));
    transposed.mutable_array() /= 2.;
    xt::noalias(transposed.mutable_array()) += A{{1., 1.}, {1., 1.}};
    CHECK(same(square, {{1.5, 2.5}, {2, 3}}));
    square.mutable_array() = 5.;
    square.mutable_array() = transposed.mutable_array();
    CHECK(same(square, {{5, 5}, {5, 5}}));
    auto const version = square.version();
    square.mutable_array() = square.array() + 1.;
    CHECK(square.version() > version);
    CHECK(same(square, {{6, 6}, {6, 6}}));
    double total = 0;
    for (double const e : x.array()) total += e;
    CHECK(total == 21);
}

TEST_CASE("masks of xtensor as indices") {
    A const m{{1., 2.}, {3., 4.}};
    D x(m, xg::requires_grad);
    xt::xarray<bool> const mask{{true, false}, {false, true}};
    CHECK(same(x(mask).detach(), {1, 4}));
    CHECK(same(x(m > 1.5).detach(), {2, 3, 4}));
    D y = 2. * x;
    y(m > 1.5) = 0.;
    CHECK(same(y.detach(), {{2, 0}, {0, 0}}));
    sum(y).backward();
    CHECK(same(x.grad(), {{2, 0}, {0, 0}}));
    CHECK_THROWS_AS(x(xt::xarray<bool>{true, false, true}), xg::ShapeError);
}
