// Lines: a copy of a tile of the source of a convolution, in the layout of its AxisPlans. It has
// the zeros of the padding. A stride splits each line into parts, so that neighbouring windows read
// neighbouring elements. Complex numbers are split into a line of real and one of imaginary parts.
#pragma once

#include <xgrad/kernels/gemm_kernel.hpp>
#include <xgrad/nn/convolution_plan.hpp>
#include <xgrad/nn/correlation_kernel.hpp>

namespace xgrad::nn::detail {

namespace kernel = xgrad::detail::kernel;

/// A C-contiguous operand, or its conjugate.
template <class T> struct Factor {
    T const* data;
    bool conj;
};

/// A tile of results: some rows and columns, computed from some channels of a few samples. The
/// samples are interleaved in memory.
struct Tile {
    std::size_t sample, samples, first, channels;
    std::size_t row, rows, column, columns;

    /// The number of rows (columns) of a phase's results in this tile.
    std::size_t rows_of(Phase const& phase) const;
    std::size_t columns_of(Phase const& phase) const;
};

using Offsets = xgrad::detail::CachedVector<std::ptrdiff_t>;

/// Copies the source of a convolution to the layout of its plan, one tile at a time.
template <class T> class Lines {
public:
    using Real = kernel::real_of<T>;
    static constexpr std::size_t parts = kernel::parts<T>;

    /// For tiles of at most `channels` channels, `most` results and `samples` samples.
    Lines(AxisPlan const& rows, AxisPlan const& columns, std::size_t channels,
        std::size_t all_channels, TileSize const& most, std::size_t samples)
        : rows_(rows), columns_(columns), channels_(channels), all_channels_(all_channels),
          samples_(samples), width_(std::min(columns.length, most.columns + columns.furthest)),
          height_(std::min(rows.length, most.rows + rows.furthest)),
          plane_((kernel::divided_up(height_ * pitch(), line) | 1) * line) {}
    std::size_t size() const { return channels_ * parts * planes() * plane_ + max_past_end; }
    std::size_t pitch() const { return width_ * samples_; }
    std::size_t samples() const { return samples_; }

    /// The offsets of a window's elements from its first one: for each channel, real and imaginary
    /// part, and tap along both axes.
    Offsets offsets(Phase const& row, Phase const& column) const {
        Offsets all;
        all.reserve(channels_ * parts * row.taps.size() * column.taps.size());
        for (std::size_t c = 0; c < channels_ * parts; ++c)
            for (auto const& i : row.taps)
                for (auto const& j : column.taps)
                    all.push_back(static_cast<std::ptrdiff_t>(
                        (c * planes() + i.part * columns_.parts.size() + j.part) * plane_ +
                        i.offset * pitch() + j.offset * samples_));
        return all;
    }

    void fill(Tile const& tile, Factor<T> const& source, Real* to) const {
        std::fill_n(to, size(), Real(0));
        Dealing const columns(columns_, tile.column, width_);
        for (std::size_t s = 0; s < tile.samples; ++s)
            for (std::size_t c = 0; c < tile.channels; ++c) {
                T const* const image =
                    source.data + ((tile.sample + s) * all_channels_ + tile.first + c) *
                                      rows_.extent * columns_.extent;
                Real* plane = to + c * parts * planes() * plane_ + s;
                for (std::size_t const remainder : rows_.parts) {
                    auto const [first, at, count] = dealt(rows_, remainder, tile.row, height_);
                    for (std::size_t k = 0; k < count; ++k)
                        fill_line(image + (first + k * rows_.stride) * columns_.extent, source.conj,
                            columns, plane + (at + k) * pitch());
                    plane += columns_.parts.size() * plane_;
                }
            }
    }

private:
    static constexpr std::size_t line =
        64 /
        sizeof(
            Real); // planes have an odd number of cache lines, which avoids conflicts in cache sets
    static constexpr std::size_t max_past_end = kernel::max_vectors_of_row * line;

    /// The elements of an axis that are copied to `length` positions of a part: the first element,
    /// its position in the part, and their number.
    struct Dealt {
        std::size_t first, at, count;
    };
    static Dealt dealt(
        AxisPlan const& axis, std::size_t remainder, std::size_t begin, std::size_t length) {
        std::size_t const zeros = axis.before > remainder
                                      ? kernel::divided_up(axis.before - remainder, axis.stride)
                                      : 0; // of padding before the first element
        std::size_t const at = zeros > begin ? zeros - begin : 0,
                          first = (begin + at) * axis.stride + remainder - axis.before;
        if (at >= length || first >= axis.extent) return {0, 0, 0};
        return {first, at, std::min(length - at, (axis.extent - 1 - first) / axis.stride + 1)};
    }
    struct Dealing {
        xgrad::detail::CachedVector<Dealt> of_part;
        bool plain, in_pairs; // all elements belong to one part; alternate ones to two parts

        Dealing(AxisPlan const& axis, std::size_t begin, std::size_t length)
            : plain(axis.stride == 1), in_pairs(axis.stride == 2 && axis.parts.size() == 2) {
            of_part.reserve(axis.parts.size());
            for (std::size_t const remainder : axis.parts) {
                of_part.push_back(dealt(axis, remainder, begin, length));
                in_pairs &= of_part.back().count > 0;
            }
        }
    };

    std::size_t planes() const { return rows_.parts.size() * columns_.parts.size(); }

    XGRAD_INLINE static void copy(Real const* from, Real* to, std::size_t n) {
        kernel::cover<Real>(n, [=]<class V>(std::size_t k) XGRAD_INLINE_LAMBDA {
            kernel::store(to + k, kernel::load<V>(from + k));
        });
    }
    XGRAD_INLINE void fill_line(T const* from, bool conj, Dealing const& dealing, Real* to) const {
        if constexpr (parts == 1)
            if (samples_ == 1) {
                auto const& part = dealing.of_part;
                if (dealing.plain)
                    return copy(from + part[0].first, to + part[0].at, part[0].count);
                if (dealing.in_pairs) return fill_in_pairs(from, part[0], part[1], to);
            }
        fill_parts(from, conj, dealing, to);
    }
    void fill_in_pairs(T const* from, Dealt const& even, Dealt const& odd, Real* to) const {
        if constexpr (parts == 1) {
            std::size_t const lone = odd.first < even.first,
                              pairs = std::min(even.count, odd.count - lone);
            if (lone) to[plane_ + odd.at] = from[odd.first];
            kernel::deinterleave(
                pairs, from + even.first, to + even.at, to + plane_ + odd.at + lone);
            if (pairs < even.count) to[even.at + pairs] = from[even.first + 2 * pairs];
        }
    }
    void fill_parts(T const* from, bool conj, Dealing const& dealing, Real* to) const {
        for (auto const& [first, at, count] : dealing.of_part) {
            for (std::size_t k = 0; k < count; ++k) {
                T const z = from[first + k * columns_.stride];
                Real* const z_to = to + (at + k) * samples_;
                if constexpr (parts == 1) *z_to = z;
                else {
                    z_to[0] = z.real();
                    z_to[planes() * plane_] = conj ? -z.imag() : z.imag();
                }
            }
            to += plane_;
        }
    }

    AxisPlan const &rows_, &columns_;
    std::size_t channels_, all_channels_, samples_, width_, height_, plane_;
};

} // namespace xgrad::nn::detail
