// Reductions other than sums (which gather_scatter.hpp has): products and extrema. A reduction is a
// type with accumulator, start() and join(). An expression is reduced tile by tile, without storing
// its values.
//
// Shapes: reduced axes are removed, or kept with extent 1 if `keep`.
// Gradients: those that the operation derived from Reducing declares; Reducing itself has none.
// Errors: nothing is checked here: functions such as prod() and amax() normalise the axes before.
#pragma once

#include <limits>

#include <xgrad/fuse/kernel_call.hpp>
#include <xgrad/ops/shaping.hpp>

namespace xgrad::detail {

template <class T> T choice(bool condition, T a, T b) { return condition ? a : b; }
template <class P>
XGRAD_INLINE simd::Batch<P> choice(simd::Mask<P> condition, simd::Batch<P> a, simd::Batch<P> b) {
    return where(condition, a, b);
}
template <class T> T larger(T a, T b) { return a > b ? a : b; }
template <class T> T smaller(T a, T b) { return a < b ? a : b; }

/// Reduces to the product.
template <class T> struct Product {
    using accumulator = wide<T>;
    static accumulator start() { return 1; }
    XGRAD_INLINE static auto join(auto a, auto v) { return a * v; }
};
/// Reduces to the maximum; NaN if any element is.
template <class T> struct Larger {
    using accumulator = T;
    static T start() {
        return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                    : std::numeric_limits<T>::lowest();
    }
    XGRAD_INLINE static auto join(auto best, auto v) { return choice(v != v, v, larger(v, best)); }
};
/// Reduces to the minimum; NaN if any element is.
template <class T> struct Smaller {
    using accumulator = T;
    static T start() {
        return std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity()
                                                    : std::numeric_limits<T>::max();
    }
    XGRAD_INLINE static auto join(auto best, auto v) { return choice(v != v, v, smaller(v, best)); }
};

/// The elements of a contiguous array of W as elements of T.
template <class T, class W> Array<T> narrowed(Array<W> const& a) {
    if constexpr (std::same_as<W, T>) return a;
    else {
        Array<T> out(a.shape);
        scatter_strided<T, W>(a.data, out.data, 1, out.numel);
        return out;
    }
}

/// Reduces an expression over axes without storing its values.
template <class Combine, class T>
Array<T> reduce_expression(KernelTable const& table, void const* expression,
    AnyArray const* const* operands, Shape const& space, Axes const& axes, bool keep) {
    using A = typename Combine::accumulator;
    Array<A> all(reduced_shape(space, axes, true), Combine::start());
    static constexpr Transfer reduction = transfer_by<A, T, &reduce_strided<Combine, A, T>>;
    KernelCall call(table, expression, Pass::value, space, numel(space));
    call.bind_operands(operands);
    call.reduce(all, reduction);
    call.run();
    if (!keep) all.reshape(reduced_shape(space, axes, false));
    return narrowed<T>(all);
}

/// Reduces all elements of a contiguous array.
template <class Combine, Scalar T> T reduce_all_elements(Array<T> const& x) {
    typename Combine::accumulator all = Combine::start();
    for (std::size_t i = 0; i < x.numel; i += max_summed)
        reduce_strided<Combine, decltype(all), T>(
            x.begin() + i, &all, 0, std::min(max_summed, x.numel - i));
    return converted<T>(all);
}
/// Reduces an array over axes.
template <template <class> class F, Scalar T>
Array<T> reduce_array(Array<T> const& x, Axes const& axes, bool keep) {
    using Combine = F<T>;
    if (x.contiguous && axes.size() == x.shape.size())
        return Array<T>(keep ? Shape(x.shape.size(), 1) : Shape(), reduce_all_elements<Combine>(x));
    Slot<T> const expression;
    AnyArray const* const operand = &x;
    return reduce_expression<Combine, T>(
        KernelTableOf<Slot<T>>::table, &expression, &operand, x.shape, axes, keep);
}

// For the gradients of reductions over axes.

template <Operand X> Axes checked_axes(std::string_view operation, X const& x, Axes const& axes) {
    check_defined(operation, x);
    return normalize_axes(operation, axes, x.shape());
}

/// The number of elements that are reduced to one.
inline std::size_t count_over(Shape const& shape, Axes const& axes) {
    std::size_t n = 1;
    for (auto const axis : axes) n *= shape[static_cast<std::size_t>(axis)];
    return n;
}

/// All axes, those of `over` last.
[[gnu::cold]] inline Axes axes_with_last(Axes const& over, std::size_t rank) {
    Axes order;
    for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(rank); ++i)
        if (std::find(over.begin(), over.end(), i) == over.end()) order.push_back(i);
    for (auto const axis : over) order.push_back(axis);
    return order;
}
inline bool are_last(Axes const& over, std::size_t rank) {
    return over.empty() || static_cast<std::size_t>(over[0]) + over.size() == rank;
}

/// The elements as W, contiguous, with the axes `over` last: the array itself if it is so, else a
/// copy in `buffer`.
template <class W, Scalar T>
W const* rows_over(Axes const& over, Array<T> const& x, Array<W>& buffer) {
    if constexpr (std::same_as<W, T>)
        if (x.contiguous && are_last(over, x.shape.size())) return x.begin();
    auto const transposed = Permute{{}, axes_with_last(over, x.shape.size())}.value(x);
    buffer = Array<W>(transposed.shape);
    copy_elements(buffer, transposed);
    return buffer.begin();
}
/// A view of rows_over()'s layout with the axes in their original order.
template <Scalar T> Array<T> rows_put_back(Axes const& over, Array<T> rows) {
    auto const rank = rows.shape.size();
    return are_last(over, rank) ? rows
                                : Permute{{}, inverse_of(axes_with_last(over, rank))}.value(rows);
}

} // namespace xgrad::detail

namespace xgrad {

/// For the last argument of a reduction: reduced axes are kept, with extent 1.
inline constexpr bool keepdims = true;

/// Base of an operation that reduces over axes.
template <template <class> class F> struct Reducing : Arraywise {
    template <class T> using combine = F<T>; // how elements of a type are combined
    Axes over;                               // normalised
    bool keep = false;                       // true for reduced axes with extent 1
    Axes joined_axes() const { return over; }

    template <Scalar T> auto value(detail::Array<T> const& x) const {
        return detail::reduce_array<F>(x, over, keep);
    }
};

/// Evaluates the operand first if its values will be saved for backward; else reduces it tile by
/// tile.
template <class Op, Operand X> auto express_reduction(Op op, X const& x) {
    if constexpr (Differentiable<typename X::scalar>)
        if (needs_graph(x)) return express(std::move(op), x);
    return fold<Op::template combine>(x, op.over, op.keep);
}

} // namespace xgrad
