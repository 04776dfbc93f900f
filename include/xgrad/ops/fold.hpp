// Folds: many numbers made one, tile by tile, by something else than a sum (which move.hpp has).
#pragma once

#include <limits>

#include <xgrad/ops/move.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::detail {

/// The product of all.
template <class T> struct Product {
    using accumulator = wide<T>;
    static accumulator start() { return 1; }
    static accumulator join(accumulator a, T v) { return a * converted<accumulator>(v); }
};
/// The larger of two; NaN always.
template <class T> struct Larger {
    using accumulator = T;
    static constexpr std::string_view name = "Amax";
    static T start() { return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest(); }
    static T join(T best, T v) { return best == best && (v > best || v != v) ? v : best; }
};
/// The smaller of two; NaN always.
template <class T> struct Smaller {
    using accumulator = T;
    static constexpr std::string_view name = "Amin";
    static T start() { return std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max(); }
    static T join(T best, T v) { return best == best && (v < best || v != v) ? v : best; }
};

/// tile of T -> array of the fold's accumulators; a step of 0 folds the whole run into one.
template <class Fold, class T> void fold_run(void* tile, void* array, std::ptrdiff_t stride, std::size_t n)
{
    using A = typename Fold::accumulator;
    auto const* const t = static_cast<T const*>(tile);
    auto* const a = static_cast<A*>(array);
    if (stride == 0) {
        constexpr std::size_t lanes = 8;
        A part[lanes];
        std::fill_n(part, lanes, Fold::start());
        std::size_t i = 0;
        for (; i + lanes <= n; i += lanes)
            for (std::size_t j = 0; j < lanes; ++j) part[j] = Fold::join(part[j], t[i + j]);
        for (; i < n; ++i) part[i % lanes] = Fold::join(part[i % lanes], t[i]);
        for (auto const p : part) *a = Fold::join(*a, converted<T>(p));
    } else
        for (std::size_t i = 0; i < n; ++i) {
            auto& at = a[static_cast<std::ptrdiff_t>(i) * stride];
            at = Fold::join(at, t[i]);
        }
}

}  // namespace xgrad::detail
