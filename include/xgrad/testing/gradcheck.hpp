// gradcheck() and gradgradcheck(): comparisons of gradients with central differences. Not part of
// xgrad.hpp.
//
// Shapes: any; each element of inputs and outputs is compared, so choose small ones.
// Gradients: those of backward passes against central differences; both Wirtinger derivatives of
// complex functions. gradgradcheck() compares second derivatives.
// Errors: GradcheckError for wrong gradients, unless raise_exception is false. GraphError where no
// input, or in gradgradcheck() no output, requires a gradient, for an undefined input, and for a
// function whose outputs differ from call to call; ShapeError for an input of which several
// elements are one memory location. A function that does not take the inputs does not compile.
#ifndef XGRAD_TESTING_GRADCHECK_HPP
#define XGRAD_TESTING_GRADCHECK_HPP

#include <xgrad/core/begin_headers.inc> // first

#include <random>

#include <xgrad/testing/jacobian_check.hpp>

namespace xgrad {

/// Thrown by gradcheck() if gradients are wrong.
struct GradcheckError : Error {
    using Error::Error;
};

namespace detail {

[[gnu::cold]] bool check_gradients(std::string_view name, TensorFunction const& f,
    Tensors const& inputs, GradcheckOptions const& options);

/// The gradients of a function as a function of its inputs and of the gradients of its outputs,
/// which are the last arguments.
[[gnu::cold]] TensorFunction gradient_function(TensorFunction const& f, std::size_t inputs);

/// Pseudo-random values in [-1, 1) for gradients of outputs, the same in each call.
[[gnu::cold]] Tensors random_grad_outputs(TensorFunction const& f, Tensors const& inputs);

[[gnu::cold]] bool check_second_gradients(
    TensorFunction const& f, Tensors inputs, Tensors grad_outputs, GradcheckOptions const& options);

template <class F, class X> TensorFunction tensor_function(F& f, X const& inputs) {
    using Of = CheckedCall<F, X>;
    return [&f, in = typename Of::In(StructureOf<X>::make(inputs))](
               Tensors const& x) { return erased(Of::Call::tensors(f, in, x)); };
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
        return detail::check_gradients(
            "gradcheck", detail::tensor_function<F, X>(f, inputs), detail::erased(inputs), options);
    else return false;
}

/// Checks second derivatives: gradcheck() of the gradients as functions of the inputs and of the
/// gradients of the outputs. The latter are pseudo-random, the same in each call.
template <class F, class X>
bool gradgradcheck(F&& f, X const& inputs, GradcheckOptions const& options = {}) {
    if constexpr (detail::CheckedCall<F, X>::fits)
        return detail::check_second_gradients(
            detail::tensor_function<F, X>(f, inputs), detail::erased(inputs), {}, options);
    else return false;
}
/// Checks second derivatives for given gradients of those outputs that require one: a Tensor or a
/// std::tuple.
template <class F, class X, detail::StructureLike G>
bool gradgradcheck(
    F&& f, X const& inputs, G const& gradients, GradcheckOptions const& options = {}) {
    if constexpr (detail::CheckedCall<F, X>::fits)
        return detail::check_second_gradients(detail::tensor_function<F, X>(f, inputs),
            detail::erased(inputs), detail::erased(gradients), options);
    else return false;
}

} // namespace xgrad

#include <xgrad/core/end_headers.inc> // last

#endif
#if defined(XGRAD_IMPLEMENTATION) && !(defined(XGRAD_SEPARATE_COMPILATION) && defined(XGRAD_INSIDE))
#include <xgrad/impl/gradcheck.ipp>
#endif
