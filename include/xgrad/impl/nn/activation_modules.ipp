// Bodies of activation_modules.hpp.
#pragma once

#include <xgrad/nn/activation_modules.hpp>

namespace xgrad::nn {

XGRAD_FUNCTION Dropout::Dropout(double probability) : p(probability) {
    if (!(p >= 0 && p <= 1))
        xgrad::detail::fail("Dropout: the probability must lie between 0 and 1");
}

XGRAD_FUNCTION Dropout2d::Dropout2d(double probability) : p(probability) {
    if (!(p >= 0 && p <= 1))
        xgrad::detail::fail("Dropout2d: the probability must lie between 0 and 1");
}

XGRAD_FUNCTION std::string Flatten::extra_repr() const {
    return "first=" + std::to_string(first) + ", last=" + std::to_string(last);
}

} // namespace xgrad::nn
