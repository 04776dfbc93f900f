// WeightGradient: computes the weight part of a convolution from input and output. Each element is
// the sum over all windows of (input at its tap) * (output of the window).
#pragma once

#include <xgrad/core/parallel.hpp>
#include <xgrad/core/scratch.hpp>
#include <xgrad/fuse/gather_scatter.hpp>
#include <xgrad/nn/convolution_lines.hpp>

namespace xgrad::nn::detail {

template <class T> class WeightGradient {
    using Real = kernel::real_of<T>;
    static constexpr std::size_t parts = kernel::parts<T>;

public:
    explicit WeightGradient(ConvGeometry const& geometry)
        : g(geometry), rows(output_plan(g.rows)), columns(output_plan(g.columns)) {}

    void run(Factor<T> const& input, Factor<T> const& output, T* out) const {
        constexpr std::size_t max_channels = 32; // of one job, whatever the number of threads
        std::size_t const channels = g.channels_of_group(),
                          blocks = kernel::divided_up(channels, max_channels);
        xgrad::detail::for_each_index(g.groups * blocks, [&](std::size_t job) {
            std::size_t const first = job % blocks * max_channels;
            Block(*this, job / blocks, first, std::min(max_channels, channels - first))
                .run(input, output, out);
        });
    }

private:
    static kernel::CorrelationLoops<Real> const& loops() {
        return kernel::best_correlation_loops<Real>();
    }

    /// The weight gradient for some input channels of a group.
    class Block {
    public:
        Block(WeightGradient const& all, std::size_t group, std::size_t first, std::size_t channels)
            : g(all.g), rows(all.rows), columns(all.columns), group_(group), first_(first),
              channels_(channels), out_channels_(g.out_channels_of_group()),
              tile_(tile_size(rows, columns,
                  std::max(tile_bytes / max_added_up,
                      (channels * rows.parts.size() * columns.parts.size() + out_channels_) *
                          sizeof(T)))),
              lines_(rows, columns, channels, g.channels, tile_, 1),
              taps_(lines_.offsets(rows.phases[0], columns.phases[0])), depth_(taps_.size()),
              gap_(kernel::rounded_up(
                  is_single() ? tile_.columns : out_channels_ * parts, loops().lanes)),
              size_(
                  (depth_ + kernel::CorrelationLoops<Real>::max_taps) * (is_single() ? 1 : gap_)) {
            taps_.resize(depth_ + kernel::CorrelationLoops<Real>::max_taps, taps_.back());
        }
        void run(Factor<T> const& input, Factor<T> const& output, T* out) const {
            std::size_t const of_output =
                (is_single() ? tile_.rows : tile_.rows * tile_.columns) * gap_;
            kernel::Scratch<Real> const scratch(lines_.size() + of_output + size_);
            Real *const source = scratch.data(), *const factors = source + lines_.size(),
                        *const sums = factors + of_output;
            std::fill_n(factors, of_output + size_, Real(0));
            xgrad::detail::CachedVector<xgrad::detail::wide<Real>> totals(size_);
            auto const add_up = [&] {
                xgrad::detail::reduce_strided<xgrad::detail::Sum<Real>, xgrad::detail::wide<Real>,
                    Real>(sums, totals.data(), 1, size_);
                std::fill_n(sums, size_, Real(0));
            };
            std::size_t added = 0;
            for (std::size_t sample = 0; sample < g.batch; ++sample)
                for (std::size_t row = 0; row < g.rows.windows; row += tile_.rows)
                    for (std::size_t column = 0; column < g.columns.windows;
                         column += tile_.columns) {
                        Tile const tile{sample, 1, group_ * g.channels_of_group() + first_,
                            channels_, row, tile_.rows, column, tile_.columns};
                        kernel::WindowLines const windows{tile.rows_of(rows.phases[0]),
                            tile.columns_of(columns.phases[0]), lines_.pitch()};
                        lines_.fill(tile, input, source);
                        T const* const of_group =
                            output.data +
                            ((sample * g.out_channels + group_ * out_channels_) * g.rows.windows +
                                row) *
                                g.columns.windows +
                            column;
                        if (is_single()) {
                            spread(of_group, windows, factors);
                            dot(windows, source, factors, sums);
                        } else {
                            transpose_output(of_group, windows, output.conj, factors);
                            weigh(windows, source, factors, sums);
                        }
                        added += windows.lines * windows.length;
                        if (added >= max_added_up / 2) add_up(), added = 0;
                    }
            add_up();
            std::transform(totals.begin(), totals.end(), sums,
                [](auto total) { return static_cast<Real>(total); });
            write(sums, out);
        }

    private:
        static constexpr std::size_t max_added_up =
            8192; // windows, about, before their sums are added to totals of a wider type

        /// With one output channel the lanes of a vector are windows; else they are output
        /// channels.
        bool is_single() const { return out_channels_ * parts == 1; }

        /// Copies the output of one channel to lines of whole vectors, padded with zeros.
        void spread(T const* output, kernel::WindowLines const& windows, Real* to) const {
            if constexpr (parts == 1)
                for (std::size_t i = 0; i < windows.lines; ++i) {
                    std::copy_n(output + i * g.columns.windows, windows.length, to + i * gap_);
                    std::fill(to + i * gap_ + windows.length, to + (i + 1) * gap_, Real(0));
                }
        }
        void dot(kernel::WindowLines const& windows, Real const* source, Real const* output,
            Real* sums) const {
            for (std::size_t p = 0, n_taps; p < depth_; p += n_taps)
                loops().dot(n_taps = loops().taps_of_dot(depth_ - p), windows,
                    {taps_.data() + p, source}, output, gap_, sums + p);
        }
        /// Transposes the output: all channels of a window become contiguous.
        void transpose_output(
            T const* output, kernel::WindowLines const& windows, bool conj, Real* to) const {
            std::size_t const plane = g.rows.windows * g.columns.windows;
            bool const whole = windows.length == g.columns.windows; // rows are one line
            std::size_t const lines = whole ? 1 : windows.lines,
                              length = whole ? windows.lines * windows.length : windows.length;
            for (std::size_t i = 0; i < lines;
                 ++i, output += g.columns.windows, to += length * gap_) {
                if constexpr (parts == 1)
                    kernel::transpose(out_channels_, length, output, plane, to, gap_);
                else
                    for (std::size_t o = 0; o < out_channels_; ++o)
                        for (std::size_t t = 0; t < length; ++t) {
                            T const z = output[o * plane + t];
                            to[t * gap_ + 2 * o] = z.real();
                            to[t * gap_ + 2 * o + 1] = conj ? -z.imag() : z.imag();
                        }
            }
        }
        void weigh(kernel::WindowLines const& windows, Real const* source, Real const* output,
            Real* sums) const {
            constexpr std::size_t at_once = 128; // windows: their output stays in the L1 cache
            std::size_t const lines = std::max<std::size_t>(1, at_once / windows.length),
                              vectors = gap_ / loops().lanes;
            for (std::size_t i = 0; i < windows.lines; i += lines)
                for (std::size_t q = 0; q < windows.length; q += at_once) {
                    kernel::WindowLines const some{std::min(lines, windows.lines - i),
                        std::min(at_once, windows.length - q), windows.pitch};
                    Real const *const from = source + i * windows.pitch + q,
                                      *const factors = output + (i * windows.length + q) * gap_;
                    for (std::size_t w = 0, n; w < vectors; w += n) {
                        n = loops().vectors_of_output(vectors - w);
                        for (std::size_t p = 0, n_taps; p < depth_; p += n_taps)
                            loops().weigh(n_taps = loops().taps_of_weigh(depth_ - p), n, some,
                                {taps_.data() + p, from}, factors + w * loops().lanes, gap_,
                                sums + p * gap_ + w * loops().lanes);
                    }
                }
        }
        void write(Real const* sums, T* out) const {
            T* const of_group = out + group_ * out_channels_ * g.depth() + first_ * g.taps();
            if constexpr (parts == 1)
                kernel::transpose(
                    depth_, out_channels_, sums, is_single() ? 1 : gap_, of_group, g.depth());
            else
                for (std::size_t o = 0; o < out_channels_; ++o)
                    for (std::size_t c = 0; c < channels_; ++c)
                        for (std::size_t i = 0; i < g.taps(); ++i) {
                            Real const *const real = sums + (2 * c * g.taps() + i) * gap_ + 2 * o,
                                              *const imaginary = real + g.taps() * gap_;
                            of_group[o * g.depth() + c * g.taps() + i] =
                                T(real[0] - imaginary[1], real[1] + imaginary[0]);
                        }
        }

        ConvGeometry const& g;
        AxisPlan const &rows, &columns;
        std::size_t group_, first_, channels_, out_channels_;
        TileSize tile_;
        Lines<T> lines_;
        Offsets taps_;
        std::size_t depth_, gap_, size_; // elements of a window; stride between windows (lines if
                                         // is_single()) in the copied output; number of sums
    };

    ConvGeometry const& g;
    AxisPlan rows, columns;
};

} // namespace xgrad::nn::detail
