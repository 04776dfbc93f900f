// Operations on whole arrays and sums, of a Batched: each is applied once to the tensor of all
// examples, after its axes have moved behind those of the levels. An operation without a rule is
// called for each example, with a warning.
//
// `add_levels(op, sizes, example)` is the rule of an operation: it changes op, which acts on an
// example of shape `example`, so that it acts on a tensor with `sizes` before that shape.
//
// Shapes: those of the operation, for each example.
// Gradients: those of the operation.
// Errors: those of the operation. What is called for each example needs one at least: ShapeError.
//
// Read next: batch_functions.hpp.
#pragma once

#include <xgrad/vmap/batched.hpp>

namespace xgrad {

namespace detail {

/// `front`, and then `back`.
template <class T> Dims<T> joined_dims(Shape const& front, Dims<T> const& back) {
    Dims<T> joined(front.begin(), front.end());
    for (auto const n : back) joined.push_back(n);
    return joined;
}
template <class T> Dims<T> leading(std::size_t count, T value, Dims<T> const& back) {
    return joined_dims(Shape(count, static_cast<std::size_t>(value)), back);
}
/// Axes that do not count from the end, behind the levels.
inline Axes behind(std::size_t levels, Axes axes) {
    for (auto& axis : axes) axis += static_cast<std::ptrdiff_t>(levels);
    return axes;
}
inline std::ptrdiff_t axis_behind(
    std::string_view name, std::size_t levels, std::ptrdiff_t axis, Shape const& example) {
    return static_cast<std::ptrdiff_t>(normalize_axis(name, axis, example) + levels);
}

template <class Op, class... Ops>
concept OneOf = (std::same_as<Op, Ops> || ...);
template <class Op> inline constexpr bool is_cast = false;
template <class To> inline constexpr bool is_cast<Cast<To>> = true;
template <class Op> inline constexpr bool is_pad = false;
template <class T> inline constexpr bool is_pad<Pad<T>> = true;

/// What acts on the last axes, or on each element.
template <class Op>
    requires(OneOf<Op, Clone, Triangle, DiagEmbed> || is_cast<Op>)
void add_levels(Op&, Shape const&, Shape const&) {}
/// What has one axis.
template <class Op>
    requires OneOf<Op, CumulativeSum, CumulativeProduct, LogCumulativeSumExp, IndexSelect,
        PadBorder, RealDft, InverseRealDft>
void add_levels(Op& op, Shape const& sizes, Shape const&) {
    op.axis += sizes.size();
}
/// What has a list of normalised axes.
template <class Op>
    requires OneOf<Op, Flip, Dft>
void add_levels(Op& op, Shape const& sizes, Shape const&) {
    op.axes = behind(sizes.size(), op.axes);
}
/// What has a number for each axis.
template <class Op>
    requires is_pad<Op>
void add_levels(Op& op, Shape const& sizes, Shape const&) {
    op.before = leading<std::ptrdiff_t>(sizes.size(), 0, op.before);
    op.after = leading<std::ptrdiff_t>(sizes.size(), 0, op.after);
}
inline void add_levels(Roll& op, Shape const& sizes, Shape const&) {
    op.shifts = leading<std::size_t>(sizes.size(), 0, op.shifts);
}
inline void add_levels(Repeat& op, Shape const& sizes, Shape const&) {
    op.spread = joined_dims(sizes, op.spread);
    op.repeated = joined_dims(sizes, op.repeated);
    op.shape = joined_dims(sizes, op.shape);
}
inline void add_levels(Reshape& op, Shape const& sizes, Shape const& example) {
    std::ptrdiff_t known = 1;
    for (auto const n : op.to) known *= n < 0 ? 1 : n;
    auto const elements = static_cast<std::ptrdiff_t>(numel(example));
    for (auto& n : op.to) // an extent of -1 is not found beside levels without examples
        if (n == -1 && known != 0 && elements % known == 0) n = elements / known;
    op.to = joined_dims(sizes, op.to);
}
inline void add_levels(Permute& op, Shape const& sizes, Shape const& example) {
    auto const count = static_cast<std::ptrdiff_t>(example.size());
    Axes axes = all_axes(sizes.size());
    for (auto const axis : op.axes)
        axes.push_back(
            (axis < 0 ? axis + count : axis) + static_cast<std::ptrdiff_t>(sizes.size()));
    op.axes = axes;
}
inline void add_levels(Window& op, Shape const& sizes, Shape const&) {
    op.start = leading<std::size_t>(sizes.size(), 0, op.start);
    op.count = joined_dims(sizes, op.count);
    op.step = leading<std::ptrdiff_t>(sizes.size(), 1, op.step);
}
inline void add_levels(Embed& op, Shape const& sizes, Shape const& example) {
    op.shape = joined_dims(sizes, op.shape);
    add_levels(op.window, sizes, example);
}
inline void add_levels(IndexAdd& op, Shape const& sizes, Shape const& example) {
    op.shape = joined_dims(sizes, op.shape);
    add_levels(op.picked, sizes, example);
}

/// One index for all examples.
inline void add_levels(Gather& op, Shape const& sizes, Shape const&) {
    op.axis += sizes.size();
    auto const shape = joined_dims(sizes, op.index.shape);
    Array<std::int64_t> index(shape);
    copy_elements(index, broadcast_view(op.index, shape));
    op.index = std::move(index);
}
inline void add_levels(ScatterAdd& op, Shape const& sizes, Shape const& example) {
    op.shape = joined_dims(sizes, op.shape);
    add_levels(op.picked, sizes, example);
}

template <class Op>
concept HasLevelRule = requires(Op& op, Shape const& s) { add_levels(op, s, s); };
template <class Op>
concept ReducesAxes = requires(Op& op) {
    { op.over } -> std::same_as<Axes&>;
    typename Op::template combine<double>;
};

/// A std::tuple of these, also of one that is a std::tuple itself.
template <class... X> std::tuple<X...> tuple_of(X... x) {
    return std::tuple<X...>(std::move(x)...);
}
/// A structure with f(x) in the place of each tensor and Batched x.
template <class X, class F> auto map_structure(X const& x, F const& f) {
    if constexpr (Operand<X> || XtensorExpression<X> || Number<X>) return f(x);
    else if constexpr (is_tuple<X>)
        return std::apply(
            [&](auto const&... each) { return tuple_of(map_structure(each, f)...); }, x);
    else if constexpr (is_tuple_like<X> && requires { x.first; })
        return std::pair(map_structure(x.first, f), map_structure(x.second, f));
    else if constexpr (is_tuple_like<X>)
        return std::apply(
            [&](auto const&... each) { return std::array{map_structure(each, f)...}; }, x);
    else if constexpr (requires(std::size_t i) { x.begin(), x.size(), x[i].shape(); }) {
        std::vector<decltype(map_structure(*x.begin(), f))> mapped;
        for (auto const& each : x) mapped.push_back(map_structure(each, f));
        return mapped;
    } else if constexpr (requires { x.values, x.indices; })
        return OrderedPair{f(x.values), f(x.indices)};
    else {
        static_assert(sizeof(X) == 0, "vmap: arguments and results are tensors, or a std::tuple, "
                                      "pair, array or vector of them");
        return 0;
    }
}
/// True for a structure with a tensor or a Batched in it: other arguments are passed on.
template <class X> inline constexpr bool has_examples = Operand<X> || XtensorExpression<X>;
template <class... X>
inline constexpr bool has_examples<std::tuple<X...>> = (has_examples<X> || ...);
template <class A, class B>
inline constexpr bool has_examples<std::pair<A, B>> = has_examples<A> || has_examples<B>;
template <class X, std::size_t n>
inline constexpr bool has_examples<std::array<X, n>> = has_examples<X>;
template <class X> inline constexpr bool has_examples<std::vector<X>> = has_examples<X>;
template <Scalar T> inline constexpr bool has_examples<TensorParts<T>> = true;

/// The same for an argument: one without examples stays as it is.
template <class X, class F> auto map_argument(X const& x, F const& f) {
    if constexpr (has_examples<X>) return map_structure(x, f);
    else return x;
}
/// The type of one example of an argument.
template <class X>
using example_of = decltype(map_argument(std::declval<X const&>(), []<class E>(E const& e) {
    if constexpr (is_batched<E>) return Tensor<typename E::scalar>();
    else return e;
}));

/// The levels of all tensors in structures.
template <class X> struct LevelsIn {
    using type = levels_of<X>;
};
template <class X> using levels_in = typename LevelsIn<std::remove_cvref_t<X>>::type;
template <class... X> struct LevelsIn<std::tuple<X...>> {
    using type = typename JoinLevels<Levels<>, levels_in<X>...>::type;
};
template <class A, class B> struct LevelsIn<std::pair<A, B>> : LevelsIn<std::tuple<A, B>> {};
template <class X, std::size_t n> struct LevelsIn<std::array<X, n>> : LevelsIn<X> {};
template <class X> struct LevelsIn<std::vector<X>> : LevelsIn<X> {};

/// All examples of a tensor, along one axis.
template <Scalar T> struct Stacked {
    using operand_tag = void;
    Tensor<T> tensor;
};

/// f, called for one example after the other; its results are stacked.
template <class F, class... X> auto loop_examples(F& f, X const&... x) {
    using Lv = levels_in<std::tuple<X...>>;
    auto const sizes = level_sizes(Lv());
    auto const stacked = tuple_of(map_argument(x, [&]<class E>(E const& e) {
        if constexpr (is_batched<E>)
            return Stacked<typename E::scalar>{
                flatten(stacked_over<Lv>(e, sizes), 0, static_cast<std::ptrdiff_t>(Lv::count) - 1)};
        else return e;
    })...);
    auto const call = [&](std::size_t i) {
        return std::apply(
            [&](auto const&... argument) {
                return std::invoke(f, map_argument(argument, [&]<class E>(E const& e) {
                    if constexpr (requires { e.tensor; })
                        return Tensor<typename decltype(e.tensor)::scalar>(
                            select(e.tensor, 0, static_cast<std::ptrdiff_t>(i)));
                    else return e;
                })...);
            },
            stacked);
    };
    using Result = std::remove_cvref_t<decltype(call(0))>;
    constexpr bool returns_tensors = StructureLike<Result>;
    static_assert(returns_tensors, "vmap: the function must return tensors, or a std::tuple, pair, "
                                   "array or vector of them");
    if constexpr (returns_tensors) {
        auto const count = numel(sizes);
        if (count == 0)
            fail<ShapeError>("vmap: there are no examples (levels ", sizes,
                "), and only a call of a function that is looped over says the shape of its "
                "result");
        std::vector<Tensors> results;
        structure<Result> like(StructureOf<Result>::make(call(0)));
        results.push_back(erased(like));
        for (std::size_t i = 1; i < count; ++i) results.push_back(erased(call(i)));
        Tensors columns;
        for (std::size_t k = 0; k < results[0].size(); ++k) {
            std::vector<AnyTensor const*> column;
            for (auto const& row : results) column.push_back(&row[k]);
            columns.push_back(stack_any("vmap", column, 0));
        }
        return map_structure(with_tensors(like, columns), [&](auto const& t) {
            Shape const example(t.shape().begin() + 1, t.shape().end());
            return batched<Lv>(only_reshaped(reshape(t, Axes(joined_dims(sizes, example)))));
        });
    }
}
/// Warns once for each kind of call, unless the program has a handler.
[[gnu::cold]] inline void warn_of_loop(std::string_view what, std::size_t examples) {
    warn("vmap: there is no rule for ", what, ", so that it is called for each of the ", examples,
        " examples");
}

/// f(x...) for all examples at once; of an f of tensors, for one after the other.
template <class F, class... X> auto call_with_examples(F& f, X const&... x) {
    if constexpr (std::is_invocable_v<F&, X const&...>) return std::invoke(f, x...);
    else {
        constexpr bool takes_tensors = std::is_invocable_v<F&, example_of<X> const&...>;
        static_assert(takes_tensors, "vmap: the function cannot be called with these arguments");
        if constexpr (takes_tensors) {
            warn_of_loop("a function that takes Tensor, and not `auto const&`",
                numel(level_sizes(levels_in<std::tuple<X...>>())));
            return loop_examples(f, x...);
        } else return std::get<0>(std::tuple<X const&...>(x...)); // was reported
    }
}

/// Operations on whole arrays.
template <class Op, class... X> auto record_on_batched(Op op, X const&... x) {
    using Lv = joined_levels<X...>;
    if constexpr (HasLevelRule<Op> && sizeof...(X) == 1) {
        auto const& only = std::get<0>(std::tie(x...));
        auto const t = materialize(only.stacked());
        Shape const sizes(t.shape().begin(), t.shape().begin() + Lv::count);
        add_levels(op, sizes, only.shape());
        return batched<Lv>(express(std::move(op), t));
    } else {
        auto const sizes = level_sizes(Lv());
        warn_of_loop(called(op), numel(sizes));
        auto const call = [&](auto const&... example) { return express(op, example...); };
        return loop_examples(call, materialize_expression(x)...);
    }
}
template <class Op, BatchedOperand X>
    requires ReducesAxes<Op>
auto record_on_batched(Op op, X const& x) {
    op.over = behind(levels_of<X>::count, op.over);
    return batched<levels_of<X>>(express_reduction(std::move(op), x.stacked()));
}
template <BatchedOperand X> auto record_on_batched(BroadcastTo op, X const& x) {
    using Lv = levels_of<X>;
    if (!broadcasts_to(x.shape(), op.shape)) // the sentence of broadcast_to(), of one example
        fail<ShapeError>("broadcast_to: shape ", x.shape(), " does not broadcast to ", op.shape);
    auto const t = materialize(lifted<Lv>(x, op.shape.size()));
    Shape const sizes(t.shape().begin(), t.shape().begin() + Lv::count);
    return batched<Lv>(broadcast_to(t, joined_dims(sizes, op.shape)));
}
/// The axes of a factor before its matrix are aligned with those of the other one.
template <class A, class B> auto record_on_batched(Matmul const& op, A const& a, B const& b) {
    using Lv = joined_levels<A, B>;
    auto const stack = std::max(a.dim() - op.a_is.axes(), b.dim() - op.b_is.axes());
    auto const aligned = [&](auto const& x, std::size_t axes) {
        return materialize(
            lifted<Lv>(x, is_batched<std::remove_cvref_t<decltype(x)>> ? stack + axes : x.dim()));
    };
    return batched<Lv>(express(op, aligned(a, op.a_is.axes()), aligned(b, op.b_is.axes())));
}

} // namespace detail

/// An operation on whole arrays, of all examples: what express() calls.
template <class Op, class... X>
    requires(detail::is_batched<X> || ...)
auto record_arraywise(Op const& op, X const&... x) {
    return detail::record_on_batched(op, x...);
}

/// What reductions call: see expr/recording.hpp.
template <BatchedOperand X>
auto record_sum(std::string_view operation, X const& x, Axes const* axes, bool keep, bool mean) {
    constexpr auto levels = detail::levels_of<X>::count;
    auto const over = detail::behind(levels,
        axes ? detail::normalize_axes(operation, *axes, x.shape()) : detail::all_axes(x.dim()));
    return detail::batched<detail::levels_of<X>>(
        record_sum(operation, x.stacked(), &over, keep, mean));
}
template <BatchedOperand X> bool needs_graph(X const&) { return true; }
template <template <class> class Combine, BatchedOperand X>
auto fold(X const& x, Axes const& axes, bool keep) {
    return detail::batched<detail::levels_of<X>>(
        fold<Combine>(x.stacked(), detail::behind(detail::levels_of<X>::count, axes), keep));
}
template <BatchedOperand X> auto finite_largest(X const& x, Axes const& axes) {
    return detail::batched<detail::levels_of<X>>(
        finite_largest(x.stacked(), detail::behind(detail::levels_of<X>::count, axes)));
}
template <BatchedOperand X> auto largest_over(X const& x, Axes const& axes) {
    return detail::batched<detail::levels_of<X>>(
        largest_over(x.stacked(), detail::behind(detail::levels_of<X>::count, axes)));
}

} // namespace xgrad
