// Manifolds of matrices: Stiefel, Unitary, SpecialUnitary, Grassmann, HermitianPositiveDefinite,
// FixedRank. Their retractions need a LAPACK.
//
// Shapes: [..., n, p]: a stack of matrices is a product of so many manifolds.
// Gradients: functions of a manifold are tensor operations, which record what they are asked for.
// Errors: LinAlgError where a decomposition fails; ShapeError for shapes that the manifold has not.
// A build without LAPACK does not compile.
#pragma once

#include <xgrad/linalg.hpp>
#include <xgrad/manifold/vector_manifolds.hpp>

namespace xgrad {

namespace detail {

/// The Hermitian part.
template <Scalar T> Tensor<T> hermitian(Tensor<T> const& a) {
    return precision_of<T>(0.5) * (a + adjoint(a));
}
/// The matrix with orthonormal columns that is nearest to y: y (y^H y)^(-1/2). Two steps of Newton
/// and Schulz remove the rounding of an ill-conditioned y.
template <Scalar T> Tensor<T> polar(Tensor<T> const& y) {
    using P = precision_of<T>;
    if (y.dim() < 2 || y.shape(-2) < y.shape(-1))
        fail<ShapeError>("a manifold of orthonormal columns: matrices of shape ", y.shape(),
            " have none; [..., n, p] needs n >= p");
    auto const [w, v] = linalg::eigh(matmul(adjoint(y), y));
    Tensor<T> q = matmul(y, matmul(Tensor<T>(v / sqrt(unsqueeze(w, -2))), adjoint(v)));
    for (int i = 0; i < 2; ++i) q = P(1.5) * q - P(0.5) * matmul(q, matmul(adjoint(q), q));
    return q;
}
/// l^-1 v l^-H for x = l l^H.
template <class X> X whitened(X const& x, X const& v) {
    X const l = linalg::cholesky(x);
    return linalg::solve_triangular(l, adjoint(X(linalg::solve_triangular(l, v))));
}
/// Factors of the matrices of rank k that are nearest to y, y = u diag(s) vh.
template <Scalar T> auto factors_of_rank(Tensor<T> const& y, std::size_t rank) {
    auto const k = static_cast<std::ptrdiff_t>(rank);
    if (y.dim() < 2 || rank == 0 || rank > std::min(y.shape(-1), y.shape(-2)))
        fail<ShapeError>("FixedRank: matrices of shape ", y.shape(), " have no rank ", rank);
    auto const [u, s, vh] = linalg::svd(y);
    return std::tuple(Tensor<T>(u(xt::ellipsis(), slice(0, k))),
        Tensor<precision_of<T>>(s(xt::ellipsis(), slice(0, k))),
        Tensor<T>(vh(xt::ellipsis(), slice(0, k), xt::all())));
}

} // namespace detail

/// Matrices with orthonormal columns, [..., n, p] with n >= p: x^H x = 1. The metric is that of the
/// space around it, the retraction the polar factor of x + v (of second order).
struct Stiefel {
    template <class X> X project(X const& x, Tangent<X> const& v) const {
        return v - matmul(x, detail::hermitian(X(matmul(adjoint(x), v))));
    }
    template <class X> X retract(X const& x, Tangent<X> const& v) const {
        return detail::polar(X(x + v));
    }
    template <class X> X random(X const& x) const { return detail::polar(randn_like(x)); }
};

/// Unitary matrices, real ones orthogonal: [..., n, n] with x^H x = 1.
struct Unitary : Stiefel {
    template <class X> X retract(X const& x, Tangent<X> const& v) const {
        detail::check_square("Unitary", x);
        return Stiefel::retract(x, v);
    }
    template <class X> X random(X const& x) const { return retract(randn_like(x), zeros_like(x)); }
};
/// The same of real matrices, by its name.
struct Orthogonal : Unitary {};

/// Unitary matrices of determinant 1; real ones are rotations.
struct SpecialUnitary {
    template <class X> X project(X const& x, Tangent<X> const& v) const {
        X const a = matmul(adjoint(x), v);
        X const skew = a - detail::hermitian(a);
        if constexpr (!ComplexScalar<typename X::scalar>) return matmul(x, skew);
        else {
            using P = precision_of<typename X::scalar>;
            auto const n = static_cast<P>(x.shape(-1));
            return matmul(
                x, X(skew - detail::beside_matrices(sum(skew.diagonal(0, -2, -1), {-1}) / n) *
                                eye<typename X::scalar>(x.shape(-1))));
        }
    }
    template <class X> X retract(X const& x, Tangent<X> const& v) const {
        X const q = detail::polar(X(x + v));
        using T = typename X::scalar;
        auto const d = linalg::det(q);
        if constexpr (ComplexScalar<T>) {
            X const root = exp(T(0, -1) * angle(d) / static_cast<precision_of<T>>(x.shape(-1)));
            return q * detail::beside_matrices(root);
        } else { // a reflection: its last column has the other sign
            auto const last = arange(x.shape(-1)) == x.shape(-1) - 1;
            return where(last, q * detail::beside_matrices(sign(d)), q);
        }
    }
    template <class X> X random(X const& x) const { return retract(randn_like(x), zeros_like(x)); }
};
/// The same of real matrices, by its name: rotations.
struct SpecialOrthogonal : SpecialUnitary {};

/// Subspaces: points are matrices with orthonormal columns, [..., n, p], that stand for the space
/// of their columns. The function has the same value for x and x u with any unitary u.
struct Grassmann : Stiefel {
    template <class X> X project(X const& x, Tangent<X> const& v) const {
        return v - matmul(x, matmul(adjoint(x), v));
    }
};

/// Hermitian positive definite matrices, [..., n, n], real ones symmetric, with the metric tr(x^-1
/// u x^-1 v), which no change of the basis changes.
struct HermitianPositiveDefinite {
    template <class X> X project(X const&, Tangent<X> const& v) const {
        return detail::hermitian(v);
    }
    template <class X> X retract(X const& x, Tangent<X> const& v) const {
        X const half = linalg::solve_triangular(linalg::cholesky(x), v);
        return detail::hermitian(X(x + v + 0.5 * matmul(adjoint(half), half)));
    }
    /// An isometry: with the Cholesky factors of x and y.
    template <class X> X transport(X const& x, X const& y, Tangent<X> const& v) const {
        X const l = linalg::cholesky(y);
        return matmul(matmul(l, detail::whitened(x, v)), adjoint(l));
    }
    template <class X> double inner(X const& x, Tangent<X> const& u, Tangent<X> const& v) const {
        return detail::usual_inner(detail::whitened(x, u), detail::whitened(x, v));
    }
    template <class X> X gradient(X const& x, Tangent<X> const& g) const {
        return matmul(matmul(x, detail::hermitian(g)), x);
    }
    template <class X>
    X hessian(X const& x, Tangent<X> const& g, Tangent<X> const& h, Tangent<X> const& v) const {
        return gradient(x, h) + detail::hermitian(X(matmul(matmul(v, detail::hermitian(g)), x)));
    }
    template <class X> X random(X const& x) const {
        X const a = randn_like(x);
        return matmul(a, adjoint(a)) / static_cast<precision_of<typename X::scalar>>(x.shape(-1)) +
               eye<typename X::scalar>(x.shape(-1));
    }
};

/// Matrices [..., m, n] of one rank, stored whole. The metric is that of the space around it, the
/// retraction the nearest matrix of that rank.
struct FixedRank {
    std::size_t rank; // of all matrices

    template <class X> X project(X const& x, Tangent<X> const& v) const {
        auto const [u, s, vh] = detail::factors_of_rank(x, rank);
        X const rows = v - matmul(u, matmul(adjoint(u), v));
        return v - rows + matmul(X(matmul(rows, adjoint(vh))), vh);
    }
    template <class X> X retract(X const& x, Tangent<X> const& v) const {
        auto const [u, s, vh] = detail::factors_of_rank(X(x + v), rank);
        return matmul(X(u * unsqueeze(s, -2)), vh);
    }
    /// Vandereycken, "Low-rank matrix completion by Riemannian optimization" (2013).
    template <class X>
    X hessian(X const& x, Tangent<X> const& g, Tangent<X> const& h, Tangent<X> const& v) const {
        auto const [u, s, vh] = detail::factors_of_rank(x, rank);
        auto const left = [&u = u](X const& a) { return X(a - matmul(u, matmul(adjoint(u), a))); };
        auto const right = [&vh = vh](
                               X const& a) { return X(a - matmul(X(matmul(a, adjoint(vh))), vh)); };
        X const us = u / unsqueeze(s, -2), sv = vh / unsqueeze(s, -1);
        X const to_u = matmul(left(g), adjoint(right(X(matmul(adjoint(us), v)))));
        X const to_v = matmul(adjoint(left(X(matmul(v, adjoint(sv))))), right(g));
        return project(x, h) + matmul(to_u, vh) + matmul(u, to_v);
    }
    template <class X> X random(X const& x) const { return retract(randn_like(x), zeros_like(x)); }
};

} // namespace xgrad
