// The tutorial of PyTorch's C++ front end: a generative adversarial network of convolutions
// (DCGAN), tiny.
#include <doctest/doctest.h>

#include <xgrad/data.hpp>
#include <xgrad/nn.hpp>
#include <xgrad/optim.hpp>
#include <xgrad/xgrad.hpp>

namespace xg = xgrad;
namespace nn = xg::nn;
namespace F = nn::functional;
using T = xg::Tensor<float>;

namespace {

constexpr std::size_t noise_size = 4;

struct Generator : nn::Module<Generator> {
    nn::Child<nn::ConvTranspose2d<float>> conv1{*this, "conv1", noise_size, 8, 4, {.bias = false}};
    nn::Child<nn::BatchNorm2d<float>> batch_norm1{*this, "batch_norm1", 8};
    nn::Child<nn::ConvTranspose2d<float>> conv2{
        *this, "conv2", 8, 1, 4, {.stride = 2, .padding = 1, .bias = false}};

    T forward(T const& noise) {
        T const x = relu(batch_norm1(conv1(noise)));
        return tanh(conv2(x));
    }
};

nn::Sequential<float> make_discriminator() {
    return nn::Sequential<float>(
        nn::Conv2d<float>(1, 8, 4, {.stride = 2, .padding = 1, .bias = false}),
        nn::LeakyReLU({.negative_slope = 0.2}), nn::Conv2d<float>(8, 1, 4, {.bias = false}),
        nn::Sigmoid());
}

/// Images with a bright square in the middle, and noise.
T images(std::size_t count) {
    T x = 0.1f * xg::randn<float>(count, 1, 8, 8) - 0.8f;
    x(xg::all, xg::all, xg::range(2, 6), xg::range(2, 6)) += 1.6f;
    return x;
}

} // namespace

TEST_CASE("DCGAN") {
    xg::manual_seed(11);
    Generator generator;
    auto discriminator = make_discriminator();
    CHECK(generator(xg::randn<float>(2, noise_size, 1, 1)).shape() == xg::Shape{2, 1, 8, 8});
    CHECK(discriminator(images(2)).shape() == xg::Shape{2, 1, 1, 1});

    xg::data::DataLoader loader(
        xg::data::TensorDataset(images(64)), {.batch_size = 16, .shuffle = true});
    xg::optim::Adam generator_optimizer(generator.parameters(), {.lr = 5e-3, .betas = {0.5, 0.9}});
    xg::optim::Adam discriminator_optimizer(
        discriminator.parameters(), {.lr = 5e-3, .betas = {0.5, 0.9}});
    auto const difference = [&] {
        xg::NoGradGuard const off;
        T const fakes = generator(xg::randn<float>(64, noise_size, 1, 1));
        return mean(abs(mean(fakes, 0) - mean(images(64), 0))).item();
    };
    float const before = difference();
    for (int epoch = 1; epoch <= 25; ++epoch)
        for (auto const& [batch] : loader) {
            auto const n = batch.size(0);
            // the discriminator, with real images and with fake ones
            discriminator.zero_grad();
            T const real_output = discriminator(batch).flatten();
            T const d_loss_real =
                F::binary_cross_entropy(real_output, T(0.8f + 0.2f * xg::rand<float>({n})));
            d_loss_real.backward();
            T const noise = xg::randn<float>(n, noise_size, 1, 1), fakes = generator(noise);
            T const fake_output = discriminator(fakes.detach()).flatten();
            T const d_loss_fake = F::binary_cross_entropy(fake_output, xg::zeros<float>(n));
            d_loss_fake.backward();
            discriminator_optimizer.step();

            // the generator, which wants its images to count as real
            generator.zero_grad();
            T const output = discriminator(fakes).flatten();
            T const g_loss = F::binary_cross_entropy(output, xg::ones<float>(n));
            g_loss.backward();
            generator_optimizer.step();
            CHECK(std::isfinite((d_loss_real + d_loss_fake + g_loss).item()));
        }
    CHECK(difference() < 0.4f * before);
}
