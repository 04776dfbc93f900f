// Eigenvalues and eigenvectors of Hermitian matrices.
//
// Shapes: A: [..., n, n] gives eigenvalues [..., n] and eigenvectors [..., n, n], as columns.
// Gradients: Hermitian, of any order, in backward and forward mode. Through the vectors it is
// finite only if all eigenvalues differ.
// Errors: LinAlgError for NaN or infinity, or where LAPACK does not converge; GraphError in the
// backward pass of a loss that depends on the phases of complex vectors; ShapeError for matrices
// that are not square; Error for an undefined tensor. Integers, and a build without LAPACK, do not
// compile.
#pragma once

#include <xgrad/core/choice.hpp>
#include <xgrad/linalg/matrices.hpp>

namespace xgrad {

namespace detail {

/// The lengths of vectors along an axis.
template <Scalar T> Tensor<precision_of<T>> lengths(Tensor<T> const& vectors, std::ptrdiff_t axis) {
    return sqrt(sum(abs2(vectors), {axis}));
}

/// Throws GraphError for a gradient that depends on the phases of vectors. The derivatives with
/// respect to the phases must be small beside `bounds`.
template <Scalar P>
void check_phases(
    std::string_view message, Tensor<P> const& phase_gradients, Tensor<P> const& bounds) {
    for_each_pair(phase_gradients.array_of(), bounds.array_of(), [&](P phase_gradient, P bound) {
        if (std::abs(phase_gradient) > P(1e-2) * bound) fail<GraphError>(message);
    });
}

/// True if the elements of one triangle of a column-major matrix are finite.
template <class T> bool is_finite_triangle(T const* a, std::size_t n, bool upper) {
    for (std::size_t column = 0; column < n; ++column)
        if (!are_finite(a + column * n + (upper ? 0 : column), upper ? column + 1 : n - column))
            return false;
    return true;
}

/// A = V diag(w) V^H. The gradient is V (diag(dw) + F * skew(V^H dV)) V^H with F_ij = 1/(w_j -
/// w_i): Giles, "An extended collection of matrix derivative results" (2008).
template <Differentiable T> struct LinalgEigh : Function<LinalgEigh<T>> {
    using P = precision_of<T>;
    using Saved = std::tuple<Tensor<P>, Tensor<T>>;

    static std::tuple<Tensor<P>, Tensor<T>> forward(
        Context<LinalgEigh>& ctx, Tensor<T> const& a, bool upper, bool wants_vectors) {
        auto vectors = column_major(a.array_of());
        Array<P> values(without_last(a.shape(), 1));
        MatrixSizes const sizes(a.shape());
        auto const n = static_cast<std::size_t>(sizes.rows);
        for (std::size_t i = 0; n && i < sizes.count; ++i)
            if (!is_finite_triangle(vectors.begin() + i * sizes.elements(), n, upper) ||
                lapack::eigen(wants_vectors, upper, sizes.rows,
                    vectors.begin() + i * sizes.elements(), values.begin() + i * n))
                fail<LinAlgError>(at_matrix("linalg.eigh", a.shape(), i),
                    "The algorithm failed to converge because the input matrix is ill-conditioned, "
                    "has too many repeated eigenvalues, or holds NaN or infinity.");
        Tensor<P> const w(std::move(values));
        Tensor<T> const v(wants_vectors ? contiguous(vectors) : vectors);
        ctx.set_materialize_grads(false);
        ctx.save_for_backward(w, v);
        return {w, v};
    }
    static std::tuple<Tensor<T>, std::nullopt_t, std::nullopt_t> backward(
        Context<LinalgEigh>& ctx, Tensor<P> const& to_values, Tensor<T> const& to_vectors) {
        auto const [w, v] = ctx.saved_tensors();
        if (!to_vectors.defined())
            return {to_values.defined()
                        ? matmul(Tensor<T>(v * unsqueeze(to_values, -2)), adjoint(v))
                        : Tensor<T>(),
                std::nullopt, std::nullopt};
        Tensor<T> const m = matmul(adjoint(v), to_vectors);
        if constexpr (is_complex<T>)
            check_phases<P>("linalg_eigh_backward: The eigenvectors in the complex case are "
                            "specified up to multiplication by e^{i phi}. The specified loss "
                            "function depends on this quantity, so it is ill-defined.",
                imag(m.diagonal(0, -2, -1)), lengths(to_vectors, -2));
        Tensor<P> const gaps =
            P(2) * (unsqueeze(w, -2) - unsqueeze(w, -1)) + infinite_diagonal<P>(w.shape(-1));
        Tensor<T> inner = (m - adjoint(m)) / gaps;
        if (to_values.defined()) inner = inner + diag_embed(to_values);
        return {matmul(matmul(v, inner), adjoint(v)), std::nullopt, std::nullopt};
    }
};

} // namespace detail

namespace linalg {

/// Eigenvalues in ascending order, which are real, and eigenvectors, the columns of a unitary
/// matrix, of each Hermitian matrix; only the lower, or the upper, triangle is read. The gradient
/// is Hermitian. The gradient through the vectors is finite only if all eigenvalues differ. A loss
/// must not depend on the phases of complex vectors (GraphError): vectors are unique up to their
/// phase only.
template <Operand A> auto eigh(A const& a, Flag upper = false) {
    auto const x = detail::square_argument("linalg.eigh", a);
    return detail::LinalgEigh<typename A::value_type>::apply(x, bool(upper), true);
}
/// Only the eigenvalues.
template <Operand A> auto eigvalsh(A const& a, Flag upper = false) {
    auto const x = detail::square_argument("linalg.eigvalsh", a);
    return std::get<0>(detail::LinalgEigh<typename A::value_type>::apply(
        x, bool(upper), detail::recording() && x.requires_grad()));
}

} // namespace linalg
} // namespace xgrad
