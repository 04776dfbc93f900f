// Tensor<T>: an AnyTensor with element type T; copies refer to the same tensor. Constructed from
// nested lists, from xtensor expressions, or from an xgrad Expression, which is evaluated in one
// pass and recorded as one Node (record.hpp).
// Shapes: any; item() and backward() take one element. More is in shape_forms.hpp and views.hpp.
// Gradients: of real and complex types, of any order; complex ones as PyTorch's, dL/dRe + i dL/dIm.
// Errors: ShapeError for a shape, GraphError for a graph that does not fit, Error if undefined.
// Read next: record.hpp.
#pragma once

#include <xgrad/autograd/view.hpp>
#include <xgrad/core/source_location.hpp>
#include <xgrad/core/warning.hpp>
#include <xgrad/core/xtensor.hpp>
#include <xgrad/expr/expression.hpp>
#include <xgrad/tensor/inplace_forms.hpp>
#include <xgrad/tensor/shape_forms.hpp>
#include <xgrad/tensor/tensor_arguments.hpp>
#include <xgrad/tensor/type_info.hpp>

namespace xgrad {

template <Scalar T> class MaskedTensor;
template <Scalar T> class IndexedTensor;

/// A tensor of scalar type T. Copies refer to the same tensor, as in PyTorch.
template <Scalar T>
class Tensor : public AnyTensor,
               public InplaceForms<Tensor<T>>,
               public ShapeForms<Tensor<T>>,
               public FunctionForms<Tensor<T>> {
public:
    using operand_tag = void;
    using tensor_tag = void;
    using scalar = T;
    using value_type = T;
    using kind = kind_of<T>;
    using precision = precision_of<T>;
    static constexpr std::size_t operand_count = 1;

    /// An undefined tensor: it has no shape, and operations on it throw.
    Tensor() noexcept = default;
    /// A tensor without dimensions: D y = 3.; an int may become a double, a double no int64.
    /// (A template, so that {5.} is a list for every compiler.)
    template <Number N>
        requires std::convertible_to<N, T>
    explicit(!detail::is_kind_within<kind_of<N>, kind_of<T>>) Tensor(N value, GradFlag<T> g = {})
        : Tensor(detail::Array<T>(Shape{}, detail::converted<T>(value)), g) {}
    /// Nested lists, one level for each dimension. Inside of two braces elements may be tensors
    /// without dimensions, which get gradients: Tensor<double> a({{1., t}, {0., 1.}}).
    Tensor(std::initializer_list<detail::NestedList<T>> values, GradFlag<T> g = {})
        : Tensor(detail::ArrayOf<T>::from_list(values), g) {
        if (auto const join = detail::ArrayOf<T>::join_of(values)) join(*this, values);
    }
    /// Copies the values of an xtensor expression (one without memory, such as xt::linspace(), also
    /// by `Tensor<double> x = e`), or the numbers of a std::vector, std::array,
    /// std::span or another range, with one dimension. borrow() and adopt() make tensors of such
    /// memory without a copy.
    template <class V>
        requires(detail::copies_from<V, T>)
    explicit(!detail::evaluates_to<V, T>) Tensor(V const& values)
        : Tensor(detail::ArrayOf<T>::from(values)) {}
    template <class V>
        requires(detail::copies_from<V, T>)
    explicit Tensor(V const& values, GradFlag<T> g) : Tensor(detail::ArrayOf<T>::from(values), g) {}
    /// The same in a shape with as many elements, row-major.
    template <detail::NumberRange V>
        requires detail::ConvertsTo<std::ranges::range_value_t<V>, T>
    Tensor(V const& numbers, Shape const& shape, GradFlag<T> g = {})
        : Tensor(detail::ArrayOf<T>::from_range(numbers, shape), g) {}
    /// Rejects `Tensor<double> x = array` and `= vector`: a copy must be explicit, and the explicit
    /// constructors above do not take part in copy initialisation. And a range of ranges.
    template <class V, class... None>
        requires(detail::copied_explicitly<V, T> && sizeof...(None) == 0)
    Tensor(V const&, None...) {
        static_assert(sizeof...(None) || !detail::XtensorExpression<V>,
            "Tensor: values of an xtensor expression are copied where that is written: "
            "Tensor<double> x(array), not x = array");
        static_assert(sizeof...(None) || !detail::NumberRange<V>,
            "Tensor: the numbers of a range are copied where that is written, Tensor<double> "
            "x(vector), not x = vector; complex numbers to a complex tensor");
        static_assert(sizeof...(None) || !detail::RangeOfRanges<V>,
            "Tensor: ranges in a range may have different lengths; write their numbers to one "
            "vector, and reshape the tensor of it");
    }
    /// A copy of the numbers at `data`, in row-major order. from_blob() makes a tensor of them
    /// without a copy.
    template <Number U>
        requires detail::ConvertsTo<U, T>
    Tensor(U const* data, Shape const& shape, GradFlag<T> g = {})
        : Tensor(detail::ArrayOf<T>::from_pointer(data, shape), g) {}
    /// Evaluates an expression in one pass, and records one Node where an operand requires a
    /// gradient.
    template <class Op, class... X>
        requires(detail::has_scalar<Expression<Op, X...>, T>)
    Tensor(Expression<Op, X...> const& e,
        detail::SourceLocation location = detail::SourceLocation::current());
    /// From an array of the library's own type.
    template <class A>
        requires std::same_as<std::remove_cvref_t<A>, detail::Array<T>>
    explicit Tensor(A&& a, GradFlag<T> g = {})
        : Tensor(detail::TensorImpl::make(detail::type_info<T>, std::forward<A>(a)), g) {}
    /// Allocates memory without initialising it.
    static Tensor empty(Shape const& shape) {
        return Tensor(detail::TensorImpl::make(detail::type_info<T>, shape));
    }
    /// Another handle to a tensor of this type.
    explicit Tensor(detail::Ref<detail::TensorImpl> impl) noexcept : AnyTensor(std::move(impl)) {}

    XGRAD_INLINE Tensor(Tensor const&) noexcept = default;
    XGRAD_INLINE Tensor(Tensor&&) noexcept = default;
    /// Element types are converted explicitly: cast<T>(x).
    template <Scalar U>
        requires(!std::same_as<U, T>)
    Tensor(Tensor<U> const&, detail::convert_by_cast_or_real_or_abs2 = {}) = delete;
    ~Tensor() = default;
    Tensor& operator=(Tensor const&) & noexcept = default;
    Tensor& operator=(Tensor&&) & noexcept = default;
    template <class Op, class... X>
        requires(!detail::has_scalar<Expression<Op, X...>, T>)
    detail::convert_by_cast_or_real_or_abs2 operator=(Expression<Op, X...> const&) & = delete;
    /// Assignment to an indexed tensor writes into the tensor itself: `x(0) = y`.
    Tensor& operator=(Tensor const& x) && { return copy_(x); }
    template <detail::OperandLike X> Tensor& operator=(X const& x) && { return copy_(x); }

    /// The value of a tensor with one element; as another type: item<int>().
    template <class U = T> U item() const {
        if (numel() != 1)
            detail::fail<ShapeError>(
                "item: a tensor with one element is needed, this one has shape ", shape());
        return static_cast<U>(*array_of().begin());
    }
    /// The same, as double(x).
    template <class U>
        requires(std::is_arithmetic_v<U> && !std::same_as<U, bool> && !std::same_as<U, T> &&
                 !detail::is_complex<T>)
    explicit operator U() const {
        return static_cast<U>(item());
    }
    template <class U>
        requires(detail::SameNumber<U, T> && Number<U>)
    explicit operator U() const {
        return item();
    }
    template <detail::SameNumber<T> U> operator U() const&& = delete; // write x.item() or double(x)
    /// True if the tensor is defined; but of a bool tensor its value: if (all_of(x > 0.)).
    explicit operator bool() const {
        if constexpr (std::same_as<T, bool>) return item();
        else return defined();
    }
    /// Address of the elements of a contiguous tensor, in row-major order; throws Error for others.
    T const* data() const { return contiguous_array().begin(); }
    /// The same to write; counts as a change in place.
    T* mutable_data() {
        contiguous_array();
        return mutable_strided_data();
    }
    /// Address of the first element of any tensor; strides() lead to the others.
    T const* strided_data() const { return array_of().begin(); }
    /// The same to write; counts as a change in place.
    T* mutable_strided_data() {
        impl().array.storage->bump();
        return array_of().begin();
    }
    /// An xtensor expression of this tensor's memory; the tensor must outlive it.
    auto array() const& { return xtensor_view(static_cast<T const*>(array_of().begin())); }
    /// A temporary returns a copy of the elements.
    xt::xarray<T> array() && { return xt::xarray<T>(static_cast<Tensor const&>(*this).array()); }
    /// A copy: xt::xarray<double> a = x.detach(). Throws where a graph would be lost.
    operator xt::xarray<T>() const {
        detail::check_leaves_graph(*this);
        return xt::xarray<T>(array());
    }
    /// A copy with N dimensions; throws where the tensor has another number, or requires a
    /// gradient.
    template <std::size_t N> xt::xtensor<T, N> to_xtensor() const {
        detail::check_leaves_graph(*this);
        if (dim() != N)
            detail::fail<ShapeError>(
                "to_xtensor: a tensor of shape ", shape(), " has ", dim(), " dimensions, not ", N);
        return xt::xtensor<T, N>(array());
    }
    /// A writable xtensor expression of this tensor's memory; counts as a change in place.
    auto mutable_array() & {
        impl().array.storage->bump();
        return detail::WritableArray(
            xtensor_view(array_of().begin()), is_contiguous() ? array_of().begin() : nullptr);
    }

    /// Sets requires_grad of a leaf. Returns the tensor itself.
    Tensor& requires_grad_(bool on = true) {
        static_assert(detail::has_gradients<T>,
            "only Tensors of floating point and complex dtype can require gradients");
        AnyTensor::requires_grad_(on);
        return *this;
    }
    using AnyTensor::requires_grad;

    /// The accumulated gradient; undefined where there is none.
    Tensor grad() const { return Tensor(AnyTensor::grad().handle()); }
    /// Replaces the accumulated gradient by a tensor of the same shape, or an undefined one.
    void set_grad(Tensor const& g) { AnyTensor::set_grad(g); }
    template <detail::XtensorExpression E> void set_grad(E const& g) { set_grad(Tensor(g)); }
    void zero_grad() { AnyTensor::zero_grad(); }

    /// A tensor of the same memory and version without grad_fn.
    Tensor detach() const { return Tensor(detail::alias(*this, "detach").handle()); }
    /// Removes the grad_fn of this tensor, in location; throws for views. Views of it keep their
    /// grad_fn until the next change of the memory in place; then their gradient ends at this
    /// tensor too.
    Tensor& detach_();
    /// A recorded copy with memory of its own.
    Tensor clone() const;
    Tensor copy() const { return clone(); }
    /// This tensor itself where it is contiguous (row-major), a recorded contiguous copy otherwise.
    Tensor contiguous() const { return this->is_contiguous() ? *this : clone(); }

    /// Computes the gradients of this scalar with respect to all leaves and adds them to their
    /// .grad. Throws GraphError for a non-scalar, a complex scalar, or a tensor that requires no
    /// gradient.
    void backward() const;
    void backward(BackwardOptions const& options) const;
    /// Starts from `gradient`, which has the shape and type of this tensor.
    template <detail::OperandLike G> void backward(G const& gradient) const;
    template <detail::OperandLike G>
    void backward(G const& gradient, BackwardOptions const& options) const;

    /// Registers f to be called with each gradient of this tensor that a pass computes, in the
    /// order of registration. f takes a Tensor const& and returns its replacement, or nothing. The
    /// argument is undefined where no gradient arrived.
    template <class F> HookHandle register_hook(F f);
    /// Registers f to be called after a gradient was added to .grad of this leaf. f takes a Tensor
    /// const& (the leaf) and returns nothing.
    template <class F> HookHandle register_post_accumulate_grad_hook(F f);
    /// Makes backward() set .grad of a tensor that is no leaf.
    void retain_grad();

    // Views share the memory of this tensor, and their gradients arrive at it; see views.hpp.
    template <class... Index> Tensor operator()(Index const&... index) const;
    /// Slices at given positions, to read or to assign; see tensor_indexing.hpp.
    template <class... Index>
        requires(detail::TensorIndex<Index> || ...)
    IndexedTensor<T> operator()(Index const&... index) const;
    template <class I> auto operator[](I const& index) const { return (*this)(index); }
    /// The elements where the mask is true, to read or to assign; see mask_indexing.hpp.
    MaskedTensor<T> operator()(Tensor<bool> const& mask) const;
    template <class M>
        requires detail::is_mask<M>
    MaskedTensor<T> operator()(M const& mask) const {
        return (*this)(Tensor<bool>(mask));
    }
    Tensor reshape(AxisList const& shape) const;
    Tensor view(AxisList const& shape) const;
    Tensor expand(AxisList const& shape) const;
    Tensor transpose() const;
    Tensor transpose(std::ptrdiff_t axis0, std::ptrdiff_t axis1) const;
    Tensor permute(AxisList const& axes) const;
    using ShapeForms<Tensor>::expand, ShapeForms<Tensor>::permute, ShapeForms<Tensor>::reshape,
        ShapeForms<Tensor>::view; // of several integers
    Tensor t() const {
        detail::check_defined("t", *this);
        return transpose();
    }
    Tensor diagonal(
        std::ptrdiff_t offset = 0, std::ptrdiff_t axis0 = 0, std::ptrdiff_t axis1 = 1) const;
    TensorParts<T> unbind(std::ptrdiff_t axis = 0) const;
    TensorParts<T> split(std::size_t size, std::ptrdiff_t axis = 0) const;
    TensorParts<T> chunk(std::size_t chunks, std::ptrdiff_t axis = 0) const;
    using FunctionForms<Tensor>::norm;
    using FunctionForms<Tensor>::real, FunctionForms<Tensor>::imag; // of real tensors
    Tensor<precision_of<T>> real() const
        requires detail::is_complex<T>;
    Tensor<precision_of<T>> imag() const
        requires detail::is_complex<T>;

    // In-place operations overwrite the memory, and are recorded where a gradient is required;
    // see inplace.hpp, and inplace_forms.hpp for exp_(), clamp_() and others.
    template <detail::OperandLike X> Tensor& copy_(X const& x);
    template <detail::OperandLike X> Tensor& operator+=(X const& x);
    template <detail::OperandLike X> Tensor& operator-=(X const& x);
    template <detail::OperandLike X> Tensor& operator*=(X const& x);
    template <detail::OperandLike X> Tensor& operator/=(X const& x);
    template <detail::OperandLike X> Tensor& operator%=(X const& x);
    Tensor& fill_(T value);
    Tensor& fill(T value) { return fill_(value); }
    Tensor& zero_();
    /// Writes `value` where the mask is true.
    template <detail::OperandLike X> Tensor& masked_fill_(Tensor<bool> const& mask, X const& value);

    /// The array that the elements are in.
    detail::Array<T> const& array_of(detail::Caller in = {}) const {
        return detail::as<T>(impl(in).array);
    }

private:
    Tensor(detail::Ref<detail::TensorImpl> impl, GradFlag<T> g) : AnyTensor(std::move(impl)) {
        impl_->requires_grad = g.value;
    }

    detail::Array<T> const& contiguous_array(detail::Caller in = {}) const {
        auto const& a = array_of(in);
        if (!a.contiguous) [[unlikely]]
            detail::fail_not_contiguous(in.name, a);
        return a;
    }

    /// A strided view of the flat memory from the first element to the last.
    template <class P> auto xtensor_view(P* first) const {
        auto const& a = array_of();
        std::size_t const extent = detail::extent_of(a.shape, a.strides);
        return xt::strided_view(xt::adapt(std::move(first), extent, xt::no_ownership(),
                                    std::array<std::size_t, 1>{extent}),
            detail::xt_dims(a.shape), detail::xt_dims(a.strides), 0, xt::layout_type::dynamic);
    }
};

/// Tensor x(2.0): a number gives its type. (Lists are in tensor_arguments.hpp.)
template <Number N>
explicit Tensor(N, GradFlag<detail::tensor_scalar<N>> = {}) -> Tensor<detail::tensor_scalar<N>>;
template <Scalar T> explicit Tensor(detail::Array<T>) -> Tensor<T>;
/// Tensor y = sin(x): the element type of an expression.
template <class Op, class... X>
Tensor(Expression<Op, X...>) -> Tensor<typename Expression<Op, X...>::scalar>;
/// Tensor x(xarray): that of an xtensor expression; integers of any width become int64.
template <detail::XtensorExpression E>
Tensor(E const&, GradFlag<detail::tensor_scalar<std::remove_cvref_t<typename E::value_type>>> = {})
    -> Tensor<detail::tensor_scalar<std::remove_cvref_t<typename E::value_type>>>;
/// Tensor x(std::vector{1., 2.}): that of the elements.
template <detail::NumberRange V>
Tensor(V const&, GradFlag<detail::tensor_scalar<std::ranges::range_value_t<V>>> = {})
    -> Tensor<detail::tensor_scalar<std::ranges::range_value_t<V>>>;
/// Tensor x(pointer, shape): that of what it points to.
template <Number U>
Tensor(U const*, Shape const&, GradFlag<detail::tensor_scalar<U>> = {})
    -> Tensor<detail::tensor_scalar<U>>;

template <Scalar T> Tensor<T> AnyTensor::as() const {
    if (dtype() != dtype_of<T>)
        detail::fail<TypeError>(
            "a tensor of type ", name(dtype()), " was taken for one of type ", name(dtype_of<T>));
    return Tensor<T>(impl_);
}

namespace detail {

/// An xtensor expression as operand is copied into a tensor.
template <XtensorExpression X> struct OperandTraits<X> {
    using element = std::remove_cvref_t<typename X::value_type>;
    using type = Tensor<tensor_scalar<element>>;
    static type make(X const& x) {
        constexpr bool has_numbers = Number<element>;
        static_assert(has_numbers, "beside a tensor, an xtensor expression must have numbers as "
                                   "elements: not strings, masked or optional "
                                   "values, or objects");
        if constexpr (has_numbers) return type(x);
        else return type();
    }
};

/// Converts an operand to a Tensor: an Expression is evaluated, a Tensor is returned by reference.
template <Scalar T> Tensor<T> const& materialize(Tensor<T> const& t) { return t; }
template <class Op, class... X> auto materialize(Expression<Op, X...> const& e) {
    return Tensor<typename Expression<Op, X...>::scalar>(e);
}
template <XtensorExpression X> auto materialize(X const& x) { return OperandTraits<X>::make(x); }

template <class X>
concept TensorLike = requires(X const& x) { materialize(x); };
template <class X>
using tensor_type = std::remove_cvref_t<decltype(materialize(std::declval<X const&>()))>;

/// Calls f(Tensor<T>) with the scalar type of t.
template <class F> decltype(auto) with_type(AnyTensor const& t, F&& f) {
    switch (t.dtype()) {
    case DType::boolean:
        return f(t.as<bool>());
    case DType::int64:
        return f(t.as<std::int64_t>());
    case DType::float32:
        return f(t.as<float>());
    case DType::float64:
        return f(t.as<double>());
    case DType::complex64:
        return f(t.as<std::complex<float>>());
    default:
        return f(t.as<std::complex<double>>());
    }
}
/// True for a tensor and an xtensor expression, in either order.
template <class A, class B>
concept TensorBesideXtensor =
    (Operand<A> && XtensorExpression<B>) || (XtensorExpression<A> && Operand<B>);
} // namespace detail

/// Evaluates and records an expression now, for templates that do not know the type of x. A tensor
/// is returned itself, as the same handle. An xtensor expression is copied.
template <detail::TensorLike X> detail::tensor_type<X> eval(X const& x) {
    return detail::materialize(x);
}

} // namespace xgrad
