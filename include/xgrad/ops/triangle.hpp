// Triangles of matrices, matrices with a given diagonal, and the trace.
//
// Shapes: tril() and triu() keep the shape; the last two axes are the matrix. diag_embed() adds an
// axis; diag() takes a vector or a matrix, trace() a matrix.
// Gradients: the same triangle of the gradient, or its diagonal, or a matrix with it as diagonal;
// of any order, in backward and forward mode.
// Errors: another number of axes is a ShapeError, and so is an offset that makes a matrix too large
// for any memory; an undefined tensor is an Error.
#pragma once

#include <xgrad/ops/shaping.hpp>

namespace xgrad {

/// Sets the elements above or below a diagonal to zero. Triangle is its own adjoint.
struct Triangle : Arraywise {
    std::ptrdiff_t offset = 0; // of the diagonal; a positive one lies above the main diagonal
    bool lower = true;         // true: elements above the diagonal become 0; false: those below
    static constexpr auto dependence = Dependence::selection;

    template <Scalar T> auto value(detail::Array<T> const& x) const {
        auto const from = detail::contiguous(x);
        detail::Array<T> out(x.shape);
        if (x.numel == 0) return out;
        auto const rows = static_cast<std::ptrdiff_t>(*(x.shape.end() - 2)),
                   columns = static_cast<std::ptrdiff_t>(x.shape.back());
        auto const diagonal = std::clamp(offset, -rows, columns);
        T const* next = from.begin();
        T* to = out.begin();
        for (std::ptrdiff_t row = 0; next != from.end();
             row = row + 1 == rows ? 0 : row + 1, next += columns) {
            auto const border =
                std::clamp<std::ptrdiff_t>(row + diagonal + (lower ? 1 : 0), 0, columns);
            to = lower ? std::copy_n(next, border, to) : std::fill_n(to, border, T(0));
            to = lower ? std::fill_n(to, columns - border, T(0))
                       : std::copy_n(next + border, columns - border, to);
        }
        return out;
    }
    auto pullback(wrt<0>, auto const& g, auto const&, auto const&) const {
        return express(*this, g);
    }
};

namespace detail {
template <Operand X>
auto triangle(std::string_view operation, X const& x, std::ptrdiff_t offset, bool lower) {
    check_defined(operation, x);
    if (x.dim() < 2)
        fail<ShapeError>(operation, ": a matrix is needed, or several, not an array of shape ",
            Shape(x.shape()));
    return express(Triangle{{}, offset, lower}, x);
}
} // namespace detail

/// Each matrix with zeros above its diagonal, or above the one that lies `offset` columns to the
/// right of it.
template <Operand X> auto tril(X const& x, std::ptrdiff_t offset = 0) {
    return detail::triangle("tril", x, offset, true);
}
/// Each matrix with zeros below its diagonal, or below the one that lies `offset` columns to the
/// right of it.
template <Operand X> auto triu(X const& x, std::ptrdiff_t offset = 0) {
    return detail::triangle("triu", x, offset, false);
}

/// Square matrices of zeros with the last axis of x as one of their diagonals. The adjoint selects
/// that diagonal.
struct DiagEmbed : Arraywise {
    std::ptrdiff_t offset = 0; // of the diagonal; a positive one lies above the main diagonal
    static constexpr auto dependence = Dependence::selection;

    template <Scalar T> auto value(detail::Array<T> const& x) const {
        Shape shape = x.shape;
        auto const side = shape.back() += static_cast<std::size_t>(std::abs(offset));
        shape.push_back(side);
        detail::Array<T> out(shape, T(0));
        auto const row = static_cast<std::ptrdiff_t>(side);
        Strides strides(out.strides.begin(), out.strides.end() - 1);
        strides.back() = row + 1;
        detail::copy_elements(
            out.view(x.shape, std::move(strides), offset < 0 ? -offset * row : offset), x);
        return out;
    }
    auto pullback(wrt<0>, auto const& g, auto const&, auto const&) const {
        return g.diagonal(offset, -2, -1);
    }
};

/// Square matrices of zeros with the last axis of x as their diagonals, or as the ones that lie
/// `offset` columns to the right.
template <Operand X> auto diag_embed(X const& x, std::ptrdiff_t offset = 0) {
    if (x.dim() == 0)
        detail::fail<ShapeError>("diag_embed: a number has no axis that could be a diagonal");
    if (constexpr auto most = static_cast<std::ptrdiff_t>(detail::max_elements);
        offset > most || offset < -most)
        detail::fail<ShapeError>("diag_embed: a matrix with a diagonal at ", offset,
            " has more elements than any memory");
    return express(DiagEmbed{{}, offset}, x);
}

/// The matrix with a vector as its diagonal; or the diagonal of a matrix, as a copy (diagonal() is
/// a view).
template <Operand X> auto diag(X const& x, std::ptrdiff_t offset = 0) {
    auto const t = materialize_expression(x);
    if (t.dim() != 1 && t.dim() != 2)
        detail::fail<ShapeError>(
            "diag: a vector or a matrix is needed, not an array of shape ", t.shape());
    return t.dim() == 1 ? diag_embed(t, offset) : t.diagonal(offset, 0, 1).clone();
}

/// The sum of a matrix's diagonal.
template <Operand X> auto trace(X const& x) {
    auto const t = materialize_expression(x);
    if (t.dim() != 2)
        detail::fail<ShapeError>("trace: a matrix is needed, not an array of shape ", t.shape());
    return sum(t.diagonal(0, 0, 1));
}

} // namespace xgrad
