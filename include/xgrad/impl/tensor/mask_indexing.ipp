// Bodies of mask_indexing.hpp.
#pragma once

#include <xgrad/tensor/mask_indexing.hpp>

namespace xgrad::detail {

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

} // namespace xgrad::detail
