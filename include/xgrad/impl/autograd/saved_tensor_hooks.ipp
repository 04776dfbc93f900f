// Bodies of saved_tensor_hooks.hpp.
#pragma once

#include <xgrad/autograd/saved_tensor_hooks.hpp>

namespace xgrad {

XGRAD_FUNCTION DisableSavedTensorsHooks::DisableSavedTensorsHooks(std::string message)
    : message_(std::move(message)), before_(detail::packing_disabled) {
    if (detail::default_packing) detail::fail<GraphError>(message_);
    detail::packing_disabled = &message_;
}

} // namespace xgrad
