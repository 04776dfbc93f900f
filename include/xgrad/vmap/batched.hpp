// Batched<V, L...>: what a function gets from vmap() in the place of a tensor. It holds the tensors
// of all examples as one, whose first axes number the examples: one axis for each vmap() around,
// which is a level L. Outwards it has the shape of one example.
//
// It is an operand: functions of tensors are called with it, and what they do at last (an
// elementwise operation, one on whole arrays, a sum) is applied to all examples at once here and in
// batch_rules.hpp. Elementwise operations stay an Expression, evaluated in one pass.
//
// Invariant: in V, a tensor with as many axes as all levels and one example together is numbered by
// the levels; one with no more axes than an example is shared by all of them.
//
// Shapes: shape() is that of one example. Examples broadcast among themselves.
// Gradients: those of the operations on the tensors inside.
// Errors: those of the operations; what reads the value of one example does not compile.
//
// Read next: batch_rules.hpp.
#pragma once

#include <xgrad/functional/hvp.hpp>
#include <xgrad/ops/cumulative.hpp>
#include <xgrad/ops/fourier.hpp>
#include <xgrad/ops/triangle.hpp>
#include <xgrad/tensor/tensor_indexing.hpp>

namespace xgrad {

template <class V, class... L> class Batched;

namespace detail {
template <class X> inline constexpr bool is_batched = false;
template <class V, class... L> inline constexpr bool is_batched<Batched<V, L...>> = true;
} // namespace detail

/// A Batched.
template <class X>
concept BatchedOperand = Operand<X> && detail::is_batched<std::remove_cvref_t<X>>;
/// Two operands, of which one at least is a Batched.
template <class A, class B>
concept AnyBatched = Operand<A> && Operand<B> && (detail::is_batched<A> || detail::is_batched<B>);

namespace detail {

/// Types of levels, in the order of their axes.
template <class... L> struct Levels {
    static constexpr std::size_t count = sizeof...(L);
    template <class X> static constexpr bool has = (std::same_as<X, L> || ...);
    /// The axis of a level.
    template <class X> static constexpr std::size_t index_of() {
        std::size_t i = 0;
        static_cast<void>(((std::same_as<X, L> || (++i, false)) || ...));
        return i;
    }
    template <class V> using batched = Batched<V, L...>;
};
template <class X> struct LevelsOf {
    using type = Levels<>;
};
template <class V, class... L> struct LevelsOf<Batched<V, L...>> {
    using type = Levels<L...>;
};
template <class X> using levels_of = typename LevelsOf<std::remove_cvref_t<X>>::type;

/// The levels of A, and then those of the others that are not among them.
template <class A, class... Others> struct JoinLevels {
    using type = A;
};
template <class... A, class B, class... More, class... Others>
struct JoinLevels<Levels<A...>, Levels<B, More...>, Others...>
    : JoinLevels<std::conditional_t<Levels<A...>::template has<B>, Levels<A...>, Levels<A..., B>>,
          Levels<More...>, Others...> {};
template <class... A, class... Others>
struct JoinLevels<Levels<A...>, Levels<>, Others...> : JoinLevels<Levels<A...>, Others...> {};
template <class... X> using joined_levels = typename JoinLevels<Levels<>, levels_of<X>...>::type;

/// The number of examples of a level, while vmap() calls the function.
template <class L> inline thread_local std::size_t level_size = 0;
template <class... L> Shape level_sizes(Levels<L...>) { return Shape{level_size<L>...}; }

/// Brings the axes of a tensor with `levels` levels and examples of `rank` dimensions to those of
/// other levels: `from` has for each of them the axis that it had, or -1. Examples get leading axes
/// up to to_rank dimensions. A tensor that the examples share stays as it is.
template <Scalar T>
Tensor<T> lifted_tensor(
    Tensor<T> t, std::size_t levels, std::size_t rank, Axes const& from, std::size_t to_rank) {
    if (t.dim() != levels + rank) return t;
    Axes order, extents;
    for (auto const axis : from)
        if (axis >= 0) order.push_back(axis);
    for (auto const axis : from)
        extents.push_back(
            axis < 0 ? 1 : static_cast<std::ptrdiff_t>(t.shape()[static_cast<std::size_t>(axis)]));
    for (auto i = rank; i < to_rank; ++i) extents.push_back(1);
    for (auto i = levels; i < t.dim(); ++i) {
        order.push_back(static_cast<std::ptrdiff_t>(i));
        extents.push_back(static_cast<std::ptrdiff_t>(t.shape()[i]));
    }
    return only_reshaped(reshape(permute(t, order), extents));
}

/// An expression with f(t) in the place of each of its tensors t.
template <Scalar T, class F> Tensor<T> with_leaves(Tensor<T> const& t, F const& f) { return f(t); }
template <class N, class F> Constant<N> with_leaves(Constant<N> const& n, F const&) { return n; }
template <class Op, class... X, class F>
Expression<Op, X...> with_leaves(Expression<Op, X...> const& e, F const& f) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return Expression<Op, X...>(e.op, with_leaves(get<I>(e.x), f)...);
    }(std::index_sequence_for<X...>());
}

/// The number of dimensions of an example.
template <class X> std::size_t rank_of(X const& x) {
    if constexpr (requires { x.dim(); }) return x.dim();
    else if constexpr (XtensorExpression<X>) return x.dimension();
    else return 0;
}

/// x inside of a Batched with the levels To and examples of `rank` dimensions; an operand without
/// levels itself.
template <class To, class X> decltype(auto) lifted(X const& x, std::size_t rank) {
    if constexpr (!is_batched<X>) return (x);
    else {
        using From = levels_of<X>;
        using V = std::remove_cvref_t<decltype(x.stacked())>;
        auto const from_rank = x.dim();
        if constexpr (std::same_as<From, To>)
            if (from_rank == rank) return V(x.stacked());
        auto const from = []<class... L>(Levels<L...>) {
            return Axes{
                (From::template has<L> ? static_cast<std::ptrdiff_t>(From::template index_of<L>())
                                       : std::ptrdiff_t{-1})...};
        }(To());
        return V(with_leaves(x.stacked(), [&]<Scalar T>(Tensor<T> const& t) {
            return lifted_tensor(t, From::count, from_rank, from, rank);
        }));
    }
}
/// The same, evaluated, with the full extents of all levels, and examples of their own rank.
template <class To, class X> auto stacked_over(X const& x, Shape const& sizes) {
    auto const t = materialize_expression(lifted<To>(x, rank_of(x)));
    Shape const example = x.shape();
    Shape shape = sizes, aligned(To::count, 1);
    for (auto const n : example) {
        shape.push_back(n);
        aligned.push_back(n);
    }
    if constexpr (is_batched<X>) return t.shape() == shape ? t : broadcast_to(t, shape);
    else return broadcast_to(reshape(t, Axes(aligned)), shape);
}

template <class V> inline constexpr bool is_one_example = false; // for sentences of the compiler
/// Reports a change in place of what an index tensor or a mask gathered, or of a const Batched.
template <class X> struct ChangedCopy {
    static void report() {
        static_assert(is_one_example<X>,
            "vmap: `x(index) += y` of an index tensor or a mask changes a copy, and a const x does "
            "not change: write auto z = x + y, where(mask, x + y, x), or scatter_add(x, axis, "
            "index, y)");
    }
};

/// Puts tensors, and structures of them, into a Batched of these levels.
template <class Lv, class V> auto batched(V v) {
    if constexpr (Lv::count == 0) return v;
    else return typename Lv::template batched<V>(std::move(v));
}

} // namespace detail

/// The tensors of all examples, seen as one of them; see the top of this header.
template <class V, class... L>
class Batched : public FunctionForms<Batched<V, L...>>, public ShapeForms<Batched<V, L...>> {
public:
    using operand_tag = void;
    using evaluated_at_once = void;
    using scalar = typename V::scalar;
    using value_type = scalar;
    using kind = typename V::kind;
    using precision = typename V::precision;
    static constexpr std::size_t operand_count = V::operand_count;

    /// Of a tensor, or an expression, whose first axes are the levels.
    explicit Batched(V stacked) : stacked_(std::move(stacked)) {}
    /// Evaluates an expression.
    template <class E>
        requires(detail::is_expression<E> && std::same_as<V, Tensor<typename E::scalar>>)
    Batched(Batched<E, L...> const& e) : stacked_(detail::materialize(e.stacked())) {}
    Batched(Batched const&) = default;
    Batched(Batched&&) noexcept = default;
    Batched& operator=(Batched const&) & = default;
    Batched& operator=(Batched&&) & noexcept = default;
    template <class X> void operator=(X const&) && {
        static_assert(!sizeof(X), "vmap: a part cannot be assigned: write where(mask, y, x)");
    }
    ~Batched() = default;

    /// The tensor, or expression, of all examples; its first axes number them.
    V const& stacked() const { return stacked_; }
    /// The shape of an example.
    Shape shape() const {
        Shape const whole = stacked_.shape();
        return Shape(whole.begin() + sizeof...(L), whole.end());
    }
    template <std::integral I> std::size_t shape(I axis) const {
        auto const example = shape();
        return example[detail::normalize_axis("shape", static_cast<std::ptrdiff_t>(axis), example)];
    }
    std::size_t dim() const { return stacked_.dim() - sizeof...(L); }
    std::size_t ndim() const { return dim(); }
    std::size_t numel() const { return xgrad::numel(shape()); }
    bool defined() const { return true; }

    /// No value of one example can be read: each has another one.
    template <class U = scalar> U item() const {
        static_assert(detail::is_one_example<U>,
            "vmap: item() has another value for each example; let xg::looped(f) call the function "
            "for one after the other");
        return U();
    }
    template <class U>
        requires(std::is_arithmetic_v<U> && !std::same_as<U, bool>)
    explicit operator U() const {
        return item<U>();
    }
    explicit operator bool() const {
        static_assert(detail::is_one_example<V>,
            "vmap: a condition is true for some examples and false for others: write "
            "where(condition, a, b), or let xg::looped(f) call the function for one after the "
            "other");
        return false;
    }
    template <Scalar T>
    operator Tensor<T>() const = delete; // vmap: write `auto y = ...`, stack(tuple(...)), looped(f)

    /// As those of Tensor. What is gathered, by an index tensor or a mask, is a copy, and const.
    template <class... Index> decltype(auto) operator()(Index const&... index) const;
    template <class I> decltype(auto) operator[](I const& index) const { return (*this)(index); }
    auto reshape(AxisList const& to) const { return xgrad::reshape(*this, to); }
    auto view(AxisList const& to) const { return xgrad::reshape(*this, to); }
    auto expand(AxisList const& to) const {
        Shape shape;
        auto const example = this->shape();
        for (std::size_t i = 0; i < to.size(); ++i)
            shape.push_back(to[i] == -1 ? example[i + example.size() - to.size()]
                                        : static_cast<std::size_t>(to[i]));
        return xgrad::broadcast_to(*this, shape);
    }
    auto permute(AxisList const& axes) const { return xgrad::permute(*this, axes); }
    using ShapeForms<Batched>::expand, ShapeForms<Batched>::permute, ShapeForms<Batched>::reshape,
        ShapeForms<Batched>::view; // of several integers
    auto transpose() const { return xgrad::transpose(*this); }
    auto transpose(std::ptrdiff_t axis0, std::ptrdiff_t axis1) const {
        return xgrad::transpose(*this, axis0, axis1);
    }
    auto t() const { return transpose(); }
    auto select(std::ptrdiff_t axis, std::ptrdiff_t index) const;
    auto narrow(std::ptrdiff_t axis, std::ptrdiff_t start, std::size_t length) const;
    auto diagonal(
        std::ptrdiff_t offset = 0, std::ptrdiff_t axis0 = 0, std::ptrdiff_t axis1 = 1) const;
    auto unbind(std::ptrdiff_t axis = 0) const;
    auto split(std::size_t size, std::ptrdiff_t axis = 0) const;
    auto chunk(std::size_t chunks, std::ptrdiff_t axis = 0) const;
    auto detach() const {
        return detail::batched<detail::Levels<L...>>(detail::materialize(stacked_).detach());
    }
    auto clone() const {
        return detail::batched<detail::Levels<L...>>(detail::materialize(stacked_).clone());
    }

    // In place, as of a tensor: other handles to it, and the argument of vmap(), change, too.
#define XGRAD_COMPOUND(op)                                                                         \
    template <detail::OperandLike X> Batched& operator op##=(X const& x) {                         \
        using Of = detail::Levels<L...>;                                                           \
        using Both = detail::joined_levels<Batched, X>;                                            \
        static_assert(std::same_as<Both, Of>,                                                      \
            "vmap: `x " #op "= y` of an x that the examples of y share; write x = x " #op " y");   \
        if constexpr (std::same_as<Both, Of>) stacked_ op## = detail::lifted<Of>(x, dim());        \
        return *this;                                                                              \
    }                                                                                              \
    template <detail::OperandLike X> void operator op##=(X const&) const {                         \
        detail::ChangedCopy<X>::report();                                                          \
    }
    XGRAD_COMPOUND(+)
    XGRAD_COMPOUND(-)
    XGRAD_COMPOUND(*)
    XGRAD_COMPOUND(/)
#undef XGRAD_COMPOUND

private:
    V stacked_;
};

/// Stands for what a tensor that all examples share becomes in place: it has no value for each.
template <class V, class... L> struct detail::FlattenedExpression<Batched<V, L...>> {
    static_assert(
        is_one_example<V>, "vmap: `w += x` of a w that all examples share; write auto y = w + x");
    using F = V;
    static RecordTable const& table;
    AnyTensor const* operands[V::operand_count];
    explicit FlattenedExpression(Batched<V, L...> const&);
    void const* object;
};

/// An elementwise operation on all examples: what express() calls.
template <class Op, class... X>
    requires(detail::is_batched<X> || ...)
auto evaluate_at_once(Op op, X const&... x) {
    using Lv = detail::joined_levels<X...>;
    auto const rank = std::max({detail::rank_of(x)...});
    return detail::batched<Lv>(express(std::move(op), detail::lifted<Lv>(x, rank)...));
}

/// Evaluates the expression in a Batched.
template <BatchedOperand X> auto materialize_expression(X const& x) {
    return detail::batched<detail::levels_of<X>>(detail::materialize(x.stacked()));
}
template <BatchedOperand X> auto eval(X const& x) { return materialize_expression(x); }

} // namespace xgrad
