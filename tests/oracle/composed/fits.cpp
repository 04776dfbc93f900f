// Fits and minima of random programs: they must be stationary points, no worse than their start.
#include <xgrad/least_squares.hpp>
#include <xgrad/manifold.hpp>

#include "generate.hpp"

namespace composed {

namespace {

struct OfOne {
    Closure f;
    D operator()(D const& x) const { return std::get<D>(f({x})); }
};
std::string both(double expected, double found) {
    return "expected at most " + std::to_string(expected) + ", found " + std::to_string(found);
}

} // namespace

std::optional<std::pair<std::string, std::string>> fit_fault(
    Closure const& f, D const& x, std::size_t choice, Counts& counts) {
    // The residuals are those of f, and the way from the start.
    Closure const residual = [f, x](Values const& at) -> Value {
        auto const& p = std::get<D>(at[0]);
        return xg::cat({flatten(std::get<D>(f({p}))), D(0.5 * flatten(p - x + 0.1))});
    };
    static constexpr xg::LeastSquaresMethod methods[] = {xg::LeastSquaresMethod::lm,
        xg::LeastSquaresMethod::lmaccel, xg::LeastSquaresMethod::dogleg,
        xg::LeastSquaresMethod::gauss_newton};
    auto const cost = [&](D const& p) {
        auto const r = std::get<D>(residual({p}));
        return 0.5 * sum(r * r).item();
    };
    auto const fit =
        xg::least_squares(OfOne{residual}, x, {.method = methods[choice % 4], .max_nfev = 40});
    counts.comparisons += 2;
    double const start = cost(x), size = std::max(1e-3, start);
    if (!(cost(fit.x) <= start + 1e-12 * size))
        return std::pair("least_squares", "the cost: " + both(start, cost(fit.x)));
    auto const r = residual({fit.x});
    auto const gradient = std::get<D>(vjp_of(residual, {fit.x}, r).second[0]);
    if (!(largest(xg::eval(gradient - fit.grad)) <= 1e-7 * std::max(1., size)))
        return std::pair("least_squares",
            "its grad is wrong by " + std::to_string(largest(xg::eval(gradient - fit.grad))));
    if (fit.success && !(largest(gradient) <= 2e-3 * std::sqrt(size))) {
        // A step by J^T J decreases the cost by g^2 / |J|^2 / 2, which may be ftol of it.
        auto const J = xg::jacobian(OfOne{residual}, fit.x);
        auto const bound = 4 * std::sqrt(2e-8 * size * sum(square(J)).item());
        if (!(largest(gradient) <= bound))
            return std::pair(
                "least_squares", "it says \"" + fit.message +
                                     "\", and the gradient: " + both(bound, largest(gradient)));
    }

    // The minimum of a number on a sphere is one in the directions along it.
    if (x.dim() == 1 && x.numel() > 1) {
        Closure const number = [f](Values const& at) -> Value {
            return xg::eval(sum(sin(std::get<D>(f(at)))));
        };
        D const at(x / norm(x + 1e-3));
        xg::Sphere const sphere;
        D const on_it =
            sphere.retract(D(x * 0. + 1. / std::sqrt(static_cast<double>(x.numel()))), D(0. * at));
        auto const best = xg::minimize(OfOne{number}, on_it, xg::on(sphere), {.max_iter = 30});
        ++counts.comparisons;
        auto const g = std::get<D>(vjp_of(number, {best.x}, D(1.)).second[0]);
        double const along = largest(xg::eval(g - sum(g * best.x) * best.x));
        double const value = std::get<D>(number({best.x})).item();
        if (!(std::abs(value - best.value) <= 1e-9) ||
            !(value <= std::get<D>(number({on_it})).item() + 1e-9))
            return std::pair(
                "minimize", "its value is not that of the function, or above that of the start");
        if (best.converged && !(along <= 1e-4))
            return std::pair("minimize", "it converged, and the gradient: " + both(1e-4, along));
    }
    return std::nullopt;
}

} // namespace composed
