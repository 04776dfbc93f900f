// Bodies of hooks.hpp.
#pragma once

#include <xgrad/tensor/hooks.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION void keep_gradient(AnyTensor const& t, AnyTensor gradient) {
    AnyTensor grad(t.impl().grad);
    accumulate(grad, std::move(gradient));
    t.impl().grad = grad.handle();
}

XGRAD_FUNCTION NodeHooks::OutputHooks& tensor_hooks_of(AnyTensor const& t) {
    if (!t.requires_grad("register_hook"))
        fail<GraphError>("cannot register a hook on a variable that doesn't require gradient");
    auto const edge = gradient_edge(t);
    if (!edge)
        fail<GraphError>("cannot register a hook on a view that was made in no_grad mode: it has "
                         "no place in the graph");
    return NodeHooks::at(*edge.function, edge.input_nr);
}

} // namespace xgrad::detail
