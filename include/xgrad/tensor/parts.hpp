// A tensor and its parts along one axis, for any scalar type: what split, unbind, cat, stack and
// the rows of a Jacobian share. Recorded where a gradient is required.
#pragma once

#include <span>
#include <vector>

#include <xgrad/autograd/view.hpp>

namespace xgrad::detail {

/// `count` positions of an axis from `start` on; or one of them, without the axis.
struct AxisSlice {
    std::size_t axis, start, count;
    bool keeps_axis;

    /// The view of an array with elements of `size` bytes.
    XGRAD_LAZY AnyArray view_of(AnyArray const& a, std::size_t size) const;
};

/// The extents of the parts, one after the other along an axis. An axis that is not kept has one
/// position for each part.
struct AxisParts {
    std::size_t axis;
    bool keeps_axis;
    CachedVector<std::size_t> counts;

    /// Calls f(i, slice) for each part.
    template <class F> void for_each(F f) const {
        for (std::size_t i = 0, start = 0; i < counts.size(); start += counts[i++])
            f(i, AxisSlice{axis, start, counts[i], keeps_axis});
    }
};

/// One part of a tensor: record_part().
XGRAD_LAZY AnyTensor slice_of(std::string_view name, AnyTensor const& x, AxisSlice const& slice);
/// The same as a view.
XGRAD_LAZY AnyTensor view_slice(std::string_view name, AnyTensor const& x, AxisSlice const& slice);
/// All parts of a tensor: views that share one Node.
XGRAD_LAZY std::vector<AnyTensor> view_parts(
    std::string_view name, AnyTensor const& x, AxisParts parts);
/// Copies tensors of one scalar type into a new tensor of a shape.
XGRAD_LAZY AnyTensor join_parts(
    std::string_view name, std::span<AnyTensor const* const> x, Shape shape, AxisParts parts);

/// Builds a tensor row by row; rows that are not set are zeros.
class RowStack {
public:
    /// The shape is `lead`, whose elements are counted as rows, followed by `row`; both begin with
    /// `axis` axes that are there once.
    XGRAD_LAZY RowStack(
        TypeInfo const& type, Shape const& lead, Shape const& row, std::size_t axis = 0);
    XGRAD_LAZY void put(std::size_t i, AnyTensor const& row);
    XGRAD_LAZY AnyTensor finish();

private:
    AnyTensor all_; // row, with an axis of rows
    Shape shape_;   // of the result
    std::size_t axis_;
    CachedVector<Edge> edges_;
};

} // namespace xgrad::detail
