// Operations that change shapes and orders and compute nothing: views where strides allow it, and
// their adjoints.
//
// Shapes: as each function says; the number of elements stays, but for broadcast_to() and sum_to().
// An axis below 0 counts from the end.
// Gradients: the inverse rearrangement of the gradient, of any order, in backward and forward mode;
// broadcast_to() sums it, cast() converts it back (to a real operand its real part). A cast to
// integers or masks has none.
// Errors: a shape that does not fit is a ShapeError; an axis out of range or given twice is an
// IndexError; an undefined tensor is an Error. cast() of complex numbers to real ones does not
// compile.
#pragma once

#include <optional>

#include <xgrad/core/array.hpp>
#include <xgrad/expr/expression.hpp>

namespace xgrad {

/// Converts the elements to another scalar type; the gradient is converted back.
template <Scalar To> struct Cast : Arraywise {
    static constexpr std::string_view written = "cast";
    static constexpr auto dependence = Dependence::selection;
    template <Scalar T> auto value(detail::Array<T> const& x) const {
        static_assert(!detail::is_complex<T> || detail::is_complex<To>,
            "cast: take real(), imag() or abs() of a complex tensor to make a real one");
        detail::Array<To> out(x.shape);
        detail::copy_elements(out, x);
        return out;
    }
    auto pullback(wrt<0>, auto const& g, auto const&, auto const& x) const {
        using T = typename std::remove_cvref_t<decltype(x)>::value_type;
        if constexpr (detail::is_complex<To> && !detail::is_complex<T>) return cast<T>(real(g));
        else return cast<T>(g);
    }
};
template <Scalar To, Operand X> auto cast(X const& x) {
    if constexpr (std::same_as<typename X::value_type, To> && !detail::is_expression<X>) return x;
    else return express(Cast<To>{}, x);
}

/// The elements in row-major order with another shape; one extent may be -1, to be inferred. A view
/// where strides allow it, else a copy.
struct Reshape : Arraywise {
    Axes to;                          // the extents, of which one may be -1
    char const* asked_by = "reshape"; // the function that error messages name
    static constexpr auto dependence = Dependence::selection;

    template <Scalar T> auto value(detail::Array<T> const& x) const {
        Shape shape = resolve(x.shape);
        if (!x.contiguous)
            if (auto strides = detail::reshaped_strides(x.shape, x.strides, shape))
                return x.view(std::move(shape), std::move(*strides));
        auto strides = detail::row_major(shape);
        return detail::contiguous(x).view(std::move(shape), std::move(strides));
    }
    auto pullback(wrt<0>, auto const& g, auto const&, auto const& x) const {
        return reshape(g, Axes(x.shape()));
    }

private:
    XGRAD_LAZY Shape resolve(Shape const& from) const;
};
template <Operand X> auto reshape(X const& x, AxisList const& shape) {
    return express(Reshape{{}, shape}, x);
}
namespace detail {
/// Marks a result that was only reshaped as no view: the user never had the tensor that it would be
/// a view of.
template <class T> T only_reshaped(T t) {
    if constexpr (requires { t.impl().view.reset(); }) t.impl().view.reset();
    return t;
}
/// All elements as a vector, for the function of this name.
template <Operand X> auto in_one_row(char const* name, X const& x) {
    return express(Reshape{{}, Axes{-1}, name}, x);
}
} // namespace detail
/// All elements as a vector.
template <Operand X> auto flatten(X const& x) { return detail::in_one_row("flatten", x); }
/// The axes first to last, inclusive, as one; a tensor of no dimensions becomes a vector. A view
/// if the strides allow.
template <Operand X> auto flatten(X const& x, std::ptrdiff_t first, std::ptrdiff_t last = -1) {
    Shape const extents = x.shape();
    if (extents.size() == 0) return express(Reshape{{}, Axes{1}, "flatten"}, x);
    auto const from = detail::normalize_axis("flatten", first, extents),
               to = detail::normalize_axis("flatten", last, extents);
    if (from > to)
        detail::fail<ShapeError>(
            "flatten: axis ", first, " lies behind axis ", last, " of shape ", extents);
    Axes shape;
    std::ptrdiff_t together = 1;
    for (std::size_t d = 0; d < extents.size(); ++d) {
        auto const n = static_cast<std::ptrdiff_t>(extents[d]);
        if (d >= from && d <= to) together *= n;
        if (d < from || d > to) shape.push_back(n);
        else if (d == to) shape.push_back(together);
    }
    return express(Reshape{{}, shape, "flatten"}, x);
}

namespace detail {
/// The inverse permutation.
XGRAD_LAZY Axes inverse_of(Axes const& order);
} // namespace detail

/// Axes in another order: axis i of the result is axis axes[i] of x. A view.
struct Permute : Arraywise {
    static constexpr std::string_view written = "permute";
    Axes axes; // negative ones count from the end
    static constexpr auto dependence = Dependence::selection;

    template <Scalar T> auto value(detail::Array<T> const& x) const {
        auto const order = normalized(x.shape);
        if (order.size() != x.shape.size())
            detail::fail<ShapeError>("permute: ", axes, " does not name each of ", x.shape.size(),
                " axes of shape ", x.shape, " once");
        detail::normalize_axes("permute", order, x.shape); // throws where one is given twice
        Shape shape(order.size());
        Strides strides(order.size());
        for (std::size_t i = 0; i < order.size(); ++i) {
            shape[i] = x.shape[static_cast<std::size_t>(order[i])];
            strides[i] = x.strides[static_cast<std::size_t>(order[i])];
        }
        return x.view(std::move(shape), std::move(strides));
    }
    auto pullback(wrt<0>, auto const& g, auto const&, auto const& x) const {
        return permute(g, detail::inverse_of(normalized(x.shape())));
    }

private:
    XGRAD_LAZY Axes normalized(Shape const& shape) const;
};
template <Operand X> auto permute(X const& x, AxisList const& axes) {
    return express(Permute{{}, axes}, x);
}
/// Axes in reverse order, as in NumPy.
template <Operand X> auto transpose(X const& x) {
    auto axes = detail::all_axes(x.dim());
    std::reverse(axes.begin(), axes.end());
    return permute(x, axes);
}
/// Two axes exchanged.
template <Operand X> auto transpose(X const& x, std::ptrdiff_t axis0, std::ptrdiff_t axis1) {
    Shape const& shape = x.shape();
    auto axes = detail::all_axes(shape.size());
    std::swap(axes[detail::normalize_axis("transpose", axis0, shape)],
        axes[detail::normalize_axis("transpose", axis1, shape)]);
    return permute(x, axes);
}
/// Moves some axes to other positions; the others keep their order. A view.
template <Operand X> auto movedim(X const& x, AxisList const& from, AxisList const& to) {
    Shape const& shape = x.shape();
    auto const rank = shape.size();
    detail::normalize_axes("movedim", from, shape); // each at most once
    detail::normalize_axes("movedim", to, shape);
    if (from.size() != to.size())
        detail::fail<ShapeError>("movedim: there are axes ", from, " to be moved, and places ", to);
    constexpr std::ptrdiff_t open = -1;
    Axes order(rank, open), others = detail::all_axes(rank);
    for (std::size_t i = 0; i < from.size(); ++i) {
        auto const axis =
            static_cast<std::ptrdiff_t>(detail::normalize_axis("movedim", from[i], shape));
        order[detail::normalize_axis("movedim", to[i], shape)] = axis;
        others.erase(static_cast<std::size_t>(
            std::find(others.begin(), others.end(), axis) - others.begin()));
    }
    for (auto const* next = others.begin(); auto& axis : order)
        if (axis == open) axis = *next++;
    return permute(x, order);
}
template <Operand X> auto movedim(X const& x, std::ptrdiff_t from, std::ptrdiff_t to) {
    return movedim(x, Axes{from}, Axes{to});
}
/// Each matrix transposed: the last two axes exchanged.
template <Operand X> auto mT(X const& x) {
    detail::normalize_axis("mT", -2, x.shape());
    return transpose(x, -2, -1);
}

/// Broadcasts along axes of extent 1 and new leading axes, by NumPy's rules. A view.
struct BroadcastTo : Arraywise {
    static constexpr std::string_view written = "broadcast_to";
    Shape shape; // of the result
    static constexpr auto dependence = Dependence::selection;

    template <Scalar T> auto value(detail::Array<T> const& x) const {
        if (!detail::broadcasts_to(x.shape, shape))
            detail::fail<ShapeError>(
                "broadcast_to: shape ", x.shape, " does not broadcast to ", shape);
        return detail::broadcast_view(x, shape);
    }
    auto pullback(wrt<0>, auto const& g, auto const&, auto const& x) const {
        return sum_to(g, x.shape());
    }
};
template <Operand X> auto broadcast_to(X const& x, Shape const& shape) {
    return express(BroadcastTo{{}, shape}, x);
}

/// Removes an axis of extent 1, or all such axes.
template <Operand X> auto squeeze(X const& x, std::ptrdiff_t axis) {
    Shape shape(x.shape());
    auto const at = detail::normalize_axis("squeeze", axis, shape);
    if (shape[at] == 1) shape.erase(at);
    return reshape(x, Axes(shape));
}
template <Operand X> auto squeeze(X const& x) {
    Axes shape;
    for (auto const n : x.shape())
        if (n != 1) shape.push_back(static_cast<std::ptrdiff_t>(n));
    return reshape(x, shape);
}
/// With a new axis of extent 1 before `axis`.
template <Operand X> auto unsqueeze(X const& x, std::ptrdiff_t axis) {
    Shape shape(x.shape());
    shape.insert(detail::normalize_axis("unsqueeze", axis, shape, 1), 1);
    return reshape(x, Axes(shape));
}

/// Splits one axis into several with these extents, of which one may be -1, to be inferred. A view
/// where strides allow it.
template <Operand X> auto unflatten(X const& x, std::ptrdiff_t axis, Axes const& sizes) {
    Axes shape(x.shape());
    auto const at = detail::normalize_axis("unflatten", axis, shape);
    auto const extent = shape[at];
    std::ptrdiff_t known = 1;
    std::optional<std::size_t> open;
    bool fits = !sizes.empty();
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (sizes[i] != -1)
            fits &= sizes[i] >= 0 && !detail::multiply_overflows(known, sizes[i], known);
        else fits &= !std::exchange(open, at + i);
    }
    if (!fits || (open ? known == 0 || extent % known != 0 : known != extent))
        detail::fail<ShapeError>("unflatten: sizes ", sizes, " do not hold the ", extent,
            " positions of axis ", at, " of shape ", Shape(x.shape()));
    shape.erase(at);
    for (std::size_t i = 0; i < sizes.size(); ++i) shape.insert(at + i, sizes[i]);
    if (open) shape[*open] = extent / known;
    return reshape(x, shape);
}

/// Sums over the axes along which `shape` was broadcast to that of x.
template <Operand X> auto sum_to(X const& x, Shape const& shape) {
    auto const& from = x.shape();
    if (from == shape) return materialize_expression(x);
    if (!detail::broadcasts_to(shape, from))
        detail::fail<ShapeError>(
            "sum_to: an array of shape ", from, " was not broadcast from shape ", shape);
    Axes axes;
    for (std::size_t i = 0, lead = from.size() - shape.size(); i < from.size(); ++i)
        if (i < lead || (shape[i - lead] == 1 && from[i] != 1))
            axes.push_back(static_cast<std::ptrdiff_t>(i));
    return detail::only_reshaped(reshape(sum(x, axes), Axes(shape)));
}

} // namespace xgrad
