// Bodies of vjp.hpp and jvp.hpp.
#pragma once

#include <xgrad/functional/forward_pass.hpp>
#include <xgrad/functional/jvp.hpp>
#include <xgrad/functional/vjp.hpp>

namespace xgrad::detail {

XGRAD_LAZY_BODY void check_vector(std::string_view transform, TensorSpan v, TensorSpan fits) {
    if (v.empty() && (fits.size() != 1 || fits[0].numel() != 1)) {
        if (transform.ends_with("grad"))
            fail<GraphError>(transform, ": the function must return one number, not shape ",
                fits[0].shape(), "; jacobian() is for others");
        fail<GraphError>(transform, ": the vector v can only be left out where there is a single "
                                    "tensor with a single element to multiply it with");
    }
    if (!v.empty() && v.size() != fits.size())
        fail<ShapeError>(
            transform, ": v has ", v.size(), " tensors, where ", fits.size(), " are needed");
    for (std::size_t i = 0; i < v.size(); ++i)
        if (v[i].defined() && v[i].dtype() != fits[i].dtype())
            fail<TypeError>(transform, ": v is of type ", name(v[i].dtype()), " where ",
                name(fits[i].dtype()), " is needed");
        else if (!v[i].defined() || v[i].shape() != fits[i].shape())
            fail<ShapeError>(transform, ": v has invalid size: should be ", fits[i].shape(),
                " but got ", v[i].defined() ? Piece(v[i].shape()) : Piece("an undefined tensor"));
}

XGRAD_LAZY_BODY TensorSpan vector_or_one(TensorSpan v, TensorSpan fits, AnyTensor& one) {
    if (!v.empty()) return v;
    one = fits[0].impl().type->filled(fits[0].shape(), 1);
    return {&one, 1};
}

XGRAD_LAZY_BODY void check_outputs(Evaluation const& e) {
    for (std::size_t i = 0; e.strict && i < e.outputs.size(); ++i)
        if (!e.outputs[i].requires_grad())
            fail<GraphError>(e.transform, ": Output ", i,
                " of the user-provided function does not require gradients. The outputs must be "
                "computed in a differentiable manner from the input when running in strict mode.");
}

XGRAD_LAZY_BODY void pull_back(Evaluation const& e, TensorSpan grad_outputs, bool create_graph,
    bool keep_graph, std::span<AnyTensor> gradients) {
    CachedVector<Root> roots;
    roots.reserve(e.outputs.size());
    for (std::size_t i = 0; i < e.outputs.size(); ++i)
        if (auto const& y = e.outputs[i]; y.requires_grad())
            roots.push_back(root_at(gradient_edge(y), y.impl().type, y.shape(),
                grad_outputs.empty() ? AnyTensor() : grad_outputs[i], i));
    if (roots.empty()) return;
    if (create_graph) link_second_order();
    LocalArray<Capture, 4> captures(e.inputs.size());
    for (std::size_t i = 0; i < e.inputs.size(); ++i)
        captures[i] = capture_at(gradient_edge(e.inputs[i]));
    run_to_inputs(roots, captures.span(), keep_graph, create_graph);
    for (std::size_t i = 0; i < e.inputs.size(); ++i)
        gradients[i] = std::move(captures[i].gradient);
}

XGRAD_LAZY_BODY void fill_in(Evaluation const& e, std::string_view what,
    std::string_view derivative, std::span<AnyTensor> gradients) {
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        if (e.strict && !gradients[i].defined())
            fail<GraphError>(e.transform, ": ", what, " is independent of input ", i,
                ". This is not allowed in strict mode.");
        if (e.strict && e.create_graph && !gradients[i].requires_grad())
            fail<GraphError>(e.transform, ": The ", derivative,
                " of the user-provided function is independent of input ", i,
                ". This is not allowed in strict mode when create_graph=True.");
        if (!gradients[i].defined())
            gradients[i] = e.inputs[i].impl().type->filled(e.inputs[i].shape(), 0);
    }
}

XGRAD_LAZY_BODY void vector_jacobian_product(
    Evaluation const& e, TensorSpan v, std::span<AnyTensor> products) {
    check_outputs(e);
    check_vector(e.transform, v, e.outputs);
    pull_back(e, v, e.create_graph, e.create_graph, products);
    fill_in(e, "The output of the user-provided function", "jacobian", products);
}

XGRAD_LAZY_BODY KeptEvaluation::KeptEvaluation(Evaluation const& e)
    : transform(e.transform), inputs(listed(e.inputs)), outputs(listed(e.outputs)) {}

XGRAD_LAZY_BODY Evaluation KeptEvaluation::evaluation() const {
    return {transform, differentiated && recording(), false, inputs, outputs};
}

XGRAD_LAZY_BODY Tensors KeptEvaluation::pull_back(Tensors const& v) const {
    auto const e = evaluation();
    check_vector(transform, v, outputs);
    Tensors products(inputs.size());
    xgrad::detail::pull_back(e, v, e.create_graph, true, products);
    fill_in(e, "The output of the user-provided function", "jacobian", products);
    return products;
}

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
