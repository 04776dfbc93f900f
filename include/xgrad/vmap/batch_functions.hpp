// Functions of a Batched that are more than operations on it: those that call LAPACK or read
// values, and those of tensors only. Each calls the function of the same name with the tensor of
// all examples, and axes behind the levels.
//
// Shapes: those of the functions, for each example.
// Gradients: those of the functions.
// Errors: those of the functions.
//
// Read next: batch_indexing.hpp, batch_matrices.hpp.
#pragma once

#include <xgrad/vmap/batch_rules.hpp>

namespace xgrad {

namespace detail {

/// A result of a function of all examples, and of each tensor in it: a Batched.
template <class Lv, class Y> auto batched_result(Y const& y) {
    return map_structure(y, [](auto const& t) {
        if constexpr (is_expression<std::remove_cvref_t<decltype(t)>>) return batched<Lv>(t);
        else return batched<Lv>(Tensor<typename std::remove_cvref_t<decltype(t)>::scalar>(t));
    });
}
/// f(tensor of all examples, number of levels).
template <class X, class F> auto on_all(X const& x, F const& f) {
    using Lv = levels_of<X>;
    return batched_result<Lv>(f(materialize(x.stacked()), Lv::count));
}
/// f(tensors of all examples...), with the full extents of their levels.
template <class F, class... X> auto on_all_full(F const& f, X const&... x) {
    using Lv = joined_levels<X...>;
    auto const sizes = level_sizes(Lv());
    return batched_result<Lv>(f(stacked_over<Lv>(x, sizes)...));
}
/// An elementwise function with several results, of all examples: what map() calls.
template <class F, class... X>
    requires(is_batched<X> || ...)
auto call_at_once(F const& f, X const&... x) {
    using Lv = joined_levels<X...>;
    auto const rank = std::max({rank_of(x)...});
    return batched_result<Lv>(f(lifted<Lv>(x, rank)...));
}

} // namespace detail

// The parameters are those of the functions of operands, so that these overloads are the more
// constrained ones.
/// `f()` of each example.
#define XGRAD_ALONG_AXIS(f, by_default)                                                            \
    template <BatchedOperand X>                                                                    \
    auto f(X const& x, std::ptrdiff_t axis by_default, Flag flag = false) {                        \
        return detail::on_all(x, [&](auto const& t, std::size_t levels) {                          \
            return f(t, detail::axis_behind(#f, levels, axis, x.shape()), flag);                   \
        });                                                                                        \
    }
XGRAD_ALONG_AXIS(argmax, )
XGRAD_ALONG_AXIS(argmin, )
XGRAD_ALONG_AXIS(argsort, = -1)
XGRAD_ALONG_AXIS(median, )
XGRAD_ALONG_AXIS(sort, = -1)
#undef XGRAD_ALONG_AXIS
template <BatchedOperand X> auto argmax(X const& x) { return argmax(flatten(x), 0); }
template <BatchedOperand X> auto argmin(X const& x) { return argmin(flatten(x), 0); }
/// topk() of each example.
template <BatchedOperand X>
auto topk(X const& x, std::size_t k, std::ptrdiff_t axis = -1, Flag largest = true) {
    return detail::on_all(x, [&](auto const& t, std::size_t levels) {
        return topk(t, k, detail::axis_behind("topk", levels, axis, x.shape()), largest);
    });
}
/// `f()` of each example.
#define XGRAD_ALONG_AXIS(f)                                                                        \
    template <BatchedOperand X, class... A>                                                        \
    auto f(X const& x, std::ptrdiff_t axis, A const&... rest) {                                    \
        return detail::on_all(x, [&](auto const& t, std::size_t levels) {                          \
            return f(t, detail::axis_behind(#f, levels, axis, x.shape()), rest...);                \
        });                                                                                        \
    }
XGRAD_ALONG_AXIS(unbind)
XGRAD_ALONG_AXIS(select)
XGRAD_ALONG_AXIS(narrow)
#undef XGRAD_ALONG_AXIS
template <BatchedOperand X> auto unbind(X const& x) { return unbind(x, 0); }
/// `f()` of each example.
#define XGRAD_IN_PARTS(f)                                                                          \
    template <BatchedOperand X> auto f(X const& x, std::size_t n, std::ptrdiff_t axis = 0) {       \
        return detail::on_all(x, [&](auto const& t, std::size_t levels) {                          \
            return f(t, n, detail::axis_behind(#f, levels, axis, x.shape()));                      \
        });                                                                                        \
    }
XGRAD_IN_PARTS(split)
XGRAD_IN_PARTS(chunk)
#undef XGRAD_IN_PARTS
/// diff() of each example.
template <BatchedOperand X> auto diff(X const& x, std::ptrdiff_t n = 1, std::ptrdiff_t axis = -1) {
    return detail::on_all(x, [&](auto const& t, std::size_t levels) {
        return diff(t, n, detail::axis_behind("diff", levels, axis, x.shape()));
    });
}
/// trapezoid() of each example.
template <BatchedOperand Y> auto trapezoid(Y const& y, double dx = 1, std::ptrdiff_t axis = -1) {
    return detail::on_all(y, [&](auto const& t, std::size_t levels) {
        return trapezoid(t, dx, detail::axis_behind("trapezoid", levels, axis, y.shape()));
    });
}
template <class Y, class X>
    requires AnyBatched<Y, X>
auto trapezoid(Y const& y, X const& x, std::ptrdiff_t axis = -1) {
    auto const t = materialize_expression(movedim(materialize_expression(y), axis, -1));
    auto const n = static_cast<std::ptrdiff_t>(t.shape(-1));
    if (!(Shape(x.shape()) == Shape{n}))
        detail::fail<ShapeError>("trapezoid: positions are a vector with the extent of the axis, ",
            n, ", not of shape ", Shape(x.shape()));
    auto const mean =
        0.5 * (t(ellipsis, slice(1)) + t(ellipsis, slice(0, std::max<std::ptrdiff_t>(n - 1, 0))));
    return sum(diff(x) * mean, -1);
}
/// quantile() of each example.
template <BatchedOperand X>
auto quantile(X const& x, double q, std::ptrdiff_t axis, Flag keep = false) {
    return detail::on_all(x, [&](auto const& t, std::size_t levels) {
        return quantile(t, q, detail::axis_behind("quantile", levels, axis, x.shape()), keep);
    });
}
template <BatchedOperand X> auto quantile(X const& x, double q) {
    return quantile(flatten(x), q, 0);
}
/// diagonal() of each example.
template <BatchedOperand X>
auto diagonal(
    X const& x, std::ptrdiff_t offset = 0, std::ptrdiff_t axis0 = 0, std::ptrdiff_t axis1 = 1) {
    return detail::on_all(x, [&](auto const& t, std::size_t levels) {
        return diagonal(t, offset, detail::axis_behind("diagonal", levels, axis0, x.shape()),
            detail::axis_behind("diagonal", levels, axis1, x.shape()));
    });
}
/// log(sum(exp(x))); see reduction.hpp.
template <BatchedOperand X> auto logsumexp(X const& x, AxisList const& axes, Flag keep = false) {
    return detail::on_all(x, [&](auto const& t, std::size_t levels) {
        return logsumexp(
            t, detail::behind(levels, detail::checked_axes("logsumexp", x, axes)), keep);
    });
}
template <BatchedOperand X> auto logsumexp(X const& x) {
    return logsumexp(x, detail::all_axes(x.dim()));
}

/// `f()` of each example; random numbers are other ones for each.
#define XGRAD_OF_TENSOR(f)                                                                         \
    template <BatchedOperand X, class... A> auto f(X const& x, A const&... rest) {                 \
        return detail::on_all(x, [&](auto const& t, std::size_t) { return f(t, rest...); });       \
    }
XGRAD_OF_TENSOR(zeros_like)
XGRAD_OF_TENSOR(ones_like)
XGRAD_OF_TENSOR(full_like)
XGRAD_OF_TENSOR(rand_like)
XGRAD_OF_TENSOR(randn_like)
XGRAD_OF_TENSOR(bernoulli)
XGRAD_OF_TENSOR(one_hot)
XGRAD_OF_TENSOR(view_as_real)
XGRAD_OF_TENSOR(view_as_complex)
#undef XGRAD_OF_TENSOR

namespace detail {
/// An axis of the result of a join, in the tensor of all examples.
inline std::ptrdiff_t join_axis(std::ptrdiff_t axis, std::size_t levels) {
    return axis < 0 ? axis : axis + static_cast<std::ptrdiff_t>(levels);
}
/// f(tensors of all examples, axis) for a std::tuple of operands.
template <class F, class... X>
auto join_all(F const& f, std::tuple<X...> const& x, std::ptrdiff_t axis) {
    using Lv = joined_levels<X...>;
    auto const sizes = level_sizes(Lv());
    return batched<Lv>(std::apply(
        [&](auto const&... each) {
            return f(std::vector{stacked_over<Lv>(each, sizes)...}, join_axis(axis, Lv::count));
        },
        x));
}
template <class F, class V, class... L>
auto join_all(F const& f, std::vector<Batched<V, L...>> const& x, std::ptrdiff_t axis) {
    using Lv = Levels<L...>;
    auto const sizes = level_sizes(Lv());
    std::vector<Tensor<typename V::scalar>> tensors;
    for (auto const& each : x) tensors.push_back(stacked_over<Lv>(each, sizes));
    return batched<Lv>(f(tensors, join_axis(axis, Lv::count)));
}
} // namespace detail
/// `f()` of each example: of a std::vector of Batched, a list in braces of one type, or a
/// std::tuple of operands.
#define XGRAD_JOIN(f)                                                                              \
    template <class... X>                                                                          \
        requires(Operand<X> && ...)                                                                \
    auto f(std::tuple<X...> const& x, std::ptrdiff_t axis = 0) {                                   \
        return detail::join_all(                                                                   \
            [](auto const& t, std::ptrdiff_t at) { return f(t, at); }, x, axis);                   \
    }                                                                                              \
    template <BatchedOperand X> auto f(std::vector<X> const& x, std::ptrdiff_t axis = 0) {         \
        return detail::join_all(                                                                   \
            [](auto const& t, std::ptrdiff_t at) { return f(t, at); }, x, axis);                   \
    }                                                                                              \
    template <BatchedOperand X> auto f(std::initializer_list<X> x, std::ptrdiff_t axis = 0) {      \
        return f(std::vector<X>(x), axis);                                                         \
    }
XGRAD_JOIN(cat)
XGRAD_JOIN(stack)
#undef XGRAD_JOIN
/// concatenate() of each example.
template <BatchedOperand X> auto concatenate(std::vector<X> const& x, std::ptrdiff_t axis = 0) {
    return cat(x, axis);
}

} // namespace xgrad
