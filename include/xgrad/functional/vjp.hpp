// Vector-Jacobian products: vjp(), and the gradient of a real function: value_and_grad(), and
// grad() of a function.
//
// Shapes: v has the shapes of the outputs, gradients have those of the inputs; without v f returns
// one element.
// Gradients: v conj(df/dz) + conj(v) df/d(conj z); of a real f without v dL/dRe + i dL/dIm, as in
// PyTorch. With create_graph they are recorded, so that transforms nest. With {.holomorphic = true}
// grad(f) is the complex derivative f', the conjugate of the gradient.
// Errors: ShapeError for a v of other shapes or sizes; GraphError for a v that is left out for
// several elements, for an undefined input, and in strict mode; TypeError for `holomorphic` of a
// real function, or a complex one without it in grad(f, options). Otherwise a complex function
// without v does not compile, and neither does a v of another structure or type.
#pragma once

#include <xgrad/functional/evaluation.hpp>

namespace xgrad {

namespace detail {

/// Checks that v has the shapes of the outputs; without v there must be one output of one element.
XGRAD_LAZY void check_vector(std::string_view transform, TensorSpan v, TensorSpan fits);
/// The given vector, or a 1, which is stored in `one`.
XGRAD_LAZY TensorSpan vector_or_one(TensorSpan v, TensorSpan fits, AnyTensor& one);

/// Checks that every output depends on the inputs (strict mode).
XGRAD_LAZY void check_outputs(Evaluation const& e);

/// Computes the gradients of the inputs from those outputs that require one; an input on which they
/// do not depend gets an undefined one. Without grad_outputs there is one output, a real scalar,
/// whose gradient is 1.
XGRAD_LAZY void pull_back(Evaluation const& e, TensorSpan grad_outputs, bool create_graph,
    bool keep_graph, std::span<AnyTensor> gradients);

/// Replaces undefined derivatives by zeros. In strict mode they are an error, which says that
/// `what` does not depend on an input.
XGRAD_LAZY void fill_in(Evaluation const& e, std::string_view what, std::string_view derivative,
    std::span<AnyTensor> gradients);

XGRAD_LAZY void vector_jacobian_product(
    Evaluation const& e, TensorSpan v, std::span<AnyTensor> products);

/// An evaluation whose graph is kept.
struct KeptEvaluation {
    std::string_view transform;
    Tensors inputs, outputs;

    XGRAD_LAZY explicit KeptEvaluation(Evaluation const& e);
    /// v^T J and J v.
    XGRAD_LAZY Tensors pull_back(Tensors const& v) const;
    XGRAD_LAZY Tensors push_forward(Tensors const& v) const;

private:
    XGRAD_LAZY Evaluation evaluation() const;
};

/// f(inputs), and the gradients of the inputs where v, or 1, is that of the outputs.
template <class F, class X, class... V>
auto value_and_gradients(
    std::string_view name, F& f, X const& inputs, TransformOptions const& options, V const&... v) {
    using Of = Transform<F, X>;
    if constexpr (Of::fits) {
        constexpr bool is_real = sizeof...(V) != 0 || Of::returns_real,
                       fits = (std::same_as<structure<V>, structure<typename Of::Result>> && ...);
        static_assert(is_real, "grad, value_and_grad, and vjp without a vector v: the function "
                               "must return a single tensor of real numbers");
        static_assert(fits,
            "vjp: v must have the structure and the scalar types of what the function returns");
        if constexpr (is_real && fits)
            return Of::value_and(name, f, inputs, options,
                [&](auto const& e, auto products, auto const&, auto const& out) {
                    if constexpr (sizeof...(V) == 0) vector_jacobian_product(e, {}, products);
                    else {
                        auto const& vector = (StructureOf<V>::make(v), ...);
                        check_sizes("vjp", vector, out);
                        vector_jacobian_product(e, erased(vector), products);
                    }
                });
    }
}

} // namespace detail

/// f(inputs), and v^T J for the Jacobian J of f: the gradients of the inputs where v is that of the
/// outputs. `inputs` is a Tensor or a std::tuple of tensors, v has the structure, shapes and types
/// of what f returns, and the gradients those of the inputs. For complex numbers this is the
/// gradient of Re <v, f> = Re sum conj(v) f, as everywhere: g = v conj(df/dz) + conj(v) df/d(conj
/// z); of a holomorphic f, v conj(f').
template <class F, class X, detail::StructureLike V>
auto vjp(F&& f, X const& inputs, V const& v, TransformOptions const& options = {}) {
    return detail::value_and_gradients("vjp", f, inputs, options, v);
}
/// For an f that returns a real scalar: v is 1.
template <class F, class X> auto vjp(F&& f, X const& inputs, TransformOptions const& options = {}) {
    return detail::value_and_gradients("vjp", f, inputs, options);
}
/// f(inputs), a real scalar, and its gradients with respect to all inputs, in their structure.
/// `inputs` is a Tensor or a std::tuple of tensors. The gradient for a complex input is df/dRe z +
/// i df/dIm z. Messages begin with `name`.
template <class F, class X>
auto value_and_grad(F&& f, X const& inputs, TransformOptions const& options = {},
    std::string_view name = "value_and_grad") {
    return detail::value_and_gradients(name, f, inputs, options);
}

/// Options of grad(f).
struct DerivativeOptions {
    std::optional<bool> create_graph = {}; // as in TransformOptions
    bool strict = false;                   // as in TransformOptions
    /// The function has complex results, and the result is its complex derivative.
    bool holomorphic = false;
};

namespace detail {

/// Argument I: the one that is given for it, where it is at one of the positions, else that of all.
template <std::size_t I, std::size_t... positions, class All, class Given>
auto const& argument_at(All const& all, Given const& given) {
    constexpr std::size_t list[] = {positions...};
    constexpr auto at =
        static_cast<std::size_t>(std::find(std::begin(list), std::end(list), I) - std::begin(list));
    if constexpr (at < sizeof...(positions)) return std::get<at>(given);
    else return std::get<I>(all);
}
/// value_and_grad() with respect to the inputs at these positions, or all of them, under a name.
template <std::size_t... positions, class F, class... X>
auto gradients_at(std::string_view name, F& f, TransformOptions const& options, X const&... x) {
    if constexpr (sizeof...(positions) == 0)
        return value_and_grad(f, inputs_of(x...), options, name);
    else {
        std::tuple<decltype(tensor_input(x))...> const all(tensor_input(x)...);
        auto const of_some = [&](auto const&... some)
            requires(sizeof...(some) == sizeof...(positions))
        {
            std::tuple const given = std::tie(some...);
            return [&]<std::size_t... I>(std::index_sequence<I...>) {
                if constexpr ((EvaluatedAtOnce<X> || ...)) // of vmap(): f may be one of tensors
                    return call_with_examples(f, argument_at<I, positions...>(all, given)...);
                else return std::invoke(f, argument_at<I, positions...>(all, given)...);
            }(std::index_sequence_for<X...>());
        };
        return value_and_grad(of_some, inputs_of(std::get<positions>(all)...), options, name);
    }
}

/// The type of a tensor or an expression of complex numbers.
template <class X>
concept ComplexTensor = requires { requires std::same_as<typename X::kind, C>; };
template <class F, class... X>
concept ReturnsComplex = requires(F& f, X const&... x) {
    { std::invoke(f, tensor_input(x)...) } -> ComplexTensor;
};

} // namespace detail

// Of transforms as functions: t(f) is a function of the inputs, and t(f, x...) calls it. A module
// that the caller owns is stored by reference.

/// The gradient of a function as a function: grad(f)(x) is the gradient of the real scalar f(x),
/// and grad(f)(x, w) a std::tuple of the gradients with respect to x and w. It can be transformed
/// again: grad(grad(f)). With positions, as in grad<1>(f) or grad<0, 2>(f), it is the gradient with
/// respect to these inputs.
template <std::size_t... positions, detail::TransformedFunction F> auto grad(F&& f) {
    return
        [f = detail::KeptCallable<F>(std::forward<F>(f))](detail::TransformInput auto const&... x) {
            return detail::gradients_at<positions...>("grad", f, {}, x...).second;
        };
}
/// grad(f)(x...).
template <std::size_t... positions, detail::TransformedFunction F, detail::TransformInput... X>
    requires(sizeof...(X) > 0)
auto grad(F&& f, X const&... x) {
    return detail::gradients_at<positions...>("grad", f, {}, x...).second;
}
/// grad(f) with options.
template <std::size_t... positions, detail::TransformedFunction F>
auto grad(F&& f, DerivativeOptions const& options) {
    return [f = detail::KeptCallable<F>(std::forward<F>(f)), options]<detail::TransformInput... X>(
               X const&... x) {
        TransformOptions const given{options.create_graph, options.strict};
        if constexpr (detail::ReturnsComplex<decltype(f), X...>) {
            constexpr bool is_one = sizeof...(positions) == 0 && sizeof...(X) == 1;
            static_assert(is_one && (detail::ComplexTensor<X> && ...),
                "grad: a holomorphic function has one complex input");
            if (!options.holomorphic)
                detail::fail<TypeError>(
                    "grad: the function returns complex numbers, and not a real one: with "
                    "{.holomorphic = true} the result is its complex derivative");
            // the conjugate of the gradient of the real part
            auto const part = [&f](auto const& z) { return real(std::invoke(f, z)); };
            auto const g = detail::gradients_at<>("grad", part, given, x...).second;
            return std::remove_const_t<decltype(g)>(conj(g));
        } else {
            if (options.holomorphic)
                detail::fail<TypeError>(
                    "grad: holomorphic is for a function that returns a complex number");
            return detail::gradients_at<positions...>("grad", f, given, x...).second;
        }
    };
}
/// value_and_grad() as a function of the inputs, or of those at some positions.
template <std::size_t... positions, detail::TransformedFunction F> auto value_and_grad(F&& f) {
    return [f = detail::KeptCallable<F>(std::forward<F>(f))]<detail::TransformInput... X>(
               X const&... x) {
        return detail::gradients_at<positions...>("value_and_grad", f, {}, x...);
    };
}
template <detail::TransformedFunction F, detail::TransformInput... X>
    requires(sizeof...(X) > 1)
auto value_and_grad(F&& f, X const&... x) {
    return detail::gradients_at<>("value_and_grad", f, {}, x...);
}
/// vjp(f)(x...) is f(x...), and a function that computes v^T J from a v with the structure of that
/// result, as often as it is called. The graph of f lives as long as that function.
template <detail::TransformedFunction F> auto vjp(F&& f) {
    return detail::of_inputs(std::forward<F>(f), []<class G, class In>(G& g, In const& inputs) {
        return detail::Transform<G, In>::template run<true>(
            "vjp", g, inputs, {}, [](auto const& e, auto const& in, auto const& out) {
                return [of = detail::KeptEvaluation(e), in = detail::without_tensors(in),
                           out = detail::without_tensors(out)]<detail::StructureLike V>(
                           V const& v) {
                    constexpr bool fits =
                        std::same_as<detail::structure<V>, std::remove_cvref_t<decltype(out)>>;
                    static_assert(fits, "vjp: v must have the structure and the scalar types of "
                                        "what the function returns");
                    if constexpr (fits) {
                        detail::structure<V> const vector(detail::StructureOf<V>::make(v));
                        detail::check_sizes("vjp", vector, out);
                        return detail::with_tensors(in, of.pull_back(detail::erased(vector)));
                    }
                };
            });
    });
}

} // namespace xgrad
