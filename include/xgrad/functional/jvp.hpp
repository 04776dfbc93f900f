// Jacobian-vector products, in forward mode: jvp().
#pragma once

#include <xgrad/functional/forward_pass.hpp>
#include <xgrad/functional/vjp.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad {

namespace detail {

/// The tangents v of the inputs, pushed along the graph to what was computed from them; undefined where nothing arrives.
[[gnu::cold]] inline Tensors pushed(Evaluation const& e, Tensors const& v, Tensors const& outputs)
{
    check_vector(e.transform, v, e.inputs);
    AutoGradMode const mode(e.create_graph);
    return ForwardPass(e.inputs, vector_or_one(v, e.inputs)).run(outputs);
}

/// J v.
[[gnu::cold]] inline Tensors jacobian_vector_product(Evaluation const& e, Tensors const& v)
{
    check_outputs(e);
    auto products = pushed(e, v, e.outputs);
    for (std::size_t k = 0; k < products.size(); ++k) {
        if (products[k].defined()) continue;
        if (e.strict) fail<GraphError>(e.transform, ": Output ", k, " of the user-provided function is independent of the inputs. This is not allowed in strict mode.");
        products[k] = e.outputs[k].impl().type->filled(e.outputs[k].shape(), 0);
    }
    return products;
}

template <class F, class X> auto jvp_of(F& f, X const& inputs, Tensors const& v, TransformOptions const& options)
{
    using Of = Transform<F, X>;
    return Of::run("jvp", f, inputs, options, [&](Evaluation const& e) {
        auto const products = jacobian_vector_product(e, v);
        return std::pair(Of::like_outputs(e.values()), Of::like_outputs(products));
    });
}

}  // namespace detail

/// f(inputs), and J v for the Jacobian J of f: the derivative of the outputs along v. `inputs` is a Tensor or a std::tuple of tensors,
/// v has their structure, shapes and types, and the product has those of what f returns. It is made in forward mode: f is recorded,
/// and the tangents v are pushed along the graph by the rules that gradients use, a fused formula in one pass over dual numbers.
/// For complex numbers it is the derivative of f as a real linear map: lim (f(z + t v) - f(z))/t for real t, which is
/// df/dz v + df/d(conj z) conj(v).
template <class F, class X, detail::TensorsLike V> auto jvp(F&& f, X const& inputs, V const& v, TransformOptions const& options = {})
{
    using Of = detail::Transform<F, X>;
    if constexpr (Of::fits) {
        constexpr bool v_fits = std::same_as<detail::tensors_type<V>, typename Of::In>;
        static_assert(v_fits, "jvp: v must have the structure and the scalar types of the inputs");
        if constexpr (v_fits) return detail::jvp_of(f, inputs, detail::erased(detail::tensors_of(v)), options);
    }
}
/// The same for an input of one number; v is 1.
template <class F, class X> auto jvp(F&& f, X const& inputs, TransformOptions const& options = {})
{
    if constexpr (detail::Transform<F, X>::fits) return detail::jvp_of(f, inputs, {}, options);
}

}  // namespace xgrad
