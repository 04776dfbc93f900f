// Views: tensors that share the memory of a base, and the gradients between the two.
// Invariant: the version in ViewInfo tells for which version of the memory the view's grad_fn
// holds. An in-place change through a view gives the base a CopySlices Node. refresh_view() then
// gives each view of the base a new grad_fn, when it is asked for.
#pragma once

#include <xgrad/graph/accumulate_grad.hpp>

XGRAD_COMPILED_ONCE

namespace xgrad::detail {

/// Shape, strides and offset of a view in its base.
struct Geometry {
    TypeInfo const* base_type;
    Shape base_shape;
    Strides base_strides;
    TypeInfo const* type;
    Shape shape;
    Strides strides;
    std::ptrdiff_t offset; // in bytes, from the base's first element

    static Geometry of(TensorImpl const& base, TensorImpl const& view) {
        return {base.type, base.array.shape, base.array.strides, view.type, view.array.shape,
            view.array.strides, view.array.data - base.array.data};
    }

    /// The view of an array with the strides of the base.
    [[gnu::cold]] AnyArray view_of(AnyArray const& a) const {
        AnyArray w = a;
        w.set_view(shape, strides, offset);
        return w;
    }
    /// Adds the gradient of a view to that of its base, which has the strides of the base.
    void scatter_add(AnyArray const& whole, AnyArray const& part) const {
        type->scatter_add(view_of(whole), part);
    }
    /// Memory with the strides of the base.
    [[gnu::cold]] AnyArray like_base() const {
        AnyArray a;
        a.storage = Storage::make(extent_of(base_shape, base_strides) * base_type->size);
        a.data = a.storage->data();
        a.set_view(base_shape, base_strides);
        return a;
    }
    /// A copy with the strides of the base.
    AnyArray copy_like_base(AnyArray const& a) const {
        AnyArray out = like_base();
        base_type->copy_elements(out, a);
        return out;
    }
};

inline AnyTensor tensor_of(TypeInfo const& type, AnyArray&& a) {
    return AnyTensor(TensorImpl::make(type, std::move(a)));
}

/// The three linear maps between gradients of a view and of its base. Gather reads the view's
/// elements. Scatter, its adjoint, writes them among zeros. Erase, its own adjoint, sets the view's
/// elements to zero.
enum class ViewMap { gather, scatter, erase };

class ViewNode final : public Node {
public:
    /// The Node of the result of `map`, applied to the tensor at `edge`.
    ViewNode(
        std::shared_ptr<Geometry const> geometry, ViewMap map, Edge edge, std::string_view name)
        : geometry_(std::move(geometry)), map_(map), edge_(std::move(edge)), name_(name) {
        set_edges(&edge_, 1);
    }
    inline void apply(std::span<AnyTensor> gradients, std::span<AnyTensor> results) override;
    bool apply_onto(std::span<AnyTensor> gradients, std::span<AnyTensor> results) override {
        auto const& whole = results[0].impl().array;
        if (map_ != ViewMap::gather || whole.strides != geometry_->base_strides) return false;
        if (gradients[0].defined()) geometry_->scatter_add(whole, gradients[0].impl().array);
        return true;
    }
    inline void pushforward(
        std::span<AnyTensor const> tangents, std::span<AnyTensor> results) override;
    std::string name() const override { return backward_name(name_); }

private:
    std::shared_ptr<Geometry const> geometry_;
    ViewMap map_;
    Edge edge_;
    std::string_view name_;
};

/// Applies a map to a gradient; recorded where the gradient requires one.
[[gnu::cold]] inline AnyTensor apply_view_map(std::shared_ptr<Geometry const> const& geometry,
    ViewMap map, AnyTensor const& x, std::string_view name) {
    auto const& g = *geometry;
    AnyArray const& in = x.impl().array;
    AnyTensor result;
    if (map == ViewMap::gather)
        result =
            tensor_of(*g.type, g.view_of(in.strides == g.base_strides ? in : g.copy_like_base(in)));
    else if (map == ViewMap::erase) {
        AnyArray out = is_exclusive(x) && !x.requires_grad() && in.strides == g.base_strides
                           ? in
                           : g.copy_like_base(in);
        g.type->zero_elements(g.view_of(out));
        result = tensor_of(*g.base_type, std::move(out));
    } else {
        AnyArray out = g.like_base();
        std::memset(out.data, 0, out.storage->bytes());
        g.scatter_add(out, in);
        result = tensor_of(*g.base_type, std::move(out));
    }
    if (recording() && x.requires_grad())
        result.impl().grad_fn = Ref<Node>(new ViewNode(geometry, map, gradient_edge(x), name));
    return result;
}

inline void ViewNode::apply(std::span<AnyTensor> gradients, std::span<AnyTensor> results) {
    if (!gradients[0].defined()) return;
    auto const adjoint = map_ == ViewMap::gather    ? ViewMap::scatter
                         : map_ == ViewMap::scatter ? ViewMap::gather
                                                    : ViewMap::erase;
    results[0] = apply_view_map(geometry_, adjoint, gradients[0], name_);
}
inline void ViewNode::pushforward(
    std::span<AnyTensor const> tangents, std::span<AnyTensor> results) {
    results[0] = apply_view_map(geometry_, map_, tangents[0], name_);
}

/// grad_fn of a base that was changed in place through a view. Edge 0 leads to the old grad_fn of
/// the base, for the other elements. Edge 1 leads to the grad_fn of the value that was written, for
/// the view's elements.
class CopySlices final : public Node {
public:
    CopySlices(std::shared_ptr<Geometry const> geometry, Edge base, Edge written)
        : geometry_(std::move(geometry)), edges_{std::move(base), std::move(written)} {
        set_edges(edges_, 2);
    }

    void apply(std::span<AnyTensor> gradients, std::span<AnyTensor> results) override {
        if (!gradients[0].defined()) return;
        if (edges_[1]) {
            AnyTensor const part =
                apply_view_map(geometry_, ViewMap::gather, gradients[0], "Slice");
            results[1] = edges_[0] ? part.impl().type->copy(part) : part;
        }
        if (edges_[0]) {
            AnyTensor const whole = std::move(gradients[0]);
            results[0] = apply_view_map(geometry_, ViewMap::erase, whole, "CopySlices");
        }
    }
    void pushforward(std::span<AnyTensor const> tangents, std::span<AnyTensor> results) override {
        if (tangents[0].defined())
            results[0] = apply_view_map(geometry_, ViewMap::erase, tangents[0], "CopySlices");
        if (!edges_[1] || !tangents[1].defined()) return;
        add_to(results[0], apply_view_map(geometry_, ViewMap::scatter, tangents[1], "CopySlices"));
    }
    std::string name() const override { return "CopySlices"; }

private:
    std::shared_ptr<Geometry const> geometry_;
    Edge edges_[2];
};

/// The Node of an operation that returns several views of one tensor, one for each output.
class MultiViewNode final : public Node {
public:
    MultiViewNode(
        std::vector<std::shared_ptr<Geometry const>> parts, Edge edge, std::string_view name)
        : parts_(std::move(parts)), edge_(std::move(edge)), name_(name) {
        set_edges(&edge_, 1);
        set_num_outputs(static_cast<std::uint32_t>(parts_.size()));
    }
    void apply(std::span<AnyTensor> gradients, std::span<AnyTensor> results) override {
        AnyTensor sum;
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            auto const& g = gradients[i];
            if (!g.defined()) continue;
            if (!sum.defined()) sum = apply_view_map(parts_[i], ViewMap::scatter, g, name_);
            else if (!recording()) parts_[i]->scatter_add(sum.impl().array, g.impl().array);
            else
                sum = sum.impl().type->add(
                    sum, apply_view_map(parts_[i], ViewMap::scatter, g, name_));
        }
        results[0] = sum;
    }
    void pushforward(std::span<AnyTensor const> tangents, std::span<AnyTensor> results) override {
        for (std::size_t i = 0; i < parts_.size(); ++i)
            results[i] = apply_view_map(parts_[i], ViewMap::gather, tangents[0], name_);
    }
    std::string name() const override { return backward_name(name_); }

private:
    std::vector<std::shared_ptr<Geometry const>> parts_;
    Edge edge_;
    std::string_view name_;
};

/// Moves `retain_grad` of a tensor to the Node that becomes its grad_fn.
inline void move_retain_grad(TensorImpl& t, Node* to, std::uint32_t output_nr) {
    if (!t.retains_grad || !t.grad_fn) return;
    auto& from = NodeHooks::at(*t.grad_fn, t.output_nr);
    auto& target = NodeHooks::at(*to, output_nr);
    target.exchange_retain_grad(from.exchange_retain_grad(nullptr));
}

/// The Node of a view, with an edge to the gradient of its base.
inline Ref<Node> fresh_view_node(TensorImpl const& view, Edge const& base) {
    return Ref<Node>(
        new ViewNode(std::make_shared<Geometry const>(Geometry::of(*view.view->base, view)),
            ViewMap::gather, base, "AsStrided"));
}
inline void set_grad_fn(TensorImpl& view, Ref<Node> node) {
    move_retain_grad(view, node.get(), 0);
    view.grad_fn = std::move(node);
    view.output_nr = 0;
}

/// Throws: after an in-place change of this view its gradient would bypass the Function that
/// returned it.
[[noreturn, gnu::cold]] inline void fail_in_custom_function(
    TensorImpl const& view, std::string_view what) {
    fail<GraphError>("Output ", view.output_nr, " of ",
        view.grad_fn ? view.grad_fn->name() : std::string("a custom Function"), " is a view and ",
        what,
        " modified inplace. This view was created inside a custom Function (or because an input "
        "was returned as-is) and the autograd logic to handle view+inplace would override "
        "the custom backward associated with the custom Function, leading to incorrect gradients. "
        "This behavior is forbidden. You can fix this by cloning the output of the "
        "custom Function.");
}

inline bool made_unrecorded(CreationMeta meta) {
    return meta == CreationMeta::in_no_grad || meta == CreationMeta::in_inference;
}
/// Throws for a recorded in-place change of a view that was not recorded.
[[noreturn, gnu::cold]] inline void fail_unrecorded_view(CreationMeta meta, std::string_view what) {
    static constexpr char const* ambiguous =
        " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify "
        "your code by moving both the view and the inplace either both inside ";
    if (meta == CreationMeta::in_no_grad)
        fail<GraphError>("A view was created in no_grad mode and ", what,
            " modified inplace with grad mode enabled.", ambiguous,
            "the NoGradGuard's scope (if you don't want the inplace to be tracked) or both outside "
            "(if you want the inplace to be tracked).");
    fail<GraphError>("A view was created in inference mode and ", what,
        " modified inplace in normal mode.", ambiguous,
        "the InferenceMode's scope (if you don't want the inplace to be tracked) or both outside "
        "(if you want the inplace to be tracked).");
}

[[gnu::cold]] inline void refresh_view(TensorImpl& view) {
    ViewInfo& info = *view.view;
    auto const lock = info.lock();
    auto const now = view.array.storage->version();
    if (info.version == now) return;
    static constexpr std::string_view changed = "its base or another view of its base has been";
    if (info.meta == CreationMeta::in_custom_function) fail_in_custom_function(view, changed);
    auto const edge = gradient_edge(AnyTensor(info.base));
    if (!edge && !view.grad_fn) return; // the base may want a gradient later
    if (made_unrecorded(info.meta)) fail_unrecorded_view(info.meta, changed);
    if (!overlaps_itself(info.base->array)) set_grad_fn(view, fresh_view_node(view, edge));
    info.version = now;
}
/// Sets the grad_fn of a view and marks it as up to date.
inline void renew_view(TensorImpl& view, Ref<Node> node) noexcept {
    auto const lock = view.view->lock();
    set_grad_fn(view, std::move(node));
    view.view->version = view.array.storage->version();
}

/// Makes `t` a view of `of`, or of its base where `of` is a view.
inline void mark_view(AnyTensor const& t, AnyTensor const& of, bool one_of_several = false) {
    auto& impl = t.impl();
    auto& source = of.impl();
    impl.inference = source.inference;
    if (source.inference) return;
    auto meta = inference_mode ? CreationMeta::in_inference
                : grad_mode    ? CreationMeta::normal
                               : CreationMeta::in_no_grad;
    if (one_of_several && meta == CreationMeta::normal) meta = CreationMeta::one_of_several;
    if (source.view && meta == CreationMeta::normal) meta = source.view->meta;
    impl.view.reset(new ViewInfo(
        source.view ? source.view->base : of.handle(), meta, impl.array.storage->version()));
}

} // namespace xgrad::detail
