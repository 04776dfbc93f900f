// Solutions as functions of parameters: root(), fixed_point(), argmin(), linear_solve(), and
// implicit() for solutions that other code finds.
//
// Shapes: x has the shapes of x0, and f returns those, in argmin() one number. With rows the first
// axis of each tensor of x numbers independent problems, and f of argmin() returns one number for
// each.
// Gradients: those of the implicit function theorem, in backward and forward mode, of any order;
// for theta and for all that f captures. A derivative costs one linear solve with products of the
// Jacobian of f at the solution, whatever the solver did. Non-holomorphic f of complex x are linear
// over the reals there.
// Errors: ConvergenceError where a solver stops before it has a solution, where a linear system is
// singular or not solved, and where a derivative is wanted at a point that is no solution;
// ShapeError for other shapes than those above. Functions that return another structure or scalar
// type than x do not compile.
#pragma once

#include <xgrad/core/callable.hpp>
#include <xgrad/implicit/problem.hpp>

namespace xgrad {

namespace detail {

template <class X> auto in_tuple(X const& x) {
    if constexpr (is_tuple<X>) return x;
    else return std::tuple<X>(x);
}
/// A call f(x, theta), where theta, or both, may be spread into their parts.
template <class F, class X, class Theta> struct ImplicitCall {
    static auto whole(X const& x, Theta const& theta) {
        if constexpr (std::same_as<Theta, std::tuple<>>) return std::tuple<X>(x);
        else return std::tuple<X, Theta>(x, theta);
    }
    static auto arguments(X const& x, Theta const& theta) {
        using Whole = decltype(whole(x, theta));
        using Spread = decltype(std::tuple_cat(std::tuple<X>(x), in_tuple(theta)));
        if constexpr (spreads<F, Whole>) return whole(x, theta);
        else if constexpr (spreads<F, Spread>)
            return std::tuple_cat(std::tuple<X>(x), in_tuple(theta));
        else return std::tuple_cat(in_tuple(x), in_tuple(theta));
    }
    using In = decltype(arguments(std::declval<X const&>(), std::declval<Theta const&>()));
    using Call = CallOf<F, In>;
    using Result = typename Call::Result;
    static_assert(Call::takes_inputs,
        "the function cannot be called with x and theta: it takes a Tensor<T> const& for each of "
        "their tensors; numbers for theta are Tensor<double>({1., 2.}): {1., 2.} are options");
    static_assert(!Call::takes_inputs || Call::returns_tensors,
        "the function must return a Tensor, an expression, or a std::tuple of such");
    static constexpr bool is_batched = has_batched<std::tuple<X, Theta, Result>>;
    static_assert(!is_batched, "vmap: solvers have no rule: use looped(f)");
    static_assert(is_batched || (all_differentiable<X> && all_differentiable<Theta>),
        "x and theta must be tensors of real or complex numbers: let the function capture masks "
        "and indices");
    static constexpr bool fits = Call::takes_inputs && Call::returns_tensors && !is_batched &&
                                 all_differentiable<X> && all_differentiable<Theta>;
    static constexpr bool returns_x = [] {
        if constexpr (fits) return std::same_as<structure<Result>, X>;
        else return true; // was reported
    }();
    static constexpr bool returns_real = [] {
        if constexpr (!fits) return true; // was reported
        else if constexpr (TensorLike<Result>) return all_real<Result>;
        else return false;
    }();
};

/// The function of a problem between lists of tensors.
template <class Of, class Callable, class X, class Theta>
ImplicitProblem::Function erased_function(
    std::shared_ptr<Callable> f, X const& x, Theta const& theta) {
    return [f = std::move(f), in = without_tensors(Of::arguments(x, theta))](
               Tensors const& at, Tensors const& parameters) {
        Tensors all = at;
        all.insert(all.end(), parameters.begin(), parameters.end());
        return erased(Of::Call::tensors(*f, in, all));
    };
}
enum class Equation { of_residual, of_gradient, linear };
/// What root(), fixed_point(), argmin() and linear_solve() have in common.
template <Equation equation, class F, class X, class Theta, class Make, class Find>
auto find_solution(F&& f, X const& start, Theta const& given, Make const& make, Find const& find) {
    constexpr bool returns_number = equation == Equation::of_gradient;
    static_assert(TransformInput<X>, "x0, or b, is a Tensor or a std::tuple of tensors");
    static_assert(!OperandLike<F>,
        "the first argument is a function; of a matrix A, solve(A, b) of "
        "<xgrad/linalg.hpp> solves A x = b");
    if constexpr (!TransformInput<X> || OperandLike<F>) return start; // was reported, as below
    else {
        auto const x0 = tensor_input(start);
        auto const theta = tensor_input(given);
        using Callable = KeptCallable<F>;
        using Of = ImplicitCall<Callable, std::remove_const_t<decltype(x0)>,
            std::remove_const_t<decltype(theta)>>;
        static_assert(returns_number || Of::returns_x,
            "the function must return the structure and the scalar types of x");
        static_assert(!returns_number || Of::returns_real,
            "argmin: the function must return a single tensor of real numbers");
        if constexpr (Of::fits && (returns_number ? Of::returns_real : Of::returns_x)) {
            auto const p = make(
                erased_function<Of>(std::make_shared<Callable>(std::forward<F>(f)), x0, theta));
            Tensors parameters = erased(theta);
            auto const x = erased(x0);
            check_defined(p.name, equation == Equation::linear ? "b" : "x0", x);
            check_defined(p.name, "theta", parameters);
            auto solution = [&] {
                InferenceMode const normal(false);
                NoGradGuard const off;
                return find(p, x, parameters);
            }();
            if constexpr (equation == Equation::linear)
                parameters.insert(parameters.begin(), x.begin(), x.end());
            return with_tensors(x0, as_function_of(p, std::move(solution), parameters));
        } else return x0;
    }
}

/// implicit() of a residual and a solution.
template <class Callable, class X, class... Theta>
auto differentiable_solution(std::shared_ptr<Callable> const& f, ImplicitOptions const& options,
    X const& x, std::tuple<Theta...> const& theta) {
    using Of = ImplicitCall<Callable, X, std::tuple<Theta...>>;
    static_assert(
        Of::returns_x, "implicit: the residual must return the structure and scalar types of x");
    if constexpr (Of::fits && Of::returns_x) {
        auto p = root_problem("implicit", erased_function<Of>(f, x, theta), options, true);
        return with_tensors(x, as_function_of(std::move(p), erased(x), erased(theta), true));
    } else return x;
}

} // namespace detail

/// x with f(x, theta) = 0, near x0, as a function of theta: by Newton's method with a line search.
/// f takes x and theta, whole or in parts, and returns the structure, shapes and scalar types of x.
template <class F, class X, detail::TransformInput Theta>
auto root(F&& f, X const& x0, Theta const& theta, ImplicitOptions const& options = {}) {
    return detail::find_solution<detail::Equation::of_residual>(
        std::forward<F>(f), x0, theta,
        [&](auto g) { return detail::root_problem("root", std::move(g), options); },
        [](auto const&... a) { return detail::find_root(a...); });
}

/// x with f(x, theta) = x, near x0, as a function of theta: by Anderson's acceleration of x = f(x).
/// f returns the structure, shapes and scalar types of x.
template <class F, class X, detail::TransformInput Theta>
auto fixed_point(F&& f, X const& x0, Theta const& theta, ImplicitOptions const& options = {}) {
    return detail::find_solution<detail::Equation::of_residual>(
        std::forward<F>(f), x0, theta,
        [&](auto g) { return detail::fixed_point_problem(std::move(g), options); },
        [](auto const&... a) { return detail::find_fixed_point(a...); });
}

/// The x near x0 where f(x, theta), a real number, has its minimum, as a function of theta: by
/// Newton's method with truncated conjugate gradients and a line search.
template <detail::TransformedFunction F, class X, detail::TransformInput Theta>
auto argmin(F&& f, X const& x0, Theta const& theta, ImplicitOptions const& options = {}) {
    return detail::find_solution<detail::Equation::of_gradient>(
        std::forward<F>(f), x0, theta,
        [&](auto g) { return detail::argmin_problem(std::move(g), options); },
        [](auto const&... a) { return detail::find_minimum(a...); });
}

/// x with A(x, theta) = b, as a function of b and theta. The operator A is a function that is
/// linear in x (over the reals is enough) and returns the structure, shapes and scalar types of b.
template <class A, class B, detail::TransformInput Theta>
auto linear_solve(A&& a, B const& b, Theta const& theta, ImplicitOptions const& options = {}) {
    return detail::find_solution<detail::Equation::linear>(
        std::forward<A>(a), b, theta,
        [&](auto g) { return detail::linear_problem(std::move(g), options); },
        [](auto const&... x) { return detail::solve_system(x...); });
}

/// Of a function, or an operator, that captures its parameters.
#define XGRAD_WITHOUT_THETA(solve, Function)                                                       \
    template <Function F, class X>                                                                 \
    auto solve(F&& f, X const& x0, ImplicitOptions const& options = {}) {                          \
        return solve(std::forward<F>(f), x0, std::tuple<>(), options);                             \
    }
XGRAD_WITHOUT_THETA(root, class)
XGRAD_WITHOUT_THETA(fixed_point, class)
XGRAD_WITHOUT_THETA(argmin, detail::TransformedFunction)
XGRAD_WITHOUT_THETA(linear_solve, class)
#undef XGRAD_WITHOUT_THETA
detail::no_such_option_or_wrong_arguments root(...) = delete;         // f, x0, theta, options
detail::no_such_option_or_wrong_arguments fixed_point(...) = delete;  // f, x0, theta, options
detail::no_such_option_or_wrong_arguments argmin(...) = delete;       // f, x0, theta, options
detail::no_such_option_or_wrong_arguments linear_solve(...) = delete; // f, b, theta, options

/// implicit(F)(x, theta...) is x, the solution of F(x, theta...) = 0 that any program found, as a
/// function of theta. In the place of x there may be a solver: then x is solver(theta...), which is
/// called without being recorded.
template <detail::TransformedFunction F> auto implicit(F&& residual, ImplicitOptions options = {}) {
    using Callable = detail::KeptCallable<F>;
    return [f = std::make_shared<Callable>(std::forward<F>(residual)),
               options]<class S, detail::StructureLike... Theta>(
               S const& solution, Theta const&... theta) {
        constexpr bool solves = [] {
            if constexpr (detail::StructureLike<S>) return true; // an expression is not called
            else return std::is_invocable_v<S const&, Theta const&...>;
        }();
        static_assert(solves, "implicit: the residual is followed by its solution x, or by a "
                              "solver that can be called with theta");
        if constexpr (solves) {
            auto const x = [&] {
                NoGradGuard const off;
                if constexpr (detail::StructureLike<S>)
                    return detail::StructureOf<S>::make(solution);
                else return detail::structure<decltype(solution(theta...))>(solution(theta...));
            }();
            using Parameters = std::tuple<detail::structure<Theta>...>;
            return detail::differentiable_solution(
                f, options, x, Parameters{detail::tensor_input(theta)...});
        }
    };
}
detail::no_such_option_or_wrong_arguments implicit(...) = delete; // residual, options

} // namespace xgrad
