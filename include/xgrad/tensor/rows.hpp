// Rows of a tensor along its first axes, and a tensor made of rows, for any scalar type. Both are
// recorded where a gradient is required.
#pragma once

#include <xgrad/autograd/view.hpp>

namespace xgrad::detail {

/// The view of row i in a contiguous tensor: a row has the last axes, the first ones count the
/// rows.
std::shared_ptr<Geometry const> row_geometry(
    TypeInfo const& type, Shape const& all, Shape const& row, std::size_t i);

/// The tensor itself where it is row-major, or a recorded copy.
AnyTensor in_row_major(AnyTensor const& t);

/// Row i along the first axis of a row-major tensor. A view.
[[gnu::cold]] AnyTensor row_of(AnyTensor const& t, std::size_t i);

/// Backward: the gradient of each row is its slice.
class RowsNode final : public Node {
public:
    RowsNode(TypeInfo const& type, Shape all, Shape row, std::vector<Edge> edges)
        : type_(type), all_(std::move(all)), row_(std::move(row)), edges_(std::move(edges)) {
        set_edges(edges_.data(), edges_.size());
    }
    XGRAD_FUNCTION void apply(
        std::span<AnyTensor> gradients, std::span<AnyTensor> results) override;
    XGRAD_FUNCTION void pushforward(
        std::span<AnyTensor const> tangents, std::span<AnyTensor> results) override;
    std::string name() const override { return "StackBackward"; }

private:
    TypeInfo const& type_;
    Shape all_, row_;
    std::vector<Edge> edges_;
};

/// Builds a tensor row by row; rows that are not set are zeros.
class RowStack {
public:
    /// The shape is `lead`, whose elements are counted as rows, followed by `row`.
    RowStack(TypeInfo const& type, Shape const& lead, Shape const& row);
    void put(std::size_t i, AnyTensor const& row);
    AnyTensor finish();

private:
    AnyTensor all_;
    Shape row_;
    std::size_t count_;
    std::vector<Edge> edges_;
};

} // namespace xgrad::detail

#ifdef XGRAD_IMPLEMENTATION
#    include <xgrad/impl/tensor/rows.ipp>
#endif
