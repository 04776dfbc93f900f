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

class FusedNode;
class TracedVertices;

/// Functions of one vertex type, for evaluation operation by operation (traced.hpp). Its tensors
/// have the element kind of the vertex in the precision of the expression.
struct TracedTable {
    std::size_t operands; // of an operation
    /// Computes the value from the values of the operands (of an operand: from its tensor).
    AnyTensor (*value)(void const* object, AnyTensor const* x);
    /// Of an operation: the gradient of operand i; undefined where it has none.
    AnyTensor (*pull)(
        TracedVertices& all, std::size_t at, std::size_t i, AnyTensor const& gradient) = nullptr;
    /// Of an operand: converts its gradient to its shape and element type.
    AnyTensor (*arrive)(AnyTensor const& gradient, Shape const& shape) = nullptr;
    /// The gradients of summands of its type from that of their sum.
    AnyTensor (*spread)(
        AnyTensor const& gradient, SumOver const& sum, Shape const& space) = nullptr;
};

/// The vertices of an expression in prefix order: each before its operands. A value is computed
/// when a gradient rule first reads it.
class TracedVertices {
public:
    explicit TracedVertices(AnyTensor const* operands) : operands_(operands) {}
    XGRAD_LAZY [[gnu::cold]] void append(
        TracedTable const* table, void const* object, bool is_operand = false);
    /// The backward pass of a FusedNode as recorded operations. Operands that no gradient reads
    /// need no values; the result is undefined where it was not saved.
    XGRAD_LAZY [[gnu::cold]] void backpropagate(FusedNode const& node, AnyTensor const& result,
        AnyTensor const& gradient, std::span<AnyTensor> results);

    XGRAD_LAZY [[gnu::cold]] AnyTensor const& value(std::size_t at);
    void const* object(std::size_t at) const { return all_[at].object; }
    /// The vertex of operand i of an operation.
    std::size_t operand(std::size_t at, std::size_t i) const {
        for (++at; i > 0; --i) at = end(at);
        return at;
    }

private:
    struct Vertex {
        TracedTable const* table;
        void const* object;        // an operation or a scalar constant
        std::size_t first_operand; // of those at and below it
        AnyTensor value, gradient;
    };
    /// The index behind the vertices below `at`.
    std::size_t end(std::size_t at) const { return operand(at, all_[at].table->operands); }

    std::vector<Vertex> all_;
    std::size_t operand_count_ = 0;
    AnyTensor const* operands_;
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
