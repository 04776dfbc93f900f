// Folds: many numbers made one, tile by tile, by something else than a sum (which move.hpp has).
#pragma once

#include <limits>

#include <xgrad/ops/move.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::detail {

template <class T> T choice(bool condition, T a, T b) { return condition ? a : b; }
template <class P> XGRAD_INLINE RealPack<P> choice(MaskPack<P> condition, RealPack<P> a, RealPack<P> b) { return where(condition, a, b); }

/// The product of all.
template <class T> struct Product {
    using accumulator = wide<T>;
    static accumulator start() { return 1; }
    XGRAD_INLINE static auto join(auto a, auto v) { return a * v; }
};
/// The larger of two; NaN always.
template <class T> struct Larger {
    using accumulator = T;
    static constexpr std::string_view name = "Amax";
    static T start() { return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest(); }
    XGRAD_INLINE static auto join(auto best, auto v) { return choice(v > best || v != v, v, best); }
};
/// The smaller of two; NaN always.
template <class T> struct Smaller {
    using accumulator = T;
    static constexpr std::string_view name = "Amin";
    static T start() { return std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max(); }
    XGRAD_INLINE static auto join(auto best, auto v) { return choice(v < best || v != v, v, best); }
};

/// A run of numbers folded into one, in interleaved parts.
template <class Fold, class A, class T> void fold_into(A& a, T const* t, std::size_t n)
{
    std::size_t i = 0;
    if constexpr (std::same_as<A, T> && RealScalar<T>) {
        using Pack = RealPack<T>;
        Pack part[4] = {Fold::start(), Fold::start(), Fold::start(), Fold::start()};
        for (; i + 4 * Pack::width <= n; i += 4 * Pack::width)
            for (std::size_t j = 0; j < 4; ++j) part[j] = Fold::join(part[j], Pack::load(t + i + j * Pack::width));
        for (; i + Pack::width <= n; i += Pack::width) part[0] = Fold::join(part[0], Pack::load(t + i));
        T lanes[Pack::width];
        Fold::join(Fold::join(part[0], part[1]), Fold::join(part[2], part[3])).store(lanes);
        for (auto const lane : lanes) a = Fold::join(a, lane);
    } else {
        A part[4] = {Fold::start(), Fold::start(), Fold::start(), Fold::start()};
        for (; i + 4 <= n; i += 4)
            for (std::size_t j = 0; j < 4; ++j) part[j] = Fold::join(part[j], converted<A>(t[i + j]));
        for (auto const p : part) a = Fold::join(a, p);
    }
    for (; i < n; ++i) a = Fold::join(a, converted<A>(t[i]));
}

/// tile of T -> array of the fold's accumulators; a step of 0 folds the whole run into one.
template <class Fold, class T> void fold_run(void* tile, void* array, std::ptrdiff_t stride, std::size_t n)
{
    using A = typename Fold::accumulator;
    auto const* const t = static_cast<T const*>(tile);
    auto* const a = static_cast<A*>(array);
    if (stride == 0) return fold_into<Fold>(*a, t, n);
    std::size_t i = 0;
    if constexpr (std::same_as<A, T> && RealScalar<T>) {
        using Pack = RealPack<T>;
        for (; stride == 1 && i + Pack::width <= n; i += Pack::width) Fold::join(Pack::load(a + i), Pack::load(t + i)).store(a + i);
    }
    for (; i < n; ++i) {
        auto& at = a[static_cast<std::ptrdiff_t>(i) * stride];
        at = Fold::join(at, converted<A>(t[i]));
    }
}

}  // namespace xgrad::detail
