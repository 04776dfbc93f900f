// Stacks of matrices in LAPACK's layout, and checks of arguments for all of linalg/.
//
// LAPACK takes column-major matrices, and all results of linalg/ are row-major. A row-major matrix
// is its transpose to LAPACK: where a decomposition of the transpose has the same factors, nothing
// is copied.
//
// Shapes: the last two axes are a matrix, [..., m, n]; the axes before them are a stack.
// Gradients: none here. In linalg/ those of complex matrices are dL/dRe + i dL/dIm, as in PyTorch.
// Errors: LinAlgError is the exception of decompositions; fewer than two axes, and extents that
// LAPACK cannot count, are a ShapeError. Integers, and a build without LAPACK, do not compile.
#pragma once

#include <xgrad/kernels/lapack.hpp>
#include <xgrad/ops/linalg.hpp>
#include <xgrad/ops/triangle.hpp>
#include <xgrad/tensor/backward.hpp>
#include <xgrad/tensor/create.hpp>
#include <xgrad/tensor/function.hpp>

namespace xgrad {

/// Thrown if a decomposition fails: the matrix is singular, or not positive definite, ...
struct LinAlgError : Error {
    using Error::Error;
};

namespace detail {

/// The last two extents of an array, and the number of its matrices.
struct MatrixSizes {
    int rows, columns;
    std::size_t count = 1;

    explicit MatrixSizes(Shape const& s);
    std::size_t elements() const;
};

/// `lead`, and then two extents.
inline Shape stacked(Shape lead, std::size_t rows, std::size_t columns) {
    lead.push_back(rows);
    lead.push_back(columns);
    return lead;
}
/// The shape without its last `n` extents.
Shape without_last(Shape const& s, std::size_t n);
/// The stack to which a matrix of a shape belongs.
inline Shape stack_of(Shape const& s) { return without_last(s, 2); }

/// A new array, not initialised, in which each matrix is column-major.
template <Scalar T> Array<T> new_column_major(Shape const& shape) {
    Shape across = shape;
    std::swap(across[shape.size() - 2], across[shape.size() - 1]);
    Strides strides = row_major(across);
    std::swap(strides[shape.size() - 2], strides[shape.size() - 1]);
    return Array<T>(across).view(shape, strides);
}
/// A copy in which each matrix is column-major.
template <Scalar T> Array<T> column_major(Array<T> const& a) {
    auto out = new_column_major<T>(a.shape);
    copy_elements(out, a);
    return out;
}

/// A row-major copy.
template <Scalar T> Array<T> row_major_copy(Array<T> const& a) {
    Array<T> out(a.shape);
    copy_elements(out, a);
    return out;
}

/// An argument as a tensor of floating-point or complex type.
template <Operand X> auto matrix_argument(X const& x) {
    static_assert(has_gradients<typename X::value_type>,
        "linalg: matrices have elements of floating point or complex type");
    static_assert(Operand<X> && XGRAD_USE_LAPACK,
        "linalg: decompositions need a LAPACK, which this build does without (XGRAD_USE_LAPACK is "
        "0); libopenblas-dev has a good one");
    return materialize(x);
}
template <Scalar T> void check_matrix(std::string_view name, Tensor<T> const& a) {
    check_defined(name, a);
    if (a.dim() < 2)
        fail<ShapeError>(
            name, ": The input tensor must have at least 2 dimensions, and has shape ", a.shape());
}
template <Scalar T> void check_square(std::string_view name, Tensor<T> const& a) {
    check_matrix(name, a);
    if (a.shape(-1) != a.shape(-2))
        fail<ShapeError>(name, ": A must be batches of square matrices, but they are ", a.shape(-2),
            " by ", a.shape(-1), " matrices, of shape ", a.shape());
}
template <Operand X> auto square_argument(std::string_view name, X const& x) {
    auto a = matrix_argument(x);
    check_square(name, a);
    return a;
}

/// True if all elements are finite. With others LAPACK's iterations may give wrong results or not
/// end.
template <class T> bool are_finite(T const* a, std::size_t n) {
    return std::all_of(a, a + n, [](T const& v) { return v - v == T(0); });
}

/// "linalg.inv: (Batch element 3): " where there are several matrices.
std::string at_matrix(std::string_view name, Shape const& shape, std::size_t i);

/// One scalar for each matrix, with two axes of extent 1 that broadcast.
template <Operand X> auto beside_matrices(X const& numbers) {
    return unsqueeze(unsqueeze(numbers, -1), -1);
}

/// Hermitian matrices from the lower triangles of given ones, with the real parts of their
/// diagonals.
template <Scalar T> Tensor<T> from_lower_triangle(Tensor<T> const& m) {
    auto const n = m.shape(-1);
    Array<T> weights(Shape{n, n});
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j)
            weights.begin()[i * n + j] = j < i ? T(1) : j == i ? T(0.5) : T(0);
    Tensor<T> const half = m * Tensor<T>(std::move(weights));
    return half + adjoint(half);
}

/// Infinity on the diagonal, else 0. Added to a divisor, it makes the diagonal of the quotient, and
/// of its derivatives, 0.
template <RealScalar P> Tensor<P> infinite_diagonal(std::size_t n) {
    Array<P> a(Shape{n, n}, P(0));
    for (std::size_t i = 0; i < n; ++i) a.begin()[i * (n + 1)] = std::numeric_limits<P>::infinity();
    return Tensor<P>(std::move(a));
}

} // namespace detail
} // namespace xgrad
