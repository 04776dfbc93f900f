// Convolutions, and steps of training networks: forward, backward and the optimiser's step.
// bench_torch has the same in libtorch.
#include <benchmark/benchmark.h>
#include <xgrad/nn.hpp>
#include <xgrad/optim.hpp>

#include "cases.hpp"
#include "table.hpp"

extern "C" [[gnu::weak]] void openblas_set_num_threads(int);

namespace xg = xgrad;
namespace nn = xg::nn;
namespace optim = xg::optim;
using F = xg::Tensor<float>;
using Labels = xg::Tensor<std::int64_t>;

namespace {

/// A step of training; what it needs lives as long as the benchmark.
template <class Net, class Optimizer, class LossOf>
bench::Case training(std::string const& name, std::size_t batch, std::shared_ptr<Net> net,
    std::shared_ptr<Optimizer> optimizer, LossOf loss_of) {
    return bench::Case(name, batch).xgrad([=] {
        optimizer->zero_grad();
        F const loss = loss_of(*net);
        loss.backward();
        optimizer->step();
        return loss.item();
    });
}

struct Block : nn::Module<Block> {
    nn::Child<nn::Conv2d<float>> conv;
    nn::Child<nn::BatchNorm2d<float>> norm;
    Block(std::size_t in, std::size_t out)
        : conv(*this, "conv", in, out, 3, {.padding = 1, .bias = false}), norm(*this, "norm", out) {
    }
    F forward(F const& x) { return relu(norm(conv(x))); }
};
struct ConvNet : nn::Module<ConvNet> {
    nn::Child<Block> first{*this, "first", 1, 16}, second{*this, "second", 16, 32},
        third{*this, "third", 32, 32};
    nn::Child<nn::MaxPool2d> pool{*this, "pool", 2};
    nn::Child<nn::Dropout> dropout{*this, "dropout", 0.3};
    nn::Child<nn::Linear<float>> last{*this, "last", 128, 10};
    F forward(F const& x) {
        return last(dropout(nn::functional::flatten(pool(third(pool(second(first(x))))))));
    }
};
void convolutional(std::size_t batch) {
    auto const net = std::make_shared<ConvNet>();
    F const images = xg::rand<float>({batch, 1, 8, 8});
    auto labels = Labels::empty({batch});
    for (std::size_t i = 0; i < batch; ++i)
        labels.mutable_data()[i] = static_cast<std::int64_t>((7 * i + 3) % 10);
    training(bench::name::convolutional, batch, net,
        std::make_shared<optim::AdamW>(net->parameters(), optim::AdamWOptions{.lr = 1e-3}),
        [=](ConvNet& n) { return nn::functional::cross_entropy(n(images), labels); })
        .faster_than_libtorch(1);
}

void convolution(bench::name::Name name, std::size_t batch, std::size_t groups) {
    F x = xg::randn<float>({batch, 64, 28, 28}), weight = xg::randn<float>({64, 64 / groups, 3, 3});
    x.requires_grad_();
    weight.requires_grad_();
    bench::Case(name, batch)
        .xgrad([=]() mutable {
            x.zero_grad();
            weight.zero_grad();
            F const loss = sum(
                square(nn::functional::conv2d(x, weight, {}, {.padding = 1, .groups = groups})));
            loss.backward();
            return loss.item();
        })
        .faster_than_libtorch(1);
}

void small_perceptron(std::size_t batch) {
    using Net = nn::Sequential<float>;
    auto const net = std::make_shared<Net>(nn::Linear<float>(2, 16), nn::Tanh(),
        nn::Linear<float>(16, 16), nn::Tanh(), nn::Linear<float>(16, 1));
    F const x = xg::rand<float>({batch, 2}), y = xg::rand<float>({batch, 1});
    training(bench::name::small_perceptron, batch, net,
        std::make_shared<optim::Adam>(net->parameters(), optim::AdamOptions{.lr = 1e-3}),
        [=](Net& n) { return nn::functional::mse_loss(n(x), y); })
        .faster_than_libtorch(2);
}

struct CharacterNet : nn::Module<CharacterNet> {
    nn::Child<nn::LSTM<float>> lstm{*this, "lstm", 64, 128};
    nn::Child<nn::Linear<float>> last{*this, "last", 128, 64};
    F forward(F const& x) { return last(F(reshape(std::get<0>(lstm(x)), {-1, 128}))); }
};
void characters(std::size_t batch) {
    auto const net = std::make_shared<CharacterNet>();
    std::size_t const length = 50;
    F const x = xg::rand<float>({length, batch, 64});
    auto labels = Labels::empty({length * batch});
    for (std::size_t i = 0; i < labels.numel(); ++i)
        labels.mutable_data()[i] = static_cast<std::int64_t>((7 * i + 3) % 64);
    training(bench::name::characters, batch, net,
        std::make_shared<optim::Adam>(net->parameters(), optim::AdamOptions{.lr = 1e-3}),
        [=](CharacterNet& n) { return nn::functional::cross_entropy(n(x), labels); })
        .faster_than_libtorch(1);
}

using Complex = std::complex<double>;
using Z = xg::Tensor<Complex>;

struct Equaliser : nn::Module<Equaliser> {
    nn::Child<nn::Linear<Complex>> first{*this, "first", 9, 12}, last{*this, "last", 12, 1};
    Z forward(Z const& x) {
        Z const z = first(x);
        return last(Z(complex(tanh(real(z)), tanh(imag(z)))));
    }
};
void equaliser(std::size_t batch) {
    auto const net = std::make_shared<Equaliser>();
    Z const x = xg::randn<Complex>({batch, 9}), wanted = xg::randn<Complex>({batch, 1});
    auto const sgd = std::make_shared<optim::SGD>(net->parameters(), optim::SGDOptions{.lr = 1e-3});
    bench::Case(bench::name::equaliser, batch)
        .xgrad([=] {
            sgd->zero_grad();
            xg::Tensor<double> const loss = mean(abs2((*net)(x)-wanted));
            loss.backward();
            sgd->step();
            return loss.item();
        })
        .faster_than_libtorch(2);
}

} // namespace

int main(int argc, char** argv) {
    if (openblas_set_num_threads) openblas_set_num_threads(1); // goals are for one core
    convolution(bench::name::convolution, 8, 1);
    convolution(bench::name::depthwise, 8, 64);
    convolutional(32);
    small_perceptron(32);
    characters(16);
    equaliser(128);
    return bench::run(argc, argv);
}
