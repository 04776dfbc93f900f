// minimize(): the minimum of a real function on a manifold, by gradient descent, conjugate
// gradients, L-BFGS or a trust region. One loop serves all of them and every manifold.
//
// Shapes: the function takes the point, or the points of a product, and returns one element. The
// result has the shapes of the start.
// Gradients: the function is differentiated, once or twice; the result is not recorded: where it
// depends on captured tensors that are differentiated, its derivative is a GraphError.
// Errors: a start that is not on the manifold, a value there that is not finite, and options out
// of range are an Error. A function that does not take the points or returns complex numbers, and
// a struct that is no manifold, do not compile.
//
// Read next: descent.hpp, which has the methods.
#pragma once

#include <xgrad/manifold/descent.hpp>
#include <xgrad/optim.hpp>
#include <xgrad/tensor/print.hpp>

namespace xgrad {

/// The minimum that minimize() found.
template <class X> struct MinimizeResult {
    X x;                          // the point, of the type of the start
    double value = 0;             // of the function
    double grad_norm = 0;         // the norm of the Riemannian gradient
    std::int64_t iterations = 0;  // how often the point was changed, or tried to
    std::int64_t evaluations = 0; // of the function and its gradient
    std::int64_t products = 0;    // of the Hessian and a tangent
    bool converged = false;       // whether grad_norm is at most gtol
    std::string message = {};     // why it stopped, a sentence
};

namespace detail {

/// A function of points X on a manifold, and how it is minimised.
template <class X> struct Minimizer {
    AnyManifold<X> const& g;
    MinimizeOptions const& options;
    std::function<std::pair<double, X>(X const&)> value_and_gradient;
    /// The derivative of the gradient at a point, as a function of the direction.
    std::function<std::function<X(X const&)>(X const&)> linearized_gradient;
    std::int64_t evaluations = 0, products = 0;
    static constexpr std::int64_t max_idle = 20;

    struct Point {
        X x;
        double value;
        X euclidean, grad; // the gradient of f, and that on the manifold
        double norm;       // of grad
    };
    /// What rounding may change in a value: differences below it count as none.
    static double rounding_of(double value) { return 5 * roundoff<X> * std::abs(value); }
    Point at(X const& x) {
        auto const [value, gradient] = value_and_gradient(x);
        ++evaluations;
        X const r = g.gradient(x, gradient);
        return {x, value, gradient, r, g.norm(x, r)};
    }

    /// A step by line search; the tangents that a method keeps are transported by `carry`.
    template <class Method> std::optional<Point> search(Method& method, Point const& now) {
        X d = method.direction(*this, now);
        double slope = g.inner(now.x, now.grad, d);
        if (!(slope < -1e-10 * now.norm * g.norm(now.x, d))) {
            method.forget();
            d = multiple_of(-1, now.grad), slope = -now.norm * now.norm;
        }
        std::optional<Point> next;
        X moved = d;
        double reached = 0;
        auto const evaluate = [&](double t) {
            next = at(g.retract(now.x, multiple_of(t, d)));
            moved = g.transport(now.x, next->x, d);
            reached = t;
            return optim::detail::LinePoint{
                t, next->value, g.inner(next->x, next->grad, moved), {}};
        };
        double const rounding = rounding_of(now.value);
        double const first = method.first_step(now.norm, slope);
        auto const found = optim::detail::strong_wolfe(
            evaluate, {0, now.value + rounding, slope, {}}, first, 1e-12 * first);
        if (found.t == 0) {
            if (method.is_fresh()) return {};
            method.forget();
            return search(method, now);
        }
        if (found.t != reached) evaluate(found.t);
        method.carry(*this, now, *next, d, moved, found.t, slope);
        return next;
    }

    MinimizeResult<X> run(X const& x0) {
        if (options.max_iter < 0 || options.history_size < 1 || !(options.gtol >= 0) ||
            !(options.max_radius >= 0))
            fail("minimize: max_iter, gtol and max_radius must not be negative, and history_size "
                 "must be positive");
        switch (Descent{options.method}) {
        case Descent::gradient:
            return loop(SteepestDescent(), x0);
        case Descent::conjugate_gradient:
            return loop(ConjugateGradient<X>(), x0);
        case Descent::lbfgs:
            return loop(LimitedMemory<X>(), x0);
        case Descent::trust_region:
            return loop(TrustRegion<X>(x0, options), x0);
        }
        fail("minimize: there is no such method");
    }

    template <class Method> MinimizeResult<X> loop(Method method, X const& x0) {
        Point now = at(x0);
        if (!std::isfinite(now.value))
            fail("minimize: the function is ", std::to_string(now.value), " at the start");
        if (!std::isfinite(now.norm))
            fail("minimize: the gradient of the function is not finite at the start");
        std::int64_t iterations = 0, idle = 0; // without a lower value or a smaller gradient
        double least = now.value, smallest = now.norm;
        bool continues = true; // says the callback
        for (;; ++iterations) {
            continues = options.callback({iterations, now.value, now.norm});
            if (!continues || now.norm <= options.gtol || iterations == options.max_iter) break;
            auto next = method.step(*this, now);
            if (!next) break;
            now = std::move(*next);
            bool const gains = now.value < least - rounding_of(least) || now.norm < smallest;
            idle = gains ? 0 : idle + 1;
            if (idle == max_idle) break;
            least = std::min(least, now.value), smallest = std::min(smallest, now.norm);
        }
        bool const converged = now.norm <= options.gtol;
        std::string const norm =
            "The norm of the gradient, " + number_text(now.norm, {2}) + ", is ";
        return {now.x, now.value, now.norm, iterations, evaluations, products, converged,
            converged    ? norm + "at most gtol, " + number_text(options.gtol, {2}) + "."
            : !continues ? norm + "above gtol, but the callback returned false."
            : iterations == options.max_iter
                ? norm + "above gtol after max_iter = " + std::to_string(iterations) +
                      " iterations."
                : norm + "above gtol, but no lower value was found: rounding hides further "
                         "progress, or the gradient is wrong."};
    }
};

/// f(x), which must be one number, and its gradient. `captured` becomes what f depends on, too.
template <class F, class X>
std::pair<double, X> value_and_gradient_of(
    F& f, X const& x, CachedVector<Edge>* captured = nullptr) {
    auto const [value, gradient] = Transform<F, X>::value_and(
        "minimize", f, x, {}, [&](auto const& e, auto products, auto const&, auto const&) {
            e.check_depends();
            if (captured) *captured = e.captured();
            if (e.outputs[0].numel() != 1)
                fail<ShapeError>("minimize: the function must return one number, not shape ",
                    e.outputs[0].shape());
            vector_jacobian_product(e, {}, products);
        });
    return {static_cast<double>(value.item()), X(gradient)};
}
/// A Minimizer of f, which it refers to.
template <class X, class F>
Minimizer<X> minimizer(F& f, AnyManifold<X> const& manifold, MinimizeOptions const& options,
    CachedVector<Edge>* captured = nullptr) {
    return {manifold, options,
        [&f, captured](X const& x) { return value_and_gradient_of(f, x, captured); },
        [&f](X const& x) {
            auto const g = [&f](X const& at) { return value_and_gradient_of(f, at).second; };
            return std::function<X(X const&)>(linearize(g, x).second);
        }};
}

} // namespace detail

/// A local minimum of f on a manifold, from a point x0 on it: `minimize(f, x0, on(Sphere{}))`. f
/// takes x and returns a real scalar. For several tensors x0 is a std::tuple, and f takes its
/// parts: `minimize(f, std::tuple(x, y), on(Sphere{}, Stiefel{}))`. A complex x has the gradient
/// df/dRe + i df/dIm. It stops where the norm of the Riemannian gradient is at most `gtol`, after
/// `max_iter` iterations, or where rounding hides further progress. Throws an Error where x0 is not
/// on the manifold, or f(x0) is not finite.
template <class F, class X, class M>
auto minimize(F&& f, X const& x0, M const& manifold, MinimizeOptions const& options = {}) {
    using Of = detail::Transform<F, X>;
    if constexpr (Of::fits) {
        constexpr bool is_real = Of::returns_real;
        static_assert(
            is_real, "minimize: the function must return a single tensor of real numbers");
        if constexpr (is_real && detail::check_geometry<M, typename Of::In>()) {
            using At = typename Of::In;
            At const like(detail::StructureOf<X>::make(x0));
            auto tensors = detail::erased(like);
            detail::check_defined("minimize", "x0", tensors);
            detail::become_values(false, tensors);
            At const start = detail::with_tensors(like, tensors);
            detail::CachedVector<Edge> captured;
            auto found = [&] {
                NoGradGuard const off;
                detail::check_on_manifold("minimize", manifold, start);
                detail::GeometryOf<M, At> const geometry(manifold);
                return detail::minimizer<At>(f, geometry, options, &captured).run(start);
            }();
            if (!detail::recording()) return found;
            // a manifold may have parameters, too
            auto const point = detail::erased(At(manifold.retract(start, start)));
            tensors = detail::erased(found.x);
            detail::forbid_derivatives("minimize", captured, point, tensors);
            found.x = detail::with_tensors(like, tensors);
            return found;
        } else return MinimizeResult<X>{x0}; // was reported
    } else return MinimizeResult<X>{x0};
}
detail::no_such_option_or_wrong_arguments minimize(...) = delete; // f, x0, on(M()), options

} // namespace xgrad
