// Bodies of join.hpp.
#pragma once

#include <xgrad/tensor/join.hpp>

namespace xgrad::detail {

inline void check_joined(std::string_view name, std::span<AnyTensor const* const> x) {
    if (x.empty()) fail<ShapeError>(name, ": no tensors to join");
    for (std::size_t i = 0; i < x.size(); ++i)
        if (!x[i]->defined()) fail_undefined(name, "argument", i);
}

XGRAD_LAZY_BODY AnyTensor cat_any(std::span<AnyTensor const* const> x, std::ptrdiff_t axis) {
    check_joined("cat", x);
    Shape shape = x[0]->shape();
    auto const at = normalize_axis("cat", axis, shape);
    shape[at] = 0;
    CachedVector<std::size_t> counts;
    counts.reserve(x.size());
    for (auto const* t : x) {
        Shape other = t->shape();
        bool fits = other.size() == shape.size();
        if (fits) {
            counts.push_back(other[at]);
            auto const joined = add_extents("cat", shape[at], other[at]);
            other[at] = shape[at];
            fits = other == shape;
            shape[at] = joined;
        }
        if (!fits)
            fail<ShapeError>("cat: shapes ", x[0]->shape(), " and ", t->shape(),
                " do not fit together along axis ", axis);
    }
    return join_parts("Cat", x, std::move(shape), {at, true, std::move(counts)});
}

XGRAD_LAZY_BODY AnyTensor stack_any(std::span<AnyTensor const* const> x, std::ptrdiff_t axis) {
    check_joined("stack", x);
    for (auto const* t : x)
        if (t->shape() != x[0]->shape())
            fail<ShapeError>("stack: shapes ", x[0]->shape(), " and ", t->shape(), " differ");
    auto const at = normalize_axis("stack", axis, x[0]->shape(), 1);
    Shape shape = x[0]->shape();
    shape.insert(at, x.size());
    return join_parts(
        "Stack", x, std::move(shape), {at, false, CachedVector<std::size_t>(x.size(), 1)});
}

} // namespace xgrad::detail
