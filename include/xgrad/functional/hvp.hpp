// Products of a vector and the Hessian, without forming the Hessian: vhp() and hvp().
//
// Shapes: v and the product have the shapes of the inputs; f returns one element.
// Gradients: second order, of real f. For complex inputs the derivative of the gradient along v, as
// a real linear map. Products are recorded with create_graph.
// Errors: ShapeError for an f that returns several elements and for a v of other shapes or sizes;
// GraphError for a v that is left out for several elements, for an undefined input, and in strict
// mode. A complex f, and a v of another structure or type, do not compile.
#pragma once

#include <xgrad/functional/jacobian.hpp>

namespace xgrad {

namespace detail {

/// v^T H: the gradient, differentiated in reverse mode from v.
XGRAD_LAZY inline void vector_hessian_product(
    Evaluation const& e, TensorSpan v, std::span<AnyTensor> products) {
    auto const gradient = recorded_gradient(e);
    check_vector(e.transform, v, e.inputs);
    AnyTensor one;
    pull_back(e.with_outputs(gradient), vector_or_one(v, e.inputs, one), e.create_graph,
        e.create_graph, products);
    fill_in(e, "The jacobian of the user-provided function", "hessian", products);
}

/// H v: the derivative of the gradient along v, forward mode over reverse mode.
XGRAD_LAZY inline void hessian_vector_product(
    Evaluation const& e, TensorSpan v, std::span<AnyTensor> products) {
    auto const gradient = recorded_gradient(e);
    push_forward(e.with_outputs(gradient), v, products);
    fill_in(e, "The hessian of the user-provided function", "hessian", products);
}

template <class F, class X, class V = X> constexpr bool check_hessian_product() {
    using Of = Transform<F, X>;
    if constexpr (Of::fits) {
        constexpr bool is_number = Of::returns_real;
        static_assert(
            is_number, "hvp, vhp: the function should return a single Tensor of real numbers");
        constexpr bool v_fits = std::same_as<structure<V>, typename Of::In>;
        static_assert(
            v_fits, "hvp, vhp: v must have the structure and the scalar types of the inputs");
        return is_number && v_fits;
    } else return false;
}

} // namespace detail

/// f(inputs), a real scalar, and v^T H for the Hessian H of f. `inputs` is a Tensor or a std::tuple
/// of tensors, and v and the product have their structure, shapes and types. As H is symmetric,
/// this is also H v, at a lower cost than hvp(). For complex inputs it is the derivative of the
/// gradient along v, as a real linear map: lim (g(z + t v) - g(z))/t for real t.
template <class F, class X, detail::StructureLike V>
auto vhp(F&& f, X const& inputs, V const& v, TransformOptions const& options = {}) {
    if constexpr (detail::check_hessian_product<F, X, V>()) {
        detail::structure<V> const vector(detail::StructureOf<V>::make(v));
        return detail::Transform<F, X>::value_and("vhp", f, inputs, options,
            [&](auto const& e, auto products, auto const& in, auto const&) {
                detail::check_sizes("vhp", vector, in);
                detail::vector_hessian_product(e, detail::erased(vector), products);
            });
    }
}
/// For an input of one element: v is 1.
template <class F, class X> auto vhp(F&& f, X const& inputs, TransformOptions const& options = {}) {
    if constexpr (detail::check_hessian_product<F, X>())
        return detail::Transform<F, X>::value_and(
            "vhp", f, inputs, options, [](auto const& e, auto products, auto const&, auto const&) {
                detail::vector_hessian_product(e, {}, products);
            });
}

/// f(inputs), a real scalar, and H v for the Hessian H of f, in forward mode over reverse mode: a
/// tangent is pushed along the graph of the gradient. It differs from vhp() only where a gradient
/// is not the derivative of f (for instance because a tensor hook in f changes it: vhp() runs that
/// hook twice, hvp() once), or where second derivatives are not continuous.
template <class F, class X, detail::StructureLike V>
auto hvp(F&& f, X const& inputs, V const& v, TransformOptions const& options = {}) {
    if constexpr (detail::check_hessian_product<F, X, V>()) {
        detail::structure<V> const vector(detail::StructureOf<V>::make(v));
        return detail::Transform<F, X>::value_and("hvp", f, inputs, options,
            [&](auto const& e, auto products, auto const& in, auto const&) {
                detail::check_sizes("hvp", vector, in);
                detail::hessian_vector_product(e, detail::erased(vector), products);
            });
    }
}
/// For an input of one element: v is 1.
template <class F, class X> auto hvp(F&& f, X const& inputs, TransformOptions const& options = {}) {
    if constexpr (detail::check_hessian_product<F, X>())
        return detail::Transform<F, X>::value_and(
            "hvp", f, inputs, options, [](auto const& e, auto products, auto const&, auto const&) {
                detail::hessian_vector_product(e, {}, products);
            });
}

/// hvp() and vhp() as functions: hvp(f)(x, v).
template <detail::TransformedFunction F> auto hvp(F&& f) {
    return [f = detail::KeptCallable<F>(std::forward<F>(f))](
               auto const& x, auto const& v) { return hvp(f, x, v); };
}
template <detail::TransformedFunction F> auto vhp(F&& f) {
    return [f = detail::KeptCallable<F>(std::forward<F>(f))](
               auto const& x, auto const& v) { return vhp(f, x, v); };
}

} // namespace xgrad
