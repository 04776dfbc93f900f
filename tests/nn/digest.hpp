// Modules against numbers recorded from PyTorch: both begin with the same waves of numbers, and of
// each tensor that comes out one weighted sum is compared.
#pragma once

#include <xgrad/nn/module.hpp>

#include "nn/waves.hpp"

/// sin(0.7 k)/2 for k = start, start + 1, ...
inline D half_wave(xg::Shape const& shape, double start) {
    D t = xg::zeros(shape);
    auto* const p = t.mutable_data();
    for (std::size_t i = 0; i < t.numel(); ++i)
        p[i] = 0.5 * std::sin(0.7 * (start + static_cast<double>(i)));
    return t;
}
inline D wave_leaf(xg::Shape const& shape, double start) {
    D t = half_wave(shape, start);
    return t.requires_grad_();
}
/// Parameter after parameter, each ten further on.
inline void fill_with_waves(xg::nn::AnyModule& m) {
    xg::NoGradGuard const off;
    double start = 1;
    for (auto const& p : m.parameters())
        p.as<double>().copy_(half_wave(p.shape(), std::exchange(start, start + 10)));
}
/// The sum of t_k cos(k): recorded, so that it serves as a loss, too.
inline D digest(D const& t) { return weighted(t, 1); }
/// The digest of the gradients of all parameters in a row.
inline double digest_of_gradients(xg::nn::AnyModule const& m) {
    std::vector<D> all;
    for (auto const& p : m.parameters()) all.push_back(flatten(p.as<double>().grad()));
    return digest(cat(all)).item();
}
