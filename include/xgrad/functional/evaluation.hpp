// Functions of tensors, as the transforms of this folder take them: any callable of one structure
// of tensors (structure.hpp) or several, of any scalar types, which returns another one.
// An Evaluation splits their arguments and results into tensors of any type (AnyTensor), so that
// the code that computes derivatives is compiled once for all functions.
//
// Shapes: inputs and results are structures of tensors of any shapes; each transform says those of
// the derivatives.
// Gradients: with create_graph they are recorded, so that transforms nest; without strict an input
// that the function does not depend on gets zeros.
// Errors: strict throws GraphError where a result does not depend on an input; an undefined input
// or output is a GraphError, too. A function that does not take the inputs, or returns no tensors,
// and inputs of integers or masks do not compile.
#pragma once

#include <functional>

#include <xgrad/core/callable.hpp>
#include <xgrad/functional/structure.hpp>

namespace xgrad {

struct JacobianOptions;

/// Options of the transforms.
struct TransformOptions {
    /// Records the results as functions of the inputs and of what the function captures, so that
    /// they can be differentiated. Without a value they are recorded where the code around the call
    /// is differentiated: in a function that is transformed, or in a pass with create_graph. So
    /// transforms nest without any option.
    std::optional<bool> create_graph = {};
    /// Throws GraphError if a result does not depend on an input; otherwise its derivatives are
    /// zeros.
    bool strict = false;

    operator JacobianOptions() const;
};

namespace detail {

/// The argument of a transform t(f), in contrast to the outputs and gradients of other overloads.
template <class F>
concept TransformedFunction = !OperandLike<std::remove_cvref_t<F>> &&
                              !std::convertible_to<std::remove_cvref_t<F> const&, TensorOrEdge> &&
                              !std::convertible_to<std::remove_cvref_t<F> const&, TensorsOrEdges>;
/// An input of a transform in t(f)(x...): a number becomes a Tensor<double>, and a parameter of a
/// module stays the tensor that it is, where a copy of it would be another one.
template <class X>
concept TransformInput = StructureLike<X> || (std::is_arithmetic_v<X> && !std::same_as<X, bool>);
template <class X> auto tensor_input(X const& x) {
    if constexpr (std::is_arithmetic_v<X>) return Tensor<double>(static_cast<double>(x));
    else return structure<X>(StructureOf<X>::make(x));
}
/// The inputs of a transform: one, or a tuple of several.
template <class... X> auto inputs_of(X const&... x) {
    if constexpr (sizeof...(X) == 1) return (tensor_input(x), ...);
    else return std::tuple(tensor_input(x)...);
}
/// t(f): a function of the inputs that calls transform(f, inputs).
template <class F, class T> auto of_inputs(F&& f, T transform) {
    return [f = KeptCallable<F>(std::forward<F>(f)), transform]<TransformInput... X>(
               X const&... x) { return transform(f, inputs_of(x...)); };
}

inline Tensors listed(TensorSpan x) { return Tensors(x.begin(), x.end()); }

/// New handles with the same memory and grad_fn, so that a function's use of its arguments is
/// distinct from its use of the same tensors as captured ones.
XGRAD_LAZY [[gnu::cold]] Tensors recorded_aliases(std::string_view name, TensorSpan of);

XGRAD_LAZY void check_defined(std::string_view name, std::string_view what, TensorSpan all);

/// A call of a function whose derivatives are computed.
struct Evaluation {
    std::string_view transform; // its name, for messages
    bool create_graph, strict;
    TensorSpan inputs, outputs = {};
    std::uint64_t before = 0; // the number of the last Node that was recorded before the call

    /// The same call with other results, which were computed from the inputs.
    Evaluation with_outputs(TensorSpan other) const {
        return {transform, create_graph, strict, inputs, other, before};
    }
    /// Calls f for each edge that leads from what the call has recorded to a tensor that the
    /// function captures. f may change the edge. Returns whether a result depends on an input.
    XGRAD_LAZY bool for_each_captured(std::function<void(Edge const&)> const& f) const;
    /// Throws if no result depends on an input, so that all derivatives are 0, or are not those of
    /// the function.
    XGRAD_LAZY void check_depends() const;
    XGRAD_LAZY CachedVector<Edge> captured() const;
};
/// Results that were computed without a graph: differentiating them by what their problem is made
/// of, captured or given, throws.
XGRAD_LAZY void forbid_derivatives(std::string_view name, CachedVector<Edge> const& captured,
    TensorSpan given, std::span<AnyTensor> results,
    std::string_view advice = "find it by argmin() or implicit() of <xgrad/implicit.hpp>, whose "
                              "solutions have them");

/// Turns tensors of the caller into the inputs of an evaluation: new handles that require
/// gradients.
XGRAD_LAZY void become_inputs(std::string_view name, bool create_graph, std::span<AnyTensor> x);

/// Turns the results of a function into results of its transform: without their graph, unless
/// create_graph asks for it.
XGRAD_LAZY void become_values(bool create_graph, std::span<AnyTensor> outputs);

/// F called with a structure of type In: with its parts, if it is a tuple and F takes them.
template <class F, class In> inline constexpr bool spreads = false;
template <class F, class... X>
inline constexpr bool spreads<F, std::tuple<X...>> = std::is_invocable_v<F&, X const&...>;
template <class F, class In> struct CallOf {
    /// A generic F that takes the parts is not asked for more.
    static constexpr bool takes_inputs =
        std::disjunction_v<std::bool_constant<spreads<F, In>>, std::is_invocable<F&, In const&>>;
    static decltype(auto) call(F& f, In const& in) {
        if constexpr (spreads<F, In>)
            return std::apply(
                [&f](auto const&... x) -> decltype(auto) { return std::invoke(f, x...); }, in);
        else if constexpr (takes_inputs) return std::invoke(f, in);
    }
    using Result =
        std::remove_cvref_t<decltype(call(std::declval<F&>(), std::declval<In const&>()))>;
    static constexpr bool returns_tensors = StructureLike<Result>;
    /// The results for these tensors in the structure of the inputs; expressions are evaluated.
    static auto tensors(F& f, In const& like, TensorSpan x) {
        return structure<Result>(StructureOf<Result>::make(call(f, with_tensors(like, x))));
    }
};

/// X is, or has in it, a Batched of vmap().
template <class X> inline constexpr bool has_batched = EvaluatedAtOnce<X>;
template <class... X> inline constexpr bool has_batched<std::tuple<X...>> = (has_batched<X> || ...);

/// The types of a function F and its inputs X, checked: if `fits` is false, the compiler has
/// reported why.
template <class F, class X> struct CheckedCall {
    using In = typename std::conditional_t<StructureLike<X>, StructureOf<X>,
        std::type_identity<std::tuple<>>>::type;
    static constexpr bool is_call = StructureLike<X> && !OperandLike<F>;
    using Call = CallOf<std::conditional_t<is_call, std::remove_reference_t<F>, void()>, In>;
    static constexpr bool fits = is_call && Call::returns_tensors;
    using Result = typename Call::Result;
    static_assert(!OperandLike<F>, "the first argument is a function, and not a tensor: write "
                                   "[&](auto const& x) { return matmul(A, x) - b; }");
    static_assert(StructureLike<X>,
        "the inputs of a function are a Tensor or a std::tuple of tensors: inputs(x, w)");
    static_assert(!is_call || Call::takes_inputs,
        "the function cannot be called with these inputs: it takes a Tensor<T> const& for each");
    static_assert(!is_call || !Call::takes_inputs || Call::returns_tensors,
        "the function must return a Tensor, an expression, or a std::tuple of such");
};

/// The types of a function and its inputs for a transform, whose inputs must be differentiable.
template <class F, class X> struct Transform : CheckedCall<F, X> {
    using In = typename CheckedCall<F, X>::In;
    using Call = typename CheckedCall<F, X>::Call;
    using Result = typename CheckedCall<F, X>::Result;
    static constexpr bool is_batched = has_batched<std::tuple<In, Result>>;
    static constexpr bool fits = CheckedCall<F, X>::fits && all_differentiable<In> && !is_batched;
    static_assert(!is_batched, "vmap: in the place of vjp(f)(x) and linearize() write vjp(f, x, v) "
                               "and jvp(f, x, v); a function with a solver is looped(f)");
    static_assert(all_differentiable<In>, "the inputs must be tensors of real or complex numbers: "
                                          "let the function capture masks and indices");
    /// Whether the function returns one tensor, of real numbers.
    static constexpr bool returns_real = [] {
        if constexpr (TensorLike<Result>) return all_real<Result>;
        else return false;
    }();

    /// Calls the function and then body(evaluation, inputs, outputs), both in grad mode, whatever
    /// the modes of the caller. Returns the body's result, together with the values of the function
    /// if they are asked for.
    template <bool with_values = false, class Body>
    static auto run(std::string_view name, F& f, X const& x, TransformOptions const& options,
        Body const& body) {
        In const in(StructureOf<X>::make(x));
        Tensors at = erased(in);
        bool const create_graph = options.create_graph.value_or(differentiated && recording());
        InferenceMode const normal(false);
        become_inputs(name, create_graph, at);
        auto const before = next_sequence;
        auto const out = [&] {
            DifferentiatedScope const scope;
            return Call::tensors(f, in, at);
        }();
        Tensors results = erased(out);
        check_defined(name, "the function's output", results);
        Evaluation const e{name, create_graph, options.strict, at, results, before};
        if constexpr (!with_values) return body(e, in, out);
        else {
            auto result = body(e, in, out);
            become_values(create_graph, results);
            return std::pair(with_tensors(out, results), std::move(result));
        }
    }
    /// Stands for it where the compiler has reported why there is none.
    template <bool with_values = false, class Body>
        requires(!fits)
    static auto run(std::string_view, F&, X const& x, TransformOptions const&, Body const&) {
        return std::pair(x, [](auto const& v) { return v; });
    }
    /// The values, and the derivatives for the inputs, which derivative(evaluation, derivatives,
    /// inputs, outputs) writes.
    template <class Derivative>
    static auto value_and(std::string_view name, F& f, X const& x, TransformOptions const& options,
        Derivative const& derivative) {
        return run<true>(
            name, f, x, options, [&](Evaluation const& e, In const& in, auto const& out) {
                Tensors derivatives(e.inputs.size());
                derivative(e, std::span<AnyTensor>(derivatives), in, out);
                return with_tensors(in, derivatives);
            });
    }
};

struct no_such_option_or_wrong_arguments {}; // compilers print its name

} // namespace detail

/// The inputs of a transform, or of grad(), each with its static type.
template <detail::TransformInput... X> auto inputs(X const&... x) {
    return std::tuple<decltype(detail::tensor_input(x))...>(detail::tensor_input(x)...);
}

// What fits no function of the name.
template <auto...> detail::no_such_option_or_wrong_arguments grad(...) = delete;
detail::no_such_option_or_wrong_arguments hessian(...) = delete;
detail::no_such_option_or_wrong_arguments hvp(...) = delete;
detail::no_such_option_or_wrong_arguments jacobian(...) = delete;
detail::no_such_option_or_wrong_arguments jvp(...) = delete;
detail::no_such_option_or_wrong_arguments linearize(...) = delete;
template <auto...> detail::no_such_option_or_wrong_arguments value_and_grad(...) = delete;
detail::no_such_option_or_wrong_arguments vhp(...) = delete;
detail::no_such_option_or_wrong_arguments vjp(...) = delete;

} // namespace xgrad
