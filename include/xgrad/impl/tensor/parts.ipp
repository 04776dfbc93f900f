// Bodies of arraywise_record.hpp, parts.hpp, join.hpp, ordering.hpp and views.hpp.
#pragma once

#include <xgrad/autograd/local_graph.hpp>
#include <xgrad/tensor/arraywise_record.hpp>
#include <xgrad/tensor/join.hpp>
#include <xgrad/tensor/ordering.hpp>
#include <xgrad/tensor/parts.hpp>
#include <xgrad/tensor/views.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION void ArraywiseRecord::apply(
    std::span<AnyTensor> gradients, std::span<AnyTensor> results) {
    if (!gradients[0].defined()) return;
    AnyTensor const y = uses_ & uses_result ? result_.unpack(*this) : AnyTensor();
    LocalArray<AnyTensor, 6> made(table_.count);
    LocalArray<AnyTensor const*, 6> x(table_.count);
    for (std::size_t i = 0; i < table_.count; ++i)
        if (uses_ & uses_argument(i)) x[i] = &operands_[i].saved.unpacked_into(made[i], *this);
        else if (table_.all_uses & uses_argument(i))
            x[i] = &(made[i] = shape_only(*table_.operands[i], operands_[i].shape));
    pull(wanted_, gradients[0], y.defined() ? y : gradients[0], x.data(),
        results.data()); // a gradient has the result's shape
}

XGRAD_FUNCTION void ArraywiseRecord::push_tangents(
    std::span<AnyTensor const> tangents, std::span<AnyTensor> results) {
    if (!table_.is_linear)
        return push_by_transposing(*this, {table_.result.filled(shape_, 0)}, tangents, results);
    for (std::size_t i = 0; i < table_.count; ++i) {
        if (!(wanted_ >> i & 1) || !tangents[operands_[i].edge].defined()) continue;
        std::vector<AnyTensor> x(table_.count);
        for (std::size_t j = 0; j < x.size(); ++j)
            x[j] = j == i ? tangents[operands_[i].edge] : operands_[j].saved.unpack(*this);
        add_to(results[0], value(x.data()));
    }
}

XGRAD_FUNCTION Axes ArraywiseRecord::kept_axes(
    std::size_t edge, std::size_t rank_of_input, std::size_t rank) const {
    std::size_t i = 0;
    while (!(wanted_ >> i & 1) || operands_[i].edge != edge) ++i;
    return table_.kept_axes(*this, i, rank_of_input, rank);
}

XGRAD_FUNCTION std::string ArraywiseRecord::formula() const {
    std::string s(table_.name);
    for (std::size_t i = 0; i < table_.count; ++i) s += (i ? ", " : "(") + tensor_name(i);
    return s + ")";
}

XGRAD_FUNCTION void ArraywiseRecord::release_saved() noexcept {
    for (std::size_t i = 0; i < table_.count; ++i) operands_[i].saved.release();
    result_.release();
}

XGRAD_FUNCTION std::vector<NamedSavedTensor> ArraywiseRecord::saved_tensors() {
    std::vector<NamedSavedTensor> all;
    for (std::size_t i = 0; i < table_.count; ++i)
        if (uses_ & uses_argument(i)) all.push_back({tensor_name(i), &operands_[i].saved});
    if (uses_ & uses_result) all.push_back({"result", &result_});
    return all;
}

XGRAD_FUNCTION void ArraywiseRecord::connect(
    AnyTensor const& result, AnyTensor const* const* x, Operand* operands, Edge* edges) {
    std::size_t used_edges = 0;
    operands_ = operands;
    if (!table_.is_linear) shape_ = result.shape();
    for (std::size_t i = 0; i < table_.count; ++i) {
        if (!is_differentiable(x[i]->dtype()) || !x[i]->requires_grad()) continue;
        operands_[i].edge = static_cast<std::uint8_t>(used_edges);
        edges[used_edges++] = gradient_edge(*x[i]);
        wanted_ |= OperandMask{1} << i;
        uses_ |= table_.uses[i];
    }
    for (std::size_t i = 0; i < table_.count; ++i)
        if (uses_ & uses_argument(i)) operands_[i].saved = SavedTensor::operand(*x[i]);
        else operands_[i].shape = x[i]->shape();
    if (uses_ & uses_result) result_ = SavedTensor::result(result);
    set_edges(edges, used_edges);
}

XGRAD_FUNCTION bool wants_record(std::span<AnyTensor const* const> operands) {
    if (!recording()) return false;
    for (auto const* t : operands)
        if (is_differentiable(t->dtype()) && t->requires_grad()) return true;
    return false;
}

XGRAD_LAZY_BODY AnyArray AxisSlice::view_of(AnyArray const& a, std::size_t size) const {
    Shape shape = a.shape;
    Strides strides = a.strides;
    auto const offset = static_cast<std::ptrdiff_t>(start * size) * strides[axis];
    shape[axis] = count;
    if (!keeps_axis) {
        shape.erase(axis);
        strides.erase(axis);
    }
    AnyArray view = a;
    view.set_view(std::move(shape), std::move(strides), offset);
    return view;
}

/// The Node between a whole tensor and its parts. Gradients of the parts are written into zeros;
/// the gradient of the whole is viewed part by part. Tangents go the other way. It is a template so
/// that only programs that make one instantiate its virtual functions.
template <class = void> class PartsNode final : public Node {
public:
    enum Operation { split, join };

    /// The edges are those of the operands: the whole, or all parts.
    PartsNode(Operation operation, std::string_view name, TypeInfo const& type, Shape whole,
        AxisParts parts, CachedVector<Edge> edges)
        : operation_(operation), name_(name), type_(type), whole_(std::move(whole)),
          parts_(std::move(parts)), edges_(std::move(edges)) {
        set_edges(edges_.data(), edges_.size());
        if (operation == split) set_num_outputs(static_cast<std::uint32_t>(parts_.counts.size()));
    }
    void apply(std::span<AnyTensor> gradients, std::span<AnyTensor> results) override {
        if (operation_ == split) results[0] = collect(gradients);
        else distribute(gradients[0], results);
    }
    void pushforward(std::span<AnyTensor const> tangents, std::span<AnyTensor> results) override {
        if (operation_ == join) results[0] = collect(tangents);
        else distribute(tangents[0], results);
    }
    ForwardRule forward_rule() const noexcept override { return ForwardRule::batch; }
    Dependence dependence() const noexcept override { return Dependence::selection; }
    std::string name() const override { return backward_name(name_); }

private:
    AnyTensor collect(std::span<AnyTensor const> parts) const {
        AnyTensor sum;
        parts_.for_each([&](std::size_t i, AxisSlice const& slice) {
            if (!parts[i].defined()) return;
            auto const geometry = view_geometry(type_, whole_, type_,
                [&](AnyArray const& a) { return slice.view_of(a, type_.size); });
            if (sum.defined() && !recording() && sum.dim() == whole_.size())
                return geometry->scatter_add(sum.impl().array, parts[i].impl().array);
            auto const embedded = apply_view_map(geometry, ViewMap::scatter, parts[i], name_);
            sum = sum.defined() ? type_.add(sum, embedded) : embedded;
        });
        return sum;
    }
    void distribute(AnyTensor const& whole, std::span<AnyTensor> parts) const {
        if (!whole.defined()) return;
        parts_.for_each([&](std::size_t i, AxisSlice slice) {
            slice.axis += whole.dim() - whole_.size(); // of a batch
            if (operation_ == split) parts[i] = slice_of(name_, whole, slice);
            else if (edges_[i]) parts[i] = view_slice(name_, whole, slice);
        });
    }

    Operation operation_;
    std::string_view name_;
    TypeInfo const& type_;
    Shape whole_;
    AxisParts parts_;
    CachedVector<Edge> edges_;
};

XGRAD_LAZY_BODY AnyTensor slice_of(
    std::string_view name, AnyTensor const& x, AxisSlice const& slice) {
    auto const& type = *x.impl().type;
    return record_part(
        name, x, type, [&](AnyArray const& a) { return slice.view_of(a, type.size); });
}

XGRAD_LAZY_BODY AnyTensor view_slice(
    std::string_view name, AnyTensor const& x, AxisSlice const& slice) {
    AnyTensor view = slice_of(name, x, slice);
    mark_view(view, x);
    return view;
}

XGRAD_LAZY_BODY std::vector<AnyTensor> view_parts(
    std::string_view name, AnyTensor const& x, AxisParts parts) {
    auto const& type = *x.impl().type;
    std::vector<AnyTensor> views;
    parts.for_each([&](std::size_t, AxisSlice const& slice) {
        views.push_back(tensor_of(type, slice.view_of(x.impl().array, type.size)));
    });
    Ref<Node> node;
    if (recording() && x.requires_grad())
        node = Ref<Node>(new PartsNode<>(PartsNode<>::split, name, type, x.shape(),
            std::move(parts), CachedVector<Edge>(1, gradient_edge(x))));
    for (std::uint32_t i = 0; i < views.size(); ++i) {
        views[i].impl().grad_fn = node;
        views[i].impl().output_nr = node ? i : 0;
        mark_view(views[i], x, true);
    }
    return views;
}

XGRAD_LAZY_BODY AnyTensor join_parts(
    std::string_view name, std::span<AnyTensor const* const> x, Shape shape, AxisParts parts) {
    auto const& type = *x[0]->impl().type;
    AnyTensor result = tensor_of(type, AnyArray(shape, type.size));
    bool wanted = false;
    parts.for_each([&](std::size_t i, AxisSlice const& slice) {
        type.copy_elements(slice.view_of(result.impl().array, type.size), x[i]->impl().array);
        wanted |= x[i]->requires_grad();
    });
    if (wanted && recording()) {
        CachedVector<Edge> edges;
        edges.reserve(x.size());
        for (auto const* t : x) edges.push_back(gradient_edge(*t));
        result.impl().grad_fn = Ref<Node>(new PartsNode<>(
            PartsNode<>::join, name, type, std::move(shape), std::move(parts), std::move(edges)));
    }
    return result;
}

XGRAD_LAZY_BODY RowStack::RowStack(
    TypeInfo const& type, Shape const& lead, Shape const& row, std::size_t axis)
    : shape_(lead), axis_(axis) {
    Shape all = row;
    all.insert(axis, 1);
    for (std::size_t i = axis; i < lead.size(); ++i) all[axis] *= lead[i];
    for (std::size_t i = axis; i < row.size(); ++i) shape_.push_back(row[i]);
    all_ = type.filled(all, 0);
}

XGRAD_LAZY_BODY void RowStack::put(std::size_t i, AnyTensor const& row) {
    auto const& type = *all_.impl().type;
    auto const& to = all_.impl().array;
    type.copy_elements(AxisSlice{axis_, i, 1, false}.view_of(to, type.size), row.impl().array);
    if (!recording() || !row.requires_grad()) return;
    edges_.resize(to.shape[axis_]);
    edges_[i] = gradient_edge(row);
}

XGRAD_LAZY_BODY AnyTensor RowStack::finish() {
    auto const& type = *all_.impl().type;
    auto const& shape = all_.shape();
    if (!edges_.empty())
        all_.impl().grad_fn = Ref<Node>(new PartsNode<>(PartsNode<>::join, "Stack", type, shape,
            {axis_, false, CachedVector<std::size_t>(shape[axis_], 1)}, std::move(edges_)));
    if (shape == shape_) return std::move(all_);
    auto const reshaped = view_geometry(type, shape, type, [&](AnyArray a) {
        a.set_view(shape_, row_major(shape_));
        return a;
    });
    return apply_view_map(reshaped, ViewMap::gather, all_, "Reshape");
}

inline void check_joined(std::string_view name, std::span<AnyTensor const* const> x) {
    if (x.empty()) fail<ShapeError>(name, ": no tensors to join");
    for (std::size_t i = 0; i < x.size(); ++i)
        if (!x[i]->defined()) fail_undefined(name, "argument", i);
}

XGRAD_LAZY_BODY AnyTensor cat_any(
    std::string_view name, std::span<AnyTensor const* const> x, std::ptrdiff_t axis) {
    check_joined(name, x);
    Shape shape = x[0]->shape();
    auto const at = normalize_axis(name, axis, shape);
    shape[at] = 0;
    CachedVector<std::size_t> counts;
    counts.reserve(x.size());
    for (auto const* t : x) {
        Shape other = t->shape();
        bool fits = other.size() == shape.size();
        if (fits) {
            counts.push_back(other[at]);
            auto const joined = add_extents(name, shape[at], other[at]);
            other[at] = shape[at];
            fits = other == shape;
            shape[at] = joined;
        }
        if (!fits)
            fail<ShapeError>(name, ": shapes ", x[0]->shape(), " and ", t->shape(),
                " do not fit together along axis ", axis);
    }
    return join_parts("Cat", x, std::move(shape), {at, true, std::move(counts)});
}

XGRAD_LAZY_BODY AnyTensor stack_any(
    std::string_view name, std::span<AnyTensor const* const> x, std::ptrdiff_t axis) {
    check_joined(name, x);
    for (auto const* t : x)
        if (t->shape() != x[0]->shape())
            fail<ShapeError>(name, ": shapes ", x[0]->shape(), " and ", t->shape(), " differ");
    auto const at = normalize_axis(name, axis, x[0]->shape(), 1);
    Shape shape = x[0]->shape();
    shape.insert(at, x.size());
    return join_parts(
        "Stack", x, std::move(shape), {at, false, CachedVector<std::size_t>(x.size(), 1)});
}

XGRAD_LAZY_BODY void check_choice(std::string_view name, Shape const& shape, std::size_t axis) {
    if (shape[axis] == 0 &&
        numel(reduced_shape(shape, {static_cast<std::ptrdiff_t>(axis)}, false)) != 0)
        fail<ShapeError>(name, ": nothing to choose from in shape ", shape, " along axis ", axis);
}

XGRAD_LAZY_BODY AnyArray view_on(
    AnyArray a, Shape shape, Strides strides, std::ptrdiff_t offset, std::size_t size) {
    a.set_view(std::move(shape), std::move(strides), offset * static_cast<std::ptrdiff_t>(size));
    return a;
}

} // namespace xgrad::detail
