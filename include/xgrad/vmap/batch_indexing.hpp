// Indices of a Batched: shared by all examples, or another one for each.
//
// Shapes: those of x(index...), take(), gather() and scatter_add(), for each example.
// Gradients: those of the functions.
// Errors: those of the functions. A mask that is another one for each example is no index: that
// does not compile.
#pragma once

#include <xgrad/vmap/batch_functions.hpp>

namespace xgrad {

/// gather() and scatter_add() with one index for all examples, or one for each.
template <class X, class I>
    requires AnyBatched<X, I>
auto gather(X const& x, std::ptrdiff_t axis, I const& index) {
    auto const levels = detail::joined_levels<X, I>::count;
    return detail::on_all_full(
        [&](auto const& t, auto const& at) {
            return gather(t, detail::axis_behind("gather", levels, axis, x.shape()), at);
        },
        x, index);
}
template <Operand X, Operand I, Operand Y>
    requires(detail::is_batched<X> || detail::is_batched<I> || detail::is_batched<Y>)
auto scatter_add(X const& x, std::ptrdiff_t axis, I const& index, Y const& y) {
    auto const levels = detail::joined_levels<X, I, Y>::count;
    return detail::on_all_full(
        [&](auto const& t, auto const& at, auto const& added) {
            return scatter_add(
                t, detail::axis_behind("scatter_add", levels, axis, x.shape()), at, added);
        },
        x, index, y);
}
/// take() along an axis with an index that is another one for each example: the examples are rows
/// of one array, and the index counts in it.
template <Operand X, BatchedOperand I>
    requires std::same_as<typename I::scalar, std::int64_t>
auto take(X const& x, I const& index, std::ptrdiff_t axis) {
    using Lv = detail::joined_levels<X, I>;
    auto const sizes = detail::level_sizes(Lv());
    auto const levels = static_cast<std::ptrdiff_t>(Lv::count);
    Shape const example = x.shape(), of_index = index.shape();
    auto const d = detail::normalize_axis("take", axis, example);
    auto const extent = static_cast<std::int64_t>(example[d]),
               n = static_cast<std::int64_t>(numel(sizes));
    auto const rows = materialize_expression(movedim(
        detail::stacked_over<Lv>(x, sizes), levels + static_cast<std::ptrdiff_t>(d), levels));
    auto const at = detail::positions(detail::stacked_over<Lv>(index, sizes), example[d]);
    Axes rest, shape(sizes);
    for (auto const extent_of_index : of_index)
        shape.push_back(static_cast<std::ptrdiff_t>(extent_of_index));
    rest.push_back(n * extent);
    for (auto i = Lv::count + 1; i < rows.dim(); ++i) {
        rest.push_back(static_cast<std::ptrdiff_t>(rows.shape()[i]));
        shape.push_back(static_cast<std::ptrdiff_t>(rows.shape()[i]));
    }
    Tensor<std::int64_t> const place =
        reshape(at, {static_cast<std::ptrdiff_t>(n), -1}) +
        unsqueeze(Tensor<std::int64_t>(extent * arange<std::int64_t>(n)), 1);
    auto y = reshape(index_select(reshape(rows, rest), 0, flatten(place)), shape);
    Axes from, to; // the axes of the index, to the place of the axis
    for (std::size_t i = 0; i < of_index.size(); ++i) {
        from.push_back(levels + static_cast<std::ptrdiff_t>(i));
        to.push_back(levels + static_cast<std::ptrdiff_t>(d + i));
    }
    return detail::batched<Lv>(detail::only_reshaped(materialize_expression(movedim(y, from, to))));
}
template <Operand X, BatchedOperand I> auto take(X const& x, I const& index) {
    return take(flatten(x), index, 0);
}

namespace detail {
template <class I>
inline constexpr bool is_mask_index =
    Operand<I> && requires { requires std::same_as<typename I::scalar, bool>; };
/// An index of an axis of this extent as positions that do not count from the end.
template <class I> auto index_positions(I const& index, std::size_t extent) {
    if constexpr (is_batched<I>) {
        auto const n = static_cast<std::int64_t>(extent);
        return materialize_expression(where(index < std::int64_t(0), index + n, index));
    } else return positions(index, extent);
}
/// Positions in several axes as positions in one: of each axis a pair of positions and extent.
template <class A> auto joined_index(A const& only) { return only.first; }
template <class A, class B, class... More>
auto joined_index(A const& first, B const& second, More const&... more) {
    auto const both = materialize_expression(first.first * second.second + second.first);
    return joined_index(std::pair(both, second.second), more...);
}
/// A copy, which does not change in place of what it is a copy of.
template <class X> X const gathered(X x) { return x; }
} // namespace detail

template <class V, class... L>
template <class... Index>
decltype(auto) Batched<V, L...>::operator()(Index const&... index) const {
    constexpr std::size_t count = (std::size_t{detail::TensorIndex<Index>} + ... + 0);
    constexpr bool has_mask = (detail::is_mask_index<Index> || ...);
    constexpr bool varies = ((detail::is_mask_index<Index> && detail::is_batched<Index>) || ...);
    static_assert(!varies, "vmap: x(mask) has another shape for each example; write where(mask, x, "
                           "0), or let xg::looped(f) call the function for one after the other");
    static_assert(count <= 1 || count == sizeof...(Index),
        "x(index...): of several tensors of integers each is an index, without others beside them");
    if constexpr (varies) return *this;
    else if constexpr (has_mask) {
        detail::warn_of_loop("x(mask)", xgrad::numel(detail::level_sizes(detail::Levels<L...>())));
        auto const select_in = [&](auto const& x) { return Tensor<scalar>(x(index...)); };
        return detail::gathered(detail::loop_examples(select_in, materialize_expression(*this)));
    } else if constexpr (count == 0) {
        auto const t = detail::materialize(stacked_);
        if (auto const named = (detail::names_axes<Index> + ... + 0); named > dim())
            detail::fail<IndexError>("x(index): too many indices for an array with ", dim(),
                " dimensions: ", named, " of them for shape ", shape());
        return detail::batched<detail::Levels<L...>>(
            [&]<std::size_t... I>(std::index_sequence<I...>) {
                return t((static_cast<void>(I), all)..., index...);
            }(std::make_index_sequence<sizeof...(L)>()));
    } else if constexpr (count == 1) {
        std::size_t const named = (std::size_t{detail::names_axes<Index>} + ...);
        std::size_t axis = 0;
        bool before = true;
        ((before = before && !detail::TensorIndex<Index>,
             axis += before ? detail::axes_of<Index>(dim() - std::min(dim(), named)) : 0),
            ...);
        auto const rest = []<class I>(I const& i) -> decltype(auto) {
            if constexpr (detail::TensorIndex<I>) return All();
            else return (i);
        };
        auto const part = (*this)(rest(index)...);
        auto const chosen = std::get<0>(std::tuple_cat([]<class I>(I const& i) {
            if constexpr (detail::TensorIndex<I>) return std::tuple(i);
            else return std::tuple();
        }(index)...));
        return detail::gathered(take(part, chosen, static_cast<std::ptrdiff_t>(axis)));
    } else {
        auto const extents = shape();
        if (count > extents.size())
            detail::fail<IndexError>("x(index): too many indices for an array with ",
                extents.size(), " dimensions: ", count, " of them for shape ", extents);
        std::size_t axis = 0;
        auto const next = [&](auto const& i) {
            auto const extent = extents[axis++];
            return std::pair(detail::index_positions(i, extent), static_cast<std::int64_t>(extent));
        };
        std::tuple const each{next(index)...}; // in this order
        auto const place =
            std::apply([](auto const&... at) { return detail::joined_index(at...); }, each);
        return detail::gathered(
            take(xgrad::flatten(*this, 0, static_cast<std::ptrdiff_t>(count) - 1), place, 0));
    }
}

// Members of Batched.
#define XGRAD_MEMBER(f, parameters, arguments)                                                     \
    template <class V, class... L> auto Batched<V, L...>::f parameters const {                     \
        return xgrad::f arguments;                                                                 \
    }
XGRAD_MEMBER(select, (std::ptrdiff_t axis, std::ptrdiff_t index), (*this, axis, index))
XGRAD_MEMBER(narrow, (std::ptrdiff_t axis, std::ptrdiff_t start, std::size_t length),
    (*this, axis, start, length))
XGRAD_MEMBER(diagonal, (std::ptrdiff_t offset, std::ptrdiff_t axis0, std::ptrdiff_t axis1),
    (*this, offset, axis0, axis1))
XGRAD_MEMBER(unbind, (std::ptrdiff_t axis), (*this, axis))
XGRAD_MEMBER(split, (std::size_t size, std::ptrdiff_t axis), (*this, size, axis))
XGRAD_MEMBER(chunk, (std::size_t chunks, std::ptrdiff_t axis), (*this, chunks, axis))
#undef XGRAD_MEMBER

} // namespace xgrad
