// Functions of namespace xt for tensors: a template that calls xt::exp(x), xt::sum(x, {0}) or
// xt::view(x, ...) takes a Tensor, too. A program includes this header before such templates; in
// templates of its own it leaves `xt::` out instead, and needs none of this.
#pragma once

#include <xgrad/xgrad.hpp>

#if __has_include(<xtensor/core/xmath.hpp>)
#    include <xtensor/core/xmath.hpp>
#    include <xtensor/misc/xmanipulation.hpp>
#    include <xtensor/views/xview.hpp>
#else
#    include <xtensor/xmanipulation.hpp>
#    include <xtensor/xmath.hpp>
#    include <xtensor/xview.hpp>
#endif

#include <xgrad/core/begin_headers.inc>

namespace xgrad::detail {

inline void check_is_matrix(std::string_view name, Shape const& shape) {
    if (shape.size() != 2)
        fail<ShapeError>(name, ": a matrix is needed, not an array of shape ", shape);
}

/// The part that the slices of xt::strided_view() select.
inline Window window_of_slices(Shape const& shape, xt::xstrided_slice_vector const& slices) {
    std::size_t named = 0;
    for (auto const& slice : slices)
        xtl::visit([&named]<class S>(S const&) { named += names_axes<S>; }, slice);
    WindowBuilder builder(shape, named);
    for (auto const& slice : slices)
        xtl::visit(
            [&builder](auto const& s) {
                if constexpr (
                    requires { s.step_size(); } && requires { s.size(); }) {
                    auto const count = static_cast<std::ptrdiff_t>(s.size());
                    auto const first = count ? static_cast<std::ptrdiff_t>(s(0)) : 0,
                               step = count > 1 ? static_cast<std::ptrdiff_t>(s(1)) - first : 1;
                    builder.add(xgrad::Slice{first, first + count * step, step});
                } else builder.add(s);
            },
            slice);
    return builder.finish();
}

} // namespace xgrad::detail

namespace xt {

// xtensor's own functions of elements do not take part in a call without an array.
using xgrad::abs;
using xgrad::acos;
using xgrad::acosh;
using xgrad::asin;
using xgrad::asinh;
using xgrad::atan;
using xgrad::atan2;
using xgrad::atanh;
using xgrad::ceil;
using xgrad::clip;
using xgrad::conj;
using xgrad::cos;
using xgrad::cosh;
using xgrad::erf;
using xgrad::erfc;
using xgrad::exp;
using xgrad::expm1;
using xgrad::floor;
using xgrad::hypot;
using xgrad::imag;
using xgrad::isfinite;
using xgrad::isinf;
using xgrad::isnan;
using xgrad::lgamma;
using xgrad::log;
using xgrad::log10;
using xgrad::log1p;
using xgrad::log2;
using xgrad::maximum;
using xgrad::minimum;
using xgrad::pow;
using xgrad::real;
using xgrad::round;
using xgrad::sign;
using xgrad::sin;
using xgrad::sinh;
using xgrad::sqrt;
using xgrad::tan;
using xgrad::tanh;
using xgrad::trunc;
using xgrad::where;

// Tensors of the shape and the type of a tensor.
using xgrad::empty_like;
using xgrad::full_like;
using xgrad::ones_like;
using xgrad::zeros_like;

// Others take anything, so that overloads for tensors, and for classes derived from Tensor, must be
// the more specialised, in each value category.
#define XGRAD_TENSOR                                                                               \
    template <template <class> class X, xgrad::Scalar T>                                           \
        requires requires { typename X<T>::tensor_tag; }
#define XGRAD_TENSOR_AND(...)                                                                      \
    template <template <class> class X, xgrad::Scalar T, __VA_ARGS__>                              \
        requires requires { typename X<T>::tensor_tag; }
#define XGRAD_TAKES(f, ref)                                                                        \
    XGRAD_TENSOR auto f(X<T> ref x) { return xgrad::f(x); }                                        \
    XGRAD_TENSOR_AND(class A) auto f(X<T> ref x, A&& axes) { return xgrad::f(x, axes); }           \
    XGRAD_TENSOR_AND(class A, class B) auto f(X<T> ref x, A&& a, B&& b) {                          \
        return xgrad::f(x, a, b);                                                                  \
    }                                                                                              \
    XGRAD_TENSOR_AND(class I, std::size_t n) auto f(X<T> ref x, I const(&axes)[n]) {               \
        return xgrad::f(x, xgrad::Axes(axes, axes + n));                                           \
    }                                                                                              \
    template <class Op, class... X> auto f(xgrad::Expression<Op, X...> ref x) {                    \
        return xgrad::f(x);                                                                        \
    }                                                                                              \
    template <class Op, class... X, class A> auto f(xgrad::Expression<Op, X...> ref x, A&& axes) { \
        return xgrad::f(x, axes);                                                                  \
    }                                                                                              \
    template <class Op, class... X, class I, std::size_t n>                                        \
    auto f(xgrad::Expression<Op, X...> ref x, I const(&axes)[n]) {                                 \
        return xgrad::f(x, xgrad::Axes(axes, axes + n));                                           \
    }
#define XGRAD_TAKES_ALL(f) XGRAD_TAKES(f, &) XGRAD_TAKES(f, const&) XGRAD_TAKES(f, &&)
XGRAD_TAKES_ALL(all)
XGRAD_TAKES_ALL(allclose)
XGRAD_TAKES_ALL(amax)
XGRAD_TAKES_ALL(amin)
XGRAD_TAKES_ALL(any)
XGRAD_TAKES_ALL(count_nonzero)
XGRAD_TAKES_ALL(cumsum)
XGRAD_TAKES_ALL(diagonal)
XGRAD_TAKES_ALL(expand_dims)
XGRAD_TAKES_ALL(flatten)
XGRAD_TAKES_ALL(flip)
XGRAD_TAKES_ALL(mean)
XGRAD_TAKES_ALL(nan_to_num)
XGRAD_TAKES_ALL(prod)
XGRAD_TAKES_ALL(roll)
XGRAD_TAKES_ALL(split)
XGRAD_TAKES_ALL(square)
XGRAD_TAKES_ALL(squeeze)
XGRAD_TAKES_ALL(sum)
XGRAD_TAKES_ALL(tile)
XGRAD_TAKES_ALL(transpose)
#undef XGRAD_TAKES_ALL
#undef XGRAD_TAKES
#undef XGRAD_TENSOR_AND
#undef XGRAD_TENSOR

// These have the template parameters of xtensor's own, and are more constrained. An assignment to
// what they return writes to the tensor.
using xgrad::view;
template <class E>
    requires xgrad::Operand<std::remove_cvref_t<E>>
auto row(E&& e, std::ptrdiff_t index) {
    xgrad::detail::check_is_matrix("row", e.shape());
    return xgrad::view(e, index);
}
template <class E>
    requires xgrad::Operand<std::remove_cvref_t<E>>
auto col(E&& e, std::ptrdiff_t index) {
    xgrad::detail::check_is_matrix("col", e.shape());
    return xgrad::view(e, xgrad::all, index);
}
template <class E>
    requires xgrad::Operand<std::remove_cvref_t<E>>
auto strided_view(E&& e, xstrided_slice_vector const& slices) {
    auto const x = xgrad::materialize_expression(e);
    return xgrad::detail::as_view<E>(
        xgrad::express(xgrad::detail::window_of_slices(x.shape(), slices), x));
}

} // namespace xt

#include <xgrad/core/end_headers.inc>
