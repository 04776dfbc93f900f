// Functions of NumPy and PyTorch that are composed of other operations, in a line or two each.
//
// Shapes: those of the functions that are called; of two operands they broadcast. diff() shortens
// the axis by n, trapezoid() removes it, take() gives the shape of the index.
// Gradients: those of the functions that are called, of any order, in backward and forward mode.
// equal(), isclose(), allclose() and stop_gradient() have none.
// Errors: a shape that does not fit is a ShapeError; an axis or an index out of range is an
// IndexError; a negative order of diff() and an undefined tensor are an Error.
#pragma once

#include <numbers>
#include <string_view>
#include <utility>

#include <xgrad/ops/flipping.hpp>
#include <xgrad/ops/masking.hpp>
#include <xgrad/ops/repeating.hpp>
#include <xgrad/ops/rounding.hpp>
#include <xgrad/tensor/aliases.hpp>
#include <xgrad/tensor/create.hpp>
#include <xgrad/tensor/index_select.hpp>
#include <xgrad/tensor/join.hpp>
#include <xgrad/tensor/quantile.hpp>

namespace xgrad {

// Of elements.

/// Degrees to radians, and radians to degrees.
template <Operand X> auto deg2rad(X const& x) { return (std::numbers::pi / 180) * x; }
template <Operand X> auto rad2deg(X const& x) { return (180 / std::numbers::pi) * x; }
/// The largest whole number that is not above the exact quotient a / b, so that b * floor_divide(a,
/// b) + remainder(a, b) is a. A real number, of integers, too.
template <class A, class B>
    requires AnyOperand<A, B>
auto floor_divide(A const& a, B const& b) {
    return round((a - remainder(a, b)) / b);
}
/// `value` where the mask is true, else x.
template <Operand X, Operand M, detail::OperandLike V>
auto masked_fill(X const& x, M const& mask, V const& value) {
    detail::check_broadcast("masked_fill", x, mask);
    if constexpr (Number<V>) return where(mask, typename X::scalar(value), x);
    else return where(mask, value, x);
}
/// True where |a - b| <= absolute + relative |b|, and for equal infinities.
template <Operand A, Operand B>
auto isclose(A const& a, B const& b, double relative = 1e-5, double absolute = 1e-8) {
    detail::check_broadcast("isclose", a, b);
    return a == b || (isfinite(b) && abs(a - b) <= absolute + relative * abs(b));
}
/// True if all elements are close: NaN to nothing, an infinity to itself, as NumPy has it.
template <Operand A, class B>
    requires AnyOperand<A, B>
bool allclose(A const& a, B const& b, double relative = 1e-5, double absolute = 1e-8) {
    NoGradGuard const off;
    if constexpr (std::is_arithmetic_v<B>)
        return allclose(a, Tensor<double>(static_cast<double>(b)), relative, absolute);
    else if constexpr (Number<B>) return allclose(a, Tensor<B>(b), relative, absolute);
    else {
        decltype(auto) other = detail::OperandTraits<B>::make(b);
        detail::check_broadcast("allclose", a, other);
        return all_of(isclose(a, other, relative, absolute)).item();
    }
}
/// True if shapes and all elements are the same.
template <Operand A, Operand B> bool equal(A const& a, B const& b) {
    NoGradGuard const off;
    return Shape(a.shape()) == Shape(b.shape()) && all_of(a == b).item();
}

// Of one axis.

/// The elements in reverse order along all axes.
template <Operand X> auto flip(X const& x) { return flip(x, detail::all_axes(x.dim())); }
/// flip() along axis 0 or 1.
template <Operand X> auto flipud(X const& x) { return flip(x, 0); }
template <Operand X> auto fliplr(X const& x) { return flip(x, 1); }
namespace detail {
/// x(i + 1) and x(i) along an axis, for all i that have both.
template <Scalar T>
std::pair<Tensor<T>, Tensor<T>> neighbours(
    std::string_view name, Tensor<T> const& x, std::ptrdiff_t axis) {
    auto const n = x.shape()[normalize_axis(name, axis, x.shape())], less = n ? n - 1 : 0;
    return {narrow(x, axis, n ? 1 : 0, less), narrow(x, axis, 0, less)};
}
} // namespace detail
/// x(i + 1) - x(i) along an axis, n times.
template <Operand X> auto diff(X const& x, std::ptrdiff_t n = 1, std::ptrdiff_t axis = -1) {
    if (n < 0) detail::fail("diff: the order is ", n, ", and must not be negative");
    auto y = materialize_expression(x);
    for (; n > 0 && y.numel() > 0; --n) {
        auto const [next, here] = detail::neighbours("diff", y, axis);
        y = next - here;
    }
    return y;
}
/// The integral of y along an axis by the trapezoidal rule, for a distance dx, or for positions x,
/// a vector.
template <Operand Y> auto trapezoid(Y const& y, double dx = 1, std::ptrdiff_t axis = -1) {
    auto const [next, here] = detail::neighbours("trapezoid", materialize_expression(y), axis);
    return sum((0.5 * dx) * (next + here), axis);
}
template <Operand Y, Operand X> auto trapezoid(Y const& y, X const& x, std::ptrdiff_t axis = -1) {
    auto const t = materialize_expression(movedim(materialize_expression(y), axis, -1));
    auto const n = t.shape().back();
    if (!(Shape(x.shape()) == Shape{n}))
        detail::fail<ShapeError>("trapezoid: positions are a vector with the extent of the axis, ",
            n, ", not of shape ", x.shape());
    auto const [next, here] = detail::neighbours("trapezoid", t, -1);
    return sum(0.5 * diff(x) * (next + here), -1);
}
template <class... A>
    requires AnyOperand<A...>
auto trapz(A const&... a) {
    return trapezoid(a...);
}
/// The cross product of vectors of three elements along an axis, which is counted in each array.
template <Operand A, Operand B> auto cross(A const& a, B const& b, std::ptrdiff_t axis = -1) {
    for (Shape const& shape : {Shape(a.shape()), Shape(b.shape())})
        if (shape[detail::normalize_axis("cross", axis, shape)] != 3)
            detail::fail<ShapeError>(
                "cross: the axis needs 3 elements, shapes are ", a.shape(), " and ", b.shape());
    auto const u = movedim(materialize_expression(a), axis, -1);
    auto const v = movedim(materialize_expression(b), axis, -1);
    auto const w = materialize_expression(
        roll(u, -1, -1) * roll(v, -2, -1) - roll(u, -2, -1) * roll(v, -1, -1));
    return materialize_expression(movedim(w, -1, axis));
}
/// quantile() of a percentage.
template <Operand X, class... Axis>
    requires(sizeof...(Axis) < 2 && (std::integral<Axis> && ...))
auto percentile(X const& x, double percent, Axis... axis) {
    detail::check_range("percentile: the percentage", percent, 0, 100);
    return quantile(x, percent / 100, axis...);
}
/// The elements of x with these row-major indices, in the shape of `index`.
template <Operand X> auto take(X const& x, Tensor<std::int64_t> const& index) {
    auto const row = flatten(x);
    auto const at = detail::positions(index, numel(Shape(x.shape())));
    return detail::only_reshaped(
        reshape(index_select(row, 0, at.reshape({-1})), Axes(index.shape())));
}
/// The slices of x along an axis with these indices; the shape of `index` replaces the axis.
template <Operand X> auto take(X const& x, Tensor<std::int64_t> const& index, std::ptrdiff_t axis) {
    auto const at = detail::normalize_axis("take", axis, x.shape());
    Axes shape;
    for (std::size_t d = 0; d < x.dim(); ++d)
        if (d != at) shape.push_back(static_cast<std::ptrdiff_t>(x.shape()[d]));
        else
            for (auto const n : index.shape()) shape.push_back(static_cast<std::ptrdiff_t>(n));
    return detail::only_reshaped(reshape(
        index_select(x, axis, detail::positions(index, x.shape()[at]).reshape({-1})), shape));
}

// Products of matrices: matmul() of two matrices, of two stacks of them, or of a matrix and a
// vector.
template <Operand A, Operand B> auto mm(A const& a, B const& b) { return matmul(a, b); }
template <Operand A, Operand B> auto bmm(A const& a, B const& b) { return matmul(a, b); }
template <Operand A, Operand B> auto mv(A const& a, B const& b) { return matmul(a, b); }
/// c + a b.
template <Operand C, Operand A, Operand B> auto addmm(C const& c, A const& a, B const& b) {
    return c + matmul(a, b);
}
template <Operand C, Operand A, Operand B> auto baddbmm(C const& c, A const& a, B const& b) {
    return c + matmul(a, b);
}

// Joining, and creation.

/// cat() along axis 0, where vectors are rows.
template <Scalar T> Tensor<T> vstack(std::vector<Tensor<T>> x) {
    for (auto& t : x)
        if (t.dim() < 2) t = reshape(t, {1, -1});
    return detail::joined(detail::cat_any, "vstack", x, 0);
}
/// cat() along axis 1, or of vectors along their only one.
template <Scalar T> Tensor<T> hstack(std::vector<Tensor<T>> const& x) {
    return detail::joined(detail::cat_any, "hstack", x, x.empty() || x[0].dim() == 1 ? 0 : 1);
}
/// cat() along axis 1, where vectors are columns.
template <Scalar T> Tensor<T> column_stack(std::vector<Tensor<T>> x) {
    for (auto& t : x)
        if (t.dim() < 2) t = reshape(t, {-1, 1});
    return detail::joined(detail::cat_any, "column_stack", x, 1);
}
#define XGRAD_LIST_IN_BRACES(f)                                                                    \
    template <Scalar T> Tensor<T> f(std::initializer_list<Tensor<T>> x) {                          \
        return f(std::vector<Tensor<T>>(x));                                                       \
    }                                                                                              \
    template <class = void> Tensor<double> f(std::initializer_list<Tensor<double>> x) {            \
        return f(std::vector<Tensor<double>>(x));                                                  \
    }                                                                                              \
    template <Scalar T> Tensor<T> f(TensorParts<T> const& x) {                                     \
        return f(std::vector<Tensor<T>>(x));                                                       \
    }
XGRAD_LIST_IN_BRACES(vstack)
XGRAD_LIST_IN_BRACES(hstack)
XGRAD_LIST_IN_BRACES(column_stack)
#undef XGRAD_LIST_IN_BRACES
/// cat() of what xt::xtuple() made.
template <Operand... X> auto concatenate(std::tuple<X...> const& x, std::ptrdiff_t axis = 0) {
    return cat(std::apply([](auto const&... each) { return std::vector{eval(each)...}; }, x), axis);
}
/// The coordinates of a grid; see meshgrid() of a std::vector.
template <Scalar T>
std::vector<Tensor<T>> meshgrid(
    std::initializer_list<Tensor<T>> x, Choice<Indexing> indexing = Indexing::ij) {
    return meshgrid(std::vector<Tensor<T>>(x), indexing);
}
template <Scalar T, std::same_as<Tensor<T>>... More>
std::array<Tensor<T>, 1 + sizeof...(More)> meshgrid(Tensor<T> const& x, More const&... more) {
    auto const grids = meshgrid(std::vector<Tensor<T>>{x, more...});
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return std::array<Tensor<T>, sizeof...(I)>{grids[I]...};
    }(std::make_index_sequence<1 + sizeof...(More)>());
}
/// base^y for n equidistant y from start to stop.
template <RealScalar T = double>
Tensor<T> logspace(double start, double stop, std::size_t n, double base = 10) {
    return pow(T(base), linspace<T>(T(start), T(stop), n));
}

/// The values of x, with which no gradient is recorded: JAX's name of detach().
template <Operand X> auto stop_gradient(X const& x) { return materialize_expression(x).detach(); }

namespace detail {
/// The view `part` of an E: one that is assigned to where E is a tensor that is not const. Elements
/// at a list of positions are no view; assigned to at once, `xt::view(x, xt::keep(1)) = y`, they
/// are written.
template <class E, class Part> auto as_view(Part part) {
    using X = std::remove_reference_t<E>;
    if constexpr (DerivedTensor<Part>) return part;
    else if constexpr (!std::is_const_v<X> && requires { typename X::tensor_tag; })
        return TensorView<typename Part::scalar>(std::move(part));
    else return UnassignableTensor<typename Part::scalar>(std::move(part));
}
} // namespace detail

/// x(index...) as xtensor has it: an assignment to the view writes to x; see TensorView. For
/// templates that name no namespace; xt::view() is found for xtensor's arrays. The template
/// parameters are those of xt::view(), so that this one is the more constrained.
template <class E, class... S>
    requires Operand<std::remove_cvref_t<E>>
auto view(E&& e, S&&... slices) {
    return detail::as_view<E>(materialize_expression(e)(slices...));
}

} // namespace xgrad
