// Singular values and singular vectors.
//
// Shapes: A: [..., m, n] gives U: [..., m, k], s: [..., k] and V^H: [..., k, n], where k = min(m,
// n).
// Gradients: of any order, in backward and forward mode. Through the vectors it is finite only if
// all singular values differ.
// Errors: LinAlgError for NaN or infinity, or where LAPACK does not converge; GraphError in the
// backward pass of a loss that depends on the phases of complex vectors; ShapeError for fewer than
// two axes; Error for an undefined tensor. Integers, and a build without LAPACK, do not compile.
#pragma once

#include <xgrad/linalg/eigh.hpp>

namespace xgrad {

namespace detail {

/// U, s and V^H of a stack of matrices, with as many singular vectors as singular values; or only
/// s.
template <Differentiable T> struct SingularValues {
    Array<T> u, vh;
    Array<precision_of<T>> s;

    SingularValues(Tensor<T> const& a, bool vectors) {
        MatrixSizes const sizes(a.shape());
        auto const lead = stack_of(a.shape());
        auto const m = a.shape(-2), n = a.shape(-1), k = std::min(m, n);
        u = Array<T>(stacked(lead, m, k));
        vh = Array<T>(stacked(lead, k, n));
        Shape shape = lead;
        shape.push_back(k);
        s = Array<precision_of<T>>(shape);
        // row-major: to LAPACK A^T, whose U is the transpose of V^H, and whose V^H that of U
        auto const work = row_major_copy(a.array_of());
        for (std::size_t i = 0; k && i < sizes.count; ++i)
            if (!are_finite(work.begin() + i * m * n, m * n) ||
                lapack::singular(sizes.columns, sizes.rows, work.begin() + i * m * n,
                    s.begin() + i * k, vectors ? vh.begin() + i * k * n : nullptr,
                    vectors ? u.begin() + i * m * k : nullptr))
                fail<LinAlgError>(at_matrix("linalg.svd", a.shape(), i),
                    "The algorithm failed to converge because the input matrix is ill-conditioned, "
                    "has too many repeated singular values, or holds NaN or infinity.");
    }
};

/// A = U diag(s) V^H. The gradient is that of Townsend, "Differentiating the singular value
/// decomposition" (2016), for complex matrices with the phases of Wan and Zhang, "Automatic
/// differentiation for complex valued SVD" (2019).
template <Differentiable T> struct LinalgSvd : Function<LinalgSvd<T>> {
    using P = precision_of<T>;
    using Saved = std::tuple<Tensor<T>, Tensor<P>, Tensor<T>>;

    static std::tuple<Tensor<T>, Tensor<P>, Tensor<T>> forward(
        Context<LinalgSvd>& ctx, Tensor<T> const& a, bool vectors) {
        SingularValues<T> found(a, vectors);
        Tensor<T> const u(std::move(found.u)), vh(std::move(found.vh));
        Tensor<P> const s(std::move(found.s));
        ctx.set_materialize_grads(false);
        ctx.save_for_backward(u, s, vh);
        return {u, s, vh};
    }
    static std::tuple<Tensor<T>, std::nullopt_t> backward(Context<LinalgSvd>& ctx,
        Tensor<T> const& to_u, Tensor<P> const& to_s, Tensor<T> const& to_vh) {
        auto const [u, s, vh] = ctx.saved_tensors();
        if (!to_u.defined() && !to_vh.defined())
            return {to_s.defined() ? matmul(Tensor<T>(u * unsqueeze(to_s, -2)), vh) : Tensor<T>(),
                std::nullopt};

        auto const skew = [](Tensor<T> const& x) { return Tensor<T>(x - adjoint(x)); };
        auto const k = s.shape(-1);
        auto const zeros = xgrad::zeros<T>(stacked(stack_of(u.shape()), k, k));
        auto const of_u = to_u.defined() ? skew(matmul(adjoint(u), to_u)) : zeros;
        auto const of_v = to_vh.defined() ? skew(matmul(vh, adjoint(to_vh))) : zeros;
        if constexpr (is_complex<T>) {
            Tensor<P> bounds = zeros_like(s);
            if (to_u.defined()) bounds += lengths(to_u, -2);
            if (to_vh.defined()) bounds += lengths(to_vh, -1);
            check_phases<P>("svd_backward: The singular vectors in the complex case are specified "
                            "up to multiplication by e^{i phi}. The specified loss function "
                            "depends on this phase term, making it ill-defined.",
                imag(Tensor<T>(of_u + of_v).diagonal(0, -2, -1)), bounds);
        }
        auto const column = unsqueeze(s, -1), row = unsqueeze(s, -2);
        // (row of_u + column of_v) / (row^2 - column^2), whose squares might leave the range of P
        auto const infinite = infinite_diagonal<P>(k);
        Tensor<P> sums = row + column;
        // real vectors have no phase, hence 0 on the diagonal
        if constexpr (!is_complex<T>) sums = sums + infinite;
        Tensor<T> inner =
            P(0.5) * ((of_u + of_v) / (row - column + infinite) + (of_u - of_v) / sums);
        if (to_s.defined()) inner = inner + diag_embed(to_s);

        auto const m = u.shape(-2), n = vh.shape(-1);
        Tensor<T> left = matmul(u, inner);
        if (m > n && to_u.defined()) left = left + outside(u, Tensor<T>(to_u / unsqueeze(s, -2)));
        Tensor<T> to_a = matmul(left, vh);
        if (n > m && to_vh.defined())
            to_a = to_a + matmul(u, adjoint(outside(Tensor<T>(adjoint(vh)),
                                        Tensor<T>(adjoint(to_vh) / unsqueeze(s, -2)))));
        return {to_a, std::nullopt};
    }

private:
    /// The component orthogonal to the columns of u.
    static Tensor<T> outside(Tensor<T> const& u, Tensor<T> const& x) {
        return x - matmul(u, matmul(adjoint(u), x));
    }
};

} // namespace detail

namespace linalg {

/// U, s and V^H of A = U diag(s) V^H for each matrix, reduced: with as many columns of U and rows
/// of V^H as A has singular values, which are real and in descending order. The gradient through
/// the vectors is finite only if all singular values differ (and are not 0, for complex or
/// non-square matrices). A loss must not depend on the phases of complex vectors (GraphError).
template <Operand A> auto svd(A const& a) {
    auto const x = detail::matrix_argument(a);
    detail::check_matrix("linalg.svd", x);
    return detail::LinalgSvd<typename A::value_type>::apply(x, true);
}

/// Only the singular values.
template <Operand A> auto svdvals(A const& a) {
    auto const x = detail::matrix_argument(a);
    detail::check_matrix("linalg.svdvals", x);
    return std::get<1>(detail::LinalgSvd<typename A::value_type>::apply(
        x, detail::recording() && x.requires_grad()));
}

} // namespace linalg
} // namespace xgrad
