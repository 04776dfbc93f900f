// AnyTensor: a handle to a tensor of any scalar type, which is what the graph deals in. Tensor<T> (tensor/tensor.hpp) is the
// same handle with its type known. What must differ by scalar type is reached through TypeInfo, so that nothing here
// depends on an operation.
#pragma once

#include <vector>

#include <xgrad/base/array.hpp>
#include <xgrad/graph/node.hpp>

namespace xgrad {

template <Scalar T> class Tensor;

namespace detail {

class AccumulateGrad;

/// What the graph must be able to do with gradients of one scalar type.
struct TypeInfo {
    DType dtype;
    std::size_t size;
    AnyTensor (*add)(AnyTensor const&, AnyTensor const&);            // recorded where grad mode is on
    void (*add_in_place)(AnyTensor const& to, AnyTensor const& more);
    AnyTensor (*copy)(AnyTensor const&);                             // row-major; recorded where grad mode is on
    AnyTensor (*filled)(Shape const&, double value);
    AnyTensor (*scaled)(AnyTensor const&, double factor);            // recorded where grad mode is on
};

struct TensorImpl : Cached {
    RefCount refs;
    bool requires_grad = false;  // of a leaf; a tensor with a grad_fn requires it anyway
    bool retains_grad = false;
    std::uint32_t output_nr = 0;
    TypeInfo const* type;
    AnyArray array;
    Ref<Node> grad_fn;
    Ref<TensorImpl> grad;
    std::atomic<AccumulateGrad*> accumulator{nullptr};

    TensorImpl(TypeInfo const& t, AnyArray&& a) : type(&t), array(std::move(a)) {}
    TensorImpl(TypeInfo const& t, AnyArray const& a) : type(&t), array(a) {}
    /// Fresh memory, not initialised.
    TensorImpl(TypeInfo const& t, Shape const& shape) : type(&t), array(shape, t.size) {}
    TensorImpl(TensorImpl const&) = delete;
    TensorImpl& operator=(TensorImpl const&) = delete;
    ~TensorImpl();
    static void destroy(TensorImpl* p) noexcept { delete p; }
};

}  // namespace detail

class AnyTensor {
public:
    AnyTensor() noexcept = default;
    explicit AnyTensor(detail::Ref<detail::TensorImpl> impl) noexcept : impl_(std::move(impl)) {}

    /// False for a default-constructed handle, which has no value: nothing but this may be asked of it.
    bool defined() const noexcept { return static_cast<bool>(impl_); }
    explicit operator bool() const noexcept { return defined(); }

    Shape const& shape() const { return impl().array.shape; }
    std::size_t shape(std::ptrdiff_t axis) const { return shape()[detail::normalize_axis("shape", axis, dim())]; }
    /// Steps between neighbours along each axis, in elements.
    Strides const& strides() const { return impl().array.strides; }
    std::size_t dim() const { return shape().size(); }
    std::size_t numel() const { return impl().array.numel; }
    DType dtype() const { return impl().type->dtype; }
    bool is_contiguous() const { return impl().array.contiguous; }
    /// How often the memory was changed in place; shared by views and detach().
    std::uint32_t version() const { return impl().array.storage->version(); }

    /// True where a gradient will be computed: for a leaf that asks for it, and for all that is computed from one.
    bool requires_grad() const { return impl().requires_grad || impl().grad_fn; }
    /// True for a tensor that no recorded operation made.
    bool is_leaf() const { return !impl().grad_fn; }
    /// The Node that made this tensor; null for a leaf.
    Node* grad_fn() const { return impl().grad_fn.get(); }
    std::uint32_t output_nr() const { return impl().output_nr; }
    bool retains_grad() const { return impl().retains_grad; }

    /// This tensor as one of type T; throws TypeError where it has another.
    template <Scalar T> Tensor<T> as() const;

    /// True where both are handles to one tensor.
    bool is_same(AnyTensor const& o) const noexcept { return impl_ == o.impl_; }

    detail::TensorImpl& impl() const
    {
        if (!impl_) detail::fail<Error>("a tensor is undefined here: it was default-constructed, or holds no gradient");
        return *impl_;
    }
    detail::Ref<detail::TensorImpl> const& handle() const noexcept { return impl_; }

protected:
    detail::Ref<detail::TensorImpl> impl_;
};

namespace detail {

/// True where nobody else can see this tensor or its memory, so that it may be reused.
inline bool is_exclusive(AnyTensor const& t) { return t.handle()->refs.load() == 1 && t.impl().array.storage->refs.load() == 1; }

/// "[float64 [2, 3]]", for messages.
inline std::string describe(AnyTensor const& t)
{
    return t.defined() ? "[" + std::string(name(t.dtype())) + " " + Piece(t.shape()).text + "]" : "[undefined]";
}

/// A second tensor on the same memory, without history.
inline AnyTensor alias(AnyTensor const& t) { return AnyTensor(Ref<TensorImpl>(new TensorImpl(*t.impl().type, t.impl().array))); }

}  // namespace detail
}  // namespace xgrad
