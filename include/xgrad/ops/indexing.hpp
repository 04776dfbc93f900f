// Basic indexing: a view of a part of an array, and its adjoint, which writes a gradient into that
// part of zeros.
//
// Shapes: an integer removes its axis, a slice keeps it, `newaxis` adds one of extent 1; `ellipsis`
// stands for all axes that no index names, and axes behind the last index are selected whole.
// Gradients: the gradient is written into the selected part of zeros; of any order, in backward and
// forward mode.
// Errors: an integer out of range, a step below 1, a second ellipsis and too many indices are an
// IndexError. A slice that reaches too far is cut. An index of floating-point type does not
// compile.
#pragma once

#include <optional>
#include <utility>

#include <xgrad/core/memory.hpp>
#include <xgrad/core/xtensor.hpp>
#include <xgrad/ops/shaping.hpp>

namespace xgrad {

/// start:stop:step as in Python: start counts, stop does not, negative ones count from the end. The
/// step is positive.
struct Slice {
    /// `start` is the first position, by default that of the axis; `stop` is the position after the
    /// last one, by default the end of the axis.
    std::optional<std::ptrdiff_t> start = {}, stop = {};
    std::ptrdiff_t step = 1; // below 1 it is an IndexError
};
inline Slice slice(std::optional<std::ptrdiff_t> start = {},
    std::optional<std::ptrdiff_t> stop = {}, std::ptrdiff_t step = 1) {
    return {start, stop, step};
}

// Names of indices, as xtensor has them: x(all, 1), x(range(0, 2)), x(ellipsis, newaxis).
// all(mask) is all_of(mask), as in NumPy.
inline constexpr struct All {
    template <class X, class... A> auto operator()(X const& mask, A const&... a) const {
        return all_of(mask, a...);
    }
} all{}; // for several tensors in a hook: all of them
/// slice() under xtensor's name.
inline Slice range(std::optional<std::ptrdiff_t> start, std::optional<std::ptrdiff_t> stop,
    std::ptrdiff_t step = 1) {
    return {start, stop, step};
}
inline constexpr xt::xnewaxis_tag newaxis{};   // adds an axis of extent 1
inline constexpr xt::xellipsis_tag ellipsis{}; // stands for all axes that no other index is for

namespace detail {

/// What an index selects of one axis: `count` positions from `start` on. The step is 0 if the index
/// removes the axis.
struct AxisPart {
    std::size_t start, count;
    std::ptrdiff_t step = 1;
};

} // namespace detail

/// A view of an array by integers, slices and new axes.
struct Window : Arraywise {
    static constexpr bool is_part =
        true; // each element of the result is another one of the argument

    /// For each index: `start` is the first position, `count` the number of positions, and `step`
    /// the step, which is 0 if the index removes the axis, and new_axis if it adds one.
    Shape start, count;
    Strides step;
    static constexpr std::ptrdiff_t new_axis = -1;
    static constexpr auto dependence = Dependence::selection;

    Window() = default;
    /// Selects all of an array.
    explicit Window(Shape const& shape)
        : start(shape.size(), 0), count(shape), step(shape.size(), 1) {}

    /// Appends the part of the next axis.
    XGRAD_LAZY void add(detail::AxisPart const& part);
    template <Scalar T> auto value(detail::Array<T> const& x) const {
        detail::Array<T> out;
        look(x, out, sizeof(T));
        return out;
    }
    auto pullback(wrt<0>, auto const& g, auto const&, auto const& x) const;

private:
    XGRAD_LAZY void look(
        detail::AnyArray const& x, detail::AnyArray& out, std::size_t element) const;
};

/// Zeros of a shape with x in the selected part: the adjoint of Window.
struct Embed : Arraywise {
    Shape shape;   // of the result
    Window window; // the part that x fills
    static constexpr auto dependence = Dependence::selection;

    template <Scalar T> auto value(detail::Array<T> const& x) const {
        detail::Array<T> out(shape);
        auto const place = window.value(out);
        bool const is_one_piece = place.contiguous && place.numel != 0;
        std::fill(out.begin(), is_one_piece ? place.begin() : out.end(), T(0));
        if (is_one_piece) std::fill(place.end(), out.end(), T(0));
        detail::copy_elements(place, x);
        return out;
    }
    auto pullback(wrt<0>, auto const& g, auto const&, auto const&) const {
        return express(window, g);
    }
};

auto Window::pullback(wrt<0>, auto const& g, auto const&, auto const& x) const {
    return express(Embed{{}, x.shape(), *this}, g);
}

namespace detail {

template <class I>
concept IntegerIndex = std::integral<I> && !std::same_as<I, bool>;

template <class I>
concept AxisIndex = IntegerIndex<I> || std::same_as<I, Slice> || std::same_as<I, xt::xall_tag> ||
                    requires(I const& i) { i.get(std::size_t{}); };

XGRAD_LAZY AxisPart part_of_axis(std::ptrdiff_t i, std::size_t n, std::size_t axis);
XGRAD_LAZY AxisPart part_of_axis(Slice const& s, std::size_t n, std::size_t axis);
inline AxisPart part_of_axis(xt::xall_tag, std::size_t n, std::size_t) { return {0, n}; }
/// xt::range and its kin.
template <class I>
    requires requires(I const& i) { i.get(std::size_t{}); }
AxisPart part_of_axis(I const& range, std::size_t n, std::size_t axis) {
    auto const s = range.get(n);
    auto const count = static_cast<std::size_t>(s.size());
    if (count == 0) return {0, 0};
    auto const first = static_cast<std::ptrdiff_t>(s(0)),
               step = count > 1 ? static_cast<std::ptrdiff_t>(s(1)) - first : 1;
    return part_of_axis(
        Slice{first, first + (static_cast<std::ptrdiff_t>(count) - 1) * step + 1, step}, n, axis);
}

/// Converts indices to a Window, axis by axis. Axes that are not indexed are selected whole.
class WindowBuilder {
public:
    WindowBuilder(Shape const& shape, std::size_t named) : shape_(shape), named_(named) {}

    template <class I> void add(I const& index) {
        if constexpr (std::same_as<I, All>) add(Slice());
        else if constexpr (std::same_as<I, xt::xnewaxis_tag>) window_.add({0, 1, Window::new_axis});
        else if constexpr (std::same_as<I, xt::xellipsis_tag>) {
            if (std::exchange(has_ellipsis_, true))
                fail<IndexError>("an index has more than one ellipsis");
            for (auto rest = shape_.size() - std::min(named_, shape_.size()); rest > 0; --rest)
                whole();
        } else {
            static_assert(!std::floating_point<I>, "an index is a whole number, a range or a "
                                                   "slice: this one is of floating point type");
            static_assert(std::floating_point<I> || AxisIndex<I>,
                "an index is a whole number, xg::slice(...), xg::range(...), xg::all, "
                "xg::newaxis, xg::ellipsis or a tensor of integers");
            if (axis_ == shape_.size())
                fail<IndexError>("x(index): too many indices for an array with ", shape_.size(),
                    " dimensions: ", named_, " of them for shape ", shape_);
            if constexpr (IntegerIndex<I>)
                window_.add(part_of_axis(static_cast<std::ptrdiff_t>(index), shape_[axis_], axis_));
            else if constexpr (AxisIndex<I>) window_.add(part_of_axis(index, shape_[axis_], axis_));
            ++axis_;
        }
    }
    XGRAD_LAZY Window finish();

private:
    XGRAD_LAZY void whole() { window_.add({0, shape_[axis_++]}); }

    Shape const& shape_;
    std::size_t named_, axis_ = 0;
    bool has_ellipsis_ = false;
    Window window_;
};

/// How many axes of the indexed array an index names.
template <class I>
inline constexpr std::size_t names_axes =
    !std::same_as<I, xt::xnewaxis_tag> && !std::same_as<I, xt::xellipsis_tag>;

template <class... Index> Window window(Shape const& shape, Index const&... index) {
    WindowBuilder builder(shape, (names_axes<Index> + ... + 0));
    (builder.add(index), ...);
    return builder.finish();
}

} // namespace detail
} // namespace xgrad
