// Datasets: types with a size() and items with an index, and datasets made of others. All are read
// through const references.
//
// Shapes: all tensors of a TensorDataset have the same first extent; an item has the others, a
// batch has the number of items as first.
// Gradients: none are recorded: rows and batches are constants.
// Errors: tensors of different numbers of rows are a ShapeError; an item that is not there is an
// IndexError; sizes of random_split() that do not add up to that of the dataset are an Error. A
// type without size() or items does not compile.
#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <tuple>

#include <xgrad/tensor/create.hpp>
#include <xgrad/tensor/generator.hpp>

namespace xgrad::data {

namespace detail {

using xgrad::detail::fail;

template <class D>
concept HasSize = requires(D const& d) {
    { d.size() } -> std::convertible_to<std::size_t>;
};
template <class D>
concept HasGet = requires(D const& d, std::size_t i) { d.get(i); };
template <class D>
concept HasIndex = requires(D const& d, std::size_t i) { d[i]; };
/// A dataset that makes a whole batch at once, faster than from its items.
template <class D>
concept HasBatches =
    requires(D const& d, std::span<std::size_t const> numbers) { d.get_batch(numbers); };

} // namespace detail

/// A type with size() and get(i) or operator[](i), all of them const.
template <class D>
concept Dataset = detail::HasSize<D> && (detail::HasGet<D> || detail::HasIndex<D>);

namespace detail {

template <class D> constexpr bool is_dataset() {
    static_assert(HasSize<D>, "a dataset has a const function size(), the number of its items");
    static_assert(HasGet<D> || HasIndex<D>, "a dataset has a const function get(i) or "
                                            "operator[](i), which gives item i, a std::size_t");
    return Dataset<D>;
}
template <class D> auto item(D const& d, std::size_t i) {
    if constexpr (HasGet<D>) return d.get(i);
    else if constexpr (HasIndex<D>) return d[i];
}
template <class D> using item_type = decltype(item(std::declval<D const&>(), std::size_t{}));

/// A random permutation of 0, 1, ..., n - 1, the same on every machine for the same generator
/// (Fisher and Yates).
template <class Generator>
std::vector<std::size_t> permutation(std::size_t n, Generator& generator) {
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t left = n; left > 1; --left) {
        // 2^64 mod sides: so many values are rejected, which would favour some positions
        std::uint64_t const sides = left, rest = (~sides + 1) % sides;
        std::uint64_t v = generator();
        while (v < rest) v = generator();
        std::swap(order[left - 1], order[xgrad::detail::converted<std::size_t>(v % sides)]);
    }
    return order;
}

} // namespace detail

/// Tensors with the same number of rows, of any scalar types: item i is the std::tuple of their
/// rows i.
template <Scalar... T> class TensorDataset {
public:
    explicit TensorDataset(Tensor<T> const&... tensors) : tensors_(tensors...) {
        static_assert(sizeof...(T) > 0, "TensorDataset: it is made from at least one tensor");
        for (AnyTensor const& t : {AnyTensor(tensors)...}) {
            if (t.dim() == 0)
                detail::fail<ShapeError>("TensorDataset: a tensor without axes has no rows");
            if (t.shape(0) != size())
                detail::fail<ShapeError>(
                    "TensorDataset: tensors of ", size(), " and of ", t.shape(0), " rows");
        }
    }

    /// The number of items, and item i: its rows.
    std::size_t size() const { return std::get<0>(tensors_).shape(0); }
    std::tuple<Tensor<T>...> get(std::size_t i) const {
        if (i >= size())
            detail::fail<IndexError>("TensorDataset: there is no item ", i, " of ", size());
        return std::apply([i](auto const&... t) { return std::tuple(row(t, i)...); }, tensors_);
    }
    std::tuple<Tensor<T>...> operator[](std::size_t i) const { return get(i); }
    /// The rows with these indices, stacked.
    std::tuple<Tensor<T>...> get_batch(std::span<std::size_t const> numbers) const {
        for (auto const i : numbers)
            if (i >= size())
                detail::fail<IndexError>("TensorDataset: there is no item ", i, " of ", size());
        return std::apply(
            [numbers](auto const&... t) { return std::tuple(rows(t, numbers)...); }, tensors_);
    }

private:
    template <class V> static V without_first(V const& v) { return V(v.begin() + 1, v.end()); }
    template <Scalar S> static Tensor<S> row(Tensor<S> const& t, std::size_t i) {
        return Tensor<S>(t.array_of().view(without_first(t.shape()), without_first(t.strides()),
            static_cast<std::ptrdiff_t>(i) * t.strides()[0]));
    }
    template <Scalar S>
    static Tensor<S> rows(Tensor<S> const& t, std::span<std::size_t const> numbers) {
        Shape shape = t.shape();
        shape[0] = numbers.size();
        auto const out = Tensor<S>::empty(shape);
        for (std::size_t k = 0; k < numbers.size(); ++k)
            xgrad::detail::copy_elements(row(out, k).array_of(), row(t, numbers[k]).array_of());
        return out;
    }

    std::tuple<Tensor<T>...> tensors_;
};
template <Operand... X> TensorDataset(X const&...) -> TensorDataset<typename X::scalar...>;

/// The items of another dataset, mapped by a function, which takes an item, or its parts if it is a
/// std::tuple.
template <Dataset D, class F> class MapDataset {
public:
    MapDataset(D dataset, F f) : dataset_(std::move(dataset)), f_(std::move(f)) {}
    /// The number of items, and item i after f.
    std::size_t size() const { return static_cast<std::size_t>(dataset_.size()); }
    auto get(std::size_t i) const {
        using Item = detail::item_type<D>;
        if constexpr (std::is_invocable_v<F const&, Item>) return f_(detail::item(dataset_, i));
        else {
            constexpr bool takes_parts = requires { std::apply(f_, std::declval<Item>()); };
            static_assert(takes_parts,
                "map: the function takes an item of the dataset, or its parts where "
                "it is a std::tuple, and may be called through const");
            if constexpr (takes_parts) return std::apply(f_, detail::item(dataset_, i));
        }
    }

private:
    D dataset_;
    F f_;
};
template <class D, class F> auto map(D dataset, F f) {
    if constexpr (detail::is_dataset<D>())
        return MapDataset<D, F>(std::move(dataset), std::move(f));
}

/// A subset of another dataset; several subsets share that dataset.
template <Dataset D> class Subset {
public:
    Subset(std::shared_ptr<D const> dataset, std::vector<std::size_t> numbers)
        : dataset_(std::move(dataset)), numbers_(std::move(numbers)) {
        auto const n = static_cast<std::size_t>(dataset_->size());
        for (auto const i : numbers_)
            if (i >= n) detail::fail<IndexError>("subset: there is no item ", i, " of ", n);
    }
    /// The number of items, and item i of the subset.
    std::size_t size() const noexcept { return numbers_.size(); }
    auto get(std::size_t i) const { return detail::item(*dataset_, number_of(i)); }
    auto get_batch(std::span<std::size_t const> numbers) const
        requires detail::HasBatches<D>
    {
        std::vector<std::size_t> theirs;
        for (auto const i : numbers) theirs.push_back(number_of(i));
        return dataset_->get_batch(theirs);
    }
    /// The indices of the items in the original dataset.
    std::vector<std::size_t> const& indices() const noexcept { return numbers_; }

private:
    std::size_t number_of(std::size_t i) const {
        if (i >= size()) detail::fail<IndexError>("subset: there is no item ", i, " of ", size());
        return numbers_[i];
    }

    std::shared_ptr<D const> dataset_;
    std::vector<std::size_t> numbers_;
};
/// The items with these indices, in this order.
template <class D> auto subset(D dataset, std::vector<std::size_t> numbers) {
    if constexpr (detail::is_dataset<D>())
        return Subset<D>(std::make_shared<D const>(std::move(dataset)), std::move(numbers));
}

/// Disjoint subsets of these sizes, whose sum is the size of the dataset, with random items by the
/// calling thread's generator (manual_seed()).
template <class D> auto random_split(D dataset, std::vector<std::size_t> const& sizes) {
    if constexpr (detail::is_dataset<D>()) {
        auto const n = static_cast<std::size_t>(dataset.size());
        for (auto const size : sizes)
            if (size > n)
                detail::fail(
                    "random_split: a part of ", size, " items is more than the dataset has, ", n);
        auto const sum = std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
        if (sum != n)
            detail::fail(
                "random_split: parts of ", sizes, " are ", sum, " items, and the dataset has ", n);
        auto const order = detail::permutation(n, xgrad::detail::generator());
        auto const shared = std::make_shared<D const>(std::move(dataset));
        std::vector<Subset<D>> parts;
        auto at = order.begin();
        for (auto const size : sizes) {
            auto const end = at + static_cast<std::ptrdiff_t>(size);
            parts.emplace_back(shared, std::vector<std::size_t>(at, end));
            at = end;
        }
        return parts;
    }
}

} // namespace xgrad::data
