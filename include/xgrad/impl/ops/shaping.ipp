// Bodies of shaping.hpp.
#pragma once

#include <xgrad/ops/shaping.hpp>

namespace xgrad {

XGRAD_LAZY_BODY Shape Reshape::resolve(Shape const& from) const {
    auto const n = numel(from);
    Shape shape(to.size(), 1);
    std::optional<std::size_t> open;
    for (std::size_t i = 0; i < to.size(); ++i) {
        if (to[i] < -1 || (to[i] == -1 && open))
            detail::fail<ShapeError>(asked_by, ": ", to, " is no shape; one extent may be -1");
        if (to[i] == -1) open = i;
        else shape[i] = static_cast<std::size_t>(to[i]);
    }
    auto known = numel(shape);
    bool const found = !open || (known != 0 && n % known == 0);
    if (open && found) known *= shape[*open] = n / known;
    if (!found || known != n)
        detail::fail<ShapeError>(
            asked_by, ": shape ", to, " does not hold the ", n, " elements of shape ", from);
    return shape;
}

} // namespace xgrad

namespace xgrad::detail {

XGRAD_LAZY_BODY Axes inverse_of(Axes const& order) {
    Axes inverse(order.size());
    for (std::size_t i = 0; i < order.size(); ++i)
        inverse[static_cast<std::size_t>(order[i])] = static_cast<std::ptrdiff_t>(i);
    return inverse;
}

} // namespace xgrad::detail

namespace xgrad {

XGRAD_LAZY_BODY Axes Permute::normalized(Shape const& shape) const {
    Axes order = axes;
    for (auto& a : order)
        a = static_cast<std::ptrdiff_t>(detail::normalize_axis("permute", a, shape));
    return order;
}

} // namespace xgrad
