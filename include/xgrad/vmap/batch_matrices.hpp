// Products, solves and decompositions of matrices of a Batched: each is that of the stack of the
// matrices of all examples. They are found by their arguments where the program includes
// linalg.hpp, which this header does not.
//
// Shapes: those of the functions of linalg/, for each example.
// Gradients: those of the functions.
// Errors: those of the functions; examples of too few dimensions are a ShapeError.
#pragma once

#include <xgrad/vmap/batch_functions.hpp>

namespace xgrad {

namespace detail {
template <class X, class F> auto on_matrix(std::string_view name, X const& x, F const& f) {
    if (x.dim() < 2)
        fail<ShapeError>("linalg.", name,
            ": The input tensor must have at least 2 dimensions, and has shape ", x.shape());
    return on_all(x, [&](auto const& t, std::size_t) { return f(t); });
}
} // namespace detail

// Matrices: `linalg::f(x)` and `f(x)`.
namespace linalg {
/// `f()` of each example.
#define XGRAD_OF_MATRIX(f)                                                                         \
    template <BatchedOperand X> auto f(X const& x) {                                               \
        return detail::on_matrix(#f, x, [](auto const& t) { return f(t); });                       \
    }
XGRAD_OF_MATRIX(cholesky)
XGRAD_OF_MATRIX(det)
XGRAD_OF_MATRIX(inv)
XGRAD_OF_MATRIX(matrix_exp)
XGRAD_OF_MATRIX(qr)
XGRAD_OF_MATRIX(slogdet)
XGRAD_OF_MATRIX(svd)
XGRAD_OF_MATRIX(svdvals)
#undef XGRAD_OF_MATRIX
/// eigh() of each example.
template <BatchedOperand X> auto eigh(X const& x, Flag upper = false) {
    return detail::on_matrix("eigh", x, [&](auto const& t) { return eigh(t, upper); });
}
/// eigvalsh() of each example.
template <BatchedOperand X> auto eigvalsh(X const& x, Flag upper = false) {
    return detail::on_matrix("eigvalsh", x, [&](auto const& t) { return eigvalsh(t, upper); });
}
/// matrix_power() of each example.
template <BatchedOperand X> auto matrix_power(X const& x, std::ptrdiff_t n) {
    return detail::on_matrix("matrix_power", x, [&](auto const& t) { return matrix_power(t, n); });
}
} // namespace linalg

namespace detail {
/// f(a, b) for stacks of matrices, of which b may be vectors: those are columns meanwhile.
template <class A, class B, class F>
auto on_matrices(std::string_view name, A const& a, B const& b, bool vectors, F const& f) {
    using Lv = joined_levels<A, B>;
    auto const fails = [&] {
        fail<ShapeError>(name, ": shapes ", Shape(a.shape()), " and ", Shape(b.shape()),
            " are no matrix, and a matrix or vector beside it");
    };
    if (a.dim() < 2 || b.dim() < (vectors ? 1u : 2u)) fails();
    auto const p = materialize_expression(a);
    auto const q = materialize_expression(b);
    auto const columns = vectors ? materialize_expression(unsqueeze(q, -1)) : q;
    auto const rank = std::max(p.dim(), columns.dim());
    auto const of = [&](auto const& x) {
        return materialize(
            lifted<Lv>(x, is_batched<std::remove_cvref_t<decltype(x)>> ? rank : x.dim()));
    };
    auto const y = batched<Lv>(Tensor<typename A::scalar>(f(of(p), of(columns))));
    return vectors ? materialize_expression(squeeze(y, -1)) : y;
}
} // namespace detail

namespace linalg {
/// solve() of each example.
template <class A, class B>
    requires AnyBatched<A, B>
auto solve(A const& a, B const& b) {
    Shape const p = a.shape(), q = b.shape();
    bool const vectors = q.size() == 1 || (q.size() + 1 == p.size() && p.size() &&
                                              q == Shape(p.begin(), p.end() - 1));
    return detail::on_matrices(
        "linalg.solve", a, b, vectors, [](auto const& x, auto const& y) { return solve(x, y); });
}
struct TriangularOptions; // linalg/triangular.hpp
/// solve_triangular() of each example.
template <class A, class B, std::same_as<TriangularOptions> Options = TriangularOptions>
    requires AnyBatched<A, B>
auto solve_triangular(A const& a, B const& b, Options options = {}) {
    return detail::on_matrices("linalg.solve_triangular", a, b, b.dim() == 1 && options.left,
        [&](auto const& x, auto const& y) { return solve_triangular(x, y, options); });
}
/// cholesky_solve() of each example.
template <class B, class L>
    requires AnyBatched<B, L>
auto cholesky_solve(B const& b, L const& l, Flag upper = false) {
    return detail::on_matrices("linalg.cholesky_solve", l, b, b.dim() == 1,
        [&](auto const& x, auto const& y) { return cholesky_solve(y, x, upper); });
}
} // namespace linalg

using linalg::cholesky;
using linalg::cholesky_solve;
using linalg::det;
using linalg::eigh;
using linalg::eigvalsh;
using linalg::inv;
using linalg::matrix_exp;
using linalg::matrix_power;
using linalg::qr;
using linalg::slogdet;
using linalg::solve;
using linalg::solve_triangular;
using linalg::svd;
using linalg::svdvals;

namespace detail {
/// The equation of einsum() with an index for each of some levels before those of the result, and
/// of the operands that are marked.
inline std::string with_level_indices(
    std::string_view equation, std::size_t levels, std::initializer_list<bool> marked) {
    std::string text, result, front;
    for (char const c : equation)
        if (c != ' ') text += c;
    auto const arrow = text.find("->");
    for (char c = 'A'; c <= 'z' && front.size() < levels; ++c)
        if ((c <= 'Z' || c >= 'a') && text.find(c) == std::string::npos) front += c;
    if (front.size() < levels) fail<Error>("vmap: einsum has no letter left in \"", text, "\"");
    auto const inputs = text.substr(0, arrow);
    if (arrow != std::string::npos) result = text.substr(arrow + 2);
    else { // the indices that occur once
        if (inputs.find("...") != std::string::npos) result = "...";
        for (char c = 'A'; c <= 'z'; ++c)
            if (c != '.' && std::count(inputs.begin(), inputs.end(), c) == 1) result += c;
    }
    std::string out;
    auto const* is_marked = marked.begin();
    auto const begin_operand = [&] {
        if (is_marked != marked.end() && *is_marked++) out += front;
    };
    begin_operand();
    for (char const c : inputs) {
        out += c;
        if (c == ',') begin_operand();
    }
    return out + "->" + front + result;
}
} // namespace detail
/// einsum() of each example.
/// (The template parameter of the equation makes this overload the better one.)
template <std::convertible_to<std::string_view> Equation, class First, class... X>
    requires(detail::is_batched<First> || ... || detail::is_batched<X>)
auto einsum(Equation const& equation, First const& first, X const&... rest) {
    using Lv = detail::joined_levels<First, X...>;
    auto const sizes = detail::level_sizes(Lv());
    auto const of = [&]<class T>(T const& x) {
        if constexpr (detail::is_batched<T>) return detail::stacked_over<Lv>(x, sizes);
        else return materialize_expression(x);
    };
    auto const with_levels = detail::with_level_indices(
        equation, Lv::count, {detail::is_batched<First>, detail::is_batched<X>...});
    return detail::batched_result<Lv>(
        einsum(std::string_view(with_levels), of(first), of(rest)...));
}
/// tensordot() of each example: a product of matrices, of the axes that are summed over and the
/// others.
template <class A, class B>
    requires AnyBatched<A, B>
auto tensordot(A const& a, B const& b, Axes const& axes_a, Axes const& axes_b) {
    auto const n = static_cast<std::ptrdiff_t>(axes_a.size());
    Axes last, first = detail::all_axes(axes_b.size());
    for (std::ptrdiff_t i = 0; i < n; ++i) last.push_back(i - n);
    auto const x = materialize_expression(movedim(materialize_expression(a), axes_a, last));
    auto const y = materialize_expression(movedim(materialize_expression(b), axes_b, first));
    Shape const p = x.shape(), q = y.shape();
    auto const rest = p.size() - axes_a.size();
    Shape const summed(p.begin() + rest, p.end());
    if (!(summed == Shape(q.begin(), q.begin() + axes_b.size())))
        detail::fail<ShapeError>("tensordot: axes ", axes_a, " of shape ", Shape(a.shape()),
            " and axes ", axes_b, " of shape ", Shape(b.shape()), " have different extents");
    auto const k = static_cast<std::ptrdiff_t>(numel(summed));
    Shape shape(p.begin(), p.begin() + rest);
    auto const rows = static_cast<std::ptrdiff_t>(numel(shape));
    Shape const columns(q.begin() + axes_b.size(), q.end());
    for (auto const extent : columns) shape.push_back(extent);
    auto const product =
        matmul(reshape(x, {rows, k}), reshape(y, {k, static_cast<std::ptrdiff_t>(numel(columns))}));
    return reshape(product, Axes(shape));
}
template <class A, class B>
    requires AnyBatched<A, B>
auto tensordot(A const& a, B const& b, std::size_t n = 2) {
    if (a.dim() < n || b.dim() < n)
        detail::fail<ShapeError>("tensordot: shapes ", Shape(a.shape()), " and ", Shape(b.shape()),
            " have no ", n, " axes to sum over");
    Axes last;
    for (std::size_t i = 0; i < n; ++i)
        last.push_back(static_cast<std::ptrdiff_t>(a.dim() - n + i));
    return tensordot(a, b, last, detail::all_axes(n));
}

} // namespace xgrad
