// The inner loops of convolutions, in real arithmetic.
//
// Neighbouring windows start at neighbouring elements. So one vector load reads the elements of as
// many windows at one tap, and no window is copied (there is no im2col). A table has the offset of
// each tap from the start of a window. As in gemm_kernel.hpp, a tile of sums stays in registers,
// there is one set of loops for each register width, and the processor's features select one at run
// time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <xgrad/core/vector.hpp>

namespace xgrad::detail::kernel {

/// The taps of windows: offsets from the first element of a window.
template <class Real> struct Taps {
    std::ptrdiff_t const* offsets;
    Real const* at; // first element of the first window
};

/// sums[r][w] = sum over `depth` taps p of factors[p][r] * (element of window w at tap p), for as
/// many windows as `vectors` vectors have lanes. Rows of sums are `gap` elements apart.
template <class Real, std::size_t Bytes, std::size_t rows, std::size_t vectors>
[[gnu::always_inline]] inline void correlate_body(
    std::size_t depth, Taps<Real> const& taps, Real const* factors, std::size_t gap, Real* sums) {
    using Vector = SimdVector<Real, Bytes>;
    constexpr std::size_t lanes = width<Vector, Real>;
    Vector sum[rows][vectors] = {}, seen[vectors];
    for (std::size_t p = 0; p < depth; ++p, factors += rows) {
        Real const* const at = taps.at + taps.offsets[p];
#pragma GCC unroll 8
        for (std::size_t w = 0; w < vectors; ++w)
            seen[w] = unaligned<Vector>(at + w * lanes)->vector;
#pragma GCC unroll 8
        for (std::size_t r = 0; r < rows; ++r)
#pragma GCC unroll 8
            for (std::size_t w = 0; w < vectors; ++w) sum[r][w] += factors[r] * seen[w];
    }
#pragma GCC unroll 8
    for (std::size_t r = 0; r < rows; ++r)
#pragma GCC unroll 8
        for (std::size_t w = 0; w < vectors; ++w)
            unaligned<Vector>(sums + r * gap + w * lanes)->vector = sum[r][w];
}

/// A grid of windows: `lines` lines of `length` neighbouring windows, `pitch` elements apart.
struct WindowLines {
    std::size_t lines, length, pitch;
};

/// sums[k][o] += sum over windows of (element at tap k) * output[window][o], for n_taps taps and as
/// many channels o as `vectors` vectors have lanes. Rows of `output` and `sums` are `gap` elements
/// apart.
template <class Real, std::size_t Bytes, std::size_t n_taps, std::size_t vectors>
[[gnu::always_inline]] inline void weigh_body(WindowLines const& windows, Taps<Real> const& taps,
    Real const* output, std::size_t gap, Real* sums) {
    using Vector = SimdVector<Real, Bytes>;
    constexpr std::size_t lanes = width<Vector, Real>;
    Vector sum[n_taps][vectors] = {}, factor[vectors];
    Real const* line[n_taps];
    for (std::size_t k = 0; k < n_taps; ++k) line[k] = taps.at + taps.offsets[k];
    for (std::size_t i = 0; i < windows.lines; ++i) {
        for (std::size_t q = 0; q < windows.length; ++q, output += gap) {
#pragma GCC unroll 8
            for (std::size_t w = 0; w < vectors; ++w)
                factor[w] = unaligned<Vector>(output + w * lanes)->vector;
#pragma GCC unroll 8
            for (std::size_t k = 0; k < n_taps; ++k)
#pragma GCC unroll 8
                for (std::size_t w = 0; w < vectors; ++w) sum[k][w] += line[k][q] * factor[w];
        }
        for (auto& start : line) start += windows.pitch;
    }
#pragma GCC unroll 8
    for (std::size_t k = 0; k < n_taps; ++k)
#pragma GCC unroll 8
        for (std::size_t w = 0; w < vectors; ++w)
            unaligned<Vector>(sums + k * gap + w * lanes)->vector += sum[k][w];
}

/// A mask that sets all but the first `count` lanes of a vector to zero, NaN included.
template <class Real, std::size_t Bytes> class FirstLanes {
    using Vector = SimdVector<Real, Bytes>;
    using Bits =
        SimdVector<std::conditional_t<sizeof(Real) == 4, std::int32_t, std::int64_t>, Bytes>;

public:
    [[gnu::always_inline]] inline explicit FirstLanes(std::size_t count) {
        if constexpr (width<Vector, Real> > 1)
            for (std::size_t l = 0; l < width<Vector, Real>; ++l) mask_[l] = l < count ? -1 : 0;
    }
    [[gnu::always_inline]] inline void keep_in(Vector& vector) const {
        if constexpr (width<Vector, Real> > 1) vector = (Vector)((Bits)vector & mask_);
    }

private:
    Bits mask_{};
};

/// sums[k] += sum over windows of (element at tap k) * output[window], for n_taps taps. Lines of
/// `output` are padded to whole vectors and `gap` elements apart.
template <class Real, std::size_t Bytes, std::size_t n_taps>
[[gnu::always_inline]] inline void dot_body(WindowLines const& windows, Taps<Real> const& taps,
    Real const* output, std::size_t gap, Real* sums) {
    using Vector = SimdVector<Real, Bytes>;
    constexpr std::size_t lanes = width<Vector, Real>;
    Vector sum[n_taps] = {};
    std::size_t const whole = windows.length / lanes * lanes, rest = windows.length - whole;
    FirstLanes<Real, Bytes> const last(rest);
    for (std::size_t i = 0; i < windows.lines; ++i, output += gap) {
        Real const* const at = taps.at + i * windows.pitch;
        for (std::size_t q = 0; q < whole; q += lanes) {
            Vector const factor = unaligned<Vector>(output + q)->vector;
#pragma GCC unroll 16
            for (std::size_t k = 0; k < n_taps; ++k)
                sum[k] += factor * unaligned<Vector>(at + taps.offsets[k] + q)->vector;
        }
        if (rest == 0) continue;
        Vector const factor = unaligned<Vector>(output + whole)->vector;
#pragma GCC unroll 16
        for (std::size_t k = 0; k < n_taps; ++k) {
            Vector seen = unaligned<Vector>(at + taps.offsets[k] + whole)->vector;
            last.keep_in(seen);
            sum[k] += factor * seen;
        }
    }
    for (std::size_t k = 0; k < n_taps; ++k) {
        Real lane[lanes];
        unaligned<Vector>(lane)->vector = sum[k];
        for (Real const each : lane) sums[k] += each;
    }
}

/// The largest register tiles for one register width.
template <std::size_t Bytes> struct CorrelationTile {
    static constexpr std::size_t rows = Bytes == 64 ? 8 : 4,
                                 vectors_of_output = Bytes == 64 ? 4 : 2;
};
inline constexpr std::size_t max_vectors_of_row = 8;

/// The arguments of a call of one of the loops.
template <class Real> struct CorrelationRun {
    enum { correlate, weigh, dot } loop;
    std::size_t rows, vectors; // of the tile, whose rows are those of sums, or taps
    Taps<Real> taps;
    Real const* factors; // or output
    std::size_t gap;
    Real* sums;
    std::size_t depth = 0;
    WindowLines windows = {};
};

template <class Real, std::size_t Bytes, std::size_t n_taps>
[[gnu::always_inline]] inline void weigh_any(CorrelationRun<Real> const& run) {
    if (run.vectors == 1)
        weigh_body<Real, Bytes, n_taps, 1>(run.windows, run.taps, run.factors, run.gap, run.sums);
    else if (run.vectors == 2)
        weigh_body<Real, Bytes, n_taps, 2>(run.windows, run.taps, run.factors, run.gap, run.sums);
    else
        weigh_body<Real, Bytes, n_taps, CorrelationTile<Bytes>::vectors_of_output>(
            run.windows, run.taps, run.factors, run.gap, run.sums);
}
template <class Real, std::size_t Bytes>
[[gnu::always_inline]] inline void correlation_body(CorrelationRun<Real> const& run) {
    constexpr std::size_t max_rows = CorrelationTile<Bytes>::rows;
    auto const& [loop, rows, vectors, taps, factors, gap, sums, depth, windows] = run;
    if (loop == CorrelationRun<Real>::dot)
        rows == 3 ? dot_body<Real, Bytes, 3>(windows, taps, factors, gap, sums)
                  : dot_body<Real, Bytes, 9>(windows, taps, factors, gap, sums);
    else if (loop == CorrelationRun<Real>::weigh)
        rows == 2 ? weigh_any<Real, Bytes, 2>(run) : weigh_any<Real, Bytes, 6>(run);
    else if (rows == 1)
        vectors == 4 ? correlate_body<Real, Bytes, 1, 4>(depth, taps, factors, gap, sums)
                     : correlate_body<Real, Bytes, 1, 8>(depth, taps, factors, gap, sums);
    else if (rows == 4)
        vectors == 1 ? correlate_body<Real, Bytes, 4, 1>(depth, taps, factors, gap, sums)
                     : correlate_body<Real, Bytes, 4, 3>(depth, taps, factors, gap, sums);
    else
        vectors == 1 ? correlate_body<Real, Bytes, max_rows, 1>(depth, taps, factors, gap, sums)
                     : correlate_body<Real, Bytes, max_rows, 3>(depth, taps, factors, gap, sums);
}

/// The loops for one register width, and the sizes of their tiles.
template <class Real> struct CorrelationLoops {
    std::size_t lanes, max_rows, max_vectors_of_output;
    void (*call)(CorrelationRun<Real> const& run);

    /// The rows of the next tile if `left` rows remain.
    std::size_t rows_of(std::size_t left) const { return left == 1 ? 1 : left > 4 ? max_rows : 4; }
    /// The vectors of the next tile of `rows` rows if `left` windows remain.
    std::size_t vectors_of(std::size_t rows, std::size_t left) const {
        return rows == 1 ? (left > 4 * lanes ? 8 : 4) : left > 2 * lanes ? 3 : 1;
    }
    /// The taps of the next tile if `left` taps remain. A tile may exceed the last tap; nobody
    /// reads those sums.
    static std::size_t taps_of_weigh(std::size_t left) { return left > 2 ? 6 : 2; }
    static std::size_t taps_of_dot(std::size_t left) { return left > 6 ? 9 : 3; }
    static constexpr std::size_t max_taps = 9;
    /// The vectors of output channels in the next tile if `left` vectors remain.
    std::size_t vectors_of_output(std::size_t left) const {
        return left >= max_vectors_of_output ? max_vectors_of_output : left >= 2 ? 2 : 1;
    }

    void correlate(std::size_t rows, std::size_t vectors, std::size_t depth, Taps<Real> const& taps,
        Real const* factors, std::size_t gap, Real* sums) const {
        call({CorrelationRun<Real>::correlate, rows, vectors, taps, factors, gap, sums, depth, {}});
    }
    void weigh(std::size_t n_taps, std::size_t vectors, WindowLines const& windows,
        Taps<Real> const& taps, Real const* output, std::size_t gap, Real* sums) const {
        call({CorrelationRun<Real>::weigh, n_taps, vectors, taps, output, gap, sums, 0, windows});
    }
    void dot(std::size_t n_taps, WindowLines const& windows, Taps<Real> const& taps,
        Real const* output, std::size_t gap, Real* sums) const {
        call({CorrelationRun<Real>::dot, n_taps, 0, taps, output, gap, sums, 0, windows});
    }
};

template <class Real, std::size_t Bytes>
constexpr CorrelationLoops<Real> correlation_loops_of(decltype(CorrelationLoops<Real>::call) call) {
    return {width<SimdVector<Real, Bytes>, Real>, CorrelationTile<Bytes>::rows,
        CorrelationTile<Bytes>::vectors_of_output, call};
}

template <class Real> XGRAD_FULL_WIDTH void correlation_plain(CorrelationRun<Real> const& run) {
    correlation_body<Real, register_bytes>(run);
}

#ifdef XGRAD_WIDER_REGISTERS
template <class Real>
[[gnu::target("avx2,fma")]] void correlation_avx2(CorrelationRun<Real> const& run) {
    correlation_body<Real, 32>(run);
}
template <class Real>
[[gnu::target("avx512f")]] void correlation_avx512(CorrelationRun<Real> const& run) {
    correlation_body<Real, 64>(run);
}

template <class Real> std::vector<CorrelationLoops<Real>> correlation_loops() {
    return runnable<std::vector<CorrelationLoops<Real>>>(
        correlation_loops_of<Real, register_bytes>(correlation_plain<Real>),
        correlation_loops_of<Real, 32>(correlation_avx2<Real>),
        correlation_loops_of<Real, 64>(correlation_avx512<Real>));
}
#else
template <class Real> std::vector<CorrelationLoops<Real>> correlation_loops() {
    return {correlation_loops_of<Real, register_bytes>(correlation_plain<Real>)};
}
#endif

template <class Real> CorrelationLoops<Real> const& best_correlation_loops() {
    static CorrelationLoops<Real> const loops = correlation_loops<Real>().back();
    return loops;
}

} // namespace xgrad::detail::kernel
