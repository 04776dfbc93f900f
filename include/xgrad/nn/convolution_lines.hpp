// The source of a convolution, laid out so that neighbouring windows see neighbouring numbers: zeros around images, and the
// lines that a stride deals each of their lines out to. Complex numbers are two lines of real ones.
#pragma once

#include <xgrad/nn/correlation_kernel.hpp>
#include <xgrad/base/gemm_kernel.hpp>
#include <xgrad/nn/convolution_plan.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::nn::detail {

namespace kernel = xgrad::detail::kernel;

/// An array in row-major order, conjugated or not.
template <class T> struct Factor {
    T const* data;
    bool conj;
};

inline std::size_t rounded_up(std::size_t n, std::size_t step) { return (n + step - 1) / step * step; }

/// Some rows of windows on some channels of a few samples, which lie side by side.
struct Band {
    std::size_t sample, samples, first, channels, row, rows;
};

using Offsets = xgrad::detail::CachedVector<std::ptrdiff_t>;

/// The source of a convolution, laid out as its plan wants it, one band at a time.
template <class T> class Lines {
public:
    using Real = kernel::real_of<T>;
    static constexpr std::size_t parts = kernel::parts<T>;

    /// For bands of at most these many channels, rows of windows, and samples.
    Lines(AxisPlan const& rows, AxisPlan const& columns, std::size_t channels, std::size_t all_channels, std::size_t most_rows, std::size_t samples)
        : rows_(rows), columns_(columns), channels_(channels), all_channels_(all_channels), samples_(samples), pitch_(columns.length * samples),
          height_(std::min(rows.length, most_rows + rows.furthest)), plane_((rounded_up(height_ * pitch_, line) / line | 1) * line)
    {
        for (std::size_t part = 0; part < columns.parts; ++part) {
            std::size_t const step = columns.parts, first = (part + step - columns.before % step) % step, at = (first + columns.before) / step;
            std::size_t const behind = first < columns.extent ? (columns.extent - 1 - first) / step + 1 : 0;
            dealt_.push_back({first, at, std::min(behind, columns.length > at ? columns.length - at : 0)});
        }
    }
    std::size_t size() const { return channels_ * parts * planes() * plane_ + most_past_end; }
    std::size_t pitch() const { return pitch_; }
    std::size_t samples() const { return samples_; }

    /// Where the numbers of a window lie, from the one it begins at: for channels, real and imaginary parts, places along both axes.
    Offsets offsets(Phase const& row, Phase const& column) const
    {
        Offsets all;
        all.reserve(channels_ * parts * row.places.size() * column.places.size());
        for (std::size_t c = 0; c < channels_ * parts; ++c)
            for (auto const& i : row.places)
                for (auto const& j : column.places)
                    all.push_back(static_cast<std::ptrdiff_t>((c * planes() + i.part * columns_.parts + j.part) * plane_ + i.offset * pitch_ + j.offset * samples_));
        return all;
    }
    /// Windows of a band of a phase, from the first to the last, with the places between rows where none begins.
    std::size_t span(std::size_t rows, Phase const& column) const { return (rows - 1) * pitch_ + column.count * samples_; }

    void fill(Band const& band, Factor<T> const& source, Real* to) const
    {
        std::fill_n(to, size(), Real(0));
        std::size_t const image = rows_.extent * columns_.extent;
        auto const from = [this](std::size_t row) { return row * rows_.parts > rows_.before ? row * rows_.parts - rows_.before : 0; };
        bool const plain = columns_.parts == 1 && samples_ == 1;
        std::size_t const low = from(band.row), high = std::min(rows_.extent, from(band.row + height_));
        for (std::size_t s = 0; s < band.samples; ++s)
            for (std::size_t c = 0; c < band.channels; ++c) {
                T const* line = source.data + ((band.sample + s) * all_channels_ + band.first + c) * image + low * columns_.extent;
                Real* const own = to + c * parts * planes() * plane_ + s;
                std::size_t part = (low + rows_.before) % rows_.parts, row = (low + rows_.before) / rows_.parts - band.row;
                for (std::size_t h = low; h < high; ++h, line += columns_.extent) {
                    Real* const at = own + part * columns_.parts * plane_ + row * pitch_;
                    if constexpr (parts == 1)
                        if (plain) copy(line, at + columns_.before, dealt_[0].count);
                        else fill_line(line, source.conj, at);
                    else fill_line(line, source.conj, at);
                    if (++part == rows_.parts) part = 0, ++row;
                }
            }
    }

private:
    static constexpr std::size_t line = 64 / sizeof(Real);  // an odd number of cache lines for a plane: planes then share no sets of a cache
    static constexpr std::size_t most_past_end = kernel::most_words_of_row * line;

    std::size_t planes() const { return rows_.parts * columns_.parts; }
    /// Which numbers of a line go to one of its parts: the first, its place there, how many.
    struct Dealt {
        std::size_t first, at, count;
    };

    XGRAD_INLINE static void copy(Real const* from, Real* to, std::size_t n)
    {
        kernel::cover<Real>(n, [=]<class V>(std::size_t k) XGRAD_INLINE_LAMBDA { kernel::store(to + k, kernel::load<V>(from + k)); });
    }
    void fill_line(T const* from, bool conj, Real* to) const
    {
        if constexpr (parts == 1)
            if (columns_.parts == 2 && samples_ == 1) {
                auto const& [first, at, count] = dealt_[0];
                auto const& odd = dealt_[1];
                std::size_t const lone = odd.first == 0, pairs = std::min(count, odd.count - std::min(odd.count, lone));
                if (lone && odd.count) to[plane_ + odd.at] = from[0];
                kernel::deinterleave(pairs, from + first, to + at, to + plane_ + odd.at + lone);
                if (pairs < count) to[at + pairs] = from[first + 2 * pairs];
                return;
            }
        for (auto const& [first, at, count] : dealt_) {
            T const* const numbers = from + first;
            Real* const place = to + at * samples_;
            std::size_t const step = columns_.parts, gap = samples_, imaginary = planes() * plane_;
            if constexpr (parts == 2)
                for (std::size_t k = 0; k < count; ++k) {
                    T const z = numbers[k * step];
                    place[k * gap] = z.real();
                    place[k * gap + imaginary] = conj ? -z.imag() : z.imag();
                }
            else
                for (std::size_t k = 0; k < count; ++k) place[k * gap] = numbers[k * step];
            to += plane_;
        }
    }

    AxisPlan const &rows_, &columns_;
    std::size_t channels_, all_channels_, samples_, pitch_, height_, plane_;
    xgrad::detail::CachedVector<Dealt> dealt_;
};

/// Bytes of a band, which should stay in the second cache.
inline constexpr std::size_t room_of_band = std::size_t{1} << 19;

/// How many of all rows of windows a band has: there is room for them where a row takes so many bytes, and the source is not laid out more
/// than about twice.
inline std::size_t rows_of_band(AxisPlan const& rows, std::size_t bytes_of_row, std::size_t all)
{
    std::size_t const fitting = room_of_band / std::max<std::size_t>(1, bytes_of_row), least = std::min(all, rows.furthest + 1);
    std::size_t const most = std::clamp<std::size_t>(fitting > rows.furthest ? fitting - rows.furthest : 0, least, std::max<std::size_t>(1, all));
    std::size_t const bands = (all + most - 1) / most;
    return bands ? (all + bands - 1) / bands : 1;
}

}  // namespace xgrad::nn::detail
