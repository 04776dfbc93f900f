// Bodies of flat_expression.hpp.
#pragma once

#include <xgrad/expr/flat_expression.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION std::string tensor_name(std::size_t i) {
    return i < 26 ? std::string(1, static_cast<char>('a' + i)) : "x" + std::to_string(i);
}

XGRAD_FUNCTION std::string expression_text(Vertex const*& v, std::size_t& tensors) {
    Vertex const here = *v++;
    if (here.is_tensor) return tensor_name(tensors++);
    if (here.name.empty()) return "number";
    std::string s(here.name);
    for (std::size_t i = 0; i < here.operands; ++i)
        s += (i ? ", " : "(") + expression_text(v, tensors);
    return s + ")";
}

} // namespace xgrad::detail
