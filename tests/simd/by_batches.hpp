// A function of real batches, applied to the elements of a vector.
#pragma once

#include <cstddef>
#include <vector>

#include <xgrad/xgrad.hpp>

/// f(x) for each x, where every batch holds neighbours.
template <class T, class F> std::vector<T> by_batches(F f, std::vector<T> x) {
    using B = xgrad::simd::Batch<T>;
    std::size_t const n = x.size();
    x.resize(n + B::width, T(1));
    std::vector<T> y(x.size());
    for (std::size_t i = 0; i < n; i += B::width) f(B::load(x.data() + i)).store(y.data() + i);
    y.resize(n);
    return y;
}
