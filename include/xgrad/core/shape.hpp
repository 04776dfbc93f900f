// Shapes, strides and axes, and the arithmetic on them: layout, reshaping and broadcasting.
//
// Dims<T> is a small vector that needs no heap up to four dimensions. Strides count elements.
//
// Shapes: a Shape has an extent for each axis. The empty one is that of a single element.
// Errors: in a list, a negative extent and an integer that does not fit are a ShapeError. numel()
// throws one for more elements than any memory holds. A bool or a floating-point number in a list
// does not compile.
//
// Read next: array.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <xgrad/core/error.hpp>

namespace xgrad {

namespace detail {

template <class I>
inline constexpr bool is_dims_number =
    std::is_integral_v<I> || std::is_floating_point_v<I>; // of which some are refused

/// Converts an integer to an element of Dims<T>; throws ShapeError if it does not fit.
template <class T, class I> constexpr T dims_element(I i) {
    if constexpr (is_dims_number<I>) {
        static_assert(std::is_integral_v<I> && !std::is_same_v<I, bool>,
            "a shape, a list of axes and a list of indices hold integers: these elements are of "
            "type bool or floating point");
        if constexpr (std::is_unsigned_v<T> && std::is_signed_v<I> && std::is_integral_v<I>)
            if (i < I(0)) [[unlikely]]
                fail<ShapeError>("a shape has the negative extent ", i);
        if constexpr (std::is_signed_v<T> && std::is_unsigned_v<I> && sizeof(I) >= sizeof(T))
            if (i > static_cast<I>(PTRDIFF_MAX)) [[unlikely]]
                fail<ShapeError>(
                    "a list of extents, axes or steps has an element that is too large: ", i);
    }
    return static_cast<T>(i);
}

/// An element of a list in braces, of any integer type: {x.shape(0), -1}.
template <class T> struct DimsElement {
    T value;
    template <class I>
        requires(is_dims_number<I> || std::is_convertible_v<I, T>)
    constexpr DimsElement(I const& i) : value(dims_element<T>(i)) {}
};

} // namespace detail

/// A small vector of extents or strides, one for each dimension. It is made from integers of any
/// types: `Shape{n, x.shape(0) * 2}`, or from a range of integers. A negative extent in a Shape is
/// a ShapeError.
template <class T> class Dims {
public:
    using value_type = T;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using reference = T&;
    using const_reference = T const&;
    using iterator = T*;
    using const_iterator = T const*;
    using reverse_iterator = std::reverse_iterator<T*>;
    using const_reverse_iterator = std::reverse_iterator<T const*>;

    Dims() noexcept : local_{} {}
    /// n equal elements. It is a template so that every compiler takes one number in braces as a
    /// list of one element.
    template <std::integral N> explicit Dims(N n, T value = T{}) : Dims() {
        reserve_exactly(static_cast<std::size_t>(n));
        for (T& extent : *this) extent = value;
    }
    Dims(std::initializer_list<detail::DimsElement<T>> l) : Dims() {
        reserve_exactly(l.size());
        T* to = data();
        for (auto const& element : l) *to++ = element.value;
    }
    template <std::forward_iterator I> Dims(I first, I last) : Dims() {
        reserve_exactly(static_cast<std::size_t>(std::distance(first, last)));
        for (T* to = data(); first != last; ++first) *to++ = static_cast<T>(*first);
    }
    template <std::ranges::forward_range V>
        requires(!std::same_as<std::remove_cvref_t<V>, Dims> &&
                 std::integral<std::ranges::range_value_t<V>> &&
                 !std::same_as<std::ranges::range_value_t<V>, char>)
    Dims(V const& v) : Dims() {
        reserve_exactly(static_cast<std::size_t>(std::ranges::distance(v)));
        T* to = data();
        for (auto const i : v) *to++ = detail::dims_element<T>(i);
    }
    [[gnu::always_inline]] Dims(Dims const& o) : size_(o.size_) {
        take_local(o);
        if (size_ > inline_size) [[unlikely]]
            copy_heap(o);
    }
    [[gnu::always_inline]] Dims(Dims&& o) noexcept : size_(std::exchange(o.size_, 0u)) {
        take_local(o);
    }
    Dims& operator=(Dims const& o) {
        if (this != &o) *this = Dims(o);
        return *this;
    }
    Dims& operator=(Dims&& o) noexcept {
        if (size_ > inline_size) delete[] heap_;
        size_ = std::exchange(o.size_, 0u);
        take_local(o);
        return *this;
    }
    ~Dims() {
        if (size_ > inline_size) delete[] heap_;
    }

    /// As those of std::vector.
    T* data() noexcept { return size_ <= inline_size ? local_ : heap_; }
    T const* data() const noexcept { return size_ <= inline_size ? local_ : heap_; }
    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    T* begin() noexcept { return data(); }
    T* end() noexcept { return data() + size_; }
    T const* begin() const noexcept { return data(); }
    T const* end() const noexcept { return data() + size_; }
    auto rbegin() const noexcept { return const_reverse_iterator(end()); }
    auto rend() const noexcept { return const_reverse_iterator(begin()); }
    T& operator[](std::size_t i) noexcept { return data()[i]; }
    T const& operator[](std::size_t i) const noexcept { return data()[i]; }
    T const& back() const noexcept { return data()[size_ - 1]; }
    T& back() noexcept { return data()[size_ - 1]; }

    /// As those of std::vector, with a position in place of an iterator.
    void assign(std::size_t n, T value) { *this = Dims(n, value); }
    void push_back(T value) {
        if (size_ < inline_size) local_[size_++] = value;
        else insert(size_, value);
    }
    [[gnu::noinline]] void insert(std::size_t at, T value) {
        Dims fresh;
        fresh.reserve_exactly(size_ + std::size_t{1});
        for (std::size_t i = 0; i < fresh.size_; ++i)
            fresh[i] = i == at ? value : (*this)[i - (i > at)];
        *this = std::move(fresh);
    }
    void erase(std::size_t at) {
        Dims fresh;
        fresh.reserve_exactly(size_ - std::size_t{1});
        for (std::size_t i = 0; i < fresh.size_; ++i) fresh[i] = (*this)[i + (i >= at)];
        *this = std::move(fresh);
    }

    friend bool operator==(Dims const& a, Dims const& b) noexcept {
        if (a.size_ != b.size_) return false;
        auto const *p = a.data(), *q = b.data();
        for (std::size_t i = 0; i < a.size_; ++i)
            if (p[i] != q[i]) return false;
        return true;
    }

    /// Makes an empty vector one of n uninitialised elements.
    void reserve_exactly(std::size_t n) {
        if (n > inline_size) heap_ = new T[n];
        size_ = static_cast<std::uint32_t>(n);
    }

private:
    static constexpr std::uint32_t inline_size = 4;

    /// Copies the inline storage of `o` and its size, whichever of them are in use.
    [[gnu::always_inline]] void take_local(Dims const& o) noexcept {
        std::memcpy(local_, o.local_, sizeof local_);
    }
    /// Allocates, and copies the extents of `o`, which are on the heap.
    [[gnu::cold]] void copy_heap(Dims const& o) {
        heap_ = static_cast<T*>(std::memcpy(new T[size_], o.heap_, size_ * sizeof(T)));
    }

    std::uint32_t size_ = 0;
    union {
        T local_[inline_size]; // copied whole, so that it is one or two moves; it is larger than
                               // the pointer
        T* heap_;
    };
};

using Shape = Dims<std::size_t>;      // the extent of each axis
using Strides = Dims<std::ptrdiff_t>; // the step along each axis, as a number of elements

/// Axes as a caller gives them: negative ones count from the end.
using Axes = Dims<std::ptrdiff_t>;

/// What a function takes for axes or extents: one integer of any type, a list of them in braces, or
/// a range. A floating-point number or a bool is a compile-time error.
template <class T> class ListArgument : public Dims<T> {
public:
    ListArgument() noexcept = default;
    ListArgument(Dims<T> const& list) : Dims<T>(list) {}
    ListArgument(std::initializer_list<detail::DimsElement<T>> list) : Dims<T>(list) {}
    template <class I>
        requires detail::is_dims_number<I>
    ListArgument(I number) : Dims<T>({detail::DimsElement<T>(number)}) {}
    template <std::ranges::forward_range V>
        requires(!std::derived_from<V, Dims<T>> && std::integral<std::ranges::range_value_t<V>> &&
                 !std::same_as<std::ranges::range_value_t<V>, char>) // "ortho" is no list
    ListArgument(V const& list) : Dims<T>(list) {}
};
/// An argument for axes; negative ones count from the end.
using AxisList = ListArgument<std::ptrdiff_t>;
using ShapeArgument = ListArgument<std::size_t>; // an argument for extents

namespace detail {

/// No memory holds more elements than this, whatever their type.
inline constexpr std::size_t max_elements = std::size_t{PTRDIFF_MAX} / 16;

bool has_zero(Shape const& shape) noexcept;
/// The number of elements of a shape whose product of extents overflows: 0 if one extent is 0; else
/// it throws.
[[gnu::cold]] std::size_t numel_of_large(Shape const& shape);

} // namespace detail

/// The number of elements of an array of this shape; throws ShapeError where it is more than any
/// memory holds.
std::size_t numel(Shape const& shape);

namespace detail {

[[noreturn, gnu::cold]] inline void fail_extents(
    std::string_view operation, std::size_t a, char const* sign, std::size_t b) {
    fail<ShapeError>(operation, ": an extent of ", a, sign, b, " would ",
        was_negative(a) || was_negative(b) ? "be negative, or " : "",
        "have more elements than any memory");
}
/// a + b; throws ShapeError if the extent is larger than any memory.
std::size_t add_extents(std::string_view operation, std::size_t a, std::size_t b);
/// a * b; throws ShapeError if the extent is larger than any memory.
std::size_t multiply_extents(std::string_view operation, std::size_t a, std::size_t b);

/// Writes row-major strides to an empty vector and returns the number of elements. Throws
/// ShapeError if there are too many.
std::size_t lay_out(Shape const& shape, Strides& strides);

/// Row-major strides in elements.
inline Strides row_major(Shape const& shape) {
    Strides strides;
    lay_out(shape, strides);
    return strides;
}

/// The distance in memory from the first to the last element plus one, in elements; strides must
/// not be negative.
std::size_t extent_of(Shape const& shape, Strides const& strides) noexcept;

/// The row-major stride of an axis.
std::size_t step_along(Shape const& shape, std::size_t axis);

/// True if the layout is C-contiguous. Axes of extent 1 may have any stride; an array without
/// elements is contiguous.
bool is_row_major(Shape const& shape, Strides const& strides) noexcept;

/// The strides of a view that reshapes an array of `shape` and `strides` to the shape `to`, which
/// has as many elements. Empty if no strides express it: reshape must copy.
XGRAD_LAZY std::optional<Strides> reshaped_strides(
    Shape const& shape, Strides const& strides, Shape const& to);

/// True if `from` broadcasts to `to` by NumPy's rules.
bool broadcasts_to(Shape const& from, Shape const& to) noexcept;

/// Broadcasts `shape` with another shape in place; false if they do not broadcast.
bool widen(Shape& shape, Shape const& other);
/// Throws ShapeError if an argument of an operation does not broadcast with another one.
void check_broadcasts(std::string_view operation, std::string_view argument, Shape const& shape,
    std::string_view other, Shape const& shape_of_other);
/// The common shape of two operands by NumPy's rules; the message names the operation and both
/// shapes.
Shape broadcast(std::string_view operation, Shape const& a, Shape const& b);

/// The strides that read an array of `shape` as one of shape `to`: 0 along each broadcast axis.
Strides broadcast_strides(Shape const& shape, Strides const& strides, Shape const& to);

/// An axis as a number in 0 ... rank - 1; the rank is that of the shape plus new_axes. Throws
/// IndexError.
std::size_t normalize_axis(
    std::string_view operation, std::ptrdiff_t axis, Shape const& shape, std::size_t new_axes = 0);

/// Axes as numbers in 0 ... rank - 1, sorted. Throws IndexError for an axis out of range or given
/// twice.
Axes normalize_axes(std::string_view operation, Axes axes, Shape const& shape);

Axes all_axes(std::size_t rank);

/// The shape after reducing normalised `axes`.
Shape reduced_shape(Shape const& shape, Axes const& axes, bool keepdims);

} // namespace detail
} // namespace xgrad
