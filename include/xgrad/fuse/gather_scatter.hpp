// Copies between arrays and tiles: gather (array to tile), scatter (tile to array) and accumulate
// (tile added to an array). Float sums are accumulated in double, and long sums tile by tile. These
// functions are instantiated for each pair of scalar types, not for each expression.
#pragma once

#include <xgrad/fuse/kernel.hpp>
#include <xgrad/fuse/loop_operand.hpp>
#include <xgrad/simd/reduction_loops.hpp>

namespace xgrad::detail {

/// t[i] = value. Written with batches because GCC vectorises the plain loop only at -O3.
template <class E> void fill_run(E* t, std::size_t n, E value) {
    std::size_t i = 0;
    if constexpr (RealScalar<E>) {
        simd::Batch<E> const v(value);
        for (; i + simd::Batch<E>::width <= n; i += simd::Batch<E>::width) v.store(t + i);
    }
    for (; i < n; ++i) t[i] = value;
}
/// to[i] = f(from[i]...); f takes batches, and elements for the tail.
template <class P, class F, class... From>
void map_run(P* to, std::size_t n, F f, From const*... from) {
    using Batch = simd::Batch<P>;
    std::size_t i = 0;
    for (; i + Batch::width <= n; i += Batch::width) f(Batch::load(from + i)...).store(to + i);
    if constexpr (Batch::width > 1)
        for (; i < n; ++i) to[i] = f(from[i]...);
}
/// Gathers: array of T to tile of E.
template <class T, class E>
void gather_strided(void* tile, void* array, std::ptrdiff_t stride, std::size_t n) {
    auto* const t = static_cast<E*>(tile);
    auto const* const a = static_cast<T const*>(array);
    if (stride == 0) fill_run(t, n, converted<E>(*a));
    else if (stride == 1 && std::same_as<T, E>) std::memcpy(tile, array, n * sizeof(E));
    else if (stride == 1)
        for (std::size_t i = 0; i < n; ++i) t[i] = converted<E>(a[i]);
    else
        for (std::size_t i = 0; i < n; ++i)
            t[i] = converted<E>(a[static_cast<std::ptrdiff_t>(i) * stride]);
}

/// Scatters: tile of E to array of T.
template <class T, class E>
void scatter_strided(void* tile, void* array, std::ptrdiff_t stride, std::size_t n) {
    auto const* const t = static_cast<E const*>(tile);
    auto* const a = static_cast<T*>(array);
    for (std::size_t i = 0; i < n; ++i)
        a[static_cast<std::ptrdiff_t>(i) * stride] = converted<T>(t[i]);
}

/// Reduces a tile into an array of A. With stride 0 the whole run is reduced into one element.
template <class Reduction, class A, class E>
void reduce_strided(void* tile, void* array, std::ptrdiff_t stride, std::size_t n) {
    constexpr bool sums = std::same_as<Reduction, Sum<E>>;
    auto const* const t = static_cast<E const*>(tile);
    auto* const a = static_cast<A*>(array);
    if (stride == 0) {
        if constexpr (sums) *a += sum_of<A>(t, n);
        else reduce_elements<Reduction>(*a, t, n);
        return;
    }
    if constexpr (std::same_as<A, E> && (RealScalar<E> || (sums && is_complex<E>))) {
        using P = precision_of<E>;
        auto* const p = static_cast<P*>(array);
        if (stride == 1)
            return map_run(
                p, n * (sizeof(E) / sizeof(P)),
                [](auto x, auto y) XGRAD_LAMBDA_INLINE { return Reduction::join(x, y); }, p,
                static_cast<P const*>(tile));
    }
    for (std::size_t i = 0; i < n; ++i) {
        auto& at = a[static_cast<std::ptrdiff_t>(i) * stride];
        at = Reduction::join(at, converted<A>(t[i]));
    }
}

/// Adds rows of n elements to an array of n, four rows at a time: fewer loads of the array.
template <class W, class E>
void accumulate_columns(void* from, void* array, std::size_t n, std::size_t rows) {
    auto* t = static_cast<E*>(from);
    if constexpr (std::same_as<W, E> && Differentiable<E>) {
        using P = precision_of<E>;
        for (; rows >= 4; rows -= 4, t += 4 * n) {
            auto* const a = static_cast<P*>(array);
            auto const at = [=](std::size_t row) {
                return reinterpret_cast<P const*>(t + row * n);
            };
            map_run(
                a, n * (sizeof(E) / sizeof(P)),
                [](auto sum, auto p, auto q, auto r, auto s)
                    XGRAD_LAMBDA_INLINE { return sum + ((p + q) + (r + s)); },
                a, at(0), at(1), at(2), at(3));
        }
    }
    for (; rows > 0; --rows, t += n) reduce_strided<Sum<E>, W, E>(t, array, 1, n);
}

/// Calls take(row, sum) for rows of n elements. A row has at least a batch.
template <class P, class F> void sum_rows(P const* t, std::size_t n, std::size_t rows, F take) {
    constexpr std::size_t width = simd::Batch<P>::width, together = 4;
    std::size_t row = 0;
    if (n % width == 0)
        for (; row + together <= rows; row += together, t += together * n) {
            simd::Batch<P> sums[together] = {0, 0, 0, 0};
            for (std::size_t i = 0; i < n; i += width)
                kernel::unroll<together>([&](auto r) XGRAD_LAMBDA_INLINE {
                    sums[r] = sums[r] + simd::Batch<P>::load(t + r * n + i);
                });
            kernel::unroll<together>(
                [&](auto r) XGRAD_LAMBDA_INLINE { take(row + r, reduce_lanes<Sum<P>>(sums[r])); });
        }
    for (; row < rows; ++row, t += n) take(row, sum_of<P>(t, n));
}
/// Calls f with n as a constant where n is 2, 3 or 4 (bench_permutations). False for other n.
template <class F> bool with_constant(std::size_t n, F f) {
    switch (n) {
    case 2:
        f(std::integral_constant<std::size_t, 2>());
        return true;
    case 3:
        f(std::integral_constant<std::size_t, 3>());
        return true;
    case 4:
        f(std::integral_constant<std::size_t, 4>());
        return true;
    default:
        return false;
    }
}
/// Calls take(row, sum) for short rows, four rows at a time, whose sums are independent.
template <class W, class E, class F>
XGRAD_NOINLINE void sum_short_rows(E const* t, std::size_t n, std::size_t rows, F take) {
    std::size_t row = 0;
    if (with_constant(n, [&](auto length) {
            for (auto const* from = t; row < rows; ++row, from += length) {
                W sum = converted<W>(*from);
                kernel::unroll<length - 1>([&](auto i) { sum += converted<W>(from[i + 1]); });
                take(row, sum);
            }
        }))
        return;
    for (; row + 4 <= rows; row += 4) {
        W sums[4] = {};
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t r = 0; r < 4; ++r) sums[r] += converted<W>(t[(row + r) * n + i]);
        for (std::size_t r = 0; r < 4; ++r) take(row + r, sums[r]);
    }
    for (; row < rows; ++row) take(row, sum_of<W>(t + row * n, n));
}

/// Rows of at most this length are copied column by column (bench_permutations).
inline constexpr std::size_t short_row = 8;

/// Gathers rows. With stride 0, each row of the tile is filled with one element of the array; with
/// gap 0 all rows are the same, and copied from those that are there already.
template <class T, class E>
void gather_rows(std::byte* tile, std::size_t tile_gap, std::byte* array, std::ptrdiff_t gap,
    std::ptrdiff_t stride, std::size_t n, std::size_t rows) {
    if (gap == 0 && rows > short_row && tile_gap == n * sizeof(E)) {
        gather_strided<T, E>(tile, array, stride, n);
        for (std::size_t done = tile_gap, bytes = rows * tile_gap; done < bytes; done *= 2)
            std::memcpy(tile + done, tile, std::min(done, bytes - done));
        return;
    }
    if constexpr (RealScalar<E>)
        if (stride == 0 && n >= simd::Batch<E>::width) {
            for (; rows > 0; --rows, tile += tile_gap, array += gap)
                fill_run(reinterpret_cast<E*>(tile), n,
                    converted<E>(*reinterpret_cast<T const*>(array)));
            return;
        }
    if (n > short_row)
        return transfer_rows_by<&gather_strided<T, E>>(tile, tile_gap, array, gap, stride, n, rows);
    if (stride == 0 && with_constant(n, [=](auto length) {
            auto *to = tile, *from = array;
            for (std::size_t row = 0; row < rows; ++row, to += tile_gap, from += gap) {
                auto const value = converted<E>(*reinterpret_cast<T const*>(from));
                kernel::unroll<length>([&](auto i) { reinterpret_cast<E*>(to)[i] = value; });
            }
        }))
        return;
    for (std::size_t i = 0; i < n; ++i) {
        auto* to = tile + i * sizeof(E);
        auto const* from = array + static_cast<std::ptrdiff_t>(i * sizeof(T)) * stride;
        for (std::size_t row = 0; row < rows; ++row, to += tile_gap, from += gap)
            *reinterpret_cast<E*>(to) = converted<E>(*reinterpret_cast<T const*>(from));
    }
}
/// Accumulates rows. With stride 0, each row of the tile is summed into one element of the array.
template <class W, class E>
void accumulate_rows(std::byte* tile, std::size_t tile_gap, std::byte* array, std::ptrdiff_t gap,
    std::ptrdiff_t stride, std::size_t n, std::size_t rows) {
    if constexpr (Differentiable<E>)
        if (stride == 0 && tile_gap == n * sizeof(E)) {
            auto const* const t = reinterpret_cast<E const*>(tile);
            auto const add = [=](std::size_t row, W sum) {
                *reinterpret_cast<W*>(array + static_cast<std::ptrdiff_t>(row) * gap) += sum;
            };
            if (n < 4 * simd::Batch<precision_of<E>>::width)
                return sum_short_rows<W>(t, n, rows, add);
            if constexpr (std::same_as<W, E> && RealScalar<E>) return sum_rows(t, n, rows, add);
            for (std::size_t row = 0; row < rows; ++row) add(row, sum_of<W>(t + row * n, n));
            return;
        }
    transfer_rows_by<&reduce_strided<Sum<E>, W, E>>(tile, tile_gap, array, gap, stride, n, rows);
}

} // namespace xgrad::detail
