// Bodies of views.hpp.
#pragma once

#include <xgrad/tensor/views.hpp>

namespace xgrad::detail {

XGRAD_LAZY_BODY AnyArray view_on(
    AnyArray a, Shape shape, Strides strides, std::ptrdiff_t offset, std::size_t size) {
    a.set_view(std::move(shape), std::move(strides), offset * static_cast<std::ptrdiff_t>(size));
    return a;
}

} // namespace xgrad::detail
