// The part of a convolution that belongs to its filters: for each of their numbers, the sum over
// windows of what these see there, times their products.
#pragma once

#include <xgrad/base/parallel.hpp>
#include <xgrad/base/scratch.hpp>
#include <xgrad/nn/convolution_lines.hpp>
#include <xgrad/ops/gather_scatter.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::nn::detail {

template <class T> class FilterSums {
    using Real = kernel::real_of<T>;
    static constexpr std::size_t parts = kernel::parts<T>;

public:
    explicit FilterSums(ConvGeometry const& geometry)
        : g(geometry), rows(plan_of_products(g.rows)), columns(plan_of_products(g.columns)) {}

    void run(Factor<T> const& images, Factor<T> const& products, T* out) const {
        constexpr std::size_t most_channels = 32; // of one job, whatever the number of threads
        std::size_t const channels = g.channels_of_group(),
                          blocks = kernel::divided_up(channels, most_channels);
        xgrad::detail::for_each_index(g.groups * blocks, [&](std::size_t job) {
            std::size_t const first = job % blocks * most_channels;
            Block(*this, job / blocks, first, std::min(most_channels, channels - first))
                .run(images, products, out);
        });
    }

private:
    static kernel::CorrelationLoops<Real> const& loops() {
        return kernel::best_correlation_loops<Real>();
    }

    /// Some channels of a group.
    class Block {
    public:
        Block(FilterSums const& all, std::size_t group, std::size_t first, std::size_t channels)
            : g(all.g), rows(all.rows), columns(all.columns), group_(group), first_(first),
              channels_(channels), filters_(g.filters_of_group()),
              most_(band_size(rows, columns,
                  std::max(room_of_band / most_added_up,
                      (channels * rows.parts.size() * columns.parts.size() + filters_) *
                          sizeof(T)))),
              lines_(rows, columns, channels, g.channels, most_, 1),
              places_(lines_.offsets(rows.phases[0], columns.phases[0])), depth_(places_.size()),
              gap_(kernel::rounded_up(
                  is_single() ? most_.columns : filters_ * parts, loops().lanes)),
              size_((depth_ + kernel::CorrelationLoops<Real>::max_places) *
                    (is_single() ? 1 : gap_)) {
            places_.resize(depth_ + kernel::CorrelationLoops<Real>::max_places, places_.back());
        }
        void run(Factor<T> const& images, Factor<T> const& products, T* out) const {
            std::size_t const of_products =
                (is_single() ? most_.rows : most_.rows * most_.columns) * gap_;
            kernel::Scratch<Real> const room(lines_.size() + of_products + size_);
            Real *const source = room.data(), *const factors = source + lines_.size(),
                        *const sums = factors + of_products;
            std::fill_n(factors, of_products + size_, Real(0));
            xgrad::detail::CachedVector<xgrad::detail::wide<Real>> totals(size_);
            auto const add_up = [&] {
                xgrad::detail::accumulate_strided<xgrad::detail::wide<Real>, Real>(
                    sums, totals.data(), 1, size_);
                std::fill_n(sums, size_, Real(0));
            };
            std::size_t added = 0;
            for (std::size_t sample = 0; sample < g.batch; ++sample)
                for (std::size_t row = 0; row < g.rows.windows; row += most_.rows)
                    for (std::size_t column = 0; column < g.columns.windows;
                         column += most_.columns) {
                        Band const band{sample, 1, group_ * g.channels_of_group() + first_,
                            channels_, row, most_.rows, column, most_.columns};
                        kernel::WindowLines const windows{band.rows_of(rows.phases[0]),
                            band.columns_of(columns.phases[0]), lines_.pitch()};
                        lines_.fill(band, images, source);
                        T const* const own =
                            products.data +
                            ((sample * g.filters + group_ * filters_) * g.rows.windows + row) *
                                g.columns.windows +
                            column;
                        if (is_single()) {
                            spread(own, windows, factors);
                            dot(windows, source, factors, sums);
                        } else {
                            transpose_registers(own, windows, products.conj, factors);
                            weigh(windows, source, factors, sums);
                        }
                        added += windows.lines * windows.length;
                        if (added >= most_added_up / 2) add_up(), added = 0;
                    }
            add_up();
            std::transform(totals.begin(), totals.end(), sums,
                [](auto total) { return static_cast<Real>(total); });
            write(sums, out);
        }

    private:
        static constexpr std::size_t most_added_up =
            8192; // windows, more or less, before their sums are kept in a wider type

        /// The products of one filter are summed vector by vector, those of several side by side.
        bool is_single() const { return filters_ * parts == 1; }

        /// The products of one filter, in lines of whole vectors, which end with zeros.
        void spread(T const* products, kernel::WindowLines const& windows, Real* to) const {
            if constexpr (parts == 1)
                for (std::size_t i = 0; i < windows.lines; ++i) {
                    std::copy_n(products + i * g.columns.windows, windows.length, to + i * gap_);
                    std::fill(to + i * gap_ + windows.length, to + (i + 1) * gap_, Real(0));
                }
        }
        void dot(kernel::WindowLines const& windows, Real const* source, Real const* products,
            Real* sums) const {
            for (std::size_t p = 0, places; p < depth_; p += places)
                loops().dot(places = loops().places_of_dot(depth_ - p), windows,
                    {places_.data() + p, source}, products, gap_, sums + p);
        }
        /// Products of all filters for each window.
        void transpose_registers(
            T const* products, kernel::WindowLines const& windows, bool conj, Real* to) const {
            std::size_t const plane = g.rows.windows * g.columns.windows;
            bool const whole = windows.length == g.columns.windows; // rows are one line
            std::size_t const lines = whole ? 1 : windows.lines,
                              length = whole ? windows.lines * windows.length : windows.length;
            for (std::size_t i = 0; i < lines;
                 ++i, products += g.columns.windows, to += length * gap_) {
                if constexpr (parts == 1)
                    kernel::transpose(filters_, length, products, plane, to, gap_);
                else
                    for (std::size_t o = 0; o < filters_; ++o)
                        for (std::size_t t = 0; t < length; ++t) {
                            T const z = products[o * plane + t];
                            to[t * gap_ + 2 * o] = z.real();
                            to[t * gap_ + 2 * o + 1] = conj ? -z.imag() : z.imag();
                        }
            }
        }
        void weigh(kernel::WindowLines const& windows, Real const* source, Real const* products,
            Real* sums) const {
            constexpr std::size_t at_once = 128; // windows, whose products stay in the first cache
            std::size_t const lines = std::max<std::size_t>(1, at_once / windows.length),
                              vectors = gap_ / loops().lanes;
            for (std::size_t i = 0; i < windows.lines; i += lines)
                for (std::size_t q = 0; q < windows.length; q += at_once) {
                    kernel::WindowLines const some{std::min(lines, windows.lines - i),
                        std::min(at_once, windows.length - q), windows.pitch};
                    Real const *const from = source + i * windows.pitch + q,
                                      *const factors = products + (i * windows.length + q) * gap_;
                    for (std::size_t w = 0, n; w < vectors; w += n) {
                        n = loops().vectors_of_products(vectors - w);
                        for (std::size_t p = 0, places; p < depth_; p += places)
                            loops().weigh(places = loops().places_of_weigh(depth_ - p), n, some,
                                {places_.data() + p, from}, factors + w * loops().lanes, gap_,
                                sums + p * gap_ + w * loops().lanes);
                    }
                }
        }
        void write(Real const* sums, T* out) const {
            T* const own = out + group_ * filters_ * g.depth() + first_ * g.places();
            if constexpr (parts == 1)
                kernel::transpose(depth_, filters_, sums, is_single() ? 1 : gap_, own, g.depth());
            else
                for (std::size_t o = 0; o < filters_; ++o)
                    for (std::size_t c = 0; c < channels_; ++c)
                        for (std::size_t i = 0; i < g.places(); ++i) {
                            Real const *const real = sums + (2 * c * g.places() + i) * gap_ + 2 * o,
                                              *const imaginary = real + g.places() * gap_;
                            own[o * g.depth() + c * g.places() + i] =
                                T(real[0] - imaginary[1], real[1] + imaginary[0]);
                        }
        }

        ConvGeometry const& g;
        AxisPlan const &rows, &columns;
        std::size_t group_, first_, channels_, filters_;
        BandSize most_;
        Lines<T> lines_;
        Offsets places_;
        std::size_t depth_, gap_, size_; // numbers of a window; from the products of one window, or
                                         // of a single filter's line, to the next; of sums
    };

    ConvGeometry const& g;
    AxisPlan rows, columns;
};

} // namespace xgrad::nn::detail
