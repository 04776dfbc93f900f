// gradcheck() and gradgradcheck(): comparisons of gradients with central differences. Not part of
// xgrad.hpp.
#pragma once

#include <random>

#include <xgrad/testing/jacobian_check.hpp>

namespace xgrad {

/// Thrown by gradcheck() if gradients are wrong.
struct GradcheckError : Error {
    using Error::Error;
};

namespace detail {

[[gnu::cold]] inline bool check_gradients(std::string_view name, TensorFunction const& f,
    Tensors const& inputs, GradcheckOptions const& options) {
    InferenceMode const normal(false);
    DifferentiatedScope const scope;
    auto const complaint = Gradcheck(f, inputs, options).complaint();
    if (complaint.empty()) return true;
    if (options.raise_exception) fail<GradcheckError>(name, ": ", complaint);
    return false;
}

/// The gradients of a function as a function of its inputs and of the gradients of its outputs,
/// which are the last arguments.
[[gnu::cold]] inline TensorFunction gradient_function(TensorFunction const& f, std::size_t inputs) {
    return [&f, inputs](Tensors const& all) {
        auto const middle = all.begin() + static_cast<std::ptrdiff_t>(inputs);
        auto const x = differentiable_outputs(Tensors(all.begin(), middle));
        auto gradients = xgrad::grad(differentiable_outputs(f(Tensors(all.begin(), middle))), x,
            {.gradients = Tensors(middle, all.end()), .create_graph = true, .allow_unused = true});
        std::erase_if(gradients, [](AnyTensor const& g) { return !g.defined(); });
        return gradients;
    };
}

/// Pseudo-random values in [-1, 1) for gradients of outputs, the same in each call.
[[gnu::cold]] inline Tensors random_grad_outputs(TensorFunction const& f, Tensors const& inputs) {
    std::mt19937_64 random_source(20);
    std::uniform_real_distribution<double> uniform(-1, 1);
    Tensors grad_outputs;
    for (auto const& y : differentiable_outputs(f(leaves_like(inputs, false)))) {
        grad_outputs.push_back(y.impl().type->filled(y.shape(), 0));
        for (std::size_t i = 0; i < y.numel(); ++i) {
            double const re = uniform(random_source);
            set_element(grad_outputs.back(), i, {re, uniform(random_source)});
        }
        grad_outputs.back().impl().requires_grad = true;
    }
    return grad_outputs;
}

[[gnu::cold]] inline bool check_second_gradients(TensorFunction const& f, Tensors inputs,
    Tensors grad_outputs, GradcheckOptions const& options) {
    auto const count = inputs.size();
    if (grad_outputs.empty()) {
        InferenceMode const normal(false);
        DifferentiatedScope const scope;
        grad_outputs = random_grad_outputs(f, inputs);
        if (grad_outputs.empty())
            fail<GraphError>("gradgradcheck: no output of the function requires a gradient");
    }
    inputs.insert(inputs.end(), grad_outputs.begin(), grad_outputs.end());
    return check_gradients("gradgradcheck", gradient_function(f, count), inputs, options);
}

template <class F, class X> TensorFunction tensor_function(F& f) {
    return
        [&f](Tensors const& x) { return listed(erased(CheckedCall<F, X>::Call::tensors(f, x))); };
}

} // namespace detail

/// Compares the gradients of f at `inputs`, a Tensor or a std::tuple of tensors, with central
/// differences: for all inputs that require a gradient and all outputs that do. f returns a Tensor,
/// an expression or a std::tuple of such, and always the same for the same inputs. Of a complex
/// output the real and the imaginary part are compared, and of a complex input both directions,
/// which checks both Wirtinger derivatives. Use double precision: in float the differences are too
/// coarse, and a warning says so.
///
/// Other errors: gradients whose type or shape is not that of their inputs; gradients that differ
/// between two passes (nondet_tol); gradients that are not zero although the gradients of all
/// outputs are; gradients that are missing when some outputs have an undefined gradient. Throws
/// GradcheckError with the output, the input and the entry that are wrong, and both values, or
/// returns false (raise_exception). The inputs are not changed. A call that has no answer (no input
/// requires a gradient, or elements of one overlap in memory) always throws.
template <class F, class X>
bool gradcheck(F&& f, X const& inputs, GradcheckOptions const& options = {}) {
    if constexpr (detail::CheckedCall<F, X>::fits)
        return detail::check_gradients("gradcheck", detail::tensor_function<F, X>(f),
            detail::listed(detail::erased(detail::tensors_of(inputs))), options);
    else return false;
}

/// Checks second derivatives: gradcheck() of the gradients as functions of the inputs and of the
/// gradients of the outputs. The latter are pseudo-random, the same in each call.
template <class F, class X>
bool gradgradcheck(F&& f, X const& inputs, GradcheckOptions const& options = {}) {
    if constexpr (detail::CheckedCall<F, X>::fits)
        return detail::check_second_gradients(detail::tensor_function<F, X>(f),
            detail::listed(detail::erased(detail::tensors_of(inputs))), {}, options);
    else return false;
}
/// Checks second derivatives for given gradients of those outputs that require one: a Tensor or a
/// std::tuple.
template <class F, class X, detail::TensorsLike G>
bool gradgradcheck(
    F&& f, X const& inputs, G const& gradients, GradcheckOptions const& options = {}) {
    if constexpr (detail::CheckedCall<F, X>::fits)
        return detail::check_second_gradients(detail::tensor_function<F, X>(f),
            detail::listed(detail::erased(detail::tensors_of(inputs))),
            detail::listed(detail::erased(detail::tensors_of(gradients))), options);
    else return false;
}

} // namespace xgrad
