// Indexing by integer tensors: index_select and gather, index_add and scatter_add,
// repeat_interleave.
//
// Shapes: the index of index_select() is a vector or a single number, and its extent replaces that
// of the axis; gather() gives the shape of the index, which has as many axes as x. index_add() and
// scatter_add() keep the shape of x.
// Gradients: added up where an index occurs several times; of any order, in backward and forward
// mode. Indices have none.
// Errors: an index outside of [0, extent), and an axis out of range, are an IndexError; shapes that
// do not fit and negative counts are a ShapeError; undefined tensors are an Error. Adding another
// scalar type does not compile.
#pragma once

#include <xgrad/ops/index_operations.hpp>
#include <xgrad/tensor/gradient_arithmetic.hpp>

namespace xgrad {

namespace detail {

/// A row-major copy of an index, which the caller may change before the backward pass. Throws where
/// an element is not in [0, extent).
XGRAD_LAZY Array<std::int64_t> checked_index(
    std::string_view name, Tensor<std::int64_t> const& index, std::size_t axis, std::size_t extent);

/// The indices as positions of an axis: negative ones count from the end. Throws IndexError where
/// one is out of range.
XGRAD_LAZY Tensor<std::int64_t> positions(Tensor<std::int64_t> const& index, std::size_t extent);
/// Positions in two adjacent axes as positions in the joined axis; `extent` is that of the second.
XGRAD_LAZY Tensor<std::int64_t> joined_positions(
    Tensor<std::int64_t> const& first, Tensor<std::int64_t> const& second, std::size_t extent);

template <Operand X>
IndexSelect checked_index_select(
    std::string_view name, X const& x, std::ptrdiff_t axis, Tensor<std::int64_t> const& index) {
    check_defined(name, x);
    if (!index.defined()) fail_undefined(name, "the index");
    auto const d = normalize_axis(name, axis, x.shape());
    if (index.dim() > 1)
        fail<ShapeError>(name, ": the index is a vector, not an array of shape ", index.shape());
    return {
        {}, checked_index(name, index.dim() == 0 ? index.reshape({1}) : index, d, x.shape()[d]), d};
}

template <Operand X>
Gather checked_gather(
    std::string_view name, X const& x, std::ptrdiff_t axis, Tensor<std::int64_t> const& index) {
    check_defined(name, x);
    if (!index.defined()) fail_undefined(name, "the index");
    auto const d = normalize_axis(name, axis, x.shape());
    bool fits = index.dim() == x.dim();
    for (std::size_t i = 0; fits && i < x.dim(); ++i)
        fits = i == d || index.shape()[i] <= x.shape()[i];
    if (!fits)
        fail<ShapeError>(name, ": an index of shape ", index.shape(), " does not fit shape ",
            x.shape(), ": it needs as many axes, none longer but axis ", d);
    return {{}, checked_index(name, index, d, x.shape()[d]), d};
}

template <class Op, class Selection, Operand X, Operand Y>
auto add_selected(
    std::string_view name, Selection selection, X const& x, Y const& y, Shape const& wanted) {
    using T = typename X::scalar;
    static_assert(std::same_as<typename Y::scalar, T>,
        "index_add, scatter_add: what is added has the scalar type of what it is added to");
    check_defined(name, y, 3);
    if (!(y.shape() == wanted))
        fail<ShapeError>(name, ": what is added to the selected parts of shape ", x.shape(),
            " has shape ", wanted, ", not ", y.shape());
    return materialize_expression(x + express(Op{{{}, std::move(selection), x.shape()}}, y));
}

} // namespace detail

/// The slices of x along an axis whose positions `index` has; a position may occur several times.
template <Operand X>
auto index_select(X const& x, std::ptrdiff_t axis, Tensor<std::int64_t> const& index) {
    return express(detail::checked_index_select("index_select", x, axis, index), x);
}

/// Slice i of x along an axis, counts(i) times in succession.
template <Operand X>
auto repeat_interleave(X const& x, Tensor<std::int64_t> const& counts, std::ptrdiff_t axis) {
    auto const d = detail::normalize_axis("repeat_interleave", axis, x.shape());
    auto const extent = x.shape()[d];
    if (!(counts.shape() == Shape{extent}))
        detail::fail<ShapeError>("repeat_interleave: counts of shape ", counts.shape(),
            " are not one for each of ", extent, " positions along axis ", d);
    auto const each = detail::contiguous(counts.array_of());
    std::size_t total = 0;
    for (auto const n : each)
        if (n < 0 || (total += static_cast<std::size_t>(n)) > detail::max_elements)
            detail::fail<ShapeError>(
                "repeat_interleave: count ", n, " is negative, or more than any memory holds");
    detail::Array<std::int64_t> index(Shape{total});
    auto* next = index.begin();
    for (std::size_t i = 0; i < extent; ++i)
        next = std::fill_n(next, each.begin()[i], static_cast<std::int64_t>(i));
    return express(IndexSelect{{}, std::move(index), d}, x);
}

/// x, with slice i of y added to slice index(i) of x along an axis. Slices of equal index are
/// summed.
template <Operand X, Operand Y>
auto index_add(X const& x, std::ptrdiff_t axis, Tensor<std::int64_t> const& index, Y const& y) {
    auto selection = detail::checked_index_select("index_add", x, axis, index);
    Shape wanted = x.shape();
    wanted[selection.axis] = selection.index.numel;
    return detail::add_selected<IndexAdd>("index_add", std::move(selection), x, y, wanted);
}

/// One element of x for each element of `index`, which has as many axes as x. In two dimensions:
/// x(index(i, j), j) along axis 0, and x(i, index(i, j)) along axis 1. The extents of `index` may
/// be smaller than those of x.
template <Operand X>
auto gather(X const& x, std::ptrdiff_t axis, Tensor<std::int64_t> const& index) {
    return express(detail::checked_gather("gather", x, axis, index), x);
}

/// x, with each element of y added to the element that gather() reads. y has the shape of `index`.
template <Operand X, Operand Y>
auto scatter_add(X const& x, std::ptrdiff_t axis, Tensor<std::int64_t> const& index, Y const& y) {
    return detail::add_selected<ScatterAdd>(
        "scatter_add", detail::checked_gather("scatter_add", x, axis, index), x, y, index.shape());
}

} // namespace xgrad
