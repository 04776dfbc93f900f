// Bodies of create.hpp: random numbers.
#pragma once

#include <algorithm>

#include <xgrad/tensor/create.hpp>
#include <xgrad/tensor/generator.hpp>

namespace xgrad {

namespace detail {

template <class T, class Distribution> void fill(T* x, std::size_t n, Distribution distribution) {
    std::generate_n(x, n, [&] { return distribution(generator); });
}

XGRAD_FUNCTION void fill_uniform(float* x, std::size_t n) {
    fill(x, n, std::uniform_real_distribution<float>());
}
XGRAD_FUNCTION void fill_uniform(double* x, std::size_t n) {
    fill(x, n, std::uniform_real_distribution<double>());
}
XGRAD_FUNCTION void fill_normal(float* x, std::size_t n, float deviation) {
    fill(x, n, std::normal_distribution<float>(0, deviation));
}
XGRAD_FUNCTION void fill_normal(double* x, std::size_t n, double deviation) {
    fill(x, n, std::normal_distribution<double>(0, deviation));
}

} // namespace detail

XGRAD_FUNCTION void manual_seed(std::uint64_t seed) { detail::generator.seed(seed); }

} // namespace xgrad
