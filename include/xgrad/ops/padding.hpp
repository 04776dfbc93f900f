// Padding: arrays extended or cropped at their borders.
//
// Shapes: two widths add to the extent of each axis, the last axis first; axes without widths keep
// their extent. The result is a copy.
// Gradients: the padding is cut off; elements that padding repeats get the sum over their
// repetitions. Of any order, in backward and forward mode. The padding value is a constant.
// Errors: ShapeError for an odd number of widths or too many, for a cut of more than there is, and
// for a border that the mode cannot make (reflect needs an extent above the width, circular one not
// below it, replicate one element). An unknown name of a mode is an Error.
#pragma once

#include <xgrad/core/choice.hpp>
#include <xgrad/ops/shaping.hpp>

namespace xgrad {

/// What pad() adds along an axis 1 2 3 4. `constant`: one value. `reflect`: 3 2 [1 2 3 4] 3 2.
/// `replicate`: 1 1 [1 2 3 4] 4 4. `circular`: 3 4 [1 2 3 4] 1 2.
enum class PadMode { constant, reflect, replicate, circular };
constexpr std::string_view choice_names(PadMode) {
    return "mode: constant reflect replicate circular";
}

/// Adds slices of one value before and after x along each axis; a negative width removes slices of
/// x. The adjoint has the opposite widths and pads with zeros.
template <Scalar T> struct Pad : Arraywise {
    Axes before, after; // the slices that are added `before` and `after` x, for each axis
    T fill{};           // the value of these slices
    static constexpr bool is_multilinear = false; // the padding value does not depend on x
    static constexpr auto dependence = Dependence::selection;

    auto value(detail::Array<T> const& x) const {
        Shape shape = x.shape;
        for (std::size_t d = 0; d < shape.size(); ++d) {
            auto const more = before[d] + after[d];
            shape[d] = more < 0
                           ? shape[d] - static_cast<std::size_t>(-more)
                           : detail::add_extents("pad", shape[d], static_cast<std::size_t>(more));
        }
        detail::Array<T> out(shape, fill);
        auto to = out, from = x;
        for (std::size_t d = 0; d < shape.size(); ++d) {
            auto const start = std::max<std::ptrdiff_t>(before[d], 0), first = start - before[d];
            auto const count = static_cast<std::ptrdiff_t>(x.shape[d]) - first +
                               std::min<std::ptrdiff_t>(after[d], 0);
            to = detail::part_along(
                to, d, static_cast<std::size_t>(start), static_cast<std::size_t>(count));
            from = detail::part_along(
                from, d, static_cast<std::size_t>(first), static_cast<std::size_t>(count));
        }
        detail::copy_elements(to, from);
        return out;
    }
    auto pullback(wrt<0>, auto const& g, auto const&, auto const&) const {
        Pad back{{}, before, after};
        for (std::size_t d = 0; d < before.size(); ++d)
            back.before[d] = -before[d], back.after[d] = -after[d];
        return express(std::move(back), g);
    }
};

/// Pads along one axis with slices of x, as the mode says.
struct PadBorder : Arraywise {
    /// Along `axis`, normalised, `before` slices are added at the start and `after` at the end.
    std::size_t axis = 0, before = 0, after = 0;
    PadMode mode = PadMode::reflect; // any but `constant`
    static constexpr auto dependence = Dependence::selection;

    template <Scalar T> auto value(detail::Array<T> const& x) const {
        auto const n = x.shape[axis];
        Shape shape = x.shape;
        shape[axis] = detail::add_extents("pad", n, before + after);
        detail::Array<T> out(shape);
        detail::copy_elements(detail::part_along(out, axis, before, n), x);
        each_side(out, x, [](auto const& added, auto const& repeated) {
            detail::copy_elements(added, repeated);
        });
        return out;
    }
    /// Calls f(padding, source) with views: the slices before and after x in the padded array, and
    /// the slices of x that they repeat.
    template <class T, class F>
    void each_side(detail::Array<T> const& padded, detail::Array<T> const& x, F f) const {
        auto const n = x.shape[axis];
        bool const reflects = mode == PadMode::reflect, replicates = mode == PadMode::replicate;
        auto const side = [&](std::size_t place, std::size_t count, std::size_t first) {
            if (count == 0 || x.numel == 0) return;
            auto const added = detail::part_along(padded, axis, place, count);
            Strides strides = x.strides;
            auto& stride = strides[axis];
            auto const offset = static_cast<std::ptrdiff_t>(first) * stride;
            if (reflects) stride = -stride;
            if (replicates) stride = 0;
            f(added, x.view(added.shape, std::move(strides), offset));
        };
        side(0, before, reflects ? before : replicates ? 0 : n - before);
        side(before + n, after, reflects ? n - 2 : replicates ? n - 1 : 0);
    }
    auto pullback(wrt<0>, auto const& g, auto const&, auto const&) const;
};

/// Crops the padding and adds it to the slices that it repeats: the adjoint of PadBorder.
struct FoldBorder : Arraywise {
    PadBorder border; // the padding whose adjoint this is
    static constexpr auto dependence = Dependence::transposed;

    template <Scalar T> auto value(detail::Array<T> const& x) const {
        auto const axis = border.axis, n = x.shape[axis] - border.before - border.after;
        Shape shape = x.shape;
        shape[axis] = n;
        detail::Array<T> out(shape);
        detail::copy_elements(out, detail::part_along(x, axis, border.before, n));
        border.each_side(x, out, [](auto const& added, auto const& repeated) {
            detail::for_each_pair(repeated, added, [](T& sum, T const& more) { sum += more; });
        });
        return out;
    }
    auto pullback(wrt<0>, auto const& g, auto const&, auto const&) const {
        return express(border, g);
    }
};

auto PadBorder::pullback(wrt<0>, auto const& g, auto const&, auto const&) const {
    return express(FoldBorder{{}, *this}, g);
}

namespace detail {

/// The widths with positive ones replaced by 0.
XGRAD_LAZY Axes negative_ones(Axes widths);
XGRAD_LAZY std::size_t if_positive(std::ptrdiff_t width);

/// The widths of pad(), for each axis: before it and after it.
struct PadWidths {
    Axes before, after;
    bool cut = false, add = false; // some widths are negative; some are positive

    XGRAD_LAZY PadWidths(Axes const& widths, Shape const& extents);
};

XGRAD_LAZY void check_border(PadBorder const& b, std::size_t extent);

} // namespace detail

/// Pads x by the widths: two for the last axis, then two for the one before it, and so on, as in
/// PyTorch. Negative widths crop first. A copy.
template <Operand X>
auto pad(X const& x, Axes const& widths, Choice<PadMode> mode = PadMode::constant,
    std::type_identity_t<typename X::scalar> value = {}) {
    using T = typename X::scalar;
    auto y = materialize_expression(x);
    detail::PadWidths const w(widths, y.shape());
    if (mode == PadMode::constant) return express(Pad<T>{{}, w.before, w.after, value}, y);
    if (w.cut || !w.add)
        y = express(Pad<T>{{}, detail::negative_ones(w.before), detail::negative_ones(w.after)}, y);
    for (std::size_t d = 0; d < w.before.size(); ++d) {
        PadBorder const border{
            {}, d, detail::if_positive(w.before[d]), detail::if_positive(w.after[d]), mode};
        if (border.before + border.after == 0) continue;
        detail::check_border(border, y.shape()[d]);
        y = express(border, y);
    }
    return y;
}

} // namespace xgrad
