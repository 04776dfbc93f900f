// Options by name, modules as one finetunes them, and what is saved of them.
#include <cstdio>
#include <filesystem>

#include <doctest/doctest.h>

#include <xgrad/data.hpp>
#include <xgrad/nn.hpp>
#include <xgrad/optim.hpp>
#include <xgrad/xgrad.hpp>

namespace xg = xgrad;
namespace nn = xgrad::nn;
namespace F = xgrad::nn::functional;
namespace optim = xgrad::optim;
using D = xg::Tensor<double>;
using A = xt::xarray<double>;

namespace {
bool same(D const& x, A const& expected) {
    return x.shape() == xg::Shape(expected.shape().begin(), expected.shape().end()) &&
           xt::allclose(x.array(), expected);
}

struct Net : nn::Module<Net> {
    nn::Child<nn::Conv2d<double>> conv{*this, "conv", 1, 4, 3, {.stride = 2, .bias = false}};
    nn::Child<nn::GELU> gelu{*this, "gelu", {.approximate = "tanh"}};
    nn::Child<nn::Dropout> dropout{*this, "dropout", {.p = 0.2}};
    nn::Child<nn::Linear<double>> fc{*this, "fc", 4, 2, {.bias = false}};

    D forward(D const& x) { return fc(dropout(gelu(conv(x))).flatten(1)); }
};
} // namespace

TEST_CASE("options of layers") {
    CHECK(to_string(nn::Conv2d<double>(3, 8, 3, {.stride = 2, .bias = false})) ==
          "Conv2d(3, 8, kernel_size=(3, 3), stride=(2, 2), bias=false), 216 parameters");
    CHECK(to_string(nn::Conv2d<double>(3, 8, {3, 5}, {1, 2}, {0, 1})) ==
          "Conv2d(3, 8, kernel_size=(3, 5), stride=(1, 2), padding=(0, 1)), 368 parameters");
    CHECK(to_string(nn::Conv1d<double>(1, 20, 5, 1)) ==
          "Conv1d(1, 20, kernel_size=(5,), stride=(1,)), 120 parameters");
    CHECK(nn::ConvTranspose2d<double>(2, 2, 2, {.bias = false}).parameters().size() == 1);
    CHECK(nn::Linear(3, 4, {.bias = false}).parameters().size() == 1);
    CHECK(nn::Linear(3, 4, false).parameters().size() == 1);
    CHECK(nn::Linear(3, 4, {}).parameters().size() == 2); // braces are always options
    CHECK(nn::LSTM(3, 4, {}).options().num_layers == 1);
    CHECK(nn::LayerNorm(4, {}).eps == 1e-5);
    CHECK_FALSE(nn::Embedding(4, 2, {}).padding_idx.has_value());
    CHECK(nn::Bilinear(3, 4, 5, {.bias = false}).parameters().size() == 1);
    CHECK(nn::Bilinear(3, 4, 5, {}).parameters().size() == 2);
    CHECK(to_string(nn::MaxPool2d(2, 2)) ==
          "MaxPool2d(kernel_size=(2, 2), stride=(2, 2), padding=(0, 0))");
    CHECK(to_string(nn::MaxPool2d({3, 2}, {.stride = {2, 1}})) ==
          "MaxPool2d(kernel_size=(3, 2), stride=(2, 1), padding=(0, 0))");
    CHECK(nn::LayerNorm({2, 3}, {.eps = 1e-3}).eps == 1e-3);
    CHECK(nn::LayerNorm(3, {.elementwise_affine = false}).parameters().empty());
    CHECK(nn::GroupNorm(2, 4, {.affine = false}).parameters().empty());
    CHECK(nn::BatchNorm1d(4, {.momentum = 0.01}).options.momentum == 0.01);
    CHECK(nn::Embedding(4, 2, {.padding_idx = 0}).weight(0, 1).item() == 0);
    CHECK(nn::Dropout({.p = 0.1}).p == 0.1);
    CHECK(nn::LeakyReLU({.negative_slope = 0.2})(D({-1.}))(0).item() == -0.2);
    CHECK(nn::ELU({.alpha = 2}).alpha == 2);
    CHECK(nn::Softmax({.dim = 0})(D({1., 1.}))(0).item() == 0.5);
    CHECK(nn::Flatten({.start_dim = 0})(xg::zeros(2, 3)).dim() == 1);
    CHECK(nn::GELU("tanh")(D({1.}))(0).item() == doctest::Approx(0.8411919906));
    CHECK(F::gelu(D({1.}), "none")(0).item() == doctest::Approx(0.8413447461));
    CHECK_THROWS_WITH_AS(
        nn::GELU("erf"), "approximate: there is no 'erf', only none, tanh", xg::Error);
    CHECK(std::get<0>(nn::RNN(3, 4, {.nonlinearity = "relu"})(xg::zeros(5, 3))).size() == 20);
    CHECK(nn::GRU(3, 4, 2).options().num_layers == 2);
    CHECK(nn::LSTMCell(3, 4, {.bias = false}).parameters().size() == 2);
    CHECK(nn::RNNCell(3, 4, {.nonlinearity = "relu"}).nonlinearity == nn::Nonlinearity::relu);
    CHECK(nn::TransformerEncoderLayer(4, 2, {.dim_feedforward = 8, .activation = "gelu"})
              .activation == nn::TransformerActivation::gelu);
    nn::Linear layer(3, 4);
    nn::init::kaiming_normal_(layer.weight, {.mode = "fan_out", .nonlinearity = "relu"});
    nn::init::xavier_uniform_(layer.weight);
    CHECK(to_string(nn::Identity()) == "Identity()");
    CHECK(same(nn::Identity()(D({1.})), {1}));
}

TEST_CASE("options of losses and functions") {
    D const x({1., 2.}), y({3., 2.});
    CHECK(nn::MSELoss("sum")(x, y).item() == 4);
    CHECK(nn::MSELoss({.reduction = "sum"})(x, y).item() == 4);
    CHECK(nn::MSELoss({.reduction = nn::Reduction::sum})(x, y).item() == 4);
    CHECK(nn::MSELoss(nn::Reduction::sum)(x, y).item() == 4);
    CHECK(nn::MSELoss()(x, y).item() == 2);
    CHECK(F::mse_loss(x, y, "sum").item() == 4);
    CHECK(same(F::mse_loss(x, y, {.reduction = "none"}), {4, 0}));
    CHECK(F::l1_loss(x, y, {.reduction = "sum"}).item() == 2);
    CHECK(nn::HuberLoss({.delta = 0.5})(x, y).item() == doctest::Approx(0.4375));
    CHECK(F::huber_loss(x, y, {.delta = 0.5}).item() == doctest::Approx(0.4375));
    CHECK(nn::SmoothL1Loss({.reduction = "sum", .beta = 2})(x, y).item() == 1);
    CHECK(nn::KLDivLoss("batchmean")(log(D({0.5, 0.5})), D({0.5, 0.5})).item() == 0);
    CHECK(nn::TripletMarginLoss({.margin = 2})(x, x, x).item() == doctest::Approx(2));
    CHECK(nn::CosineEmbeddingLoss({.margin = 0.5})(x, x, D(1.)).item() ==
          doctest::Approx(0).epsilon(1e-9));
    CHECK_THROWS_WITH_AS(nn::MSELoss("avg"),
        "reduction: there is no 'avg', only none, mean, sum, batchmean", xg::Error);
    xg::manual_seed(1);
    CHECK(mean(dropout(xg::ones(10000), {.p = 0.25}) == 0. || false).item() ==
          doctest::Approx(0.25).epsilon(0.05));
    CHECK(same(dropout(x, {.training = false}), {1, 2}));
}

TEST_CASE("options of optimisers and schedules") {
    D const w({1.}, xg::requires_grad);
    optim::Adam adam({w}, {.lr = 1e-3, .betas = {0.9, 0.99}});
    CHECK(adam.options().betas[1] == 0.99);
    CHECK(adam.lr() == 1e-3);
    CHECK_THROWS_AS(optim::Adam({w}, {.betas = {0.9, 1.}}), xg::Error);
    CHECK(optim::Adam({w}, 0.1).lr() == 0.1);
    optim::LBFGS lbfgs({w}, {.line_search_fn = "strong_wolfe"});
    CHECK(lbfgs.options().line_search_fn == optim::LineSearch::strong_wolfe);

    optim::SGD o({w}, {.lr = 1});
    auto const rates = [&](auto& schedule, int steps) {
        std::vector<double> all{o.lr()};
        for (int i = 0; i < steps; ++i) schedule.step(), all.push_back(schedule.get_last_lr()[0]);
        o.lr() = 1;
        return D(all);
    };
    { // of PyTorch 1.13
        optim::MultiStepLR s(o, {.milestones = {2, 2, 5}, .gamma = 0.5});
        CHECK(same(rates(s, 6), {1, 1, 0.25, 0.25, 0.25, 0.125, 0.125}));
    }
    {
        optim::StepLR s(o, {.step_size = 2, .gamma = 0.5});
        CHECK(same(rates(s, 4), {1, 1, 0.5, 0.5, 0.25}));
    }
    {
        optim::ExponentialLR s(o, {.gamma = 0.5});
        CHECK(same(rates(s, 2), {1, 0.5, 0.25}));
    }
    {
        optim::LinearLR warm_up(o, {.start_factor = 0.1, .total_iters = 4});
        optim::ExponentialLR decay(o, 0.5);
        optim::SequentialLR s(o, {warm_up, decay}, {4});
        CHECK(same(rates(s, 7), {0.1, 0.325, 0.55, 0.775, 1, 0.5, 0.25, 0.125}));
    }
    {
        optim::StepLR a(o, 2, 0.5);
        optim::CosineAnnealingLR b(o, {.T_max = 4});
        optim::LambdaLR c(o, [](auto n) { return 0.3 + static_cast<double>(n); });
        optim::SequentialLR s(o, {a, b, c}, {3, 6});
        CHECK(same(rates(s, 8), {1, 1, 0.5, 1, 0.8535533905932737, 0.5, 0.3, 1.3, 2.3}));
        CHECK(c.count() == 2);

        // a schedule that is made anew goes on where another one has ended
        optim::SequentialLR again(o, {a, b, c}, {3, 6});
        again.step(), again.step();
        auto const state = again.state_dict();
        again.step();
        double const next = o.lr();
        again.load_state_dict(state);
        again.step();
        CHECK(o.lr() == next);
        CHECK_THROWS_AS(optim::SequentialLR(o, {a, b}, {}), xg::Error);
        CHECK_THROWS_AS(optim::SequentialLR(o, {a, b, c}, {3, 2}), xg::Error);
    }
    optim::ReduceLROnPlateau plateau(o, {.mode = "max", .factor = 0.5, .patience = 0});
    double const before = o.lr();
    plateau.step(1), plateau.step(0.5);
    CHECK(o.lr() == before / 2);
}

TEST_CASE("finetuning") {
    xg::manual_seed(2);
    Net net;
    CHECK(net.parameters().size() == 2);
    CHECK(net.dropout.p == 0.2);
    net.fc = nn::Linear(4, 3);
    CHECK(net.named_parameters()[1].name == "fc.weight");
    CHECK(net.parameters()[1].shape() == xg::Shape{3, 4});
    CHECK(net(xg::rand(2, 1, 3, 3)).shape() == xg::Shape{2, 3});
    for (auto& p : net.conv.parameters()) p.requires_grad_(false);
    sum(net(xg::rand(2, 1, 3, 3))).backward();
    for (auto& p : net.parameters()) {
        CHECK(p.grad().defined() == p.requires_grad());
        if (p.requires_grad()) CHECK(p.grad().norm() > 0);
        p.zero_grad();
        CHECK_FALSE(p.grad().defined());
    }
    auto bias = net.fc.parameters()[1];
    CHECK_THROWS_AS(bias.copy_(bias), xg::GraphError); // would have to be recorded
    {
        xg::NoGradGuard const off;
        bias.copy_(xg::Tensor<float>({1, 2, 3}));
        CHECK_THROWS_AS(bias.copy_(D({1.})), xg::ShapeError);
        CHECK_THROWS_AS(bias.copy_(xg::Tensor<std::int64_t>({1, 2, 3})), xg::TypeError);
    }
    CHECK(same(net.fc.bias.detach(), {1, 2, 3}));
    CHECK(bias.norm() == doctest::Approx(std::sqrt(14.)));
    {
        xg::NoGradGuard const off;
        xg::AnyTensor expanded = xg::zeros(1).expand({3});
        CHECK_THROWS_AS(expanded.copy_(D({1., 2., 3.})), xg::Error);
    }
    bias.set_grad(D({1., 1., 1.}));
    CHECK(same(net.fc.bias.grad(), {1, 1, 1}));
    CHECK_THROWS_AS(bias.set_grad(xg::Tensor<float>({1, 1, 1})), xg::TypeError);

    auto const path = std::filesystem::temp_directory_path() / "xgrad_options_test.safetensors";
    xg::save(net, path);
    Net other;
    CHECK_THROWS_AS(xg::load(other, path), xg::Error); // fc has another shape
    other.fc = nn::Linear(4, 3);
    xg::load(other, path);
    CHECK(same(other.fc.bias.detach(), {1, 2, 3}));
    auto state = other.state_dict();
    state["fc.bias"] = D({0., 0., 1.});
    other.load_state_dict(state);
    CHECK(same(other.state_dict()["fc.bias"].as<double>(), {0, 0, 1}));
    CHECK_THROWS_AS(state["fc.bia"], xg::IndexError);
    optim::SGD o(other.parameters(), {.lr = 0.1, .momentum = 0.9});
    xg::save(o, path);
    o.lr() = 7;
    xg::load(o, path);
    CHECK(o.lr() == 0.1);
    std::filesystem::remove(path);
}

TEST_CASE("containers of modules") {
    nn::Sequential<double> net(nn::Linear<double>(3, 4), nn::ReLU());
    net.append(nn::Linear<double>(4, 2)).append(nn::Tanh());
    CHECK(net.size() == 4);
    CHECK(net.at<nn::Linear<double>>(2).weight.shape() == xg::Shape{2, 4});
    CHECK_THROWS_WITH_AS(net.at<nn::Linear<double>>(1),
        "Sequential: module 1 is a ReLU, not a Linear", xg::TypeError);
    CHECK_THROWS_AS(net.at<nn::ReLU>(4), xg::IndexError);

    nn::ModuleDict<nn::Linear<double>> heads;
    heads.insert("digits", nn::Linear(4, 10));
    heads.insert("letters", nn::Linear(4, 26));
    CHECK(heads["letters"](xg::zeros(1, 4)).shape() == xg::Shape{1, 26});
    CHECK(heads.contains("digits"));
    CHECK(heads.keys() == std::vector<std::string>{"digits", "letters"});
    CHECK(heads.named_parameters()[0].name == "digits.weight");
    CHECK_THROWS_AS(heads["words"], xg::IndexError);
    CHECK_THROWS_AS(heads.insert("digits", nn::Linear(4, 1)), xg::Error);
    auto copy = heads.clone();
    {
        xg::NoGradGuard const off;
        nn::init::zeros_(copy["digits"].weight.handle_of());
    }
    CHECK(heads["digits"].parameters()[0].norm() > 0);
    CHECK(copy["digits"].parameters()[0].norm() == 0);

    nn::ParameterList<double> weights({D({1., 2.}), D({3.})});
    weights.append(D(4.));
    CHECK(weights.size() == 3);
    D total = xg::zeros(1);
    for (auto const& w : weights) total = total + sum(w * w);
    total.backward(D({1.}));
    CHECK(same(weights[0].grad(), {2, 4}));
    CHECK(weights.named_parameters()[2].name == "2");
    CHECK_THROWS_AS(weights[3], xg::IndexError);

    nn::ModuleList<nn::Linear<double>> layers;
    layers.append(nn::Linear(2, 2)).append(nn::Linear(2, 1));
    CHECK(layers[1].weight.shape() == xg::Shape{1, 2});
    CHECK(layers.parameters().size() == 4);
}
