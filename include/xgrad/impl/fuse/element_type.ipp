// Bodies of element_type.hpp.
#pragma once

#include <xgrad/fuse/element_type.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION LoopOperand input_operand(AnyArray const& a, ElementType const& info) {
    LoopOperand o;
    o.array = &a;
    o.transfer = &info.gather;
    o.output = false;
    return o;
}

XGRAD_FUNCTION LoopOperand output_operand(AnyArray const& a, ElementType const& info) {
    LoopOperand o;
    o.array = &a;
    o.transfer = &info.scatter;
    return o;
}

XGRAD_FUNCTION LoopOperand reduce_operand(AnyArray const& a, Transfer const& transfer) {
    LoopOperand o;
    o.array = &a;
    o.transfer = &transfer;
    o.reduces = true;
    return o;
}

XGRAD_FUNCTION AnyArray zeroed(Shape const& shape, std::size_t element) {
    AnyArray a(shape, element);
    std::memset(a.data, 0, a.numel * element);
    return a;
}

} // namespace xgrad::detail
