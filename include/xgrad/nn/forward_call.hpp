// The types of a module's forward, and a call of forward that stores its arguments and results for
// hooks.
#pragma once

#include <tuple>

#include <xgrad/nn/backward_hooks.hpp>
#include <xgrad/tensor/function_types.hpp>

namespace xgrad::nn::detail {

template <class X> inline constexpr bool is_tensor = false;
template <Scalar T> inline constexpr bool is_tensor<Tensor<T>> = true;
template <> inline constexpr bool is_tensor<AnyTensor> = true;
template <class X> inline constexpr bool is_optional_tensor = false;
template <class X> inline constexpr bool is_optional_tensor<std::optional<X>> = is_tensor<X>;
template <class X> inline constexpr bool is_tuple = false;
template <class... X> inline constexpr bool is_tuple<std::tuple<X...>> = true;
template <class A, class B> inline constexpr bool is_tuple<std::pair<A, B>> = true;

/// The type that stores an argument or a result: an expression is stored as a tensor.
template <class X> struct Kept {
    using type = std::remove_cvref_t<X>;
};
template <class X>
    requires(
        !is_tensor<std::remove_cvref_t<X>> && xgrad::detail::TensorLike<std::remove_cvref_t<X>>)
struct Kept<X> {
    using type = xgrad::detail::tensor_type<std::remove_cvref_t<X>>;
};
template <class X> using kept = typename Kept<X>::type;
/// The type that stores an argument: a non-const object that is no tensor, or an object that cannot
/// be copied, is passed by reference.
template <class X>
using kept_argument =
    std::conditional_t<!xgrad::detail::TensorLike<std::remove_cvref_t<X>> &&
                           std::is_lvalue_reference_v<X> &&
                           (!std::is_const_v<std::remove_reference_t<X>> ||
                               !std::is_copy_constructible_v<std::remove_cvref_t<X>>),
        X, kept<X>>;
template <class X>
using kept_result = std::conditional_t<std::is_void_v<X>, std::tuple<>,
    kept<std::conditional_t<std::is_void_v<X>, int, X>>>;
template <class X> struct KeptOrVoid : Kept<X> {};
template <> struct KeptOrVoid<void> {
    using type = void;
};
template <class X> using kept_or_void = typename KeptOrVoid<X>::type;

/// The signature of forward if it is neither overloaded nor a template.
template <class F> struct Signature {
    static constexpr bool known = false;
};
template <class R, class... A> struct UniqueSignature {
    static constexpr bool known = true;
    using Parameters = std::tuple<A...>;
    using Arguments = std::tuple<kept_argument<A>...>;
    using Result = kept_result<R>;
    template <class F, class Self>
    static constexpr bool takes =
        std::is_invocable_v<F&, Self&, std::remove_reference_t<kept_argument<A>> const&...>;
    template <class F, class Self> static auto call(F& f, Self& self, Arguments const& a) {
        return std::apply([&](auto const&... each) { return f(self, each...); }, a);
    }
};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...)> : UniqueSignature<R, A...> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const> : UniqueSignature<R, A...> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) noexcept> : UniqueSignature<R, A...> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const noexcept> : UniqueSignature<R, A...> {};
template <class R, class... A> struct Signature<R (*)(A...)> : UniqueSignature<R, A...> {};
template <class R, class... A> struct Signature<R (*)(A...) noexcept> : UniqueSignature<R, A...> {};

/// True if forward can be called with only its first parameters: the others have default arguments,
/// which the signature does not show.
template <class Self, class... A, std::size_t... I>
consteval bool takes_first(std::tuple<A...>*, std::index_sequence<I...>) {
    return requires(
        Self& s) { s.forward(std::declval<std::tuple_element_t<I, std::tuple<A...>>>()...); };
}
template <class Self, class F> consteval bool has_default_arguments() {
    if constexpr (!Signature<F>::known) return false;
    else {
        using Parameters = typename Signature<F>::Parameters;
        constexpr auto n = std::tuple_size_v<Parameters>;
        if constexpr (n == 0) return false;
        else
            return takes_first<Self>(
                static_cast<Parameters*>(nullptr), std::make_index_sequence<n - 1>{});
    }
}

/// The signature of a module's forward, if every call passes the same types.
template <class Self> struct ForwardOf : Signature<void> {};
template <class Self>
    requires requires { &Self::forward; } &&
             (!has_default_arguments<Self, decltype(&Self::forward)>())
struct ForwardOf<Self> : Signature<decltype(&Self::forward)> {};

template <class X> AnyTensor tensor_in(X const& x) {
    if constexpr (is_tensor<X>) return x;
    else if constexpr (is_optional_tensor<X>) return x ? AnyTensor(*x) : AnyTensor();
    else return {};
}

/// The first tensor in a result, which may be a tuple or a nested list.
template <class X> AnyTensor first_tensor_in(X const& x) {
    if constexpr (is_tuple<X>) {
        AnyTensor first;
        auto const visit = [&](auto const& each) {
            if (!first.defined()) first = first_tensor_in(each);
        };
        std::apply([&](auto const&... each) { (visit(each), ...); }, x);
        return first;
    } else if constexpr (!is_tensor<X> && requires {
                             requires !std::same_as<std::remove_cvref_t<decltype(*x.begin())>, X>;
                             x.end();
                         }) {
        for (auto const& each : x)
            if (auto const first = first_tensor_in(each); first.defined()) return first;
        return {};
    } else return tensor_in(x);
}

/// Replaces x by a tensor whose type is known at run time.
template <class X> void replace(X& x, AnyTensor const& t, std::size_t i, std::string_view by) {
    if constexpr (std::same_as<X, AnyTensor>) x = t;
    else if constexpr (is_tensor<X>) {
        if (t.defined() && t.dtype() != dtype_of<typename X::scalar>)
            fail<TypeError>(by, " gave a tensor of type ", name(t.dtype()), " for number ", i,
                ", which has type ", name(dtype_of<typename X::scalar>));
        x = t.defined() ? t.as<typename X::scalar>() : X();
    } else if constexpr (is_optional_tensor<X>) {
        if (!t.defined()) return x.reset();
        typename X::value_type value;
        replace(value, t, i, by);
        x = value;
    } else if (t.defined()) fail<TypeError>(by, " gave a tensor for number ", i, ", which is none");
}
template <class Tuple> Tensors tensors_in(Tuple const& all) {
    return std::apply([](auto const&... x) { return Tensors{tensor_in(x)...}; }, all);
}
template <class Tuple>
void replace_all(Tuple& all, Tensors const& tensors, std::string_view what, std::string_view by) {
    constexpr auto n = std::tuple_size_v<Tuple>;
    if (tensors.size() != n)
        fail<GraphError>(by, " returned ", tensors.size(), " tensors for ", n, " ", what);
    Tensors const before = tensors_in(all);
    std::size_t i = 0;
    auto const put = [&](auto& x) {
        if (!tensors[i].is_same(before[i])) replace(x, tensors[i], i, by);
        ++i;
    };
    std::apply([&](auto&... x) { (put(x), ...); }, all);
}

/// The typed arguments and result of a call.
template <class Arguments, class Result> class CallValues : public ModuleCall {
public:
    template <class... A>
    explicit CallValues(A&&... a) : kept_arguments(std::in_place, std::forward<A>(a)...) {}

    Tensors arguments() const final { return tensors_in(*kept_arguments); }
    void set_arguments(Tensors const& tensors, std::string_view by) final {
        replace_all(*kept_arguments, tensors, "arguments", by);
    }
    Tensors results() const final {
        if (!result) return {};
        if constexpr (is_tuple<Result>) return tensors_in(*result);
        else return {tensor_in(*result)};
    }
    void set_results(Tensors const& tensors, std::string_view by) final {
        if constexpr (is_tuple<Result>) replace_all(*result, tensors, "results", by);
        else {
            auto one = std::tie(*result);
            replace_all(one, tensors, "results", by);
        }
    }
    AnyTensor first_result() const final { return result ? first_tensor_in(*result) : AnyTensor(); }
    bool returns_tensors() const final {
        return is_tensor<Result> || is_tuple<Result> || is_optional_tensor<Result>;
    }

    std::optional<Arguments> kept_arguments;
    std::optional<Result> result;
};

template <class Self, class Arguments, class Result>
class CallOf final : public CallValues<Arguments, Result> {
public:
    template <class... A>
    explicit CallOf(Self& self, A&&... a)
        : CallValues<Arguments, Result>(std::forward<A>(a)...), self_(self) {}

    void forward() override {
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            auto const call = [&]() -> decltype(auto) {
                return self_.forward(passed<std::tuple_element_t<I, Arguments>>(
                    std::get<I>(*this->kept_arguments))...);
            };
            if constexpr (std::is_void_v<decltype(call())>) {
                call();
                this->result.emplace();
            } else this->result.emplace(call());
        }(std::make_index_sequence<std::tuple_size_v<Arguments>>{});
    }

private:
    /// Passes copies where possible: hooks after forward still need the arguments.
    template <class A, class X> static decltype(auto) passed(X& x) {
        if constexpr (std::is_reference_v<A> || std::is_copy_constructible_v<A>) return (x);
        else return std::move(x);
    }

    Self& self_;
};

/// An argument as a tensor of this precision; what is no real or complex operand stays as it is.
template <class P, class A> struct WithPrecision {
    using type = A;
};
template <class P, Operand A>
    requires RealScalar<typename A::scalar>
struct WithPrecision<P, A> {
    using type = Tensor<P>;
};
template <class P, Operand A>
    requires ComplexScalar<typename A::scalar>
struct WithPrecision<P, A> {
    using type = Tensor<std::complex<P>>;
};
template <class P, class A>
using with_precision = typename WithPrecision<P, std::remove_cvref_t<A>>::type;

/// A hook that may replace a T may return nothing, a T, or an optional T.
template <class R, class V>
inline constexpr bool returns = std::disjunction_v<std::is_void<R>, std::is_convertible<R, V>,
                                    std::is_convertible<R, std::optional<V>>> &&
                                !xgrad::detail::is_number_for_tensor<R, V>;
template <class R, class... A>
inline constexpr bool returns<R, std::tuple<A...>> =
    std::disjunction_v<std::is_void<R>, std::is_convertible<R, std::tuple<A...>>,
        std::is_convertible<R, std::optional<std::tuple<A...>>>,
        std::conjunction<std::bool_constant<sizeof...(A) == 1>, std::is_convertible<R, A>...>> &&
    !(xgrad::detail::is_number_for_tensor<R, A> || ...);

template <class V, class R> void take(std::optional<V>& place, R&& value) {
    if constexpr (std::is_convertible_v<R, V>) place.emplace(std::forward<R>(value));
    else if constexpr (std::is_convertible_v<R, std::optional<V>>) {
        if (std::optional<V> some(std::forward<R>(value)); some) place.emplace(*std::move(some));
    } else place.emplace(V(std::forward<R>(value)));
}

} // namespace xgrad::nn::detail
