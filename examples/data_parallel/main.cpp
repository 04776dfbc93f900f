// Several processes learn to read handwritten digits together: mpirun -n 2 data_parallel. Each
// takes its part of every batch, and DistributedDataParallel averages their gradients. Rank 0 then
// trains once more alone, with the same batches from the same start: the curves of both losses lie
// on each other.
// ctest: --epochs 3 --accuracy 85

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <xgrad/data.hpp>
#include <xgrad/distributed.hpp>
#include <xgrad/optim.hpp>

#include <options.hpp>
#include <svg.hpp>

namespace xg = xgrad;
namespace nn = xg::nn;
namespace dist = xg::distributed;
using D = xg::Tensor<double>;
using Labels = xg::Tensor<std::int64_t>;
using Digits = xg::data::TensorDataset<double, std::int64_t>;

struct Settings {
    std::string data =
        (std::filesystem::path(__FILE__).parent_path().parent_path() / "data/digits.csv").string();
    std::string output = "data_parallel_output";
    std::size_t epochs = 10, batch = 64;
    std::uint64_t seed = 1;
    double rate = 0.1, accuracy = 97;

    Settings(int argc, char** argv) {
        examples::Options options("Trains a convolutional network by several processes.");
        options.text("data", data, "CSV table of 64 pixels and a digit in each line");
        options.text("output", output, "directory for the chart and the weights");
        options.number("epochs", epochs, "times that each digit is shown", 1, 10000);
        options.number("batch", batch, "digits in a step, of all processes together", 2, 1000);
        options.number("seed", seed, "of the parts, the order and the start");
        options.number("rate", rate, "length of a step", 0);
        options.number(
            "accuracy", accuracy, "per cent of the test digits that must be read right", 0, 100);
        options.parse(argc, argv);
    }
};

/// Its batch norms take the moments of the batches of all ranks together.
struct Net : nn::Module<Net> {
    nn::Child<nn::Conv2d<double>> first, second;
    nn::Child<dist::SyncBatchNorm<double>> first_norm, second_norm;
    nn::Child<nn::MaxPool2d> pool{*this, "pool", 2};
    nn::Child<nn::Linear<double>> last{*this, "last", 16 * 2 * 2, 10};

    explicit Net(dist::ProcessGroup const& group)
        : first(*this, "first", 1, 8, 3, {.padding = 1, .bias = false}),
          second(*this, "second", 8, 16, 3, {.padding = 1, .bias = false}),
          first_norm(*this, "first_norm", 8, group), second_norm(*this, "second_norm", 16, group) {}
    D forward(D const& images) {
        D const a = relu(first_norm(first(images)));
        D const b = relu(second_norm(second(pool(a))));
        return last(nn::functional::flatten(pool(b)));
    }
};

Digits read_digits(std::string const& path) {
    D const table = xg::data::read_csv<double>(path, {.header = false}).values;
    if (table.shape(1) != 65) throw std::runtime_error(path + ": a digit is 64 pixels and a label");
    auto const n = static_cast<std::ptrdiff_t>(table.shape(0));
    D const images = reshape(table(xt::all(), xg::slice(0, 64)) / 16., {n, 1, 8, 8});
    return Digits(images, Labels(cast<std::int64_t>(table(xt::all(), 64))));
}

/// The loss of each step, averaged over the ranks of a group, which all call this.
template <class Dataset>
std::vector<double> train(dist::ProcessGroup const& group, Dataset const& digits,
    Settings const& settings, dist::DistributedDataParallel<Net>& net, std::string const& label,
    bool shows_progress) {
    auto const ranks = static_cast<std::size_t>(group.size());
    if (settings.batch % ranks != 0)
        throw std::runtime_error(
            "the batch cannot be divided among " + std::to_string(ranks) + " processes");
    auto const sampler = std::make_shared<dist::DistributedSampler>(
        digits.size(), group, dist::SamplerOptions{.seed = settings.seed, .drop_last = true});
    xg::data::DataLoader loader(
        digits, {.batch_size = settings.batch / ranks, .drop_last = true, .sampler = sampler});
    xg::optim::SGD optimizer(net.parameters(), {.lr = settings.rate, .momentum = 0.9});
    std::optional<xg::data::ProgressBar> bar;
    if (shows_progress)
        bar.emplace(loader.size() * settings.epochs, xg::data::ProgressOptions{.label = label});
    std::vector<double> losses;
    for (std::size_t epoch = 0; epoch < settings.epochs; ++epoch) {
        sampler->set_epoch(epoch);
        for (auto const& [images, labels] : loader) {
            optimizer.zero_grad();
            D const loss = nn::functional::cross_entropy(net(images), labels);
            loss.backward();
            optimizer.step();
            D const total = loss.detach().clone();
            group.allreduce(total);
            losses.push_back(total.item() / group.size());
            if (bar) bar->update(1, losses.back());
        }
    }
    return losses;
}

template <class Dataset> double accuracy(Net& net, Dataset const& digits) {
    xg::NoGradGuard const off;
    net.eval();
    double right = 0;
    for (auto const& [images, labels] : xg::data::DataLoader(digits, {.batch_size = 150}))
        right += sum(where(argmax(net(images), 1) == labels, 1., 0.)).item();
    return 100 * right / static_cast<double>(digits.size());
}

int run(Settings const& settings) {
    dist::ProcessGroup const group;
    bool const is_first = group.rank() == 0;
    xg::manual_seed(settings.seed);
    Digits const digits = read_digits(settings.data);
    std::size_t const tests = digits.size() / 4;
    auto const parts =
        xg::data::random_split(digits, {digits.size() - tests, tests}); // alike on all ranks

    dist::DistributedDataParallel net(Net(group), group);
    dist::ProcessGroup const alone(MPI_COMM_SELF);
    dist::DistributedDataParallel single(Net(alone), alone);
    single.load_state_dict(net.state_dict());

    auto const begin = std::chrono::steady_clock::now();
    auto seconds = [&, since = begin]() mutable {
        auto const now = std::chrono::steady_clock::now();
        return std::chrono::duration<double>(now - std::exchange(since, now)).count();
    };
    auto const together = train(
        group, parts[0], settings, net, std::to_string(group.size()) + " processes", is_first);
    double const time_together = seconds();
    int result = 0;
    // the others wait until rank 0 has trained alone
    group.run_on(0, [&] {
        auto const reference = train(alone, parts[0], settings, single, "one process", true);
        double const time_alone = seconds();
        std::filesystem::path const directory = settings.output;
        std::filesystem::create_directories(directory);
        xg::data::save_safetensors(directory / "weights.safetensors", net.module.state_dict());
        examples::Chart chart{"Digits", "step", "loss", {{"together", {}}, {"alone", {}}}};
        double apart = 0;
        for (std::size_t i = 0; i < together.size(); ++i) {
            chart.series[0].points.push_back({static_cast<double>(i), together[i]});
            chart.series[1].points.push_back({static_cast<double>(i), reference[i]});
            apart = std::max(apart, std::abs(together[i] - reference[i]));
        }
        write_svg(directory / "loss.svg", chart);
        double const percent = accuracy(net.module, parts[1]);
        std::printf("%d processes: %.1f s, %.2f %% of the test digits right; one process: %.1f s\n",
            group.size(), time_together, percent, time_alone);
        std::printf("largest difference of their losses: %.1e\n", apart);
        if (percent < settings.accuracy) {
            std::cerr << "error: the accuracy of " << settings.accuracy << " % was not reached\n";
            result = 1;
        }
        if (!(apart < 1e-6)) {
            std::cerr << "error: the losses are not the same\n";
            result = 1;
        }
    });
    return result;
}

int main(int argc, char** argv) {
    dist::Environment const mpi;
    return examples::exit_code([&] { return run(Settings(argc, argv)); });
}
