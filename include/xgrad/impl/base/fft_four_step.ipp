// Bodies of fft_four_step.hpp.
#pragma once

#include <xgrad/base/fft_four_step.hpp>

namespace xgrad::detail::kernel {

XGRAD_FUNCTION std::size_t tile_width(std::size_t rows) {
    constexpr std::size_t points = 512, widest_vector = 16;
    return std::max(points / rows / widest_vector, std::size_t{1}) * widest_vector;
}

} // namespace xgrad::detail::kernel
