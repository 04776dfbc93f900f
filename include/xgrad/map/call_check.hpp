// Why map() cannot call a function, found at compile time and said in a sentence. Whether a
// function takes arguments is found without its body: of a mistake in the body the compiler tells
// itself.
//
// Read next: map.hpp.
#pragma once

#include <xgrad/dual.hpp>

namespace xgrad::detail {

/// F beside a function of anything, which fits the object better and the arguments worse: a call is
/// ambiguous where F takes the arguments, and no body is compiled.
template <class F> struct BesideAnything : F {
    using F::operator();
    void operator()(...);
};
template <class F, class... A>
concept Takes = std::is_class_v<F> && !std::is_final_v<F> &&
                !requires(BesideAnything<F> f) { f(std::declval<A>()...); };

/// Reports why F cannot be called with numbers of the types N.
template <class F, class First, class... More> class CannotBeCalled {
    using N = std::tuple<First, More...>;
    static constexpr std::size_t operands = std::tuple_size_v<N>;
    static constexpr bool takes_references = Takes<F, First&, More&...>;

    template <class X>
    using Fixed = typename PartOf<X>::kind::template over<typename PartOf<X>::precision>;
    template <std::size_t from, std::size_t... I>
    static consteval bool takes_fixed(std::index_sequence<I...>) {
        return Takes<F, std::conditional_t<(I >= from), Fixed<std::tuple_element_t<I, N>>,
                            std::tuple_element_t<I, N>>...>;
    }
    template <std::size_t... I>
    static consteval std::size_t find_fixed(std::index_sequence<I...> all) {
        std::size_t parameter = 0;
        ((parameter = takes_fixed<I>(all) ? I + 1 : parameter), ...);
        return parameter;
    }
    template <std::size_t... I> static consteval bool takes_as_many(std::index_sequence<I...>) {
        return Takes<F, std::conditional_t<(I < sizeof...(I)), First, void>...>;
    }
    template <std::size_t... I>
    static consteval std::size_t find_parameters(std::index_sequence<I...>) {
        std::size_t parameters = operands;
        ((parameters = takes_as_many(std::make_index_sequence<I>{}) ? I : parameters), ...);
        return parameters;
    }
    static constexpr std::size_t fixed_parameter =
        takes_references ? 0 : find_fixed(std::index_sequence_for<First, More...>{});
    static constexpr std::size_t parameters = find_parameters(std::make_index_sequence<9>{});

    static_assert(!takes_references, "map: the function takes a number by a reference that is not "
                                     "const: take it by value, [](auto x)");
    static_assert(fixed_parameter == 0,
        "map: a parameter of the function has a type of its own; it gets dual numbers, so the "
        "function must be a template: [](auto x, auto y) { return x * y; }");
    static_assert(parameters == operands,
        "map: the function takes another number of arguments than there are operands behind it");
    static constexpr bool is_mutable = std::is_invocable_v<F&, First, More...>;
    static_assert(!is_mutable, "map: the function is mutable, but it is called for batches of "
                               "elements, and again for each derivative: it must be const");
    static_assert(is_mutable || takes_references || fixed_parameter > 0 || parameters != operands,
        "map: the function cannot be called with so many numbers of one type; it must be a "
        "template: [](auto x, auto y) { return x * y; }");
};

/// A call of F with numbers of the types N. Ask for `fits` before the other: of a function whose
/// body has a mistake clang no longer says that it takes them.
template <class F, class... N> struct CallWithNumbers {
    static constexpr bool fits = Takes<F, N...>;
    static constexpr bool compiles =
        requires(F const& f) { f(std::declval<N>()...); } && std::is_invocable_v<F const&, N...>;
    using Report = CannotBeCalled<F, N...>;
};

} // namespace xgrad::detail
