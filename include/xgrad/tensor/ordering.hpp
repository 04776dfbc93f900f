// argmax and argmin, argsort, sort, topk. NaN counts as larger than all numbers.
//
// Shapes: argmax() and argmin() of all elements have no dimensions; those along an axis remove it,
// or keep it with extent 1 if `keep`; argsort() and sort() keep the shape; topk() gives the axis
// extent k.
// Gradients: of sort() and topk(): scattered to the elements that were chosen, of any order, in
// backward and forward mode. Indices have none.
// Errors: an axis out of range, and k above the extent, are an IndexError; an axis of extent 0 in
// argmax() and argmin() is a ShapeError if the result has elements; an undefined tensor is an
// Error. Complex numbers, which have no order, do not compile.
#pragma once

#include <xgrad/core/choice.hpp>
#include <xgrad/tensor/index_select.hpp>

namespace xgrad {

/// Elements, and their indices along the axis: a std::pair, whose parts also have names. Where a
/// tensor is expected, and beside one, it is the values.
template <class V, class I> struct OrderedPair : std::pair<V, I> {
    V& values = this->first;   // the elements
    I& indices = this->second; // of the elements, along the axis

    OrderedPair(V elements, I positions)
        : std::pair<V, I>(std::move(elements), std::move(positions)) {}
    OrderedPair(OrderedPair const& o) : std::pair<V, I>(o) {}
    OrderedPair(OrderedPair&& o) noexcept : std::pair<V, I>(std::move(o)) {}
    OrderedPair& operator=(OrderedPair o) noexcept {
        this->swap(o);
        return *this;
    }
    operator V() const { return values; }
    /// std::get<i>(*this).
    template <std::size_t i> auto& get() & noexcept { return std::get<i, V, I>(*this); }
    template <std::size_t i> auto& get() const& noexcept { return std::get<i, V, I>(*this); }
    template <std::size_t i> auto&& get() && noexcept { return std::move(get<i>()); }
};
/// What sort(), topk() and median() return.
template <Scalar T> using Ordered = OrderedPair<Tensor<T>, Tensor<std::int64_t>>;
template <Scalar T> struct detail::OperandTraits<Ordered<T>> {
    using type = Tensor<T>;
    static Tensor<T> const& make(Ordered<T> const& x) { return x.values; }
};

} // namespace xgrad

namespace std {
template <class V, class I> struct tuple_size<xgrad::OrderedPair<V, I>> : tuple_size<pair<V, I>> {};
template <size_t i, class V, class I>
struct tuple_element<i, xgrad::OrderedPair<V, I>> : tuple_element<i, pair<V, I>> {};
} // namespace std

namespace xgrad {

namespace detail {

template <class T> bool is_less(T a, T b) {
    static_assert(!is_complex<T>,
        "argmax, argmin, argsort, sort, topk, median, quantile: complex numbers have no order");
    if constexpr (is_complex<T>) return false;
    else return a < b || (b != b && a == a);
}

template <class T> struct IndexedValue {
    T value;
    std::int64_t index;

    /// Stable: equal elements keep their order.
    static bool ascending(IndexedValue const& a, IndexedValue const& b) {
        return is_less(a.value, b.value) || (!is_less(b.value, a.value) && a.index < b.index);
    }
    static bool descending(IndexedValue const& a, IndexedValue const& b) {
        return is_less(b.value, a.value) || (!is_less(a.value, b.value) && a.index < b.index);
    }
};

/// Computes `count` indices for each row of x along an axis: choose(row, its length, the indices).
template <Scalar T, class F>
Tensor<std::int64_t> indices_along(
    Array<T> const& x, std::size_t axis, std::size_t count, F choose) {
    Axes const over{static_cast<std::ptrdiff_t>(axis)};
    Array<T> buffer;
    T const* const rows = rows_over(over, x, buffer);
    std::size_t const n = x.shape[axis];
    Shape shape;
    for (std::size_t d = 0; d < x.shape.size(); ++d)
        if (d != axis) shape.push_back(x.shape[d]);
    shape.push_back(count);
    Array<std::int64_t> indices(shape);
    for (std::size_t row = 0; row < (count ? indices.numel / count : 0); ++row)
        choose(rows + row * n, n, indices.begin() + row * count);
    return Tensor<std::int64_t>(rows_put_back(over, std::move(indices)));
}

/// Indices of the first `count` elements of each row in sorted order.
template <Scalar T>
Tensor<std::int64_t> first_indices(
    Array<T> const& x, std::size_t axis, std::size_t count, bool descending) {
    CachedVector<IndexedValue<T>> all(x.shape[axis]);
    return indices_along(x, axis, count, [&](T const* row, std::size_t n, std::int64_t* indices) {
        for (std::size_t i = 0; i < n; ++i) all[i] = {row[i], static_cast<std::int64_t>(i)};
        auto const sort = [&](auto less) {
            if (count == n) std::sort(all.begin(), all.end(), less);
            else
                std::partial_sort(
                    all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count), all.end(), less);
        };
        descending ? sort(IndexedValue<T>::descending) : sort(IndexedValue<T>::ascending);
        for (std::size_t i = 0; i < count; ++i) indices[i] = all[i].index;
    });
}

/// The values of x, not recorded.
template <Operand X> auto values_of(X const& x) {
    NoGradGuard const off;
    return materialize(x).array_of();
}

/// Keeps an axis of extent 1, or removes it.
template <Scalar T> Tensor<T> keep_or_drop(Tensor<T> const& x, std::size_t axis, bool keep) {
    return keep ? x
                : only_reshaped(reshape(x,
                      Axes(reduced_shape(x.shape(), {static_cast<std::ptrdiff_t>(axis)}, false))));
}
/// Throws where rows along an axis are empty.
XGRAD_LAZY void check_choice(std::string_view name, Shape const& shape, std::size_t axis);

template <Operand X>
Tensor<std::int64_t> extreme_index(
    std::string_view name, X const& x, std::ptrdiff_t axis, bool keep, bool largest) {
    check_defined(name, x);
    auto const d = normalize_axis(name, axis, x.shape());
    auto const values = values_of(x);
    check_choice(name, values.shape, d);
    auto const indices =
        indices_along(values, d, 1, [largest](auto const* row, std::size_t n, std::int64_t* index) {
            std::size_t at = 0;
            for (std::size_t i = 1; i < n; ++i)
                if (largest ? is_less(row[at], row[i])
                            : row[at] == row[at] && (is_less(row[i], row[at]) || row[i] != row[i]))
                    at = i;
            *index = static_cast<std::int64_t>(at);
        });
    return keep_or_drop(indices, d, keep);
}

template <Operand X>
Tensor<std::int64_t> extreme_index_of_all(char const* name, X const& x, bool largest) {
    NoGradGuard const off;
    return extreme_index(name, in_one_row(name, x), 0, false, largest);
}

template <Operand X>
auto ordered(std::string_view name, X const& x, std::ptrdiff_t axis,
    std::optional<std::size_t> count, bool descending) {
    check_defined(name, x);
    auto const d = normalize_axis(name, axis, x.shape());
    auto const t = materialize(x);
    std::size_t const n = t.shape()[d];
    if (count && *count > n)
        fail<IndexError>(
            name, ": ", *count, " elements were asked for along axis ", d, " of shape ", t.shape());
    auto indices = first_indices(t.array_of(), d, count.value_or(n), descending);
    return Ordered<typename X::scalar>{gather(t, static_cast<std::ptrdiff_t>(d), indices), indices};
}

} // namespace detail

/// The index of the largest element along an axis; of the first of equal ones, or of the first NaN.
/// Not differentiable.
template <Operand X>
Tensor<std::int64_t> argmax(X const& x, std::ptrdiff_t axis, Flag keep = false) {
    return detail::extreme_index("argmax", x, axis, keep, true);
}
/// The row-major index of the largest of all elements.
template <Operand X> Tensor<std::int64_t> argmax(X const& x) {
    return detail::extreme_index_of_all("argmax", x, true);
}

/// The index of the smallest element along an axis; of the first of equal ones, or of the first
/// NaN. Not differentiable.
template <Operand X>
Tensor<std::int64_t> argmin(X const& x, std::ptrdiff_t axis, Flag keep = false) {
    return detail::extreme_index("argmin", x, axis, keep, false);
}
template <Operand X> Tensor<std::int64_t> argmin(X const& x) {
    return detail::extreme_index_of_all("argmin", x, false);
}

/// The indices that sort the elements along an axis in ascending or descending order. Stable. Not
/// differentiable.
template <Operand X>
Tensor<std::int64_t> argsort(X const& x, std::ptrdiff_t axis = -1, Flag descending = false) {
    auto const d = detail::normalize_axis("argsort", axis, x.shape());
    auto const values = detail::values_of(x);
    return detail::first_indices(values, d, values.shape[d], descending);
}

/// The elements along an axis in ascending or descending order, and their indices. Stable.
/// Gradients are scattered to those indices.
template <Operand X> auto sort(X const& x, std::ptrdiff_t axis = -1, Flag descending = false) {
    return detail::ordered("sort", x, axis, {}, descending);
}

/// The k largest elements along an axis in descending order, or the k smallest in ascending order,
/// and their indices.
template <Operand X>
auto topk(X const& x, std::size_t k, std::ptrdiff_t axis = -1, Flag largest = true) {
    return detail::ordered("topk", x, axis, k, largest);
}

} // namespace xgrad
