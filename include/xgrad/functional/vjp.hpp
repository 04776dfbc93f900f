// Vector-Jacobian products: vjp(), and the gradient of a real function: value_and_grad(), and
// grad() of a function.
#pragma once

#include <xgrad/functional/evaluation.hpp>

namespace xgrad {

namespace detail {

/// Checks that v has the shapes of the outputs; without v there must be one output of one element.
void check_vector(std::string_view transform, TensorSpan v, TensorSpan fits);
/// The given vector, or a 1, which is stored in `one`.
TensorSpan vector_or_one(TensorSpan v, TensorSpan fits, AnyTensor& one);

/// Checks that every output depends on the inputs (strict mode).
void check_outputs(Evaluation const& e);

/// Computes the gradients of the inputs from those outputs that require one; an input on which they
/// do not depend gets an undefined one. Without grad_outputs there is one output, a real scalar,
/// whose gradient is 1.
void pull_back(Evaluation const& e, TensorSpan grad_outputs, bool create_graph, bool keep_graph,
    std::span<AnyTensor> gradients);

/// Replaces undefined derivatives by zeros. In strict mode they are an error, which says that
/// `what` does not depend on an input.
void fill_in(Evaluation const& e, std::string_view what, std::string_view derivative,
    std::span<AnyTensor> gradients);

void vector_jacobian_product(Evaluation const& e, TensorSpan v, std::span<AnyTensor> products);

} // namespace detail

/// f(inputs), and v^T J for the Jacobian J of f: the gradients of the inputs where v is that of the
/// outputs. `inputs` is a Tensor or a std::tuple of tensors, v has the structure, shapes and types
/// of what f returns, and the gradients those of the inputs. For complex numbers this is the
/// gradient of Re <v, f> = Re sum conj(v) f, as everywhere: g = v conj(df/dz) + conj(v) df/d(conj
/// z); of a holomorphic f, v conj(f').
template <class F, class X, detail::TensorsLike V>
auto vjp(F&& f, X const& inputs, V const& v, TransformOptions const& options = {}) {
    using Of = detail::Transform<F, X>;
    if constexpr (Of::fits) {
        constexpr bool v_fits =
            std::same_as<detail::tensors_type<V>, detail::tensors_type<typename Of::Result>>;
        static_assert(v_fits,
            "vjp: v must have the structure and the scalar types of what the function returns");
        if constexpr (v_fits) {
            auto const vector = detail::erased(detail::tensors_of(v));
            return Of::value_and("vjp", f, inputs, options, [&](auto const& e, auto products) {
                detail::vector_jacobian_product(e, vector, products);
            });
        }
    }
}
/// For an f that returns a real scalar: v is 1.
template <class F, class X> auto vjp(F&& f, X const& inputs, TransformOptions const& options = {}) {
    using Of = detail::Transform<F, X>;
    if constexpr (Of::fits) {
        constexpr bool is_real =
            !Of::many_outputs && detail::all_real<detail::tensors_type<typename Of::Result>>;
        static_assert(is_real, "vjp: the vector v can only be left out for a function that returns "
                               "a single tensor of real numbers");
        if constexpr (is_real)
            return Of::value_and("vjp", f, inputs, options, [](auto const& e, auto products) {
                detail::vector_jacobian_product(e, {}, products);
            });
    }
}

/// f(inputs), a real scalar, and its gradients with respect to all inputs, in their structure.
/// `inputs` is a Tensor or a std::tuple of tensors. The gradient for a complex input is df/dRe z +
/// i df/dIm z.
template <class F, class X>
auto value_and_grad(F&& f, X const& inputs, TransformOptions const& options = {}) {
    using Of = detail::Transform<F, X>;
    if constexpr (Of::fits) {
        constexpr bool is_real =
            !Of::many_outputs && detail::all_real<detail::tensors_type<typename Of::Result>>;
        static_assert(
            is_real, "value_and_grad: the function must return a single tensor of real numbers");
        if constexpr (is_real)
            return Of::value_and(
                "value_and_grad", f, inputs, options, [](auto const& e, auto products) {
                    detail::vector_jacobian_product(e, {}, products);
                });
    }
}

/// The gradient of a function as a function: grad(f)(x) is the gradient of the real scalar f(x),
/// and grad(f)(x, w) a std::tuple of the gradients with respect to x and w. It can be transformed
/// again: grad(grad(f)). A module that the caller owns is stored by reference.
template <detail::TransformedFunction F> auto grad(F&& f) {
    return [f = detail::KeptCallable<F>(std::forward<F>(f))]<detail::TransformInput... X>(
               X const&... x) {
        return detail::at_inputs(
            [&](auto const& inputs) { return value_and_grad(f, inputs).second; }, x...);
    };
}
/// grad(f)(x...).
template <detail::TransformedFunction F, detail::TransformInput... X>
    requires(sizeof...(X) > 0)
auto grad(F&& f, X const&... x) {
    return detail::at_inputs(
        [&](auto const& inputs) { return value_and_grad(f, inputs).second; }, x...);
}
/// value_and_grad() as a function of the inputs.
template <detail::TransformedFunction F> auto value_and_grad(F&& f) {
    return [f = detail::KeptCallable<F>(std::forward<F>(f))]<detail::TransformInput... X>(
               X const&... x) {
        return detail::at_inputs(
            [&](auto const& inputs) { return value_and_grad(f, inputs); }, x...);
    };
}

} // namespace xgrad

#ifdef XGRAD_IMPLEMENTATION
#    include <xgrad/impl/functional/vjp.ipp>
#endif
