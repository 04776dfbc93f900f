// Bodies of line_search.hpp.
#pragma once

#include <xgrad/optim/line_search.hpp>

namespace xgrad::optim::detail {

XGRAD_FUNCTION double cubic_minimum(
    LinePoint const& p, LinePoint const& q, double low, double high) {
    auto const& [a, b] = p.t <= q.t ? std::pair<LinePoint const&, LinePoint const&>(p, q)
                                    : std::pair<LinePoint const&, LinePoint const&>(q, p);
    double const u = a.slope + b.slope - 3 * (a.value - b.value) / (a.t - b.t),
                 square = u * u - a.slope * b.slope, w = std::sqrt(square);
    double const least = b.t - (b.t - a.t) * ((b.slope + w - u) / (b.slope - a.slope + 2 * w));
    return square >= 0 && least == least ? std::min(std::max(least, low), high) : (low + high) / 2;
}

} // namespace xgrad::optim::detail
