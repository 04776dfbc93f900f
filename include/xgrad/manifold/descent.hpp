// The options and the methods of minimize(). Each method is a struct of what it keeps from step to
// step. Its function `step` returns the next point, or none where it found no lower one; it gets
// the Minimizer, which evaluates the function.
//
// Shapes: tangents have the shape of the point.
// Gradients: none are recorded; the trust region differentiates the gradient in forward mode.
// Errors: those of minimize().
#pragma once

#include <deque>
#include <limits>
#include <optional>

#include <xgrad/core/callable.hpp>
#include <xgrad/core/choice.hpp>
#include <xgrad/manifold/geometry.hpp>

namespace xgrad {

/// The methods of minimize().
enum class Descent : std::uint8_t {
    gradient,           // steepest descent
    conjugate_gradient, // of Hestenes and Stiefel, with restarts
    lbfgs,              // a limited-memory quasi-Newton method
    trust_region        // Newton's method with products of the Hessian and a tangent
};
constexpr std::string_view choice_names(Descent) {
    return "method: gradient conjugate_gradient lbfgs trust_region";
}

/// What a callback of minimize() gets before each iteration.
struct MinimizeProgress {
    std::int64_t iteration; // from 0
    double value;           // of the function
    double grad_norm;       // the norm of its Riemannian gradient
};

/// Options of minimize().
struct MinimizeOptions {
    Choice<Descent> method = Descent::lbfgs; // or its name: "lbfgs"
    std::int64_t max_iter = 1000;            // the number of iterations
    double gtol = 1e-6;             // the norm of the Riemannian gradient at which it stops
    std::int64_t history_size = 10; // the steps that L-BFGS keeps
    /// The largest radius of the trust region; 0 stands for the root of the number of elements. It
    /// begins with an eighth of that.
    double max_radius = 0;
    StepCallback<MinimizeProgress> callback = {}; // before each iteration; false ends it
};

namespace detail {

/// What methods with a line search have in common: the first length that is tried.
struct LineMethod {
    double last = 0; // the last length times its slope

    bool is_fresh() const { return last == 0; }
    void forget() { last = 0; }
    double first_step(double norm, double slope) const {
        return last == 0 ? std::min(1., 1 / norm) : last / slope;
    }
};

struct SteepestDescent : LineMethod {
    template <class Of, class P> auto step(Of& of, P const& now) { return of.search(*this, now); }
    template <class Of, class P> auto direction(Of&, P const& now) {
        return multiple_of(-1, now.grad);
    }
    template <class Of, class P, class X>
    void carry(Of&, P const&, P const&, X const&, X const&, double t, double slope) {
        last = t * slope;
    }
};

/// d = -r + beta d with beta = max(0, <r, y> / <d, y>), where y is the change of the gradient r.
template <class X> struct ConjugateGradient : LineMethod {
    std::optional<X> before; // the last direction, at the point now
    double beta = 0;

    template <class Of, class P> auto step(Of& of, P const& now) { return of.search(*this, now); }
    template <class Of, class P> X direction(Of&, P const& now) {
        return before ? combined(-1, now.grad, beta, *before) : multiple_of(-1, now.grad);
    }
    template <class Of, class P>
    void carry(
        Of& of, P const& now, P const& next, X const&, X const& moved, double t, double slope) {
        X const y = combined(1, next.grad, -1, of.g.transport(now.x, next.x, now.grad));
        beta = std::max(0., of.g.inner(next.x, next.grad, y) / of.g.inner(next.x, moved, y));
        if (!std::isfinite(beta)) beta = 0;
        before = moved, last = t * slope;
    }
    void forget() { before.reset(), LineMethod::forget(); }
};

/// L-BFGS: Huang, Gallivan and Absil, "A Broyden class of quasi-Newton methods for Riemannian
/// optimization" (2015), with transported pairs of steps and changes of the gradient.
template <class X> struct LimitedMemory {
    struct Pair {
        X step, change;
        double curvature;
    };
    std::deque<Pair> history;
    double scale = 1;

    template <class Of, class P> auto step(Of& of, P const& now) { return of.search(*this, now); }
    bool is_fresh() const { return history.empty(); }
    void forget() { history.clear(), scale = 1; }
    double first_step(double norm, double) const {
        return history.empty() ? std::min(1., 1 / norm) : 1;
    }
    template <class Of, class P> X direction(Of& of, P const& now) {
        X d = multiple_of(-1, now.grad);
        std::vector<double> parts(history.size());
        for (std::size_t i = history.size(); i-- > 0;) {
            parts[i] = of.g.inner(now.x, history[i].step, d) / history[i].curvature;
            d = combined(1, d, -parts[i], history[i].change);
        }
        d = multiple_of(scale, d);
        for (std::size_t i = 0; i < history.size(); ++i) {
            auto const& pair = history[i];
            double const part = of.g.inner(now.x, pair.change, d) / pair.curvature;
            d = combined(1, d, parts[i] - part, pair.step);
        }
        return d;
    }
    template <class Of, class P>
    void carry(Of& of, P const& now, P const& next, X const&, X const& moved, double t, double) {
        auto const carried = [&](X const& v) { return of.g.transport(now.x, next.x, v); };
        for (auto& pair : history)
            pair.step = carried(pair.step), pair.change = carried(pair.change);
        X const s = multiple_of(t, moved), y = combined(1, next.grad, -1, carried(now.grad));
        double const curvature = of.g.inner(next.x, s, y), square = of.g.inner(next.x, y, y);
        if (!(curvature > 1e-10 * std::sqrt(square) * of.g.norm(next.x, s))) return;
        if (std::ssize(history) >= of.options.history_size) history.pop_front();
        history.push_back({s, y, curvature});
        scale = curvature / square;
    }
};

/// A trust region whose subproblem is solved by truncated conjugate gradients: Absil, Baker and
/// Gallivan, "Trust-region methods on Riemannian manifolds" (2007), with their constants.
template <class X> struct TrustRegion {
    double max_radius, radius;

    TrustRegion(X const& x, MinimizeOptions const& options) : max_radius(options.max_radius) {
        double elements = 0;
        visit_tensors(x, [&]<Scalar T>(Tensor<T> const& t) {
            elements += static_cast<double>(t.numel()) * (is_complex<T> ? 2 : 1);
        });
        if (max_radius == 0) max_radius = std::sqrt(elements);
        radius = max_radius / 8;
    }

    template <class Of, class P> std::optional<P> step(Of& of, P const& now) {
        auto const derivative = of.linearized_gradient(now.x);
        auto const hessian = [&](X const& v) {
            ++of.products;
            return of.g.hessian(now.x, now.euclidean, derivative(v), v);
        };
        for (;;) {
            auto const [v, hv, at_boundary] = subproblem(of, now, hessian);
            P next = of.at(of.g.retract(now.x, v));
            double const expected =
                -of.g.inner(now.x, now.grad, v) - 0.5 * of.g.inner(now.x, hv, v);
            // where both differences are below the rounding of the value, the model is believed
            double const rounding = 1000 * roundoff<X> * std::max(1., std::abs(now.value));
            double const ratio = (now.value - next.value + rounding) / (expected + rounding);
            if (!(ratio >= 0.25)) radius /= 4;
            else if (ratio > 0.75 && at_boundary) radius = std::min(2 * radius, max_radius);
            if (ratio > 0.1) return next;
            if (radius < 1e-14 * max_radius) return {};
        }
    }

private:
    struct Solution {
        X v, hv;
        bool at_boundary;
    };
    template <class Of, class P, class H>
    Solution subproblem(Of& of, P const& now, H const& hessian) const {
        auto const inner = [&](X const& a, X const& b) { return of.g.inner(now.x, a, b); };
        X v = multiple_of(0, now.grad), hv = v, r = now.grad, d = multiple_of(-1, r);
        double rr = inner(r, r), vv = 0, vd = 0, dd = rr;
        double const goal = now.norm * std::min(now.norm, 0.1);
        std::int64_t const most = static_cast<std::int64_t>(max_radius * max_radius) + 10;
        for (std::int64_t i = 0; i < most; ++i) {
            X const hd = hessian(d);
            double const curvature = inner(d, hd), length = rr / curvature;
            double const next = vv + 2 * length * vd + length * length * dd;
            if (!(curvature > 0) || next >= radius * radius) { // to the boundary along d
                double const t = (-vd + std::sqrt(vd * vd + dd * (radius * radius - vv))) / dd;
                return {combined(1, v, t, d), combined(1, hv, t, hd), true};
            }
            v = combined(1, v, length, d), hv = combined(1, hv, length, hd), vv = next;
            r = of.g.project(now.x, combined(1, r, length, hd));
            double const before = std::exchange(rr, inner(r, r));
            if (std::sqrt(rr) <= goal) break;
            double const beta = rr / before;
            d = combined(-1, r, beta, d);
            vd = beta * (vd + length * dd), dd = rr + beta * beta * dd;
        }
        return {v, hv, false};
    }
};

} // namespace detail
} // namespace xgrad
