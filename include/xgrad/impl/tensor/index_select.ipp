// Bodies of index_select.hpp.
#pragma once

#include <xgrad/ops/arithmetic.hpp>
#include <xgrad/tensor/index_select.hpp>

namespace xgrad::detail {

XGRAD_LAZY_BODY Array<std::int64_t> checked_index(std::string_view name,
    Tensor<std::int64_t> const& index, std::size_t axis, std::size_t extent) {
    if (!index.defined()) fail_undefined(name, "the index");
    Array<std::int64_t> copy(index.shape());
    copy_elements(copy, index.array_of());
    for (auto const i : copy)
        if (i < 0 || i >= static_cast<std::int64_t>(extent))
            fail<IndexError>(
                name, ": index ", i, " is out of bounds for axis ", axis, " with extent ", extent);
    return copy;
}

XGRAD_LAZY_BODY Tensor<std::int64_t> positions(
    Tensor<std::int64_t> const& index, std::size_t extent) {
    if (!index.defined()) fail_undefined("x(index)", "the index");
    auto const n = static_cast<std::int64_t>(extent);
    Array<std::int64_t> all(index.shape());
    copy_elements(all, index.array_of());
    for (auto& i : all) {
        if (i < -n || i >= n)
            fail<IndexError>("x(index): index ", i, " is out of range for an extent of ", extent);
        if (i < 0) i += n;
    }
    return Tensor<std::int64_t>(std::move(all));
}

XGRAD_LAZY_BODY Tensor<std::int64_t> joined_positions(
    Tensor<std::int64_t> const& first, Tensor<std::int64_t> const& second, std::size_t extent) {
    return first * static_cast<std::int64_t>(extent) + second;
}

} // namespace xgrad::detail
