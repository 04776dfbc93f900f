// Uses of the LU factors of square matrices: linear systems, inverses and determinants. A matrix is
// factored once, also for the gradients.
//
// Shapes: A: [..., n, n]. solve() takes B as [..., n, k], or as vectors [n] or [..., n]; stacks
// broadcast. inv() gives [..., n, n], det() and both results of slogdet() give [...].
// Gradients: of any order, in backward and forward mode; conj(det A) A^-H for det(). det() of a
// singular matrix has the first order only.
// Errors: LinAlgError for a singular matrix in solve() and inv(); GraphError for a second
// derivative of det() at one; ShapeError for matrices that are not square, or do not fit; Error for
// an undefined tensor. Integers, two scalar types, and a build without LAPACK do not compile.
#pragma once

#include <xgrad/linalg/svd.hpp>
#include <xgrad/linalg/triangular.hpp>
#include <xgrad/ops/product.hpp>

namespace xgrad {

namespace detail {

/// The factors A = P L U of a stack of square matrices.
template <Differentiable T> struct LuFactors {
    MatrixSizes sizes;
    Array<T> lu;
    std::vector<int> pivots; // row i was exchanged with this one, counted from 1
    // for each matrix the first pivot that is 0, counted from 1; 0 if there is none
    std::vector<int> singular;

    explicit LuFactors(Tensor<T> const& a)
        : sizes(a.shape()), lu(column_major(a.array_of())), pivots(sizes.count * a.shape(-1)),
          singular(sizes.count) {
        for (std::size_t i = 0; sizes.rows && i < sizes.count; ++i)
            singular[i] = lapack::factor_lu(sizes.rows, matrix(i), pivots_of(i));
    }
    T* matrix(std::size_t i) const { return lu.begin() + i * sizes.elements(); }
    int* pivots_of(std::size_t i) {
        return pivots.data() + i * static_cast<std::size_t>(sizes.rows);
    }
    int const* pivots_of(std::size_t i) const {
        return pivots.data() + i * static_cast<std::size_t>(sizes.rows);
    }
    T determinant(std::size_t i) const {
        wide<T> product(1);
        int const sign =
            for_each_pivot(i, [&](T const& pivot) { product *= converted<wide<T>>(pivot); });
        return converted<T>(sign < 0 ? -product : product);
    }
    /// A power of 2 that brings the determinant of matrix i into the range of T; 1 if it is in the
    /// range, or is 0.
    precision_of<T> scale(std::size_t i) const {
        using P = precision_of<T>;
        if (singular[i] || is_normal(std::abs(determinant(i)))) return P(1);
        double logarithm = 0;
        for_each_pivot(i,
            [&](T const& pivot) { logarithm += std::log2(static_cast<double>(std::abs(pivot))); });
        static constexpr double max_exponent = std::numeric_limits<P>::max_exponent - 1;
        return is_finite(logarithm)
                   ? std::ldexp(
                         P(1), static_cast<int>(std::clamp(std::rint(-logarithm / sizes.rows),
                                   -max_exponent, max_exponent)))
                   : P(1);
    }
    bool any_singular() const { return std::ranges::any_of(singular, std::identity()); }
    Tensor<bool> singular_matrices() const {
        Array<bool> all(stack_of(lu.shape));
        std::ranges::transform(singular, all.begin(), [](int pivot) { return pivot != 0; });
        return Tensor<bool>(std::move(all));
    }

    /// Calls f for each pivot of matrix i. Returns the sign of the row exchanges.
    template <class F> int for_each_pivot(std::size_t i, F f) const {
        int sign = 1;
        auto const n = static_cast<std::size_t>(sizes.rows);
        for (std::size_t k = 0; k < n; ++k) {
            if (pivots_of(i)[k] != static_cast<int>(k) + 1) sign = -sign;
            f(matrix(i)[k * (n + 1)]);
        }
        return sign;
    }
};
template <class T> using Factors = std::shared_ptr<LuFactors<T> const>;

/// The factors of matrices. Throws LinAlgError for a singular one.
template <class T>
Factors<T> regular_factors(std::string_view name, Tensor<T> const& a, std::string_view what) {
    auto factors = std::make_shared<LuFactors<T> const>(a);
    for (std::size_t i = 0; i < factors->singular.size(); ++i)
        if (auto const pivot = factors->singular[i])
            fail<LinAlgError>(at_matrix(name, a.shape(), i), "The diagonal element ", pivot,
                " is zero, the ", what,
                " could not be completed because the input matrix is singular.");
    return factors;
}

/// X of op(A) X = B, by the factors of A. The gradient of B solves such a system, too, with the
/// same factors; the gradient of A is a product of that.
template <Differentiable T> struct LinalgSolve : Function<LinalgSolve<T>> {
    using Saved = std::tuple<Tensor<T>, Tensor<T>>; // A and X
    struct Data {
        Factors<T> factors;
        bool adjoint = false;
    };

    static Tensor<T> forward(Context<LinalgSolve>& ctx, Tensor<T> const& a, Tensor<T> const& b,
        Factors<T> const& factors, bool adjoint) {
        auto x = column_major(b.array_of());
        MatrixSizes const sizes(b.shape());
        for (std::size_t i = 0; sizes.elements() && i < sizes.count; ++i)
            lapack::solve_lu(adjoint, sizes.rows, sizes.columns, factors->matrix(i),
                factors->pivots_of(i), x.begin() + i * sizes.elements());
        Tensor<T> const result(contiguous(x));
        ctx.factors = factors;
        ctx.adjoint = adjoint;
        ctx.save_for_backward(a, result);
        return result;
    }
    static std::tuple<Tensor<T>, Tensor<T>, std::nullopt_t, std::nullopt_t> backward(
        Context<LinalgSolve>& ctx, Tensor<T> const& g) {
        auto const [a, x] = ctx.saved_tensors();
        Tensor<T> const to_b = LinalgSolve::apply(a, g, ctx.factors, !ctx.adjoint);
        Tensor<T> to_a;
        if (ctx.needs_input_grad(0)) to_a = gradient_of_matrix(to_b, x, ctx.adjoint);
        return {to_a, to_b, std::nullopt, std::nullopt};
    }
};

/// A^-1, or A^-H.
template <Differentiable T>
Tensor<T> inverse(Tensor<T> const& a, Factors<T> const& factors, bool adjoint) {
    return LinalgSolve<T>::apply(a, broadcast_to(eye<T>(a.shape(-1)), a.shape()), factors, adjoint);
}

/// The adjoint of the adjugate, the factor of dA in the derivative of the determinant. It is
/// computed from singular vectors, so that it is right for singular matrices, too.
template <Differentiable T> struct LinalgCofactors : Function<LinalgCofactors<T>> {
    static Tensor<T> forward(Context<LinalgCofactors>&, Tensor<T> const& a) {
        using P = precision_of<T>;
        SingularValues<T> const found(a, true);
        Tensor<T> const u(found.u), vh(found.vh);
        LuFactors<T> const of_u(u), of_vh(vh);
        auto const n = a.shape(-1);
        std::vector<P> others(n);
        for (std::size_t i = 0; i < of_u.sizes.count; ++i) {
            each_product_of_others(
                found.s.begin() + i * n, n, P(1), others.data(), std::identity());
            using detail::conj;
            T const phase = conj(of_u.determinant(i) * of_vh.determinant(i));
            T* next = found.u.begin() + i * n * n;
            for (std::size_t row = 0; row < n; ++row)
                for (std::size_t column = 0; column < n; ++column)
                    *next++ *= phase * others[column];
        }
        return matmul(u, vh);
    }
    static Tensor<T> backward(Context<LinalgCofactors>&, Tensor<T> const& g) {
        for (T const& v : contiguous(g.array_of()))
            if (v != T(0))
                fail<GraphError>(
                    "linalg.det: the gradient of a singular matrix cannot be differentiated again");
        return zeros_like(g); // the matrix is regular, in a stack with singular ones
    }
};

/// The determinant. Its gradient is conj(det A) A^-H times the incoming one.
template <Differentiable T> struct LinalgDet : Function<LinalgDet<T>> {
    using Saved = std::tuple<Tensor<T>, Tensor<T>>; // A and its determinant
    struct Data {
        Factors<T> factors;
    };

    static Tensor<T> forward(Context<LinalgDet>& ctx, Tensor<T> const& a) {
        auto factors = std::make_shared<LuFactors<T> const>(a);
        Array<T> out(stack_of(a.shape()));
        for (std::size_t i = 0; i < out.numel; ++i) out.begin()[i] = factors->determinant(i);
        Tensor<T> const result(std::move(out));
        ctx.factors = std::move(factors);
        ctx.save_for_backward(a, result);
        return result;
    }
    static Tensor<T> backward(Context<LinalgDet>& ctx, Tensor<T> const& g) {
        auto const [a, determinant] = ctx.saved_tensors();
        // regular and singular matrices apart; ones in the place of the others
        if (ctx.factors->any_singular()) {
            auto const is_singular = beside_matrices(ctx.factors->singular_matrices());
            auto const one = eye<T>(a.shape(-1));
            Tensor<T> const regular = where(is_singular, one, a),
                            singular = where(is_singular, a, one);
            return beside_matrices(g) * where(is_singular, LinalgCofactors<T>::apply(singular),
                                            of_regular(regular, LinalgDet::apply(regular),
                                                std::make_shared<LuFactors<T> const>(regular)));
        }
        return beside_matrices(g) * of_regular(a, determinant, ctx.factors);
    }

private:
    /// conj(det A) A^-H, also if the determinant itself is outside the range of T.
    static Tensor<T> of_regular(
        Tensor<T> const& a, Tensor<T> const& determinant, Factors<T> const& factors) {
        using P = precision_of<T>;
        Array<P> scales(determinant.shape());
        for (std::size_t i = 0; i < scales.numel; ++i) scales.begin()[i] = factors->scale(i);
        if (std::all_of(
                scales.begin(), scales.begin() + scales.numel, [](P scale) { return scale == 1; }))
            return beside_matrices(Tensor<T>(conj(determinant))) * inverse(a, factors, true);
        Tensor<P> const scale = beside_matrices(Tensor<P>(std::move(scales)));
        Tensor<T> const scaled = scale * a;
        auto const others = static_cast<P>(a.shape(-1)) - 1;
        return pow(scale, -others) *
               (beside_matrices(Tensor<T>(conj(LinalgDet::apply(scaled)))) *
                   inverse(scaled, std::make_shared<LuFactors<T> const>(scaled), true));
    }
};

/// The determinant as a sign, of magnitude 1, and the logarithm of its magnitude.
template <Differentiable T> struct LinalgSlogdet : Function<LinalgSlogdet<T>> {
    using P = precision_of<T>;
    using Saved = std::tuple<Tensor<T>, Tensor<T>>; // A and the sign
    struct Data {
        Factors<T> factors;
    };

    static std::tuple<Tensor<T>, Tensor<P>> forward(
        Context<LinalgSlogdet>& ctx, Tensor<T> const& a) {
        auto factors = std::make_shared<LuFactors<T> const>(a);
        Array<T> signs(stack_of(a.shape()));
        Array<P> logarithms(signs.shape);
        for (std::size_t i = 0; i < signs.numel; ++i) {
            T phase(1);
            double logarithm = 0;
            int const sign = factors->for_each_pivot(i, [&](T const& pivot) {
                auto const magnitude = std::abs(pivot);
                phase *= magnitude == 0 ? T(0) : pivot / magnitude;
                logarithm += std::log(static_cast<double>(magnitude));
            });
            signs.begin()[i] = phase * T(static_cast<P>(sign));
            logarithms.begin()[i] = static_cast<P>(logarithm);
        }
        Tensor<T> const sign(std::move(signs));
        ctx.factors = std::move(factors);
        ctx.save_for_backward(a, sign);
        return {sign, Tensor<P>(std::move(logarithms))};
    }
    /// d log det(A) = tr(A^-1 dA), whose real part belongs to the logarithm and whose imaginary
    /// part to the sign.
    static Tensor<T> backward(Context<LinalgSlogdet>& ctx,
        [[maybe_unused]] Tensor<T> const& to_sign, Tensor<P> const& to_logarithm) {
        auto const [a, sign] = ctx.saved_tensors();
        Tensor<T> factor;
        if constexpr (is_complex<T>) factor = complex(to_logarithm, imag(conj(sign) * to_sign));
        else factor = to_logarithm;
        return beside_matrices(factor) * inverse(a, ctx.factors, true);
    }
};

} // namespace detail

namespace linalg {

/// X of A X = B for square matrices A; B has matrices or vectors, and stacks broadcast. B has
/// vectors if it has one axis, or if its shape is that of A without the last axis. Throws
/// LinAlgError for a singular matrix.
template <Operand A, Operand B> Tensor<typename A::value_type> solve(A const& a, B const& b) {
    static_assert(std::same_as<typename A::value_type, typename B::value_type>,
        "linalg::solve: both arguments have one scalar type");
    auto const p = detail::matrix_argument(a), q = detail::matrix_argument(b);
    detail::check_square("linalg.solve", p);
    detail::check_defined("linalg.solve", q, 1);
    bool const vectors =
        q.dim() == 1 || (q.dim() + 1 == p.dim() && q.shape() == detail::without_last(p.shape(), 1));
    auto const columns = vectors ? detail::materialize(unsqueeze(q, -1)) : q;
    if (columns.dim() < 2 || columns.shape(-2) != p.shape(-1))
        detail::fail<ShapeError>(
            "linalg.solve: Incompatible shapes of A and B for the equation AX = B (", p.shape(),
            " and ", q.shape(), ")");
    // all right-hand sides side by side, so that one matrix is factored once
    if (p.dim() == 2 && columns.dim() > 2 && columns.numel()) {
        auto const apart = detail::materialize(movedim(columns, -2, 0));
        auto const x = solve(p, reshape(apart, {static_cast<std::ptrdiff_t>(apart.shape(0)), -1}));
        return detail::only_reshaped(
            detail::materialize(movedim(reshape(x, Axes(apart.shape())), 0, -2)).contiguous());
    }
    auto const [x, y] = detail::broadcast_stacks("linalg.solve", p, columns);
    auto const out = detail::LinalgSolve<typename A::value_type>::apply(
        x, y, detail::regular_factors("linalg.solve", x, "solution"), false);
    return vectors ? detail::only_reshaped(detail::materialize(squeeze(out, -1))) : out;
}

/// The inverse of each matrix. Throws LinAlgError for a singular one. To multiply by it, solve() is
/// faster and more accurate.
template <Operand A> auto inv(A const& a) {
    auto const x = detail::square_argument("linalg.inv", a);
    return detail::inverse(x, detail::regular_factors("linalg.inv", x, "inversion"), false);
}

/// The determinant of each matrix. Its gradient is right for singular matrices, too, but cannot be
/// differentiated again there (GraphError).
template <Operand A> auto det(A const& a) {
    auto const x = detail::square_argument("linalg.det", a);
    return detail::LinalgDet<typename A::value_type>::apply(x);
}

/// The sign (of magnitude 1) of the determinant of each matrix, and the logarithm of its magnitude:
/// 0 and -infinity for a singular matrix, whose gradient is not finite.
template <Operand A> auto slogdet(A const& a) {
    auto const x = detail::square_argument("linalg.slogdet", a);
    return detail::LinalgSlogdet<typename A::value_type>::apply(x);
}

} // namespace linalg
} // namespace xgrad
