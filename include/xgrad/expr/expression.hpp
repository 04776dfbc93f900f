// Expressions: an operation applied to operands, evaluated later. The type is the tree. Operands
// are held by value, so no reference can dangle. Making a Tensor of an elementwise expression
// evaluates it in one kernel and records one Node (tensor/record.hpp).
//
// Shapes: operands broadcast as in NumPy.
// Gradients: those of the operations, of any order, in backward and forward mode. One Node is
// recorded where a Tensor is made of the expression.
// Errors: shapes that do not broadcast are a ShapeError, and an undefined tensor is an Error. Both
// are thrown where the expression is evaluated, or asked for its shape. item() of other
// than one element is a ShapeError, and backward() of several elements without a gradient is a
// GraphError. Operands outside of the domain, and a mistake in an operation, do not compile.
//
// Read next: flat_expression.hpp.
#pragma once

#include <cstdint>
#include <tuple>

#include <xgrad/core/shape.hpp>
#include <xgrad/expr/function_forms.hpp>
#include <xgrad/expr/operation_check.hpp>
#include <xgrad/expr/recording.hpp>

namespace xgrad {

/// Options of backward(); see tensor/backward.hpp.
struct BackwardOptions;

namespace detail {

/// The scalar constant of an expression. A complex<float> is stored as two floats: GCC would warn
/// of an ABI change for each struct with a complex<float> member.
template <class T> struct StoredScalar {
    T number;
    operator T() const { return number; }
};
template <> struct StoredScalar<std::complex<float>> {
    float re, im;
    StoredScalar(std::complex<float> z) : re(z.real()), im(z.imag()) {}
    operator std::complex<float>() const { return {re, im}; }
};

/// A scalar constant in an expression. It has no precision of its own: the tensors beside it
/// decide, as in NumPy.
template <Number T> struct Constant {
    using operand_tag = void;
    using kind = kind_of<T>;
    using precision = bool; // promotes to anything
    using indices = std::index_sequence<>;
    static constexpr std::size_t operand_count = 0;
    StoredScalar<T> kept;

    T value() const { return kept; }
};

/// Converts what a user writes beside a tensor to an operand; specialised for xtensor's
/// expressions, too.
template <class X> struct OperandTraits {};
template <Operand X> struct OperandTraits<X> {
    using type = X;
    template <class Y> XGRAD_INLINE static Y&& make(Y&& x) { return static_cast<Y&&>(x); }
};
template <Number X> struct OperandTraits<X> {
    using type = Constant<X>;
    static Constant<X> make(X const& x) { return {x}; }
};

template <class X> using operand_type = typename OperandTraits<std::remove_cvref_t<X>>::type;
template <class X>
concept OperandLike = requires { typename operand_type<X>; };
template <class X> using kind_in = typename operand_type<X>::kind;

/// The operands of an Expression: a tuple that is cheaper to compile than std::tuple.
template <std::size_t I, class X> struct OperandAt {
    [[no_unique_address]] X operand;
};
#ifdef XGRAD_WARN_ON_SHARED_WRITES
/// A tensor that an expression holds is none of the program: see tensor/shared_writes.hpp.
template <class X> struct OperandOfLibrary : X {
    template <class Y> OperandOfLibrary(Y&& y) : X(std::forward<Y>(y)) {
        this->belongs_to_library();
    }
    OperandOfLibrary(OperandOfLibrary const& o) : X(o) { this->belongs_to_library(); }
};
template <std::size_t I, class X>
    requires requires(X& x) { x.belongs_to_library(); }
struct OperandAt<I, X> {
    OperandOfLibrary<X> operand;
};
#endif
template <class Indices, class... X> struct OperandTuple;
template <std::size_t... I, class... X>
struct OperandTuple<std::index_sequence<I...>, X...> : OperandAt<I, X>... {
    template <class... Y>
    XGRAD_INLINE explicit OperandTuple(Y&&... y) : OperandAt<I, X>{static_cast<Y&&>(y)}... {}
};
template <class... X> using Operands = OperandTuple<std::index_sequence_for<X...>, X...>;
template <std::size_t I, class X> XGRAD_INLINE X const& get(OperandAt<I, X> const& o) {
    return o.operand;
}
template <std::size_t I, class X> XGRAD_INLINE X& get(OperandAt<I, X>& o) { return o.operand; }

/// The precision of a result of kind Y whose operands have the widest precision P. A real function
/// computes int64 and bool operands in double.
template <class Y, class P>
using result_precision = std::conditional_t<std::same_as<Y, B>, bool,
    std::conditional_t<std::same_as<Y, Z>, std::int64_t,
        std::conditional_t<RealScalar<P>, P, double>>>;

} // namespace detail

/// At least one of X... is an Operand. The others are, too, or stand beside one: C++ numbers and
/// xtensor expressions.
template <class... X>
concept AnyOperand = (Operand<X> || ...) && (detail::OperandLike<X> && ...);

namespace detail {
/// Throws an Error if an argument of an operation is an undefined tensor.
template <class X>
void check_defined(std::string_view operation, X const& x, std::size_t argument = 0) {
    if constexpr (requires { x.defined(); })
        if (!x.defined()) [[unlikely]]
            fail_undefined(operation, "argument", argument);
}
} // namespace detail

/// Op applied to operands (Tensors, Expressions, constants), lazily.
template <class Op, class... X> struct Expression : FunctionForms<Expression<Op, X...>> {
    using operand_tag = void;
    using operation = Op; // the operation
    /// The signature of its domain that the operands fit.
    using signature = detail::signature_for<Op, typename X::kind...>;
    using kind = typename detail::ResultOf<signature>::type;
    using precision = detail::result_precision<kind, widest_precision<typename X::precision...>>;
    using scalar = typename kind::template over<precision>;
    using value_type = scalar;
    /// False where all operands are constants and masks, which promote to anything.
    static constexpr bool has_precision =
        !std::same_as<widest_precision<typename X::precision...>, bool>;
    using indices = std::index_sequence_for<X...>; // the indices of the operands
    static constexpr std::size_t operand_count = (X::operand_count + ... + 0);

    [[no_unique_address]] Op op; // the operation with its parameters
    detail::Operands<X...> x;    // the operands

    // Casts: without optimisation std::forward is a function for each type of expression.
    template <class... Y>
        requires(sizeof...(Y) == sizeof...(X))
    XGRAD_INLINE explicit Expression(Op o, Y&&... operands)
        : op(static_cast<Op&&>(o)), x(static_cast<Y&&>(operands)...) {}

    /// The broadcast shape of the operands; throws ShapeError where they do not broadcast.
    Shape shape() const {
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            return common_shape(detail::get<I>(x)...);
        }(indices{});
    }
    std::size_t dim() const { return shape().size(); }
    std::size_t ndim() const { return dim(); }                  // as dim()
    std::size_t numel() const { return xgrad::numel(shape()); } // the number of elements
    /// The value of the only element. Evaluates the expression.
    scalar item() const { return materialize_expression(*this).item(); }
    /// Evaluates the expression and indexes it, as a tensor.
    template <class... I> auto operator()(I const&... at) const {
        return materialize_expression(*this)(at...);
    }
    template <class I> auto operator[](I const& index) const {
        return materialize_expression(*this)[index];
    }
    /// The same, as double(sum(x)), or in a condition: if (sum(x) < 1e-3).
    template <class U>
        requires(std::is_arithmetic_v<U> && !std::same_as<U, bool> && !std::same_as<U, scalar> &&
                 !std::same_as<kind, C>)
    explicit operator U() const {
        return static_cast<U>(item());
    }
    template <class U>
        requires(detail::SameNumber<U, scalar> && Number<U>)
    explicit operator U() const {
        return item();
    }
    template <detail::SameNumber<scalar> U>
    operator U() const&& = delete; // write x.item() or double(x)
    explicit operator bool() const
        requires std::same_as<kind, B>
    {
        return item();
    }
    /// The values, which record no gradient.
    auto detach() const { return materialize_expression(*this).detach(); }
    /// Evaluates and records the expression, then calls Tensor::backward().
    void backward() const { materialize_expression(*this).backward(); }
    template <class GradientOrOptions = BackwardOptions>
    void backward(GradientOrOptions const& g) const {
        materialize_expression(*this).backward(g);
    }
    template <class Gradient, class Options = BackwardOptions>
    void backward(Gradient const& g, Options const& options) const {
        materialize_expression(*this).backward(g, options);
    }

private:
    template <class First, class... Rest>
    static Shape common_shape(First const& first, Rest const&... rest) {
        Shape shape = shape_of(first, 0);
        std::size_t argument = 0;
        ((shape = detail::broadcast(detail::written_name<Op>, shape, shape_of(rest, ++argument))),
            ...);
        return shape;
    }
    template <class T> static Shape shape_of(detail::Constant<T> const&, std::size_t) { return {}; }
    template <class T> static decltype(auto) shape_of(T const& t, std::size_t argument) {
        detail::check_defined(detail::written_name<Op>, t, argument);
        return t.shape();
    }
};

namespace detail {
template <class X> inline constexpr bool is_expression = false;
template <class Op, class... X> inline constexpr bool is_expression<Expression<Op, X...>> = true;

/// Operands to which operations are applied at once: dual numbers and traced tensors, with which
/// rules are called. evaluate_at_once() says what an operation does to them.
template <class X>
concept EvaluatedAtOnce = requires { typename std::remove_cvref_t<X>::evaluated_at_once; };

/// The codomain of the first signature.
template <class Domain> struct FirstCodomain {};
template <class Y, class... X, class... More> struct FirstCodomain<Maps<Y(X...), More...>> {
    using type = Y;
};

/// Placeholder result of an operation that was reported as wrong. It converts to any tensor, so one
/// mistake causes one error.
struct StandIn {
    template <class T>
        requires requires { typename T::tensor_tag; }
    operator T() const;
};
/// A placeholder, or the first operand if the operation's result has the same kind.
template <class Op, class First, class... More>
auto stand_in(First const& first, More const&... more) {
    if constexpr (!Operand<First>) return stand_in<Op>(more...);
    else if constexpr (requires {
                           requires !std::same_as<typename FirstCodomain<typename Op::domain>::type,
                               typename First::kind>;
                       })
        return StandIn();
    else return first;
}

} // namespace detail

/// Applies an elementwise operation: makes an Expression, or records at once if an operand requires
/// that.
template <IsElementwise Op, class... X>
    requires AnyOperand<X...>
XGRAD_INLINE auto express(Op op, X&&... x) {
    if constexpr ((detail::EvaluatedAtOnce<X> || ...)) return evaluate_at_once(std::move(op), x...);
    else {
        using Diagnostic =
            typename decltype(detail::check_application<Op, detail::kind_in<X>...>())::type;
        static_cast<void>(detail::ReportDiagnostic<Diagnostic>());
        if constexpr (!accepted<Diagnostic>) return detail::stand_in<Op>(x...);
        else
            return Expression<Op, detail::operand_type<X>...>(static_cast<Op&&>(op),
                detail::OperandTraits<std::remove_cvref_t<X>>::make(static_cast<X&&>(x))...);
    }
}

/// Applies an operation on whole arrays, at once.
template <IsArraywise Op, class... X> auto express(Op const& op, X const&... x) {
    return record_arraywise(op, x...);
}

/// Applies your own elementwise operation that has data members: `apply(Scaled{2.}, x)`.
template <class Op, class... X>
    requires(!detail::OperandLike<Op>) && AnyOperand<X...>
auto apply(Op op, X const&... x) {
    // A rule may call the function of its own batches; then it is being checked, or differentiated.
    if constexpr ((detail::EvaluatedAtOnce<X> || ...)) return evaluate_at_once(std::move(op), x...);
    else {
        static_cast<void>(detail::ReportDiagnostic<diagnostic_of<Op>>());
        if constexpr (!Operation<Op>) return detail::stand_in<Op>(x...);
        else return express(std::move(op), x...);
    }
}
/// Applies your own elementwise operation that has no data members: `apply<MyOp>(x, y)`.
template <class Op, class... X>
    requires AnyOperand<X...>
auto apply(X const&... x) {
    return xgrad::apply(Op{}, x...); // qualified: ADL would find std::apply, too
}

} // namespace xgrad
