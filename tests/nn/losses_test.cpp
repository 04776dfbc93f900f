// Losses against sums written out in plain doubles, and their gradients against finite differences.
#include <xgrad/nn.hpp>
#include <xgrad/testing/gradcheck.hpp>

#include "tensor/compare.hpp"

namespace nn = xg::nn;
namespace f = xg::nn::functional;
using nn::Reduction;
using I = xg::Tensor<std::int64_t>;

namespace {

D const x({{0.5, -1., 2.}, {0.1, 0.2, -0.3}}), t({{1., 1., 0.5}, {0., 0.4, -2.}});

/// The same values as a leaf.
D leaf(D const& values) {
    D t = values.clone();
    return t.requires_grad_();
}

/// Compares a loss and its three reductions with a function of single elements.
template <class F> void check(F const& loss, double (*formula)(double x, double t)) {
    D each = xg::zeros({2, 3});
    double total = 0;
    for (std::size_t i = 0; i < 6; ++i)
        total += each.mutable_data()[i] = formula(x.data()[i], t.data()[i]);
    CHECK(difference(loss(x, t, Reduction::none), each) == "");
    CHECK(difference(loss(x, t, Reduction::sum), D(total)) == "");
    CHECK(difference(loss(x, t, Reduction::mean), D(total / 6)) == "");
    CHECK(xg::gradcheck([&](D const& a, D const& b) { return loss(a, b, Reduction::mean); },
        xg::inputs(leaf(x), leaf(t))));
    CHECK_THROWS_AS(loss(x, D({1., 2., 3.}), Reduction::mean), xg::ShapeError);
}

double softmax(D const& row, std::size_t n, std::size_t c) {
    double total = 0;
    for (std::size_t k = 0; k < row.shape()[1]; ++k) total += std::exp(row(n, k).item());
    return std::exp(row(n, c).item()) / total;
}

} // namespace

TEST_CASE("losses of single elements") {
    check([](D const& a, D const& b, Reduction r) { return f::mse_loss(a, b, r); },
        [](double a, double b) { return (a - b) * (a - b); });
    check([](D const& a, D const& b, Reduction r) { return f::l1_loss(a, b, r); },
        [](double a, double b) { return std::abs(a - b); });
    check([](D const& a, D const& b, Reduction r) { return f::huber_loss(a, b, r, 0.4); },
        [](double a, double b) {
            double const d = std::abs(a - b);
            return d < 0.4 ? 0.5 * d * d : 0.4 * (d - 0.2);
        });
    check([](D const& a, D const& b, Reduction r) { return f::smooth_l1_loss(a, b, r, 0.4); },
        [](double a, double b) {
            double const d = std::abs(a - b);
            return d < 0.4 ? 0.5 * d * d / 0.4 : d - 0.2;
        });
    check([](D const& a, D const& b,
              Reduction r) { return f::binary_cross_entropy_with_logits(a, b, r); },
        [](double a, double b) {
            double const p = 1 / (1 + std::exp(-a));
            return -(b * std::log(p) + (1 - b) * std::log(1 - p));
        });
}

TEST_CASE("mse of complex numbers is a real number") {
    Z const a({complex<double>(1, 2)}, xg::requires_grad), b({complex<double>(0, 1)});
    D const loss = f::mse_loss(a, b);
    CHECK(loss.item() == 2);
    loss.backward();
    CHECK(difference(a.grad(), {complex<double>(2, 2)}) == "");
}

TEST_CASE("binary cross entropy: weights, and no overflow") {
    D const w({2., 1., 0.5}), pos({3., 1., 2.});
    D const y({{1., 0., 1.}, {0., 1., 0.}});
    D const loss = f::binary_cross_entropy_with_logits(x, y, Reduction::none, w, pos);
    for (std::size_t n = 0; n < 2; ++n)
        for (std::size_t c = 0; c < 3; ++c) {
            double const p = 1 / (1 + std::exp(-x(n, c).item())), yes = y(n, c).item();
            CHECK(loss(n, c).item() ==
                  doctest::Approx(-w(c).item() * (pos(c).item() * yes * std::log(p) +
                                                     (1 - yes) * std::log(1 - p))));
        }
    D const far({1000., -1000.}, xg::requires_grad);
    D const big = f::binary_cross_entropy_with_logits(far, D({0., 1.}), Reduction::sum);
    CHECK(big.item() == 2000);
    big.backward();
    CHECK(difference(far.grad(), {1., -1.}) == "");
}

TEST_CASE("nll and cross entropy: weights, ignored targets, label smoothing") {
    I const target({2, 0});
    D const w({0.5, 1., 2.});
    double const l0 = -std::log(softmax(x, 0, 2)), l1 = -std::log(softmax(x, 1, 0));
    CHECK(difference(f::cross_entropy(x, target, {.reduction = Reduction::none}), {l0, l1}) == "");
    CHECK(f::cross_entropy(x, target).item() == doctest::Approx((l0 + l1) / 2));
    CHECK(f::cross_entropy(x, target, {.weight = w}).item() ==
          doctest::Approx((2 * l0 + 0.5 * l1) / 2.5));
    CHECK(f::cross_entropy(x, target, {.weight = w, .reduction = Reduction::sum}).item() ==
          doctest::Approx(2 * l0 + 0.5 * l1));
    CHECK(f::nll_loss(f::log_softmax(x, 1), target, {.weight = w}).item() ==
          doctest::Approx((2 * l0 + 0.5 * l1) / 2.5));
    CHECK(f::cross_entropy(x, target, {.weight = w, .ignore_index = 2}).item() ==
          doctest::Approx(l1));

    double smooth[2] = {};
    for (std::size_t n = 0; n < 2; ++n)
        for (std::size_t c = 0; c < 3; ++c) smooth[n] -= w(c).item() * std::log(softmax(x, n, c));
    double const e = 0.3;
    CHECK(f::cross_entropy(x, target, {.weight = w, .label_smoothing = e}).item() ==
          doctest::Approx((0.7 * (2 * l0 + 0.5 * l1) + e / 3 * (smooth[0] + smooth[1])) / 2.5));
    CHECK(xg::gradcheck(
        [&](D const& a) {
            return f::cross_entropy(a, target, {.weight = w, .label_smoothing = e});
        },
        leaf(x)));
    CHECK(xg::gradcheck(
        [&](D const& a) { return f::cross_entropy(a, target, {.weight = w, .ignore_index = 2}); },
        leaf(x)));
}

TEST_CASE("cross entropy: all targets ignored, targets out of bounds, other shapes") {
    D const logits = leaf(x);
    D const loss = f::cross_entropy(logits, I({-100, -100}));
    CHECK(std::isnan(loss.item()));
    loss.backward();
    CHECK(difference(logits.grad(), xg::zeros({2, 3})) == "");
    CHECK_THROWS_WITH_AS(f::cross_entropy(x, I({0, 3})),
        "cross_entropy: Target 3 is out of bounds of 3 classes", xg::IndexError);
    CHECK_THROWS_WITH_AS(f::nll_loss(x, I({0, -1})),
        "nll_loss: Target -1 is out of bounds of 3 classes", xg::IndexError);
    CHECK_THROWS_WITH_AS(f::cross_entropy(x, I({0})),
        "cross_entropy: an input of shape [2, 3] needs targets of shape [2], not [1]",
        xg::ShapeError);
    CHECK(f::cross_entropy(D({0., 0.}), I(1)).item() == doctest::Approx(std::log(2.)));
    D const image = xg::zeros({2, 3, 4});
    CHECK(f::cross_entropy(image, xg::zeros<std::int64_t>({2, 4}), {.reduction = Reduction::none})
              .shape() == xg::Shape{2, 4});
}

TEST_CASE("cross entropy of targets that are views") {
    I const numbers({{1, 57}, {0, 99}});
    CHECK(f::cross_entropy(x, numbers(xg::slice(), 0)).item() ==
          doctest::Approx(f::cross_entropy(x, I({1, 0})).item()));
    CHECK(f::cross_entropy(x, I({2}).expand({2})).item() ==
          doctest::Approx(f::cross_entropy(x, I({2, 2})).item()));
    CHECK_THROWS_WITH_AS(f::cross_entropy(x, numbers(xg::slice(), 1)),
        "cross_entropy: Target 57 is out of bounds of 3 classes", xg::IndexError);
}

TEST_CASE("small losses of large numbers keep their digits, in single precision, too") {
    using S = xg::Tensor<float>;
    S const large({{1000.f, 990.f}, {1e8f, 1e8f}});
    CHECK(difference(
              xg::cast<double>(f::cross_entropy(large, I({0, 1}), {.reduction = Reduction::none})),
              {4.539889922e-5, 0.69314718}, 5e-8) == "");
    CHECK(difference(xg::cast<double>(f::log_softmax(large, 1)),
              {{-4.539889922e-5, -10.00004539889922}, {-0.69314718, -0.69314718}}, 1e-6) == "");
    CHECK(difference(xg::cast<double>(f::cross_entropy(
                         large, I({0, 1}), {.reduction = Reduction::none, .label_smoothing = 0.2})),
              {1.00004539889922, 0.69314718}, 1e-6) == "");
}

TEST_CASE("cross entropy with probabilities as targets") {
    D const p({{0.2, 0.3, 0.5}, {1., 0., 0.}}), w({0.5, 1., 2.});
    double wanted = 0;
    for (std::size_t n = 0; n < 2; ++n)
        for (std::size_t c = 0; c < 3; ++c)
            wanted -= w(c).item() * (0.9 * p(n, c).item() + 0.1 / 3) * std::log(softmax(x, n, c));
    CHECK(f::cross_entropy(x, p, {.weight = w, .label_smoothing = 0.1}).item() ==
          doctest::Approx(wanted / 2));
    CHECK(
        xg::gradcheck([&](D const& a, D const& b) { return f::cross_entropy(a, b, {.weight = w}); },
            xg::inputs(leaf(x), leaf(p))));
}

TEST_CASE("the Kullback-Leibler divergence") {
    D const q({{0.1, 0.2, 0.7}, {0.3, 0.3, 0.4}}), p({{0., 0.5, 0.5}, {0.2, 0.2, 0.6}});
    double total = 0;
    for (std::size_t i = 0; i < 6; ++i)
        if (double const a = p.data()[i]; a > 0) total += a * std::log(a / q.data()[i]);
    D const log_q = log(q);
    CHECK(f::kl_div(log_q, p, Reduction::sum).item() == doctest::Approx(total));
    CHECK(f::kl_div(log_q, p, Reduction::batch_mean).item() == doctest::Approx(total / 2));
    CHECK(f::kl_div(log_q, p).item() == doctest::Approx(total / 6));
    D const positive({{0.1, 0.5, 0.4}, {0.2, 0.2, 0.6}});
    CHECK(f::kl_div(log_q, log(positive), Reduction::sum, true).item() ==
          doctest::Approx(f::kl_div(log_q, positive, Reduction::sum).item()));
    CHECK(xg::gradcheck([](D const& a, D const& b) { return f::kl_div(a, b, Reduction::sum); },
        xg::inputs(leaf(log_q), leaf(positive))));
    CHECK_THROWS_WITH_AS(f::mse_loss(x, t, Reduction::batch_mean),
        "mse_loss: batch_mean is a reduction of kl_div alone", xg::Error);
}

TEST_CASE("cosine embedding and triplet margin") {
    D const a({{1., 0.}, {1., 2.}, {3., 4.}}), b({{1., 1.}, {2., -1.}, {3., 4.}});
    double const c = std::sqrt(0.5);
    CHECK(difference(f::cosine_embedding_loss(a, b, D({1., 1., -1.}), 0.25, Reduction::none),
              {1 - c, 1., 0.75}, 1e-9) == "");
    CHECK(xg::gradcheck(
        [](D const& u, D const& v) {
            return f::cosine_embedding_loss(u, v, D({1., -1., -1.}), 0.25);
        },
        xg::inputs(leaf(a), leaf(b))));
    CHECK_THROWS_AS(f::cosine_embedding_loss(a, b, D({1.})), xg::ShapeError);

    D const n({{0., 3.}, {1., 2.5}, {0., 0.}});
    auto const d = [](double p, double q) { return std::hypot(p + 1e-6, q + 1e-6); };
    CHECK(difference(f::triplet_margin_loss(a, b, n, 1, 2, 1e-6, false, Reduction::none),
              {0., d(-1, 3) - d(0, -0.5) + 1, 0.}, 1e-9) == "");
    double const swapped = std::min(d(1, -3), d(1, -2));
    CHECK(f::triplet_margin_loss(a, b, n, 2, 2, 1e-6, true, Reduction::none)(0).item() ==
          doctest::Approx(std::max(0., d(0, -1) - swapped + 2)));
    CHECK(xg::gradcheck(
        [](D const& u, D const& v, D const& w) { return f::triplet_margin_loss(u, v, w, 5.); },
        xg::inputs(leaf(a), leaf(b + 0.5), leaf(n))));
}

TEST_CASE("losses at their kinks and at infinity have the gradients of PyTorch") {
    D const one_row = leaf(D({{1., 0.}}));
    f::cosine_embedding_loss(one_row, D({{0., 1.}}), D({-1.})).backward();
    CHECK(difference(one_row.grad(), {{0., 1.}}, 1e-11) == "");

    D const a = leaf(D({{0., 0.}})), p = leaf(D({{1., 0.}})), n = leaf(D({{0., 1.}}));
    f::triplet_margin_loss(a, p, n, 0, 2, 0).backward();
    CHECK(difference(a.grad(), {{-1., 1.}}) == "");
    CHECK(difference(p.grad(), {{1., 0.}}) == "");
    CHECK(difference(n.grad(), {{0., -1.}}) == "");

    D const distances({0.5, 1., -1., 2., -0.25, HUGE_VAL, -HUGE_VAL, 1e200}), none = xg::zeros({8});
    D const x1 = leaf(distances), x2 = leaf(distances);
    f::huber_loss(x1, none, Reduction::sum).backward();
    CHECK(difference(x1.grad(), {0.5, 1., -1., 1., -0.25, 1., -1., 1.}) == "");
    f::smooth_l1_loss(x2, none, Reduction::sum, 0.5).backward();
    CHECK(difference(x2.grad(), {1., 1., -1., 1., -0.5, 1., -1., 1.}) == "");

    CHECK(std::isnan(f::kl_div(D({-1.}), D({-1.}), Reduction::sum).item()));
}

TEST_CASE("the Huber losses are curved where nothing is left, too") {
    D const none = xg::zeros({3}), at({0., 0.3, -5.});
    auto const curvature = [&](auto const& loss) { return xg::hessian(loss, at); };
    CHECK(
        difference(curvature([&](D const& a) { return f::huber_loss(a, none, Reduction::sum, 2); }),
            D({{1., 0., 0.}, {0., 1., 0.}, {0., 0., 0.}})) == "");
    CHECK(difference(
              curvature([&](D const& a) { return f::smooth_l1_loss(a, none, Reduction::sum, 2); }),
              D({{0.5, 0., 0.}, {0., 0.5, 0.}, {0., 0., 0.}})) == "");
}

TEST_CASE("a sure and right binary guess has a small loss and gradient, not none") {
    for (bool const weighted : {false, true})
        for (double const sign : {-1., 1.}) {
            xg::Tensor<float> x({static_cast<float>(sign) * 17.f, static_cast<float>(sign) * 40.f});
            x.requires_grad_();
            xg::Tensor<float> const target = xg::full({2}, sign > 0 ? 1.f : 0.f),
                                    twice = weighted ? xg::full({2}, 2.f) : xg::Tensor<float>();
            xg::Tensor<float> const loss =
                f::binary_cross_entropy_with_logits(x, target, Reduction::none, {}, twice);
            sum(loss).backward();
            for (std::size_t i = 0; i < 2; ++i) {
                double const size = std::exp(i ? -40. : -17.),
                             factor = weighted && sign > 0 ? 2 : 1;
                CHECK(loss.data()[i] ==
                      doctest::Approx(factor * std::log1p(size)).epsilon(1e-6).scale(0));
                CHECK(x.grad().data()[i] ==
                      doctest::Approx(-sign * factor * size / (1 + size)).epsilon(1e-6).scale(0));
            }
        }
}

TEST_CASE("the weights of classes belong to the state of a loss") {
    nn::CrossEntropyLoss<double> loss({.weight = D({1., 3.})});
    CHECK(loss.state_dict().contains("weight"));
    D const logits({{0., 0.}, {0., 0.}});
    double const before = loss(logits, I({0, 1})).item();
    loss.load_state_dict({{"weight", D({2., 2.})}});
    CHECK(before == doctest::Approx(std::log(2.)));
    CHECK(loss(D({{1., 0.}, {0., 0.}}), I({0, 1})).item() ==
          doctest::Approx((std::log(1 + std::exp(-1.)) + std::log(2.)) / 2));
}

TEST_CASE_TEMPLATE("a copy of a loss has weights of its own, which it uses", Loss,
    nn::NLLLoss<double>, nn::CrossEntropyLoss<double>) {
    Loss const loss({.weight = D({1., 3.})});
    CHECK(loss.state_dict().contains("weight"));
    Loss copy = loss;
    copy.weight.copy_(D({1., 0.}));
    // log-probabilities, so both losses are the same: 1 and 2 at the targets
    D const x({{-1., std::log(1 - std::exp(-1.))}, {std::log(1 - std::exp(-2.)), -2.}});
    CHECK(loss(x, I({0, 1})).item() == doctest::Approx((1 + 3 * 2) / 4.));
    CHECK(copy(x, I({0, 1})).item() == doctest::Approx(1.));
}
