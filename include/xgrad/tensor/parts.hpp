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
    AnyArray view_of(AnyArray const& a, std::size_t size) const;
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

/// The Node between a whole tensor and its parts. Gradients of the parts are written into zeros;
/// the gradient of the whole is viewed part by part. Tangents go the other way.
class PartsNode final : public Node {
public:
    enum Operation { split, join };

    /// The edges are those of the operands: the whole, or all parts.
    PartsNode(Operation operation, std::string_view name, TypeInfo const& type, Shape whole,
        AxisParts parts, CachedVector<Edge> edges);

    XGRAD_FUNCTION void apply(
        std::span<AnyTensor> gradients, std::span<AnyTensor> results) override;
    XGRAD_FUNCTION void pushforward(
        std::span<AnyTensor const> tangents, std::span<AnyTensor> results) override;
    ForwardRule forward_rule() const noexcept override { return ForwardRule::batch; }
    std::string name() const override { return backward_name(name_); }

private:
    AnyTensor collect(std::span<AnyTensor const> parts) const;
    void distribute(AnyTensor const& whole, std::span<AnyTensor> parts) const;

    Operation operation_;
    std::string_view name_;
    TypeInfo const& type_;
    Shape whole_;
    AxisParts parts_;
    CachedVector<Edge> edges_;
};

/// One part of a tensor: record_part().
AnyTensor slice_of(std::string_view name, AnyTensor const& x, AxisSlice const& slice);
/// The same as a view.
AnyTensor view_slice(std::string_view name, AnyTensor const& x, AxisSlice const& slice);
/// All parts of a tensor: views that share one Node.
std::vector<AnyTensor> view_parts(std::string_view name, AnyTensor const& x, AxisParts parts);
/// Copies tensors of one scalar type into a new tensor of a shape.
AnyTensor join_parts(
    std::string_view name, std::span<AnyTensor const* const> x, Shape shape, AxisParts parts);

/// Builds a tensor row by row; rows that are not set are zeros.
class RowStack {
public:
    /// The shape is `lead`, whose elements are counted as rows, followed by `row`.
    RowStack(TypeInfo const& type, Shape const& lead, Shape const& row);
    void put(std::size_t i, AnyTensor const& row);
    AnyTensor finish();

private:
    AnyTensor all_; // [rows, row...]
    Shape shape_;   // of the result
    CachedVector<Edge> edges_;
};

} // namespace xgrad::detail

#ifdef XGRAD_IMPLEMENTATION
#    include <xgrad/impl/tensor/parts.ipp>
#endif
