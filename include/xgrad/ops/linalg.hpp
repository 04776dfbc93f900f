// Products of vectors and matrices.
#pragma once

#include <xgrad/base/gemm.hpp>
#include <xgrad/ops/complex.hpp>
#include <xgrad/ops/reduction.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad {

/// Matrix products over broadcast leading axes, each factor conjugated or not. Each rule is a product with the other
/// factor's adjoint, which costs a flag and a stride and no copy.
struct Matmul : Arraywise {
    bool conj_a = false, conj_b = false;
    static constexpr bool is_multilinear = true;
    static constexpr detail::Uses uses[] = {detail::uses_argument(1), detail::uses_argument(0)};

    template <Scalar A, Scalar B> auto value(detail::Array<A> const& a, detail::Array<B> const& b) const
    {
        using P = widest_precision<precision_of<A>, precision_of<B>>;
        using Y = std::conditional_t<detail::is_complex<A> || detail::is_complex<B>, std::complex<P>, P>;
        check(a.shape, b.shape);
        return product<Y>(promoted<Y>(a), promoted<Y>(b));
    }
    auto pullback(wrt<0>, auto const& g, auto const&, auto const& a, auto const& b) const
    {
        return like(express(Matmul{{}, conj_a, conj_a == conj_b}, g, mT(b)), a);
    }
    auto pullback(wrt<1>, auto const& g, auto const&, auto const& a, auto const& b) const
    {
        return like(express(Matmul{{}, conj_a == conj_b, conj_b}, mT(a), g), b);
    }

private:
    static void check(Shape const& a, Shape const& b)
    {
        bool fits = a.size() >= 2 && b.size() >= 2 && a.back() == b[b.size() - 2];
        for (std::size_t i = 3; fits && i <= std::min(a.size(), b.size()); ++i) {
            auto const p = a[a.size() - i], q = b[b.size() - i];
            fits = p == q || p == 1 || q == 1;
        }
        if (!fits) detail::fail<ShapeError>("matmul: shapes ", a, " and ", b, " cannot be multiplied");
    }
    template <class Y, class T> static detail::Array<Y> promoted(detail::Array<T> const& x)
    {
        if constexpr (std::same_as<Y, T>) return x;
        else {
            detail::Array<Y> out(x.shape);
            detail::copy_elements(out, x);
            return out;
        }
    }
    template <class Y> detail::Array<Y> product(detail::Array<Y> const& a, detail::Array<Y> const& b) const
    {
        std::size_t const m = a.shape[a.shape.size() - 2], k = a.shape.back(), n = b.shape.back();
        if (a.shape.size() == 2 && b.shape.size() == 2) {
            detail::Array<Y> out(Shape{m, n});
            detail::gemm<Y>(m, n, k, a.begin(), a.strides[0], a.strides[1], conj_a, b.begin(), b.strides[0], b.strides[1], conj_b, out.begin(), static_cast<std::ptrdiff_t>(n), false);
            return out;
        }
        Shape batch_a(a.shape.begin(), a.shape.end() - 2), batch_b(b.shape.begin(), b.shape.end() - 2);
        Shape shape = detail::broadcast("matmul", batch_a, batch_b);
        auto const steps_a = detail::broadcast_strides(batch_a, Strides(a.strides.begin(), a.strides.end() - 2), shape);
        auto const steps_b = detail::broadcast_strides(batch_b, Strides(b.strides.begin(), b.strides.end() - 2), shape);
        Shape const batch = shape;
        shape.push_back(m);
        shape.push_back(n);
        detail::Array<Y> out(std::move(shape));
        auto const *last_a = a.strides.end() - 2, *last_b = b.strides.end() - 2;
        Strides const* const steps[] = {&steps_a, &steps_b};
        std::ptrdiff_t const step_a = batch.empty() ? 0 : steps_a.back(), step_b = batch.empty() ? 0 : steps_b.back();
        Y* c = out.begin();
        detail::for_each_run(batch, steps, [&](std::size_t count, std::ptrdiff_t const* at) {
            for (std::size_t i = 0; i < count; ++i, c += m * n)
                detail::gemm<Y>(m, n, k, a.begin() + at[0] + static_cast<std::ptrdiff_t>(i) * step_a, last_a[0], last_a[1], conj_a,
                                b.begin() + at[1] + static_cast<std::ptrdiff_t>(i) * step_b, last_b[0], last_b[1], conj_b, c, static_cast<std::ptrdiff_t>(n), false);
        });
        return out;
    }
    /// A gradient with the shape and the realness of the factor that it is for.
    static auto like(auto const& g, auto const& x)
    {
        using T = typename std::remove_cvref_t<decltype(x)>::value_type;
        if constexpr (!detail::is_complex<T>) return sum_to(cast<T>(materialize_expression(real(g))), x.shape());
        else return sum_to(cast<T>(g), x.shape());
    }
};

namespace detail {

/// A factor of a product: its tensor, and whether it is to be conjugated. conj(z) is taken apart, so that it needs no copy.
template <class T> struct Factor {
    T tensor;
    bool conj = false;
};
template <Operand X> auto factor(X const& x)
{
    auto t = materialize_expression(x);
    return Factor<decltype(t)>{std::move(t)};
}
template <class T>
    requires requires { typename T::leaf_tag; }
Factor<T> factor(Expression<Conj, T> const& x)
{
    return {get<0>(x.x), true};
}

}  // namespace detail

/// Matrix product as NumPy's: of vectors the inner product (without conjugation), of a matrix and a vector, of matrices, and
/// of stacks of matrices with broadcasting. Factors may be real or complex, in any mix.
template <Operand A, Operand B> auto matmul(A const& a, B const& b)
{
    auto const x = detail::factor(a);
    auto const y = detail::factor(b);
    Shape const &p = x.tensor.shape(), &q = y.tensor.shape();
    if (p.empty() || q.empty() || p.back() != q[q.size() == 1 ? 0 : q.size() - 2])
        detail::fail<ShapeError>("matmul: shapes ", p, " and ", q, " cannot be multiplied");
    bool const row = p.size() == 1, column = q.size() == 1;
    auto out = express(Matmul{{}, x.conj, y.conj}, row ? unsqueeze(x.tensor, 0) : x.tensor, column ? unsqueeze(y.tensor, 1) : y.tensor);
    if (column) out = squeeze(out, -1);
    if (row) out = squeeze(out, column ? -1 : -2);
    return out;
}

namespace detail {
template <class A, class B> void check_vectors(std::string_view operation, A const& a, B const& b)
{
    auto const p = a.shape(), q = b.shape();
    if (p.size() != 1 || q.size() != 1 || p[0] != q[0]) fail<ShapeError>(operation, ": two vectors of one length are needed, not shapes ", Shape(p), " and ", Shape(q));
}
}  // namespace detail

/// Inner product of two vectors, without conjugation.
template <Operand A, Operand B> auto dot(A const& a, B const& b)
{
    detail::check_vectors("dot", a, b);
    return sum(a * b);
}
/// Inner product of two vectors, the first one conjugated.
template <Operand A, Operand B> auto vdot(A const& a, B const& b)
{
    detail::check_vectors("vdot", a, b);
    return sum(conj(a) * b);
}
/// All products of an element of one vector with one of another (without conjugation).
template <Operand A, Operand B> auto outer(A const& a, B const& b)
{
    auto const x = materialize_expression(a);
    auto const y = materialize_expression(b);
    if (x.dim() != 1 || y.dim() != 1) detail::fail<ShapeError>("outer: two vectors are needed, not shapes ", x.shape(), " and ", y.shape());
    return materialize_expression(unsqueeze(x, 1) * unsqueeze(y, 0));
}
/// Conjugate transpose of each matrix.
template <Operand A> auto adjoint(A const& a) { return conj(mT(a)); }

}  // namespace xgrad
