// Tensors without any symmetry, which every program can compute: the inputs of the numbers that
// tests have from PyTorch.
#pragma once

#include <xgrad/nn.hpp>

#include "tensor/compare.hpp"

/// sin(k i + k^2/2) for element i.
inline D wave(xg::Shape const& shape, double k) {
    D t = xg::zeros(shape);
    double* const p = t.mutable_data();
    for (std::size_t i = 0; i < t.numel(); ++i)
        p[i] = std::sin(k * static_cast<double>(i) + 0.5 * k * k);
    return t;
}
/// The sum of all elements, element i times cos(k i).
inline D weighted(D const& t, double k) {
    D w = xg::zeros(t.shape());
    double* const p = w.mutable_data();
    for (std::size_t i = 0; i < w.numel(); ++i) p[i] = std::cos(k * static_cast<double>(i));
    return sum(t * w);
}
