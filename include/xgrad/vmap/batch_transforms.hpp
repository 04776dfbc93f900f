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

template <class X> inline constexpr bool is_flat_batched = is_batched<X>;
template <class... X>
inline constexpr bool is_flat_batched<std::tuple<X...>> =
    (is_batched<X> || ...) && ((is_batched<X> || TensorLike<X>)&&...);

/// What F returns for the inputs X.
template <class F, class X>
using result_for = typename CallOf<std::remove_reference_t<F>, X>::Result;
/// F is called with a Batched, or returns one.
template <class F, class X>
concept BatchedCall = is_flat_batched<X> || [] {
    if constexpr (StructureLike<X> && !is_flat_batched<X> && !OperandLike<F>)
        return levels_in<result_for<F, structure<X>>>::count != 0;
    else return false;
}();

/// A call of F with the inputs X as one of tensors, whose first axes are the levels.
template <class F, class X> struct BatchedTransform {
    /// The levels of X, and then those that F captures.
    using Given = levels_in<result_for<F, structure<X>>>;
    using Lv = typename JoinLevels<levels_in<X>, Given>::type;

    F& f;
    Shape const sizes = level_sizes(Lv());

    template <class V> auto tensors(V const& x) const {
        return map_structure(x, [&](auto const& t) { return stacked_over<Lv>(t, sizes); });
    }
    template <class Y> auto results(Y const& y) const { return batched_result<Lv>(y); }
    /// f for all examples: its results as tensors.
    auto function() const {
        return [this](auto const&... t) {
            return tensors(call_with_examples(f, batched<Lv>(materialize(t))...));
        };
    }
    /// The same of one number for each example; its shape is written to `example`.
    auto number(std::string_view name, Shape& example) const {
        return [this, name, &example, g = function()](auto const&... t) {
            auto const y = g(t...);
            static_assert(TensorLike<std::remove_cvref_t<decltype(y)>>,
                "vmap: grad, value_and_grad, hessian, hvp, vhp: the function should return a "
                "single Tensor of real numbers");
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
    /// The results of transform(g, x, options) with the examples as rows: all levels are one axis.
    template <class G, class Transform>
    auto by_rows(G const& g, X const& inputs, JacobianOptions options, Transform transform) const {
        if (options.rows)
            fail<GraphError>("vmap: inside of it, jacobian() and hessian() have no option `rows`: "
                             "the examples are the rows");
        options.rows = true;
        auto const joined = [](auto const& t) {
            return materialize_expression(
                flatten(t, 0, static_cast<std::ptrdiff_t>(Lv::count) - 1));
        };
        auto const apart = [this](auto const& t) {
            Shape const row(t.shape().begin() + 1, t.shape().end());
            return materialize_expression(reshape(t, Axes(joined_dims(sizes, row))));
        };
        auto const rows_of_g = [&](auto const&... t) {
            return map_structure(g(apart(t)...), joined);
        };
        return results(map_structure(
            transform(rows_of_g, map_structure(tensors(inputs), joined), options), apart));
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

} // namespace detail

/// vjp() of each example.
template <class F, class X, detail::StructureLike V>
    requires detail::BatchedCall<F, X>
auto vjp(F&& f, X const& inputs, V const& v, TransformOptions const& options = {}) {
    auto const of = detail::batched_transform(f, inputs);
    auto const [y, products] = vjp(of.function(), of.tensors(inputs), of.tensors(v), options);
    return std::pair(of.results(y), of.results(products));
}
/// value_and_grad() of each example.
template <class F, class X>
    requires detail::BatchedCall<F, X>
auto value_and_grad(F&& f, X const& inputs, TransformOptions const& options = {},
    std::string_view name = "value_and_grad") {
    auto const of = detail::batched_transform(f, inputs);
    Shape example;
    auto const number = of.number(name, example);
    auto const x = of.tensors(inputs);
    using T = typename std::remove_cvref_t<decltype(detail::call_all(number, x))>::scalar;
    auto const [y, gradients] = vjp(number, x, ones<T>(of.sizes), options);
    return std::pair(of.numbers(y, example), of.results(gradients));
}
template <class F, class X>
    requires detail::BatchedCall<F, X>
auto vjp(F&& f, X const& inputs, TransformOptions const& options = {}) {
    return value_and_grad(f, inputs, options, "vjp");
}
/// jvp() of each example.
template <class F, class X, detail::StructureLike V>
    requires detail::BatchedCall<F, X>
auto jvp(F&& f, X const& inputs, V const& v, TransformOptions const& options = {}) {
    auto const of = detail::batched_transform(f, inputs);
    auto const [y, products] = jvp(of.function(), of.tensors(inputs), of.tensors(v), options);
    return std::pair(of.results(y), of.results(products));
}
/// jacobian() of each example: the examples are rows of one call.
template <class F, class X>
    requires detail::BatchedCall<F, X>
auto jacobian(F&& f, X const& inputs, JacobianOptions const& options = {}) {
    auto const of = detail::batched_transform(f, inputs);
    return of.by_rows(
        of.function(), inputs, options, [](auto const& g, auto const& x, auto const& with_rows) {
            return jacobian(g, x, with_rows);
        });
}
/// hessian() of each example.
template <class F, class X>
    requires detail::BatchedCall<F, X>
auto hessian(F&& f, X const& inputs, JacobianOptions const& options = {}) {
    auto const of = detail::batched_transform(f, inputs);
    Shape example;
    return of.by_rows(of.number("hessian", example), inputs, options,
        [](auto const& g, auto const& x, auto const& with_rows) {
            return hessian(g, x, with_rows);
        });
}
/// `name()` of each example: the derivative of the gradient along v.
#define XGRAD_HESSIAN_PRODUCT(name)                                                                \
    template <class F, class X, detail::StructureLike V>                                           \
        requires detail::BatchedCall<F, X>                                                         \
    auto name(F&& f, X const& inputs, V const& v, TransformOptions const& options = {}) {          \
        auto const of = detail::batched_transform(f, inputs);                                      \
        Shape example;                                                                             \
        auto const number = of.number(#name, example);                                             \
        auto const x = of.tensors(inputs);                                                         \
        decltype(detail::call_all(number, x)) y;                                                   \
        auto const total = [&](auto const&... t) { return sum(y = number(t...)); };                \
        auto const product = name(total, x, of.tensors(v), options).second;                        \
        bool const recorded =                                                                      \
            options.create_graph.value_or(detail::differentiated && detail::recording());          \
        return std::pair(of.numbers(recorded ? y : y.detach(), example), of.results(product));     \
    }
XGRAD_HESSIAN_PRODUCT(hvp)
XGRAD_HESSIAN_PRODUCT(vhp)
#undef XGRAD_HESSIAN_PRODUCT

} // namespace xgrad
