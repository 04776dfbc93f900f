// Jacobian-vector products, in forward mode: jvp().
//
// Shapes: v has the shapes of the inputs, the product those of the outputs.
// Gradients: df/dz v + df/d(conj z) conj(v), in forward mode; recorded with create_graph, so that
// transforms nest.
// Errors: ShapeError for a v of other shapes or sizes; GraphError for a v that is left out for
// several elements, for an undefined input, for a Function that is once_differentiable without a
// jvp, and in strict mode. A v of another structure or type does not compile.
#pragma once

#include <xgrad/functional/vjp.hpp>

namespace xgrad {

namespace detail {

/// Pushes the tangents v of the inputs along the graph to the outputs; undefined for an output that
/// no tangent reaches.
XGRAD_LAZY void push_forward(Evaluation const& e, TensorSpan v, std::span<AnyTensor> tangents);

/// J v.
XGRAD_LAZY void jacobian_vector_product(
    Evaluation const& e, TensorSpan v, std::span<AnyTensor> products);

/// In the place of a vector: 1.
struct OneTangent {};
template <class F, class X, class V>
auto jvp_of(F& f, X const& inputs, V const& v, TransformOptions const& options) {
    using Of = Transform<F, X>;
    return Of::template run<true>(
        "jvp", f, inputs, options, [&](Evaluation const& e, auto const& in, auto const& out) {
            Tensors products(e.outputs.size());
            if constexpr (std::same_as<V, OneTangent>) jacobian_vector_product(e, {}, products);
            else {
                check_sizes("jvp", v, in);
                jacobian_vector_product(e, erased(v), products);
            }
            return with_tensors(out, products);
        });
}

} // namespace detail

/// f(inputs), and J v for the Jacobian J of f: the derivative of the outputs along v. `inputs` is a
/// Tensor or a std::tuple of tensors, v has their structure, shapes and types, and the product has
/// those of what f returns. It is computed in forward mode: f is recorded, and the tangents v are
/// pushed along the graph by the rules that gradients use. A fused Node takes one pass over dual
/// numbers. For complex numbers it is the derivative of f as a real linear map: lim (f(z + t v) -
/// f(z))/t for real t, which is df/dz v + df/d(conj z) conj(v).
template <class F, class X, detail::StructureLike V>
auto jvp(F&& f, X const& inputs, V const& v, TransformOptions const& options = {}) {
    using Of = detail::Transform<F, X>;
    if constexpr (Of::fits) {
        constexpr bool v_fits = std::same_as<detail::structure<V>, typename Of::In>;
        static_assert(v_fits, "jvp: v must have the structure and the scalar types of the inputs");
        if constexpr (v_fits)
            return detail::jvp_of(
                f, inputs, detail::structure<V>(detail::StructureOf<V>::make(v)), options);
    }
}
/// For an input of one element: v is 1.
template <class F, class X> auto jvp(F&& f, X const& inputs, TransformOptions const& options = {}) {
    if constexpr (detail::Transform<F, X>::fits)
        return detail::jvp_of(f, inputs, detail::OneTangent(), options);
}

/// jvp() as a function: jvp(f)(x, v).
template <detail::TransformedFunction F> auto jvp(F&& f) {
    return [f = detail::KeptCallable<F>(std::forward<F>(f))](
               auto const& x, auto const& v) { return jvp(f, x, v); };
}
/// linearize(f)(x...) is f(x...), and a function that computes J v from a v with the structure of
/// the inputs, as often as it is called. The graph of f lives as long as that function.
template <detail::TransformedFunction F> auto linearize(F&& f) {
    return detail::of_inputs(std::forward<F>(f), []<class G, class In>(G& g, In const& inputs) {
        return detail::Transform<G, In>::template run<true>(
            "linearize", g, inputs, {}, [](auto const& e, auto const& in, auto const& out) {
                return [of = detail::KeptEvaluation(e), in = detail::without_tensors(in),
                           out = detail::without_tensors(out)]<class... V>(V const&... v) {
                    using Given = std::tuple<detail::structure<V>...>;
                    using Kept = std::remove_cvref_t<decltype(in)>;
                    constexpr bool single = std::same_as<Given, std::tuple<Kept>>;
                    static_assert(single || std::same_as<Given, Kept>,
                        "linearize: the vector has the structure and the scalar types of the "
                        "inputs");
                    auto const push = [&](auto const& vector) {
                        detail::check_sizes("linearize", vector, in);
                        return detail::with_tensors(out, of.push_forward(detail::erased(vector)));
                    };
                    Given const vector{detail::StructureOf<V>::make(v)...};
                    if constexpr (single) return push(std::get<0>(vector));
                    else if constexpr (std::same_as<Given, Kept>) return push(vector);
                };
            });
    });
}
template <detail::TransformedFunction F, detail::TransformInput... X>
    requires(sizeof...(X) > 0)
auto linearize(F&& f, X const&... x) {
    return linearize(std::forward<F>(f))(x...);
}

} // namespace xgrad
