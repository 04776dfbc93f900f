// Arguments of Tensor's constructors: nested lists, ranges, pointers, and whether the tensor
// requires a gradient.
//
// Shapes: the levels of a nested list are the axes; a range is a vector, or has the given shape.
// Gradients: none; requires_grad makes a leaf that accumulates them. Tensors in a list get theirs.
// Errors: rows of different lengths, lists beside numbers, and numbers that do not fill the shape
// are a ShapeError; a null pointer is an Error. requires_grad of integers or masks does not
// compile, and neither does a bool in its place.
#pragma once

#include <complex>
#include <concepts>
#include <initializer_list>
#include <string_view>

#include <xgrad/autograd/any_tensor.hpp>
#include <xgrad/core/array.hpp>
#include <xgrad/core/shape.hpp>
#include <xgrad/core/xtensor.hpp>
#include <xgrad/expr/expression.hpp>

namespace xgrad {

/// Constructs a leaf that requires a gradient: `Tensor<double> x({1., 2.}, xg::requires_grad)`.
struct RequiresGrad {
    bool value = false; // true in requires_grad
};
inline constexpr RequiresGrad requires_grad{true};

/// The last argument of functions that create a Tensor<T>: nothing, or requires_grad.
template <Scalar T> struct GradFlag {
    bool value = false; // true if the tensor shall require a gradient
    GradFlag() = default;
    GradFlag(RequiresGrad g) : value(g.value) {
        static_assert(detail::has_gradients<T>,
            "only Tensors of floating point and complex dtype can require gradients");
    }
    /// Rejects a bool, which does not say what it turns on.
    template <std::same_as<bool> B> GradFlag(B) {
        static_assert(detail::has_gradients<T>,
            "only Tensors of floating point and complex dtype can require gradients");
        static_assert(!detail::has_gradients<T> || !std::same_as<B, bool>,
            "a bool does not say what it turns on; write xg::requires_grad, as in "
            "Tensor<double> x({1., 2.}, xg::requires_grad), or xg::RequiresGrad{b} for a bool b");
    }
};

namespace detail {

/// xt::keep and xt::drop.
template <class I>
concept XtensorList = requires(I i) { i.normalize(std::size_t{}); };
/// A list of positions of an axis.
template <class I>
concept TensorIndex =
    XtensorList<I> || (Operand<I> && std::same_as<typename I::scalar, std::int64_t>);

template <class T, bool outermost = true> struct NestedList;
template <Scalar T>
void take_tensors(Tensor<T>& x, std::initializer_list<NestedList<T>> const& values);

/// An element of a braced list: a number or a list. {5.} is always a list, so that {{5.}, {6.}} can
/// only be a matrix. Inside a list it may be a tensor without dimensions, too; in the outermost
/// list Tensor<double>{x} would not be x any more.
template <class T, bool outermost> struct NestedList {
    T value{};
    std::initializer_list<NestedList<T, false>> list{};
    bool is_number = false;
    AnyTensor tensor = {};
    /// Joins the tensors of a whole list. Only a program that writes one compiles that.
    void (*join)(Tensor<T>&, std::initializer_list<NestedList<T>> const&) = nullptr;

    template <std::convertible_to<T> U>
    NestedList(U const& v) : value(static_cast<T>(v)), is_number(true) {}
    NestedList(std::initializer_list<NestedList<T, false>> l) : list(l) {}
    template <Operand X>
        requires(!outermost && std::same_as<typename X::scalar, T>)
    NestedList(X const& x)
        : is_number(true), tensor(materialize_expression(x)), join(&take_tensors<T>) {}
};

template <class V> inline constexpr bool is_dims = false;
template <class T> inline constexpr bool is_dims<Dims<T>> = true;
/// A range that knows its size, and is neither a tensor, an array of ours, an xtensor expression, a
/// shape nor a text.
template <class V>
concept PlainRange =
    !Operand<V> && !XtensorExpression<V> && !is_dims<V> && !std::derived_from<V, AnyArray> &&
    !std::is_convertible_v<V const&, std::string_view> && std::ranges::sized_range<V const>;
template <class V>
concept NumberRange = PlainRange<V> && Number<std::ranges::range_value_t<V>>;
template <class V>
concept RangeOfRanges = PlainRange<V> && PlainRange<std::ranges::range_value_t<V>>;
/// True unless U is complex and T is not.
template <class U, class T>
concept ConvertsTo = !is_complex<U> || is_complex<T>;
/// An element that may be missing: one of a masked or an optional array of xtensor.
template <class V>
concept MissingValue = requires(V const& v) {
    v.value();
    requires requires { v.visible(); } || requires { v.has_value(); };
};
template <class V> inline constexpr bool has_missing_values = false;
template <XtensorExpression V>
inline constexpr bool has_missing_values<V> =
    MissingValue<typename std::remove_cvref_t<V>::value_type>;
/// An xtensor container or view whose elements lie in memory.
template <class A>
concept StridedXtensor = XtensorExpression<A> && requires(A& a) {
    a.data() + a.data_offset();
    a.strides().begin();
    requires std::is_pointer_v<std::remove_cvref_t<decltype(a.storage().data())>>;
};

/// An xtensor expression without elements in memory, such as xt::linspace() or 2. * array, of
/// numbers that a Tensor<T> may have: it has to be evaluated, so that nobody would expect that the
/// tensor shares its memory.
template <class V, class T> inline constexpr bool evaluates_to = false;
template <XtensorExpression V, class T>
    requires(!StridedXtensor<V const> && !has_missing_values<V> &&
                Number<std::remove_cvref_t<typename V::value_type>>)
inline constexpr bool evaluates_to<V, T> =
    is_kind_within<kind_of<std::remove_cvref_t<typename V::value_type>>, kind_of<T>>;
/// What a constructor of Tensor<T> takes in parentheses only. (One variable, so that the messages
/// about other constructors stay short.)
template <class V, class T>
inline constexpr bool copied_explicitly = NumberRange<V> || RangeOfRanges<V>;
template <XtensorExpression V, class T>
inline constexpr bool copied_explicitly<V, T> =
    has_missing_values<V> ||
    (std::convertible_to<typename std::remove_cvref_t<V>::value_type, T> && !evaluates_to<V, T>);
/// What a Tensor<T> is made of, when it is written in parentheses.
template <class V, class T>
inline constexpr bool copies_from = [] {
    if constexpr (XtensorExpression<V>)
        return has_missing_values<V> ||
               std::convertible_to<typename std::remove_cvref_t<V>::value_type, T>;
    else if constexpr (NumberRange<V>) return ConvertsTo<std::ranges::range_value_t<V>, T>;
    else return false;
}();
/// True for an expression of this scalar type, and for one of constants and masks, whose precision
/// the tensor decides: Tensor<double> y = where(mask, 1, 0).
template <class E, class T>
inline constexpr bool has_scalar =
    std::same_as<typename E::scalar, T> ||
    (!E::has_precision && is_kind_within<typename E::kind, kind_of<T>>);

/// An expression of bool, of tensors or of xtensor: x(mask).
template <class M> inline constexpr bool is_mask = false;
template <class Op, class... X>
inline constexpr bool is_mask<Expression<Op, X...>> =
    std::same_as<typename Expression<Op, X...>::scalar, bool>;
template <XtensorExpression M>
inline constexpr bool is_mask<M> = std::same_as<std::remove_cvref_t<typename M::value_type>, bool>;

/// Shape or strides as xtensor's functions take them.
template <class D> auto xt_dims(D const& d) {
    return xt::dynamic_shape<typename D::value_type>(d.begin(), d.end());
}

/// Makes the array of a tensor from what its constructors take.
template <class T> struct ArrayOf {
    using List = std::initializer_list<NestedList<T>>;

    template <class L>
    [[gnu::cold]] static void copy_list(
        L const& list, Shape const& shape, std::size_t depth, T*& out) {
        if (auto const wanted = shape[depth]; list.size() != wanted)
            fail<ShapeError>(
                "Tensor: a nested list has rows of ", wanted, " and of ", list.size(), " elements");
        bool const innermost = depth + 1 == shape.size();
        for (auto const& inner : list) {
            if (inner.is_number != innermost)
                fail<ShapeError>("Tensor: a nested list has numbers beside lists");
            if (innermost) *out++ = inner.value;
            else copy_list(inner.list, shape, depth + 1, out);
        }
    }
    /// Calls f(element) for the numbers and tensors of a list, in row-major order.
    template <class L, class F> [[gnu::cold]] static void for_each(L const& list, F const& f) {
        for (auto const& inner : list)
            if (inner.is_number) f(inner);
            else for_each(inner.list, f);
    }
    /// How the tensors in a list are joined; nullptr where it has none.
    [[gnu::cold]] static auto join_of(List const& list) {
        decltype(list.begin()->join) join = nullptr;
        for_each(list, [&join](auto const& element) {
            if (element.join) join = element.join;
        });
        return join;
    }
    [[gnu::cold]] static Array<T> from_list(List const& list) {
        Shape shape{list.size()};
        if (shape.back() && !list.begin()->is_number) {
            auto const* inner = &list.begin()->list;
            shape.push_back(inner->size());
            for (; shape.back() && !inner->begin()->is_number; inner = &inner->begin()->list)
                shape.push_back(inner->begin()->list.size());
        }
        Array<T> a(shape);
        T* out = a.begin();
        copy_list(list, shape, 0, out);
        return a;
    }
    template <class V> static Array<T> from(V const& values) {
        if constexpr (XtensorExpression<V>) return from_xtensor(values);
        else return from_range(values);
    }
    template <class V> static Array<T> from_range(V const& numbers) {
        Array<T> a(Shape{std::ranges::size(numbers)});
        T* out = a.begin();
        for (auto const& number : numbers)
            *out++ = converted<T>(std::ranges::range_value_t<V>(number));
        return a;
    }
    template <class V> static Array<T> from_range(V const& numbers, Shape const& shape) {
        auto a = from_range(numbers);
        if (numel(shape) != a.numel)
            fail<ShapeError>("Tensor: ", a.numel, " numbers do not fill an array of shape ", shape);
        return a.view(shape, row_major(shape));
    }
    template <class U> static Array<T> from_pointer(U const* data, Shape const& shape) {
        Array<T> a(shape);
        if (!data && a.numel) fail("Tensor: the pointer is null");
        std::transform(data, data + a.numel, a.begin(), &converted<T, U>);
        return a;
    }
    template <class E> static Array<T> from_xtensor(E const& e) {
        Array<T> a(Shape(e.shape().begin(), e.shape().end()));
        static_assert(!has_missing_values<E>,
            "Tensor: a tensor has no mask, and elements of this array may be missing; write what "
            "they are: Tensor<double> x(where(mask, values, 0.))");
        // Ten times faster than xtensor's assignment where the layouts differ.
        if constexpr (StridedXtensor<E const>)
            if constexpr (std::same_as<T, std::remove_cvref_t<decltype(*e.data())>>) {
                Strides const strides(e.strides().begin(), e.strides().end());
                if (std::none_of(strides.begin(), strides.end(), [](auto s) { return s < 0; })) {
                    auto* const first = const_cast<T*>(e.data() + e.data_offset());
                    Array<T> source;
                    source.set_view(a.shape, strides);
                    source.data = reinterpret_cast<std::byte*>(first);
                    copy_elements(a, source);
                    return a;
                }
            }
        if constexpr (!has_missing_values<E>) {
            auto out = xt::adapt(a.begin(), a.numel, xt::no_ownership(), xt_dims(a.shape));
            xt::noalias(out) = e;
        }
        return a;
    }
};

} // namespace detail

/// Tensor x({1., 2.}): the numbers of a list give its type, if they have one; integers of any width
/// become int64.
template <Number N>
Tensor(std::initializer_list<N>, GradFlag<detail::tensor_scalar<N>> = {})
    -> Tensor<detail::tensor_scalar<N>>;
template <Number N>
Tensor(std::initializer_list<std::initializer_list<N>>, GradFlag<detail::tensor_scalar<N>> = {})
    -> Tensor<detail::tensor_scalar<N>>;
template <Number N>
Tensor(std::initializer_list<std::initializer_list<std::initializer_list<N>>>,
    GradFlag<detail::tensor_scalar<N>> = {}) -> Tensor<detail::tensor_scalar<N>>;
template <Number N>
Tensor(
    std::initializer_list<std::initializer_list<std::initializer_list<std::initializer_list<N>>>>,
    GradFlag<detail::tensor_scalar<N>> = {}) -> Tensor<detail::tensor_scalar<N>>;
/// A list of numbers of several types, or with tensors of double or std::complex<double>, or of
/// more levels: of double, or of complex numbers where it has one. So integers of two types become
/// double, too: write Tensor<std::int64_t>. (A template comes second where both fit.)
Tensor(std::initializer_list<detail::NestedList<double>>, GradFlag<double> = {}) -> Tensor<double>;
template <class T = std::complex<double>>
Tensor(std::initializer_list<detail::NestedList<std::complex<double>>>,
    GradFlag<std::complex<double>> = {}) -> Tensor<T>;

} // namespace xgrad
