// Bodies of tensor_indexing.hpp.
#pragma once

#include <xgrad/tensor/tensor_indexing.hpp>

namespace xgrad::detail {

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
