// AnyTensor: a reference-counted handle to a TensorImpl of any scalar type. The graph uses only
// this type. Tensor<T> (tensor/tensor.hpp) is the same handle with a static element type.
// TensorImpl has the elements (AnyArray), the autograd state (grad_fn, grad, accumulator) and, for
// a view, ViewInfo. Operations that depend on the element type are called through TypeInfo, so that
// the graph is compiled once and includes no operation.
//
// Shapes: any; set_grad() and copy_() take a tensor of the same shape.
// Gradients: in .grad, with the shape and the scalar type of the tensor; complex ones are dL/dRe +
// i dL/dIm, as in PyTorch. copy_() records none.
// Errors: an undefined tensor is an Error, another shape a ShapeError. TypeError for another scalar
// type in as() and set_grad(), a lossy conversion in copy_(), and integers in requires_grad_() and
// norm(). GraphError for requires_grad_(false) of what is no leaf, a tensor as its own gradient, a
// copy_() that would have to be recorded, and the version of an inference tensor.
//
// Read next: accumulate_grad.hpp.
#pragma once

#include <mutex>
#include <vector>

#include <xgrad/autograd/mode.hpp>
#include <xgrad/autograd/node.hpp>
#include <xgrad/core/array.hpp>

namespace xgrad {

template <Scalar T> class Tensor;

namespace detail {

class AccumulateGrad;

/// Its address stands for the state of xgrad (modes, hooks, passes). A program has it twice where a
/// library that it opens brings headers of its own, of another version or with symbols of its own.
template <int version> inline constinit char library_identity = 0;

/// Table of functions that the graph calls for one element type.
struct TypeInfo {
    DType dtype;
    std::size_t size;
    AnyTensor (*add)(AnyTensor const&, AnyTensor const&); // recorded where grad mode is on
    void (*add_in_place)(AnyTensor const& to, AnyTensor const& more);
    AnyTensor (*copy)(AnyTensor const&); // row-major; recorded where grad mode is on
    AnyTensor (*filled)(Shape const&, double value);
    AnyTensor (*scaled)(AnyTensor const&, double factor);         // recorded where grad mode is on
    void (*multiply_in_place)(AnyTensor const& t, double factor); // unrecorded
    void (*scatter_add)(AnyArray const& to,
        AnyArray const& more); // to += more, also where elements of `to` overlap
    char const* library = &library_identity<XGRAD_VERSION>;
    void copy_elements(AnyArray const& to, AnyArray const& from) const {
        detail::copy_elements(to, from, size);
    }
    void zero_elements(AnyArray const& a) const { set_to_zero(a, size); }
    bool is_complex() const noexcept { return dtype >= DType::complex64; }
};

struct TensorImpl;

/// How a view was created. It decides whether an in-place change through the view is allowed.
enum class CreationMeta : std::uint8_t {
    normal,
    in_no_grad,
    in_inference,
    one_of_several,
    in_custom_function
};

/// State of a view: its base, and the version of the memory for which its grad_fn is valid.
struct ViewInfo : Cached {
    Ref<TensorImpl> base; // never a view itself
    CreationMeta meta;
    std::uint32_t version;
    /// Updates the grad_fn of the view where its base was changed in place: refresh_from_base(), by
    /// a pointer, so that only programs that make views contain it.
    void (*refresh)(TensorImpl& self);
    std::mutex mutex;

    ViewInfo(Ref<TensorImpl> b, CreationMeta m, std::uint32_t v, void (*f)(TensorImpl&))
        : base(std::move(b)), meta(m), version(v), refresh(f) {}
    [[gnu::cold]] static void destroy(ViewInfo* view) noexcept;

    /// Locks the grad_fn of the view while it is read or refreshed; no lock without a second
    /// thread.
    [[nodiscard]] std::unique_lock<std::mutex> lock();
};

/// Shared by the weak handles of a tensor; `tensor` becomes null when the tensor is destroyed.
struct WeakCell {
    RefCount refs;
    std::mutex mutex;
    TensorImpl* tensor;
    static void destroy(WeakCell* cell) noexcept { delete cell; }
};

struct TensorImpl : Cached {
    RefCount refs{1};
    bool requires_grad = false; // of a leaf; a tensor with a grad_fn requires one anyway
    bool retains_grad = false;
    bool inference = inference_mode;
    bool is_constant =
        false; // a scalar constant of a recorded expression; saved tensor hooks skip it
    bool shares_block = false; // object and elements were allocated as one block
    std::uint32_t output_nr = 0;
    TypeInfo const* type;
    AnyArray array;
    Ref<Node> grad_fn;
    Ref<TensorImpl> grad;
    std::atomic<AccumulateGrad*> accumulator{nullptr};
    Owner<ViewInfo> view;
    Ref<WeakCell> weak;

    bool only_owners_share() const noexcept { return !weak; }

    static Ref<TensorImpl> make(TypeInfo const& t, AnyArray const& a) {
        return make(t, AnyArray(a));
    }
    static Ref<TensorImpl> make(TypeInfo const& t, AnyArray&& a);
    /// Allocates memory without initialising it. A small array is allocated in one block with the
    /// TensorImpl. With `own_block` it has a block of its own, so that a Node that saves the array
    /// does not keep the block of the TensorImpl.
    static Ref<TensorImpl> make(TypeInfo const& t, Shape const& shape, bool own_block = false);
    /// Allocates memory, without gaps, for a shape and an order of the axes.
    static Ref<TensorImpl> make(TypeInfo const& t, AnyArray::Layout layout, bool own_block = false);

    TensorImpl(TensorImpl const&) = delete;
    TensorImpl& operator=(TensorImpl const&) = delete;
    static void destroy(TensorImpl* p) noexcept;

private:
    template <class L>
    TensorImpl(TypeInfo const& t, L&& layout) : type(&t), array(std::forward<L>(layout)) {}
    ~TensorImpl();

    template <class L>
    static Ref<TensorImpl> make_laid_out(
        TypeInfo const& t, std::size_t numel, L const& layout, bool own_block);
    [[gnu::cold]] void forget() noexcept;
};

[[gnu::cold]] void refresh_view(TensorImpl& view);
/// Returns t after refreshing its grad_fn where it is a view.
inline TensorImpl& current(TensorImpl& t) {
    if (t.view) [[unlikely]]
        refresh_view(t);
    return t;
}

} // namespace detail

/// A handle to a tensor of any scalar type. Copies refer to the same tensor. A default-constructed
/// one is undefined.
class AnyTensor {
public:
    AnyTensor() noexcept = default;
    [[gnu::always_inline]] explicit AnyTensor(detail::Ref<detail::TensorImpl> impl) noexcept
        : impl_(std::move(impl)) {}
    [[gnu::always_inline]] AnyTensor(AnyTensor const& o) noexcept : impl_(o.impl_) {}
    [[gnu::always_inline]] AnyTensor(AnyTensor&& o) noexcept : impl_(std::move(o.impl_)) {}
    [[gnu::always_inline]] AnyTensor& operator=(AnyTensor const& o) noexcept {
        impl_ = o.impl_;
        return *this;
    }
    [[gnu::always_inline]] AnyTensor& operator=(AnyTensor&& o) noexcept {
        impl_ = std::move(o.impl_);
        return *this;
    }
    [[gnu::always_inline]] ~AnyTensor() {}

    /// False for a default-constructed handle. It has no value: every other function throws.
    bool defined() const noexcept { return static_cast<bool>(impl_); }
    explicit operator bool() const noexcept { return defined(); }

    /// The extents of all axes, or that of one of them; a negative axis counts from the end.
    Shape const& shape(detail::Caller in = {}) const { return asked("shape", in).array.shape; }
    template <class I>
        requires std::is_arithmetic_v<I>
    std::size_t shape(I axis, detail::Caller in = {}) const {
        auto const& extents = shape(in);
        auto const at = detail::dims_element<std::ptrdiff_t>(axis);
        return extents[detail::normalize_axis("shape", at, extents)];
    }
    /// Steps between adjacent elements along each axis, in elements.
    Strides const& strides(detail::Caller in = {}) const {
        return asked("strides", in).array.strides;
    }
    std::size_t dim(detail::Caller in = {}) const { return asked("dim", in).array.shape.size(); }
    std::size_t numel(detail::Caller in = {}) const { return asked("numel", in).array.numel; }
    DType dtype(detail::Caller in = {}) const { return asked("dtype", in).type->dtype; }
    bool is_contiguous(detail::Caller in = {}) const {
        return asked("is_contiguous", in).array.contiguous;
    }
    /// Number of in-place changes of the memory. Views and detach() share the counter.
    std::uint32_t version() const;

    /// True for a leaf that requires a gradient, and for every tensor that is computed from one.
    bool requires_grad(detail::Caller in = {}) const;
    /// True for a tensor that no recorded operation made.
    bool is_leaf() const { return !detail::current(impl()).grad_fn; }
    /// The Node that computed this tensor; null for a leaf.
    Node* grad_fn() const { return detail::current(impl()).grad_fn.get(); }
    std::uint32_t output_nr() const { return detail::current(impl()).output_nr; }
    bool retains_grad() const { return impl().retains_grad; }
    /// True for a tensor that shares the memory of another one: an in-place change of one changes
    /// both.
    bool is_view() const { return static_cast<bool>(impl().view); }
    /// True for a tensor that was created in an InferenceMode.
    bool is_inference() const { return impl().inference; }

    /// Sets requires_grad of a leaf. Returns the tensor itself.
    AnyTensor& requires_grad_(bool on = true);
    /// The accumulated gradient; undefined where there is none.
    AnyTensor grad() const {
        auto const& self = impl();
        if (!self.grad) warn_of_no_grad();
        return AnyTensor(self.grad);
    }
    /// Replaces the accumulated gradient by a tensor of the same shape and type, or an undefined
    /// one.
    void set_grad(AnyTensor const& g) const;
    /// Sets .grad to an undefined tensor.
    void zero_grad() const { impl().grad = nullptr; }
    /// Overwrites the values by those of a tensor of the same shape; precision is converted. It is
    /// not recorded, and throws where it would have to be: as<T>().copy_() records.
    XGRAD_LAZY AnyTensor& copy_(AnyTensor const& from);
    /// The square root of the sum of |x|^2 over all elements.
    XGRAD_LAZY double norm() const;

    /// This tensor as a Tensor<T>; throws TypeError where it has another element type.
    template <Scalar T> Tensor<T> as() const;

    /// True where both are handles to one tensor.
    bool is_same(AnyTensor const& o) const noexcept { return impl_ == o.impl_; }

    /// What the handle refers to; throws where the tensor is undefined.
    detail::TensorImpl& impl(detail::Caller in = {}) const;
    detail::Ref<detail::TensorImpl> const& handle() const& noexcept { return impl_; }
    detail::Ref<detail::TensorImpl> handle() && noexcept { return std::move(impl_); }

protected:
    detail::Ref<detail::TensorImpl> impl_;

private:
    /// Where .grad is undefined: warns if no pass will ever set it.
    void warn_of_no_grad() const;
    /// impl(), with an error that names `member` and the caller `in`.
    detail::TensorImpl& asked(char const* member, detail::Caller in) const;
    [[noreturn, gnu::cold]] static void fail_asked(char const* member, detail::Caller in);
};

namespace detail {

/// True where this handle is the only reference to the tensor and to its memory, and nobody else
/// sees the memory, so that it may be reused. The tensor must be defined.
XGRAD_INLINE bool is_exclusive(AnyTensor const& t) noexcept {
    auto const& storage = *t.handle()->array.storage;
    return t.handle()->refs.load() == 1 && storage.refs.load() == 1 && !storage.is_external();
}

/// Converts between a double and a real tensor without dimensions.
AnyTensor real_scalar(TypeInfo const& type, double value);
double real_scalar(AnyTensor const& t);

/// Text for messages: "[float64 [2, 3]]".
std::string describe(AnyTensor const& t);

/// A tensor with a shape and without memory.
AnyTensor shape_only(TypeInfo const& type, Shape const& shape);

/// Throws for a tensor that requires a gradient: values that leave xgrad take no graph with them.
[[gnu::cold]] void check_leaves_graph(AnyTensor const& t);
/// Throws Error: `member`, say data(), needs a contiguous tensor.
[[noreturn, gnu::cold]] void fail_not_contiguous(char const* member, AnyArray const& a);

/// In a deleted conversion between scalar types: compilers print its name.
struct convert_by_cast_or_real_or_abs2 {};

/// A second tensor of the same memory, without grad_fn.
AnyTensor alias(AnyTensor const& t, Caller in = {});

/// True for a type of single precision.
constexpr bool is_single(DType t) { return t == DType::float32 || t == DType::complex64; }
/// Calls f(P*, count) for the real numbers of a contiguous tensor of floating-point numbers. A
/// complex number is its real and its imaginary part.
template <class F> auto with_reals(AnyTensor const& t, F const& f) {
    auto* const data = t.impl().array.data;
    std::size_t const bytes = t.numel() * t.impl().type->size;
    return is_single(t.dtype()) ? f(reinterpret_cast<float*>(data), bytes / sizeof(float))
                                : f(reinterpret_cast<double*>(data), bytes / sizeof(double));
}
inline std::size_t count_reals(AnyTensor const& t) {
    return t.numel() * (xgrad::is_complex(t.dtype()) ? 2 : 1);
}
/// Copies the real numbers of a tensor in row-major order; returns the end of the copy.
XGRAD_LAZY double* read_reals(AnyTensor const& t, double* to);
/// New tensors with the types and shapes of others, from their real numbers.
XGRAD_LAZY std::vector<AnyTensor> written_reals(
    std::span<AnyTensor const> like, double const* from);

} // namespace detail

/// A weak reference. A hook that refers to its own tensor uses it: a strong reference would be a
/// cycle and never be freed. lock() returns the tensor, or an undefined one after it was destroyed.
class WeakTensor {
public:
    WeakTensor() = default;
    explicit WeakTensor(AnyTensor const& t);
    /// The tensor, or an undefined one after it was destroyed.
    AnyTensor lock() const;

private:
    detail::Ref<detail::WeakCell> cell_;
};

} // namespace xgrad
