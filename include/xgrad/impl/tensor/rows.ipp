// Bodies of rows.hpp.
#pragma once

#include <xgrad/tensor/rows.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION std::shared_ptr<Geometry const> row_geometry(
    TypeInfo const& type, Shape const& all, Shape const& row, std::size_t i) {
    return std::make_shared<Geometry const>(Geometry{&type, all, row_major(all), &type, row,
        row_major(row), static_cast<std::ptrdiff_t>(i * numel(row) * type.size)});
}

XGRAD_FUNCTION AnyTensor in_row_major(AnyTensor const& t) {
    return t.strides() == row_major(t.shape()) ? t : t.impl().type->copy(t);
}

XGRAD_FUNCTION AnyTensor row_of(AnyTensor const& t, std::size_t i) {
    return apply_view_map(
        row_geometry(*t.impl().type, t.shape(), Shape(t.shape().begin() + 1, t.shape().end()), i),
        ViewMap::gather, t, "Select");
}

XGRAD_FUNCTION void RowsNode::apply(std::span<AnyTensor> gradients, std::span<AnyTensor> results) {
    if (!gradients[0].defined()) return;
    AnyTensor const g = in_row_major(gradients[0]);
    for (std::size_t i = 0; i < edges_.size(); ++i)
        if (edges_[i])
            results[i] =
                apply_view_map(row_geometry(type_, all_, row_, i), ViewMap::gather, g, "Select");
}

XGRAD_FUNCTION void RowsNode::pushforward(
    std::span<AnyTensor const> tangents, std::span<AnyTensor> results) {
    for (std::size_t i = 0; i < edges_.size(); ++i)
        if (tangents[i].defined())
            add_to(results[0], apply_view_map(row_geometry(type_, all_, row_, i), ViewMap::scatter,
                                   tangents[i], "Stack"));
}

XGRAD_FUNCTION RowStack::RowStack(TypeInfo const& type, Shape const& lead, Shape const& row)
    : row_(row), count_(numel(lead)) {
    Shape all = lead;
    for (auto const n : row) all.push_back(n);
    all_ = type.filled(all, 0);
}

XGRAD_FUNCTION void RowStack::put(std::size_t i, AnyTensor const& row) {
    AnyArray to = all_.impl().array;
    auto const bytes = numel(row_) * all_.impl().type->size;
    to.set_view(row_, row_major(row_), static_cast<std::ptrdiff_t>(i * bytes));
    all_.impl().type->copy_elements(to, row.impl().array);
    if (!recording() || !row.requires_grad()) return;
    edges_.resize(count_);
    edges_[i] = gradient_edge(row);
}

XGRAD_FUNCTION AnyTensor RowStack::finish() {
    if (!edges_.empty())
        all_.impl().grad_fn =
            Ref<Node>(new RowsNode(*all_.impl().type, all_.shape(), row_, std::move(edges_)));
    return std::move(all_);
}

} // namespace xgrad::detail
