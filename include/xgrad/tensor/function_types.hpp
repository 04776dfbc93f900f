// Types of a custom Function: arguments and results of forward, and the gradients that backward
// takes and returns.
#pragma once

#include <optional>
#include <tuple>
#include <vector>

#include <xgrad/tensor/tensor.hpp>

namespace xgrad {

template <class F> class Context;

namespace detail {

template <class... T> struct Types {
    static constexpr std::size_t size = sizeof...(T);
    using tuple = std::tuple<T...>;
};
template <std::size_t I, class List> using type_at = std::tuple_element_t<I, typename List::tuple>;

/// Type of the gradient of an argument or result of forward; std::nullopt_t where it has none.
template <class V> struct GradientOf {
    static constexpr bool is_tensor = false;
    using type = std::nullopt_t;
};
template <Scalar T> struct GradientOf<Tensor<T>> {
    static constexpr bool is_tensor = true;
    using type = std::conditional_t<Differentiable<T>, Tensor<T>, std::nullopt_t>;
};
template <Scalar T> struct GradientOf<std::optional<Tensor<T>>> : GradientOf<Tensor<T>> {};
template <Scalar T> struct GradientOf<std::vector<Tensor<T>>> {
    static constexpr bool is_tensor = true;
    using type = std::conditional_t<Differentiable<T>, std::vector<Tensor<T>>, std::nullopt_t>;
};
template <class V> struct ScalarOf;
template <Scalar T> struct ScalarOf<Tensor<T>> : std::type_identity<T> {};
template <Scalar T> struct ScalarOf<std::optional<Tensor<T>>> : std::type_identity<T> {};
template <Scalar T> struct ScalarOf<std::vector<Tensor<T>>> : std::type_identity<T> {};
/// Element type of a tensor, an optional tensor or a vector of tensors.
template <class V> using scalar_of = typename ScalarOf<V>::type;

template <class V> using gradient_of = typename GradientOf<V>::type;
template <class V> inline constexpr bool is_tensor = GradientOf<V>::is_tensor;
/// A number where a tensor is wanted: it converts to one, but who gives it there has made a
/// mistake.
template <class X, class V>
inline constexpr bool is_number_for_tensor = Number<std::remove_cvref_t<X>> && is_tensor<V>;
template <class V> inline constexpr bool is_vector_of_tensors = false;
template <Scalar T> inline constexpr bool is_vector_of_tensors<std::vector<Tensor<T>>> = true;

/// Type of a stored value: an expression is stored as a tensor.
template <class X> struct StoredAs {
    using type = std::decay_t<X>;
};
template <class X>
    requires TensorLike<std::remove_cvref_t<X>>
struct StoredAs<X> {
    using type = tensor_type<std::remove_cvref_t<X>>;
};
template <class X> using stored_as = typename StoredAs<X>::type;

/// Types of the elements of a tuple; other types are one element.
template <class R> struct ElementsOf {
    using list = Types<R>;
    using stored = stored_as<R>;
};
template <class R>
    requires requires { std::tuple_size<R>::value; }
struct ElementsOf<R> {
    template <std::size_t... I>
    static Types<std::remove_cvref_t<std::tuple_element_t<I, R>>...> all(std::index_sequence<I...>);
    template <class... T> static std::tuple<stored_as<T>...> each_stored(Types<T...>);
    using list = decltype(all(std::make_index_sequence<std::tuple_size_v<R>>{}));
    using stored = decltype(each_stored(list{}));
};
template <class R> using elements_of = typename ElementsOf<R>::list;

template <std::size_t I, class R> auto& element(R& r) {
    if constexpr (requires { std::tuple_size<R>::value; }) return std::get<I>(r);
    else return r;
}

/// The parameter types of a static function that is neither overloaded nor a template.
template <class P> struct ParametersOf {
    static constexpr bool known = false;
};
template <class R, class... A> struct ParametersOf<R (*)(A...)> {
    static constexpr bool known = true;
    using list = Types<std::remove_cvref_t<A>...>;
};
template <class R, class... A>
struct ParametersOf<R (*)(A...) noexcept> : ParametersOf<R (*)(A...)> {};

/// Parameters behind the Context, which is the first one.
template <class F, class List> struct WithoutContext {
    static constexpr bool has_context = false;
    using list = List;
};
template <class F, class... A> struct WithoutContext<F, Types<Context<F>, A...>> {
    static constexpr bool has_context = true;
    using list = Types<A...>;
};

template <std::size_t N, class List> struct FirstOf {
    template <std::size_t... I> static Types<type_at<I, List>...> all(std::index_sequence<I...>);
    using list = decltype(all(std::make_index_sequence<N>{}));
};

template <class F> consteval auto forward_pointer() {
    if constexpr (requires { &F::forward; }) return std::type_identity<decltype(&F::forward)>{};
    else return std::type_identity<void>{};
}
template <class F> using forward_type = typename decltype(forward_pointer<F>())::type;

template <class P> struct ClassOfMember;
template <class M, class C> struct ClassOfMember<M C::*> {
    using type = C;
};
/// True for a backward of objects.
template <class F>
inline constexpr bool has_member_backward =
    requires { typename ClassOfMember<decltype(&F::backward)>::type; };
/// True for a static backward that is neither overloaded nor a template. Not for one that returns
/// `auto` and has an error in its body: g++ gives it a type that has no specialisation, and clang
/// 16 none.
template <class F>
inline constexpr bool has_static_backward =
    requires { typename ParametersOf<decltype(&F::backward)>::list; };

struct NamesBackward {
    int backward;
};
template <class F> struct NamesBackwardTwice : F, NamesBackward {};
/// True where F has a member of that name, whatever it is: then the name is ambiguous beside
/// another one.
template <class F>
inline constexpr bool has_backward = !requires { &NamesBackwardTwice<F>::backward; };

/// True where F has a jvp for tangents of types T..., correct or not.
template <class F, class... T>
inline constexpr bool has_jvp =
    requires { &F::jvp; } || requires(Context<F>& ctx, T&... t) { F::jvp(ctx, t...); };

template <class F, class... X> consteval auto find_parameters() {
    if constexpr (ParametersOf<forward_type<F>>::known)
        return WithoutContext<F, typename ParametersOf<forward_type<F>>::list>{};
    else if constexpr (requires(Context<F>& ctx, stored_as<X>&... x) { F::forward(ctx, x...); })
        return WithoutContext<F, Types<Context<F>, stored_as<X>...>>{};
    else return WithoutContext<F, Types<stored_as<X>...>>{};
}

/// A call of forward with arguments of types X...: `arguments` are all its parameters, `given`
/// those without a default value in this call.
template <class F, class... X> struct ForwardCall {
    using found = decltype(find_parameters<F, X...>());
    using arguments = typename found::list;
    using given =
        typename FirstOf<(sizeof...(X) < arguments::size ? sizeof...(X) : arguments::size),
            arguments>::list;
    static constexpr bool takes_context = found::has_context;

    template <class... V> static consteval auto find_result(Types<V...>) {
        if constexpr (takes_context &&
                      requires(Context<F>& ctx, V&... v) { F::forward(ctx, v...); })
            return std::type_identity<decltype(F::forward(
                std::declval<Context<F>&>(), std::declval<V&>()...))>{};
        else if constexpr (!takes_context && requires(V&... v) { F::forward(v...); })
            return std::type_identity<decltype(F::forward(std::declval<V&>()...))>{};
        else return std::type_identity<void>{};
    }
    using returned = std::remove_cvref_t<typename decltype(find_result(given{}))::type>;
};

} // namespace detail
} // namespace xgrad
