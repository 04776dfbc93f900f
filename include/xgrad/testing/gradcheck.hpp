// gradcheck() and gradgradcheck(): whether gradients are those of the function, by differences. Not part of xgrad.hpp.
#pragma once

#include <random>

#include <xgrad/testing/jacobian_check.hpp>

namespace xgrad {

/// What gradcheck() throws where gradients are wrong.
struct GradcheckError : Error {
    using Error::Error;
};

namespace detail {

[[gnu::cold]] inline bool check_gradients(std::string_view name, TensorFunction const& f, Tensors const& inputs, GradcheckOptions const& options)
{
    InferenceMode const normal(false);
    DifferentiatedScope const scope;
    auto const complaint = Gradcheck(f, inputs, options).complaint();
    if (complaint.empty()) return true;
    if (options.raise_exception) fail<GradcheckError>(name, ": ", complaint);
    return false;
}

/// The gradients of a function as a function of its inputs and of the gradients of its outputs, which come last.
[[gnu::cold]] inline TensorFunction gradient_function(TensorFunction const& f, std::size_t inputs)
{
    return [&f, inputs](Tensors const& all) {
        auto const middle = all.begin() + static_cast<std::ptrdiff_t>(inputs);
        auto const x = differentiable_outputs(Tensors(all.begin(), middle));
        auto gradients = xgrad::grad(differentiable_outputs(f(Tensors(all.begin(), middle))), x, {.gradients = Tensors(middle, all.end()), .create_graph = true, .allow_unused = true});
        std::erase_if(gradients, [](AnyTensor const& g) { return !g.defined(); });
        return gradients;
    };
}

/// Numbers in [-1, 1) to start gradients from, the same ones each time.
[[gnu::cold]] inline Tensors random_seeds(TensorFunction const& f, Tensors const& inputs)
{
    std::mt19937_64 numbers(20);
    std::uniform_real_distribution<double> uniform(-1, 1);
    Tensors seeds;
    for (auto const& y : differentiable_outputs(f(leaves_like(inputs, false)))) {
        seeds.push_back(y.impl().type->filled(y.shape(), 0));
        for (std::size_t i = 0; i < y.numel(); ++i) {
            double const re = uniform(numbers);
            set_number(seeds.back(), i, {re, uniform(numbers)});
        }
        seeds.back().impl().requires_grad = true;
    }
    return seeds;
}

[[gnu::cold]] inline bool check_second_gradients(TensorFunction const& f, Tensors inputs, Tensors seeds, GradcheckOptions const& options)
{
    auto const count = inputs.size();
    if (seeds.empty()) {
        InferenceMode const normal(false);
        DifferentiatedScope const scope;
        seeds = random_seeds(f, inputs);
        if (seeds.empty()) fail<GraphError>("gradgradcheck: no output of the function requires a gradient");
    }
    inputs.insert(inputs.end(), seeds.begin(), seeds.end());
    return check_gradients("gradgradcheck", gradient_function(f, count), inputs, options);
}

template <class F, class X> TensorFunction tensor_function(F& f)
{
    return [&f](Tensors const& x) { return listed(erased(JudgedCall<F, X>::Call::tensors(f, x))); };
}

}  // namespace detail

/// Compares the gradients of f at `inputs`, a Tensor or a std::tuple of tensors, with central differences: for all inputs that
/// require a gradient and all outputs that do. f returns a Tensor, an expression or a std::tuple of such, and always the same for the
/// same inputs. Of complex outputs the real and the imaginary part are looked at, and of complex inputs both directions: so
/// both Wirtinger derivatives are. Give it double precision; in float the differences are too coarse, and a warning says so.
///
/// Also an error: gradients of another type or shape than their inputs; that differ between two passes (nondet_tol); that are not
/// zero where zeros come in; that do not come out where some outputs have an undefined gradient. Throws GradcheckError with the
/// output, the input and the entry that are wrong, and both numbers, or returns false (raise_exception). All these inputs are
/// left as they are. A call that cannot be answered (no input requires a gradient, or elements of one share a place) throws always.
template <class F, class X> bool gradcheck(F&& f, X const& inputs, GradcheckOptions const& options = {})
{
    if constexpr (detail::JudgedCall<F, X>::fits) return detail::check_gradients("gradcheck", detail::tensor_function<F, X>(f), detail::listed(detail::erased(detail::tensors_of(inputs))), options);
    else return false;
}

/// The same for the gradients themselves, as functions of the inputs and of the gradients of the outputs that they start from:
/// whether second derivatives are right. Those that they start from are chosen at random, but the same each time.
template <class F, class X> bool gradgradcheck(F&& f, X const& inputs, GradcheckOptions const& options = {})
{
    if constexpr (detail::JudgedCall<F, X>::fits) return detail::check_second_gradients(detail::tensor_function<F, X>(f), detail::listed(detail::erased(detail::tensors_of(inputs))), {}, options);
    else return false;
}
/// The same from given gradients of those outputs that require one: a Tensor or a std::tuple.
template <class F, class X, detail::TensorsLike G> bool gradgradcheck(F&& f, X const& inputs, G const& gradients, GradcheckOptions const& options = {})
{
    if constexpr (detail::JudgedCall<F, X>::fits)
        return detail::check_second_gradients(detail::tensor_function<F, X>(f), detail::listed(detail::erased(detail::tensors_of(inputs))), detail::listed(detail::erased(detail::tensors_of(gradients))), options);
    else return false;
}

}  // namespace xgrad
