// Arrays repeated along axes, whole or position by position.
//
// Shapes: tile() and repeat() multiply extents by counts, and add leading axes for more counts than
// axes; repeat_interleave() multiplies one extent. Grids have an axis for each vector, in the order
// that `indexing` names.
// Gradients: summed over the repetitions, of any order, in backward and forward mode.
// Errors: ShapeError for fewer counts than axes in repeat(), for meshgrid() of matrices, and for
// extents that no memory holds; an axis out of range is an IndexError; an unknown name of an
// indexing is an Error.
#pragma once

#include <vector>

#include <xgrad/core/choice.hpp>
#include <xgrad/ops/shaping.hpp>

namespace xgrad {

/// repeat: inserts axes of extent 1, broadcasts them and reshapes the result. The adjoint sums.
struct Repeat : Arraywise {
    /// `spread` is the shape of x with axes inserted, `repeated` that shape broadcast, and `shape`
    /// that of the result.
    Shape spread, repeated, shape;
    static constexpr auto dependence = Dependence::selection;

    template <Scalar T> auto value(detail::Array<T> const& x) const {
        numel(repeated);
        detail::Array<T> out(shape);
        if (out.numel == 0) return out;
        auto from = detail::broadcast_view(
            x.view(spread, *detail::reshaped_strides(x.shape, x.strides, spread)), repeated);
        auto to = out.view(repeated, detail::row_major(repeated));
        if (auto const rank = repeated.size();
            rank > 1 && spread.back() == 1 && repeated.back() < repeated[rank - 2]) {
            auto other_order = detail::all_axes(rank);
            std::swap(
                other_order[rank - 2], other_order[rank - 1]); // the longer loop is the inner one
            from = Permute{{}, other_order}.value(from);
            to = Permute{{}, other_order}.value(to);
        }
        detail::copy_elements(to, from);
        return out;
    }
    auto pullback(wrt<0>, auto const& g, auto const&, auto const& x) const {
        return reshape(sum_to(reshape(g, Axes(repeated)), spread), Axes(x.shape()));
    }
};

/// Tiles x: as often along each axis as its count says. More counts than axes add leading axes;
/// fewer belong to the last axes. A copy.
template <Operand X> auto tile(X const& x, Shape const& counts) {
    Shape const from = x.shape();
    Repeat r;
    for (std::size_t i = 0, rank = std::max(counts.size(), from.size()); i < rank; ++i) {
        auto const count = i + counts.size() < rank ? 1 : counts[i + counts.size() - rank],
                   n = i + from.size() < rank ? 1 : from[i + from.size() - rank];
        for (auto const extent : {std::size_t{1}, n}) r.spread.push_back(extent);
        for (auto const extent : {count, n}) r.repeated.push_back(extent);
        r.shape.push_back(detail::multiply_extents("tile", n, count));
    }
    return express(std::move(r), x);
}
/// Tiles x with a count for each axis, as in PyTorch.
template <Operand X> auto repeat(X const& x, Shape const& counts) {
    if (counts.size() < x.dim())
        detail::fail<ShapeError>(
            "repeat: counts ", counts, " are not one for each axis of shape ", Shape(x.shape()));
    return tile(x, counts);
}

/// Each position along an axis `count` times in succession. A copy.
template <Operand X> auto repeat_interleave(X const& x, std::size_t count, std::ptrdiff_t axis) {
    Shape const from = x.shape();
    auto const d = detail::normalize_axis("repeat_interleave", axis, from);
    Repeat r{{}, from, from, from};
    r.spread.insert(d + 1, 1);
    r.repeated.insert(d + 1, count);
    r.shape[d] = detail::multiply_extents("repeat_interleave", r.shape[d], count);
    return express(std::move(r), x);
}
/// Each element in row-major order.
template <Operand X> auto repeat_interleave(X const& x, std::size_t count) {
    return repeat_interleave(detail::in_one_row("repeat_interleave", x), count, 0);
}

/// Which axes the coordinates of meshgrid() run along. With `ij` the first run along axis 0, the
/// second along axis 1, and so on. With `xy` these two are exchanged, as in pictures.
enum class Indexing { ij, xy };
constexpr std::string_view choice_names(Indexing) { return "indexing: ij xy"; }

/// The coordinates of the points of a grid: each vector along an axis of its own, repeated along
/// those of the others. Views. A number counts as a vector.
template <Operand X>
std::vector<X> meshgrid(std::vector<X> const& x, Choice<Indexing> indexing = Indexing::ij) {
    auto const axis_of = [&](std::size_t i) {
        return indexing == Indexing::xy && x.size() > 1 && i < 2 ? 1 - i : i;
    };
    Shape shape(x.size(), 1);
    for (std::size_t i = 0; i < x.size(); ++i) {
        if (x[i].dim() > 1)
            detail::fail<ShapeError>(
                "meshgrid: vectors are needed, not an array of shape ", x[i].shape());
        shape[axis_of(i)] = numel(x[i].shape());
    }
    std::vector<X> grids;
    for (std::size_t i = 0; i < x.size(); ++i) {
        Axes along(x.size(), 1);
        along[axis_of(i)] = static_cast<std::ptrdiff_t>(shape[axis_of(i)]);
        grids.push_back(broadcast_to(reshape(x[i], along), shape));
    }
    return grids;
}

} // namespace xgrad
