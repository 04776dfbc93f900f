// Bodies of convolution_lines.hpp.
#pragma once

#include <xgrad/nn/convolution_lines.hpp>

namespace xgrad::nn::detail {

XGRAD_FUNCTION std::size_t Tile::rows_of(Phase const& phase) const {
    return phase.count > row ? std::min(rows, phase.count - row) : 0;
}

XGRAD_FUNCTION std::size_t Tile::columns_of(Phase const& phase) const {
    return phase.count > column ? std::min(columns, phase.count - column) : 0;
}

} // namespace xgrad::nn::detail
