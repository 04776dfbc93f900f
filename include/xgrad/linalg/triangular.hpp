// Linear systems with a triangular matrix.
//
// Shapes: A: [..., n, n]; B: [..., n, k], or [..., k, n] with left = false, or one vector [n];
// stacks broadcast.
// Gradients: of any order, in backward and forward mode; that of A is 0 in the other triangle.
// Errors: ShapeError for a matrix A that is not square, and for shapes that do not fit; Error for
// an undefined tensor. A zero on the diagonal is no error: it gives infinities or NaN. Integers,
// two scalar types, and a build without LAPACK do not compile.
#pragma once

#include <xgrad/linalg/matrices.hpp>

namespace xgrad {

namespace detail {

/// The gradient of A in op(A) X = B, from that of B; op may be the adjoint.
template <Differentiable T>
Tensor<T> gradient_of_matrix(Tensor<T> const& to_b, Tensor<T> const& x, bool adjoint_of_a) {
    return -(adjoint_of_a ? matmul(x, adjoint(to_b)) : matmul(to_b, adjoint(x)));
}

/// X of op(A) X = B or X op(A) = B. The gradient of B solves such a system, too; the gradient of A
/// is a product of that.
template <Differentiable T> struct LinalgSolveTriangular : Function<LinalgSolveTriangular<T>> {
    using Saved = std::tuple<Tensor<T>, Tensor<T>>; // A and X
    struct Data {
        lapack::Triangular is;
    };

    static Tensor<T> forward(Context<LinalgSolveTriangular>& ctx, Tensor<T> const& a,
        Tensor<T> const& b, lapack::Triangular is) {
        // row-major: the transposes to LAPACK, X^T op(A)^T = B^T
        auto const triangle = contiguous(a.array_of());
        auto x = row_major_copy(b.array_of());
        auto const of_transposes = lapack::Triangular{
            .left = !is.left, .upper = !is.upper, .unit = is.unit, .adjoint = is.adjoint};
        MatrixSizes const of_a(a.shape()), of_x(b.shape());
        for (std::size_t i = 0; of_x.elements() && i < of_x.count; ++i)
            lapack::solve_triangular(of_transposes, of_x.columns, of_x.rows,
                triangle.begin() + i * of_a.elements(), x.begin() + i * of_x.elements());
        Tensor<T> const result(std::move(x));
        ctx.is = is;
        ctx.save_for_backward(a, result);
        return result;
    }
    static std::tuple<Tensor<T>, Tensor<T>, std::nullopt_t> backward(
        Context<LinalgSolveTriangular>& ctx, Tensor<T> const& g) {
        auto const [a, x] = ctx.saved_tensors();
        auto is = ctx.is;
        is.adjoint = !is.adjoint;
        Tensor<T> const to_b = LinalgSolveTriangular::apply(a, g, is);
        Tensor<T> to_a;
        if (ctx.needs_input_grad(0)) {
            if (is.left) to_a = gradient_of_matrix(to_b, x, ctx.is.adjoint);
            else to_a = -(ctx.is.adjoint ? matmul(adjoint(to_b), x) : matmul(adjoint(x), to_b));
            to_a = is.upper ? triu(to_a, is.unit) : tril(to_a, is.unit ? -1 : 0);
        }
        return {to_a, to_b, std::nullopt};
    }
};

template <Differentiable T>
Tensor<T> solve_triangular(Tensor<T> const& a, Tensor<T> const& b, lapack::Triangular is) {
    return LinalgSolveTriangular<T>::apply(a, b, is);
}

/// Matrices of two stacks, both broadcast to the common stack.
template <Scalar T>
std::pair<Tensor<T>, Tensor<T>> broadcast_stacks(
    std::string_view name, Tensor<T> const& a, Tensor<T> const& b) {
    Shape lead = stack_of(a.shape());
    if (!widen(lead, stack_of(b.shape())))
        fail<ShapeError>(
            name, ": stacks of shapes ", a.shape(), " and ", b.shape(), " do not broadcast");
    auto const to = [&](Tensor<T> const& t) {
        return stack_of(t.shape()) == lead
                   ? t
                   : Tensor<T>(broadcast_to(t, stacked(lead, t.shape(-2), t.shape(-1))));
    };
    return {to(a), to(b)};
}

} // namespace detail

namespace linalg {

/// Options of solve_triangular(): the side of A, the triangle that is read, and whether its
/// diagonal is taken as ones.
struct TriangularOptions {
    bool upper = false;         // which triangle of A is read: true for the upper one
    bool left = true;           // true for A X = B, false for X A = B
    bool unitriangular = false; // true to take the diagonal of A as ones; it is not read
};

/// X of A X = B, or of X A = B with left = false, for matrices A of which only one triangle is
/// read; stacks broadcast. A zero on the diagonal gives infinities or NaN. The gradient of A is 0
/// in the other triangle. With left = true, B may be a vector, as in solve().
template <Operand A, Operand B, std::same_as<TriangularOptions> Options = TriangularOptions>
auto solve_triangular(A const& a, B const& b, Options options = {}) {
    static_assert(std::same_as<typename A::value_type, typename B::value_type>,
        "linalg::solve_triangular: both matrices have one scalar type");
    auto const p = detail::matrix_argument(a), given = detail::matrix_argument(b);
    detail::check_square("linalg.solve_triangular", p);
    detail::check_defined("linalg.solve_triangular", given, 1);
    bool const is_vector = given.dim() == 1 && options.left;
    auto const q = is_vector ? detail::materialize(unsqueeze(given, -1)) : given;
    detail::check_matrix("linalg.solve_triangular", q);
    if (q.shape(options.left ? -2 : -1) != p.shape(-1))
        detail::fail<ShapeError>("linalg.solve_triangular: Incompatible shapes ", p.shape(),
            " and ", given.shape(), " of ", options.left ? "AX = B" : "XA = B");
    auto const [x, y] = detail::broadcast_stacks("linalg.solve_triangular", p, q);
    auto const out = detail::solve_triangular(
        x, y, {.left = options.left, .upper = options.upper, .unit = options.unitriangular});
    return is_vector ? detail::only_reshaped(detail::materialize(squeeze(out, -1))) : out;
}

} // namespace linalg
} // namespace xgrad
