// Functions of numbers with several results: a Function on whole arrays, which calls them once for
// each element. The gradients are again such a function (Pullback). Expressions among the operands
// become a part of the function (OfExpressions).
//
// Shapes: the operands broadcast; each result has the common shape.
// Gradients: first and second ones, in backward and forward mode.
// Errors: shapes that do not broadcast are a ShapeError; a third derivative is a GraphError.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

#include <xgrad/map/map_operation.hpp>
#include <xgrad/tensor/create.hpp>
#include <xgrad/tensor/function.hpp>
#include <xgrad/tensor/views.hpp>

namespace xgrad::detail {

/// The kind of the numbers that map() makes of an operand: integers and masks are real numbers.
template <class Kind> using number_kind = std::conditional_t<takes_gradients<Kind>, Kind, R>;
template <class X> using mapped_kind = number_kind<kind_in<X>>;
template <class Options, class L, class P>
using mapped_number =
    Dual<std::conditional_t<Options::on_batches, batch_for<L, P>, typename L::template over<P>>, 0>;

/// What a function of numbers returns.
template <class Result>
concept OneNumber = Number<Result> || requires { PartOf<Result>::is_part; };
/// True for a tuple or an array of numbers, which a function with several results returns.
template <class Result>
concept SeveralNumbers = requires { std::tuple_size<Result>::value; } &&
                         []<std::size_t... K>(std::index_sequence<K...>) {
                             return (OneNumber<std::tuple_element_t<K, Result>> && ...);
                         }(std::make_index_sequence<std::tuple_size_v<Result>>{});
/// True for a real number that is no constant, and where one is among several results.
template <class Result>
inline constexpr bool has_real_number = requires {
    requires PartOf<Result>::is_part;
    requires std::same_as<typename PartOf<Result>::kind, R>;
};
template <SeveralNumbers Result>
inline constexpr bool has_real_number<Result> = []<std::size_t... K>(std::index_sequence<K...>) {
    return (has_real_number<std::tuple_element_t<K, Result>> || ...);
}(std::make_index_sequence<std::tuple_size_v<Result>>{});
template <class Result>
using result_kind = std::conditional_t<std::same_as<typename RuleValue<Result>::kind, Z>, R,
    typename RuleValue<Result>::kind>;

/// The gradients of the arguments of F, as a function of these and of the gradients of its results.
template <class F, class Options, class Results, class Arguments> struct Pullback;
template <class F, class Options, class... Y, class... L>
struct Pullback<F, Options, Types<Y...>, Types<L...>> {
    F f;
    template <class First, class... A>
    XGRAD_INLINE auto operator()(First const& a, A const&... more) const {
        return [&, all = std::tie(a, more...)]<std::size_t... I, std::size_t... K>(
                   std::index_sequence<I...>,
                   std::index_sequence<K...> results) XGRAD_LAMBDA_INLINE {
            constexpr TangentIndex<Options, L...> index([](std::size_t) { return true; });
            constexpr std::size_t n = index.total();
            auto const y = f(seeded<n, index.first[I], index.count(I)>(std::get<I>(all))...);
            std::tuple<of_kind<Y, Dual<First, n>>...> const values(std::get<K>(y)...);
            return std::tuple(gradient<index.first[I], L, sizeof...(I)>(values, all, results)...);
        }(std::index_sequence_for<L...>{}, std::index_sequence_for<Y...>{});
    }

private:
    template <std::size_t first, class L_, std::size_t arguments, class Values, class All,
        std::size_t... K>
    XGRAD_INLINE static auto gradient(
        Values const& values, All const& all, std::index_sequence<K...>) {
        return (project<L_>(pull(std::get<arguments + K>(all),
                    derivative_from<Options, Y, L_>([&](auto j) XGRAD_LAMBDA_INLINE {
                        return std::get<K>(values).tangent[first + j];
                    }))) +
                ...);
    }
};

/// The tangents of the results of F, as a function of its arguments and of their tangents.
template <class F, class Results, class Arguments> struct Pushforward;
template <class F, class... Y, class... L> struct Pushforward<F, Types<Y...>, Types<L...>> {
    F f;
    template <class First, class... A>
    XGRAD_INLINE auto operator()(First const& a, A const&... more) const {
        return [&, all = std::tie(a, more...)]<std::size_t... I, std::size_t... K>(
                   std::index_sequence<I...>, std::index_sequence<K...>) XGRAD_LAMBDA_INLINE {
            auto const y = f(moving(std::get<I>(all), std::get<sizeof...(I) + I>(all))...);
            return std::tuple(of_kind<Y, Dual<First, 1>>(std::get<K>(y)).tangent[0]...);
        }(std::index_sequence_for<L...>{}, std::index_sequence_for<Y...>{});
    }

private:
    template <class X> XGRAD_INLINE static Dual<X> moving(X const& x, X const& tangent) {
        using T = Tangents<X, 1>;
        return {x, T(T::Support::one(0), [&](std::size_t) XGRAD_LAMBDA_INLINE { return tangent; })};
    }
};

/// y as the value of a derivative of these tensors that is the last one: its own derivative throws.
template <Scalar T>
Tensor<T> last_derivative(char const* message, std::vector<AnyTensor> const& of, Tensor<T> y) {
    AnyTensor result = std::move(y);
    if (grad_mode) set_error(message, {}, of, {&result, 1});
    return result.as<T>();
}

/// A function of numbers with several results, on whole arrays.
template <class F, class Options, class P, class Results, class Arguments> struct MapSeveral;
template <class F, class Options, class P, class... Y, class... L>
struct MapSeveral<F, Options, P, Types<Y...>, Types<L...>>
    : Function<MapSeveral<F, Options, P, Types<Y...>, Types<L...>>> {
    template <class Kind> using Array = Tensor<typename Kind::template over<P>>;
    using Context = xgrad::Context<MapSeveral>;
    using Saved = std::tuple<Array<L>...>;
    using FirstValues = std::array<std::complex<double>, sizeof...(Y)>; // of the first element
    struct Data {
        std::optional<F> f;
        FirstValues first;
    };
    static constexpr bool is_elementwise = true;
    static constexpr auto* limit =
        "map: of a function of several results there are derivatives up to the second";

    static std::tuple<Array<Y>...> forward(Context& ctx, F const& f, Array<L> const&... x) {
        ctx.save_for_backward(x...);
        ctx.f.emplace(f);
        auto const y = evaluate(f, x...);
        if constexpr (Options::is_checked) ctx.first = first_values(y);
        return y;
    }
    static std::tuple<std::nullopt_t, Array<L>...> backward(Context& ctx, Array<Y> const&... g) {
        return std::tuple_cat(std::tuple(std::nullopt),
            derivative<Types<L...>, Types<Y...>>(
                ctx, Pullback<F, Options, Types<Y...>, Types<L...>>{*ctx.f}, g...));
    }
    static std::tuple<Array<Y>...> jvp(Context& ctx, std::nullopt_t, Array<L> const&... t) {
        return derivative<Types<Y...>, Types<L...>>(
            ctx, Pushforward<F, Types<Y...>, Types<L...>>{*ctx.f}, t...);
    }
    /// The results for arrays that broadcast.
    static std::tuple<Array<Y>...> evaluate(F const& f, Array<L> const&... x) {
        Shape shape;
        ((shape = broadcast("map", shape, x.shape())), ...);
        return over(f, std::tuple(broadcast_to(x, shape).contiguous()...),
            std::tuple(Array<Y>(zeros<typename Y::template over<P>>(shape))...),
            std::index_sequence_for<L...>{}, std::index_sequence_for<Y...>{});
    }

private:
    /// A derivative of F as a function of the operands and of `more`, which has the kinds More.
    template <class Results, class More, class Of, class... G>
    static auto derivative(Context& ctx, Of const& of, G const&... more) {
        using Mapped = MapSeveral<Of, typename Options::derivative, P, Results,
            decltype(joined(Types<L...>{}, More{}))>;
        return std::apply(
            [&](Array<L> const&... x) {
                if constexpr (Options::is_checked) check_second_call(ctx, x...);
                if constexpr (Options::order == 0) return Mapped::apply(of, x..., more...);
                else
                    return std::apply(
                        [&](auto... y) {
                            return std::tuple(last_derivative(limit, {x..., more...}, y)...);
                        },
                        Mapped::evaluate(of, x..., more...));
            },
            ctx.saved_tensors());
    }
    template <class... A, class... B> static Types<A..., B...> joined(Types<A...>, Types<B...>);
    /// As CheckedMap does.
    static void check_second_call(Context& ctx, Array<L> const&... x) {
        if (((x.numel() == 0) || ...)) return;
        auto const again = first_values(evaluate(*ctx.f, Array<L>(x.contiguous().data()[0])...));
        for (std::size_t k = 0; k < again.size(); ++k)
            if (differ<P>(again[k], ctx.first[k])) fail_second_call("map");
    }
    static FirstValues first_values(std::tuple<Array<Y>...> const& results) {
        return std::apply(
            [](auto const&... y) {
                return FirstValues{(y.numel() ? std::complex<double>(y.data()[0]) : 0.)...};
            },
            results);
    }

    template <class Kind>
    using Part = std::conditional_t<Options::on_batches, batch_for<Kind, P>,
        typename Kind::template over<P>>;
    static constexpr std::size_t width = Options::on_batches ? simd::Batch<P>::width : 1;

    template <std::size_t... I, std::size_t... K>
    static std::tuple<Array<Y>...> over(F const& f, std::tuple<Array<L>...> const& x,
        std::tuple<Array<Y>...> y, std::index_sequence<I...>, std::index_sequence<K...>) {
        std::size_t const n = std::get<0>(y).numel();
        for (std::size_t i = 0; i < n; i += width) {
            std::size_t const count = std::min(width, n - i);
            auto const results = f(Dual<Part<L>, 0>(load<L>(std::get<I>(x).data() + i, count))...);
            using First = std::tuple_element_t<0, std::tuple<Part<L>...>>;
            (store<Y>(value_of(of_kind<Y, Dual<First, 0>>(std::get<K>(results))),
                 std::get<K>(y).mutable_data() + i, count),
                ...);
        }
        return y;
    }
    /// Loads a batch, or its tail: then the last element fills the other lanes.
    template <class Kind, class T> static Part<Kind> load(T const* from, std::size_t count) {
        if constexpr (!Options::on_batches) return *from;
        else {
            if (count == width) return Part<Kind>::load(from);
            T all[width];
            for (std::size_t lane = 0; lane < width; ++lane)
                all[lane] = from[std::min(lane, count - 1)];
            return Part<Kind>::load(all);
        }
    }
    template <class Kind, class V, class T>
    static void store(V const& value, T* to, std::size_t count) {
        if constexpr (!Options::on_batches) *to = value;
        else {
            T all[width];
            value.store(all);
            std::copy_n(all, count, to);
        }
    }
};

/// True for an expression of tensors and numbers whose operations all give real or complex numbers.
template <class X> inline constexpr bool is_of_numbers = takes_gradients<kind_in<X>>;
template <Number T> inline constexpr bool is_of_numbers<Constant<T>> = true;
template <class Op, class... X>
inline constexpr bool is_of_numbers<Expression<Op, X...>> =
    takes_gradients<typename Expression<Op, X...>::kind> && (is_of_numbers<X> && ...);

/// F of flattened expressions, as a function of the numbers of their tensors.
template <class F, class... E> struct OfExpressions {
    F f;
    std::tuple<E...> expressions;

    template <class... N> XGRAD_INLINE auto operator()(N const&... n) const {
        constexpr auto first = first_operands<E...>();
        auto const all = std::tie(n...);
        using First = std::tuple_element_t<0, std::tuple<N...>>;
        return [&]<std::size_t... I>(std::index_sequence<I...>) XGRAD_LAMBDA_INLINE {
            return f(of_kind<number_kind<typename E::kind>, First>(
                number<first[I]>(std::get<I>(expressions), all))...);
        }(std::index_sequence_for<E...>{});
    }

private:
    template <std::size_t At, class T, class All>
    XGRAD_INLINE static auto number(Slot<T> const&, All const& all) {
        return std::get<At>(all);
    }
    template <std::size_t At, class T, class All>
    XGRAD_INLINE static auto number(Constant<T> const& c, All const&) {
        return c.value();
    }
    template <std::size_t At, class Op, class... X, class All>
    XGRAD_INLINE static auto number(Expression<Op, X...> const& e, All const& all) {
        constexpr auto first = first_operands<X...>();
        return [&]<std::size_t... I>(std::index_sequence<I...>) XGRAD_LAMBDA_INLINE {
            return express(e.op, number<At + first[I]>(get<I>(e.x), all)...);
        }(std::index_sequence_for<X...>{});
    }
};

/// An operand as map_several() takes it: an expression that OfExpressions computes, or a tensor.
template <class X> auto several_operand(X const& x) {
    if constexpr (Number<X>) return OperandTraits<X>::make(x);
    else if constexpr (is_expression<X> && is_of_numbers<X>) return x;
    else return materialize(x);
}
template <class Options, class Result, class P, class F, class... E>
auto map_expressions(F const& f, E const&... e) {
    using Inlined = OfExpressions<F, flat_expression<E>...>;
    AnyTensor const* tensors[(flat_expression<E>::operand_count + ...)];
    AnyTensor const** next = tensors;
    Inlined const inlined{
        f, std::tuple<flat_expression<E>...>{FlatExpressionOf<E>::flatten(e, next)...}};
    return [&]<Scalar... T, std::size_t... I, std::size_t... K>(
               Scalars<T...>, std::index_sequence<I...>, std::index_sequence<K...>) {
        using Mapped =
            MapSeveral<Inlined, Options, P, Types<result_kind<std::tuple_element_t<K, Result>>...>,
                Types<mapped_kind<Tensor<T>>...>>;
        return Mapped::apply(inlined, cast<typename mapped_kind<Tensor<T>>::template over<P>>(
                                          tensors[I]->template as<T>())...);
    }(typename JoinedScalars<operand_scalars<flat_expression<E>>...>::type{},
               std::make_index_sequence<(flat_expression<E>::operand_count + ...)>{},
               std::make_index_sequence<std::tuple_size_v<Result>>{});
}
/// Several results: expressions among the operands are computed in the same pass.
template <class Options, class Result, class P, class F, class... X>
auto map_several(F const& f, X const&... x) {
    if constexpr ((EvaluatedAtOnce<X> || ...))
        return call_at_once(
            [&f](auto const&... all) { return map_several<Options, Result, P>(f, all...); }, x...);
    else {
        auto const results = map_expressions<Options, Result, P>(f, several_operand(x)...);
        if constexpr (requires(Result r) { r.fill(r[0]); })
            return std::apply([](auto const&... y) { return std::array{y...}; }, results);
        else return results;
    }
}

} // namespace xgrad::detail
