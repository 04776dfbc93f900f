// Functions of tensors, as the transforms of this folder take them: any callable of one Tensor<T>
// or several, of any scalar types, which returns a Tensor, an expression, or a std::tuple of such.
// An Evaluation splits their arguments and results into tensors of any type (AnyTensor), so that
// the code that computes derivatives is compiled once for all functions.
#pragma once

#include <tuple>

#include <xgrad/core/callable.hpp>
#include <xgrad/tensor/backward.hpp>

namespace xgrad {

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
};

namespace detail {

using Tensors = std::vector<AnyTensor>;
using TensorSpan = std::span<AnyTensor const>;

/// One tensor or several, as a tuple of tensors.
template <TensorLike X> std::tuple<tensor_type<X>> tensors_of(X const& x) {
    return {materialize(x)};
}
template <TensorLike... X> std::tuple<tensor_type<X>...> tensors_of(std::tuple<X...> const& x) {
    return std::apply(
        [](X const&... each) { return std::tuple<tensor_type<X>...>(materialize(each)...); }, x);
}
template <class X>
concept TensorsLike = requires(X const& x) { tensors_of(x); };
template <class X> struct TensorsType {
    using type = std::tuple<>;
};
template <TensorsLike X> struct TensorsType<X> {
    using type = decltype(tensors_of(std::declval<X const&>()));
};
template <class X> using tensors_type = typename TensorsType<X>::type;

/// The argument of a transform t(f), in contrast to the outputs and gradients of other overloads.
template <class F>
concept TransformedFunction = !TensorLike<std::remove_cvref_t<F>> &&
                              !std::convertible_to<std::remove_cvref_t<F> const&, TensorOrEdge> &&
                              !std::convertible_to<std::remove_cvref_t<F> const&, TensorsOrEdges>;
/// An input of a transform in t(f)(x...), as a tensor: a number becomes a Tensor<double>, and a
/// parameter of a module stays the tensor that it is, where a copy of it would be another one.
template <class X>
concept TransformInput = TensorLike<X> || (std::is_arithmetic_v<X> && !std::same_as<X, bool>);
template <class X> auto tensor_input(X const& x) {
    if constexpr (std::is_arithmetic_v<X>) return Tensor<double>(static_cast<double>(x));
    else return tensor_type<X>(materialize(x));
}
/// Calls a transform with one input, or with a tuple of several.
template <class T, class... X> auto at_inputs(T const& transform, X const&... x) {
    if constexpr (sizeof...(X) == 1) return transform(tensor_input(x)...);
    else return transform(std::tuple(tensor_input(x)...));
}

template <class X> inline constexpr bool is_tuple = false;
template <class... X> inline constexpr bool is_tuple<std::tuple<X...>> = true;
template <class Tuple> inline constexpr bool all_differentiable = false;
template <Scalar... T>
inline constexpr bool all_differentiable<std::tuple<Tensor<T>...>> = (Differentiable<T> && ...);
template <class Tuple> inline constexpr bool all_real = false;
template <Scalar... T>
inline constexpr bool all_real<std::tuple<Tensor<T>...>> = (RealScalar<T> && ...);
template <class Tuple> inline constexpr bool all_complex = false;
template <Scalar... T>
inline constexpr bool all_complex<std::tuple<Tensor<T>...>> = (ComplexScalar<T> && ...);

template <Scalar... T> std::array<AnyTensor, sizeof...(T)> erased(std::tuple<Tensor<T>...> x) {
    return std::apply(
        [](auto&... each) { return std::array<AnyTensor, sizeof...(T)>{std::move(each)...}; }, x);
}
inline Tensors listed(TensorSpan x) { return Tensors(x.begin(), x.end()); }
template <class Tuple> struct TypedTensors;
template <Scalar... T> struct TypedTensors<std::tuple<Tensor<T>...>> {
    static std::tuple<Tensor<T>...> from(TensorSpan x) {
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            return std::tuple<Tensor<T>...>{x[I].template as<T>()...};
        }(std::index_sequence_for<T...>{});
    }
};
/// Tensors of the types of Tuple; a single tensor instead of a tuple if the caller did not write a
/// tuple.
template <class Tuple, bool as_tuple> auto typed(TensorSpan x) {
    if constexpr (as_tuple) return TypedTensors<Tuple>::from(x);
    else return std::get<0>(TypedTensors<Tuple>::from(x));
}

/// The Node of new handles to given tensors: it hands the gradient of each handle on to its tensor.
class AliasNode final : public Node {
public:
    AliasNode(std::string_view name, std::vector<Edge> edges);
    void apply(std::span<AnyTensor> gradients, std::span<AnyTensor> results) override {
        std::ranges::move(gradients, results.begin());
    }
    void pushforward(std::span<AnyTensor const> tangents, std::span<AnyTensor> results) override {
        std::ranges::copy(tangents, results.begin());
    }
    std::string name() const override { return backward_name(name_); }

private:
    std::string_view name_;
    std::vector<Edge> edges_;
};

/// New handles with the same memory and grad_fn, so that a function's use of its arguments is
/// distinct from its use of the same tensors as captured ones.
[[gnu::cold]] Tensors recorded_aliases(std::string_view name, TensorSpan of);

void check_defined(std::string_view name, std::string_view what, TensorSpan all);

/// A call of a function whose derivatives are computed.
struct Evaluation {
    std::string_view transform; // its name, for messages
    bool create_graph, strict;
    TensorSpan inputs, outputs = {};

    /// The same call with other results, which were computed from the inputs.
    Evaluation with_outputs(TensorSpan other) const {
        return {transform, create_graph, strict, inputs, other};
    }
};

/// Turns tensors of the caller into the inputs of an evaluation: new handles that require
/// gradients.
void become_inputs(std::string_view name, bool create_graph, std::span<AnyTensor> x);

/// Turns the results of a function into results of its transform: without their graph, unless
/// create_graph asks for it.
void become_values(bool create_graph, std::span<AnyTensor> outputs);

/// F called with tensors of the types in the tuple In.
template <class F, class In> struct CallOf;
template <class F, Scalar... T> struct CallOf<F, std::tuple<Tensor<T>...>> {
    static constexpr bool takes_inputs = std::is_invocable_v<F&, Tensor<T> const&...>;
    static constexpr bool returns_tensors = [] {
        if constexpr (takes_inputs)
            return TensorsLike<std::remove_cvref_t<std::invoke_result_t<F&, Tensor<T> const&...>>>;
        else return false;
    }();
    /// The results as tensors: expressions are evaluated.
    static auto tensors(F& f, TensorSpan x) {
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            return tensors_of(std::invoke(f, x[I].template as<T>()...));
        }(std::index_sequence_for<T...>{});
    }
    static auto result() {
        if constexpr (returns_tensors)
            return std::type_identity<
                std::remove_cvref_t<std::invoke_result_t<F&, Tensor<T> const&...>>>{};
        else return std::type_identity<void>{};
    }
};

/// The types of a function F and its inputs X, checked: if `fits` is false, the compiler has
/// reported why.
template <class F, class X> struct CheckedCall {
    static_assert(TensorsLike<X>,
        "the inputs of a function are a Tensor or a std::tuple of tensors: inputs(x, w)");
    using In = tensors_type<X>;
    using Call = CallOf<std::remove_reference_t<F>, In>;
    static_assert(!TensorsLike<X> || Call::takes_inputs,
        "the function cannot be called with these inputs: "
        "it takes a Tensor<T> const& for each of them");
    static_assert(!TensorsLike<X> || !Call::takes_inputs || Call::returns_tensors,
        "the function must return a Tensor, an expression, or a std::tuple of such");
    static constexpr bool fits = TensorsLike<X> && Call::returns_tensors;

    using Result = typename decltype(Call::result())::type;
    static auto like_outputs(TensorSpan y) {
        return typed<tensors_type<Result>, is_tuple<Result>>(y);
    }
};

/// The types of a function and its inputs for a transform, whose inputs must be differentiable.
template <class F, class X> struct Transform : CheckedCall<F, X> {
    using In = typename CheckedCall<F, X>::In;
    using Call = typename CheckedCall<F, X>::Call;
    static_assert(all_differentiable<In>, "the inputs must be tensors of real or complex numbers: "
                                          "let the function capture masks and indices");
    static constexpr bool fits = CheckedCall<F, X>::fits && all_differentiable<In>;
    static constexpr bool many_inputs = is_tuple<X>,
                          many_outputs = is_tuple<typename CheckedCall<F, X>::Result>;
    using CheckedCall<F, X>::like_outputs;

    static constexpr std::size_t
        inputs = std::tuple_size_v<In>,
        outputs = std::tuple_size_v<tensors_type<typename CheckedCall<F, X>::Result>>;

    /// Calls the function and then body(evaluation), both in grad mode, whatever the modes of the
    /// caller. Returns the body's result, together with the values of the function if they are
    /// asked for.
    template <bool with_values = false, class Body>
    static auto run(std::string_view name, F& f, X const& x, TransformOptions const& options,
        Body const& body) {
        auto at = erased(tensors_of(x));
        bool const create_graph = options.create_graph.value_or(differentiated && recording());
        InferenceMode const normal(false);
        become_inputs(name, create_graph, at);
        auto results = [&] {
            DifferentiatedScope const scope;
            return erased(Call::tensors(f, at));
        }();
        check_defined(name, "the function's output", results);
        Evaluation const e{name, create_graph, options.strict, at, results};
        if constexpr (!with_values) return body(e);
        else {
            auto result = body(e);
            become_values(create_graph, results);
            return std::pair(like_outputs(results), std::move(result));
        }
    }
    /// The values, and the derivatives for the inputs, which `derivative` writes.
    template <class Derivative>
    static auto value_and(std::string_view name, F& f, X const& x, TransformOptions const& options,
        Derivative const& derivative) {
        return run<true>(name, f, x, options, [&](Evaluation const& e) {
            std::array<AnyTensor, inputs> derivatives;
            derivative(e, std::span<AnyTensor>(derivatives));
            return like_inputs(derivatives);
        });
    }
    static auto like_inputs(TensorSpan x) { return typed<In, many_inputs>(x); }
};

} // namespace detail
} // namespace xgrad

#ifdef XGRAD_IMPLEMENTATION
#    include <xgrad/impl/functional/evaluation.ipp>
#endif
