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

/// H v: the derivative of the gradient along v, forward mode over reverse mode. Of vhp() v^T H: the
/// gradient, differentiated in reverse mode from v.
XGRAD_LAZY inline void hessian_product(
    Evaluation const& e, TensorSpan v, std::span<AnyTensor> products) {
    auto const gradient = recorded_gradient(e);
    auto const of = e.with_outputs(gradient);
    AnyTensor one;
    if (e.transform == "hvp") push_forward(of, v, products);
    else {
        check_vector(e.transform, v, e.inputs);
        pull_back(of, vector_or_one(v, e.inputs, one), e.create_graph, e.create_graph, products);
    }
    fill_in(e,
        e.transform == "hvp" ? "The hessian of the user-provided function"
                             : "The jacobian of the user-provided function",
        "hessian", products);
}

/// f(inputs), and the product with v, or with 1.
template <class F, class X, class... V>
auto value_and_product(
    std::string_view name, F& f, X const& inputs, TransformOptions const& options, V const&... v) {
    using Of = Transform<F, X>;
    if constexpr (Of::fits) {
        constexpr bool is_number = Of::returns_real,
                       v_fits = (std::same_as<structure<V>, typename Of::In> && ...);
        static_assert(
            is_number, "hvp, vhp: the function should return a single Tensor of real numbers");
        static_assert(
            v_fits, "hvp, vhp: v must have the structure and the scalar types of the inputs");
        std::tuple<structure<V>...> const vector{StructureOf<V>::make(v)...};
        if constexpr (is_number && v_fits)
            return Of::value_and(name, f, inputs, options,
                [&](auto const& e, auto products, auto const& in, auto const&) {
                    if constexpr (sizeof...(V) != 0) check_sizes(name, std::get<0>(vector), in);
                    hessian_product(e, erased(vector), products);
                });
    }
}

} // namespace detail

/// f(inputs), a real scalar, and v^T H for the Hessian H of f. `inputs` is a Tensor or a std::tuple
/// of tensors, and v and the product have their structure, shapes and types. As H is symmetric,
/// this is also H v, at a lower cost than hvp(). For complex inputs it is the derivative of the
/// gradient along v, as a real linear map: lim (g(z + t v) - g(z))/t for real t.
template <class F, class X, detail::StructureLike V>
auto vhp(F&& f, X const& inputs, V const& v, TransformOptions const& options = {}) {
    return detail::value_and_product("vhp", f, inputs, options, v);
}
/// For an input of one element: v is 1.
template <class F, class X> auto vhp(F&& f, X const& inputs, TransformOptions const& options = {}) {
    return detail::value_and_product("vhp", f, inputs, options);
}

/// f(inputs), a real scalar, and H v for the Hessian H of f, in forward mode over reverse mode: a
/// tangent is pushed along the graph of the gradient. It differs from vhp() only where a gradient
/// is not the derivative of f (for instance because a tensor hook in f changes it: vhp() runs that
/// hook twice, hvp() once), or where second derivatives are not continuous.
template <class F, class X, detail::StructureLike V>
auto hvp(F&& f, X const& inputs, V const& v, TransformOptions const& options = {}) {
    return detail::value_and_product("hvp", f, inputs, options, v);
}
/// For an input of one element: v is 1.
template <class F, class X> auto hvp(F&& f, X const& inputs, TransformOptions const& options = {}) {
    return detail::value_and_product("hvp", f, inputs, options);
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
