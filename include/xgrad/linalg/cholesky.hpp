// The Cholesky factor of a positive definite matrix.
//
// Shapes: A, L: [..., n, n]. cholesky_solve() takes b as [..., n, k], or one vector [n]; stacks
// broadcast.
// Gradients: Hermitian for A, of any order, in backward and forward mode.
// Errors: LinAlgError for a matrix that is not positive definite; ShapeError for matrices that are
// not square, or do not fit; Error for an undefined tensor. Integers, and a build without LAPACK,
// do not compile.
#pragma once

#include <xgrad/core/choice.hpp>
#include <xgrad/linalg/triangular.hpp>

namespace xgrad {

namespace detail {

/// A = L L^H. The gradient is half of L^-H H L^-1, where H is Hermitian and has the lower triangle
/// of L^H dL: Iain Murray, "Differentiation of the Cholesky decomposition" (2016).
template <Differentiable T> struct LinalgCholesky : Function<LinalgCholesky<T>> {
    using P = precision_of<T>;
    using Saved = std::tuple<Tensor<T>>;

    static Tensor<T> forward(Context<LinalgCholesky>& ctx, Tensor<T> const& a) {
        auto factor = row_major_copy(a.array_of());
        MatrixSizes const sizes(a.shape());
        auto const n = static_cast<std::size_t>(sizes.rows);
        for (std::size_t i = 0; n && i < sizes.count; ++i) {
            T* const matrix = factor.begin() + i * sizes.elements();
            if (int const minor = lapack::factor_cholesky(sizes.rows, matrix))
                fail<LinAlgError>(at_matrix("linalg.cholesky", a.shape(), i),
                    "The factorization could not be completed because the input is not "
                    "positive-definite (the leading minor of order ",
                    minor, " is not positive-definite).");
            for (std::size_t row = 0; row + 1 < n; ++row)
                std::fill_n(matrix + row * n + row + 1, n - row - 1, T(0));
        }
        Tensor<T> const result(std::move(factor));
        ctx.save_for_backward(result);
        return result;
    }
    static Tensor<T> backward(Context<LinalgCholesky>& ctx, Tensor<T> const& g) {
        auto const [l] = ctx.saved_tensors();
        auto const inner = from_lower_triangle<T>(matmul(adjoint(l), g));
        return P(0.5) * detail::solve_triangular(l,
                            detail::solve_triangular(l, inner, {.left = true, .adjoint = true}),
                            {.left = false});
    }
};

} // namespace detail

namespace linalg {

/// The lower triangular L with a positive diagonal for which A = L L^H, of each Hermitian positive
/// definite matrix. Only the lower triangle is read; the gradient is Hermitian. Throws LinAlgError
/// if A is not positive definite.
template <Operand A> auto cholesky(A const& a) {
    auto const x = detail::square_argument("linalg.cholesky", a);
    return detail::LinalgCholesky<typename A::value_type>::apply(x);
}

/// X of A X = B, from the Cholesky factor L of A = L L^H; B is a matrix or a vector. With upper =
/// true the factor is U of A = U^H U.
template <Operand B, Operand L> auto cholesky_solve(B const& b, L const& l, Flag upper = false) {
    auto const factor = detail::matrix_argument(l);
    auto const other = detail::materialize(adjoint(factor));
    auto const& lower = upper ? other : factor;
    auto const& above = upper ? factor : other;
    return solve_triangular(above, solve_triangular(lower, b), {.upper = true});
}

} // namespace linalg
} // namespace xgrad
