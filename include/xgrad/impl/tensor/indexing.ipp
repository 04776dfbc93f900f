// Bodies of index_select.hpp, mask_indexing.hpp and tensor_indexing.hpp.
#pragma once

#include <xgrad/ops/arithmetic.hpp>
#include <xgrad/tensor/index_select.hpp>
#include <xgrad/tensor/mask_indexing.hpp>
#include <xgrad/tensor/tensor_indexing.hpp>

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
    static_cast<void>(broadcast("x(index)", first.shape(), second.shape()));
    return first * static_cast<std::int64_t>(extent) + second;
}

XGRAD_LAZY_BODY Array<bool> full_mask(
    Tensor<bool> const& mask, AnyTensor const& x, std::string_view name) {
    check_defined(name, x);
    if (!mask.defined()) fail_undefined(name, "the mask");
    auto const& shape = x.shape();
    if (!broadcasts_to(mask.shape(), shape))
        fail<ShapeError>(name, ": a mask of shape ", mask.shape(),
            " does not broadcast to the shape ", shape, " of what it is to pick from");
    Array<bool> copy(shape);
    copy_elements(copy, broadcast_view(mask.array_of(), shape));
    return copy;
}

XGRAD_LAZY_BODY std::pair<Tensor<std::int64_t>, Tensor<bool>> last_of_each_position(
    Tensor<std::int64_t> const& index, std::size_t extent) {
    Array<std::int64_t> last(Shape{extent}, 0);
    Array<bool> is_named(Shape{extent}, false);
    for (std::size_t i = 0; i < index.numel(); ++i) {
        auto const at = static_cast<std::size_t>(index.data()[i]);
        last.begin()[at] = static_cast<std::int64_t>(i);
        is_named.begin()[at] = true;
    }
    return {Tensor<std::int64_t>(std::move(last)), Tensor<bool>(std::move(is_named))};
}

} // namespace xgrad::detail
