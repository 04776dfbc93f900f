// Correlation: computes the output of a convolution, or its input (the transposed convolution).
//
// For each tile of results, `run` copies the source to Lines and calls the inner loop, whose rows
// are result channels and whose vectors are windows. It then writes the sums to the result. The
// weight is packed once for all tiles. Read `run` first, then correlation_kernel.hpp.
#pragma once

#include <xgrad/core/parallel.hpp>
#include <xgrad/core/scratch.hpp>
#include <xgrad/nn/convolution_lines.hpp>

namespace xgrad::nn::detail {

/// Computes result channels from the source channels of their group. The zeros of the padding are
/// multiplied like other elements, so that an infinite element of the weight gives NaN.
template <class T> class Correlation {
    using Real = kernel::real_of<T>;
    static constexpr std::size_t parts = kernel::parts<T>;

public:
    std::size_t batch, groups;
    std::size_t sources, results; // of a group
    std::size_t step_of_source, step_of_result,
        weight_size; // from one to the next among the weight of a group, and their numbers
    std::size_t height, width; // of a result
    AxisPlan rows, columns;

    void run(Factor<T> const& source, Factor<T> const& weight, T const* bias, T* out) const {
        if (batch == 0) return;
        std::size_t const samples = samples_at_once();
        TileSize const most = tile_size(rows, columns, samples * bytes_of_position());
        Lines<T> const lines(rows, columns, sources, sources * groups, most, samples);

        std::size_t const packed_tile_rows = packed_rows(),
                          gap = most.rows * lines.pitch() +
                                kernel::max_vectors_of_row * loops().lanes; // of sums
        xgrad::detail::CachedVector<Pass> passes;
        std::size_t packed = 0;
        for (auto const& row : rows.phases)
            for (auto const& column : columns.phases) {
                passes.push_back({row, column, lines.offsets(row, column), packed});
                packed += groups * packed_tile_rows * passes.back().offsets.size();
            }
        kernel::Scratch<Real> const factors(packed);
        auto const factors_of = [&](Pass const& pass, std::size_t group) {
            return factors.data() + pass.packed + group * packed_tile_rows * pass.offsets.size();
        };
        for (auto const& pass : passes)
            for (std::size_t g = 0; g < groups; ++g) pack(pass, weight, g, factors_of(pass, g));

        std::size_t const across = kernel::divided_up(columns.max_results(), most.columns),
                          tiles = kernel::divided_up(rows.max_results(), most.rows) * across,
                          chunks = kernel::divided_up(batch, samples);
        xgrad::detail::for_each_index(chunks * groups * tiles, [&](std::size_t job) {
            std::size_t const place = job % tiles, group = job / tiles % groups,
                              sample = job / tiles / groups * samples;
            Tile const tile{sample, std::min(samples, batch - sample), group * sources, sources,
                place / across * most.rows, most.rows, place % across * most.columns, most.columns};
            kernel::Scratch<Real> const scratch(lines.size() + packed_tile_rows * gap);
            Real *const own = scratch.data(), *const sums = own + lines.size();
            lines.fill(tile, source, own);
            for (auto const& pass : passes)
                if (auto const n = tile.rows_of(pass.row), count = tile.columns_of(pass.column);
                    n && count) {
                    correlate(pass, (n - 1) * lines.pitch() + count * samples, own,
                        factors_of(pass, group), gap, sums);
                    write_output(pass, lines, tile, group, gap, sums, bias, out);
                }
        });
    }

private:
    /// One phase along each axis.
    struct Pass {
        Phase const &row, &column;
        Offsets offsets;
        std::size_t packed; // offset of its part of the packed weight
    };

    static kernel::CorrelationLoops<Real> const& loops() {
        return kernel::best_correlation_loops<Real>();
    }

    /// Calls f(first row, number of rows) for each register tile of result channels.
    template <class F> void for_each_register_tile(F f) const {
        for (std::size_t r = 0, n; r < results * parts; r += n)
            f(r, n = loops().rows_of(results * parts - r));
    }
    std::size_t packed_rows() const {
        std::size_t all = 0;
        for_each_register_tile([&](std::size_t, std::size_t n) { all += n; });
        return all;
    }
    /// The bytes of source and results at one position of one sample.
    std::size_t bytes_of_position() const {
        return (sources * rows.parts.size() * columns.parts.size() + results) * sizeof(T);
    }
    /// The number of samples in a tile: more than one if the windows of one sample would leave many
    /// SIMD lanes idle, even if the tile then exceeds the L2 cache.
    std::size_t samples_at_once() const {
        std::size_t const most = std::clamp<std::size_t>(
            8 * tile_bytes / (1 + rows.length * columns.length * bytes_of_position()), 1,
            std::min(batch, loops().lanes));
        auto const lanes = [&](std::size_t samples) {
            std::size_t all = 0;
            for (auto const& row : rows.phases)
                for (auto const& column : columns.phases)
                    all += kernel::rounded_up(
                        ((row.count - 1) * columns.length + column.count) * samples, loops().lanes);
            return all;
        };
        return 3 * lanes(1) * most > 4 * lanes(most) ? most : 1;
    }

    void pack(Pass const& pass, Factor<T> const& weight, std::size_t group, Real* to) const {
        T const* const own = weight.data + group * weight_size;
        std::size_t const all = results * parts;
        for_each_register_tile([&](std::size_t first, std::size_t n) {
            for (std::size_t source = 0; source < sources; ++source)
                for (std::size_t part = 0; part < parts; ++part)
                    for (auto const& i : pass.row.taps)
                        for (auto const& j : pass.column.taps) {
                            T const* const at =
                                own + source * step_of_source + i.index * columns.kernel + j.index;
                            for (std::size_t r = first; r < std::min(all, first + n); ++r)
                                to[r - first] = factor(
                                    at[r / parts * step_of_result], part, r % parts, weight.conj);
                            if (first + n > all) std::fill(to + (all - first), to + n, Real(0));
                            to += n;
                        }
        });
    }
    /// The factor of a weight element between a part (real or imaginary) of a source and of a
    /// result.
    static Real factor(T const& z, std::size_t of_source, std::size_t of_result, bool conj) {
        if constexpr (parts == 1) return z;
        else {
            if (of_source == of_result) return z.real();
            return conj == (of_result == 0) ? z.imag() : -z.imag();
        }
    }

    /// Computes the sums for `span` windows that follow each other in memory.
    void correlate(Pass const& pass, std::size_t span, Real const* source, Real const* factors,
        std::size_t gap, Real* sums) const {
        std::size_t const depth = pass.offsets.size(), largest = loops().rows_of(results * parts);
        for (std::size_t at = 0, vectors; at < span; at += vectors * loops().lanes) {
            vectors = loops().vectors_of(largest, span - at);
            Real const* own = factors;
            for_each_register_tile([&](std::size_t first, std::size_t n) {
                loops().correlate(n,
                    n == 1 ? loops().vectors_of(1, vectors * loops().lanes) : vectors, depth,
                    {pass.offsets.data(), source + at}, own, gap, sums + first * gap + at);
                own += n * depth;
            });
        }
    }
    /// Adds the bias to the sums and writes them to the result.
    void write_output(Pass const& pass, Lines<T> const& lines, Tile const& tile, std::size_t group,
        std::size_t gap, Real const* sums, T const* bias, T* out) const {
        std::size_t const n = tile.rows_of(pass.row), count = tile.columns_of(pass.column),
                          step = pass.column.step, samples = lines.samples();
        for (std::size_t result = 0; result < results; ++result, sums += parts * gap) {
            T const add = bias ? bias[group * results + result] : T(0);
            for (std::size_t s = 0; s < tile.samples; ++s) {
                T* to = out +
                        (((tile.sample + s) * groups + group) * results + result) * height * width +
                        (pass.row.first + tile.row * pass.row.step) * width + pass.column.first +
                        tile.column * step;
                Real const* from = sums + s;
                for (std::size_t r = 0; r < n;
                     ++r, to += pass.row.step * width, from += lines.pitch()) {
                    if constexpr (parts == 2)
                        for (std::size_t q = 0; q < count; ++q)
                            to[q * step] = T(from[q * samples], from[gap + q * samples]) + add;
                    else if (step == 1 && samples == 1)
                        kernel::cover<T>(count, [=]<class V>(std::size_t q) XGRAD_INLINE_LAMBDA {
                            kernel::store(to + q, kernel::load<V>(from + q) + add);
                        });
                    else
                        for (std::size_t q = 0; q < count; ++q)
                            to[q * step] = from[q * samples] + add;
                }
            }
        }
    }
};

} // namespace xgrad::nn::detail
