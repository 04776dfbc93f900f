// Bodies of fourier.hpp.
#pragma once

#include <xgrad/ops/fourier.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION double fft_scale(FftNorm norm, bool inverse, std::size_t n) {
    if (norm == FftNorm::ortho) return 1 / std::sqrt(static_cast<double>(n));
    return inverse == (norm == FftNorm::backward) ? 1 / static_cast<double>(n) : 1;
}

XGRAD_FUNCTION std::size_t checked_length(std::string_view operation, std::size_t n) {
    if (n == 0) fail<ShapeError>(operation, ": a transform needs at least one point");
    return n;
}

XGRAD_FUNCTION void check_real_axes(
    std::string_view operation, Axes& axes, Shape const& lengths, Shape const& shape) {
    if (axes.empty()) axes = all_axes(shape.size());
    normalize_axes(operation, axes, shape);
    if (axes.empty())
        fail<ShapeError>(operation, ": an array without dimensions has no axis to transform");
    if (!lengths.empty() && lengths.size() != axes.size())
        fail<ShapeError>(operation, ": ", lengths.size(), " lengths for ", axes.size(), " axes");
}

} // namespace xgrad::detail
