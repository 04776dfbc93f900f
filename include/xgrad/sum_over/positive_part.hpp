// The positive semidefinite part of the Hessians of elements: negative eigenvalues become 0.
// Jacobi's method on batches of elements, with the rotations of all pairs in turn, until all are
// diagonal (G. H. Golub, C. F. Van Loan, "Matrix Computations", 4th edition, 8.5).
//
// Shapes: n x n matrices, of which the lower triangle is stored by rows.
#pragma once

#include <limits>

#include <xgrad/simd/functions.hpp>
#include <xgrad/sum_over/hessian_number.hpp>

namespace xgrad::detail {

/// A batch of symmetric n x n matrices whose off-diagonal entries are rotated away.
template <class P, std::size_t n> struct JacobiEigen {
    using V = simd::Batch<P>;
    V a[n][n], q[n][n]; // the matrix, and the eigenvectors as columns

    /// Of batches that are `V::width` apart.
    explicit JacobiEigen(P const* packed) {
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < n; ++j) {
                a[i][j] = V::load(packed + packed_index(i, j) * V::width);
                q[i][j] = i == j;
            }
    }
    /// Rotates until the rest is below the rounding error of the diagonal.
    void diagonalize() {
        for (int sweep = 0; sweep < 30; ++sweep) {
            V rest = 0, diagonal = 0;
            for (std::size_t i = 0; i < n; ++i) {
                diagonal = diagonal + a[i][i] * a[i][i];
                for (std::size_t j = 0; j < i; ++j) rest = rest + a[i][j] * a[i][j];
            }
            constexpr P eps = std::numeric_limits<P>::epsilon();
            if (all_true(!(rest > eps * eps * diagonal))) return;
            for (std::size_t i = 1; i < n; ++i)
                for (std::size_t j = 0; j < i; ++j) rotate(j, i);
        }
    }

private:
    void rotate(std::size_t i, std::size_t j) {
        V const twice = a[i][j] + a[i][j], gap = a[j][j] - a[i][i];
        V const t = where(twice == 0, V(0),
            twice * copysign(V(1), gap) / (abs(gap) + sqrt(gap * gap + twice * twice)));
        V const c = 1 / sqrt(1 + t * t), s = t * c;
        auto const turn = [&](V& x, V& y) {
            V const old = x;
            x = c * old - s * y;
            y = s * old + c * y;
        };
        for (std::size_t k = 0; k < n; ++k) turn(a[k][i], a[k][j]);
        for (std::size_t k = 0; k < n; ++k) turn(a[i][k], a[j][k]);
        for (std::size_t k = 0; k < n; ++k) turn(q[k][i], q[k][j]);
    }
};

/// Takes the negative part off a batch of matrices; one without it is not changed.
template <class P, std::size_t n> void keep_positive_part(P* packed) {
    using V = simd::Batch<P>;
    JacobiEigen<P, n> eigen(packed);
    eigen.diagonalize();
    for (std::size_t k = 0; k < n; ++k) {
        V const negative = where(eigen.a[k][k] < 0, eigen.a[k][k], V(0));
        if (all_true(negative == 0)) continue;
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j <= i; ++j) {
                P* const at = packed + packed_index(i, j) * V::width;
                (V::load(at) - negative * eigen.q[i][k] * eigen.q[j][k]).store(at);
            }
    }
}

} // namespace xgrad::detail
