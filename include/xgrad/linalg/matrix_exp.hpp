// The exponential of a matrix.
//
// Shapes: [..., n, n] gives [..., n, n].
// Gradients: of any order, in backward and forward mode.
// Errors: ShapeError for matrices that are not square; LinAlgError for a negative power of a
// singular matrix; Error for an undefined tensor. NaN or infinity in matrix_exp() gives NaN.
// Integers, and a build without LAPACK, do not compile.
#pragma once

#include <array>

#include <xgrad/linalg/lu.hpp>
#include <xgrad/tensor/join.hpp>

namespace xgrad {

namespace detail {

/// The 1-norm: the largest sum of magnitudes of a column.
template <Differentiable T> double norm_1(Tensor<T> const& matrix) {
    return static_cast<double>(amax(sum(abs(matrix), {0})).item());
}

/// How often the scaled matrix a may be doubled before the approximant of degree 13 loses accuracy.
/// The norm alone is too pessimistic if the powers of a are small compared with those of the norm.
/// Al-Mohy and Higham, "A new scaling and squaring algorithm for the matrix exponential" (2009).
template <Differentiable T>
double spare_doublings(Tensor<T> const& a, Tensor<T> const& a4, Tensor<T> const& a6) {
    using P = precision_of<T>;
    static constexpr double largest_root = 4.25, log2_of_coefficient_27 = -116.44695;
    double const root = std::max(std::pow(norm_1(a4), 1. / 4), std::pow(norm_1(a6), 1. / 6));
    Tensor<P> const magnitudes = abs(a);
    Tensor<P> columns = ones<P>({1, a.shape(0)});
    for (int i = 0; i < 27; ++i) columns = matmul(columns, magnitudes);
    double const growth = std::log2(static_cast<double>(amax(columns).item()) / norm_1(a));
    return std::floor(
        std::min(std::log2(largest_root / root), -(growth + log2_of_coefficient_27 + 53) / 26));
}

/// Scaling and squaring of the Pade approximant of degree 13: Higham, "The scaling and squaring
/// method for the matrix exponential revisited" (2005).
template <Differentiable T> Tensor<T> exponential_of(Tensor<T> const& matrix) {
    using P = precision_of<T>;
    static constexpr std::array<double, 14> b{64764752532480000, 32382376266240000,
        7771770303897600, 1187353796428800, 129060195264000, 10559470521600, 670442572800,
        33522128640, 1323241920, 40840800, 960960, 16380, 182, 1};
    static constexpr double largest_norm = 5.371920351148152;
    double const norm = norm_1(matrix);
    if (!is_finite(norm)) return full<T>(matrix.shape(), T(std::numeric_limits<P>::quiet_NaN()));
    int squarings = std::max(0, std::ilogb(norm / largest_norm) + 1);
    auto const c = [](std::size_t i) { return static_cast<P>(b[i] / b[0]); };

    auto const one = eye<T>(matrix.shape(0));
    Tensor<T> a, a2, a4, a6;
    auto const scale = [&] {
        a = static_cast<P>(std::ldexp(1., -squarings)) * matrix;
        a2 = matmul(a, a), a4 = matmul(a2, a2), a6 = matmul(a4, a2);
    };
    scale();
    if (squarings > 2)
        // it costs as many products as scaling saves
        if (auto const spare = spare_doublings(a, a4, a6); spare > 2) {
            squarings = spare < squarings ? squarings - static_cast<int>(spare) : 0;
            scale();
        }
    Tensor<T> const odd =
        matmul(a, Tensor<T>(matmul(a6, Tensor<T>(c(13) * a6 + c(11) * a4 + c(9) * a2)) + c(7) * a6 +
                            c(5) * a4 + c(3) * a2 + c(1) * one));
    Tensor<T> const even = matmul(a6, Tensor<T>(c(12) * a6 + c(10) * a4 + c(8) * a2)) + c(6) * a6 +
                           c(4) * a4 + c(2) * a2 + one;
    Tensor<T> power = linalg::solve(even - odd, even + odd);
    for (int i = 0; i < squarings; ++i) power = matmul(power, power);
    return power;
}

/// exp(A). Its gradient D is the derivative at A^H in the direction of the incoming gradient G,
/// from a matrix of twice the size: exp([A^H G; 0 A^H]) = [exp(A^H) D; 0 exp(A^H)]. Najfeld and
/// Havel, "Derivatives of the matrix exponential and their computation" (1995).
template <Differentiable T> struct LinalgMatrixExp : Function<LinalgMatrixExp<T>> {
    using P = precision_of<T>;
    using Saved = std::tuple<Tensor<T>>;

    static Tensor<T> forward(Context<LinalgMatrixExp>& ctx, Tensor<T> const& a) {
        ctx.save_for_backward(a);
        auto const result = Tensor<T>::empty(a.shape());
        if (a.numel() == 0) return result;
        auto const n = static_cast<std::ptrdiff_t>(a.shape(-1));
        Tensor<T> const from = reshape(a, {-1, n, n}), to = reshape(result, {-1, n, n});
        for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(from.shape(0)); ++i)
            to[i] = exponential_of(from[i]);
        return result;
    }
    static Tensor<T> backward(Context<LinalgMatrixExp>& ctx, Tensor<T> const& g) {
        auto const [a] = ctx.saved_tensors();
        auto const n = static_cast<std::ptrdiff_t>(a.shape(-1));
        Tensor<T> const across = adjoint(a);
        // The result is linear in g, so g is scaled: a large g would cost digits of A.
        auto const norms = [](Tensor<T> const& x) {
            return x.numel() ? Tensor<P>(amax(abs(x.detach()), {-2, -1}, true)) : Tensor<P>(P(1));
        };
        Tensor<P> const scale = clamp_min(Tensor<P>(norms(g) / clamp_min(norms(a), P(1))), P(1));
        auto const above = cat(std::vector{across, Tensor<T>(g / scale)}, -1),
                   below = cat(std::vector{zeros_like(g), across}, -1);
        return scale * LinalgMatrixExp::apply(cat(std::vector{above, below}, -2))(
                           xt::ellipsis(), slice(0, n), slice(n));
    }
};

} // namespace detail

namespace linalg {

/// exp(A) = 1 + A + A A/2 + ... of each square matrix.
template <Operand A> auto matrix_exp(A const& a) {
    auto const x = detail::square_argument("linalg.matrix_exp", a);
    return detail::LinalgMatrixExp<typename A::value_type>::apply(x);
}

/// The n-th power of each square matrix; of its inverse for a negative n.
template <Operand A> auto matrix_power(A const& a, std::ptrdiff_t n) {
    using T = typename A::value_type;
    auto base = detail::square_argument("linalg.matrix_power", a);
    if (n == 1) return base.clone();
    if (n < 0)
        base = detail::inverse(
            base, detail::regular_factors("linalg.matrix_power", base, "inversion"), false);
    if (n == 1) return base.clone();
    Tensor<T> result;
    for (auto left = n < 0 ? 0 - static_cast<std::size_t>(n) : static_cast<std::size_t>(n); left;
         left /= 2) {
        if (left % 2) result = result.defined() ? matmul(result, base) : base;
        if (left > 1) base = matmul(base, base);
    }
    if (n == 0) return Tensor<T>(broadcast_to(eye<T>(base.shape(-1)), base.shape())).clone();
    return result;
}

} // namespace linalg
} // namespace xgrad
