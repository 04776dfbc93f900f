// Changes in place beside their out-of-place forms. SCALARS, which the including file defines, are
// the types of the arguments.
#pragma once

#include <doctest/doctest.h>

#include <support/derivatives.hpp>

using namespace support;

/// f_in_place changes its first argument, f gives the same out of place.
#define IS_THE_SAME(in_place, out_of_place, ...)                                                   \
    CHECK(agrees_with(function_of<SCALARS>([](auto const& leaf, auto const&... more) {             \
        auto x = leaf.clone();                                                                     \
        auto const go = [&](auto const& b) {                                                       \
            (void)b;                                                                               \
            in_place;                                                                              \
        };                                                                                         \
        if constexpr (sizeof...(more)) go(more...);                                                \
        else go(0);                                                                                \
        return x;                                                                                  \
    }),                                                                                            \
        function_of<SCALARS>([](auto const& x, auto const&... more) {                              \
            auto const go = [&](auto const& b) {                                                   \
                (void)b;                                                                           \
                return xg::Tensor(xg::materialize_expression(out_of_place));                       \
            };                                                                                     \
            if constexpr (sizeof...(more)) return go(more...);                                     \
            else return go(0);                                                                     \
        }),                                                                                        \
        __VA_ARGS__))

inline Values real(xg::Shape const& shape, unsigned seed = 1, double from = -2, double to = 2) {
    return sample(xg::DType::float64, shape, seed, from, to);
}
inline Values complex_values(xg::Shape const& shape, unsigned seed = 1) {
    return sample(xg::DType::complex128, shape, seed);
}
