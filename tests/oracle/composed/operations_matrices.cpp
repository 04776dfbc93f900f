// Products and decompositions of matrices.
#include "program.hpp"

#include <xgrad/linalg.hpp>

namespace composed {

// clang-format off
void add_matrices(Catalogue& all) {
    std::string group = "product";
    REAL2("n,k", "k,m", matmul(a, b));
    REAL2("n,k", "k", matmul(a, b) + xg::mv(a, b) * a.mv(b));
    REAL2("k", "k,m", matmul(a, b));
    REAL2("2,n,k", "k,m", matmul(a, b));
    REAL2("2,n,k", "2,k,m", xg::bmm(a, b) * a.bmm(b));
    REAL2("n,k", "k,m", xg::mm(a, b) + a.mm(b) * a.matmul(b));
    REAL2("n", "n", xg::dot(a, b) + xg::vdot(a, b) * a.dot(b) + a.vdot(b));
    REAL2("n", "m", xg::outer(a, b) + a.outer(b));
    REAL2("3", "3", xg::cross(a, b) * a.cross(b));
    REAL3("n,m", "n,k", "k,m", xg::addmm(a, b, c) + a.addmm(b, c));
    REAL3("2,n,m", "2,n,k", "2,k,m", xg::baddbmm(a, b, c));
    REAL2("n,k", "k,m", xg::einsum("ij,jk->ki", a, b));
    REAL2("n,k", "n,k", xg::einsum("ij,ij->i", a, b) + xg::einsum("ij,ij", a, b));
    REAL2("n,k", "k,m", xg::tensordot(a, b, 1));
    REAL2("2", "n,2", xg::kron(a, b));
    COMPLEX2("n,k", "k,m", matmul(a, b));
    COMPLEX2("n", "n", xg::dot(a, b) + xg::vdot(a, b) * 2.);
    COMPLEX2("n", "m", xg::outer(a, b) + matmul(xg::unsqueeze(a, 1), xg::unsqueeze(conj(b), 0)));
    COMPLEX2("n,k", "k,m", matmul(adjoint(matmul(a, b)), a));
    COMPLEX2("n,k", "n,k", xg::einsum("ij,ij->j", a, conj(b)));
    MIXED("n,k", "k,m", matmul(a, b));

    group = "decomposition";
    REAL("n,n regular", xg::inv(a));
    REAL("n,n regular", xg::det(a) + 0. * a(0, 0));
    REAL("2,n,n regular", xg::inv(a));
    REAL("n,n regular", std::get<1>(xg::slogdet(a)));
    REAL2("n,n regular", "n,m", xg::solve(a, b));
    REAL2("n,n regular", "n", xg::solve(a, b));
    REAL2("n,n regular", "n,m", xg::solve_triangular(a, b, {.upper = true}) + xg::solve_triangular(a, b));
    REAL("n,n definite", xg::cholesky(a));
    REAL2("n,n definite", "n,m", xg::cholesky_solve(b, xg::cholesky(a)));
    REAL("n,n symmetric", xg::eigvalsh(a));
    REAL("n,n symmetric", [&] { auto const [w, v] = xg::eigh(a); return xg::eval(matmul(v * sin(w), mT(v))); }());
    REAL("3,2 ranked", xg::svdvals(a));
    REAL("3,2 ranked", [&] { auto const [u, s, v] = xg::svd(a); return xg::eval(matmul(u * exp(-s), v)); }());
    REAL("3,2 ranked", [&] { auto const [q, r] = xg::qr(a); return xg::eval(matmul(q, r * r)); }());
    REAL("n,n unit", xg::matrix_exp(a));
    REAL("n,n regular", xg::matrix_power(a, 3) - xg::matrix_power(a, -1));
    COMPLEX("n,n regular", xg::inv(a));
    COMPLEX("n,n regular", xg::det(a) * 1.);
    COMPLEX2("n,n regular", "n,m", xg::solve(a, b));
    COMPLEX("n,n definite", xg::cholesky(a));
    COMPLEX("n,n unit", xg::eigvalsh(xg::diag_embed(xg::arange(1., 1. + static_cast<double>(a.shape(-1)))) + 0.2 * (a + adjoint(a)))(0));
    COMPLEX("n,n unit", xg::matrix_exp(a));
}
// clang-format on

} // namespace composed
