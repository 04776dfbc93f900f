// Products of vectors and matrices.
//
// Shapes: matmul() multiplies matrices in the last two axes and broadcasts the axes before them; a
// vector counts as a row on the left, as a column on the right, and its axis is removed. dot() and
// outer() take vectors, vdot() any two arrays of as many elements.
// Gradients: g B^H for A and A^H g for B, summed over broadcast axes, of any order, in backward and
// forward mode; a real factor beside a complex one gets the real part. Products of integers have
// none.
// Errors: shapes that do not fit are a ShapeError; adjoint() of fewer than two axes is an
// IndexError; an undefined tensor is an Error. matmul() of two masks does not compile.
#pragma once

#include <xgrad/kernels/gemm.hpp>
#include <xgrad/ops/complex.hpp>
#include <xgrad/ops/reduction.hpp>

namespace xgrad {

/// The role of a factor in a matrix product: matrices, or a last axis of rows or columns.
struct MatmulFactor {
    /// What the last axes of a factor are: a `matrix`, a `row` of one, or a `column` of one.
    enum class Form : std::uint8_t { matrix, row, column };

    /// With `conj` the factor is conjugated, with `transposed` its last two axes are exchanged.
    bool conj = false, transposed = false;
    Form form = Form::matrix; // before it is transposed

    /// True for a vector that stands as one row of the product, transposed or not.
    bool is_row() const noexcept { return form == (transposed ? Form::column : Form::row); }
    /// True for a vector that stands as one column of the product, transposed or not.
    bool is_column() const noexcept { return form == (transposed ? Form::row : Form::column); }
    /// The number of axes that belong to a matrix or a vector; those before them are batch axes.
    std::size_t axes() const noexcept { return form == Form::matrix ? 2 : 1; }
};

/// Matrix products over broadcast batch axes, with each factor optionally conjugated and
/// transposed. A row times matrices, or matrices times a column, has one axis less; a row times a
/// column is not allowed. Each gradient is such a product with the adjoint of the other factor,
/// which sets flags and copies nothing.
struct Matmul : Arraywise {
    MatmulFactor a_is, b_is; // the role of the first factor (a_is) and of the second one (b_is)
    static constexpr bool is_multilinear = true;
    static constexpr detail::Uses uses[] = {detail::uses_argument(1), detail::uses_argument(0)};
    /// The batch axes, and the rows of the first factor or the columns of the second one.
    Axes kept_axes(std::size_t operand, std::size_t rank_of_operand, std::size_t rank) const {
        Axes kept(rank, -1);
        bool const is_first = operand == 0;
        auto const& is = is_first ? a_is : b_is;
        std::size_t const form = result_form() == Form::matrix ? 2 : 1;
        for (std::size_t r = rank - form, o = rank_of_operand - is.axes(); r > 0 && o > 0;)
            kept[--r] = static_cast<std::ptrdiff_t>(--o);
        if (is_first ? !is.is_row() : !is.is_column())
            kept[rank - (is_first ? form : 1)] = static_cast<std::ptrdiff_t>(
                rank_of_operand - (is.form == Form::matrix && is_first != is.transposed ? 2 : 1));
        return kept;
    }

    template <Scalar A, Scalar B>
    auto value(detail::Array<A> const& a, detail::Array<B> const& b) const {
        using P = widest_precision<precision_of<A>, precision_of<B>>;
        using Y =
            std::conditional_t<detail::is_complex<A> || detail::is_complex<B>, std::complex<P>, P>;
        return product<Y>(promoted<Y>(a), promoted<Y>(b));
    }
    /// For y = op(a) op(b), the gradient of op(a) is g op(b)^H; op maps it back to a. If op
    /// transposes, the factors change their order.
    auto pullback(wrt<0>, auto const& g, auto const&, auto const& a, auto const& b) const {
        MatmulFactor const from_g{a_is.conj, a_is.transposed, result_form()},
            from_b{a_is.conj == b_is.conj, a_is.transposed == b_is.transposed, b_is.form};
        return like(a_is.transposed ? express(Matmul{{}, from_b, from_g}, b, g)
                                    : express(Matmul{{}, from_g, from_b}, g, b),
            a);
    }
    auto pullback(wrt<1>, auto const& g, auto const&, auto const& a, auto const& b) const {
        MatmulFactor const from_g{b_is.conj, b_is.transposed, result_form()},
            from_a{a_is.conj == b_is.conj, a_is.transposed == b_is.transposed, a_is.form};
        return like(b_is.transposed ? express(Matmul{{}, from_g, from_a}, g, a)
                                    : express(Matmul{{}, from_a, from_g}, a, g),
            b);
    }

private:
    using Form = MatmulFactor::Form;
    auto result_form() const noexcept -> Form {
        return a_is.is_row() ? Form::row : b_is.is_column() ? Form::column : Form::matrix;
    }

    /// The matrices of a factor as the product reads them.
    struct Matrix {
        std::size_t rows = 1, columns = 1;
        std::ptrdiff_t row_step = 1, column_step = 1;

        Matrix(Shape const& shape, Strides const& strides, MatmulFactor is) {
            if (is.form != Form::column) {
                columns = shape.back();
                column_step = strides.back();
            } else {
                rows = shape.back();
                row_step = strides.back();
            }
            if (is.form == Form::matrix) {
                rows = *(shape.end() - 2);
                row_step = *(strides.end() - 2);
            }
            if (!is.transposed) return;
            std::swap(rows, columns);
            std::swap(row_step, column_step);
        }
    };

    [[noreturn, gnu::cold]] static void fail_to_fit(Shape const& a, Shape const& b) {
        detail::fail<ShapeError>("matmul: shapes ", a, " and ", b, " cannot be multiplied");
    }
    template <class Y> static detail::Array<Y> const& promoted(detail::Array<Y> const& x) {
        return x;
    }
    template <class Y, class T>
        requires(!std::same_as<Y, T>)
    static detail::Array<Y> promoted(detail::Array<T> const& x) {
        detail::Array<Y> out(x.shape);
        detail::copy_elements(out, x);
        return out;
    }
    template <class Y>
    detail::Array<Y> product(detail::Array<Y> const& a, detail::Array<Y> const& b) const {
        std::size_t const in_a = a_is.axes(), in_b = b_is.axes();
        if (a.shape.size() < in_a || b.shape.size() < in_b) fail_to_fit(a.shape, b.shape);
        Matrix const left(a.shape, a.strides, a_is), right(b.shape, b.strides, b_is);
        if (left.columns != right.rows) fail_to_fit(a.shape, b.shape);
        if (a.shape.size() != in_a || b.shape.size() != in_b) return products(a, b, left, right);
        detail::Array<Y> out(a_is.is_row()      ? Shape{right.columns}
                             : b_is.is_column() ? Shape{left.rows}
                                                : Shape{left.rows, right.columns});
        multiply(left, right, a.begin(), b.begin(), out.begin());
        return out;
    }
    template <class Y>
    void multiply(Matrix const& left, Matrix const& right, Y const* a, Y const* b, Y* out) const {
        detail::gemm<Y>(left.rows, right.columns, left.columns, a, left.row_step, left.column_step,
            a_is.conj, b, right.row_step, right.column_step, b_is.conj, out,
            static_cast<std::ptrdiff_t>(right.columns), false);
    }
    template <class Y>
    [[gnu::noinline]] detail::Array<Y> products(detail::Array<Y> const& a,
        detail::Array<Y> const& b, Matrix const& left, Matrix const& right) const {
        std::size_t const m = left.rows, n = right.columns, in_a = a_is.axes(), in_b = b_is.axes();
        Shape batch_a(a.shape.begin(), a.shape.end() - in_a),
            batch_b(b.shape.begin(), b.shape.end() - in_b);
        Shape batch = batch_a;
        if (!detail::widen(batch, batch_b)) fail_to_fit(a.shape, b.shape);
        auto const steps_a = detail::broadcast_strides(
            batch_a, Strides(a.strides.begin(), a.strides.end() - in_a), batch);
        auto const steps_b = detail::broadcast_strides(
            batch_b, Strides(b.strides.begin(), b.strides.end() - in_b), batch);
        Shape shape = batch;
        if (!a_is.is_row()) shape.push_back(m);
        if (!b_is.is_column()) shape.push_back(n);
        detail::Array<Y> out(std::move(shape));
        Strides const* const steps[] = {&steps_a, &steps_b};
        std::ptrdiff_t const step_a = batch.empty() ? 0 : steps_a.back(),
                             step_b = batch.empty() ? 0 : steps_b.back();
        Y* c = out.begin();
        detail::for_each_run(batch, steps, [&](std::size_t count, std::ptrdiff_t const* at) {
            for (std::size_t i = 0; i < count; ++i, c += m * n)
                multiply(left, right, a.begin() + at[0] + static_cast<std::ptrdiff_t>(i) * step_a,
                    b.begin() + at[1] + static_cast<std::ptrdiff_t>(i) * step_b, c);
        });
        return out;
    }
    /// Reduces a gradient to the shape of its factor, and to its real part if the factor is real.
    template <class G, class X> static auto like(G g, X const& x) {
        using T = typename X::value_type;
        if constexpr (std::same_as<G, X>)
            return g.shape() == x.shape() ? std::move(g) : sum_to(g, x.shape());
        else if constexpr (!detail::is_complex<T>)
            return sum_to(cast<T>(materialize_expression(real(g))), x.shape());
        else return sum_to(cast<T>(g), x.shape());
    }
};

namespace detail {

/// A factor of a product: its tensor and a flag for conjugation. conj(z) is unwrapped, so it needs
/// no copy.
template <class T, bool conjugated = false> struct Factor {
    static constexpr bool conj = conjugated;
    T tensor;

    auto elements() const {
        if constexpr (conjugated) return xgrad::conj(tensor);
        else return tensor;
    }
};
template <Operand X> auto factor(X const& x) {
    using T = decltype(materialize_expression(x));
    if constexpr (std::derived_from<X, T>) return Factor<T const&>{x};
    else return Factor<T>{materialize_expression(x)};
}
template <class T>
    requires requires { typename T::tensor_tag; }
Factor<T const&, true> factor(Expression<Conj, T> const& x) {
    return {get<0>(x.x)};
}

} // namespace detail

/// Matrix product as NumPy's: of vectors the inner product (without conjugation), of a matrix and a
/// vector, of matrices, and of stacks of matrices with broadcasting. Factors may be real or
/// complex, in any mix.
template <Operand A, Operand B> auto matmul(A const& a, B const& b) {
    constexpr bool are_masks =
        std::same_as<typename A::scalar, bool> && std::same_as<typename B::scalar, bool>;
    static_assert(!are_masks, "matmul: masks are no numbers; cast<std::int64_t>(mask) is one");
    if constexpr (are_masks) return detail::StandIn();
    else {
        auto const x = detail::factor(a);
        auto const y = detail::factor(b);
        Shape const &p = x.tensor.shape(), &q = y.tensor.shape();
        if (p.empty() || q.empty() || p.back() != q[q.size() == 1 ? 0 : q.size() - 2])
            detail::fail<ShapeError>("matmul: shapes ", p, " and ", q, " cannot be multiplied");
        using Form = MatmulFactor::Form;
        Form const of_a = p.size() == 1 ? Form::row : Form::matrix,
                   of_b = q.size() == 1 ? Form::column : Form::matrix;
        if (of_a == Form::matrix || of_b == Form::matrix)
            return express(
                Matmul{{}, {x.conj, false, of_a}, {y.conj, false, of_b}}, x.tensor, y.tensor);
        return sum(x.elements() * y.elements());
    }
}

namespace detail {
template <class A, class B> void check_vectors(std::string_view operation, A const& a, B const& b) {
    check_defined(operation, a);
    check_defined(operation, b, 1);
    auto const p = a.shape(), q = b.shape();
    if (p.size() != 1 || q.size() != 1 || p[0] != q[0])
        fail<ShapeError>(operation, ": two vectors of one length are needed, not shapes ", Shape(p),
            " and ", Shape(q));
}
} // namespace detail

/// Inner product of two vectors, without conjugation.
template <Operand A, Operand B> auto dot(A const& a, B const& b) {
    detail::check_vectors("dot", a, b);
    return sum(a * b);
}
/// Inner product of all elements in row-major order, the first ones conjugated.
template <Operand A, Operand B> auto vdot(A const& a, B const& b) {
    detail::check_defined("vdot", a);
    detail::check_defined("vdot", b, 1);
    Shape const p = a.shape(), q = b.shape();
    if (p == q) return sum(conj(a) * b);
    if (numel(p) != numel(q))
        detail::fail<ShapeError>(
            "vdot: two arrays of as many elements are needed, not shapes ", p, " and ", q);
    return sum(conj(flatten(materialize_expression(a))) * flatten(materialize_expression(b)));
}
/// All products of an element of one vector with one of another (without conjugation).
template <Operand A, Operand B> auto outer(A const& a, B const& b) {
    auto const x = detail::factor(a);
    auto const y = detail::factor(b);
    if (x.tensor.dim() != 1 || y.tensor.dim() != 1)
        detail::fail<ShapeError>("outer: two vectors are needed, not shapes ", x.tensor.shape(),
            " and ", y.tensor.shape());
    using Form = MatmulFactor::Form;
    constexpr bool have_gradients =
        detail::takes_gradients<typename A::kind> && detail::takes_gradients<typename B::kind>;
    if constexpr (have_gradients)
        return express(Matmul{{}, {x.conj, false, Form::column}, {y.conj, false, Form::row}},
            x.tensor, y.tensor);
    else
        return materialize_expression(unsqueeze(materialize_expression(x.elements()), 1) *
                                      unsqueeze(materialize_expression(y.elements()), 0));
}
/// Conjugate transpose of each matrix.
template <Operand A> auto adjoint(A const& a) {
    detail::normalize_axis("adjoint", -2, a.shape());
    return conj(mT(a));
}

} // namespace xgrad
