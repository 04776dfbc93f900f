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

/// The first of these diagnostics that is not ok.
template <class First, class... More>
consteval auto first_mistake(std::type_identity<First> first, More... more) {
    if constexpr (sizeof...(More) == 0 || !std::same_as<First, verdict::ok>) return first;
    else return first_mistake(more...);
}

template <class Op, class Y, class... X>
consteval auto check_signature(std::type_identity<Y(X...)>) {
    if constexpr (!requires(Op const op, probe_of<X>... x) { op.value(x...); })
        return diagnostic_is<verdict::has_no_const_value_for<Op, Y(X...)>>{};
    else {
        using Got = decltype(std::declval<Op const&>().value(probe_of<X>{}...));
        if constexpr (!lands_in<Got, Y>)
            return diagnostic_is<verdict::value_leaves_codomain_of<Op, Y(X...), Got>>{};
        else
            return []<std::size_t... I>(std::index_sequence<I...>) {
                return first_mistake(check_partial<Op, I, Y, X...>()...);
            }(std::index_sequence_for<X...>{});
    }
}

template <class Op, class... S> consteval auto check_domain(Maps<S...>) {
    return first_mistake(check_signature<Op>(std::type_identity<S>{})...);
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

/// Reports a diagnostic: each one but ok is an incomplete type, so sizeof makes its name the
/// compiler's first error.
template <class Diagnostic> struct ReportDiagnostic {
    static_assert(sizeof(Diagnostic) > 0);
};
/// Complex numbers where real ones would be right.
template <class Op, class... L>
    requires(!std::same_as<signature_for<Op, std::conditional_t<std::same_as<L, C>, R, L>...>,
             NoSignature>)
struct ReportDiagnostic<verdict::is_not_defined_on<Op, L...>> {
    static_assert(sizeof...(L) == 0, "complex numbers have no order: take abs(z) or real(z)");
};

} // namespace detail

/// The diagnostic of the first mistake of Op, or `ok`.
template <class Op> using diagnostic_of = typename decltype(detail::check_operation<Op>())::type;
/// True for the diagnostic of an operation without a mistake.
template <class Diagnostic> inline constexpr bool accepted = std::same_as<Diagnostic, verdict::ok>;
/// A type that has no mistake as an operation.
template <class Op>
concept Operation = accepted<diagnostic_of<Op>>;

} // namespace xgrad
