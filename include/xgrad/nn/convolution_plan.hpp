// Plans of convolutions: which elements of the source each window reads.
//
// The kernels read lines in memory on which neighbouring windows read neighbouring elements. A line
// has the zeros of the padding. With a stride s, each line is split into s parts (a polyphase
// decomposition): part r has the elements whose index modulo s is r.
//
// Data structures: an AxisPlan describes one axis; its Phases are results that read the same taps;
// a Tap is one element of the kernel along the axis. Read next: convolution_lines.hpp.
#pragma once

#include <algorithm>

#include <xgrad/core/memory.hpp>
#include <xgrad/core/scratch.hpp>
#include <xgrad/nn/window.hpp>

namespace xgrad::nn::detail {

/// The extents of input [batch, channels, rows, columns], weight [out_channels, channels / groups,
/// rows, columns] and output [batch, out_channels, rows, columns]. With one spatial axis there is
/// one row.
struct ConvGeometry {
    std::size_t axes = 2, batch = 1, channels = 1, out_channels = 1, groups = 1;
    AxisGeometry rows = {}, columns = {};

    std::size_t channels_of_group() const { return channels / groups; }
    std::size_t out_channels_of_group() const { return out_channels / groups; }
    /// The number of elements of the weight for one output channel and one input channel.
    std::size_t taps() const { return rows.kernel * columns.kernel; }
    /// The number of elements of the weight for one output channel: the length of each dot product.
    std::size_t depth() const { return channels_of_group() * taps(); }
    /// True if the only window covers the whole input: the convolution is a matrix product.
    bool is_matrix_product() const { return rows.is_whole() && columns.is_whole(); }

    Shape input_shape() const { return shape(batch, channels, rows.extent, columns.extent); }
    Shape output_shape() const { return shape(batch, out_channels, rows.windows, columns.windows); }
    Shape weight_shape() const {
        return shape(out_channels, channels_of_group(), rows.kernel, columns.kernel);
    }

private:
    Shape shape(std::size_t first, std::size_t second, std::size_t height, std::size_t width) const;
};

/// A tap of the kernel along an axis: its index, the part of the line that it reads, and its offset
/// there from the window's position.
struct Tap {
    std::size_t index, part, offset;
};

/// The results `first`, `first + step`, ... along an axis. All of them read the same taps.
struct Phase {
    std::size_t first, step, count;
    xgrad::detail::CachedVector<Tap> taps;
};

/// One axis of the source, the operand that windows read. Element h < extent has index u = h +
/// before after `before` zeros of padding. It is element u / stride of part u % stride.
struct AxisPlan {
    std::size_t extent, before, stride, kernel;
    xgrad::detail::CachedVector<std::size_t> parts = {}; // remainders u % stride that a tap reads
    std::size_t length = 0;   // of a part, up to the last element that a window reads
    std::size_t furthest = 0; // the largest offset of a tap
    xgrad::detail::CachedVector<Phase> phases = {};

    void add(Phase phase);
    std::size_t max_results() const;
};

/// The stride between windows; 1 if there is a single window.
inline std::size_t stride_of(AxisGeometry const& s) { return s.windows > 1 ? s.stride : 1; }

/// The plan of an axis for computing the output: windows read the input.
AxisPlan output_plan(AxisGeometry const& s);

/// The plan of an axis for computing the input: pixel h reads window t of the output for each tap i
/// with h + padding = t stride + i dilation. Pixels that are a stride apart read the same taps.
AxisPlan input_plan(AxisGeometry const& s);

/// The number of rows and columns of results in a tile.
struct TileSize {
    std::size_t rows, columns;
};

/// The size of a tile in bytes: it should fit the L2 cache.
inline constexpr std::size_t tile_bytes = std::size_t{1} << 19;

/// The tile size for positions of `bytes` bytes: as many whole rows as fit tile_bytes. If too few
/// fit, parts of a few rows, so many that the halo of the tiles copies the source at most about
/// twice.
TileSize tile_size(AxisPlan const& rows, AxisPlan const& columns, std::size_t bytes);

} // namespace xgrad::nn::detail
