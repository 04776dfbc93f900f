// Bodies of matrices.hpp.
#pragma once

#include <xgrad/linalg/matrices.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION MatrixSizes::MatrixSizes(Shape const& s)
    : rows(lapack::count(s[s.size() - 2])), columns(lapack::count(s.back())) {
    for (std::size_t d = 0; d + 2 < s.size(); ++d) count *= s[d];
}

XGRAD_FUNCTION std::size_t MatrixSizes::elements() const {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
}

XGRAD_FUNCTION Shape without_last(Shape const& s, std::size_t n) {
    return Shape(s.begin(), s.end() - static_cast<std::ptrdiff_t>(n));
}

XGRAD_FUNCTION std::string at_matrix(std::string_view name, Shape const& shape, std::size_t i) {
    return std::string(name) + ": " +
           (shape.size() > 2 ? "(Batch element " + std::to_string(i) + "): " : "");
}

} // namespace xgrad::detail
