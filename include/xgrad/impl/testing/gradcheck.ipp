// Bodies of gradcheck.hpp.
#pragma once

#include <xgrad/testing/gradcheck.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION bool check_gradients(std::string_view name, TensorFunction const& f,
    Tensors const& inputs, GradcheckOptions const& options) {
    InferenceMode const normal(false);
    DifferentiatedScope const scope;
    auto const complaint = Gradcheck(f, inputs, options).complaint();
    if (complaint.empty()) return true;
    if (options.raise_exception) fail<GradcheckError>(name, ": ", complaint);
    return false;
}

XGRAD_FUNCTION TensorFunction gradient_function(TensorFunction const& f, std::size_t inputs) {
    return [&f, inputs](Tensors const& all) {
        auto const middle = all.begin() + static_cast<std::ptrdiff_t>(inputs);
        auto const x = differentiable_outputs(Tensors(all.begin(), middle));
        auto gradients = xgrad::grad(differentiable_outputs(f(Tensors(all.begin(), middle))), x,
            {.gradients = Tensors(middle, all.end()), .create_graph = true, .allow_unused = true});
        std::erase_if(gradients, [](AnyTensor const& g) { return !g.defined(); });
        return gradients;
    };
}

XGRAD_FUNCTION Tensors random_grad_outputs(TensorFunction const& f, Tensors const& inputs) {
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

XGRAD_FUNCTION bool check_second_gradients(TensorFunction const& f, Tensors inputs,
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

} // namespace xgrad::detail
