// vmap() against a loop over the examples: products of matrices, decompositions and solves.
#include <xgrad/linalg.hpp>

#include "functional/vmap_check.hpp"

TEST_CASE("vmap: matrices") {
    D const m = some({3, 2, 4}), v = some({3, 4}), u = some({3, 2}, 1.), a = some({5, 2}),
            b = some({4, 5}), w = some({4}), stack_of = some({6, 2, 4}), vectors = some({3, 5, 4});
    CHECK_LOOP(matmul(x, b), m);
    CHECK_LOOP(matmul(a, x), m);
    CHECK_LOOP(matmul(x, w), m);
    CHECK_LOOP(matmul(x, w), v);
    CHECK_LOOP(matmul(x, b), v);
    CHECK_LOOP(matmul(stack_of, x), v);
    CHECK_LOOP(matmul(stack_of, mT(x)), m);
    CHECK_LOOP2(matmul(x, y), m, v);
    CHECK_LOOP2(matmul(y, x), m, u);
    CHECK_LOOP2(matmul(x, mT(y)), m, vectors);
    CHECK_LOOP2(dot(x, y * 2.), v, v);
    CHECK_LOOP2(outer(x, y), v, u);
    CHECK_LOOP(outer(x, w), v);
    CHECK_LOOP(matmul(conj(x), adjoint(x)), complex_numbers({3, 2, 4}));
    CHECK_LOOP2(vdot(x, x) + y(0), complex_numbers({3, 4}), complex_numbers({3, 2}));
    CHECK_LOOP2(einsum("ij,j->i", x, y), m, v);
    CHECK_LOOP(einsum("ij,jk", x, b), m);
    CHECK_LOOP(einsum("...j,jk->...k", x, b), m);
    CHECK_LOOP(tensordot(x, b, 1), m);
    CHECK_LOOP2(kron(x, y), m, v);
}

TEST_CASE("vmap: decompositions and solves") {
    D const a = D(some({3, 4, 4}) + 4. * xg::eye(4)).detach().requires_grad_(), v = some({3, 4}),
            m = some({3, 4, 2}), fixed = some({4, 4}) + 4. * xg::eye(4), rhs = some({4}),
            tall = some({3, 4, 2});
    auto const positive = [](auto const& x) { return matmul(x, mT(x)) + 1.; };
    CHECK_LOOP(inv(x), a);
    CHECK_LOOP(xg::linalg::det(x), a);
    CHECK_LOOP(slogdet(x), a);
    CHECK_LOOP(matrix_exp(x * 0.1), a);
    CHECK_LOOP(matrix_power(x, 3), a);
    CHECK_LOOP(cholesky(positive(x)), a);
    CHECK_LOOP(eigvalsh(positive(x)), a);
    CHECK_LOOP(svdvals(x), a);
    CHECK_LOOP(qr(x), tall);
    CHECK_LOOP2(solve(x, y), a, v);
    CHECK_LOOP2(solve(x, y), a, m);
    CHECK_LOOP(solve(fixed, x), v);
    CHECK_LOOP(solve(x, rhs), a);
    CHECK_LOOP2(solve_triangular(tril(x), y), a, v);
    CHECK_LOOP2(xg::linalg::solve_triangular(triu(x), y, {.upper = true}), a, m);
    CHECK_LOOP2(cholesky_solve(y, cholesky(positive(x))), a, v);
    CHECK_THROWS_WITH_AS(xg::vmap([](auto const& x) { return inv(x); })(v),
        "linalg.inv: The input tensor must have at least 2 dimensions, and has shape [4] (inside "
        "vmap(), for 3 examples)",
        xg::ShapeError);
    auto const [values, vectors] =
        xg::vmap([](auto const& x) { return eigh(x); })(xg::eye(3) * D({{{2.}}, {{3.}}}));
    CHECK(values.shape() == xg::Shape{2, 3});
    CHECK(vectors.shape() == xg::Shape{2, 3, 3});
}
