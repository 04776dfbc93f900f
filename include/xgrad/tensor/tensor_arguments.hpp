// Arguments of Tensor's constructors: nested lists, and whether the tensor requires a gradient.
#pragma once

#include <concepts>
#include <initializer_list>

#include <xgrad/core/scalar.hpp>

namespace xgrad {

/// Constructs a leaf that requires a gradient: `Tensor<double> x({1., 2.}, xg::requires_grad)`.
struct RequiresGrad {
    bool value = false;
};
inline constexpr RequiresGrad requires_grad{true};

/// The last argument of functions that create a Tensor<T>: nothing, or requires_grad.
template <Scalar T> struct GradFlag {
    bool value = false;
    GradFlag() = default;
    GradFlag(RequiresGrad g) : value(g.value) {
        static_assert(detail::has_gradients<T>,
            "only Tensors of floating point and complex dtype can require gradients");
    }
};

namespace detail {

/// An element of a braced list: a number or a list. {5.} is always a list, so that {{5.}, {6.}} can
/// only be a matrix.
template <class T> struct NestedList {
    T value{};
    std::initializer_list<NestedList> list{};
    bool is_number = false;
    template <std::convertible_to<T> U>
    NestedList(U const& v) : value(static_cast<T>(v)), is_number(true) {}
    NestedList(std::initializer_list<NestedList> l) : list(l) {}
};

} // namespace detail

} // namespace xgrad
