// Whole Jacobians beside central differences of the same function, Jacobians of many rows beside a
// loop by hand, and sparse derivatives by a plan beside what they are derivatives of.
#include <benchmark/benchmark.h>
#include <xgrad/map.hpp>
#include <xgrad/sparse.hpp>

#include "table.hpp"

namespace xg = xgrad;
using Real = xg::Tensor<double>;

/// The Jacobian of f at a vector x by central differences.
template <class F> Real central_differences(F const& f, Real const& x) {
    xg::NoGradGuard const off;
    std::size_t const n = x.numel(), m = Real(f(x)).numel();
    Real j = xg::zeros<double>({m, n});
    for (std::size_t k = 0; k < n; ++k) {
        double const h = 6e-6 * std::max(1., std::abs(x.data()[k]));
        Real above = x.clone(), below = x.clone();
        above.mutable_data()[k] += h;
        below.mutable_data()[k] -= h;
        Real const high = f(above), low = f(below);
        for (std::size_t i = 0; i < m; ++i)
            j.mutable_data()[i * n + k] = (high.data()[i] - low.data()[i]) / (2 * h);
    }
    return j;
}

void check(char const* what, Real const& a, Real const& b, double tolerance) {
    for (std::size_t i = 0; i < a.numel(); ++i)
        if (a.shape() != b.shape() ||
            !(std::abs(a.data()[i] - b.data()[i]) <= tolerance * (1 + std::abs(b.data()[i])))) {
            std::fprintf(stderr, "%s: element %zu is wrong\n", what, i);
            std::exit(1);
        }
}

template <class F> void beside_differences(char const* name, F f, Real const& x) {
    check(name, xg::jacobian(f, x), central_differences(f, x), 1e-6);
    bench::Case(name, Real(f(x)).numel() * x.numel())
        .peer("central differences", [=] { return central_differences(f, x).data()[0]; })
        .xgrad([=] { return xg::jacobian(f, x).data()[0]; })
        .at_most(1);
}

/// The distance of two points, six numbers in a row, and its derivatives.
void by_hand(double const* x, std::size_t rows, double* j) {
    for (std::size_t i = 0; i < rows; ++i, x += 6, j += 6) {
        double const dx = x[3] - x[0], dy = x[4] - x[1], dz = x[5] - x[2],
                     scale = 1 / std::sqrt(dx * dx + dy * dy + dz * dz);
        j[0] = -(j[3] = dx * scale);
        j[1] = -(j[4] = dy * scale);
        j[2] = -(j[5] = dz * scale);
    }
}
auto const distance = [](auto ax, auto ay, auto az, auto bx, auto by, auto bz) {
    auto const dx = bx - ax, dy = by - ay, dz = bz - az;
    return sqrt(dx * dx + dy * dy + dz * dz);
};

template <class F> void beside_rows_by_hand(char const* name, F f, Real const& x) {
    std::size_t const rows = x.shape()[0];
    Real const reused = xg::empty<double>(x.shape());
    auto const hand_into = [=](double* j) {
        by_hand(x.data(), rows, j);
        return j[0];
    };
    auto const hand_new = [=] {
        return hand_into(std::make_unique_for_overwrite<double[]>(6 * rows).get());
    };
    auto const hand_reused = [=] { return hand_into(Real(reused).mutable_data()); };
    hand_reused();
    check(name, xg::jacobian(f, x, {.rows = true}), reused, 1e-12);
    auto const row = [=](std::string const& peer, auto const& hand) {
        bench::Case(name, rows)
            .peer(peer, hand)
            .xgrad([=] { return xg::jacobian(f, x, {.rows = true}).data()[0]; })
            .at_most(1.5);
    };
    row("hand, new[]", hand_new);
    row("hand, reused", hand_reused);
}

/// The Hessian of a chain of n numbers, beside its gradient.
void sparse_hessian(std::size_t n) {
    auto const last = static_cast<std::ptrdiff_t>(n);
    auto const chain = [last](Real const& a) {
        return sum(xg::square(a(xg::slice(1, last)) - xg::square(a(xg::slice(0, last - 1)))));
    };
    Real const x = xg::linspace<double>(0., 1., n).requires_grad_();
    auto const plan = std::make_shared<decltype(xg::sparsity(chain, x))>(xg::sparsity(chain, x));
    bench::Case("sparse Hessian of a chain", n)
        .peer("gradient", [=] { return xg::grad(chain(x), x).data()[0]; })
        .xgrad([=] { return plan->hessian(x).data()[0]; })
        .at_most(10);
}
/// The Jacobian of two chemicals that react and diffuse on a grid, as in examples/brusselator,
/// beside the function.
void sparse_jacobian(std::size_t side) {
    auto const laplacian = [](Real const& u) {
        return roll(u, 1, 0) + roll(u, -1, 0) + roll(u, 1, 1) + roll(u, -1, 1) - 4 * u;
    };
    auto const rates = [laplacian](Real const& state) {
        Real const u = state(0), v = state(1);
        Real const made = u * u * v;
        return xg::stack({Real(3. + made - 10. * u + 5 * laplacian(u)),
            Real(9. * u - made + 12 * laplacian(v))});
    };
    Real const x = Real(3. + 0.01 * xg::randn({2, side, side}));
    auto const plan = std::make_shared<decltype(xg::sparsity(rates, x))>(xg::sparsity(rates, x));
    bench::Case("sparse Jacobian of the Brusselator", 2 * side * side)
        .peer("the function", [=] { return rates(x).data()[0]; })
        .xgrad([=] { return plan->jacobian(x).data()[0]; })
        .at_most(30);
    bench::Case("sparse Jacobian of the Brusselator: entries", 2 * side * side)
        .found(static_cast<double>(plan->jacobian_pattern().nonzeros()), "");
    bench::Case("sparse Jacobian of the Brusselator: colours", 2 * side * side)
        .found(static_cast<double>(plan->jacobian_colors()), "");
}

int main(int argc, char** argv) {
    Real const t = xg::linspace<double>(0., 4., 1000), p({1.5, 0.7, 0.4, 3., 0.2, -0.1});
    beside_differences(
        "jacobian, 1,000 outputs, 6 inputs",
        [t](Real const& a) {
            return Real(a(0) * exp(-a(1) * t) + a(2) * sin(a(3) * t) + a(4) * t + a(5) * square(t));
        },
        p);
    Real const wide = xg::randn({6, 1000}), square = xg::randn({50, 50});
    beside_differences(
        "jacobian, 6 outputs, 1,000 inputs",
        [wide](Real const& a) { return Real(sum(wide * sin(a), {1})); }, Real(xg::rand({1000})));
    beside_differences(
        "jacobian, 50 outputs, 50 inputs",
        [square](Real const& a) { return Real(tanh(matmul(square, sin(a)))); },
        Real(xg::rand({50})));
    for (std::size_t const rows : {1000u, 100000u}) {
        Real const x = Real(xg::randn({rows, 6}));
        auto const columns = [](auto const& f, Real const& a) {
            auto const at = [&](std::ptrdiff_t k) { return a(xg::all, k); };
            return Real(f(at(0), at(1), at(2), at(3), at(4), at(5)));
        };
        beside_rows_by_hand(
            "jacobian, rows of 6", [=](Real const& a) { return columns(distance, a); }, x);
        beside_rows_by_hand(
            "jacobian, rows of 6, map",
            [=](Real const& a) {
                return columns(
                    [](auto const&... column) { return xg::map(distance, column...); }, a);
            },
            x);
    }
    sparse_hessian(1'000'000);
    sparse_jacobian(64);
    return bench::run(argc, argv);
}
