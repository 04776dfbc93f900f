// The part of a convolution that belongs to its filters: for each of their numbers, the sum over windows of what these see there, times
// their products.
#pragma once

#include <xgrad/base/parallel.hpp>
#include <xgrad/base/scratch.hpp>
#include <xgrad/nn/convolution_lines.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::nn::detail {

template <class T> class FilterSums {
    using Real = kernel::real_of<T>;
    static constexpr std::size_t parts = kernel::parts<T>;

public:
    explicit FilterSums(ConvGeometry const& geometry) : g(geometry), rows(plan_of_products(g.rows)), columns(plan_of_products(g.columns)) {}

    void run(Factor<T> const& images, Factor<T> const& products, T* out) const
    {
        constexpr std::size_t most_channels = 32;  // of one job, whatever the number of threads
        std::size_t const channels = g.channels_of_group(), blocks = (channels + most_channels - 1) / most_channels;
        xgrad::detail::for_each_index(g.groups * blocks, [&](std::size_t job) {
            std::size_t const first = job % blocks * most_channels;
            Block(*this, job / blocks, first, std::min(most_channels, channels - first)).run(images, products, out);
        });
    }

private:
    static kernel::CorrelationLoops<Real> const& loops() { return kernel::best_correlation_loops<Real>(); }

    /// Some channels of a group.
    class Block {
    public:
        Block(FilterSums const& all, std::size_t group, std::size_t first, std::size_t channels)
            : g(all.g), rows(all.rows), columns(all.columns), group_(group), first_(first), channels_(channels), filters_(g.filters_of_group()),
              band_rows_(rows_of_band(rows, (channels * rows.parts * columns.parts + filters_) * columns.length * sizeof(T), g.rows.windows)), lines_(rows, columns, channels, g.channels, band_rows_, 1),
              places_(lines_.offsets(rows.phases[0], columns.phases[0])), depth_(places_.size()), gap_(rounded_up(is_single() ? g.columns.windows : filters_ * parts, loops().lanes))
        {
            places_.resize(rounded_up(depth_, is_single() ? 9 : kernel::places_at_once), places_.back());
        }
        void run(Factor<T> const& images, Factor<T> const& products, T* out) const
        {
            std::size_t const of_products = (is_single() ? band_rows_ : band_rows_ * g.columns.windows) * gap_, of_sums = places_.size() * (is_single() ? 1 : gap_);
            kernel::Scratch<Real> const room(lines_.size() + of_products + of_sums);
            Real *const source = room.data(), *const factors = source + lines_.size(), *const sums = factors + of_products;
            std::fill_n(factors, of_products + of_sums, Real(0));
            for (std::size_t sample = 0; sample < g.batch; ++sample)
                for (std::size_t row = 0; row < g.rows.windows; row += band_rows_) {
                    std::size_t const n = std::min(band_rows_, g.rows.windows - row);
                    lines_.fill({sample, 1, group_ * g.channels_of_group() + first_, channels_, row, n}, images, source);
                    T const* const own = products.data + ((sample * g.filters + group_ * filters_) * g.rows.windows + row) * g.columns.windows;
                    if (is_single()) {
                        spread(own, n, factors);
                        dot(n, source, factors, sums);
                    } else {
                        turn_over(own, n * g.columns.windows, products.conj, factors);
                        weigh(n, source, factors, sums);
                    }
                }
            write(sums, out);
        }

    private:
        /// The products of one filter are summed word by word, those of several side by side.
        bool is_single() const { return filters_ * parts == 1; }

        /// The products of one filter, in lines of whole words.
        void spread(T const* products, std::size_t n, Real* to) const
        {
            if constexpr (parts == 1)
                for (std::size_t i = 0; i < n; ++i) std::copy_n(products + i * g.columns.windows, g.columns.windows, to + i * gap_);
        }
        void dot(std::size_t n, Real const* source, Real const* products, Real* sums) const
        {
            for (std::size_t p = 0, places; p < depth_; p += places)
                loops().dot(places = loops().places_of_dot(depth_ - p), {n, g.columns.windows, lines_.pitch()}, {0, places_.data() + p, source}, products, gap_, sums + p);
        }
        /// Products of all filters for each window.
        void turn_over(T const* products, std::size_t windows, bool conj, Real* to) const
        {
            std::size_t const plane = g.rows.windows * g.columns.windows;
            if constexpr (parts == 1) kernel::transpose(filters_, windows, products, plane, to, gap_);
            else
                for (std::size_t o = 0; o < filters_; ++o)
                    for (std::size_t t = 0; t < windows; ++t) {
                        T const z = products[o * plane + t];
                        to[t * gap_ + 2 * o] = z.real();
                        to[t * gap_ + 2 * o + 1] = conj ? -z.imag() : z.imag();
                    }
        }
        void weigh(std::size_t n, Real const* source, Real const* products, Real* sums) const
        {
            constexpr std::size_t windows_at_once = 128;  // whose products stay in the first cache
            std::size_t const length = g.columns.windows, lines = std::max<std::size_t>(1, windows_at_once / length), words = gap_ / loops().lanes;
            for (std::size_t i = 0; i < n; i += lines) {
                kernel::WindowLines const windows{std::min(lines, n - i), length, lines_.pitch()};
                for (std::size_t w = 0, some; w < words; w += some) {
                    some = loops().words_of_products(words - w);
                    for (std::size_t p = 0; p < places_.size(); p += kernel::places_at_once)
                        loops().weigh(some, windows, {0, places_.data() + p, source + i * lines_.pitch()}, products + i * length * gap_ + w * loops().lanes, gap_, sums + p * gap_ + w * loops().lanes);
                }
            }
        }
        void write(Real const* sums, T* out) const
        {
            T* const own = out + group_ * filters_ * g.depth() + first_ * g.places();
            if constexpr (parts == 1) kernel::transpose(depth_, filters_, sums, is_single() ? 1 : gap_, own, g.depth());
            else
                for (std::size_t o = 0; o < filters_; ++o)
                    for (std::size_t c = 0; c < channels_; ++c)
                        for (std::size_t i = 0; i < g.places(); ++i) {
                            Real const *const real = sums + (2 * c * g.places() + i) * gap_ + 2 * o, *const imaginary = real + g.places() * gap_;
                            own[o * g.depth() + c * g.places() + i] = T(real[0] - imaginary[1], real[1] + imaginary[0]);
                        }
        }

        ConvGeometry const& g;
        AxisPlan const &rows, &columns;
        std::size_t group_, first_, channels_, filters_, band_rows_;
        Lines<T> lines_;
        Offsets places_;
        std::size_t depth_, gap_;  // numbers of a window; from the products of one window, or of a single filter's line, to the next
    };

    ConvGeometry const& g;
    AxisPlan rows, columns;
};

}  // namespace xgrad::nn::detail
