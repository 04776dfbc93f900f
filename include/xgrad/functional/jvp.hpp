// Jacobian-vector products, in forward mode: jvp().
#pragma once

#include <xgrad/functional/forward_pass.hpp>
#include <xgrad/functional/vjp.hpp>

namespace xgrad {

namespace detail {

/// Pushes the tangents v of the inputs along the graph to the outputs; undefined for an output that
/// no tangent reaches.
void push_forward(Evaluation const& e, TensorSpan v, std::span<AnyTensor> tangents);

/// J v.
void jacobian_vector_product(Evaluation const& e, TensorSpan v, std::span<AnyTensor> products);

template <class F, class X>
auto jvp_of(F& f, X const& inputs, TensorSpan v, TransformOptions const& options) {
    using Of = Transform<F, X>;
    return Of::template run<true>("jvp", f, inputs, options, [&](Evaluation const& e) {
        std::array<AnyTensor, Of::outputs> products;
        jacobian_vector_product(e, v, products);
        return Of::like_outputs(products);
    });
}

} // namespace detail

/// f(inputs), and J v for the Jacobian J of f: the derivative of the outputs along v. `inputs` is a
/// Tensor or a std::tuple of tensors, v has their structure, shapes and types, and the product has
/// those of what f returns. It is computed in forward mode: f is recorded, and the tangents v are
/// pushed along the graph by the rules that gradients use. A fused Node takes one pass over dual
/// numbers. For complex numbers it is the derivative of f as a real linear map: lim (f(z + t v) -
/// f(z))/t for real t, which is df/dz v + df/d(conj z) conj(v).
template <class F, class X, detail::TensorsLike V>
auto jvp(F&& f, X const& inputs, V const& v, TransformOptions const& options = {}) {
    using Of = detail::Transform<F, X>;
    if constexpr (Of::fits) {
        constexpr bool v_fits = std::same_as<detail::tensors_type<V>, typename Of::In>;
        static_assert(v_fits, "jvp: v must have the structure and the scalar types of the inputs");
        if constexpr (v_fits)
            return detail::jvp_of(f, inputs, detail::erased(detail::tensors_of(v)), options);
    }
}
/// For an input of one element: v is 1.
template <class F, class X> auto jvp(F&& f, X const& inputs, TransformOptions const& options = {}) {
    if constexpr (detail::Transform<F, X>::fits) return detail::jvp_of(f, inputs, {}, options);
}

} // namespace xgrad

#ifdef XGRAD_IMPLEMENTATION
#    include <xgrad/impl/functional/jvp.ipp>
#endif
