// Bodies of view.hpp.
#pragma once

#include <xgrad/autograd/view.hpp>

namespace xgrad::detail {

XGRAD_LAZY_BODY Geometry Geometry::of(TensorImpl const& base, TensorImpl const& view) {
    return {base.type, base.array.shape, base.array.strides, view.type, view.array.shape,
        view.array.strides, view.array.data - base.array.data};
}

XGRAD_LAZY_BODY AnyArray Geometry::view_of(AnyArray const& a) const {
    AnyArray w = a;
    w.set_view(shape, strides, offset);
    return w;
}

XGRAD_LAZY_BODY AnyArray Geometry::like_base() const {
    AnyArray a;
    a.storage = Storage::make(extent_of(base_shape, base_strides) * base_type->size);
    a.data = a.storage->data();
    a.set_view(base_shape, base_strides);
    return a;
}

XGRAD_LAZY_BODY AnyArray Geometry::copy_like_base(AnyArray const& a) const {
    AnyArray out = like_base();
    base_type->copy_elements(out, a);
    return out;
}

XGRAD_LAZY_BODY Geometry Geometry::of_batch(std::size_t count) const {
    Geometry g = *this;
    // a whole number of elements of both types
    std::size_t const ratio = std::max(type->size / base_type->size, std::size_t{1}),
                      extent = extent_of(base_shape, base_strides),
                      step = (extent + ratio - 1) / ratio * ratio;
    g.base_shape.insert(0, count);
    g.base_strides.insert(0, static_cast<std::ptrdiff_t>(step));
    g.shape.insert(0, count);
    g.strides.insert(0, static_cast<std::ptrdiff_t>(step * base_type->size / type->size));
    return g;
}

XGRAD_LAZY_BODY AnyTensor apply_view_map(std::shared_ptr<Geometry const> const& geometry,
    ViewMap map, AnyTensor const& x, std::string_view name) {
    auto const& g = *geometry;
    AnyArray const& in = x.impl().array;
    if (in.shape.size() > (map == ViewMap::scatter ? g.shape : g.base_shape).size())
        return apply_view_map(
            std::make_shared<Geometry const>(g.of_batch(in.shape[0])), map, x, name);
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
        result.impl().grad_fn = view_node(geometry, map, gradient_edge(x), name);
    return result;
}

template <class = void> class ViewNode final : public Node {
public:
    ViewNode(
        std::shared_ptr<Geometry const> geometry, ViewMap map, Edge edge, std::string_view name)
        : geometry_(std::move(geometry)), map_(map), edge_(std::move(edge)), name_(name) {
        set_edges(&edge_, 1);
        if (map == ViewMap::gather) set_accumulates(0);
    }
    void apply(std::span<AnyTensor> gradients, std::span<AnyTensor> results) override {
        if (!gradients[0].defined()) return;
        auto& sum = results[0]; // it may have a partial sum
        if (sum.defined() && sum.impl().array.strides == geometry_->base_strides)
            return geometry_->scatter_add(sum.impl().array, gradients[0].impl().array);
        auto const adjoint = map_ == ViewMap::gather    ? ViewMap::scatter
                             : map_ == ViewMap::scatter ? ViewMap::gather
                                                        : ViewMap::erase;
        add_to(sum, apply_view_map(geometry_, adjoint, gradients[0], name_));
    }
    void pushforward(std::span<AnyTensor const> tangents, std::span<AnyTensor> results) override {
        results[0] = apply_view_map(geometry_, map_, tangents[0], name_);
    }
    ForwardRule forward_rule() const noexcept override { return ForwardRule::batch; }
    Dependence dependence() const noexcept override {
        bool const joins = geometry_->type->size > geometry_->base_type->size; // real and imaginary
        return map_ == ViewMap::erase || (map_ == ViewMap::gather) != joins
                   ? Dependence::selection
                   : Dependence::transposed;
    }
    std::string name() const override { return backward_name(name_); }

private:
    std::shared_ptr<Geometry const> geometry_;
    ViewMap map_;
    Edge edge_;
    std::string_view name_;
};

XGRAD_LAZY_BODY Ref<Node> view_node(
    std::shared_ptr<Geometry const> geometry, ViewMap map, Edge edge, std::string_view name) {
    return Ref<Node>(new ViewNode<>(std::move(geometry), map, std::move(edge), name));
}

template <class = void> class CopySlices final : public Node {
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
    ForwardRule forward_rule() const noexcept override { return ForwardRule::batch; }
    Dependence dependence() const noexcept override {
        return geometry_->type->size < geometry_->base_type->size ? Dependence::transposed
                                                                  : Dependence::selection;
    }
    std::string name() const override { return "CopySlices"; }

private:
    std::shared_ptr<Geometry const> geometry_;
    Edge edges_[2];
};

XGRAD_LAZY_BODY Ref<Node> copy_slices_node(
    std::shared_ptr<Geometry const> geometry, Edge base, Edge written) {
    return Ref<Node>(new CopySlices<>(std::move(geometry), std::move(base), std::move(written)));
}

XGRAD_LAZY_BODY void move_retain_grad(TensorImpl& t, Node* to, std::uint32_t output_nr) {
    if (!t.retains_grad || !t.grad_fn) return;
    if (auto* const hooks = NodeHooks::of(*t.grad_fn))
        hooks->move_retain_grad(t.output_nr, *to, output_nr);
}

XGRAD_LAZY_BODY Ref<Node> fresh_view_node(TensorImpl const& view, Edge const& base) {
    return view_node(std::make_shared<Geometry const>(Geometry::of(*view.view->base, view)),
        ViewMap::gather, base, "AsStrided");
}

XGRAD_LAZY_BODY void set_grad_fn(TensorImpl& view, Ref<Node> node) {
    move_retain_grad(view, node.get(), 0);
    view.grad_fn = std::move(node);
    view.output_nr = 0;
}

XGRAD_LAZY_BODY void fail_in_custom_function(TensorImpl const& view, std::string_view what) {
    fail<GraphError>("Output ", view.output_nr, " of ",
        view.grad_fn ? view.grad_fn->name() : std::string("a custom Function"), " is a view and ",
        what,
        " modified inplace. This view was created inside a custom Function (or because an input "
        "was returned as-is) and the autograd logic to handle view+inplace would override "
        "the custom backward associated with the custom Function, leading to incorrect gradients. "
        "This behavior is forbidden. You can fix this by cloning the output of the "
        "custom Function.");
}

XGRAD_LAZY_BODY void fail_unrecorded_view(CreationMeta meta, std::string_view what) {
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

XGRAD_LAZY void refresh_from_base(TensorImpl& self) {
    auto& view = *self.view;
    auto const locked = view.lock();
    auto const now = self.array.storage->version();
    if (view.version == now) return;
    static constexpr std::string_view changed = "its base or another view of its base has been";
    if (view.meta == CreationMeta::in_custom_function) fail_in_custom_function(self, changed);
    auto const edge = gradient_edge(AnyTensor(view.base));
    if (!edge && !self.grad_fn) return; // the base may want a gradient later
    if (made_unrecorded(view.meta)) fail_unrecorded_view(view.meta, changed);
    if (!overlaps_itself(view.base->array)) set_grad_fn(self, fresh_view_node(self, edge));
    view.version = now;
}

XGRAD_LAZY_BODY void renew_view(TensorImpl& view, Ref<Node> node) noexcept {
    auto const lock = view.view->lock();
    set_grad_fn(view, std::move(node));
    view.view->version = view.array.storage->version();
}

XGRAD_LAZY_BODY void mark_view(AnyTensor const& t, AnyTensor const& of, bool one_of_several) {
    auto& impl = t.impl();
    auto& source = of.impl();
    impl.inference = source.inference;
    if (source.inference) return;
    auto meta = inference_mode ? CreationMeta::in_inference
                : grad_mode    ? CreationMeta::normal
                               : CreationMeta::in_no_grad;
    if (one_of_several && meta == CreationMeta::normal) meta = CreationMeta::one_of_several;
    if (source.view && meta == CreationMeta::normal) meta = source.view->meta;
    impl.view.reset(new ViewInfo(source.view ? source.view->base : of.handle(), meta,
        impl.array.storage->version(), [](TensorImpl& self) { refresh_from_base(self); }));
}

} // namespace xgrad::detail
