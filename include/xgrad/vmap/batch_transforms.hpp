// Transforms of functions (grad(), jacobian(), ...) inside of a function that vmap() calls.
// Examples do not meet, so that the derivatives of all are those of the sum over them: each
// transform is the one of tensors, for the tensors of all examples.
//
// An input that is shared, beside or around a Batched, gets derivatives for each example: it is
// expanded.
//
// Shapes: those of the transforms, for each example.
// Gradients: as of the transforms: recorded with create_graph, so that they nest.
// Errors: those of the transforms; a function of several numbers where one is needed is a
// ShapeError. Inputs other than a tensor and a tuple of tensors, and vjp(f)(x) and linearize(), do
// not compile.
//
// Read next: vmap.hpp.
#pragma once

#include <xgrad/vmap/batch_indexing.hpp>
#include <xgrad/vmap/batch_matrices.hpp>

namespace xgrad {

namespace detail {

/// The structure of a Batched, as of a tensor, is itself.
template <class V, class... L> struct StructureOf<Batched<V, L...>> {
    using type = Batched<Tensor<typename V::scalar>, L...>;
    using scalars = std::tuple<typename V::scalar>;
    static type make(Batched<V, L...> const& x) { return materialize_expression(x); }
};

/// What the transform functions vjp(f) and linearize(f) ask of the inputs.
template <class F, class V, class... L> struct Transform<F, Batched<V, L...>> {
    static_assert(is_one_example<V>, "vmap: inside of it, vjp(f)(x) and linearize() have no rule: "
                                     "write vjp(f, x, v) and jvp(f, x, v)");
};

template <class X> inline constexpr bool is_flat_batched = is_batched<X>;
template <class... X>
inline constexpr bool is_flat_batched<std::tuple<X...>> =
    (is_batched<X> || ...) && ((is_batched<X> || TensorLike<X>)&&...);

/// What F returns for the inputs X.
template <class F, class X> auto result_for() {
    using Call = CallOf<std::remove_reference_t<F>, X>;
    if constexpr (Call::takes_inputs) return std::type_identity<typename Call::Result>();
    else return std::type_identity<void>();
}
/// F is called with a Batched, or returns one.
template <class F, class X>
concept BatchedCall = is_flat_batched<X> || [] {
    if constexpr (StructureLike<X> && !is_flat_batched<X>)
        return levels_in<typename decltype(result_for<F, structure<X>>())::type>::count != 0;
    else return false;
}();

/// The inputs X, as Batched of all levels that meet in F.
template <class Lv, class X> struct AllBatched {
    using type = typename Lv::template batched<Tensor<typename structure<X>::scalar>>;
};
template <class Lv, class... X> struct AllBatched<Lv, std::tuple<X...>> {
    using type = std::tuple<typename AllBatched<Lv, X>::type...>;
};

/// A call of F with the inputs X as one of tensors, whose first axes are the levels.
template <class F, class X> struct BatchedTransform {
    using In = levels_in<X>;
    template <class Lv>
    using result_levels =
        levels_in<typename decltype(result_for<F, typename AllBatched<Lv, X>::type>())::type>;
    /// The levels of X, and then those that F captures.
    using Given = levels_in<typename decltype(result_for<F, structure<X>>())::type>;
    using Lv = typename JoinLevels<In, Given>::type;

    F& f;
    Shape const sizes = level_sizes(Lv());

    auto tensors(X const& x) const {
        return map_structure(x, [&](auto const& t) { return stacked_over<Lv>(t, sizes); });
    }
    template <class Y> auto results(Y const& y) const { return batched_result<Lv>(y); }
    /// f for all examples: its results as tensors.
    auto function() const {
        return [this](auto const&... t) {
            return map_structure(std::invoke(f, batched<Lv>(materialize(t))...),
                [&](auto const& y) { return stacked_over<Lv>(y, sizes); });
        };
    }
    /// The same of one number for each example; its shape is written to `example`.
    auto number(std::string_view name, Shape& example) const {
        return [this, name, &example, g = function()](auto const&... t) {
            auto const y = g(t...);
            static_assert(TensorLike<std::remove_cvref_t<decltype(y)>>,
                "vmap: grad, value_and_grad, hessian, hvp, vhp: the function should return a "
                "single "
                "Tensor of real numbers");
            example = Shape(y.shape().begin() + Lv::count, y.shape().end());
            if (numel(example) != 1)
                fail<ShapeError>(name, ": the function returns shape ", example,
                    " for each example, and one number is needed");
            return materialize_expression(reshape(y, Axes(sizes)));
        };
    }
    /// A result of number() with the shape of an example.
    template <class T> auto numbers(T const& y, Shape const& example) const {
        return batched<Lv>(only_reshaped(reshape(y, Axes(joined_dims(sizes, example)))));
    }
};
template <class F, class X> auto batched_transform(F& f, X const&) {
    return BatchedTransform<F, X>{f};
}

/// g of a tensor, or of a tuple of several.
template <class G, class X> auto call_all(G const& g, X const& x) {
    if constexpr (is_tuple<X>) return std::apply(g, x);
    else return g(x);
}
/// One tensor of a tuple, or the tuple of several.
template <class... T> auto one_or_all(std::tuple<T...> x) {
    if constexpr (sizeof...(T) == 1) return std::get<0>(x);
    else return x;
}
template <class X> auto all_of_one(X const& x) {
    if constexpr (is_tuple<X>) return x;
    else return std::tuple(x);
}
/// The Jacobians of g at tensors whose first axes are levels, a pass backward for each element of
/// the results for one example.
template <class G, class... T>
auto jacobian_by_levels(G const& g, std::size_t levels, std::tuple<T...> const& x) {
    auto const value_and_pull = std::apply([&](auto const&... t) { return vjp(g)(t...); }, x);
    auto const& y = value_and_pull.first;
    auto const outputs = erased(y);
    auto const block = [&](std::size_t k) {
        Shape const whole = outputs[k].shape(), example(whole.begin() + levels, whole.end());
        std::tuple<std::vector<T>...> rows;
        for (std::size_t j = 0, n = numel(example); j < n; ++j) {
            auto units = y;
            std::size_t at = 0;
            visit_tensors(units, [&]<Scalar Y>(Tensor<Y>& t) {
                Tensor<Y> const unit(Array<Y>(joined_dims(Shape(levels, 1), example), Y(0)));
                if (at++ == k) set_unit(unit, j);
                t = broadcast_to(unit, t.shape());
            });
            auto const row = all_of_one(value_and_pull.second(units));
            [&]<std::size_t... I>(std::index_sequence<I...>) {
                (std::get<I>(rows).push_back(std::get<I>(row)), ...);
            }(std::index_sequence_for<T...>());
        }
        auto const finish = [&]<Scalar X>(std::vector<Tensor<X>> const& of, Tensor<X> const& in) {
            auto const shape =
                joined_dims(whole, Shape(in.shape().begin() + levels, in.shape().end()));
            return of.empty() ? Tensor<X>(Array<X>(shape))
                              : only_reshaped(reshape(
                                    stack(of, static_cast<std::ptrdiff_t>(levels)), Axes(shape)));
        };
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            return one_or_all(std::tuple(finish(std::get<I>(rows), std::get<I>(x))...));
        }(std::index_sequence_for<T...>());
    };
    if constexpr (is_tuple<std::remove_cvref_t<decltype(y)>>)
        return [&]<std::size_t... K>(std::index_sequence<K...>) { return tuple_of(block(K)...); }(
                   std::make_index_sequence<std::tuple_size_v<std::remove_cvref_t<decltype(y)>>>());
    else return block(0);
}

} // namespace detail

/// vjp() of each example.
template <class F, class X, detail::StructureLike V>
    requires detail::BatchedCall<F, X>
auto vjp(F&& f, X const& inputs, V const& v, TransformOptions const& options = {}) {
    auto const of = detail::batched_transform(f, inputs);
    auto const of_v = detail::map_structure(v, [&](auto const& t) {
        return detail::stacked_over<typename decltype(of)::Lv>(t, of.sizes);
    });
    auto const [y, products] = vjp(of.function(), of.tensors(inputs), of_v, options);
    return std::pair(of.results(y), of.results(products));
}
/// value_and_grad() of each example.
template <class F, class X>
    requires detail::BatchedCall<F, X>
auto value_and_grad(F&& f, X const& inputs, TransformOptions const& options = {}) {
    auto const of = detail::batched_transform(f, inputs);
    Shape example;
    auto const number = of.number("value_and_grad", example);
    auto const x = of.tensors(inputs);
    using T = typename std::remove_cvref_t<decltype(detail::call_all(number, x))>::scalar;
    auto const [y, gradients] = vjp(number, x, ones<T>(of.sizes), options);
    return std::pair(of.numbers(y, example), of.results(gradients));
}
template <class F, class X>
    requires detail::BatchedCall<F, X>
auto vjp(F&& f, X const& inputs, TransformOptions const& options = {}) {
    return value_and_grad(f, inputs, options);
}
/// jvp() of each example.
template <class F, class X, detail::StructureLike V>
    requires detail::BatchedCall<F, X>
auto jvp(F&& f, X const& inputs, V const& v, TransformOptions const& options = {}) {
    auto const of = detail::batched_transform(f, inputs);
    auto const of_v = detail::map_structure(v, [&](auto const& t) {
        return detail::stacked_over<typename decltype(of)::Lv>(t, of.sizes);
    });
    auto const [y, products] = jvp(of.function(), of.tensors(inputs), of_v, options);
    return std::pair(of.results(y), of.results(products));
}
/// jacobian() of each example.
template <class F, class X>
    requires detail::BatchedCall<F, X>
auto jacobian(F&& f, X const& inputs, JacobianOptions const& options = {}) {
    detail::DifferentiatedScope const scope(options.create_graph.value_or(detail::differentiated));
    auto const of = detail::batched_transform(f, inputs);
    return of.results(detail::jacobian_by_levels(
        of.function(), decltype(of)::Lv::count, detail::all_of_one(of.tensors(inputs))));
}
/// hessian() of each example.
template <class F, class X>
    requires detail::BatchedCall<F, X>
auto hessian(F&& f, X const& inputs, JacobianOptions const& options = {}) {
    auto const gradient = [&f](auto const&... x) {
        return value_and_grad(f, detail::one_or_all(std::tuple(x...))).second;
    };
    return jacobian(gradient, inputs, options);
}
/// `name()` of each example: the derivative of the gradient along v.
#define XGRAD_HESSIAN_PRODUCT(name)                                                                \
    template <class F, class X, detail::StructureLike V>                                           \
        requires detail::BatchedCall<F, X>                                                         \
    auto name(F&& f, X const& inputs, V const& v, TransformOptions const& options = {}) {          \
        auto const of = detail::batched_transform(f, inputs);                                      \
        auto const of_v = detail::map_structure(v, [&](auto const& t) {                            \
            return detail::stacked_over<typename decltype(of)::Lv>(t, of.sizes);                   \
        });                                                                                        \
        Shape example;                                                                             \
        auto const number = of.number(#name, example);                                             \
        auto const x = of.tensors(inputs);                                                         \
        decltype(detail::call_all(number, x)) y;                                                   \
        auto const total = [&](auto const&... t) { return sum(y = number(t...)); };                \
        auto const product = name(total, x, of_v, options).second;                                 \
        bool const recorded =                                                                      \
            options.create_graph.value_or(detail::differentiated && detail::recording());          \
        return std::pair(of.numbers(recorded ? y : y.detach(), example), of.results(product));     \
    }
XGRAD_HESSIAN_PRODUCT(hvp)
XGRAD_HESSIAN_PRODUCT(vhp)
#undef XGRAD_HESSIAN_PRODUCT

} // namespace xgrad
