// The same cases in libtorch, a program of its own because the macros of the two libraries clash.
// The other benchmarks read its table: bench_torch --json=FILE, then --libtorch=FILE for them.
#include <benchmark/benchmark.h>
#include <torch/torch.h>

#include "cases.hpp"
#include "table.hpp"

namespace {

namespace name = bench::name;
using torch::Tensor;
using torch::indexing::None;
using torch::indexing::Slice;

auto const real = torch::dtype(torch::kFloat64), single = torch::dtype(torch::kFloat32);
auto const complex = torch::dtype(torch::kComplexDouble),
           complex_single = torch::dtype(torch::kComplexFloat);
std::int64_t const mebi = 1 << 20;

/// The value of f(), after gradients for the leaves have been computed afresh.
template <class F> auto differentiated(std::vector<Tensor> leaves, F f) {
    for (auto& leaf : leaves) leaf.requires_grad_();
    return [=]() mutable {
        for (auto& leaf : leaves) leaf.mutable_grad() = Tensor();
        auto const loss = f();
        loss.backward();
        return loss.template item<double>();
    };
}
template <class F>
bench::Case row(std::string const& name, std::int64_t n, std::vector<Tensor> leaves, F f) {
    return bench::Case(name, static_cast<std::size_t>(n))
        .peer("libtorch", differentiated(std::move(leaves), f));
}

void rational(std::string const& name, std::int64_t n, torch::TensorOptions const& type) {
    auto const a = torch::rand({n}, type), b = torch::rand({n}, type);
    row(name, n, {a, b}, [=] { return (a * b + 0.5 * a - b / (a + 2)).sum(); });
}
void sine_exp(std::int64_t n) {
    auto const a = torch::randn({n}, real), b = torch::randn({n}, real);
    row(name::sine_exp, n, {a, b}, [=] { return (torch::sin(a) * b + torch::exp(a)).sum(); });
}
void tanh_log(std::string const& name, std::int64_t n, torch::TensorOptions const& type) {
    auto const a = torch::randn({n}, type), b = torch::randn({n}, type);
    row(name, n, {a, b}, [=] { return (torch::tanh(a * b) + torch::log(1 + a * a)).sum(); });
}
void tanh_log_hvp(std::int64_t n) {
    auto const a = torch::randn({n}, real).requires_grad_(),
               b = torch::randn({n}, real).requires_grad_(), u = torch::randn({n}, real),
               v = torch::randn({n}, real);
    bench::Case(name::tanh_log_hvp, static_cast<std::size_t>(n)).peer("libtorch", [=] {
        auto const g = torch::autograd::grad(
            {(torch::tanh(a * b) + torch::log(1 + a * a)).sum()}, {a, b}, {}, c10::nullopt, true);
        return torch::autograd::grad({(g[0] * u + g[1] * v).sum()}, {a, b});
    });
}

void broadcast(std::int64_t m, std::int64_t n) {
    auto const a = torch::rand({m, n}, real), b = torch::rand({m, n}, real),
               small_row = torch::rand({n}, real), column = torch::rand({m, 1}, real);
    row(name::sum_same, m * n, {a, b}, [=] { return (a + b).square().sum(); });
    row(name::sum_row, m * n, {a, small_row}, [=] { return (a + small_row).square().sum(); });
    row(name::product_same, m * n, {a, b}, [=] { return (a * b).square().sum(); });
    row(name::product_column, m * n, {a, column}, [=] { return (a * column).square().sum(); });
}
void bias(std::int64_t m, std::int64_t n) {
    auto const x = torch::rand({m, n}, real).requires_grad_(),
               b = torch::rand({n}, real).requires_grad_(), g = torch::rand({m, n}, real);
    bench::Case(name::bias, static_cast<std::size_t>(m * n)).peer("libtorch", [=] {
        x.mutable_grad() = b.mutable_grad() = Tensor();
        auto const y = x + b;
        y.backward(g);
        return y;
    });
}

void reductions() {
    auto const x = torch::randn({1024}, real), factors = 0.5 + torch::rand({1024}, real),
               matrix = torch::rand({300, 200}, real);
    row(name::logsumexp, 1024, {x}, [=] { return x.logsumexp(0); });
    row(name::prod, 1024, {factors}, [=] { return factors.prod(); });
    row(name::column_sums, 60000, {matrix}, [=] { return matrix.sum(0).square().sum(); });
    row(name::row_sums, 60000, {matrix}, [=] { return matrix.sum(1).square().sum(); });
    row(name::row_maxima, 60000, {matrix}, [=] { return matrix.amax(1).square().sum(); });
    for (auto const& [m, n] : {std::pair{400, 320}, std::pair{64, 64}}) {
        auto const left = torch::rand({m, n}, real), right = torch::rand({n, m}, real);
        row(name::transposed, m * n, {left, right},
            [=] { return (left.t() + right).square().sum(); });
    }
    auto const a = torch::rand({65536}, real), b = torch::rand({65536}, real);
    row(name::choice, 65536, {a, b}, [=] { return torch::where(a > b, a * b, a - b).sum(); });
}

/// abs().square() is what one writes, view_as_real() what one writes after measuring; the faster
/// one counts.
Tensor natural(Tensor const& z) { return z.abs().square().sum(); }
Tensor measured(Tensor const& z) { return torch::view_as_real(z).square().sum(); }

template <class F>
void complex_row(std::string const& name, std::int64_t n, std::vector<Tensor> const& leaves, F f) {
    row(name, n, leaves, [=] {
        return natural(f());
    }).peer("libtorch", differentiated(leaves, [=] { return measured(f()); }));
}
void phase(std::string const& name, std::int64_t n, torch::TensorOptions const& of_phase,
    torch::TensorOptions const& of_z) {
    auto const phi = torch::randn({n}, of_phase), z = torch::randn({n}, of_z),
               t = torch::randn({n}, of_z);
    complex_row(name, n, {phi, z},
        [=] { return torch::exp(phi * c10::Scalar(c10::complex<double>(0, 1))) * z - t; });
}
void complex_tanh(std::int64_t n) {
    auto const z = torch::randn({n}, complex), w = torch::randn({n}, complex),
               t = torch::randn({n}, complex);
    complex_row(name::complex_tanh, n, {z, w}, [=] { return torch::tanh(z * w) - t; });
}
void complex_misfit(std::int64_t n) {
    auto const a = torch::randn({n, n}, complex), z = torch::randn({n}, complex),
               b = torch::randn({n}, complex);
    complex_row(name::complex_misfit, n, {z}, [=] { return torch::matmul(a, z) - b; });
}

void product(std::string const& name, std::int64_t n, torch::TensorOptions const& type) {
    auto const a = torch::randn({n, n}, type), b = torch::randn({n, n}, type);
    auto const f = [=] { return torch::matmul(a, b); };
    if (a.is_complex()) complex_row(name, n, {a, b}, f);
    else row(name, n, {a, b}, [=] { return f().square().sum(); });
}
void perceptron() {
    auto const x = torch::rand({64, 784}, real), w1 = 0.05 * torch::randn({784, 128}, real),
               b1 = 0.1 * torch::randn({128}, real);
    auto const w2 = 0.1 * torch::randn({128, 10}, real), b2 = 0.1 * torch::randn({10}, real),
               labels = torch::randint(10, {64}, torch::kInt64);
    row(name::perceptron, 64, {w1, b1, w2, b2}, [=] {
        return torch::nn::functional::cross_entropy(
            torch::addmm(b2, torch::addmm(b1, x, w1).relu(), w2), labels);
    });
}

void statistics() {
    double const constant = 0.5 * std::log(2 * 3.141592653589793);
    auto const x = torch::randn({1024}, real), mu = torch::tensor(0.3, real),
               sigma = torch::tensor(1.7, real);
    row(name::normal, 1024, {mu, sigma},
        [=] { return (-0.5 * ((x - mu) / sigma).square() - sigma.log() - constant).sum(); });
    row(name::normal_hoisted, 1024, {mu, sigma},
        [=] { return -0.5 * ((x - mu) / sigma).square().sum() - 1024 * (sigma.log() + constant); });

    auto const inputs = torch::randn({1000, 150}, real), y = torch::randn({1000}, real),
               w = torch::randn({150}, real), s = torch::tensor(0.2, real);
    row(name::regression, 150000, {w, s}, [=] {
        return -0.5 * torch::exp(-2 * s) * (y - torch::matmul(inputs, w)).square().sum() -
               1000 * s - 0.5 * w.square().sum();
    });

    auto const point = torch::randn({1000}, real);
    row(name::rosenbrock, 1000, {point}, [=] {
        auto const here = point.index({Slice(None, -1)}), next = point.index({Slice(1)});
        return (100 * (next - here.square()).square() + (1 - here).square()).sum();
    });
}

void recurrence(int steps) {
    auto const start = torch::tensor(0.7, real), p = torch::tensor(1.3, real);
    auto const chain = [=] {
        auto x = start;
        for (int i = 0; i < steps; ++i) x = x + 1e-3 * torch::sin(x) * p;
        return x;
    };
    row(name::recurrence, steps, {start, p}, chain).per_step(static_cast<std::size_t>(steps));
}

void rows(std::int64_t steps, std::int64_t n) {
    auto const s = torch::randn({steps, n}, real);
    auto const chain = [=] {
        auto h = torch::zeros({n}, torch::kFloat64);
        for (std::int64_t t = 0; t < steps; ++t) h = torch::tanh(h + s[t]);
        return h.sum();
    };
    row(name::rows, steps, {s}, chain).per_step(static_cast<std::size_t>(steps));
}

/// A step of training, as benchmarks/networks.cpp has it.
template <class Forward>
void training(std::string const& name, std::int64_t batch,
    std::shared_ptr<torch::optim::Optimizer> optimizer, Forward loss_of) {
    bench::Case(name, static_cast<std::size_t>(batch)).peer("libtorch", [=]() mutable {
        optimizer->zero_grad();
        auto const loss = loss_of();
        loss.backward();
        optimizer->step();
        return loss.template item<double>();
    });
}
void convolution(name::Name name, std::int64_t batch, std::int64_t groups) {
    auto const x = torch::randn({batch, 64, 28, 28}, single),
               weight = torch::randn({64, 64 / groups, 3, 3}, single);
    auto const options = torch::nn::functional::Conv2dFuncOptions().padding(1).groups(groups);
    row(name, batch, {x, weight},
        [=] { return torch::nn::functional::conv2d(x, weight, options).square().sum(); });
}
void convolutional(std::int64_t batch) {
    namespace nn = torch::nn;
    nn::Sequential net;
    auto const add_block = [&](std::int64_t in, std::int64_t out) {
        net->push_back(nn::Conv2d(nn::Conv2dOptions(in, out, 3).padding(1).bias(false)));
        net->push_back(nn::BatchNorm2d(out));
        net->push_back(nn::ReLU());
    };
    add_block(1, 16);
    add_block(16, 32);
    net->push_back(nn::MaxPool2d(2));
    add_block(32, 32);
    net->push_back(nn::MaxPool2d(2));
    net->push_back(nn::Flatten());
    net->push_back(nn::Dropout(0.3));
    net->push_back(nn::Linear(128, 10));
    auto const images = torch::rand({batch, 1, 8, 8}, single),
               labels = torch::randint(10, {batch}, torch::kInt64);
    training(name::convolutional, batch,
        std::make_shared<torch::optim::AdamW>(net->parameters(), torch::optim::AdamWOptions(1e-3)),
        [=]() mutable {
            return torch::nn::functional::cross_entropy(net->forward(images), labels);
        });
}
void small_perceptron(std::int64_t batch) {
    namespace nn = torch::nn;
    nn::Sequential net(
        nn::Linear(2, 16), nn::Tanh(), nn::Linear(16, 16), nn::Tanh(), nn::Linear(16, 1));
    auto const x = torch::rand({batch, 2}, single), y = torch::rand({batch, 1}, single);
    training(name::small_perceptron, batch,
        std::make_shared<torch::optim::Adam>(net->parameters(), torch::optim::AdamOptions(1e-3)),
        [=]() mutable { return torch::nn::functional::mse_loss(net->forward(x), y); });
}
void characters(std::int64_t batch) {
    namespace nn = torch::nn;
    nn::LSTM lstm(64, 128);
    nn::Linear last(128, 64);
    auto parameters = lstm->parameters();
    for (auto const& p : last->parameters()) parameters.push_back(p);
    auto const x = torch::rand({50, batch, 64}, single),
               labels = torch::randint(64, {50 * batch}, torch::kInt64);
    training(name::characters, batch,
        std::make_shared<torch::optim::Adam>(parameters, torch::optim::AdamOptions(1e-3)),
        [=]() mutable {
            return nn::functional::cross_entropy(
                last->forward(std::get<0>(lstm->forward(x)).reshape({-1, 128})), labels);
        });
}
void equaliser(std::int64_t batch) {
    auto const leaf = [](torch::IntArrayRef shape) {
        return (0.3 * torch::randn(shape, complex)).requires_grad_();
    };
    auto const w1 = leaf({12, 9}), b1 = leaf({12}), w2 = leaf({1, 12}), b2 = leaf({1});
    auto const x = torch::randn({batch, 9}, complex), wanted = torch::randn({batch, 1}, complex);
    training(name::equaliser, batch,
        std::make_shared<torch::optim::SGD>(
            std::vector<Tensor>{w1, b1, w2, b2}, torch::optim::SGDOptions(1e-3)),
        [=] {
            auto const z = torch::addmm(b1, x, w1.t());
            auto const y = torch::addmm(b2,
                torch::complex(torch::tanh(torch::real(z)), torch::tanh(torch::imag(z))), w2.t());
            return torch::view_as_real(y - wanted).square().sum() / static_cast<double>(batch);
        });
}

} // namespace

int main(int argc, char** argv) {
    torch::set_num_threads(1);
    for (std::int64_t const n :
        {std::int64_t{4}, std::int64_t{1024}, std::int64_t{65536}, 4 * mebi})
        rational(name::rational, n, real);
    rational(name::in_float(name::rational), 65536, single);
    for (std::int64_t const n : {std::int64_t{1024}, 4 * mebi}) sine_exp(n);
    for (std::int64_t const n : {std::int64_t{1024}, std::int64_t{65536}, 4 * mebi})
        tanh_log(name::tanh_log, n, real);
    tanh_log(name::in_float(name::tanh_log), 65536, single);
    tanh_log_hvp(1024);
    for (std::int64_t const n : {64, 1024}) broadcast(n, n);
    bias(2000, 60);
    reductions();
    for (std::int64_t const n : {std::int64_t{1024}, std::int64_t{65536}, 4 * mebi})
        phase(name::phase, n, real, complex);
    phase(name::in_float(name::phase), 65536, single, complex_single);
    complex_tanh(1024);
    complex_misfit(256);
    for (std::int64_t const n : {8, 64, 512}) product(name::product, n, real);
    product(name::in_float(name::product), 512, single);
    product(name::complex_product, 256, complex);
    product(name::in_float(name::complex_product), 256, complex_single);
    perceptron();
    statistics();
    recurrence(1000);
    rows(1000, 100);
    convolution(name::convolution, 8, 1);
    convolution(name::depthwise, 8, 64);
    convolutional(32);
    small_perceptron(32);
    characters(16);
    equaliser(128);
    return bench::run(argc, argv);
}
