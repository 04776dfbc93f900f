// What the printed programs include.
#pragma once

#include <complex>
#include <iostream>

#include <xgrad/implicit.hpp>
#include <xgrad/linalg.hpp>
#include <xgrad/map.hpp>
#include <xgrad/nn.hpp>
#include <xgrad/sparse.hpp>
#include <xgrad/sum_over.hpp>
#include <xgrad/vmap.hpp>

#include "user_operations.hpp"

using namespace composed;

/// Re <a, b>.
inline double inner(auto const& a, auto const& b) { return sum(xg::real(xg::conj(a) * b)).item(); }
/// The elements of x, again and again from one of them on, in a shape.
inline auto elements(auto const& x, std::int64_t from, xg::Shape const& shape) {
    std::vector<std::int64_t> index;
    for (std::size_t i = 0; i < xg::numel(shape); ++i)
        index.push_back(
            (static_cast<std::int64_t>(i) + from) % static_cast<std::int64_t>(x.numel()));
    return xg::eval(xg::reshape(xg::take(xg::flatten(x), I(index)), xg::Axes(shape)));
}
/// The elements of y in as many rows as x has.
inline D rows_of(D const& y, D const& x) {
    auto const n = std::max(y.numel() / x.shape()[0], std::size_t{1}) * x.shape()[0];
    return elements(y, 0, {x.shape()[0], n / x.shape()[0]});
}
/// The largest difference of two arrays.
inline double apart(auto const& a, auto const& b) { return amax(abs(a - b)).item(); }
