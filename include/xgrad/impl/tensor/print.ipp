// Bodies of print.hpp.
#pragma once

#include <xgrad/tensor/print.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION std::string grad_fn_text(AnyTensor const& t) {
    try {
        if (auto const* const node = t.grad_fn()) return ", grad_fn=<" + node->name() + ">";
    } catch (GraphError const&) { return ", grad_fn=<Invalid>"; }
    return t.requires_grad() ? ", requires_grad=true" : "";
}

} // namespace xgrad::detail
