// Derivatives by element: sum_over() adds up a function of a few numbers over the elements of a
// mesh, or of any index, with its gradient and its sparse Hessian. Not part of xgrad.hpp, so that a
// program without it compiles faster.
//
// Shapes: x is (n, d), or (n) for d = 0. The index is (elements, m), and its row e names the rows
// of x that are the corners of element e. A constant has an axis for the elements, and any others.
// Gradients: for x, by value().backward() or gradient(); second derivatives by hessian(). Constants
// have none.
// Errors: ShapeError for other shapes; IndexError for an index that names a row that x does not
// have, and for a number that a constant does not have; GraphError for a constant that requires a
// gradient. What the function throws leaves the call that computes. A function that cannot be
// called, or that branches without the tag, does not compile.
#pragma once

#include <xgrad/core/begin_headers.inc> // first

#include <xgrad/map.hpp>
#include <xgrad/sparse.hpp>
#include <xgrad/sum_over/element_sum.hpp>

namespace xgrad {

namespace detail {

template <class X> inline constexpr bool is_real_tensor = false;
template <RealScalar T> inline constexpr bool is_real_tensor<Tensor<T>> = true;
template <class X> inline constexpr bool is_constant_tensor = is_real_tensor<X>;
template <> inline constexpr bool is_constant_tensor<Tensor<std::int64_t>> = true;
template <> inline constexpr bool is_constant_tensor<Tensor<bool>> = true;

template <class A, class> using first_of = A;
/// Stands for a sum that does not compile, so that there is one error.
struct NoSum {
    Tensor<double> value(), gradient();
    SparseMatrix<double> hessian(), positive_hessian();
    NoSum at(auto const& x) const;
};
/// A constant of a sum, as numbers of type T.
template <class T, class C> Tensor<T> element_constant(C const& c, std::size_t elements) {
    if (c.requires_grad())
        fail<GraphError>("sum_over: a constant of shape ", c.shape(),
            " requires a gradient, but only x has one; detach() it");
    if (c.dim() == 0 || c.shape()[0] != elements)
        fail<ShapeError>("sum_over: a constant has shape ", c.shape(),
            ", and its first axis should be that of the ", elements, " elements");
    return Tensor<T>(cast<T>(c)).contiguous().clone(); // what c becomes later is another sum
}

template <std::size_t corners, std::size_t numbers, bool on_batches, class F, class X, class I,
    class... C>
auto make_sum(F&& f, X const& x, I const& index, C const&... constants) {
    static_assert(corners > 0, "sum_over: an element has at least one corner");
    static_assert(is_real_tensor<X>, "sum_over: x is a Tensor<float> or a Tensor<double>");
    static_assert(
        std::same_as<I, Tensor<std::int64_t>>, "sum_over: the index is a Tensor<std::int64_t>");
    static_assert((is_constant_tensor<C> && ...),
        "sum_over: constants are tensors of real numbers or integers, with an axis for the "
        "elements");
    if constexpr (corners > 0 && is_real_tensor<X> && std::same_as<I, Tensor<std::int64_t>> &&
                  (is_constant_tensor<C> && ...)) {
        using T = typename X::scalar;
        using Form = ElementForm<corners, numbers>;
        using Call = ElementKernel<Form, T, on_batches>;
        using Corners = typename Call::template Corners<Order::value>;
        using Function = std::decay_t<F>;
        constexpr bool is_callable = requires(Function const& g, Corners p,
            first_of<typename Call::Constant, C> const&... c) { g(std::move(p), c...); };
        static_assert(is_callable,
            "sum_over: the function cannot be called with an array of the corners and the "
            "constants; it must be a template: [](auto const& corners, auto const& constant)");
        if constexpr (is_callable) {
            using Number = typename Call::template Number<Order::value>;
            constexpr bool is_number = requires(
                Function const& g, Corners p, first_of<typename Call::Constant, C> const&... c) {
                { g(std::move(p), c...) } -> std::convertible_to<Number>;
            };
            static_assert(is_number, "sum_over: the function must return a number");
            if constexpr (is_number) {
                [&](auto const&... given) {
                    std::size_t argument = 0;
                    (check_defined("sum_over", given, argument++), ...);
                }(x, index, constants...);
                if constexpr (numbers == 0) {
                    if (x.dim() != 1)
                        fail<ShapeError>("sum_over<", corners, ">: x has shape ", x.shape(),
                            ", and should be a vector");
                } else if (x.dim() != 2 || x.shape()[1] != numbers)
                    fail<ShapeError>("sum_over<", corners, ", ", numbers, ">: x has shape ",
                        x.shape(), ", and should have ", numbers, " columns");
                using Terms =
                    ElementTerms<T, Form, on_batches, Function, first_of<Tensor<T>, C>...>;
                std::shared_ptr<Terms const> terms(new Terms{std::forward<F>(f), x.shape(),
                    ElementIndex<Form>(index, x.shape()[0]),
                    {element_constant<T>(constants, index.shape()[0])...}, XGRAD_CHECKS_CALLS});
                return ElementSum<Terms>(std::move(terms), x);
            } else return NoSum();
        } else return NoSum();
    } else return NoSum();
}

} // namespace detail

/// The sum of f over elements: f(corners, constants...) for each row of the index. With
/// `sum_over<m, d>` the corners are a `std::array` of m `std::array`s of d numbers, rows of x; with
/// `sum_over<m>`, for a vector x, they are one of m numbers. A constant is called for its numbers:
/// `c()`, `c(i)`, `c(i, j)`, by its axes but the first. f must be a template, since it is called
/// with numbers that carry derivatives; one that branches on values needs `sum_over<m,
/// d>(with_branches, f, x, index)`, and is slower. Other threads may call it at the same time:
/// set_num_threads(). Derivatives call f again: capture by value, [=].
///
/// The result has the value, the gradient and the sparse Hessian: ElementSum.
template <std::size_t m, std::size_t d = 0, class F, class X, class I, class... C>
    requires(!std::same_as<std::remove_cvref_t<F>, WithBranches>)
auto sum_over(F&& f, X const& x, I const& index, C const&... constants) {
    return detail::make_sum<m, d, true>(std::forward<F>(f), detail::stored_as<X>(x),
        detail::stored_as<I>(index), detail::stored_as<C>(constants)...);
}
template <std::size_t m, std::size_t d = 0, class F, class X, class I, class... C>
auto sum_over(WithBranches, F&& f, X const& x, I const& index, C const&... constants) {
    return detail::make_sum<m, d, false>(std::forward<F>(f), detail::stored_as<X>(x),
        detail::stored_as<I>(index), detail::stored_as<C>(constants)...);
}

} // namespace xgrad

#include <xgrad/core/end_headers.inc> // last
