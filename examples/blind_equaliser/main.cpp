// A receiver undoes the echoes of a channel that it does not know, from symbols that it does not
// know either: QPSK symbols all have modulus 1, and the filter whose output has a constant modulus
// inverts the channel. Gradient descent on the constant modulus cost: Godard, "Self-recovering
// equalization and carrier tracking", 1980; Treichler and Agee, "A new approach to multipath
// correction of constant modulus signals", 1983.
// ctest: --iterations 1500

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <xgrad/xgrad.hpp>

#include <options.hpp>
#include <svg.hpp>

namespace xg = xgrad;
using Complex = xg::Tensor<std::complex<double>>;
using Taps = std::vector<std::complex<double>>;

struct Settings {
    std::size_t symbols = 4000, taps = 33, iterations = 3000;
    double interference = -45;
    std::uint64_t seed = 1;
    std::string output = "blind_equaliser_output";

    Settings(int argc, char** argv) {
        examples::Options options(
            "Equalises a channel blindly, from the constant modulus of QPSK symbols.");
        options.number("symbols", symbols, "symbols that are received", 100, 10000000);
        options.number("taps", taps, "taps of the equaliser", 1, 1000);
        options.number("iterations", iterations, "steps of gradient descent at most", 1);
        options.number(
            "interference", interference, "residual intersymbol interference to reach, in dB");
        options.number("seed", seed, "of the symbols");
        options.text("output", output, "directory for the charts");
        options.parse(argc, argv);
    }
};

/// A direct path and three echoes.
Taps const channel{{0.12, -0.08}, {1, 0}, {0.35, 0.25}, {-0.15, 0.1}};

Taps convolve(Taps const& a, Taps const& b) {
    Taps c(a.size() + b.size() - 1);
    for (std::size_t i = 0; i < a.size(); ++i)
        for (std::size_t j = 0; j < b.size(); ++j) c[i + j] += a[i] * b[j];
    return c;
}

/// The energy of all taps but the largest against that of the largest, in dB.
double interference(Taps const& response) {
    double total = 0, largest = 0;
    for (auto const& tap : response) {
        total += std::norm(tap);
        largest = std::max(largest, std::norm(tap));
    }
    return 10 * std::log10((total - largest) / largest);
}

Taps qpsk_symbols(std::size_t count, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    Taps symbols(count);
    for (auto& s : symbols)
        s = std::complex<double>(random() % 2 ? 1 : -1, random() % 2 ? 1 : -1) / std::sqrt(2.);
    return symbols;
}

/// What stands in the equaliser's delay line at each symbol, one row a symbol.
Complex delay_lines(Taps const& received, std::size_t taps) {
    std::size_t const rows = received.size() - taps + 1;
    auto lines = xt::xarray<std::complex<double>>::from_shape({rows, taps});
    for (std::size_t t = 0; t < rows; ++t)
        for (std::size_t k = 0; k < taps; ++k) lines(t, k) = received[t + taps - 1 - k];
    return Complex(lines);
}

examples::Series constellation(std::string name, Complex const& symbols) {
    examples::Series points{std::move(name), {}, true};
    for (std::size_t i = 0; i < std::min<std::size_t>(symbols.numel(), 1000); ++i)
        points.points.push_back({symbols.data()[i].real(), symbols.data()[i].imag()});
    return points;
}

int equalise(Settings const& settings) {
    if (settings.symbols < 2 * settings.taps)
        throw examples::UsageError("--symbols must be at least twice --taps");
    auto const received = convolve(qpsk_symbols(settings.symbols, settings.seed), channel);
    auto const lines = delay_lines(received, settings.taps);

    auto w = xg::zeros<std::complex<double>>({settings.taps});
    w(settings.taps / 2) = 1; // lets everything through: a blind start
    w.requires_grad_();
    auto const response = [&] { return convolve(channel, Taps(w.data(), w.data() + w.numel())); };
    Complex const before = Complex(matmul(lines, w)).detach();
    double const at_first = interference(response());

    constexpr double step = 0.05, momentum = 0.9;
    auto velocity = xg::zeros<std::complex<double>>({settings.taps});
    std::size_t iteration = 0;
    examples::Series progress{"residual interference", {{0, at_first}}};
    for (;
         iteration < settings.iterations && !(progress.points.back().y < settings.interference - 1);
         ++iteration) {
        w.zero_grad();
        mean(square(abs2(matmul(lines, w)) - 1)).backward();
        xg::NoGradGuard no_grad;
        velocity = momentum * velocity - step * w.grad();
        w += velocity;
        progress.points.push_back({static_cast<double>(iteration + 1), interference(response())});
    }
    Complex const after = Complex(matmul(lines, w)).detach();
    double const reached = interference(response());
    std::printf("intersymbol interference: %.1f dB before, %.1f dB after %zu steps\n", at_first,
        reached, iteration);

    std::filesystem::path const directory = settings.output;
    std::filesystem::create_directories(directory);
    examples::write_svg(directory / "constellation.svg",
        {"QPSK symbols", "in phase", "quadrature",
            {constellation("received", before), constellation("equalised", after)}, true});
    examples::write_svg(directory / "interference.svg",
        {"Constant modulus algorithm", "step", "residual interference, dB", {progress}});
    std::printf("constellation.svg and interference.svg are in %s\n", settings.output.c_str());
    if (reached < settings.interference) return 0;
    std::fprintf(stderr, "error: %.0f dB were not reached\n", settings.interference);
    return 1;
}

int main(int argc, char** argv) {
    return examples::exit_code([&] { return equalise(Settings(argc, argv)); });
}
