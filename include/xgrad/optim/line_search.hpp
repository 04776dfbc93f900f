// A line search for the strong Wolfe conditions (Nocedal and Wright, Numerical Optimization,
// algorithms 3.5 and 3.6).
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <xgrad/core/config.hpp>

namespace xgrad::optim::detail {

/// A point on the line: its position, the function's value, its slope along the line, and its
/// gradient.
struct LinePoint {
    double t, value, slope;
    std::vector<double> gradient;
};

/// The minimiser of the cubic through the values and slopes of two points, clamped to two bounds;
/// the middle of the bounds if the cubic has no minimum.
double cubic_minimum(LinePoint const& p, LinePoint const& q, double low, double high);

/// A point t > 0 with value <= value(0) + c1 t slope(0) and |slope| <= c2 |slope(0)|; the best one
/// found after max_trials evaluations, or when the interval that contains one is narrower than
/// `narrow`. `evaluate(t)` returns the point at t, `start` is the point at 0, `t` the first
/// position to try. A value of NaN counts as too high.
template <class F>
LinePoint strong_wolfe(F evaluate, LinePoint const& start, double t, double narrow) {
    constexpr double c1 = 1e-4, c2 = 0.9;
    constexpr int max_trials = 25;
    auto const too_high = [&](LinePoint const& p) {
        return !(p.value <= start.value + c1 * p.t * start.slope);
    };
    auto const flat = [&](LinePoint const& p) { return std::abs(p.slope) <= -c2 * start.slope; };
    auto const lower = [](LinePoint const& p, LinePoint const& q) {
        return p.value < q.value || q.value != q.value;
    };

    // Expand until two points bracket a minimum.
    LinePoint low = start, high = evaluate(t);
    int trials = 0;
    while (!(too_high(high) || (trials > 1 && !(high.value < low.value)))) {
        if (flat(high)) return high;
        if (high.slope >= 0) break;
        if (trials == max_trials) {
            low = start;
            break;
        }
        double const next = cubic_minimum(low, high, high.t + 0.01 * (high.t - low.t), 10 * high.t);
        low = std::exchange(high, evaluate(next));
        ++trials;
    }
    if (lower(high, low)) std::swap(low, high);

    // Shrink the bracket; `low` is the best point so far.
    bool was_near_end = false;
    for (; trials < max_trials && std::abs(high.t - low.t) >= narrow; ++trials) {
        auto const [left, right] = std::minmax(low.t, high.t);
        double const margin = 0.1 * (right - left);
        t = cubic_minimum(low, high, left, right);
        bool const near_end = std::min(right - t, t - left) < margin;
        // otherwise the interval could shrink from one side only
        bool const moved = near_end && (was_near_end || t >= right || t <= left);
        if (moved) t = right - t < t - left ? right - margin : left + margin;
        was_near_end = near_end && !moved;
        auto p = evaluate(t);
        if (too_high(p) || !(p.value < low.value)) {
            high = std::move(p);
            if (lower(high, low)) std::swap(low, high);
        } else {
            if (flat(p)) return p;
            if (p.slope * (high.t - low.t) >= 0) high = std::move(low);
            low = std::move(p);
        }
    }
    return low;
}

} // namespace xgrad::optim::detail
