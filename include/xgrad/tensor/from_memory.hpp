// Tensors of memory that is already there, without a copy: from_blob() takes a pointer, borrow() an
// array that the program keeps, adopt() an array that the tensor keeps.
//
// Such a tensor behaves as any other: changes in place count as versions, views share its memory,
// and saved tensors notice changes. The library never reuses the memory for other values: only
// operations in place, and backward() where it is a gradient, write to it. The library does not
// notice what the program writes itself: call mutable_strided_data() first, which counts as a
// change.
//
// Shapes: the given shape, with row-major or given strides; without a shape a vector. Arrays of
// xtensor keep shape and strides.
// Gradients: none: the results are leaves that require no gradient before requires_grad_().
// Errors: a shape that needs more elements than are there, a negative stride, and strides that are
// not one for each axis are a ShapeError; a null or misaligned pointer is an Error. Constant
// memory, and borrow() of a temporary, do not compile.
#pragma once

#include <iterator>
#include <memory>
#include <span>

#include <xgrad/tensor/tensor.hpp>

namespace xgrad {

namespace detail {

/// A described piece of memory; names the caller in errors.
struct MemoryLayout {
    std::string_view operation;
    Shape const& shape;
    Strides const& strides;
};
/// The array of external memory. Checks that the pointer is not null and aligned, and that no
/// stride is negative. `available`: elements that are there, if that is known.
XGRAD_LAZY AnyArray external_array(MemoryLayout const& layout, std::byte* data, std::size_t element,
    std::size_t alignment, std::size_t available);
/// Throws ShapeError if the shape needs more elements than are there.
XGRAD_LAZY void check_available(MemoryLayout const& layout, std::size_t available);
inline constexpr std::size_t unknown_size = ~std::size_t{0};

template <Scalar T>
Tensor<T> external_tensor(
    MemoryLayout const& layout, T* data, std::size_t available = unknown_size) {
    auto* const bytes = reinterpret_cast<std::byte*>(data);
    return Tensor<T>(TensorImpl::make(
        type_info<T>, external_array(layout, bytes, sizeof(T), alignof(T), available)));
}

/// Lets the memory of a tensor keep an object, which is destroyed with the last tensor of it.
template <Scalar T, class Object>
Tensor<T> keep_with(Tensor<T> tensor, std::unique_ptr<Object> object) noexcept {
    tensor.impl().array.storage->release_with(
        [](void* kept) noexcept { delete static_cast<Object*>(kept); }, object.release());
    return tensor;
}

/// True for a view or an adaptor of an array that is somewhere else: such a temporary may be
/// borrowed.
template <class A> inline constexpr bool views_lvalue = false;
template <class E, class... S> inline constexpr bool views_lvalue<xt::xview<E&, S...>> = true;
template <class E, class... S>
inline constexpr bool views_lvalue<xt::xview<E, S...>> = views_lvalue<E>;
template <class E, class S, xt::layout_type L, class F>
inline constexpr bool views_lvalue<xt::xstrided_view<E&, S, L, F>> = true;
template <class E, class S, xt::layout_type L, class F>
inline constexpr bool views_lvalue<xt::xstrided_view<E, S, L, F>> = views_lvalue<E>;
template <class E, xt::layout_type L, class S, class Tag>
inline constexpr bool views_lvalue<xt::xarray_adaptor<E&, L, S, Tag>> = true;
template <class E, std::size_t N, xt::layout_type L, class Tag>
inline constexpr bool views_lvalue<xt::xtensor_adaptor<E&, N, L, Tag>> = true;
/// True for a container of xtensor, which owns its elements.
template <class A> inline constexpr bool is_container = false;
template <class E, xt::layout_type L, class S, class Tag>
inline constexpr bool is_container<xt::xarray_container<E, L, S, Tag>> = true;
template <class E, std::size_t N, xt::layout_type L, class Tag>
inline constexpr bool is_container<xt::xtensor_container<E, N, L, Tag>> = true;
template <class E, class S, xt::layout_type L, bool shared, class Tag>
inline constexpr bool is_container<xt::xfixed_container<E, S, L, shared, Tag>> = true;

/// Specialised by interop.hpp for arrays of other libraries.
template <class A> struct ForeignArray {
    static constexpr bool known = false;
};
template <class A>
concept Foreign = ForeignArray<std::remove_cvref_t<A>>::known;

template <class R>
concept ContiguousNumbers =
    std::ranges::contiguous_range<R> && std::ranges::sized_range<R> && !XtensorExpression<R> &&
    Scalar<std::ranges::range_value_t<R>> && !Operand<R> && !Foreign<R>;

/// What no tensor can have as memory.
template <class A>
concept NoMemory = !StridedXtensor<A> && !ContiguousNumbers<A> && !Foreign<A>;
template <class A> void refuse_memory() {
    constexpr bool is_foreign =
        requires(A const& a) { a.cols(); } || requires(A const& a) { a.data_handle(); };
    static_assert(!is_foreign, "adopt, borrow: #include <xgrad/interop.hpp> for matrices of Eigen "
                               "and for mdspan");
    constexpr bool has_elements = std::ranges::contiguous_range<A> && !XtensorExpression<A>;
    static_assert(has_elements || is_foreign,
        "adopt, borrow: this has no elements in memory that a tensor could share: Tensor<double> "
        "x(array) computes or copies them");
    static_assert(!has_elements, "adopt, borrow: no tensor has elements of this type: "
                                 "Tensor<double> x(array) converts copies of them");
}

template <class A> auto tensor_of_xtensor(std::string_view operation, A& array) {
    using T = std::remove_pointer_t<decltype(array.data())>;
    constexpr bool is_const = std::is_const_v<T>, has_type = Scalar<std::remove_const_t<T>>;
    static_assert(!is_const,
        "the array is const, and a change in place of the tensor would write to "
        "it: Tensor<double> x(array) copies its values");
    static_assert(has_type, "no tensor has elements of this type");
    if constexpr (!is_const && has_type) {
        Shape const shape(array.shape().begin(), array.shape().end());
        Strides strides(shape.size(), 0); // those of xtensor-python have no iterators of C++20
        for (std::size_t d = 0; d < shape.size(); ++d) strides[d] = array.strides()[d];
        auto* const first = array.data() + array.data_offset();
        return external_tensor<T>({operation, shape, strides}, first);
    }
}

} // namespace detail

/// A tensor of the elements at `data`, in row-major order. The memory must live as long as the
/// tensor and everything that is recorded with it. Throws an Error for a pointer that is null or
/// not aligned.
template <Scalar T> Tensor<T> from_blob(T* data, Shape const& shape) {
    return detail::external_tensor<T>({"from_blob", shape, detail::row_major(shape)}, data);
}
/// With strides in elements, none of them negative.
template <Scalar T> Tensor<T> from_blob(T* data, Shape const& shape, Strides const& strides) {
    return detail::external_tensor<T>({"from_blob", shape, strides}, data);
}
/// Calls deleter(data) when the last tensor of this memory is gone. It is not called where
/// from_blob() throws.
template <Scalar T, std::invocable<T*> Deleter>
Tensor<T> from_blob(T* data, Shape const& shape, Strides const& strides, Deleter deleter) {
    struct Deletion {
        T* data;
        Deleter deleter;

        Deletion(T* d, Deleter&& f) : data(d), deleter(std::move(f)) {}
        Deletion(Deletion const&) = delete;
        ~Deletion() { deleter(data); }
    };
    auto tensor = from_blob(data, shape, strides);
    return detail::keep_with(
        std::move(tensor), std::make_unique<Deletion>(data, std::move(deleter)));
}
template <Scalar T, std::invocable<T*> Deleter>
Tensor<T> from_blob(T* data, Shape const& shape, Deleter deleter) {
    return from_blob(data, shape, detail::row_major(shape), std::move(deleter));
}
template <class T, class... More>
    requires(!Scalar<T>)
void from_blob(T*, Shape const&, More const&...) {
    static_assert(!std::is_const_v<T>,
        "from_blob: the memory is const, and a change in place of the "
        "tensor would write to it: Tensor<double> x(data, shape) "
        "copies it");
    static_assert(std::is_const_v<T>, "from_blob: no tensor has elements of this type: cast the "
                                      "pointer to that of a number");
}

template <detail::ContiguousNumbers R> void from_blob(R&&, Shape const& = {}) {
    static_assert(sizeof(R) == 0, "from_blob: the memory is a pointer: borrow(numbers, shape) and "
                                  "adopt(numbers, shape) take containers and spans");
}

/// A tensor that keeps an xtensor array (row- or column-major) and has its elements as memory.
template <class A>
    requires(detail::StridedXtensor<A> && detail::is_container<A>)
auto adopt(A&& array) {
    auto kept = std::make_unique<A>(std::move(array));
    auto tensor = detail::tensor_of_xtensor("adopt", *kept);
    return detail::keep_with(std::move(tensor), std::move(kept));
}
/// A tensor that keeps a container of numbers, which it reads in row-major order as this shape.
/// Throws ShapeError if the container has fewer elements.
template <class R>
    requires(detail::ContiguousNumbers<R> && !std::ranges::borrowed_range<R>)
auto adopt(R&& numbers, Shape const& shape) {
    using T = std::ranges::range_value_t<R>;
    detail::check_available({"adopt", shape, {}}, std::ranges::size(numbers));
    auto kept = std::make_unique<R>(std::move(numbers));
    auto tensor = detail::external_tensor<T>({"adopt", shape, detail::row_major(shape)},
        std::ranges::data(*kept), std::ranges::size(*kept));
    return detail::keep_with(std::move(tensor), std::move(kept));
}
/// As a tensor of one dimension.
template <class R>
    requires(detail::ContiguousNumbers<R> && !std::ranges::borrowed_range<R>)
auto adopt(R&& numbers) {
    Shape const shape{std::ranges::size(numbers)};
    return adopt(std::move(numbers), shape);
}
/// Rejects an array that the program keeps, and what does not own its elements.
template <class A>
    requires((detail::StridedXtensor<A> && !detail::is_container<A>) ||
             (detail::ContiguousNumbers<A> && std::ranges::borrowed_range<A>))
void adopt(A&&, Shape const& = {}) {
    constexpr bool is_lvalue = std::is_lvalue_reference_v<A>;
    static_assert(!is_lvalue, "adopt: the tensor keeps the array, so it is moved: "
                              "adopt(std::move(array)); borrow(array) leaves it where it is");
    static_assert(is_lvalue, "adopt: a view, an adaptor or a span does not own its elements: "
                             "borrow() makes a tensor of them");
}

/// Rejects what has no numbers in memory.
template <detail::NoMemory A> void adopt(A&&, Shape const& = {}) { detail::refuse_memory<A>(); }

/// A tensor of the elements of an xtensor array or of a view of one, which stays with the program:
/// it must live as long as the tensor and everything that is recorded with it, and must not be
/// resized.
template <class A>
    requires(detail::StridedXtensor<A>)
auto borrow(A& array) {
    return detail::tensor_of_xtensor("borrow", array);
}
template <class A>
    requires(detail::StridedXtensor<A> && detail::views_lvalue<A>)
auto borrow(A&& view) {
    return detail::tensor_of_xtensor("borrow", view);
}
/// A tensor of the elements of a container or a std::span, read in row-major order as this shape.
/// Throws ShapeError if there are fewer elements.
template <class R>
    requires(detail::ContiguousNumbers<R> && std::ranges::borrowed_range<R>)
auto borrow(R&& numbers, Shape const& shape) {
    using T = std::remove_pointer_t<decltype(std::ranges::data(numbers))>;
    static_assert(!std::is_const_v<T>,
        "borrow: the numbers are const, and a change in place of the "
        "tensor would write to them: Tensor<double> x(numbers) "
        "copies them");
    if constexpr (!std::is_const_v<T>)
        return detail::external_tensor<T>({"borrow", shape, detail::row_major(shape)},
            std::ranges::data(numbers), std::ranges::size(numbers));
}
/// As a tensor of one dimension.
template <class R>
    requires(detail::ContiguousNumbers<R> && std::ranges::borrowed_range<R>)
auto borrow(R&& numbers) {
    return borrow(numbers, Shape{std::ranges::size(numbers)});
}
/// Rejects a temporary.
template <class A>
    requires((detail::StridedXtensor<A> || detail::ContiguousNumbers<A>) &&
             !std::is_reference_v<A> && !detail::views_lvalue<A> && !std::ranges::borrowed_range<A>)
void borrow(A&&, Shape const& = {}) {
    static_assert(sizeof(A) == 0,
        "borrow: the array is a temporary, which is gone before the tensor: "
        "adopt(...) keeps it");
}
/// Rejects what has no numbers in memory.
template <detail::NoMemory A> void borrow(A&&, Shape const& = {}) { detail::refuse_memory<A>(); }

} // namespace xgrad
