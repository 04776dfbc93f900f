// Elements selected by a mask, and the adjoint that scatters them.
//
// Shapes: MaskedSelect gives a vector with an element for each true of the mask, which has the
// shape of x. MaskedScatter gives the shape of the mask.
// Gradients: each is the adjoint of the other one, so of any order, in backward and forward mode.
// The mask has none.
// Errors: MaskedScatter throws ShapeError where the vector has another number of elements than the
// mask has trues. tensor/mask_indexing.hpp broadcasts and checks masks.
#pragma once

#include <xgrad/ops/shaping.hpp>

namespace xgrad {

namespace detail {
inline std::size_t count_true(Array<bool> const& mask) {
    return static_cast<std::size_t>(std::count(mask.begin(), mask.end(), true));
}
} // namespace detail

/// The elements where the mask is true, in row-major order, as a vector.
struct MaskedSelect : Arraywise {
    detail::Array<bool> mask; // row-major
    static constexpr auto dependence = Dependence::selection;

    template <Scalar T> auto value(detail::Array<T> const& x) const {
        auto const from = detail::contiguous(x);
        detail::Array<T> out(Shape{detail::count_true(mask)});
        T const* next = from.begin();
        bool const* picks = mask.begin();
        for (T* to = out.begin(); to != out.end(); to += *picks++)
            *to = *next++; // no jump, which could not be foreseen
        return out;
    }
    auto pullback(wrt<0>, auto const& g, auto const&, auto const& x) const;
};

/// Zeros with the elements of a vector where the mask is true: the adjoint of MaskedSelect.
struct MaskedScatter : Arraywise {
    detail::Array<bool> mask; // row-major
    static constexpr auto dependence = Dependence::selection;

    template <Scalar T> auto value(detail::Array<T> const& x) const {
        auto const count = detail::count_true(mask);
        if (x.shape.size() != 1 || x.numel != count)
            detail::fail<ShapeError>("x(mask): a mask that is true ", count,
                " times takes as many values, not an array of shape ", x.shape);
        auto const from = detail::contiguous(x);
        detail::Array<T> out(mask.shape);
        T const* next = from.begin();
        bool const* picks = mask.begin();
        T* to = out.begin();
        for (; next != from.end(); next += *picks++) {
            T const choice[2] = {T(0), *next};
            *to++ = choice[*picks];
        }
        std::fill(to, out.end(), T(0));
        return out;
    }
    auto pullback(wrt<0>, auto const& g, auto const&, auto const&) const {
        return express(MaskedSelect{{}, mask}, g);
    }
};

auto MaskedSelect::pullback(wrt<0>, auto const& g, auto const&, auto const&) const {
    return express(MaskedScatter{{}, mask}, g);
}

} // namespace xgrad
