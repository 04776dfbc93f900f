// Operators that tensors do not have: each stops at compile time with a sentence.
// Errors: a tensor beside an xtensor expression does not compile.
#pragma once

#include <xgrad/tensor/tensor.hpp>

namespace xgrad {

namespace detail {

template <class A, class B> Tensor<double> refuse_operator() {
    constexpr bool is_refused = !TensorBesideXtensor<A, B>;
    static_assert(
        is_refused, "tensors have no such operator: &, |, ^, << and >> are for arrays of integers");
    return {};
}
} // namespace detail

// Rejects operators that xtensor would otherwise apply with the tensor as one scalar element.
#define XGRAD_REFUSED(op)                                                                          \
    template <class A, class B>                                                                    \
        requires detail::TensorBesideXtensor<A, B>                                                 \
    auto operator op(A&&, B&&) {                                                                   \
        return detail::refuse_operator<A, B>();                                                    \
    }
XGRAD_REFUSED(&)
XGRAD_REFUSED(|)
XGRAD_REFUSED(^)
XGRAD_REFUSED(<<)
XGRAD_REFUSED(>>)
#undef XGRAD_REFUSED

} // namespace xgrad
