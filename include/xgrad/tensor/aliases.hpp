// NumPy's names of functions that have another name here, and what both have beside tensors.
#pragma once

#include <xgrad/ops/comparison.hpp>
#include <xgrad/ops/complex.hpp>
#include <xgrad/ops/counting.hpp>
#include <xgrad/ops/extremum.hpp>
#include <xgrad/ops/linalg.hpp>
#include <xgrad/tensor/reduce.hpp>

namespace xgrad {

/// clamp().
template <class X, class L, class U>
    requires AnyOperand<X, L, U>
auto clip(X const& x, L const& lower, U const& upper) {
    return clamp(x, lower, upper);
}
/// angle().
template <Operand X> auto arg(X const& x) { return angle(x); }
/// amax().
template <Operand X> auto max(X const& x) { return amax(x); }
template <Operand X> auto max(X const& x, AxisList const& axes, bool keep = false) {
    return amax(x, axes, keep);
}
/// amin().
template <Operand X> auto min(X const& x) { return amin(x); }
template <Operand X> auto min(X const& x, AxisList const& axes, bool keep = false) {
    return amin(x, axes, keep);
}
/// maximum() and minimum() of two tensors.
template <Operand A, Operand B> auto max(A const& a, B const& b) { return maximum(a, b); }
template <Operand A, Operand B> auto min(A const& a, B const& b) { return minimum(a, b); }
// More specialised than std::max and std::min, beside which a using-declaration may put them.
template <Scalar T> auto max(Tensor<T> const& a, Tensor<T> const& b) { return maximum(a, b); }
template <Scalar T> auto min(Tensor<T> const& a, Tensor<T> const& b) { return minimum(a, b); }

// Products of a tensor and an xtensor expression.
#define XGRAD_BESIDE_XTENSOR(f)                                                                    \
    template <class A, class B>                                                                    \
        requires detail::TensorBesideXtensor<A, B>                                                 \
    auto f(A const& a, B const& b) {                                                               \
        return f(detail::materialize(a), detail::materialize(b));                                  \
    }
XGRAD_BESIDE_XTENSOR(matmul)
XGRAD_BESIDE_XTENSOR(dot)
XGRAD_BESIDE_XTENSOR(vdot)
XGRAD_BESIDE_XTENSOR(outer)
#undef XGRAD_BESIDE_XTENSOR

/// True where |a - b| <= absolute + relative |b| for all elements, as NumPy has it: NaN is close to
/// nothing, an infinity to itself.
template <Operand A, class B>
    requires AnyOperand<A, B>
bool allclose(A const& a, B const& b, double relative = 1e-5, double absolute = 1e-8) {
    NoGradGuard const off;
    if constexpr (std::is_arithmetic_v<B>)
        return allclose(a, Tensor<double>(static_cast<double>(b)), relative, absolute);
    else if constexpr (Number<B>) return allclose(a, Tensor<B>(b), relative, absolute);
    else {
        auto const near_b = abs(a - b) <= absolute + relative * abs(b);
        return all_of(a == b || (isfinite(b) && near_b)).item();
    }
}

} // namespace xgrad
