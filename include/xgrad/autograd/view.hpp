// Views: tensors that share the memory of a base, and the gradients between the two.
// Invariant: the version in ViewInfo tells for which version of the memory the view's grad_fn
// holds. An in-place change through a view gives the base a CopySlices Node. ViewInfo::refresh()
// then gives each view of the base a new grad_fn, when it is asked for.
#pragma once

#include <xgrad/autograd/accumulate_grad.hpp>

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

    XGRAD_LAZY static Geometry of(TensorImpl const& base, TensorImpl const& view);

    /// The view of an array with the strides of the base.
    XGRAD_LAZY [[gnu::cold]] AnyArray view_of(AnyArray const& a) const;
    /// Adds the gradient of a view to that of its base, which has the strides of the base.
    XGRAD_LAZY void scatter_add(AnyArray const& whole, AnyArray const& part) const {
        type->scatter_add(view_of(whole), part);
    }
    /// Memory with the strides of the base.
    XGRAD_LAZY [[gnu::cold]] AnyArray like_base() const;
    /// A copy with the strides of the base.
    XGRAD_LAZY AnyArray copy_like_base(AnyArray const& a) const;
    /// The same geometry in each of `count` bases, which a leading axis counts.
    XGRAD_LAZY [[gnu::cold]] Geometry of_batch(std::size_t count) const;
};

inline AnyTensor tensor_of(TypeInfo const& type, AnyArray&& a) {
    return AnyTensor(TensorImpl::make(type, std::move(a)));
}

/// The three linear maps between gradients of a view and of its base. Gather reads the view's
/// elements. Scatter, its adjoint, writes them among zeros. Erase, its own adjoint, sets the view's
/// elements to zero.
enum class ViewMap { gather, scatter, erase };

/// The Node of the result of `map`, applied to the tensor at `edge`.
XGRAD_LAZY Ref<Node> view_node(
    std::shared_ptr<Geometry const> geometry, ViewMap map, Edge edge, std::string_view name);

/// Applies a map to a gradient; recorded where the gradient requires one. Also to a batch of them,
/// with a leading axis.
XGRAD_LAZY [[gnu::cold]] AnyTensor apply_view_map(std::shared_ptr<Geometry const> const& geometry,
    ViewMap map, AnyTensor const& x, std::string_view name);

/// grad_fn of a base that was changed in place through a view. Edge 0 leads to the old grad_fn of
/// the base, for the other elements. Edge 1 leads to the grad_fn of the value that was written, for
/// the view's elements.
XGRAD_LAZY Ref<Node> copy_slices_node(
    std::shared_ptr<Geometry const> geometry, Edge base, Edge written);

/// Moves `retain_grad` of a tensor to the Node that becomes its grad_fn.
XGRAD_LAZY [[gnu::cold]] void move_retain_grad(TensorImpl& t, Node* to, std::uint32_t output_nr);

/// The Node of a view, with an edge to the gradient of its base.
XGRAD_LAZY Ref<Node> fresh_view_node(TensorImpl const& view, Edge const& base);
XGRAD_LAZY void set_grad_fn(TensorImpl& view, Ref<Node> node);

/// Throws: after an in-place change of this view its gradient would bypass the Function that
/// returned it.
XGRAD_LAZY [[noreturn, gnu::cold]] void fail_in_custom_function(
    TensorImpl const& view, std::string_view what);

inline bool made_unrecorded(CreationMeta meta) {
    return meta == CreationMeta::in_no_grad || meta == CreationMeta::in_inference;
}
/// Throws for a recorded in-place change of a view that was not recorded.
XGRAD_LAZY [[noreturn, gnu::cold]] void fail_unrecorded_view(
    CreationMeta meta, std::string_view what);

/// Sets the grad_fn of a view and marks it as up to date.
XGRAD_LAZY void renew_view(TensorImpl& view, Ref<Node> node) noexcept;

/// Makes `t` a view of `of`, or of its base where `of` is a view.
XGRAD_LAZY void mark_view(AnyTensor const& t, AnyTensor const& of, bool one_of_several = false);

/// The view that `view_of` computes of a row-major array, which is how gradients are stored.
template <class ViewOf>
std::shared_ptr<Geometry const> view_geometry(
    TypeInfo const& base_type, Shape const& base, TypeInfo const& type, ViewOf view_of) {
    AnyArray plain(base);
    std::byte origin{}; // offsets are counted from a pointer that is not null
    plain.data = &origin;
    AnyArray const view = view_of(plain);
    return std::make_shared<Geometry const>(Geometry{&base_type, plain.shape, plain.strides, &type,
        view.shape, view.strides, view.data - plain.data});
}
/// The elements of x that `view_of`, which computes the view of any array of x's shape, shows as
/// elements of another type. Recorded where x requires a gradient. It shares the memory of x, but
/// is no view of it for the user: for tangents and gradients.
template <class ViewOf>
AnyTensor record_part(
    std::string_view name, AnyTensor const& x, TypeInfo const& type, ViewOf view_of) {
    AnyTensor view = tensor_of(type, view_of(x.impl().array));
    if (recording() && x.requires_grad())
        view.impl().grad_fn = view_node(view_geometry(*x.impl().type, x.shape(), type, view_of),
            ViewMap::gather, gradient_edge(x), name);
    return view;
}
/// The same as a view of x.
template <class ViewOf>
AnyTensor record_view(
    std::string_view name, AnyTensor const& x, TypeInfo const& type, ViewOf const& view_of) {
    AnyTensor view = record_part(name, x, type, view_of);
    mark_view(view, x);
    return view;
}

} // namespace xgrad::detail
