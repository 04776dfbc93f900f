// Reductions of contiguous elements. A reduction is a type with accumulator, start() and join();
// ops/reducing.hpp has others than sums.
#pragma once

#include <xgrad/core/array.hpp>
#include <xgrad/simd/batch.hpp>

namespace xgrad::detail {

/// The type in which sums of elements of type T are accumulated.
template <class T>
using wide = std::conditional_t<std::same_as<T, float>, double,
    std::conditional_t<std::same_as<T, std::complex<float>>, std::complex<double>, T>>;

/// The reduction of elements of type T to their sum.
template <class T> struct Sum {
    using accumulator = wide<T>;
    static accumulator start() { return 0; }
    XGRAD_INLINE static auto join(auto a, auto v) { return a + v; }
};

struct Identical { // std::identity, which -ffast-math does not change
    XGRAD_INLINE auto operator()(auto x) const { return x; }
};
/// Reduces f of whole batches, lane by lane, in four independent accumulators that hide the latency
/// of joining. Returns the number of elements that it reduced.
template <class Reduction, class P, class F = Identical>
XGRAD_INLINE std::size_t reduce_batches(P const* p, std::size_t n, simd::Batch<P>& all, F f = {}) {
    using Batch = simd::Batch<P>;
    constexpr std::size_t w = Batch::width;
    P const start = static_cast<P>(Reduction::start());
    Batch part[4] = {start, start, start, start};
    std::size_t i = 0;
    for (; i + 4 * w <= n; i += 4 * w)
        kernel::unroll<4>([&](auto j) XGRAD_LAMBDA_INLINE {
            part[j] = Reduction::join(part[j], f(Batch::load(p + i + j * w)));
        });
    for (; i + w <= n; i += w) part[0] = Reduction::join(part[0], f(Batch::load(p + i)));
    all = Reduction::join(Reduction::join(part[0], part[1]), Reduction::join(part[2], part[3]));
    return i;
}
template <class Reduction, class P> XGRAD_INLINE P reduce_lanes(simd::Batch<P> batch) {
    P lanes[simd::Batch<P>::width];
    batch.across([](auto a, auto b) XGRAD_LAMBDA_INLINE { return Reduction::join(a, b); })
        .store(lanes);
    return lanes[0];
}
/// Reduces f of n elements into a. No result is returned: with -ffast-math clang takes what a call
/// returns for finite.
template <class Reduction, class A, class E, class F = Identical>
void reduce_elements(A& a, E const* t, std::size_t n, F f = {}) {
    std::size_t i = 0;
    if constexpr (std::same_as<A, E> && RealScalar<E>) {
        simd::Batch<E> all;
        i = reduce_batches<Reduction>(t, n, all, f);
        a = Reduction::join(a, reduce_lanes<Reduction>(all));
    } else {
        A const start = static_cast<A>(Reduction::start());
        A part[4] = {start, start, start, start};
        for (; i + 4 <= n; i += 4)
            for (std::size_t j = 0; j < 4; ++j)
                part[j] = Reduction::join(part[j], f(converted<A>(t[i + j])));
        for (auto const p : part) a = Reduction::join(a, p);
    }
    for (; i < n; ++i) a = Reduction::join(a, f(converted<A>(t[i])));
}

/// True if a register holds at least four doubles; sum_widened() is not worth it for fewer.
inline constexpr bool can_widen = kernel::register_bytes >= 32;
/// The sums, in double, of the elements with even and with odd indices: real and imaginary parts if
/// p points to complex numbers.
template <class P> std::complex<double> sum_widened(P const* p, std::size_t n) {
    using Wide = kernel::SimdVector<double>;
    using Narrow = kernel::SimdVector<P, kernel::register_bytes / 2>;
    constexpr std::size_t w = kernel::width<Wide, double>;
    Wide sum[4] = {};
    std::size_t i = 0;
    for (; i + 4 * w <= n; i += 4 * w)
        kernel::unroll<4>([&](auto j) XGRAD_LAMBDA_INLINE {
            sum[j] += __builtin_convertvector(kernel::load<Narrow>(p + i + j * w), Wide);
        });
    for (; i + w <= n; i += w) sum[0] += __builtin_convertvector(kernel::load<Narrow>(p + i), Wide);
    double lanes[w];
    kernel::store(lanes, (sum[0] + sum[1]) + (sum[2] + sum[3]));
    for (; i < n; ++i) lanes[i % w] += static_cast<double>(p[i]);
    std::complex<double> total(0);
    for (std::size_t lane = 0; lane < w; lane += 2)
        total += std::complex<double>(lanes[lane], lanes[lane + 1]);
    return total;
}

/// The sum of n elements, in interleaved partial sums.
template <class W, class E> W sum_of(E const* t, std::size_t n) {
    if constexpr (can_widen && std::same_as<W, double> && std::same_as<E, float>) {
        auto const sum = sum_widened(t, n);
        return sum.real() + sum.imag();
    } else if constexpr (can_widen && std::same_as<W, std::complex<double>> &&
                         std::same_as<E, std::complex<float>>)
        return sum_widened(reinterpret_cast<float const*>(t), 2 * n);
    else if constexpr (std::same_as<W, std::complex<precision_of<E>>> &&
                       simd::Batch<precision_of<E>>::width % 2 == 0) {
        using P = precision_of<E>;
        P part[simd::Batch<P>::width];
        auto const* const p = reinterpret_cast<P const*>(t);
        simd::Batch<P> total;
        std::size_t const done = reduce_batches<Sum<P>>(p, 2 * n, total);
        total.store(part);
        W sum(0);
        for (std::size_t i = 0; i < simd::Batch<P>::width; i += 2) sum += W(part[i], part[i + 1]);
        for (std::size_t i = done; i < 2 * n; i += 2) sum += W(p[i], p[i + 1]);
        return sum;
    } else {
        W sum(0);
        reduce_elements<Sum<E>>(sum, t, n);
        return sum;
    }
}

} // namespace xgrad::detail
