// Bodies of standardize.hpp.
#pragma once

#include <xgrad/nn/standardize.hpp>

namespace xgrad::nn::detail {

XGRAD_FUNCTION double StandardizeGeometry::count() const {
    return static_cast<double>(channels * positions) *
           static_cast<double>(over_samples ? samples : 1);
}

} // namespace xgrad::nn::detail
