// A Gaussian process: its hyperparameters maximise the marginal likelihood (Rasmussen and Williams,
// 2006, chapter 5). Value and gradient are compared with their closed forms.
#include <map>
#include <numbers>

#include <doctest/doctest.h>

#include <xgrad/optim.hpp>
#include <xgrad/xgrad.hpp>

#if XGRAD_USE_LAPACK
#    include <xgrad/linalg.hpp>

namespace xg = xgrad;
using D = xg::Tensor<double>;
using Parameters = std::map<std::string, D>;

namespace {

D squared_distances(D const& a, D const& b) { return square(a.unsqueeze(1) - b.unsqueeze(0)); }
D kernel(Parameters const& p, D const& a, D const& b) {
    return exp(2. * p.at("log_height")) *
           exp(-0.5 * squared_distances(a, b) / exp(2. * p.at("log_length")));
}
D covariance(Parameters const& p, D const& x) {
    return kernel(p, x, x) + exp(2. * p.at("log_noise")) * xg::eye(x.size());
}
/// -log p(y | x).
D negative_log_likelihood(Parameters const& p, D const& x, D const& y) {
    D const L = cholesky(covariance(p, x));
    D const alpha = cholesky_solve(y.unsqueeze(1), L);
    return 0.5 * sum(y * alpha.squeeze(1)) + sum(log(L.diagonal())) +
           0.5 * static_cast<double>(x.size()) * std::log(2 * std::numbers::pi);
}

} // namespace

TEST_CASE("marginal likelihood of a Gaussian process") {
    xg::manual_seed(7);
    D const x = xg::linspace(0, 5, 30);
    D const y = sin(2. * x) + 0.1 * xg::randn(30);
    Parameters p{{"log_height", D(0.1)}, {"log_length", D(-0.3)}, {"log_noise", D(-1.5)}};
    auto const loss = [&](Parameters const& q) { return negative_log_likelihood(q, x, y); };

    // d/dt = 1/2 tr((K^-1 - a a^T) dK/dt) with a = K^-1 y
    auto const [value, gradient] = xg::value_and_grad(loss, p);
    D const K = covariance(p, x), inverse = inv(K), a = matmul(inverse, y);
    CHECK(
        value.item() == doctest::Approx(0.5 * (sum(y * a).item() + std::get<1>(slogdet(K)).item() +
                                                  30 * std::log(2 * std::numbers::pi))));
    D const outside = 0.5 * (inverse - outer(a, a));
    D const k = kernel(p, x, x);
    CHECK(gradient.at("log_height").item() == doctest::Approx(sum(outside * 2. * k).item()));
    CHECK(gradient.at("log_length").item() ==
          doctest::Approx(
              sum(outside * k * squared_distances(x, x) / exp(2. * p.at("log_length"))).item()));
    CHECK(gradient.at("log_noise").item() ==
          doctest::Approx(2 * std::exp(-3.) * trace(outside).item()));

    for (auto& [name, t] : p) t.requires_grad_();
    xg::optim::LBFGS optimizer({p["log_height"], p["log_length"], p["log_noise"]},
        {.max_iter = 60, .line_search_fn = "strong_wolfe"});
    optimizer.step([&] {
        optimizer.zero_grad();
        D const l = loss(p);
        l.backward();
        return l;
    });
    CHECK(exp(p["log_noise"]).item() == doctest::Approx(0.1).epsilon(0.3));
    for (auto& [name, t] : p) CHECK(std::abs(t.grad().item()) < 1e-3);

    // the prediction between the points, and its uncertainty outside of them
    xg::NoGradGuard const off;
    D const at = D({2.1, 20.});
    D const L = cholesky(covariance(p, x)), cross = kernel(p, x, at);
    D const mean = matmul(cross.T(), cholesky_solve(y.unsqueeze(1), L)).squeeze(1);
    D const v = solve_triangular(L, cross);
    D const deviation = sqrt(exp(2. * p["log_height"]) - sum(v * v, 0));
    CHECK(mean[0].item() == doctest::Approx(std::sin(4.2)).epsilon(0.1));
    CHECK(deviation[0].item() < 0.1);
    CHECK(std::abs(mean[1].item()) < 1e-3);
    CHECK(deviation[1].item() == doctest::Approx(exp(p["log_height"]).item()));
}
#endif
