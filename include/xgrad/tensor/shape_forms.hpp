// ShapeForms: functions of shapes as members of Tensor, beside the free functions. What returns a
// view or a reshaped tensor is both.
//
// Shapes: those of the free functions of ops/shaping.hpp and tensor/views.hpp with the same names.
// Gradients: those of the free functions: the inverse rearrangement, of any order, in backward and
// forward mode.
// Errors: those of the free functions: ShapeError for a shape that does not fit, IndexError for an
// axis out of range, Error for an undefined tensor.
//
// Read next: expr/function_forms.hpp.
#pragma once

#include <xgrad/autograd/any_tensor.hpp>
#include <xgrad/ops/linalg.hpp>
#include <xgrad/ops/shaping.hpp>

namespace xgrad {

template <Scalar T> class TensorParts;
/// A view; see views.hpp.
template <Scalar T> Tensor<T> select(Tensor<T> const& x, std::ptrdiff_t axis, std::ptrdiff_t index);
/// A view; see views.hpp.
template <Scalar T>
Tensor<T> narrow(Tensor<T> const& x, std::ptrdiff_t axis, std::ptrdiff_t start, std::size_t length);

/// Base of Tensor<T>.
template <class Derived> struct ShapeForms {
    /// All elements along one axis.
    auto ravel() const { return xgrad::flatten(self()); }
    /// `x.f(...)` is `f(x, ...)`.
#define XGRAD_MEMBER(f)                                                                            \
    template <class... A> auto f(A const&... a) const { return xgrad::f(self(), a...); }
    XGRAD_MEMBER(flatten)
    XGRAD_MEMBER(squeeze)
    XGRAD_MEMBER(unsqueeze)
    XGRAD_MEMBER(select)
    XGRAD_MEMBER(narrow)
    XGRAD_MEMBER(mT)
#undef XGRAD_MEMBER
    /// `x.f(2, 3)` is `x.f({2, 3})`.
#define XGRAD_OF_INTEGERS(f)                                                                       \
    template <std::integral... N>                                                                  \
        requires(sizeof...(N) > 1)                                                                 \
    auto f(N... n) const {                                                                         \
        return self().f(AxisList{n...});                                                           \
    }
    XGRAD_OF_INTEGERS(expand)
    XGRAD_OF_INTEGERS(permute)
    XGRAD_OF_INTEGERS(reshape)
    XGRAD_OF_INTEGERS(view)
#undef XGRAD_OF_INTEGERS
    /// With some axes at other positions.
    auto movedim(AxisList const& from, AxisList const& to) const {
        return xgrad::movedim(self(), from, to);
    }
    /// A view in which elements are repeated.
    auto broadcast_to(Shape const& shape) const { return xgrad::broadcast_to(self(), shape); }
    /// A view of the shape of another tensor.
    template <class Other> auto view_as(Other const& other) const {
        return self().view(Axes(other.shape()));
    }
    /// A view of the shape of another tensor, or a copy where no strides express it.
    template <class Other> auto reshape_as(Other const& other) const {
        return self().reshape(Axes(other.shape()));
    }
    /// A view broadcast to the shape of another tensor.
    template <class Other> auto expand_as(Other const& other) const {
        return self().expand(other.shape());
    }
    /// The axes in reverse order.
    auto T() const { return self().transpose(); }
    /// Each matrix transposed, and conjugated.
    auto H() const { return materialize_expression(adjoint(self())); }
    /// The elements converted to another type: cast<U>(x).
    template <Scalar U> auto to() const { return xgrad::cast<U>(self()); }
    template <Scalar U> auto astype() const { return xgrad::cast<U>(self()); }
    /// The extent of an axis.
    std::size_t size(std::ptrdiff_t axis) const {
        return self().shape()[detail::normalize_axis("size", axis, self().shape())];
    }
    /// The number of elements and of axes, as xtensor calls them.
    std::size_t size() const { return self().numel(); }
    std::size_t dimension() const { return self().dim(); }
    std::size_t ndim() const { return self().dim(); }
    Shape const& sizes() const { return self().shape(); }
    // NumPy and PyTorch iterate over rows, xtensor over elements: a guess would be wrong for one.
    void begin() const = delete; // write x.array() for the elements, x.unbind() for the rows
    void end() const = delete;   // write x.array() for the elements, x.unbind() for the rows

private:
    Derived const& self() const { return static_cast<Derived const&>(*this); }
};

} // namespace xgrad
