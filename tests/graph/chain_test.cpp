// Chains of Nodes over leaves that several of them share: the gradients of a leaf are added to one
// sum as they are made, and nobody can tell.
#include "graph/walk.hpp"

namespace {

constexpr int steps = 40;

/// x -> x + p*q*x, which has the derivative 1 + p*q for x, and for p and q sums over the steps.
D chain(D const& start, D const& p, D const& q) {
    D x = start;
    for (int i = 0; i < steps; ++i) x = x + p * q * x;
    return sum(x);
}
double const growth = std::pow(1.06, steps), slope = steps * std::pow(1.06, steps - 1);

} // namespace

TEST_CASE("a leaf that every Node of a chain leads to gets the sum, once") {
    D x = xg::full({5}, 2., xg::requires_grad), p = xg::full({5}, 0.3, xg::requires_grad),
      q = xg::full({5}, 0.2, xg::requires_grad);
    std::vector<std::string> calls;
    p.register_hook([&](D const& g) {
        calls.push_back("p");
        CHECK(g.data()[0] == doctest::Approx(2 * 0.2 * slope));
    });
    q.register_hook([&](D const&) { calls.push_back("q"); });
    for (int round = 1; round <= 2; ++round) {
        chain(x, p, q).backward();
        CHECK(x.grad().data()[4] == doctest::Approx(round * growth));
        CHECK(p.grad().data()[4] == doctest::Approx(round * 2 * 0.2 * slope));
        CHECK(q.grad().data()[4] == doctest::Approx(round * 2 * 0.3 * slope));
    }
    CHECK(calls.size() == 4);
    D const gp = grad(chain(x, p, q), p);
    CHECK(gp.data()[0] == doctest::Approx(2 * 0.2 * slope));
    CHECK(calls.size() == 5);
    auto const [gx, gq] = grad(chain(x, p, q), xg::inputs(x, q));
    CHECK(gx.data()[0] == doctest::Approx(growth));
    CHECK(gq.data()[0] == doctest::Approx(2 * 0.3 * slope));
    CHECK(p.grad().data()[0] == doctest::Approx(2 * 2 * 0.2 * slope));
}

TEST_CASE("gradients that a hook keeps are not added to afterwards") {
    D x = xg::full({3}, 2., xg::requires_grad), p = xg::full({3}, 0.5, xg::requires_grad);
    D y = x;
    std::vector<D> kept;
    for (int i = 0; i < 3; ++i) y = y * p;
    y.grad_fn()->register_hook([&](std::vector<xg::AnyTensor> const& inputs, auto const&) {
        kept.push_back(inputs[1].as<double>());
    });
    sum(y).backward();
    REQUIRE(kept.size() == 1);
    CHECK(difference(kept[0], xg::full({3}, 0.5)) == ""); // of p, from the last of three products
    CHECK(difference(p.grad(), xg::full({3}, 1.5)) == "");
}

TEST_CASE("a gradient that a hook made in inference mode is not written over by one that was not") {
    D const x = xg::full({3}, 2., xg::requires_grad), p = xg::full({3}, 3., xg::requires_grad);
    D y = x * p;
    D const z = y * p;
    y.register_hook([](D const& g) {
        xg::InferenceMode const inside;
        return D(g * 2.);
    });
    for (int round = 1; round <= 2; ++round) {
        sum(z).backward({.retain_graph = true});
        CHECK_FALSE(x.grad().is_inference());
        CHECK(difference(x.grad(), xg::full({3}, round * 18.)) == "");
    }
}

TEST_CASE("a leaf that is differentiated itself counts for hooks on several tensors") {
    D const x(2., xg::requires_grad);
    int calls = 0;
    auto const handle = xg::register_multi_grad_hook(
        {x}, [&](std::vector<xg::AnyTensor> const& g) { calls += g[0].defined(); });
    x.backward();
    CHECK(calls == 1);
}

TEST_CASE(
    "a chain over a leaf whose shape is stretched, or that stands at several places of a formula") {
    D x = xg::full({4, 3}, 1., xg::requires_grad), row({1., 2., 3.}, xg::requires_grad),
      one(2., xg::requires_grad);
    D y = x;
    for (int i = 0; i < 3; ++i) y = y + row * one + row * row;
    sum(y).backward();
    CHECK(difference(row.grad(), D{{48., 72., 96.}}.reshape({3})) ==
          ""); // 3 steps, 4 rows: 12 (one + 2 row)
    CHECK(one.grad().item() == 72.);
    CHECK(difference(x.grad(), xg::ones({4, 3})) == "");
}

TEST_CASE("more leaves than a chain has room for, and complex ones") {
    using C = xg::Tensor<std::complex<double>>;
    std::vector<C> leaves;
    for (int i = 0; i < 20; ++i) leaves.emplace_back(std::complex<double>(1, i), xg::requires_grad);
    for (std::size_t count : {3u, 20u}) {
        C z(std::complex<double>(1, 0));
        for (int round = 0; round < 2; ++round)
            for (std::size_t i = 0; i < count; ++i) z = z + leaves[i] * static_cast<double>(i + 1);
        real(z).backward();
        for (std::size_t i = 0; i < count; ++i) {
            CHECK(leaves[i].grad().item() ==
                  std::complex<double>(2. * static_cast<double>(i + 1), 0));
            leaves[i].zero_grad();
        }
    }
}

TEST_CASE("second derivatives through a chain") {
    D x(1.5, xg::requires_grad), p(0.3, xg::requires_grad), q(0.2, xg::requires_grad);
    D const gp = grad(chain(x, p, q), p, {.create_graph = true});
    auto const [gpp, gpq] = grad(gp, xg::inputs(p, q));
    double const bend = steps * (steps - 1) * std::pow(1.06, steps - 2);
    CHECK(gpp.item() == doctest::Approx(1.5 * 0.04 * bend));
    CHECK(gpq.item() == doctest::Approx(1.5 * (0.06 * bend + slope)));
}
