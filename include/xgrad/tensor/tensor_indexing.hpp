// Indexing by tensors of integers, and by xt::keep and xt::drop: `x(index)` reads slices, and
// `x(index) = y` writes them.
//
// Shapes: the shape of the index replaces the axis that it stands for. Several indices, one for
// each of the first axes, broadcast, and their shape replaces these axes. Assigned values broadcast
// to the shape that was read.
// Gradients: scattered to the positions that were read, and added where they are equal; of any
// order, in backward and forward mode. A write is recorded as a change in place.
// Errors: an index out of range and too many indices are an IndexError, values that do not
// broadcast a ShapeError, an undefined index an Error. Several tensors of integers beside other
// indices do not compile.
#pragma once

#include <xgrad/tensor/composed.hpp>
#include <xgrad/tensor/mask_indexing.hpp>

namespace xgrad {

namespace detail {

template <Operand I> Tensor<std::int64_t> positions(I const& index, std::size_t extent) {
    return positions(Tensor<std::int64_t>(index), extent);
}
/// xt::keep(0, 2), xt::drop(1).
template <XtensorList I> Tensor<std::int64_t> positions(I list, std::size_t extent) {
    using Size = decltype(list.size());
    list.normalize(static_cast<Size>(extent));
    if constexpr (requires { xt::drop(std::ptrdiff_t()); } &&
                  std::same_as<I, decltype(xt::drop(std::ptrdiff_t()))>) {
        std::vector<std::int64_t> kept; // xtensor does not check, nor sort, what is dropped
        for (std::size_t i = 0; i < extent; ++i)
            if (list.contains(static_cast<Size>(i))) kept.push_back(static_cast<std::int64_t>(i));
        if (kept.size() != static_cast<std::size_t>(list.size()))
            fail<IndexError>("x(xt::drop(...)): a position is out of range, or given twice, for an "
                             "extent of ",
                extent);
        return Tensor<std::int64_t>(kept);
    }
    Array<std::int64_t> all(Shape{static_cast<std::size_t>(list.size())});
    for (std::size_t i = 0; i < all.numel; ++i)
        all.begin()[i] = static_cast<std::int64_t>(list(static_cast<Size>(i)));
    return positions(Tensor<std::int64_t>(std::move(all)), extent);
}

/// For each of `extent` positions the number of the last index that names it, and whether any does.
XGRAD_LAZY std::pair<Tensor<std::int64_t>, Tensor<bool>> last_of_each_position(
    Tensor<std::int64_t> const& index, std::size_t extent);

/// How many axes of the indexed part an index makes; an ellipsis makes those without an index.
template <class I> std::size_t axes_of(std::size_t unnamed) {
    if constexpr (std::same_as<I, xt::xellipsis_tag>) return unnamed;
    else return IntegerIndex<I> ? 0 : 1;
}

} // namespace detail

/// The result of x(index): a tensor to read, a destination to assign to.
template <Scalar T> class IndexedTensor : public detail::SelectedTensor<IndexedTensor<T>, T> {
public:
    /// The slices of `part`, seen in shape `shape`, at these positions of an axis.
    IndexedTensor(Tensor<T> part, Shape const& shape, std::size_t axis, Tensor<std::int64_t> index)
        : detail::SelectedTensor<IndexedTensor, T>(
              take(xgrad::reshape(part, Axes(shape)), index, static_cast<std::ptrdiff_t>(axis))),
          part_(std::move(part)), shape_(shape), axis_(static_cast<std::ptrdiff_t>(axis)),
          index_(std::move(index)) {
        if constexpr (detail::watches_handles) part_.belongs_to_library();
    }
    IndexedTensor(IndexedTensor const&) = default;

    /// Writes a number, or a tensor that broadcasts to the shape of what was read; recorded as an
    /// in-place change. Of several values for one position the last counts.
    template <detail::OperandLike X> void operator=(X const& x) && {
        static_assert(!std::floating_point<X> || !std::integral<T>,
            "x(index) = number: a tensor of integers takes whole numbers");
        if (index_.numel() == 0) return;
        auto const extent = shape_[static_cast<std::size_t>(axis_)];
        auto const [last, is_named] = detail::last_of_each_position(index_.reshape({-1}), extent);
        Tensor<T> const values = [&] {
            if constexpr (Number<X>) return full<T>(this->shape(), detail::converted<T>(x));
            else {
                Tensor<T> const given(detail::materialize(detail::OperandTraits<X>::make(x)));
                detail::check_broadcasts(
                    "x(index) =", "a value", given.shape(), "a part", this->shape());
                return broadcast_to(given, this->shape());
            }
        }();
        Axes of_values(shape_), along(shape_.size(), 1);
        of_values[static_cast<std::size_t>(axis_)] = static_cast<std::ptrdiff_t>(index_.numel());
        along[static_cast<std::size_t>(axis_)] = static_cast<std::ptrdiff_t>(extent);
        Tensor<T> const changed = where(is_named.reshape(along),
            index_select(xgrad::reshape(values, of_values), axis_, last),
            xgrad::reshape(part_, Axes(shape_)));
        part_.copy_(xgrad::reshape(changed, Axes(part_.shape())));
    }
    void operator=(IndexedTensor const& o) && {
        std::move(*this) = static_cast<Tensor<T> const&>(o);
    }

private:
    Tensor<T> part_;
    Shape shape_;
    std::ptrdiff_t axis_;
    Tensor<std::int64_t> index_;
};

template <Scalar T>
template <class... Index>
    requires(detail::TensorIndex<Index> || ...)
IndexedTensor<T> Tensor<T>::operator()(Index const&... index) const {
    constexpr std::size_t count = (std::size_t{detail::TensorIndex<Index>} + ...);
    static_assert(count == 1 || count == sizeof...(Index),
        "x(index...): of several tensors of integers each is an index, without others beside them; "
        "to read, index twice: x(all, i)(j)");
    Shape const& extents = shape();
    if constexpr (count == 1) {
        std::size_t const named = (detail::names_axes<Index> + ...),
                          unnamed = extents.size() - std::min(extents.size(), named);
        std::size_t axis = 0;
        bool before = true;
        ((before = before && !detail::TensorIndex<Index>,
             axis += before ? detail::axes_of<Index>(unnamed) : 0),
            ...);
        auto const rest = [](auto const& i) -> decltype(auto) {
            if constexpr (detail::TensorIndex<std::remove_cvref_t<decltype(i)>>) return All();
            else return (i);
        };
        Tensor const part = (*this)(rest(index)...);
        Tensor<std::int64_t> chosen;
        auto const choose = [&](auto const& i) {
            if constexpr (detail::TensorIndex<std::remove_cvref_t<decltype(i)>>)
                chosen = detail::positions(i, part.shape()[axis]);
        };
        (choose(index), ...);
        return {part, part.shape(), axis, chosen};
    } else {
        if (count > extents.size())
            detail::fail<IndexError>("x(index): too many indices for an array with ",
                extents.size(), " dimensions: ", count, " of them for shape ", extents);
        Shape merged(extents.begin() + count - 1, extents.end());
        merged[0] = 1;
        Tensor<std::int64_t> place(0);
        std::size_t axis = 0;
        auto const add = [&](auto const& i) {
            merged[0] *= extents[axis];
            place =
                detail::joined_positions(place, detail::positions(i, extents[axis]), extents[axis]);
            ++axis;
        };
        (add(index), ...);
        return {*this, merged, 0, place};
    }
}

} // namespace xgrad
