// Members of Tensor that return views and copies.
//
// Shapes: as each function says; an axis below 0 counts from the end. Results share the memory of
// the tensor, but for clone(), and for reshape() where no strides express it.
// Gradients: the gradient is written into the viewed part; of any order, in backward and forward
// mode. A change in place through a view is recorded in its base.
// Errors: a shape that no view has is a ShapeError, as is a split into parts of 0; an axis, index
// or slice out of range is an IndexError; an undefined tensor is an Error.
#pragma once

#include <xgrad/ops/indexing.hpp>
#include <xgrad/tensor/parts.hpp>
#include <xgrad/tensor/reduce.hpp>
#include <xgrad/tensor/tensor_view.hpp>

namespace xgrad {

/// Indexing by integers, slices (xg::slice or xt::range), xt::all(), xt::newaxis() and
/// xt::ellipsis(). Returns a view.
template <Scalar T>
template <class... Index>
Tensor<T> Tensor<T>::operator()(Index const&... index) const {
    detail::check_defined("x(index)", *this);
    return express(detail::window(shape(), index...), *this);
}

template <Scalar T> Tensor<T> Tensor<T>::reshape(AxisList const& shape) const {
    return xgrad::reshape(*this, shape);
}
template <Scalar T> Tensor<T> Tensor<T>::view(AxisList const& shape) const {
    auto const v = express(Reshape{{}, shape, "view"}, *this);
    if (v.impl().array.storage != impl().array.storage)
        detail::fail<ShapeError>("view: a tensor of shape ", this->shape(), " and strides ",
            strides(), " has no view of shape ", shape, "; use reshape, which may copy");
    return v;
}
template <Scalar T> Tensor<T> Tensor<T>::expand(AxisList const& axes) const {
    auto const new_axes = axes.size() - std::min(axes.size(), dim());
    Shape shape; // -1 keeps an extent
    for (std::size_t d = 0; d < axes.size(); ++d) {
        if (axes[d] < 0 && !(axes[d] == -1 && d >= new_axes))
            detail::fail<ShapeError>("expand: the extent ", axes[d], " of axis ", d,
                " is negative; -1 keeps the extent of an axis that is there");
        shape.push_back(axes[d] == -1 && d >= new_axes ? this->shape()[d - new_axes]
                                                       : static_cast<std::size_t>(axes[d]));
    }
    if (!detail::broadcasts_to(this->shape(), shape))
        detail::fail<ShapeError>("expand: shape ", this->shape(), " does not broadcast to ", shape);
    return broadcast_to(*this, shape);
}
template <Scalar T> Tensor<T> Tensor<T>::transpose() const { return xgrad::transpose(*this); }
template <Scalar T>
Tensor<T> Tensor<T>::transpose(std::ptrdiff_t axis0, std::ptrdiff_t axis1) const {
    return xgrad::transpose(*this, axis0, axis1);
}
template <Scalar T> Tensor<T> Tensor<T>::permute(AxisList const& axes) const {
    return xgrad::permute(*this, axes);
}

namespace detail {

/// A view of x with elements of type V; see record_view above.
template <Scalar V, Scalar T, class ViewOf>
Tensor<V> record_view(std::string_view name, Tensor<T> const& x, ViewOf view_of) {
    return Tensor<V>(record_view(name, x, type_info<V>, view_of).handle());
}
/// Views of all parts of x along an axis.
template <Scalar T>
TensorParts<T> record_views(std::string_view name, Tensor<T> const& x, AxisParts parts) {
    TensorParts<T> views;
    for (auto& view : view_parts(name, x, std::move(parts)))
        views.push_back(Tensor<T>(std::move(view).handle()));
    return views;
}
template <Scalar T>
Tensor<T> record_slice(std::string_view name, Tensor<T> const& x, AxisSlice const& slice) {
    return Tensor<T>(view_slice(name, x, slice).handle());
}

/// A view of `a` with elements of `size` bytes, beginning `offset` elements behind the first one.
XGRAD_LAZY AnyArray view_on(
    AnyArray a, Shape shape, Strides strides, std::ptrdiff_t offset, std::size_t size);

} // namespace detail

/// Slices along an axis, without it: views that share one Node. As in PyTorch, none of several
/// views may be changed in place while gradients are recorded.
template <Scalar T> TensorParts<T> unbind(Tensor<T> const& x, std::ptrdiff_t axis = 0) {
    auto const at = detail::normalize_axis("unbind", axis, x.shape());
    return detail::record_views(
        "Unbind", x, {at, false, detail::CachedVector<std::size_t>(x.shape()[at], 1)});
}
/// Views of `size` positions of an axis each; the last may be shorter.
template <Scalar T>
TensorParts<T> split(Tensor<T> const& x, std::size_t size, std::ptrdiff_t axis = 0) {
    auto const at = detail::normalize_axis("split", axis, x.shape());
    if (auto const extent = static_cast<std::ptrdiff_t>(size); extent <= 0)
        detail::fail<ShapeError>("split: the parts of shape ", x.shape(), " have extent ", extent);
    detail::CachedVector<std::size_t> counts;
    for (std::size_t i = 0, n = x.shape()[at]; i < n || i == 0; i += size)
        counts.push_back(std::min(size, n - i));
    return detail::record_views("Split", x, {at, true, std::move(counts)});
}
/// The view at one position of an axis, without the axis; a negative index counts from the end.
template <Scalar T>
Tensor<T> select(Tensor<T> const& x, std::ptrdiff_t axis, std::ptrdiff_t index) {
    auto const at = detail::normalize_axis("select", axis, x.shape());
    auto const extent = static_cast<std::ptrdiff_t>(x.shape()[at]);
    if (index < -extent || index >= extent)
        detail::fail<IndexError>(
            "select: index ", index, " is out of range for axis ", axis, " of shape ", x.shape());
    auto const i = static_cast<std::size_t>(index < 0 ? index + extent : index);
    return detail::record_slice("Select", x, {at, i, 1, false});
}
/// The view of `length` positions of an axis from `start` on; a negative start counts from the end.
template <Scalar T>
Tensor<T> narrow(
    Tensor<T> const& x, std::ptrdiff_t axis, std::ptrdiff_t start, std::size_t length) {
    auto const at = detail::normalize_axis("narrow", axis, x.shape());
    auto const extent = x.shape()[at];
    auto const first =
        static_cast<std::size_t>(start < 0 ? start + static_cast<std::ptrdiff_t>(extent) : start);
    if (first > extent || length > extent - first)
        detail::fail<IndexError>("narrow: ", length, " positions from ", start,
            " are out of range for axis ", axis, " of shape ", x.shape());
    return detail::record_slice("Narrow", x, {at, first, length, true});
}
/// At most `chunks` views of equal extent along an axis; the last may be shorter.
template <Scalar T>
TensorParts<T> chunk(Tensor<T> const& x, std::size_t chunks, std::ptrdiff_t axis = 0) {
    if (auto const n = static_cast<std::ptrdiff_t>(chunks); n <= 0)
        detail::fail<ShapeError>("chunk: the number of chunks of shape ", x.shape(), " is ", n);
    auto const n = x.shape()[detail::normalize_axis("chunk", axis, x.shape())];
    return split(x, std::max<std::size_t>(1, (n + chunks - 1) / chunks), axis);
}

/// The elements whose indices on two axes are i and i + offset, along a new last axis. A view.
template <Scalar T>
Tensor<T> diagonal(Tensor<T> const& x, std::ptrdiff_t offset = 0, std::ptrdiff_t axis0 = 0,
    std::ptrdiff_t axis1 = 1) {
    auto const p = detail::normalize_axis("diagonal", axis0, x.shape()),
               q = detail::normalize_axis("diagonal", axis1, x.shape());
    if (p == q)
        detail::fail<ShapeError>(
            "diagonal: axes ", axis0, " and ", axis1, " of shape ", x.shape(), " are the same");
    return detail::record_view<T>("Diagonal", x, [=](detail::AnyArray const& a) {
        auto const rows = static_cast<std::ptrdiff_t>(a.shape[p]),
                   columns = static_cast<std::ptrdiff_t>(a.shape[q]);
        auto const count = std::max<std::ptrdiff_t>(
            0, offset >= 0 ? std::min(rows, columns - offset) : std::min(rows + offset, columns));
        Shape shape = a.shape;
        Strides strides = a.strides;
        auto const start = count == 0    ? 0
                           : offset >= 0 ? offset * strides[q]
                                         : -offset * strides[p];
        auto const step = strides[p] + strides[q];
        for (auto const axis : {std::max(p, q), std::min(p, q)}) {
            shape.erase(axis);
            strides.erase(axis);
        }
        shape.push_back(static_cast<std::size_t>(count));
        strides.push_back(step);
        return detail::view_on(a, std::move(shape), std::move(strides), start, sizeof(T));
    });
}

/// A complex tensor as real numbers along a new last axis with extent 2: real and imaginary parts.
/// A view.
template <Scalar T>
    requires detail::is_complex<T>
Tensor<precision_of<T>> view_as_real(Tensor<T> const& z) {
    using P = precision_of<T>;
    detail::check_defined("view_as_real", z);
    return detail::record_view<P>("ViewAsReal", z, [](detail::AnyArray const& a) {
        Shape shape = a.shape;
        Strides strides = a.strides;
        for (auto& s : strides) s *= 2;
        shape.push_back(2);
        strides.push_back(1);
        return detail::view_on(a, std::move(shape), std::move(strides), 0, sizeof(P));
    });
}
/// The inverse of view_as_real: the last axis must have extent 2 and unit steps. A view.
template <RealScalar T> Tensor<std::complex<T>> view_as_complex(Tensor<T> const& x) {
    bool fits = x.dim() > 0 && x.shape(-1) == 2 && x.strides().back() == 1;
    for (std::size_t d = 0; fits && d + 1 < x.dim(); ++d)
        fits = x.strides()[d] % 2 == 0 || x.shape()[d] == 1;
    if (fits) { // a pair begins at an even distance from the begin of the memory
        auto const& array = x.impl().array;
        fits =
            (array.data - array.storage->data()) % static_cast<std::ptrdiff_t>(2 * sizeof(T)) == 0;
    }
    if (!fits)
        detail::fail<ShapeError>("view_as_complex: a tensor of shape ", x.shape(), " and strides ",
            x.strides(),
            " does not hold pairs: the last axis must have extent 2 and step 1, all others even "
            "steps");
    return detail::record_view<std::complex<T>>("ViewAsComplex", x, [](detail::AnyArray const& a) {
        Shape shape = a.shape;
        Strides strides = a.strides;
        shape.erase(shape.size() - 1);
        strides.erase(strides.size() - 1);
        for (auto& s : strides) s /= 2;
        return detail::view_on(a, std::move(shape), std::move(strides), 0, sizeof(std::complex<T>));
    });
}

template <Scalar T>
Tensor<T> Tensor<T>::diagonal(
    std::ptrdiff_t offset, std::ptrdiff_t axis0, std::ptrdiff_t axis1) const {
    return xgrad::diagonal(*this, offset, axis0, axis1);
}
template <Scalar T> TensorParts<T> Tensor<T>::unbind(std::ptrdiff_t axis) const {
    return xgrad::unbind(*this, axis);
}
template <Scalar T> TensorParts<T> Tensor<T>::split(std::size_t size, std::ptrdiff_t axis) const {
    return xgrad::split(*this, size, axis);
}
template <Scalar T> TensorParts<T> Tensor<T>::chunk(std::size_t chunks, std::ptrdiff_t axis) const {
    return xgrad::chunk(*this, chunks, axis);
}

namespace detail {
/// A view of the real (0) or imaginary (1) parts of a complex tensor.
template <Scalar T>
Tensor<precision_of<T>> part_view(std::string_view name, Tensor<T> const& z, std::ptrdiff_t part) {
    using P = precision_of<T>;
    return record_view<P>(name, z, [part](AnyArray const& a) {
        Strides strides = a.strides;
        for (auto& s : strides) s *= 2;
        return view_on(a, a.shape, std::move(strides), part, sizeof(P));
    });
}
} // namespace detail

/// The real parts. A view; in an expression real(z) is computed on the fly instead.
template <Scalar T>
Tensor<precision_of<T>> Tensor<T>::real() const
    requires detail::is_complex<T>
{
    detail::check_defined("real", *this);
    return detail::part_view("Real", *this, 0);
}
/// The imaginary parts. A view; in an expression imag(z) is computed on the fly instead.
template <Scalar T>
Tensor<precision_of<T>> Tensor<T>::imag() const
    requires detail::is_complex<T>
{
    detail::check_defined("imag", *this);
    return detail::part_view("Imag", *this, 1);
}

/// A copy; the gradient is passed on unchanged.
struct Clone : Arraywise {
    static constexpr std::string_view written = "clone";
    static constexpr auto dependence = Dependence::selection;
    template <Scalar T> auto value(detail::Array<T> const& x) const {
        detail::Array<T> out(x.shape);
        detail::copy_elements(out, x);
        return out;
    }
    auto pullback(wrt<0>, auto const& g, auto const&, auto const&) const { return g; }
};
template <Scalar T> Tensor<T> Tensor<T>::clone() const { return express(Clone{}, *this); }

} // namespace xgrad
