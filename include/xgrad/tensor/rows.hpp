// Rows of a tensor along its first axes, and a tensor made of rows, for any scalar type. Both are
// recorded where a gradient is required.
#pragma once

#include <xgrad/graph/view.hpp>

namespace xgrad::detail {

/// The view of row i in a contiguous tensor: a row has the last axes, the first ones count the
/// rows.
inline std::shared_ptr<Geometry const> row_geometry(
    TypeInfo const& type, Shape const& all, Shape const& row, std::size_t i) {
    return std::make_shared<Geometry const>(Geometry{&type, all, row_major(all), &type, row,
        row_major(row), static_cast<std::ptrdiff_t>(i * numel(row) * type.size)});
}

/// The tensor itself where it is row-major, or a recorded copy.
inline AnyTensor in_row_major(AnyTensor const& t) {
    return t.strides() == row_major(t.shape()) ? t : t.impl().type->copy(t);
}

/// Row i along the first axis of a row-major tensor. A view.
[[gnu::cold]] inline AnyTensor row_of(AnyTensor const& t, std::size_t i) {
    return apply_view_map(
        row_geometry(*t.impl().type, t.shape(), Shape(t.shape().begin() + 1, t.shape().end()), i),
        ViewMap::gather, t, "Select");
}

/// Backward: the gradient of each row is its slice.
class RowsNode final : public Node {
public:
    RowsNode(TypeInfo const& type, Shape all, Shape row, std::vector<Edge> edges)
        : type_(type), all_(std::move(all)), row_(std::move(row)), edges_(std::move(edges)) {
        set_edges(edges_.data(), edges_.size());
    }
    void apply(std::span<AnyTensor> gradients, std::span<AnyTensor> results) override {
        if (!gradients[0].defined()) return;
        AnyTensor const g = in_row_major(gradients[0]);
        for (std::size_t i = 0; i < edges_.size(); ++i)
            if (edges_[i])
                results[i] = apply_view_map(
                    row_geometry(type_, all_, row_, i), ViewMap::gather, g, "Select");
    }
    void pushforward(std::span<AnyTensor const> tangents, std::span<AnyTensor> results) override {
        for (std::size_t i = 0; i < edges_.size(); ++i)
            if (tangents[i].defined())
                add_to(results[0], apply_view_map(row_geometry(type_, all_, row_, i),
                                       ViewMap::scatter, tangents[i], "Stack"));
    }
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
    RowStack(TypeInfo const& type, Shape const& lead, Shape const& row)
        : row_(row), count_(numel(lead)) {
        Shape all = lead;
        for (auto const n : row) all.push_back(n);
        all_ = type.filled(all, 0);
    }
    void put(std::size_t i, AnyTensor const& row) {
        AnyArray to = all_.impl().array;
        auto const bytes = numel(row_) * all_.impl().type->size;
        to.set_view(row_, row_major(row_), static_cast<std::ptrdiff_t>(i * bytes));
        all_.impl().type->copy_elements(to, row.impl().array);
        if (!recording() || !row.requires_grad()) return;
        edges_.resize(count_);
        edges_[i] = gradient_edge(row);
    }
    AnyTensor finish() {
        if (!edges_.empty())
            all_.impl().grad_fn =
                Ref<Node>(new RowsNode(*all_.impl().type, all_.shape(), row_, std::move(edges_)));
        return std::move(all_);
    }

private:
    AnyTensor all_;
    Shape row_;
    std::size_t count_;
    std::vector<Edge> edges_;
};

} // namespace xgrad::detail
