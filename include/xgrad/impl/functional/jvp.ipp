// Bodies of jvp.hpp.
#pragma once

#include <xgrad/functional/forward_pass.hpp>
#include <xgrad/functional/jvp.hpp>

namespace xgrad::detail {

XGRAD_LAZY_BODY void push_forward(
    Evaluation const& e, TensorSpan v, std::span<AnyTensor> tangents) {
    check_vector(e.transform, v, e.inputs);
    PassMode const mode(e.create_graph);
    AnyTensor one;
    ForwardPass(e.inputs, e.outputs).run(vector_or_one(v, e.inputs, one), tangents);
}

XGRAD_LAZY_BODY void jacobian_vector_product(
    Evaluation const& e, TensorSpan v, std::span<AnyTensor> products) {
    check_outputs(e);
    push_forward(e, v, products);
    for (std::size_t k = 0; k < products.size(); ++k) {
        if (products[k].defined()) continue;
        if (e.strict)
            fail<GraphError>(e.transform, ": Output ", k,
                " of the user-provided function is independent of the inputs. This is not allowed "
                "in strict mode.");
        products[k] = e.outputs[k].impl().type->filled(e.outputs[k].shape(), 0);
    }
}

XGRAD_LAZY_BODY Tensors KeptEvaluation::push_forward(Tensors const& v) const {
    Tensors products(outputs.size());
    jacobian_vector_product(evaluation(), v, products);
    return products;
}

} // namespace xgrad::detail
