// Layers: values by closed forms, how they begin, gradients, misuse.
#include <xgrad/nn.hpp>
#include <xgrad/testing/gradcheck.hpp>

#include "tensor/compare.hpp"

namespace nn = xg::nn;
namespace f = xg::nn::functional;

namespace {
/// The same values as a leaf.
D leaf(D const& values) {
    D t = values.clone();
    return t.requires_grad_();
}
} // namespace

TEST_CASE("linear: real and complex, with and without a bias, any number of axes before the last") {
    D const x({{1., 2.}, {3., -1.}, {0., 1.}}), w({{1., 10.}, {2., 20.}}), b({0.5, -0.5});
    CHECK(difference(f::linear(x, w, b), {{21.5, 41.5}, {-6.5, -14.5}, {10.5, 19.5}}) == "");
    CHECK(difference(f::linear(x(0), w), {21., 42.}) == "");
    CHECK(f::linear(xg::zeros({4, 3, 2}), w, b).shape() == xg::Shape{4, 3, 2});
    CHECK(xg::gradcheck([](D const& p, D const& q, D const& r) { return f::linear(p, q, r); },
        xg::inputs(leaf(x), leaf(w), leaf(b))));
    Z const z({complex<double>(0, 1)}), v({{complex<double>(0, 2)}});
    CHECK(difference(f::linear(z, v), {complex<double>(-2, 0)}) == "");
    CHECK_THROWS_WITH_AS(f::linear(x, D({{1.}})),
        "linear: an input of shape [3, 2] does not fit a weight of shape [1, 1], which is [out, "
        "in]",
        xg::ShapeError);
}

TEST_CASE_TEMPLATE(
    "a linear layer begins uniform on +-1/sqrt(in)", T, double, float, std::complex<double>) {
    xg::manual_seed(3);
    nn::Linear<T> layer(100, 200);
    CHECK(layer.weight.shape() == xg::Shape{200, 100});
    CHECK(layer.bias.shape() == xg::Shape{200});
    double largest = 0, square = 0;
    std::size_t parts = 0;
    auto const see = [&](double v) {
        largest = std::max(largest, std::abs(v)), square += v * v, ++parts;
    };
    for (auto const v : values<T>(layer.weight)) {
        if constexpr (xg::ComplexScalar<T>) see(v.real()), see(v.imag());
        else see(v);
    }
    CHECK(largest <= 0.1);
    CHECK(largest > 0.0999);
    CHECK(square / static_cast<double>(parts) == doctest::Approx(0.01 / 3).epsilon(0.03));
    CHECK(layer(xg::zeros<T>({5, 100})).shape() == xg::Shape{5, 200});
    CHECK(nn::Linear<T>(2, 3, false).parameters().size() == 1);
}

TEST_CASE("bilinear") {
    D const a({{1., 2.}, {0., 1.}}), b({{1., 0., 2.}, {1., 1., 1.}});
    nn::Bilinear<double> layer(2, 3, 4);
    D const y = layer(a, b);
    for (std::size_t n = 0; n < 2; ++n)
        for (std::size_t k = 0; k < 4; ++k) {
            double wanted = layer.bias(k).item();
            for (std::size_t i = 0; i < 2; ++i)
                for (std::size_t j = 0; j < 3; ++j)
                    wanted += a(n, i).item() * layer.weight(k, i, j).item() * b(n, j).item();
            CHECK(y(n, k).item() == doctest::Approx(wanted));
        }
    CHECK(xg::gradcheck([](D const& p, D const& q, D const& w) { return f::bilinear(p, q, w); },
        xg::inputs(leaf(a), leaf(b), leaf(layer.weight))));
    CHECK_THROWS_AS(layer(b, a), xg::ShapeError);
}

TEST_CASE("a Sequential calls its modules in turn, owns them, and is printed with them") {
    nn::Sequential<double> net(
        nn::Linear<double>(2, 3), nn::Tanh(), nn::Linear<double>(3, 1, false));
    auto& first = dynamic_cast<nn::Linear<double>&>(net[0]);
    auto& last = dynamic_cast<nn::Linear<double>&>(net[2]);
    D const x({{0.5, -1.}});
    D const wanted = f::linear(D(tanh(f::linear(x, first.weight, first.bias))), last.weight);
    CHECK(difference(net(x), wanted) == "");
    CHECK(
        to_string(net) ==
        "Sequential(\n  (0): Linear(in_features=2, out_features=3, bias=true), 9 parameters\n  "
        "(1): Tanh()\n"
        "  (2): Linear(in_features=3, out_features=1, bias=false), 3 parameters\n), 12 parameters");
    auto copy = net;
    {
        xg::NoGradGuard const off;
        first.weight.zero_();
    }
    CHECK(difference(copy(x), wanted) == "");
    CHECK(difference(net(x), wanted) != "");
    CHECK_THROWS_AS(net[3], xg::IndexError);
    nn::Sequential<double> nested(net, nn::Sequential<double>(nn::ReLU()));
    CHECK(nested.named_parameters()[0].name == "0.0.weight");
    CHECK(nn::Sequential<double>()(x).is_same(x));
    int calls = 0;
    net[1].register_full_backward_hook([&](auto&, auto const&, auto const&) { ++calls; });
    D(sum(net(x))).backward();
    CHECK(calls == 1);
}

TEST_CASE("a state of doubles loads into floats") {
    nn::Sequential<double> const a(nn::Linear<double>(2, 2), nn::ReLU());
    nn::Sequential<float> b(nn::Linear<float>(2, 2), nn::ReLU());
    b.load_state_dict(a.state_dict());
    CHECK(difference(F(b(F({{1.f, 2.f}}))), F(xg::cast<float>(D(a.clone()(D({{1., 2.}})))))) == "");
}

TEST_CASE("activations are their formulas") {
    D const x({-2., -0.5, 0., 0.5, 2.});
    auto const check = [&](auto module, auto formula) {
        D const y = module(x);
        for (std::size_t i = 0; i < 5; ++i)
            CHECK(y(i).item() == doctest::Approx(formula(x(i).item())));
    };
    check(nn::ReLU(), [](double v) { return std::max(0., v); });
    check(nn::LeakyReLU(0.2), [](double v) { return v > 0 ? v : 0.2 * v; });
    check(nn::ELU(1.5), [](double v) { return v > 0 ? v : 1.5 * (std::exp(v) - 1); });
    check(nn::GELU(), [](double v) { return v * 0.5 * std::erfc(-v / std::sqrt(2.)); });
    check(nn::GELU(nn::Approximate::tanh), [](double v) {
        return 0.5 * v *
               (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (v + 0.044715 * v * v * v)));
    });
    check(nn::SiLU(), [](double v) { return v / (1 + std::exp(-v)); });
    check(nn::Softplus(2), [](double v) { return std::log(1 + std::exp(2 * v)) / 2; });
    check(nn::Tanh(), [](double v) { return std::tanh(v); });
    check(nn::Sigmoid(), [](double v) { return 1 / (1 + std::exp(-v)); });
    F const single({1.f});
    CHECK(nn::GELU()(single).dtype() == xg::DType::float32);
}

TEST_CASE("kinks and large arguments of activations") {
    D const x({0., 800., -800.}, xg::requires_grad);
    sum(leaky_relu(x, 0.25)).backward();
    CHECK(difference(x.grad(), {0.25, 1., 0.25}) == "");
    x.impl().grad = nullptr;
    sum(elu(x, 0.5)).backward();
    CHECK(difference(x.grad(), {0.5, 1., 0.}) == "");
    D const g = xg::grad(sum(elu(x)), x, {.create_graph = true});
    CHECK(difference(xg::grad(sum(g), x), {1., 0., 0.}) == "");
}

TEST_CASE("softmax and log_softmax: along an axis, without overflow, gradients") {
    D const x({{1., 2., 3.}, {1000., 1000., -1000.}});
    double const s = std::exp(1.) + std::exp(2.) + std::exp(3.);
    CHECK(difference(nn::Softmax(1)(x),
              {{std::exp(1.) / s, std::exp(2.) / s, std::exp(3.) / s}, {0.5, 0.5, 0.}}) == "");
    CHECK(difference(nn::LogSoftmax(-1)(x),
              {{1 - std::log(s), 2 - std::log(s), 3 - std::log(s)},
                  {-std::log(2.), -std::log(2.), -2000 - std::log(2.)}}) == "");
    CHECK(difference(nn::Softmax(0)(D({{1., 2.}, {1., 2.}})), {{0.5, 0.5}, {0.5, 0.5}}) == "");
    D const w({{1., -2., 0.5}, {3., 1., 1.}}), p({{0.3, -1., 2.}, {0., 0.1, 0.2}});
    CHECK(xg::gradcheck([&](D const& a) { return f::softmax(a, 1) * w; }, leaf(p)));
    CHECK(xg::gradgradcheck([&](D const& a) { return f::log_softmax(a, 1) * w; }, leaf(p)));
}

TEST_CASE("dropout keeps the mean, in training only, and its gradient has the same zeros") {
    xg::manual_seed(5);
    nn::Dropout drop(0.25);
    D const x = xg::ones({100, 100}, xg::requires_grad);
    D const y = drop(x);
    std::size_t zeros = 0;
    for (double const v : values(y)) {
        zeros += v == 0;
        CHECK((v == 0 || v == 1 / 0.75));
    }
    CHECK(std::abs(static_cast<double>(zeros) - 2500) < 200);
    sum(y).backward();
    CHECK(difference(x.grad(), y.detach()) == "");
    drop.eval();
    CHECK(drop(x).is_same(x));
    CHECK(difference(f::dropout(D({1., 2.}), 1.), {0., 0.}) == "");
    CHECK_THROWS_WITH_AS(nn::Dropout(1.5),
        "Dropout: the probability must lie between 0 and 1, and is 1.5", xg::Error);
}

TEST_CASE("dropout2d drops whole channels") {
    xg::manual_seed(5);
    D const y = nn::Dropout2d(0.5)(xg::ones({20, 10, 2, 3}));
    double dropped = 0;
    for (int n = 0; n < 20; ++n)
        for (int c = 0; c < 10; ++c) {
            double const first = y(n, c, 0, 0).item();
            dropped += first == 0;
            CHECK((first == 0 || first == 2));
            CHECK(difference(y(n, c), xg::full({2, 3}, first)) == "");
        }
    CHECK(std::abs(dropped - 100) < 30);
    CHECK_THROWS_WITH_AS(nn::Dropout2d()(xg::ones({2, 3})),
        "dropout2d: an input [N, C, H, W] is needed, not one of shape [2, 3]", xg::ShapeError);
}

TEST_CASE("flatten") {
    D const x = xg::zeros({2, 3, 4, 5});
    CHECK(nn::Flatten()(x).shape() == xg::Shape{2, 60});
    CHECK(f::flatten(x, 0).shape() == xg::Shape{120});
    CHECK(f::flatten(x, 1, 2).shape() == xg::Shape{2, 12, 5});
    CHECK_THROWS_AS(f::flatten(x, 2, 1), xg::ShapeError);
}

TEST_CASE("losses as modules") {
    D const x({1., 3.}), t({0., 1.});
    CHECK(nn::MSELoss()(x, t).item() == 2.5);
    CHECK(nn::L1Loss(nn::Reduction::sum)(x, t).item() == 3);
    CHECK(nn::HuberLoss(nn::Reduction::sum)(x, t).item() == 2);
    CHECK(nn::SmoothL1Loss(nn::Reduction::sum, 0.5)(x, t).item() == 2.5);
    D const rows({{0., 0.}});
    CHECK(nn::CrossEntropyLoss<double>()(rows, xg::Tensor<std::int64_t>({1})).item() ==
          doctest::Approx(std::log(2.)));
    CHECK(nn::NLLLoss<double>()(rows - 1., xg::Tensor<std::int64_t>({1})).item() == 1);
    CHECK(nn::BCEWithLogitsLoss<double>(nn::Reduction::sum, D(2.))(D({0.}), D({1.})).item() ==
          doctest::Approx(2 * std::log(2.)));
    CHECK(nn::KLDivLoss<double>(nn::Reduction::sum)(D({{0.}}), D({{1.}})).item() == 0);
    CHECK(nn::CosineEmbeddingLoss<double>()(rows + 1., rows + 2., D({1.})).item() ==
          doctest::Approx(0.));
    CHECK(nn::TripletMarginLoss<double>(2)(rows, rows, rows).item() == 2);
}
