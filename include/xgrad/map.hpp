// map(): a function of numbers, called for each element of tensors. It is an operation of an
// expression as any other: one Node, fused with the operations around it.
//
// Shapes: the operands broadcast as in NumPy; the result has their common shape.
// Gradients: as of other operations, backward and forward: of any order up to the third. A complex
// operand gets dL/dRe + i dL/dIm, as in PyTorch, also where F is not holomorphic.
// Errors: shapes that do not broadcast are a ShapeError. What F throws leaves map() as it is. A
// function that cannot be called with these numbers does not compile.
#pragma once

#include <xgrad/core/begin_headers.inc> // first

#include <concepts>

#include <xgrad/map/call_check.hpp>
#include <xgrad/map/several.hpp>
#include <xgrad/xgrad.hpp>

namespace xgrad {

/// Says that a function branches on its arguments: `map(with_branches, f, x)` calls it number by
/// number instead of batch by batch.
struct WithBranches {};
inline constexpr WithBranches with_branches{};
/// Says that a function of complex numbers is holomorphic: its derivative costs half. It is not
/// checked: of conj(z) or abs(z) the derivatives are wrong.
struct Holomorphic {};
inline constexpr Holomorphic holomorphic{};

namespace detail {

/// A function whose result has no derivative: it is not compiled for dual numbers with tangents.
template <class F> struct OfValues {
    F f;
    template <class... X> XGRAD_INLINE auto operator()(X const&... x) const {
        return f(Dual<decltype(val(x)), 0>(val(x))...);
    }
};
template <class Options, class F, class... X> auto map_with(F const& f, X&&... x) {
    constexpr bool has_operands = AnyOperand<X...> && !OperandLike<F>;
    static_assert(has_operands,
        "map: behind the function stand its operands: tensors or expressions, and numbers; the "
        "function stands first, and is no tensor");
    if constexpr (!has_operands) return StandIn();
    else {
        using P = result_precision<R, widest_precision<typename operand_type<X>::precision...>>;
        using Call = CallWithNumbers<F, mapped_number<Options, mapped_kind<X>, P>...>;
        if constexpr (!Call::fits && !Call::compiles) static_cast<void>(typename Call::Report());
        if constexpr (!Call::compiles) return StandIn();
        else {
            using Result =
                decltype(f(std::declval<mapped_number<Options, mapped_kind<X>, P>>()...));
            constexpr bool is_real = any_complex<mapped_kind<X>...> && has_real_number<Result>;
            static_assert(!is_real || !Options::is_holomorphic,
                "map: a function of complex numbers that returns a real one "
                "is not holomorphic: leave xg::holomorphic out");
            if constexpr (is_real && Options::is_holomorphic) return StandIn();
            else if constexpr (SeveralNumbers<Result>)
                return map_several<Options, Result, P>(f, x...);
            else {
                static_assert(OneNumber<Result>,
                    "map: the function must return a number, or a tuple or an array of numbers");
                if constexpr (Number<Result> && !std::same_as<Result, bool>)
                    return express(
                        Map<OfValues<F>, Options, result_kind<Result>(mapped_kind<X>...)>{{}, {f}},
                        std::forward<X>(x)...);
                else if constexpr (OneNumber<Result>)
                    return express(Map<F, Options, result_kind<Result>(mapped_kind<X>...)>{{}, f},
                        std::forward<X>(x)...);
                else return StandIn();
            }
        }
    }
}
template <class Options, class... X> auto map_with(WithBranches, X&&... x) {
    return map_with<typename Options::branching>(std::forward<X>(x)...);
}
template <class Options, class... X> auto map_with(Holomorphic, X&&... x) {
    return map_with<typename Options::analytical>(std::forward<X>(x)...);
}
} // namespace detail

/// f(a, b, ...) for each element of the operands, which broadcast. f takes numbers and returns one;
/// its type must be a template: it is called with dual numbers (Dual), from which the derivatives
/// come. It may have loops and state that it captured; one that branches on values needs
/// `map(with_branches, f, a, b)`.
///
/// backward() calls f again: capture by value, [=]. `checks`: another value of the second call is a
/// GraphError.
template <bool checks = XGRAD_CHECKS_CALLS, class... X> auto map(X&&... x) {
    return detail::map_with<MapOptions<false, false, 0, checks>>(std::forward<X>(x)...);
}

} // namespace xgrad

#include <xgrad/core/end_headers.inc> // last
