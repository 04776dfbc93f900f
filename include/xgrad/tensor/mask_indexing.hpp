// Indexing by a mask: `x(mask)` reads elements, `x(mask) = y` writes them.
//
// Shapes: the mask broadcasts to the shape of x; what is read is a vector. What is written is one
// element, or a vector with one for each true of the mask.
// Gradients: scattered to the selected elements; of any order, in backward and forward mode. A
// write is recorded as a change in place. The mask has none.
// Errors: a mask that does not broadcast, and values that are not one for each true, are a
// ShapeError; undefined tensors are an Error. A write has the errors of inplace.hpp, too.
#pragma once

#include <xgrad/ops/comparison.hpp>
#include <xgrad/ops/masking.hpp>
#include <xgrad/tensor/inplace.hpp>

namespace xgrad {

namespace detail {

/// A row-major copy of a mask, broadcast to the shape of x.
XGRAD_LAZY Array<bool> full_mask(
    Tensor<bool> const& mask, AnyTensor const& x, std::string_view name = "x(mask)");

/// Base of what x(mask) and x(index) return. x(i) += y is x(i) = x(i) + y; a named tensor that was
/// read changes alone.
template <class Self, Scalar T> struct SelectedTensor : Tensor<T> {
    explicit SelectedTensor(Tensor<T> t) : Tensor<T>(std::move(t)) {}
#define XGRAD_COMPOUND(op)                                                                         \
    template <detail::OperandLike X> void operator op##=(X const& x)&& {                           \
        static_cast<Self&&>(*this) = static_cast<Tensor<T> const&>(*this) op x;                    \
    }                                                                                              \
    template <detail::OperandLike X> Tensor<T>& operator op##=(X const& x)& {                      \
        return Tensor<T>::operator op##=(x);                                                       \
    }
    XGRAD_COMPOUND(+)
    XGRAD_COMPOUND(-)
    XGRAD_COMPOUND(*)
    XGRAD_COMPOUND(/)
#undef XGRAD_COMPOUND
};

} // namespace detail

/// The elements of x where the mask, broadcast to its shape, is true, as a vector.
template <Scalar T> Tensor<T> masked_select(Tensor<T> const& x, Tensor<bool> const& mask) {
    return express(MaskedSelect{{}, detail::full_mask(mask, x, "masked_select")}, x);
}

/// The result of x(mask): a vector to read, a destination to assign to.
template <Scalar T> class MaskedTensor : public detail::SelectedTensor<MaskedTensor<T>, T> {
public:
    MaskedTensor(Tensor<T> t, Tensor<bool> mask)
        : detail::SelectedTensor<MaskedTensor, T>(
              express(MaskedSelect{{}, detail::full_mask(mask, t)}, t)),
          tensor_(std::move(t)), mask_(std::move(mask)) {
        if constexpr (detail::watches_handles) tensor_.belongs_to_library();
    }
    MaskedTensor(MaskedTensor const&) = default;

    /// Writes one number to all selected elements, or a tensor with as many elements; recorded as
    /// an in-place change.
    template <detail::OperandLike X> void operator=(X const& x) && {
        if constexpr (Number<X>) tensor_.masked_fill_(mask_, x);
        else {
            auto const values = detail::materialize(detail::OperandTraits<X>::make(x));
            auto const mask = detail::full_mask(mask_, tensor_);
            if (values.numel() == 1)
                tensor_.masked_fill_(Tensor<bool>(mask), xgrad::reshape(values, Axes{}));
            else tensor_.masked_fill_(Tensor<bool>(mask), express(MaskedScatter{{}, mask}, values));
        }
    }
    void operator=(MaskedTensor const& o) && {
        std::move(*this) = static_cast<Tensor<T> const&>(o);
    }

private:
    Tensor<T> tensor_;
    Tensor<bool> mask_;
};

template <Scalar T> MaskedTensor<T> Tensor<T>::operator()(Tensor<bool> const& mask) const {
    return {*this, mask};
}

} // namespace xgrad
