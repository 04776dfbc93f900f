// Bodies of hvp.hpp.
#pragma once

#include <xgrad/functional/hvp.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION void vector_hessian_product(
    Evaluation const& e, TensorSpan v, std::span<AnyTensor> products) {
    auto const gradient = recorded_gradient(e);
    check_vector(e.transform, v, e.inputs);
    AnyTensor one;
    pull_back(e.with_outputs(gradient), vector_or_one(v, e.inputs, one), e.create_graph,
        e.create_graph, products);
    fill_in(e, "The jacobian of the user-provided function", "hessian", products);
}

XGRAD_FUNCTION void hessian_vector_product(
    Evaluation const& e, TensorSpan v, std::span<AnyTensor> products) {
    auto const gradient = recorded_gradient(e);
    push_forward(e.with_outputs(gradient), v, products);
    fill_in(e, "The hessian of the user-provided function", "hessian", products);
}

} // namespace xgrad::detail
