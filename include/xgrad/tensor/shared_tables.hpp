// Tables of traced.hpp that a program with XGRAD_SEPARATE_COMPILATION compiles once: operations in
// double precision, and with them most code of higher-order derivatives.
#pragma once

#include <xgrad/ops/arithmetic.hpp>
#include <xgrad/ops/comparison.hpp>
#include <xgrad/ops/complex.hpp>
#include <xgrad/ops/exponential.hpp>
#include <xgrad/ops/trigonometric.hpp>
#include <xgrad/tensor/operand_plan.hpp>

namespace xgrad::detail {

/// Functions of one vertex type, for evaluation operation by operation (traced.hpp). Its tensors
/// have the element kind of the vertex in the precision of the expression.
struct TracedTable {
    std::size_t operands = 0;
    bool is_operand = false;
    /// Computes the value from the values of the operands (of an operand: from its tensor).
    AnyTensor (*value)(void const* object, AnyTensor const* x) = nullptr;
    /// What the gradient of an operand reads, and that gradient. A tensor that it does not read may
    /// be undefined. Null where there is none.
    struct Gradient {
        Uses (*uses)(void const* operation) = nullptr;
        AnyTensor (*pull)(void const* operation, AnyTensor const& g, AnyTensor const& y,
            AnyTensor const* x) = nullptr;
    };
    Gradient const* gradients = nullptr; // of each operand
    /// Converts the gradient of an operand to its shape and element type.
    AnyTensor (*arrive)(AnyTensor const& g, Shape const& shape) = nullptr;

    bool takes_gradients() const noexcept { return gradients || arrive; }
};
struct TracedVertex {
    TracedTable const* table;
    void const* object; // an operation or a scalar constant
    // Set by measure().
    std::size_t end = 0; // index behind the vertices below it
    std::size_t first_operand = 0;
    OperandMask operand_mask = 0; // operands at or below it
};

template <class... Op> struct Operations {};
/// Any other operation is compiled in each file that uses it.
using SharedOperations = Operations<Neg, Add, Sub, Mul, Div, Reciprocal, Square, Sqrt, Rsqrt, Pow,
    PowNumber, Exp, Log, Log1p, Sigmoid, Sin, Cos, Tanh, Atan, Relu, Where, Maximum, Minimum, Abs,
    Abs2, Sign, RealPart, ImagPart, Conj, Complex>;

template <class T, class P> struct TracedOperand;
template <class N, class P> struct TracedNumber;
template <class Op, class Signature, class P, class... L> struct TracedOperation;

template <class Op, class Operations> inline constexpr bool is_among = false;
template <class Op, class... All>
inline constexpr bool is_among<Op, Operations<All...>> = (std::same_as<Op, All> || ...);

template <class X> inline constexpr bool is_shared = false;
template <class T> inline constexpr bool is_shared<TracedOperand<T, double>> = true;
template <> inline constexpr bool is_shared<TracedNumber<int, double>> = true;
template <> inline constexpr bool is_shared<TracedNumber<double, double>> = true;
template <> inline constexpr bool is_shared<TracedNumber<std::complex<double>, double>> = true;
template <class Op, class Y, class... L>
inline constexpr bool is_shared<TracedOperation<Op, Y(L...), double, L...>> =
    takes_gradients<Y> && is_among<Op, SharedOperations>;

/// The table of X where it is compiled once; impl/instances.ipp defines this function.
template <class X> TracedTable const* shared_table();

/// The table of X, which is a TracedOperand, TracedNumber or TracedOperation.
template <class X> TracedTable const* table_of() {
#ifdef XGRAD_SEPARATE_COMPILATION
    if constexpr (is_shared<X>) return shared_table<X>();
    else
#endif
        return &X::table;
}

} // namespace xgrad::detail
