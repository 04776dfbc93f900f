// Hamiltonian Monte Carlo (Neal, 2011): samples of a density by leapfrog steps along its gradient.
#include <doctest/doctest.h>

#include <xgrad/xgrad.hpp>

namespace xg = xgrad;
using D = xg::Tensor<double>;

namespace {

struct State {
    D q, p;
};
/// Steps of the leapfrog method for the Hamiltonian U(q) + p^2/2.
template <class Gradient> State leapfrog(Gradient const& grad_U, State s, double step, int count) {
    s.p = s.p - 0.5 * step * grad_U(s.q);
    for (int i = 0; i < count; ++i) {
        s.q = s.q + step * s.p;
        s.p = s.p - (i + 1 < count ? step : 0.5 * step) * grad_U(s.q);
    }
    return s;
}

} // namespace

TEST_CASE("Hamiltonian Monte Carlo") {
    xg::manual_seed(3);
    D const mean({1., -2.}), covariance({{1., 0.6}, {0.6, 0.5}}),
        precision = D({{0.5, -0.6}, {-0.6, 1.}}) / 0.14;
    auto const U = [&](D const& q) { return 0.5 * dot(q - mean, matmul(precision, q - mean)); };
    auto const grad_U = xg::grad(U);
    auto const H = [&](State const& s) { return (U(s.q) + 0.5 * dot(s.p, s.p)).item(); };

    // the error of the energy is of second order, and the way back leads to the start
    State const start{D({0., 0.}), D({0.3, -1.})};
    auto const error = [&](double step, int n) {
        return std::abs(H(leapfrog(grad_U, start, step, n)) - H(start));
    };
    CHECK(error(0.05, 20) / error(0.025, 40) == doctest::Approx(4).epsilon(0.1));
    State end = leapfrog(grad_U, start, 0.1, 25);
    State const back = leapfrog(grad_U, {end.q, -end.p}, 0.1, 25);
    CHECK(allclose(back.q, start.q, 1e-9, 1e-9));

    std::vector<D> samples;
    int accepted = 0;
    D q({0., 0.});
    for (int i = 0; i < 4000; ++i) {
        State const from{q, xg::randn(2)}, to = leapfrog(grad_U, from, 0.25, 8);
        if (xg::rand({}).item() < std::exp(H(from) - H(to))) q = to.q, ++accepted;
        samples.push_back(q);
    }
    CHECK(accepted > 3000);
    D const all = xg::stack(samples)(xg::range(100, {}));
    D const m = all.mean(0), centred = all - m;
    CHECK(allclose(m, mean, 0, 0.1));
    CHECK(allclose(
        matmul(centred.T(), centred) / static_cast<double>(all.size(0)), covariance, 0, 0.1));
}
