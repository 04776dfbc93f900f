// Checks of operations at compile time. A diagnostic is an incomplete type whose name is the
// sentence that the compiler prints. Only the first mistake is reported, so there is one error and
// no cascade.
//
// Gradients: a rule returns a derivative for each real or complex argument of a real or complex
// result. For a real result of a complex argument it returns `gradient` or `nothing`.
#pragma once

#include <xgrad/expr/probe.hpp>

namespace xgrad {

namespace verdict {

struct ok {};
template <class Op> struct derives_from_neither_Elementwise_nor_Arraywise;
template <class Op> struct has_an_empty_domain;
template <class Op, class Signature> struct has_no_const_value_for;
template <class Op, class Signature, class Got> struct value_leaves_codomain_of;
template <class Op, class Argument, class Signature> struct has_no_partial;
template <class Op, class Argument, class Signature, class Got> struct partial_is_no_derivative;
template <class Op, class Argument, class Signature> struct is_not_holomorphic_so_return_gradient;
template <class Op, class... Kinds> struct is_not_defined_on;

} // namespace verdict

namespace detail {

template <class D>
inline constexpr bool is_derivative = (is_probe<D> && !std::same_as<D, Probe<B>>) || Plain<D>;
template <> inline constexpr bool is_derivative<bool> = false;
template <> inline constexpr bool is_derivative<One> = true;
template <> inline constexpr bool is_derivative<MinusOne> = true;
template <> inline constexpr bool is_derivative<Nothing> = true;
template <> inline constexpr bool is_derivative<ImaginaryUnit> = true;
template <class M, class W> inline constexpr bool is_derivative<selected<M, W>> = is_derivative<W>;
template <class V> inline constexpr bool is_derivative<gradient<V>> = is_derivative<V>;
template <class V> inline constexpr bool is_derivative<conjugate<V>> = is_derivative<V>;
template <class V, class W>
inline constexpr bool is_derivative<wirtinger<V, W>> = is_derivative<V> && is_derivative<W>;
template <class D> inline constexpr bool is_gradient = std::same_as<D, Nothing>;
template <class V> inline constexpr bool is_gradient<gradient<V>> = true;

template <class V> using diagnostic_is = std::type_identity<V>;

template <class L> inline constexpr bool takes_gradients = std::same_as<L, R> || std::same_as<L, C>;

/// True if a value of type Got belongs to kind Y. A plain number belongs to every numeric kind,
/// since masks count as 0 and 1.
template <class Got, class Y>
inline constexpr bool lands_in =
    std::same_as<Got, probe_of<Y>> || (Plain<Got> && !std::same_as<Y, B>);

template <class Op, std::size_t I, class Y, class... X> consteval auto check_partial() {
    using L = typename ArgumentOf<I, Y(X...)>::type;
    if constexpr (!takes_gradients<L> || !takes_gradients<Y>) return diagnostic_is<verdict::ok>{};
    else if constexpr (!requires(Op const op, probe_of<Y> y, probe_of<X>... x) {
                           op.partial(wrt<I>{}, y, x...);
                       })
        return diagnostic_is<verdict::has_no_partial<Op, wrt<I>, Y(X...)>>{};
    else {
        using D =
            decltype(std::declval<Op const&>().partial(wrt<I>{}, probe_of<Y>{}, probe_of<X>{}...));
        if constexpr (!is_derivative<D>)
            return diagnostic_is<verdict::partial_is_no_derivative<Op, wrt<I>, Y(X...), D>>{};
        else if constexpr (std::same_as<L, C> && std::same_as<Y, R> && !is_gradient<D>)
            return diagnostic_is<
                verdict::is_not_holomorphic_so_return_gradient<Op, wrt<I>, Y(X...)>>{};
        else return diagnostic_is<verdict::ok>{};
    }
}

template <class Op, std::size_t I, class Y, class... X> consteval auto check_partials() {
    if constexpr (I == sizeof...(X)) return diagnostic_is<verdict::ok>{};
    else {
        using this_one = typename decltype(check_partial<Op, I, Y, X...>())::type;
        if constexpr (std::same_as<this_one, verdict::ok>)
            return check_partials<Op, I + 1, Y, X...>();
        else return diagnostic_is<this_one>{};
    }
}

template <class Op, class Y, class... X>
consteval auto check_signature(std::type_identity<Y(X...)>) {
    if constexpr (!requires(Op const op, probe_of<X>... x) { op.value(x...); })
        return diagnostic_is<verdict::has_no_const_value_for<Op, Y(X...)>>{};
    else {
        using Got = decltype(std::declval<Op const&>().value(probe_of<X>{}...));
        if constexpr (!lands_in<Got, Y>)
            return diagnostic_is<verdict::value_leaves_codomain_of<Op, Y(X...), Got>>{};
        else return check_partials<Op, 0, Y, X...>();
    }
}

template <class Op> consteval auto check_domain(Maps<>) { return diagnostic_is<verdict::ok>{}; }
template <class Op, class First, class... Rest> consteval auto check_domain(Maps<First, Rest...>) {
    using first = typename decltype(check_signature<Op>(std::type_identity<First>{}))::type;
    if constexpr (std::same_as<first, verdict::ok>) return check_domain<Op>(Maps<Rest...>{});
    else return diagnostic_is<first>{};
}

template <class Op> consteval auto check_operation() {
    if constexpr (IsArraywise<Op>) return diagnostic_is<verdict::ok>{};
    else if constexpr (!IsElementwise<Op>)
        return diagnostic_is<verdict::derives_from_neither_Elementwise_nor_Arraywise<Op>>{};
    else if constexpr (std::same_as<typename Op::domain, Maps<>>)
        return diagnostic_is<verdict::has_an_empty_domain<Op>>{};
    else return check_domain<Op>(typename Op::domain{});
}

/// Checks an operation applied to operands of these kinds.
template <class Op, class... L> consteval auto check_application() {
    using of_operation = typename decltype(check_operation<Op>())::type;
    if constexpr (!std::same_as<of_operation, verdict::ok>) return diagnostic_is<of_operation>{};
    else if constexpr (std::same_as<signature_for<Op, L...>, NoSignature>)
        return diagnostic_is<verdict::is_not_defined_on<Op, L...>>{};
    else return diagnostic_is<verdict::ok>{};
}

} // namespace detail

/// The diagnostic of the first mistake of Op, or `ok`.
template <class Op> using diagnostic_of = typename decltype(detail::check_operation<Op>())::type;
/// True for the diagnostic of an operation without a mistake.
template <class Diagnostic> inline constexpr bool accepted = std::same_as<Diagnostic, verdict::ok>;
/// The diagnostic of an operation without a mistake.
template <class Diagnostic>
concept Accepted = accepted<Diagnostic>;

namespace detail {
/// Reports a diagnostic: each one but ok is an incomplete type, so sizeof makes its name the
/// compiler's first error.
template <class Diagnostic> struct ReportDiagnostic {
    static_assert(sizeof(Diagnostic) > 0);
};
} // namespace detail

/// A type that has no mistake as an operation.
template <class Op>
concept Operation = Accepted<diagnostic_of<Op>>;
/// An elementwise operation that is defined on operands of these kinds.
template <class Op, class... L>
concept DefinedOn = Accepted<typename decltype(detail::check_application<Op, L...>())::type>;

} // namespace xgrad
