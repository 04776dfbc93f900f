// Lines of NumPy's "absolute basics for beginners" and "quickstart", as one would write them here.
#include <complex>

#include <doctest/doctest.h>

#include <xgrad/xgrad.hpp>
#if XGRAD_USE_LAPACK
#    include <xgrad/linalg.hpp>
#endif

namespace np = xgrad;
namespace xg = xgrad;
using D = xg::Tensor<double>;
using I = xg::Tensor<std::int64_t>;
using C = std::complex<double>;
using Z = xg::Tensor<C>;
using A = xt::xarray<double>;

namespace {
bool same(D const& x, A const& expected) {
    return x.shape() == xg::Shape(expected.shape().begin(), expected.shape().end()) &&
           xt::allclose(x.array(), expected);
}
bool same(I const& x, xt::xarray<std::int64_t> const& expected) { return x.array() == expected; }
D const a({{1., 2., 3.}, {4., 5., 6.}}), b({{6., 5., 4.}, {3., 2., 1.}});
D const u({1., 4., 9.}), v({2., 0., 1.});
} // namespace

TEST_CASE("creation") {
    CHECK(same(np::arange(15).reshape(3, 5)(2, 4), 14));
    CHECK(same(np::arange(15).reshape({3, 5}).T()(4, 2), 14));
    CHECK(np::zeros({3, 4}).shape() == xg::Shape{3, 4});
    CHECK(np::zeros(3, 4).shape() == xg::Shape{3, 4});
    CHECK(np::ones<std::int64_t>(2, 3, 4).size() == 24);
    CHECK(np::empty({2, 3}).size() == 6);
    CHECK(np::rand(2, 3).ndim() == 2);
    CHECK(np::randn<float>(2, 3).dtype() == xg::DType::float32);
    CHECK(same(np::full({2, 2}, 7.), {{7, 7}, {7, 7}}));
    CHECK(same(np::eye(2), {{1, 0}, {0, 1}}));
    CHECK(same(np::arange(10, 30, 5), {10, 15, 20, 25}));
    CHECK(same(np::arange(0, 2, 0.3), {0, 0.3, 0.6, 0.9, 1.2, 1.5, 1.8}));
    CHECK(same(np::linspace(0, 2, 9)(np::range(0, 3)), {0, 0.25, 0.5}));
    CHECK(same(np::logspace(0, 3, 4), {1, 10, 100, 1000}));
    CHECK(same(np::logspace(0, 3, 4, 2), {1, 2, 4, 8}));
    CHECK(same(np::zeros_like(a)(0), {0, 0, 0}));
    CHECK(same(np::full_like(u, 3), {3, 3, 3}));
    CHECK(same(np::diag(u)(1), {0, 4, 0}));
}

TEST_CASE("operators and functions") {
    CHECK(same(u - v, {-1, 4, 8}));
    CHECK(same(pow(u, 2), {1, 16, 81}));
    CHECK(same(np::power(u, 0.5), {1, 2, 3}));
    CHECK(same(10 * np::sin(0 * u), {0, 0, 0}));
    CHECK(same(+u, {1, 4, 9}));
    CHECK(same(np::add(u, v), {3, 4, 10}));
    CHECK(same(np::subtract(u, 1), {0, 3, 8}));
    CHECK(same(np::multiply(u, v), {2, 0, 9}));
    CHECK(same(np::divide(u, 2), {0.5, 2, 4.5}));
    CHECK(same(np::negative(u), {-1, -4, -9}));
    CHECK(same(np::absolute(-u), {1, 4, 9}));
    CHECK(same(np::maximum(u, 3), {3, 4, 9}));
    CHECK(same(np::mod(u, 3.), {1, 1, 0}));
    CHECK(same(np::mod(-u, 3.), {2, 2, 0}));
    CHECK(same(np::floor_divide(u, 2.), {0, 2, 4}));
    CHECK(same(np::floor_divide(D({1., -1.}), 0.1), {9, -10})); // as NumPy: 0.1 is above 1/10
    D const parameter({1.}, xg::requires_grad);
    sum(+parameter).backward();
    CHECK(same(parameter.grad(), {1}));
    CHECK(same(np::deg2rad(D({180., 90.})), {3.14159265358979, 1.5707963267949}));
    CHECK(same(np::rad2deg(np::arccos(D({0., -1.}))), {90, 180}));
    CHECK(same(np::arctan2(D({1.}), D({1.})), {0.785398163397448}));
    CHECK(same(np::arcsinh(np::sinh(u)), {1, 4, 9}));
    CHECK(same(np::where(u > 2, u, -u), {-1, 4, 9}));
    CHECK(same(np::where(u > 2., u, 0.), {0, 4, 9}));
    CHECK(same(np::clip(u, 2, 5), {2, 4, 5}));
    CHECK(same(np::round(D({0.5, 1.5, 2.4})), {0, 2, 2}));
    CHECK(same(np::angle(Z({C(0, 1)})), {1.5707963267949}));
    CHECK(same(np::real(Z({C(3, 4)})), {3}));
    CHECK(same(np::abs(Z({C(3, 4)})), {5}));
    CHECK(Z({C(3, 4)}).conj()(0).item() == C(3, -4));
    CHECK(same(np::hypot(D({3.}), D({4.})), {5}));
    CHECK(same(np::log10(D({100.})), {2}));
}

TEST_CASE("reductions") {
    CHECK(a.sum().item() == 21);
    CHECK(a.min().item() == 1);
    CHECK(a.max().item<int>() == 6);
    CHECK(same(a.sum(0), {5, 7, 9}));
    CHECK(same(b.min(1), {4, 1}));
    CHECK(same(a.cumsum(1), {{1, 3, 6}, {4, 9, 15}}));
    CHECK(same(np::mean(a, 0), {2.5, 3.5, 4.5}));
    CHECK(same(np::sum(a, 1, np::keepdims).T(), {{6, 15}}));
    CHECK(np::sum(a, {0, 1}).item() == 21);
    CHECK(np::std(u).item() == doctest::Approx(4.04145188)); // n - 1: PyTorch's, not NumPy's
    CHECK(u.std().item() == np::std(u).item());
    CHECK(np::var(u, 0).item() == doctest::Approx(16.3333333));
    CHECK(np::median(u).item() == 4);
    CHECK(np::percentile(u, 50).item() == 4);
    CHECK(np::quantile(u, 0.25).item() == 2.5);
    CHECK(np::prod(u).item() == 36);
    CHECK(np::count_nonzero(v).item() == 2);
    CHECK(a.argmax().item() == 5);
    CHECK(same(b.argmax(0), {0, 0, 0}));
    CHECK(np::all(a > 0.).item());
    CHECK_FALSE(np::any(a > 6.).item());
    CHECK(same(I(np::all(a > 1., 1) * 1), {0, 1}));
    if (np::any(a > 5.)) CHECK((a > 5.).any().item());
    else FAIL("any");
}

TEST_CASE("order and sets of elements") {
    CHECK(same(np::sort(v), {0, 1, 2}));
    auto [values, indices] = np::sort(v);
    CHECK(same(indices, {1, 2, 0}));
    CHECK(same(np::argsort(v), {1, 2, 0}));
    CHECK(same(np::flip(u), {9, 4, 1}));
    CHECK(same(np::flip(a, 0), {{4, 5, 6}, {1, 2, 3}}));
    CHECK(same(np::flipud(a), {{4, 5, 6}, {1, 2, 3}}));
    CHECK(same(np::fliplr(a)(0), {3, 2, 1}));
    CHECK(same(np::roll(u, 1), {9, 1, 4}));
    CHECK(same(np::diff(u), {3, 5}));
    CHECK(same(np::diff(u, 2), {2}));
    CHECK(same(np::diff(a, 1, 0), {{3, 3, 3}}));
    CHECK(np::diff(u, 100).size() == 0);
    CHECK_THROWS_AS(np::diff(u, -1), xg::Error);
    CHECK(same(np::cumprod(u, 0), {1, 4, 36}));
    CHECK(same(np::tile(v, {2}), {2, 0, 1, 2, 0, 1}));
    CHECK(same(np::repeat_interleave(v, 2), {2, 2, 0, 0, 1, 1}));
    CHECK(same(np::triu(a), {{1, 2, 3}, {0, 5, 6}}));
    CHECK(same(np::tril(a), {{1, 0, 0}, {4, 5, 0}}));
    CHECK(np::trapezoid(u).item() == 9);
    CHECK(np::trapz(u, D({0., 1., 3.})).item() == 15.5);
    CHECK(np::trapezoid(a, 0.5, 0).shape() == xg::Shape{3});
    CHECK(same(np::trapezoid(a, D({0., 2.}), 0), {5, 7, 9}));
    CHECK_THROWS_AS(np::trapezoid(a, D({0., 2.})), xg::ShapeError);
    D const sorted = np::sort(D({2., 1.}));
    CHECK(same(sorted, {1, 2}));
}

TEST_CASE("indices and shapes") {
    CHECK(u[2].item() == 9);
    CHECK(same(u(np::range(1, 3)), {4, 9}));
    CHECK(a(1, 2).item() == 6);
    CHECK(same(a[-1], {4, 5, 6}));
    CHECK(same(a(np::all, 1), {2, 5}));
    CHECK(same(a(np::range(0, 1), np::all), {{1, 2, 3}}));
    CHECK(same(a(np::ellipsis, 2), {3, 6}));
    CHECK(a(np::newaxis, np::ellipsis).shape() == xg::Shape{1, 2, 3});
    CHECK(same(a(a > 4.), {5, 6}));
    D w({0., 1., 2., 3.});
    w(np::range(0, 4, 2)) = 1000.;
    CHECK(same(w, {1000, 1, 1000, 3}));
    w(w > 500.) = 0.;
    CHECK(same(w, {0, 1, 0, 3}));
    CHECK(same(a.ravel(), {1, 2, 3, 4, 5, 6}));
    CHECK(same(np::ravel(a), {1, 2, 3, 4, 5, 6}));
    CHECK(a.reshape(3, -1).shape() == xg::Shape{3, 2});
    CHECK(same(a.T()(2), {3, 6}));
    CHECK(np::transpose(a, {1, 0}).shape() == xg::Shape{3, 2});
    CHECK(np::expand_dims(a, 0).ndim() == 3);
    CHECK(np::swapaxes(a, 0, 1).shape(0) == 3);
    CHECK(np::moveaxis(np::zeros(2, 3, 4), 0, 2).shape() == xg::Shape{3, 4, 2});
    CHECK(np::squeeze(np::zeros(1, 3)).ndim() == 1);
    CHECK(a.copy().is_same(a) == false);
    CHECK(a.astype<float>().dtype() == xg::DType::float32);
}

TEST_CASE("integer arrays as indices") {
    CHECK(same(u(I({1, 1, -1})), {4, 4, 9}));
    CHECK(same(u[I({{0, 1}, {2, 0}})], {{1, 4}, {9, 1}}));
    CHECK(same(a(np::all, I({2, 0})), {{3, 1}, {6, 4}}));
    CHECK(same(a(I({0, 1}), I({2, 0})), {3, 4}));
    CHECK(same(a(1, I({0, 0})), {4, 4}));
    CHECK(same(a(np::ellipsis, I({1})).T(), {{2, 5}}));
    CHECK(same(np::take(a, I({5, 0})), {6, 1}));
    CHECK(same(np::take(a, I({1}), 1).T(), {{2, 5}}));
    CHECK(same(np::take(u, I({2, 0})), {9, 1}));
    CHECK(same(np::take(u, I({-1})), {9}));
    CHECK_THROWS_AS(np::take(u, I({3})), xg::IndexError);
    D w({0., 1., 2., 3.});
    w(I({0, 2})) = 7.;
    CHECK(same(w, {7, 1, 7, 3}));
    w(I({1, 1})) = D({5., 6.}); // the last counts
    CHECK(same(w, {7, 6, 7, 3}));
    w(I({3})) += 1.;
    CHECK(same(w, {7, 6, 7, 4}));
    D m = np::zeros(2, 3);
    m(np::all, I({0, 2})) = D({1., 2.});
    CHECK(same(m, {{1, 0, 2}, {1, 0, 2}}));
    m(I({0, 1}), I({1, 1})) = D({8., 9.});
    CHECK(same(m, {{1, 8, 2}, {1, 9, 2}}));
    m.T()(I({0})) = 0.; // a view: m changes
    CHECK(same(m, {{0, 8, 2}, {0, 9, 2}}));

    CHECK_THROWS_WITH_AS(
        u(I({3})), "x(index): index 3 is out of range for an extent of 3", xg::IndexError);
    CHECK_THROWS_AS(w(I({0, 1})) = u, xg::ShapeError);
    CHECK(same(w, {7, 6, 7, 4}));

    // Gradients: read elements add up; overwritten ones have none.
    D const x({1., 2., 3.}, xg::requires_grad), y({10., 20.}, xg::requires_grad);
    sum(x(I({0, 0, 2})) * D({1., 2., 4.})).backward();
    CHECK(same(x.grad(), {3, 0, 4}));
    D z = 2 * x;
    z(I({1, 2})) = y;
    sum(z * z).backward();
    CHECK(same(x.grad(), {3 + 8, 0, 4}));
    CHECK(same(y.grad(), {20, 40}));
    D leaf({1.}, xg::requires_grad);
    CHECK_THROWS_AS(leaf(I({0})) = 1., xg::GraphError);
}

TEST_CASE("joining and splitting") {
    CHECK(np::vstack({a, b}).shape() == xg::Shape{4, 3});
    CHECK(same(np::vstack({u, v}), {{1, 4, 9}, {2, 0, 1}}));
    CHECK(np::hstack({a, b}).shape() == xg::Shape{2, 6});
    CHECK(same(np::hstack({u, v}), {1, 4, 9, 2, 0, 1}));
    CHECK(same(np::column_stack({u, v}), {{1, 2}, {4, 0}, {9, 1}}));
    CHECK(np::concatenate({a, b}, 0).shape() == xg::Shape{4, 3});
    CHECK(np::stack({a, b}).shape() == xg::Shape{2, 2, 3});
    CHECK(np::split(a, 2, 1).size() == 2); // parts of two columns
    auto [x, y] = np::meshgrid(u, v);
    CHECK(same(x(np::all, 0), {1, 4, 9}));
    CHECK(same(y(0), {2, 0, 1}));
    CHECK(same(np::meshgrid({u, v}, "xy")[0](0), {1, 4, 9}));
    CHECK(same(np::outer(u, v)(1), {8, 0, 4}));
    CHECK(np::kron(a, b).shape() == xg::Shape{4, 9});
    CHECK(same(np::pad(u, {1, 1}), {0, 1, 4, 9, 0}));
    CHECK(same(np::pad(u, {1, 0}, "replicate"), {1, 1, 4, 9}));
}

TEST_CASE("linear algebra and transforms") {
    D const m({{2., 0.}, {0., 4.}});
    CHECK(same(matmul(m, D({1., 1.})), {2, 4}));
    CHECK(same(m.matmul(D({1., 1.})), {2, 4}));
    CHECK(dot(u, v).item() == 11);
    CHECK(np::trace(m).item() == 6);
#if XGRAD_USE_LAPACK
    CHECK(same(np::linalg::inv(m), {{0.5, 0}, {0, 0.25}}));
    CHECK(same(np::linalg::solve(m, D({2., 4.})), {1, 1}));
    CHECK(np::linalg::det(m).item() == doctest::Approx(8));
    CHECK(np::linalg::norm(D({3., 4.})).item() == 5);
    CHECK(same(std::get<0>(np::linalg::eigh(m)), {2, 4}));
    CHECK(same(np::linalg::matrix_power(m, 2), {{4, 0}, {0, 16}}));
    CHECK(same(np::einsum("ij,j->i", m, D({1., 2.})), {2, 8}));
#endif
    CHECK(same(np::cross(D({1., 0., 0.}), D({0., 1., 0.})), {0, 0, 1}));
    CHECK_THROWS_AS(np::cross(D({1., 0.}), D({0., 1.})), xg::ShapeError);
    CHECK(same(np::cross(D({1., 2., 3.}), np::eye(3)), // of each row
        {{0, 3, -2}, {-3, 0, 1}, {2, -1, 0}}));
    CHECK(same(np::cross(np::eye(3), D({{1., 2., 3.}, {1., 2., 3.}, {1., 2., 3.}}).T(), 0),
        {{0, 3, -2}, {-3, 0, 1}, {2, -1, 0}}));
    CHECK(same(np::cross(np::eye(3), D({{1., 1., 1.}, {2., 2., 2.}, {3., 3., 3.}}), 0).T(),
        {{0, -3, 2}, {3, 0, -1}, {-2, 1, 0}}));
    CHECK(same(real(np::fft(D({1., 1.}))), {2, 0}));
    CHECK(same(real(np::fft(D({1., 1., 1., 1.}), "ortho")), {2, 0, 0, 0}));
    CHECK(same(real(np::fft2(np::ones(2, 2), "ortho")), {{2, 0}, {0, 0}}));
    CHECK(same(real(np::fftn(np::ones(2, 2), "forward")), {{1, 0}, {0, 0}}));
    CHECK(same(np::irfft(np::rfft(u, "ortho"), 3, -1, "ortho"), {1, 4, 9}));
    CHECK_THROWS_WITH_AS(np::fft(u, "orthogonal"),
        "norm: there is no 'orthogonal', only backward, ortho, forward", xg::Error);
    CHECK(np::allclose(u, u + 1e-12));
    CHECK(I(np::isclose(D({1., 2.}), D({1., 3.})) * 1)(1).item() == 0);
    CHECK(np::equal(u, u));
    CHECK_FALSE(np::equal(u, a));
}
