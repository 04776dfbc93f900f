// Tensors beside xtensor arrays, and calls of linear algebra without options, as one writes them.
#include <doctest/doctest.h>
#include <xgrad/linalg.hpp>
#include <xgrad/xgrad.hpp>

#include <xtensor/xarray.hpp>
#include <xtensor/xmath.hpp>

namespace xg = xgrad;
using D = xg::Tensor<double>;
using Z = xg::Tensor<std::complex<double>>;

TEST_CASE("a tensor becomes an xtensor array, and multiplies one") {
    D const x({{1., 2.}, {3., 4.}}, xg::requires_grad);
    xt::xarray<double> copy = x.detach();
    CHECK_THROWS_AS(copy = x, xg::GraphError);
    copy(0, 0) = 9;
    CHECK(x(0, 0).item() == 1);
    CHECK(copy(1, 1) == 4);

    xt::xarray<double> const a{{1., 0.}, {2., 1.}};
    CHECK(allclose(matmul(a, x), D({{1., 2.}, {5., 8.}})));
    CHECK(allclose(matmul(x, a), D({{5., 2.}, {11., 4.}})));
    CHECK(allclose(matmul(x, a * 2.), D({{10., 4.}, {22., 8.}})));
    D const y = sum(matmul(a, x));
    y.backward();
    CHECK(allclose(x.grad(), D({{3., 3.}, {1., 1.}})));
    xt::xarray<double> const v{1., 2.};
    CHECK(dot(v, D({3., 4.})).item() == 11);
    CHECK(allclose(outer(D({1., 2.}), v), D({{1., 2.}, {2., 4.}})));
}

TEST_CASE("vdot takes arrays of any shape") {
    using C = std::complex<double>;
    Z const a({{C(1, 2), C(0, 1)}, {C(3, 0), C(1, -1)}}), b({C(1, 0), C(0, 2), C(1, 1), C(2, 0)});
    C const want = C(1, -2) * C(1, 0) + C(0, -1) * C(0, 2) + C(3, 0) * C(1, 1) + C(1, 1) * C(2, 0);
    CHECK(std::abs(vdot(a, b).item() - want) < 1e-14);
    CHECK(vdot(a, a).item() == C(17, 0));
    CHECK_THROWS_AS(vdot(a, Z({C(1, 0)})), xg::ShapeError);
}

#if XGRAD_USE_LAPACK
TEST_CASE("triangular systems without options, and with a vector") {
    D const a({{4., 2.}, {2., 3.}}), b({2., 5.});
    auto const l = cholesky(a);
    auto const y = solve_triangular(l, b);
    CHECK(allclose(matmul(l, y), b));
    CHECK(allclose(solve_triangular(l, D({{2.}, {5.}})), unsqueeze(y, -1)));
    CHECK(allclose(matmul(a, cholesky_solve(b, l)), b));
    CHECK(allclose(matmul(a, cholesky_solve(D({{1., 0.}, {0., 1.}}), l)), xg::eye(2)));
    CHECK(allclose(matmul(a, cholesky_solve(b, D(l.t().clone()), true)), b));

    D const w = a.clone().requires_grad_(), c = b.clone().requires_grad_();
    D const quadratic = sum(c * cholesky_solve(c, cholesky(w))); // c^T A^-1 c
    quadratic.backward();
    auto const x = solve(a, b);
    CHECK(allclose(c.grad(), 2. * x));
    CHECK(allclose(w.grad(), -1. * outer(x, x)));
}
#endif
