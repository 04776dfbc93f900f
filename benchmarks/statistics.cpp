// What samplers and optimisers ask for again and again: log densities of a few parameters, misfits,
// and a classic valley.
#include <benchmark/benchmark.h>

#include "cases.hpp"
#include "comparison.hpp"
#include "hand_written/elementwise.hpp"
#include "hand_written/statistics.hpp"

namespace xg = xgrad;
using Real = xg::Tensor<double>;

/// 1024 observations, gradients for mu and sigma, which are single numbers.
template <class Function> void normal(char const* name, Function function) {
    std::size_t const n = 1024;
    auto const x = xg::randn({n});
    bench::Leaf const mu(Real(0.3)), sigma(Real(1.7));
    bench::Comparison row(
        name, n, [=, mu = mu.x, sigma = sigma.x] { return function(x, mu, sigma); }, mu, sigma);
    row.hand("hand", [=] {
        hand::NormalGradient g;
        auto const value = hand::normal(x.data(), *mu.data, *sigma.data, &g, n);
        *mu.gradient = g.mu;
        *sigma.gradient = g.sigma;
        return value;
    });
    row.goal().max_value(250);
}

void regression(std::size_t n, std::size_t k) {
    auto const x = xg::randn({n, k}), y = xg::randn({n});
    bench::Leaf const w(xg::randn({k})), s(Real(0.2));
    auto const function = [=, w = w.x, s = s.x] {
        auto const residual = y - matmul(x, w);
        return -0.5 * exp(-2 * s) * sum(square(residual)) - static_cast<double>(n) * s -
               0.5 * sum(square(w));
    };
    bench::Comparison row(
        bench::name::regression, n * k, [=] { return Real(function()); }, w, s);
    bench::Buffer<> const weights({k + 64}), sums({k + 64});
    row.hand("hand, 1 pass", [=] {
        return hand::regression(x.data(), y.data(), w.data, *s.data, w.gradient, s.gradient,
            weights.data, sums.data, n, k);
    });
    row.goal().at_most(1.15);
}

void rosenbrock(std::size_t n) {
    bench::Leaf const x(xg::randn({n}));
    auto const function = [x = x.x] {
        auto const here = x(xg::slice({}, -1)), next = x(xg::slice(1));
        return sum(100 * square(next - square(here)) + square(1 - here));
    };
    bench::Comparison row(bench::name::rosenbrock, n, function, x);
    row.hand("hand", [=] { return hand::rosenbrock(x.data, x.gradient, n); });
    row.goal().max_value(900);
}

/// Central differences, column by column: 2 k calls of the function.
template <class Function> Real central_differences(Function const& function, Real const& x) {
    xg::NoGradGuard const off;
    double const h = 1e-5;
    std::size_t const m = function(x).numel(), k = x.numel();
    Real J = xg::empty<double>({m, k});
    for (std::size_t j = 0; j < k; ++j) {
        Real up = x.clone(), down = x.clone();
        up.mutable_data()[j] += h;
        down.mutable_data()[j] -= h;
        Real const high = function(up), low = function(down);
        double* const to = J.mutable_data() + j;
        for (std::size_t i = 0; i < m; ++i) to[i * k] = (high.data()[i] - low.data()[i]) / (2 * h);
    }
    return J;
}

template <class Function, class Derivatives>
void beside_differences(char const* name, std::size_t n, Real const& x, Function const& function,
    Derivatives const& derivatives) {
    auto const by_differences = [=] { return central_differences(function, x); };
    if (xg::max(abs(derivatives() - by_differences())).item() > 1e-6) {
        std::fprintf(stderr, "%s: not what differences are\n", name);
        std::exit(1);
    }
    bench::Case(name, n).peer("differences", by_differences).xgrad(derivatives).at_most(1);
}

/// The derivatives of 1,000 residuals for six parameters, and of their gradient, as a fit takes
/// them.
void fit() {
    std::size_t const n = 1000;
    auto const t = xg::linspace(0., 4., n);
    Real const p({1., 0.5, 2., 1.5, 0.3, 0.7});
    auto const residual = [=](Real const& a) {
        return Real(a[0] * exp(-a[1] * t) + a[2] * exp(-a[3] * t) + a[4] * exp(-a[5] * t) - 1.);
    };
    beside_differences(
        bench::name::jacobian, n, p, residual, [=] { return xg::jacobian(residual, p); });
    auto const misfit = [=](Real const& a) { return sum(square(residual(a))) / n; };
    auto const gradient = [=](Real const& a) { return xg::grad(misfit)(a); };
    beside_differences(
        bench::name::hessian, n, p, gradient, [=] { return xg::hessian(misfit, p); });
}

int main(int argc, char** argv) {
    double const constant = hand::log_root_two_pi;
    normal(bench::name::normal, [=](Real const& x, Real const& mu, Real const& sigma) {
        return sum(-0.5 * square((x - mu) / sigma) - log(sigma) - constant);
    });
    normal(bench::name::normal_hoisted, [=](Real const& x, Real const& mu, Real const& sigma) {
        return Real(-0.5 * sum(square((x - mu) / sigma)) -
                    static_cast<double>(x.numel()) * (log(sigma) + constant));
    });
    regression(1000, 150);
    rosenbrock(1000);
    fit();
    return bench::run(argc, argv);
}
