// PyTorch's "Learning PyTorch with Examples": a polynomial of third order is fitted to sin(x), in
// all versions of that page. Each starts from the same coefficients, so that all end alike.
#include <numbers>

#include <doctest/doctest.h>

#include <xgrad/nn.hpp>
#include <xgrad/optim.hpp>
#include <xgrad/xgrad.hpp>

namespace xg = xgrad;
namespace nn = xg::nn;
namespace optim = xg::optim;
using D = xg::Tensor<double>;

namespace {

constexpr double pi = std::numbers::pi, learning_rate = 1e-6;
constexpr int steps = 500;
D const x = xg::linspace(-pi, pi, 2000), y = sin(x);

/// The coefficients after gradient descent with gradients written by hand: the reference.
std::array<double, 4> by_hand() {
    double a = 0.3, b = -0.2, c = 0.1, d = 0.05;
    for (int t = 0; t < steps; ++t) {
        D const y_pred = a + b * x + c * pow(x, 2) + d * pow(x, 3);
        D const grad_y_pred = 2.0 * (y_pred - y);
        double const grad_a = grad_y_pred.sum().item(), grad_b = (grad_y_pred * x).sum().item(),
                     grad_c = (grad_y_pred * pow(x, 2)).sum().item(),
                     grad_d = (grad_y_pred * pow(x, 3)).sum().item();
        a -= learning_rate * grad_a;
        b -= learning_rate * grad_b;
        c -= learning_rate * grad_c;
        d -= learning_rate * grad_d;
    }
    return {a, b, c, d};
}
std::array<double, 4> const expected = by_hand();

void check(double a, double b, double c, double d) {
    CHECK(a == doctest::Approx(expected[0]).epsilon(1e-9));
    CHECK(b == doctest::Approx(expected[1]).epsilon(1e-9));
    CHECK(c == doctest::Approx(expected[2]).epsilon(1e-9));
    CHECK(d == doctest::Approx(expected[3]).epsilon(1e-9));
}

/// The Legendre polynomial of third degree, with a backward pass of one's own.
struct LegendrePolynomial3 : xg::Function<LegendrePolynomial3> {
    using Saved = std::tuple<D>;
    static D forward(Context& context, D const& input) {
        context.save_for_backward(input);
        return 0.5 * (5 * pow(input, 3) - 3 * input);
    }
    static D backward(Context& context, D const& grad_output) {
        auto const [input] = context.saved_tensors();
        return grad_output * 1.5 * (5 * pow(input, 2) - 1);
    }
};

struct Polynomial3 : nn::Module<Polynomial3> {
    nn::Parameter<double> a{*this, "a", D(0.3)}, b{*this, "b", D(-0.2)}, c{*this, "c", D(0.1)},
        d{*this, "d", D(0.05)};

    D forward(D const& input) const {
        return a + b * input + c * pow(input, 2) + d * pow(input, 3);
    }
};

/// Adds terms of fourth and fifth order at random, which share the coefficient e.
struct DynamicNet : nn::Module<DynamicNet> {
    nn::Parameter<double> a{*this, "a", D(0.3)}, b{*this, "b", D(-0.2)}, c{*this, "c", D(0.1)},
        d{*this, "d", D(0.05)}, e{*this, "e", D(0.)};

    D forward(D const& input) const {
        D result = a + b * input + c * pow(input, 2) + d * pow(input, 3);
        auto const highest = xg::randint(4, 6, {1}).item<int>();
        for (int exponent = 4; exponent <= highest; ++exponent) result += e * pow(input, exponent);
        return result;
    }
};

} // namespace

TEST_CASE("autograd") {
    auto const requires_grad = xg::requires_grad;
    D a(0.3, requires_grad), b(-0.2, requires_grad), c(0.1, requires_grad), d(0.05, requires_grad);
    for (int t = 0; t < steps; ++t) {
        D const y_pred = a + b * x + c * pow(x, 2) + d * pow(x, 3);
        auto const loss = (y_pred - y).pow(2).sum();
        loss.backward();
        xg::NoGradGuard const no_grad;
        for (D* const p : {&a, &b, &c, &d}) {
            *p -= learning_rate * p->grad();
            p->zero_grad();
        }
    }
    check(a.item(), b.item(), c.item(), d.item());
}

TEST_CASE("a new autograd function") {
    D a(0., xg::requires_grad), b(-1., xg::requires_grad), c(0., xg::requires_grad),
        d(0.3, xg::requires_grad);
    double first = 0, last = 0;
    for (int t = 0; t < 2000; ++t) {
        D const y_pred = a + b * LegendrePolynomial3::apply(c + d * x);
        D const loss = (y_pred - y).pow(2).sum();
        if (t == 0) { // the backward pass above against differences
            auto const of_d = [&](double value) {
                D const u = value * x;
                return sum(square(D(-0.5 * (5 * pow(u, 3) - 3 * u) - y))).item();
            };
            CHECK(xg::grad(loss, d, {.retain_graph = true}).item() ==
                  doctest::Approx((of_d(0.3 + 1e-5) - of_d(0.3 - 1e-5)) / 2e-5));
            first = loss.item();
        }
        loss.backward();
        last = loss.item();
        xg::NoGradGuard const no_grad;
        for (D* const p : {&a, &b, &c, &d}) {
            *p -= 5e-6 * p->grad();
            p->zero_grad();
        }
    }
    CHECK(last < 0.1 * first);
    CHECK(last == doctest::Approx(9.9).epsilon(0.1)); // the page ends at 9.9, too
}

TEST_CASE("nn, and optim") {
    D const xx = pow(x.unsqueeze(-1), D({1., 2., 3.}));
    auto const start = [](nn::Sequential<double>& model) {
        auto& linear = model.at<nn::Linear<double>>(0);
        linear.load_state_dict({{"weight", D({{-0.2, 0.1, 0.05}})}, {"bias", D({0.3})}});
    };
    nn::Sequential model(nn::Linear(3, 1), nn::Flatten(0, 1));
    start(model);
    nn::MSELoss loss_fn("sum");
    for (int t = 0; t < steps; ++t) {
        D const loss = loss_fn(model(xx), y);
        model.zero_grad();
        loss.backward();
        xg::NoGradGuard const no_grad;
        for (auto& param : model.parameters())
            param.as<double>() -= learning_rate * param.grad().as<double>();
    }
    auto const& linear = model.at<nn::Linear<double>>(0);
    check(linear.bias(0).item(), linear.weight(0, 0).item(), linear.weight(0, 1).item(),
        linear.weight(0, 2).item());

    optim::SGD optimizer(model.parameters(), learning_rate);
    start(model);
    for (int t = 0; t < steps; ++t) {
        D const loss = loss_fn(model(xx), y);
        optimizer.zero_grad();
        loss.backward();
        optimizer.step();
    }
    check(linear.bias(0).item(), linear.weight(0, 0).item(), linear.weight(0, 1).item(),
        linear.weight(0, 2).item());

    optim::RMSprop rmsprop(model.parameters(), {.lr = 1e-3});
    for (int t = 0; t < 2000; ++t) {
        D const loss = loss_fn(model(xx), y);
        rmsprop.zero_grad();
        loss.backward();
        rmsprop.step();
    }
    CHECK(loss_fn(model(xx), y).item() == doctest::Approx(8.9).epsilon(0.02)); // the least squares
}

TEST_CASE("modules of one's own") {
    Polynomial3 model;
    nn::MSELoss criterion("sum");
    optim::SGD optimizer(model.parameters(), {.lr = learning_rate});
    for (int t = 0; t < steps; ++t) {
        D const loss = criterion(model(x), y);
        optimizer.zero_grad();
        loss.backward();
        optimizer.step();
    }
    check(model.a.item(), model.b.item(), model.c.item(), model.d.item());
}

TEST_CASE("control flow and shared weights") {
    xg::manual_seed(1);
    DynamicNet model;
    nn::MSELoss criterion("sum");
    optim::SGD optimizer(model.parameters(), {.lr = 1e-8, .momentum = 0.9});
    double const first = D(criterion(model(x), y)).item();
    for (int t = 0; t < 2000; ++t) {
        D const loss = criterion(model(x), y);
        optimizer.zero_grad();
        loss.backward();
        optimizer.step();
    }
    CHECK(D(criterion(model(x), y)).item() < 0.3 * first);
    CHECK(model.e.item() != 0);
}
