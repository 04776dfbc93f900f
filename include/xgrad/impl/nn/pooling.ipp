// Bodies of pooling.hpp.
#pragma once

#include <xgrad/nn/pooling.hpp>

namespace xgrad::nn::detail {

XGRAD_FUNCTION std::vector<std::int64_t> columns_in_turn(Windows const& w) {
    std::vector<std::int64_t> all;
    for (std::size_t turn = 0, most = 1; turn < most; ++turn)
        for (auto const& c : w.columns) {
            std::size_t const count = (c.stop - c.start + c.step - 1) / c.step;
            most = std::max(most, count);
            all.push_back(static_cast<std::int64_t>(c.start + std::min(turn, count - 1) * c.step));
        }
    return all;
}

} // namespace xgrad::nn::detail
