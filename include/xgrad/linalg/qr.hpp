// The QR decomposition.
//
// Shapes: A: [..., m, n] gives Q: [..., m, k] and R: [..., k, n], where k = min(m, n).
// Gradients: of any order, in backward and forward mode; finite if the first k columns of A are
// independent.
// Errors: ShapeError for fewer than two axes; Error for an undefined tensor. Integers, and a build
// without LAPACK, do not compile.
#pragma once

#include <xgrad/linalg/triangular.hpp>

namespace xgrad {

namespace detail {

/// A = Q R with Q of min(m, n) columns. The gradient of a tall matrix is (dQ + Q C) R^-H, where C
/// is Hermitian and has the lower triangle of R dR^H - dQ^H Q: Walter and Lehmann, "Algorithmic
/// differentiation of linear algebra functions" (2012). A wide matrix is [X Y] = Q [U V] with V =
/// Q^H Y: the gradient of Y is Q dV, and Y dV^H is added to the gradient of Q, from which that of X
/// follows.
template <Differentiable T> struct LinalgQr : Function<LinalgQr<T>> {
    using Saved = std::tuple<Tensor<T>, Tensor<T>, Tensor<T>>; // A if it is wide, Q and R

    static std::tuple<Tensor<T>, Tensor<T>> forward(Context<LinalgQr>& ctx, Tensor<T> const& a) {
        MatrixSizes const sizes(a.shape());
        auto const lead = stack_of(a.shape());
        auto const m = a.shape(-2), n = a.shape(-1), k = std::min(m, n);
        auto const work = column_major(a.array_of());
        auto q = new_column_major<T>(stacked(lead, m, k));
        Array<T> r(stacked(lead, k, n));
        for (std::size_t i = 0; k && i < sizes.count; ++i) {
            T* const factors = work.begin() + i * m * n;
            lapack::factor_qr(sizes.rows, sizes.columns, factors, q.begin() + i * m * k);
            T* to = r.begin() + i * k * n;
            for (std::size_t row = 0; row < k; ++row) {
                to = std::fill_n(to, row, T(0));
                for (std::size_t column = row; column < n; ++column)
                    *to++ = factors[column * m + row];
            }
        }
        Tensor<T> const of_q(contiguous(q)), of_r(std::move(r));
        ctx.save_for_backward(m < n ? a : Tensor<T>(), of_q, of_r);
        return {of_q, of_r};
    }
    static Tensor<T> backward(
        Context<LinalgQr>& ctx, Tensor<T> const& to_q, Tensor<T> const& to_r) {
        auto const [a, q, r] = ctx.saved_tensors();
        auto const m = static_cast<std::ptrdiff_t>(q.shape(-2)),
                   n = static_cast<std::ptrdiff_t>(r.shape(-1));
        if (m >= n) return of_tall(q, r, to_q, to_r);
        auto const first = [m](Tensor<T> const& t) { return t(xt::ellipsis(), slice(0, m)); };
        auto const rest = [m](Tensor<T> const& t) { return t(xt::ellipsis(), slice(m)); };
        auto const to_x = of_tall(
            q, first(r), Tensor<T>(to_q + matmul(rest(a), adjoint(rest(to_r)))), first(to_r));
        return cat(std::vector{to_x, matmul(q, rest(to_r))}, -1);
    }

private:
    static Tensor<T> of_tall(
        Tensor<T> const& q, Tensor<T> const& r, Tensor<T> const& to_q, Tensor<T> const& to_r) {
        auto const c = from_lower_triangle<T>(matmul(r, adjoint(to_r)) - matmul(adjoint(to_q), q));
        return detail::solve_triangular(
            r, Tensor<T>(to_q + matmul(q, c)), {.left = false, .upper = true, .adjoint = true});
    }
};

} // namespace detail

namespace linalg {

/// Q with orthonormal columns and the upper triangular R of A = Q R for each matrix, reduced: with
/// min(m, n) columns of Q. The gradient is finite if the first min(m, n) columns of A are
/// independent.
template <Operand A> auto qr(A const& a) {
    auto const x = detail::matrix_argument(a);
    detail::check_matrix("linalg.qr", x);
    return detail::LinalgQr<typename A::value_type>::apply(x);
}

} // namespace linalg
} // namespace xgrad
