// Bodies of any_tensor.hpp.
#pragma once

#include <xgrad/autograd/any_tensor.hpp>
#include <xgrad/core/warning.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION void check_leaves_graph(AnyTensor const& t) {
    if (t.requires_grad())
        fail<GraphError>(
            "a tensor that requires a gradient becomes an xtensor array, which records "
            "nothing: write x.detach(), or x.array() for a view of its values");
}

XGRAD_NOINLINE XGRAD_FUNCTION void fail_not_contiguous(char const* member, AnyArray const& a) {
    bool const writes = std::string_view(member) == "mutable_data";
    fail<Error>(member, ": this tensor of shape ", a.shape, " has strides ", a.strides,
        " and is not contiguous, so that element i of its memory is another one than element i in "
        "row-major order. ",
        writes ? "mutable_array()" : "contiguous() is a copy with data(); array()",
        " is an xtensor expression of it; ", writes ? "mutable_strided_data()" : "strided_data()",
        " is the address for those who use strides()");
}

XGRAD_FUNCTION std::unique_lock<std::mutex> ViewInfo::lock() {
    return single_threaded() ? std::unique_lock<std::mutex>() : std::unique_lock(mutex);
}

XGRAD_FUNCTION Ref<TensorImpl> TensorImpl::make(TypeInfo const& t, AnyArray&& a) {
    return Ref<TensorImpl>::adopt(new TensorImpl(t, std::move(a)));
}

template <class L>
XGRAD_INLINE Ref<TensorImpl> TensorImpl::make_laid_out(
    TypeInfo const& t, std::size_t numel, L const& layout, bool own_block) {
    bool const is_complex = t.is_complex();
    std::size_t const elements = numel * t.size, bytes = Storage::padded(elements, is_complex);
    if (own_block || bytes > Storage::max_shared_bytes) {
        auto made = Ref<TensorImpl>::adopt(new TensorImpl(t, layout));
        made->array.allocate(elements, is_complex);
        return made;
    }
    std::size_t const size = sizeof(TensorImpl) + Storage::shared_bytes(bytes);
    void* const block = Cached::operator new(size);
    TensorImpl* made;
    try {
        made = ::new (block) TensorImpl(t, layout);
    } catch (...) {
        Cached::operator delete(block, size);
        throw;
    }
    auto* const behind = reinterpret_cast<std::byte*>(Storage::behind(block, sizeof(TensorImpl)));
    made->array.set_storage(Storage::make_behind(block, sizeof(TensorImpl), bytes),
        behind + Storage::header, elements, bytes);
    made->shares_block = true;
    return Ref<TensorImpl>::adopt(made);
}

XGRAD_NOINLINE XGRAD_FUNCTION void TensorImpl::forget() noexcept {
    std::lock_guard const lock(weak->mutex);
    weak->tensor = nullptr;
}

XGRAD_FUNCTION Ref<TensorImpl> TensorImpl::make(
    TypeInfo const& t, Shape const& shape, bool own_block) {
    if (shape.empty()) return make_laid_out(t, 1, AnyArray::Number{}, own_block);
    return make_laid_out(t, xgrad::numel(shape), shape, own_block);
}

XGRAD_FUNCTION Ref<TensorImpl> TensorImpl::make(
    TypeInfo const& t, AnyArray::Layout layout, bool own_block) {
    return make_laid_out(t, layout.of.numel, layout, own_block);
}

XGRAD_FUNCTION void TensorImpl::destroy(TensorImpl* p) noexcept {
    if (p->weak) [[unlikely]]
        p->forget();
    auto* const behind = p->shares_block ? Storage::behind(p, sizeof(TensorImpl)) : nullptr;
    bool const is_last = behind && p->array.storage.get() == behind && behind->refs.load() == 1;
    if (is_last) p->array.storage.release();
    p->~TensorImpl();
    if (!behind) Cached::operator delete(p, sizeof(TensorImpl));
    else if (is_last) behind->free_block();
    else Storage::release_block(behind);
}

XGRAD_FUNCTION void ViewInfo::destroy(ViewInfo* view) noexcept { delete view; }

XGRAD_FUNCTION void refresh_view(TensorImpl& view) { view.view->refresh(view); }

XGRAD_FUNCTION AnyTensor real_scalar(TypeInfo const& type, double value) {
    AnyTensor t(TensorImpl::make(type, Shape()));
    auto* const at = t.handle()->array.data;
    if (type.dtype == DType::float32) ::new (at) float(static_cast<float>(value));
    else ::new (at) double(value);
    return t;
}

XGRAD_FUNCTION double real_scalar(AnyTensor const& t) {
    auto const& a = t.handle()->array;
    return t.handle()->type->dtype == DType::float32 ? static_cast<double>(*as<float>(a).begin())
                                                     : *as<double>(a).begin();
}

XGRAD_FUNCTION std::string describe(AnyTensor const& t) {
    return t.defined() ? message_of({"[", name(t.dtype()), " ", t.shape(), "]"}) : "[undefined]";
}

XGRAD_FUNCTION AnyTensor shape_only(TypeInfo const& type, Shape const& shape) {
    AnyArray a;
    a.shape = shape;
    a.numel = numel(shape);
    return AnyTensor(TensorImpl::make(type, std::move(a)));
}

XGRAD_FUNCTION AnyTensor alias(AnyTensor const& t, Caller in) {
    auto const& of = t.impl(in);
    AnyTensor a(TensorImpl::make(*of.type, of.array));
    a.impl().inference = of.inference;
    return a;
}

XGRAD_LAZY_BODY double* read_reals(AnyTensor const& t, double* to) {
    NoGradGuard const off;
    return with_reals(t.is_contiguous() ? t : t.impl().type->copy(t),
        [&](auto const* from, std::size_t n) { return std::copy_n(from, n, to); });
}

XGRAD_LAZY_BODY std::vector<AnyTensor> written_reals(
    std::span<AnyTensor const> like, double const* from) {
    std::vector<AnyTensor> all;
    for (auto const& t : like) {
        all.push_back(t.impl().type->filled(t.shape(), 0));
        with_reals(all.back(), [&]<class P>(P* to, std::size_t n) {
            for (std::size_t i = 0; i < n; ++i) to[i] = static_cast<P>(*from++);
        });
    }
    return all;
}

} // namespace xgrad::detail

namespace xgrad {

XGRAD_FUNCTION std::uint32_t AnyTensor::version() const {
    if (impl().inference)
        detail::fail<GraphError>("Inference tensors do not track version counter.");
    return impl().array.storage->version();
}

XGRAD_FUNCTION bool AnyTensor::requires_grad(detail::Caller in) const {
    auto const& t = asked("requires_grad", in);
    if (!t.view) [[likely]]
        return t.requires_grad || t.grad_fn;
    auto const lock = t.view->lock(); // another thread may be refreshing the view
    return t.requires_grad || t.grad_fn || t.view->base->requires_grad || t.view->base->grad_fn;
}

XGRAD_FUNCTION AnyTensor& AnyTensor::requires_grad_(bool on) {
    auto& self = impl();
    if (on && !is_differentiable(self.type->dtype))
        detail::fail<TypeError>(
            "only Tensors of floating point and complex dtype can require gradients");
    if (!on && !is_leaf())
        detail::fail<GraphError>("you can only change requires_grad flags of leaf variables. "
                                 "If you want to use a computed variable in a subgraph that "
                                 "doesn't require differentiation use detach()");
    if (on && is_inference() && !is_inference_mode_enabled())
        detail::fail<GraphError>("Setting requires_grad=True on inference tensor outside "
                                 "InferenceMode is not allowed.");
    if (is_leaf()) self.requires_grad = on;
    return *this;
}

XGRAD_FUNCTION void AnyTensor::warn_of_no_grad() const {
    if (!impl().retains_grad && !is_leaf())
        detail::warn(
            "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its "
            ".grad attribute won't be populated during backward(). If you "
            "indeed want the .grad field to be populated for a non-leaf Tensor, use "
            ".retain_grad() on it.");
}

XGRAD_FUNCTION void AnyTensor::set_grad(AnyTensor const& g) const {
    if (g.defined() && g.shape() != shape())
        detail::fail<ShapeError>("attempting to assign a gradient of size '", g.shape(),
            "' to a tensor of size '", shape(),
            "'. Please ensure that the gradient and the tensor are the same size");
    if (g.defined() && g.dtype() != dtype())
        detail::fail<TypeError>("attempting to assign a gradient of type ", name(g.dtype()),
            " to a tensor of type ", name(dtype()));
    if (g.is_same(*this))
        detail::fail<GraphError>("a tensor cannot be its own gradient: pass a clone()");
    impl().grad = g.handle();
}

XGRAD_FUNCTION detail::TensorImpl& AnyTensor::impl(detail::Caller in) const {
    if (!impl_) [[unlikely]]
        detail::fail_undefined(in.name, "a tensor");
    return *impl_;
}

XGRAD_FUNCTION detail::TensorImpl& AnyTensor::asked(char const* member, detail::Caller in) const {
    if (!impl_) [[unlikely]]
        fail_asked(member, in);
    return *impl_;
}

XGRAD_NOINLINE XGRAD_FUNCTION void AnyTensor::fail_asked(char const* member, detail::Caller in) {
    detail::fail_undefined(
        in.name, detail::message_of({"a tensor whose ", member, "() is asked for"}));
}

XGRAD_FUNCTION WeakTensor::WeakTensor(AnyTensor const& t) {
    auto& impl = t.impl();
    static std::mutex cells;
    std::lock_guard const lock(cells);
    if (!impl.weak) {
        impl.weak = detail::Ref<detail::WeakCell>(new detail::WeakCell);
        impl.weak->tensor = &impl;
    }
    cell_ = impl.weak;
}

XGRAD_FUNCTION AnyTensor WeakTensor::lock() const {
    if (!cell_) return {};
    std::lock_guard const lock(cell_->mutex);
    if (!cell_->tensor || !cell_->tensor->refs.increment_if_owned()) return {};
    return AnyTensor(detail::Ref<detail::TensorImpl>::adopt(cell_->tensor));
}

} // namespace xgrad
