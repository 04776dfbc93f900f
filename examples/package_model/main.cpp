// Trains a small convolutional network on handwritten digits and writes it into a package: its body
// is interned, the module before it is external, and its log is mocked. The program package_use,
// which has none of these types but the external one, uses the package.
// ctest: --epochs 2 --accuracy 85

#include <cstdint>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>

#include <xgrad/data.hpp>
#include <xgrad/optim.hpp>
#include <xgrad/package.hpp>

#include <options.hpp>

namespace xg = xgrad;
namespace nn = xg::nn;
namespace package = xg::package;
using F = xg::Tensor<float>;
using Labels = xg::Tensor<std::int64_t>;

struct Settings {
    std::string data =
        (std::filesystem::path(__FILE__).parent_path().parent_path() / "data/digits.csv").string();
    std::string output = "digits.package";
    std::size_t epochs = 5;
    std::uint64_t seed = 1;
    double accuracy = 95;

    Settings(int argc, char** argv) {
        examples::Options options(
            "Trains a small network on handwritten digits and writes it as a package.");
        options.text("data", data, "CSV table of 64 pixels and a digit in each line");
        options.text("output", output, "the package to write");
        options.number("epochs", epochs, "times that each digit is shown", 1, 10000);
        options.number("seed", seed, "of the weights and the order");
        options.number(
            "accuracy", accuracy, "per cent of the test digits that must be read right", 0, 100);
        options.parse(argc, argv);
    }
};

/// Pixels from 0 to 16, in rows of 64, become images from 0 to 1.
struct Scale : nn::Module<Scale> {
    F forward(F const& pixels) const { return reshape(pixels / 16.f, {-1, 1, 8, 8}); }
};
struct ConsoleLog : nn::Module<ConsoleLog> {
    void forward(std::string const& line) const { std::cout << line << '\n'; }
};

struct ConvNet : nn::Module<ConvNet> {
    std::size_t channels;
    nn::Child<nn::Slot<F(F const&)>> before{*this, "before", Scale()};
    nn::Child<nn::Sequential<float>> body;
    nn::Child<nn::Slot<void(std::string const&)>> log{*this, "log", ConsoleLog()};

    explicit ConvNet(std::size_t n)
        : channels(n),
          body(*this, "body", nn::Conv2d<float>(1, n, 3, {.padding = 1}), nn::BatchNorm2d<float>(n),
              nn::ReLU(), nn::MaxPool2d(2), nn::Conv2d<float>(n, 2 * n, 3, {.padding = 1}),
              nn::BatchNorm2d<float>(2 * n), nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(),
              nn::Linear<float>(2 * n * 2 * 2, 10)) {}
    F forward(F const& pixels) { return body(before(pixels)); }
};

inline package::Type<Scale, "digits.Scale"> const scale_type;
inline package::Type<ConsoleLog, "digits.ConsoleLog", package::NameOnly> const log_type;
inline package::Type<ConvNet, "digits.ConvNet",
    package::Argument<"channels", &ConvNet::channels>> const net_type;

double accuracy_of(F const& scores, Labels const& labels) {
    return 100 * xg::mean(xg::cast<double>(argmax(scores, 1) == labels)).item();
}

int train_and_pack(Settings const& settings) {
    xg::manual_seed(settings.seed);
    F const table = xg::data::read_csv<float>(settings.data, {.header = false}).values;
    if (table.shape(1) != 65)
        throw std::runtime_error(settings.data + ": a digit is 64 pixels and a label");
    F const pixels = table(xt::all(), xg::slice(0, 64)).clone();
    Labels const labels = xg::cast<std::int64_t>(table(xt::all(), 64));
    auto const parts = xg::data::random_split(
        xg::data::TensorDataset(pixels, labels), {table.shape(0) - 450, 450});

    ConvNet net(8);
    xg::optim::AdamW optimizer(net.parameters(), {.lr = 0.01});
    for (std::size_t epoch = 1; epoch <= settings.epochs; ++epoch) {
        double loss_of_last = 0;
        for (auto const& [images, answers] : xg::data::DataLoader(
                 parts[0], {.batch_size = 32, .shuffle = true, .drop_last = true})) {
            optimizer.zero_grad();
            F const loss = nn::functional::cross_entropy(net(images), answers);
            loss.backward();
            optimizer.step();
            loss_of_last = loss.item();
        }
        net.log("epoch " + std::to_string(epoch) + ", loss " + std::to_string(loss_of_last));
    }

    net.eval();
    xg::NoGradGuard const off;
    package::PackageExporter exporter(settings.output);
    exporter.extern_("digits.Scale", {.allow_empty = false});
    exporter.mock("digits.ConsoleLog", {.allow_empty = false});
    exporter.intern({"digits.**", "xgrad.nn.**"});
    exporter.register_extern_hook([](package::PackageExporter&, std::string const& name) {
        std::cout << "external: " << name << '\n';
    });
    exporter.register_mock_hook([](package::PackageExporter&, std::string const& name) {
        std::cout << "mocked: " << name << '\n';
    });
    double accuracy = 0;
    for (auto const& [images, answers] : xg::data::DataLoader(parts[1], {.batch_size = 450})) {
        F const scores = net(images);
        accuracy = accuracy_of(scores, answers);
        exporter.save_tensors(
            "digits", "test", {{"pixels", images}, {"labels", answers}, {"scores", scores}});
    }
    exporter.save_module("digits", "net", net);
    exporter.save_text("digits", "about.txt", "Handwritten digits of 8 x 8 pixels.\n");
    exporter.close();
    std::cout << exporter.file_structure() << accuracy << " % of the test digits are read right\n";
    if (accuracy >= settings.accuracy) return 0;
    std::cerr << "error: the accuracy of " << settings.accuracy << " % was not reached\n";
    return 1;
}

int main(int argc, char** argv) {
    return examples::exit_code([&] { return train_and_pack(Settings(argc, argv)); });
}
