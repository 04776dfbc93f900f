// The derivatives of single elements: a function of the numbers of an element, called with dual
// numbers of batches of elements, or element by element where it branches.
//
// Data: the derivatives of a batch of elements stand one after the other, each for all of them:
// entry p of element e is at (e / width * entries + p) * width + e % width.
//
// Shapes: those of sum_over().
// Gradients: Order says which derivatives are computed.
// Errors: IndexError for a number that a constant does not have. What the function throws leaves
// the kernel.
#pragma once

#include <algorithm>
#include <array>

#include <xgrad/map.hpp>
#include <xgrad/sum_over/element_index.hpp>
#include <xgrad/sum_over/hessian_number.hpp>

namespace xgrad {

namespace detail {
template <class... I>
[[gnu::cold, gnu::noinline]] void no_such_constant(Shape const& shape, I... i) {
    fail<IndexError>("sum_over: there is no number ", Strides{static_cast<std::ptrdiff_t>(i)...},
        " in a constant of shape ", shape, ", whose first axis is that of the elements");
}

/// A constant of all elements.
template <RealScalar T> struct ConstantArray {
    Shape const& shape;
    std::size_t size; // numbers of an element
    T const* data;
    explicit ConstantArray(Tensor<T> const& x)
        : shape(x.shape()), size(x.numel() / std::max(shape[0], std::size_t{1})), data(x.data()) {}
};

} // namespace detail

/// The numbers that a constant of sum_over() has for an element: `c()`, or c itself, where the
/// constant has one axis, `c(i, j)` where it has three. V is a number, or a batch with those of
/// several elements.
template <class V, RealScalar T> class ElementConstant {
    static constexpr std::size_t lanes = std::same_as<V, T> ? 1 : simd::Batch<T>::width;

public:
    using operand_tag = void;
    using evaluated_at_once = void;
    using kind = R;
    using precision = T;

    /// Of the elements from `first` on, of which there are those before `last`.
    ElementConstant(detail::ConstantArray<T> const& from, std::size_t first, std::size_t last)
        : shape_(&from.shape) {
        for (std::size_t lane = 0; lane < lanes; ++lane)
            at_[lane] = from.data + std::min(first + lane, last - 1) * from.size;
    }
    /// One of the numbers, with an index for each axis behind the first.
    template <std::integral... I> XGRAD_INLINE V operator()(I... i) const {
        auto const& shape = *shape_;
        std::size_t axis = 0, at = 0;
        bool exists = shape.size() == 1 + sizeof...(I);
        ((exists = exists && static_cast<std::size_t>(i) < shape[axis + 1],
             at = exists ? at * shape[++axis] + static_cast<std::size_t>(i) : 0),
            ...);
        if (!exists) [[unlikely]]
            detail::no_such_constant(shape, i...);
        if constexpr (lanes == 1) return at_[0][at];
        else {
            T batch[lanes];
            for (std::size_t lane = 0; lane < lanes; ++lane) batch[lane] = at_[lane][at];
            return V::load(batch);
        }
    }
    XGRAD_INLINE operator V() const { return (*this)(); }

private:
    Shape const* shape_;
    T const* at_[lanes];
};

namespace detail {

template <class X> inline constexpr bool is_element_constant = false;
template <class V, class T> inline constexpr bool is_element_constant<ElementConstant<V, T>> = true;
template <class V, class T> struct PartOf<ElementConstant<V, T>> : PartOf<V> {
    static constexpr bool is_part = true;
};
template <class V, class T> XGRAD_INLINE Dual<V, 0> element_number(ElementConstant<V, T> const& c) {
    return V(c);
}
template <class X> XGRAD_INLINE X const& element_number(X const& x) { return x; }

/// Which derivatives are computed.
enum class Order : std::uint8_t { value, gradient, hessian };

/// The number with which a function of n numbers is called.
template <Order order, class V, std::size_t n>
using OrderedNumber = std::conditional_t<order == Order::hessian, HessianNumber<V, n>,
    Dual<V, order == Order::gradient ? n : 0>>;

/// How many elements stand side by side.
template <RealScalar T> inline constexpr std::size_t element_batch = simd::Batch<T>::width;
/// Where the first of `entries` derivatives of element e is; the others follow in steps of
/// element_batch<T>.
template <RealScalar T, std::size_t entries>
XGRAD_INLINE constexpr std::size_t element_offset(std::size_t e) {
    constexpr std::size_t width = element_batch<T>;
    return e / width * width * entries + e % width;
}

} // namespace detail

/// Called by express() for a constant of sum_over() where no argument has derivatives.
template <class Op, class... X>
    requires((detail::is_element_constant<X> || ...) && !(detail::is_dual<X> || ...) &&
             !(detail::is_hessian_number<X> || ...))
XGRAD_INLINE auto evaluate_at_once(Op const& op, X const&... x) {
    return detail::value_of(detail::on_duals(op, detail::element_number(x)...));
}

namespace detail {

/// Calls a function of the numbers of an element, with batches of elements or one by one.
template <class Form, RealScalar T, bool on_batches> struct ElementKernel {
    using V = std::conditional_t<on_batches, simd::Batch<T>, T>;
    static constexpr std::size_t width = element_batch<T>, lanes = on_batches ? width : 1;
    template <Order order> using Number = OrderedNumber<order, V, Form::size>;
    template <Order order> using Corners = typename Form::template Corners<Number<order>>;
    using Constant = ElementConstant<V, T>;
    using Numbers = T[Form::size][lanes];

    /// Computes the elements from `first`, a multiple of `width`, to `last`: stores their
    /// derivatives, and returns the sum of their values. The compiler has to see through the
    /// function: then derivatives that are 0 cost nothing (benchmarks/sum_over.cpp). `flatten`
    /// makes g++ 12 inline f if this function itself calls it.
    template <Order order, std::size_t... K, class F, class... C>
    [[gnu::flatten]] static double run(std::index_sequence<K...>, F const& f, T const* x,
        ElementIndex<Form> const& index, std::size_t first, std::size_t last, T* gradients,
        T* hessians, C const&... constants) {
        double sum = 0;
        for (std::size_t e = first; e < last; e += lanes) {
            Numbers in;
            for (std::size_t lane = 0; lane < lanes; ++lane) {
                std::size_t const corner = std::min(e + lane, last - 1) * Form::corners;
                for (std::size_t a = 0; a < Form::corners; ++a)
                    for (std::size_t i = 0; i < Form::in_row; ++i)
                        in[a * Form::in_row + i][lane] =
                            x[index.row(corner + a) * Form::in_row + i];
            }
            // An array of arrays, where an element has rows of several numbers.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-braces"
            Number<order> const y =
                f(Corners<order>{number<order, K>(in)...}, Constant(constants, e, last)...);
#pragma GCC diagnostic pop
            T values[lanes];
            store(values, y.value);
            std::size_t const count = std::min(lanes, last - e);
            for (std::size_t lane = 0; lane < count; ++lane)
                sum += static_cast<double>(values[lane]);
            if constexpr (order == Order::gradient) store_all(gradients, e, y.tangent);
            if constexpr (order == Order::hessian) {
                store_all(gradients, e, y.gradient);
                store_all(hessians, e, y.hessian);
            }
        }
        return sum;
    }

private:
    template <Order order, std::size_t k>
    XGRAD_INLINE static Number<order> number(Numbers const& in) {
        V v;
        if constexpr (on_batches) v = V::load(in[k]);
        else v = in[k][0];
        if constexpr (order == Order::value) return v;
        else return Number<order>::variable(v, k);
    }
    XGRAD_INLINE static void store(T* to, V const& v) {
        if constexpr (on_batches) v.store(to);
        else *to = v;
    }
    template <std::size_t n>
    XGRAD_INLINE static void store_all(T* derivatives, std::size_t e, Tangents<V, n> const& t) {
        T* const to = derivatives + element_offset<T, n>(e);
        [&]<std::size_t... P>(std::index_sequence<P...>) XGRAD_LAMBDA_INLINE {
            (store(to + P * width, t[P]), ...);
        }(std::make_index_sequence<n>{});
    }
};

} // namespace detail
} // namespace xgrad
