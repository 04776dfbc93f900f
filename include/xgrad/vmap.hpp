// vmap(): a function of one example, called once for all examples of a batch. Not part of
// xgrad.hpp, so that a program without it compiles faster.
//
// Shapes: each argument has the examples along one axis, by default the first; results have them
// along one axis, too.
// Gradients: those of what the function does, of any order, in backward and forward mode; vmap()
// and the transforms of functional/ compose in both orders.
// Errors: arguments with different numbers of examples, and one that has no such axis, are a
// ShapeError; an axis out of range is an IndexError. What reads the value of one example (a
// condition, item()) does not compile.
#pragma once

#include <xgrad/core/begin_headers.inc> // first

#include <xgrad/vmap/batched.hpp> // first: messages of compilers list fewer headers

#include <xgrad/vmap/batch_transforms.hpp>
#include <xgrad/xgrad.hpp>

namespace xgrad {

/// In the place of an axis: all examples share this argument, `vmap<0, unmapped>(f)(x, w)`.
inline constexpr struct Unmapped {
} unmapped{};

/// Options of vmap().
struct VmapOptions {
    std::ptrdiff_t out_axes = 0; // the axis of all results that numbers the examples
};

template <auto... in_axes, class F> auto vmap(F&& f, VmapOptions options = {});
template <auto...> detail::no_such_option_or_wrong_arguments vmap(...) = delete;
template <class F> auto looped(F&& f);

namespace detail {

/// The level of a vmap() of F that is none of some others.
template <class F, class Others, int n = 0> struct FunctionLevel {
    using type = typename std::conditional_t<Others::template has<FunctionLevel>,
        FunctionLevel<F, Others, n + 1>, std::type_identity<FunctionLevel>>::type;
};

/// The number of examples that the arguments of one vmap() have.
struct ExampleCount {
    std::optional<std::size_t> count = {};
    std::size_t argument = 0; // of the call
    std::size_t first = 0;    // the argument that gave the count
    Shape shape_of_first = {};

    /// Adds a tensor with examples along an axis, and returns the axis from the front.
    std::size_t add(Shape const& shape, std::ptrdiff_t axis) {
        if (shape.empty())
            fail<ShapeError>("vmap: argument ", argument,
                " is a tensor without dimensions, which has no axis of examples; xg::unmapped says "
                "that they share it");
        auto const at = normalize_axis("vmap", axis, shape);
        if (!count) {
            count = shape[at];
            first = argument;
            shape_of_first = shape;
        } else if (*count != shape[at])
            fail<ShapeError>("vmap: argument ", argument, " of shape ", shape, " has ", shape[at],
                " examples along axis ", at, ", but argument ", first, " of shape ", shape_of_first,
                " has ", *count);
        return at;
    }
};

/// A tensor, or a Batched, whose examples along an axis become those of a new level.
template <class L, class X> auto mapped_argument(X const& x, std::ptrdiff_t axis, ExampleCount& n) {
    check_defined("vmap", x, n.argument);
    auto const at = static_cast<std::ptrdiff_t>(n.add(x.shape(), axis));
    auto const t = materialize_expression(OperandTraits<X>::make(x));
    return [&]<class... Outer>(Levels<Outer...>) {
        constexpr auto levels = static_cast<std::ptrdiff_t>(sizeof...(Outer));
        auto const tensor = [&] {
            if constexpr (is_batched<X>) return t.stacked();
            else return t;
        }();
        return batched<Levels<Outer..., L>>(
            at == 0 ? tensor : materialize_expression(movedim(tensor, levels + at, levels)));
    }(levels_of<X>());
}
template <class L, auto axis, class X> auto vmap_argument(X const& x, ExampleCount& n) {
    constexpr bool is_unmapped = std::same_as<std::remove_cv_t<decltype(axis)>, Unmapped>;
    static_assert(is_unmapped || has_examples<X> || !StructureLike<X>,
        "vmap: all examples share a struct or a map of tensors: write xg::unmapped for its axis");
    auto const argument = [&] {
        if constexpr (is_unmapped) return x;
        else
            return map_argument(x, [&](auto const& t) {
                return mapped_argument<L>(t, static_cast<std::ptrdiff_t>(axis), n);
            });
    }();
    ++n.argument;
    return argument;
}

/// A result without a level: its examples are along an axis.
template <class L, class Y> auto unmapped_result(Y const& y, std::ptrdiff_t axis) {
    if constexpr (!Operand<Y>) return unmapped_result<L>(Tensor<tensor_scalar<Y>>(y), axis);
    else if constexpr (!levels_of<Y>::template has<L>) { // the same for all examples
        auto const at = static_cast<std::size_t>(normalize_axis("vmap", axis, y.shape(), 1));
        auto const t = materialize_expression(y);
        Shape shape = t.shape();
        shape.insert(at, level_size<L>);
        return broadcast_to(unsqueeze(t, static_cast<std::ptrdiff_t>(at)), shape).clone();
    } else {
        auto const at = static_cast<std::ptrdiff_t>(normalize_axis("vmap", axis, y.shape(), 1));
        constexpr auto level = static_cast<std::ptrdiff_t>(levels_of<Y>::template index_of<L>()),
                       others = static_cast<std::ptrdiff_t>(levels_of<Y>::count) - 1;
        auto const t = materialize(y.stacked());
        using Rest = decltype([]<class... All>(Levels<All...>) {
            return typename JoinLevels<Levels<>,
                std::conditional_t<std::same_as<All, L>, Levels<>, Levels<All>>...>::type();
        }(levels_of<Y>()));
        return batched<Rest>(
            level == others + at ? t : materialize_expression(movedim(t, level, others + at)));
    }
}

template <auto... in_axes, class F, class... X>
auto vmap_call(F& f, VmapOptions const& options, X const&... x) {
    constexpr bool fits = sizeof...(in_axes) == 0 || sizeof...(in_axes) == sizeof...(X);
    static_assert(fits, "vmap<axes...>: there is one axis, or xg::unmapped, for each argument");
    static_assert(!OperandLike<F>, "vmap: it takes a function, [&](auto const& x) { ... }");
    if constexpr (fits && !OperandLike<F>) {
        using L = typename FunctionLevel<F, levels_in<std::tuple<X...>>>::type;
        constexpr auto axes = [] {
            if constexpr (sizeof...(in_axes) != 0) return std::tuple(in_axes...);
            else return std::tuple((static_cast<void>(sizeof(X)), 0)...);
        }();
        ExampleCount n;
        auto const given = std::tie(x...);
        auto const arguments = [&]<std::size_t... I>(std::index_sequence<I...>) {
            return std::tuple<decltype(vmap_argument<L, std::get<I>(axes)>(std::get<I>(given),
                n))...>{vmap_argument<L, std::get<I>(axes)>(std::get<I>(given), n)...};
        }(std::index_sequence_for<X...>());
        constexpr bool has_level =
            levels_in<std::remove_const_t<decltype(arguments)>>::template has<L>;
        static_assert(has_level, "vmap: no argument has an axis of examples");
        if constexpr (has_level) {
            ScopedValue const of_level(level_size<L>, *n.count), named(vmap_examples, *n.count);
            return [&]<std::size_t... I>(std::index_sequence<I...>) {
                constexpr bool returns =
                    !std::is_void_v<decltype(call_with_examples(f, std::get<I>(arguments)...))>;
                static_assert(returns, "vmap: the function must return tensors");
                if constexpr (returns)
                    return map_structure(call_with_examples(f, std::get<I>(arguments)...),
                        [&](auto const& t) { return unmapped_result<L>(t, options.out_axes); });
            }(std::index_sequence_for<X...>());
        }
    }
}

} // namespace detail

/// A function of whole batches, from a function f of one example: vmap(f)(x, y) is f(x(i), y(i))
/// for each i, stacked. f is called once, with a Batched in the place of each tensor, so that it is
/// generic: [](auto const& x) { return ...; }. What f captures is shared by all examples.
///
/// The template arguments are the axes of the arguments that number the examples, by default the
/// first one of each; `unmapped` stands for an argument that is shared: vmap<0, unmapped>(f)(x, w).
/// Arguments and results are tensors, or a std::tuple, pair, array or vector of them; others are
/// passed on. vmap() nests, and composes with grad(), jacobian() and the other transforms.
///
/// A function that takes Tensor<T> is called for one example after the other, with a warning; so is
/// an operation without a rule inside of f. looped(f) does that without a warning.
template <auto... in_axes, class F> auto vmap(F&& f, VmapOptions options) {
    return [f = detail::KeptCallable<F>(std::forward<F>(f)), options](
               auto const&... x) { return detail::vmap_call<in_axes...>(f, options, x...); };
}

/// f as a function of Batched, too, that calls f for one example after the other: for what reads
/// values, and for functions of Tensor. Of tensors, looped(f)(x...) is f(x...).
template <class F> auto looped(F&& f) {
    return [f = detail::KeptCallable<F>(std::forward<F>(f))](auto const&... x) {
        if constexpr (detail::levels_in<std::tuple<std::remove_cvref_t<decltype(x)>...>>::count)
            return detail::loop_examples(f, x...);
        else return std::invoke(f, x...);
    };
}

/// A rule of your own: rule(x...) gets the tensors of all examples, whose first axis numbers them,
/// and returns tensors with that axis. Outside of vmap() that is one example.
template <class F, class... X> auto on_batch(F&& rule, X const&... x) {
    using Lv = detail::joined_levels<X...>;
    auto const sizes = detail::level_sizes(Lv());
    auto const one_axis = [&](auto const& t) {
        auto const stacked = detail::stacked_over<Lv>(t, sizes);
        if constexpr (Lv::count == 0) return materialize_expression(unsqueeze(stacked, 0));
        else return flatten(stacked, 0, static_cast<std::ptrdiff_t>(Lv::count) - 1);
    };
    return detail::map_structure(std::invoke(rule, one_axis(x)...), [&](auto const& y) {
        auto const t = materialize_expression(y);
        std::size_t const examples = numel(Shape(sizes.begin(), sizes.end()));
        if (t.dim() == 0 || t.shape()[0] != examples)
            detail::fail<ShapeError>("on_batch: the rule returns shape ", t.shape(), " for ",
                examples, " examples, which are to be numbered by its first axis");
        Shape const example(t.shape().begin() + 1, t.shape().end());
        return detail::batched<Lv>(
            detail::only_reshaped(reshape(t, Axes(detail::joined_dims(sizes, example)))));
    });
}

} // namespace xgrad

#include <xgrad/core/end_headers.inc> // last
