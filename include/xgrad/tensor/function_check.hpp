// Compile-time checks of custom Functions. Each diagnostic is a type whose name is the sentence
// that the compiler prints. docs/functions.md shows each with an example.
//
// Gradients: each tensor argument with a real or complex type wants a gradient of its type, every
// other one std::nullopt.
// Errors: all stop at compile time: the first mistake is an incomplete type, whose name is a
// sentence.
#pragma once

#include <xgrad/tensor/function_types.hpp>

namespace xgrad {

namespace verdict {

template <std::size_t I> struct argument;
template <std::size_t I> struct output;
template <std::size_t N> struct given;
template <std::size_t N> struct wanted;

/// The diagnostics of a Function F, in the order of the checks.
template <class F> struct Function {
    struct forward_is_not_static;
    template <class... X> struct has_no_static_forward_for;
    template <class Given, class Wanted> struct apply_has_the_wrong_number_of_arguments;
    template <class Argument, class Got, class Wanted> struct apply_has_an_argument_of_another_type;
    template <class Argument, class Got> struct forward_takes_a_tensor_of_unknown_type;
    template <class R> struct forward_returns_no_tensor;
    template <class... X> struct forward_takes_no_Context_and_no_setup_context_takes;
    template <class T> struct Saved_is_no_tuple_of_tensors;
    template <class T> struct Data_is_no_class_that_is_made_without_arguments;
    struct backward_is_not_static;
    template <class... G> struct has_no_static_backward_for;
    struct backward_takes_no_Context_first;
    template <class Given, class Wanted> struct backward_takes_the_wrong_number_of_gradients;
    template <class Output, class Got, class Wanted>
    struct backward_takes_a_gradient_of_another_type;
    struct backward_returns_nothing_or_has_an_error_told_above;
    template <class Given, class Wanted> struct backward_returns_too_few_gradients;
    template <class Given, class Wanted> struct backward_returns_too_many_gradients;
    template <class Argument, class Got>
    struct backward_returns_a_gradient_for_an_argument_that_has_none;
    template <class Argument, class Got, class Wanted>
    struct backward_returns_a_complex_gradient_for_a_real_argument;
    template <class Argument, class Got, class Wanted>
    struct backward_returns_a_gradient_of_another_type;
    template <class... T> struct has_no_static_jvp_for;
    template <class Got, class Wanted>
    struct jvp_returns_something_else_than_a_tangent_for_each_result;
    template <class Got, class Wanted> struct save_for_backward_saves_something_else_than_Saved;
};

} // namespace verdict

namespace detail {

using Ok = std::type_identity<verdict::ok>;
template <class V> inline constexpr bool is_ok = std::same_as<V, Ok>;

/// True where apply() accepts an X for a parameter of type V.
template <class X, class V>
inline constexpr bool fits = (std::is_convertible_v<X, V> && !is_number_for_tensor<X, V>) ||
                             (TensorLike<std::remove_cvref_t<X>> && std::same_as<stored_as<X>, V>);
template <class T>
inline constexpr bool is_untyped =
    std::same_as<T, AnyTensor> || std::same_as<T, std::vector<AnyTensor>> ||
    std::same_as<T, std::optional<AnyTensor>>;
template <class List> inline constexpr bool has_tensor = false;
template <class... Y> inline constexpr bool has_tensor<Types<Y...>> = (is_tensor<Y> || ...);
template <class T> inline constexpr bool is_tuple_of_tensors = false;
template <class... T>
inline constexpr bool is_tuple_of_tensors<std::tuple<T...>> = (is_tensor<T> && ...);
template <class T>
inline constexpr bool can_be_derived_from = std::is_class_v<T> && !std::is_final_v<T>;
template <class T>
inline constexpr bool can_be_data = can_be_derived_from<T> && std::is_default_constructible_v<T>;

/// Checks Saved and Data of a Function.
template <class F> consteval auto check_context() {
    using Sentence = verdict::Function<F>;
    if constexpr (requires { requires !is_tuple_of_tensors<typename F::Saved>; })
        return diagnostic_is<
            typename Sentence::template Saved_is_no_tuple_of_tensors<typename F::Saved>>{};
    else if constexpr (requires { requires !can_be_data<typename F::Data>; })
        return diagnostic_is<typename Sentence::
                template Data_is_no_class_that_is_made_without_arguments<typename F::Data>>{};
    else return Ok{};
}

/// In the place of a diagnostic, where the compiler has told of the mistake.
struct AlreadyReported {};

/// Checks a Function that is applied to arguments of types X...
template <class F, class... X> struct FunctionCheck {
    using Sentence = verdict::Function<F>;
    using Call = ForwardCall<F, X...>;
    using Arguments = typename Call::arguments;
    using Returned = typename Call::returned;
    using Output = typename ElementsOf<Returned>::stored;
    using Outputs = elements_of<Output>;

    static consteval auto all() {
        if constexpr (!is_ok<decltype(check_context<F>())>) return check_context<F>();
        else if constexpr (!is_ok<decltype(forward())>) return forward();
        else if constexpr (!is_ok<decltype(backward(gradients_of(Outputs{})))>)
            return backward(gradients_of(Outputs{}));
        else return jvp(gradients_of(Arguments{}));
    }

private:
    static consteval auto forward() {
        constexpr bool known = ParametersOf<forward_type<F>>::known,
                       fewer = sizeof...(X) < Arguments::size;
        using WrongNumber = typename Sentence::template apply_has_the_wrong_number_of_arguments<
            verdict::given<sizeof...(X)>, verdict::wanted<Arguments::size>>;
        if constexpr (std::is_member_pointer_v<forward_type<F>>)
            return diagnostic_is<typename Sentence::forward_is_not_static>{};
        else if constexpr (sizeof...(X) > Arguments::size) return diagnostic_is<WrongNumber>{};
        else if constexpr (!is_ok<decltype(arguments<0>())>) return arguments<0>();
        else if constexpr (std::is_void_v<Returned> && known && fewer)
            return diagnostic_is<WrongNumber>{};
        else if constexpr (std::is_void_v<Returned> && !known)
            return diagnostic_is<typename Sentence::template has_no_static_forward_for<Context<F>,
                stored_as<X>...>>{};
        else if constexpr (!has_tensor<Outputs>)
            return diagnostic_is<typename Sentence::template forward_returns_no_tensor<Returned>>{};
        else if constexpr (!Call::takes_context) return setup_context(typename Call::given{});
        else return Ok{};
    }

    template <std::size_t I> static consteval auto arguments() {
        if constexpr (I == Call::given::size) return Ok{};
        else {
            using V = type_at<I, typename Call::given>;
            using Given = type_at<I, Types<X...>>;
            if constexpr (is_untyped<V>)
                return diagnostic_is<typename Sentence::
                        template forward_takes_a_tensor_of_unknown_type<verdict::argument<I>, V>>{};
            else if constexpr (!fits<Given, V>)
                return diagnostic_is<
                    typename Sentence::template apply_has_an_argument_of_another_type<
                        verdict::argument<I>, stored_as<Given>, V>>{};
            else return arguments<I + 1>();
        }
    }

    template <class... V> static consteval auto setup_context(Types<V...>) {
        using Inputs = std::tuple<V...>;
        if constexpr (requires(Context<F>& ctx, Inputs const& inputs, Output const& output) {
                          F::setup_context(ctx, inputs, output);
                      })
            return Ok{};
        else
            return diagnostic_is<
                typename Sentence::template forward_takes_no_Context_and_no_setup_context_takes<
                    Context<F>, Inputs, Output>>{};
    }

    template <class... Y> static consteval auto gradients_of(Types<Y...>) {
        return Types<gradient_of<Y>...>{};
    }

    template <class... G> static consteval auto backward(Types<G...> gradients) {
        if constexpr (has_member_backward<F>)
            return diagnostic_is<typename Sentence::backward_is_not_static>{};
        else if constexpr (!is_ok<decltype(parameters(gradients))>) return parameters(gradients);
        else if constexpr (has_static_backward<F>) return call_of_backward(gradients);
        else if constexpr (!has_backward<F>)
            return diagnostic_is<
                typename Sentence::template has_no_static_backward_for<Context<F>, G...>>{};
        else return call_of_backward(gradients);
    }

    template <class... G> static consteval auto call_of_backward(Types<G...>) {
        // Here the compiler tells an error in the body of a template, and why none of several
        // functions fits. One that returns `auto` has no type after such an error.
        static_cast<void>([](Context<F>& ctx, G&... g) { F::backward(ctx, g...); });
        if constexpr (requires(Context<F>& ctx, G&... g) { F::backward(ctx, g...); })
            return returned<std::remove_cvref_t<decltype(F::backward(
                std::declval<Context<F>&>(), std::declval<G&>()...))>>();
        else return std::type_identity<AlreadyReported>{};
    }

    /// Checks of backward that need its parameter types.
    template <class Gradients> static consteval auto parameters(Gradients) {
        if constexpr (!has_static_backward<F>) return Ok{};
        else {
            using After = WithoutContext<F, typename ParametersOf<decltype(&F::backward)>::list>;
            if constexpr (!After::has_context)
                return diagnostic_is<typename Sentence::backward_takes_no_Context_first>{};
            else if constexpr (After::list::size != Gradients::size)
                return diagnostic_is<
                    typename Sentence::template backward_takes_the_wrong_number_of_gradients<
                        verdict::given<After::list::size>, verdict::wanted<Gradients::size>>>{};
            else return parameter<0, typename After::list, Gradients>();
        }
    }
    template <std::size_t I, class List, class Gradients> static consteval auto parameter() {
        if constexpr (I == List::size) return Ok{};
        else if constexpr (!std::is_convertible_v<type_at<I, Gradients>, type_at<I, List>>)
            return diagnostic_is<
                typename Sentence::template backward_takes_a_gradient_of_another_type<
                    verdict::output<I>, type_at<I, List>, type_at<I, Gradients>>>{};
        else return parameter<I + 1, List, Gradients>();
    }

    template <class R> static consteval auto returned() {
        using List = elements_of<R>;
        if constexpr (std::is_void_v<R>)
            return diagnostic_is<
                typename Sentence::backward_returns_nothing_or_has_an_error_told_above>{};
        else if constexpr (List::size < Arguments::size)
            return diagnostic_is<typename Sentence::template backward_returns_too_few_gradients<
                verdict::given<List::size>, verdict::wanted<Arguments::size>>>{};
        else return gradient<0, List>();
    }
    template <std::size_t I, class List> static consteval auto gradient() {
        if constexpr (I == List::size) return Ok{};
        // An overloaded forward may be called with fewer arguments than backward returns gradients.
        else if constexpr (std::same_as<type_at<I, List>, std::nullopt_t> &&
                           (I < Arguments::size || !ParametersOf<forward_type<F>>::known))
            return gradient<I + 1, List>();
        else if constexpr (I >= Arguments::size)
            return diagnostic_is<typename Sentence::template backward_returns_too_many_gradients<
                verdict::given<List::size>, verdict::wanted<Arguments::size>>>{};
        else {
            using V = type_at<I, Arguments>;
            using Wanted = gradient_of<V>;
            using Got = stored_as<type_at<I, List>>;
            if constexpr (std::same_as<Wanted, std::nullopt_t>)
                return diagnostic_is<typename Sentence::
                        template backward_returns_a_gradient_for_an_argument_that_has_none<
                            verdict::argument<I>, V>>{};
            else if constexpr (std::same_as<Got, Wanted> ||
                               std::same_as<Got, std::optional<Wanted>>)
                return gradient<I + 1, List>();
            else if constexpr (is_complex_of<Got, Wanted>)
                return diagnostic_is<typename Sentence::
                        template backward_returns_a_complex_gradient_for_a_real_argument<
                            verdict::argument<I>, Got, Wanted>>{};
            else
                return diagnostic_is<
                    typename Sentence::template backward_returns_a_gradient_of_another_type<
                        verdict::argument<I>, Got, Wanted>>{};
        }
    }
    /// Checks jvp, which is optional: it takes a tangent for each argument and returns one for each
    /// result.
    template <class... T> static consteval auto jvp(Types<T...>) {
        if constexpr (!has_jvp<F, T...>) return Ok{};
        else if constexpr (!requires(Context<F>& ctx, T&... t) { F::jvp(ctx, t...); })
            return diagnostic_is<
                typename Sentence::template has_no_static_jvp_for<Context<F>, T...>>{};
        else {
            using Got = elements_of<std::remove_cvref_t<decltype(F::jvp(
                std::declval<Context<F>&>(), std::declval<T&>()...))>>;
            using Wanted = decltype(gradients_of(Outputs{}));
            if constexpr (are_tangents(Got{}, Wanted{})) return Ok{};
            else
                return diagnostic_is<typename Sentence::
                        template jvp_returns_something_else_than_a_tangent_for_each_result<Got,
                            Wanted>>{};
        }
    }
    template <class... Got, class... Wanted>
    static constexpr bool are_tangents(Types<Got...>, Types<Wanted...>) {
        if constexpr (sizeof...(Got) == sizeof...(Wanted))
            return ((std::same_as<Got, std::nullopt_t> || std::same_as<stored_as<Got>, Wanted> ||
                     std::same_as<stored_as<Got>, std::optional<Wanted>>)&&...);
        else return false;
    }

    template <class Got, class Wanted>
    static constexpr bool is_complex_of =
        requires { requires std::same_as<Got, Tensor<std::complex<typename Wanted::scalar>>>; };
};

} // namespace detail
} // namespace xgrad
