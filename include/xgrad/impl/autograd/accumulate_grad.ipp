// Bodies of accumulate_grad.hpp.
#pragma once

#include <xgrad/autograd/accumulate_grad.hpp>

namespace xgrad::detail {

XGRAD_NOINLINE XGRAD_FUNCTION void fail_two_libraries() {
    fail<GraphError>("xgrad is there twice: this tensor is of another program or library, whose "
                     "grad mode and passes this one does not see; link xgrad::compiled as a "
                     "shared library (docs/libraries.md)");
}

XGRAD_FUNCTION void accumulate(AnyTensor& grad, AnyTensor gradient) {
    if (auto& view = gradient.impl().view; view && !grad_mode && view->base->refs.load() == 1)
        view.reset();
    if (grad.defined()) {
        if (grad.is_inference() && !inference_mode)
            fail<GraphError>(
                "Inplace update to inference tensor outside InferenceMode is not allowed. You can "
                "make a clone to get a normal tensor before doing inplace "
                "update. The tensor is a .grad that backward() made in InferenceMode.");
        if (grad_mode || overlaps_itself(grad.impl().array))
            grad = grad.impl().type->add(grad, gradient);
        else grad.impl().type->add_in_place(grad, gradient);
    } else if (can_be_taken(gradient)) grad = std::move(gradient);
    else grad = gradient.impl().type->copy(gradient);
}

XGRAD_FUNCTION void add_to(AnyTensor& sum, AnyTensor const& more) {
    sum = sum.defined() ? sum.impl().type->add(sum, more) : more;
}

XGRAD_FUNCTION void AccumulateGrad::accumulate_gradient(AnyTensor& gradient) {
    if (!gradient.defined() || !accumulates_gradient()) return;
    if (!leaf_->grad && can_be_taken(gradient)) leaf_->grad = std::move(gradient).handle();
    else add(std::move(gradient));
}

XGRAD_FUNCTION AccumulateGrad* AccumulateGrad::made(TensorImpl& leaf) {
    AccumulateGrad* node = nullptr;
    auto* const fresh = new AccumulateGrad(leaf);
    if (leaf.accumulator.compare_exchange_strong(node, fresh, std::memory_order_acq_rel))
        return fresh;
    delete fresh;
    return node;
}

XGRAD_NOINLINE XGRAD_FUNCTION void AccumulateGrad::add(AnyTensor gradient) {
    AnyTensor grad(std::move(leaf_->grad));
    try {
        accumulate(grad, std::move(gradient));
    } catch (...) {
        leaf_->grad = std::move(grad).handle();
        throw;
    }
    leaf_->grad = std::move(grad).handle();
}

XGRAD_FUNCTION AnyTensor snapshot(AnyTensor const& t) {
    AnyTensor a = alias(t);
    auto edge = gradient_edge(t);
    a.impl().grad_fn = std::move(edge.function);
    a.impl().output_nr = edge.input_nr;
    return a;
}

} // namespace xgrad::detail
