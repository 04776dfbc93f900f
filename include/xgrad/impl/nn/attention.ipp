// Bodies of attention.hpp.
#pragma once

#include <xgrad/nn/attention.hpp>

namespace xgrad::nn::detail {

XGRAD_FUNCTION Tensor<bool> causal_mask(std::size_t queries, std::size_t keys) {
    auto const i = arange<std::int64_t>(0, static_cast<std::int64_t>(queries)),
               j = arange<std::int64_t>(0, static_cast<std::int64_t>(keys));
    return unsqueeze(i, 1) >= j;
}

} // namespace xgrad::nn::detail
