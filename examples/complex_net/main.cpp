// Networks of complex numbers at two tasks of theirs.
//
// Exclusive or by one neuron: z = w1 x1 + w2 x2 + b, y = tanh(Re z) tanh(Im z). A real neuron
// divides the plane by one line, which cannot do it; the two lines Re z = 0 and Im z = 0 of a
// complex one can (Nitta, "Solving the XOR problem and the detection of symmetry using a single
// complex-valued neuron", 2003). Each of many starts at random must succeed.
//
// Equalisation: QPSK symbols pass a channel with echoes and an amplifier that turns and compresses
// what is loud, and noise is added. A network with one hidden layer sees some received samples and
// says which symbol was sent. One of complex numbers is compared with one of real numbers that has
// at least as many parameters.
// ctest: --steps 600

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include <xgrad/nn.hpp>
#include <xgrad/optim.hpp>

#include <image.hpp>
#include <options.hpp>

namespace xg = xgrad;
namespace nn = xg::nn;
using D = xg::Tensor<double>;
using Complex = std::complex<double>;
using Z = xg::Tensor<Complex>;

namespace {

struct Settings {
    std::size_t starts = 50, symbols = 4000, window = 9, hidden = 12, steps = 2000, batch = 128;
    double noise = 0.08;
    std::uint64_t seed = 1;
    std::string output = "complex_net_output";

    Settings(int argc, char** argv) {
        examples::Options options("Solves exclusive or with one complex neuron, and equalises a "
                                  "channel with a complex network.");
        options.number(
            "starts", starts, "neurons that learn exclusive or, each from another seed", 1, 100000);
        options.number("symbols", symbols, "symbols to learn from", 100, 10000000);
        options.number("window", window, "received samples that the networks see", 4, 1000);
        options.number("hidden", hidden, "hidden units of the complex network", 1, 10000);
        options.number("steps", steps, "steps of training", 1);
        options.number("batch", batch, "symbols in a step", 1);
        options.number("noise", noise, "standard deviation of the noise", 0);
        options.number("seed", seed, "of the networks, the symbols and the noise");
        options.text("output", output, "directory for the pictures");
        options.parse(argc, argv);
    }
};

/// tanh of the real and of the imaginary part.
template <class X> auto split_tanh(X const& z) { return xg::complex(tanh(real(z)), tanh(imag(z))); }

// Exclusive or

struct Neuron : nn::Module<Neuron> {
    nn::Child<nn::Linear<Complex>> linear{*this, "linear", 2, 1};
    D forward(Z const& x) const {
        Z const z = linear(x);
        return tanh(real(z)) * tanh(imag(z));
    }
};

/// Whether a neuron that begins with this seed learns it: each of the four answers on its side, by
/// more than a half.
bool learn_exclusive_or(Neuron& neuron) {
    Z const x({{-1., -1.}, {-1., 1.}, {1., -1.}, {1., 1.}});
    D const wanted({{-1.}, {1.}, {1.}, {-1.}});
    xg::optim::Adam optimizer(neuron.parameters(), {.lr = 0.1});
    for (int step = 0; step < 300; ++step) {
        optimizer.zero_grad();
        nn::functional::mse_loss(neuron(x), wanted).backward();
        optimizer.step();
    }
    D const y = neuron(x).detach();
    bool learnt = true;
    for (std::size_t i = 0; i < 4; ++i) learnt &= y.data()[i] * wanted.data()[i] > 0.5;
    return learnt;
}

// The channel

struct Transmission {
    std::vector<Complex> received, sent;
};
Transmission transmit(std::size_t count, double noise, std::uint64_t seed) {
    static constexpr std::array<Complex, 4> taps{
        Complex(0.3, -0.2), Complex(1, 0), Complex(0.5, 0.4), Complex(-0.2, 0.15)};
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal(0, noise / std::numbers::sqrt2);
    Transmission t{std::vector<Complex>(count), std::vector<Complex>(count)};
    for (auto& s : t.sent) {
        double const re = random() % 2 ? 1 : -1, im = random() % 2 ? 1 : -1;
        s = Complex(re, im) / std::numbers::sqrt2;
    }
    for (std::size_t i = 0; i < count; ++i) {
        Complex echo = 0;
        for (std::size_t k = 0; k < std::min(taps.size(), i + 1); ++k)
            echo += taps[k] * t.sent[i - k];
        auto const power = std::norm(echo), re = normal(random), im = normal(random);
        t.received[i] = echo * std::polar(1 - 0.08 * power, 0.3 * power) + Complex(re, im);
    }
    return t;
}

/// Windows on what was received, [count, window], and the symbol that each tells most of.
struct Samples {
    Z windows, symbols;
    Samples(Transmission const& t, std::size_t window) {
        std::size_t const count = t.received.size() - window + 1;
        auto seen = xt::xarray<Complex>::from_shape({count, window});
        auto wanted = xt::xarray<Complex>::from_shape({count});
        for (std::size_t i = 0; i < count; ++i) {
            for (std::size_t k = 0; k < window; ++k) seen(i, k) = t.received[i + k];
            wanted(i) =
                t.sent[i + window / 2 - 1]; // whose strongest echo comes one later, in the middle
        }
        windows = Z(seen);
        symbols = Z(wanted);
    }
};

struct ComplexNet : nn::Module<ComplexNet> {
    nn::Child<nn::Linear<Complex>> first, last;
    ComplexNet(std::size_t window, std::size_t hidden)
        : first(*this, "first", window, hidden), last(*this, "last", hidden, 1) {}
    Z forward(Z const& x) const {
        Z const z = first(x);
        return squeeze(last(Z(split_tanh(z))), -1);
    }
};
/// The parts of complex numbers as twice as many real ones.
struct RealNet : nn::Module<RealNet> {
    nn::Child<nn::Linear<double>> first, last;
    RealNet(std::size_t window, std::size_t hidden)
        : first(*this, "first", 2 * window, hidden), last(*this, "last", hidden, 2) {}
    Z forward(Z const& x) const {
        D const parts = cat(std::vector<D>{D(real(x)), D(imag(x))}, -1);
        D const y = last(D(tanh(first(parts))));
        return complex(y(xt::all(), 0), y(xt::all(), 1));
    }
};

std::size_t real_numbers(nn::AnyModule const& m) {
    std::size_t n = 0;
    for (auto const& p : m.parameters())
        n += p.numel() * (p.dtype() == xg::dtype_of<Complex> ? 2 : 1);
    return n;
}

struct Result {
    double error, wrong; // mean square, and the part of symbols that are taken for others
};

template <class Net>
Result learn(Net& net, Samples const& samples, Samples const& unseen, Settings const& settings) {
    xg::optim::Adam optimizer(net.parameters(), {.lr = 0.01});
    std::mt19937_64 random(settings.seed);
    for (std::size_t step = 0; step < settings.steps; ++step) {
        auto const from = static_cast<std::ptrdiff_t>(
                       random() % (samples.windows.shape()[0] - settings.batch + 1)),
                   to = from + static_cast<std::ptrdiff_t>(settings.batch);
        optimizer.zero_grad();
        mean(abs2(net(samples.windows(xg::slice(from, to))) - samples.symbols(xg::slice(from, to))))
            .backward();
        optimizer.step();
    }
    xg::NoGradGuard const off;
    Z const y = net(unseen.windows);
    auto const count = y.numel();
    Result result{};
    for (std::size_t i = 0; i < count; ++i) {
        auto const answer = y.data()[i], symbol = unseen.symbols.data()[i];
        bool const same = answer.real() * symbol.real() > 0 && answer.imag() * symbol.imag() > 0;
        result.error += std::norm(answer - symbol) / static_cast<double>(count);
        result.wrong += same ? 0 : 1 / static_cast<double>(count);
    }
    return result;
}

// Pictures

/// A square of the plane from -extent to extent, each point in the colour of its class, darker
/// where the answer is weaker. The colours are some of Okabe's and Ito's, as in svg.hpp.
template <class Answer>
void draw(std::filesystem::path const& path, double extent, std::vector<Complex> const& marks,
    Answer answer) {
    constexpr std::size_t side = 300;
    constexpr double blue[] = {0, 0.45, 0.7}, sky_blue[] = {0.34, 0.71, 0.91},
                     vermilion[] = {0.84, 0.37, 0}, yellow[] = {0.94, 0.89, 0.26};
    std::vector<Complex> points;
    for (std::size_t row = 0; row < side; ++row)
        for (std::size_t column = 0; column < side; ++column) {
            auto const at = [&](std::size_t i) {
                return extent * (2 * (static_cast<double>(i) + 0.5) / side - 1);
            };
            points.emplace_back(at(column), -at(row));
        }
    std::vector<Complex> const answers = answer(points);
    examples::ColourImage image{side, side};
    for (std::size_t i = 0; i < points.size(); ++i) {
        auto const strength = 0.4 + 0.6 * std::min(1., std::abs(answers[i]));
        bool const upper = answers[i].imag() > 0;
        auto const& colour =
            answers[i].real() > 0 ? (upper ? yellow : vermilion) : (upper ? sky_blue : blue);
        bool marked = false;
        for (auto const m : marks) marked |= std::abs(m - points[i]) < extent / 30;
        for (std::size_t c = 0; c < 3; ++c)
            image.values[3 * i + c] = marked ? 255 : examples::grey_level(strength * colour[c]);
    }
    examples::write_png(path, image);
}

int run(Settings const& settings) {
    std::filesystem::path const directory = settings.output;
    std::filesystem::create_directories(directory);

    std::size_t solved = 0;
    for (std::size_t i = 0; i < settings.starts; ++i) {
        xg::manual_seed(settings.seed + i);
        Neuron neuron;
        solved += learn_exclusive_or(neuron);
        if (i > 0) continue;
        draw(directory / "exclusive_or.png", 2, {{-1, -1}, {-1, 1}, {1, -1}, {1, 1}},
            [&](std::vector<Complex> const& points) {
                Z x = Z::empty({points.size(), 2});
                for (std::size_t k = 0; k < points.size(); ++k)
                    x.mutable_data()[2 * k] = points[k].real(),
                                         x.mutable_data()[2 * k + 1] = points[k].imag();
                D const y = neuron(x).detach();
                return std::vector<Complex>(y.data(), y.data() + y.numel());
            });
    }
    std::printf(
        "exclusive or by one complex neuron: %zu of %zu starts succeed\n", solved, settings.starts);

    if (settings.symbols < settings.batch + settings.window)
        throw examples::UsageError("--symbols must be at least --batch and --window together");
    Samples const samples(
        transmit(settings.symbols, settings.noise, settings.seed), settings.window),
        unseen(transmit(20000, settings.noise, settings.seed + 1), settings.window);
    xg::manual_seed(settings.seed);
    ComplexNet complex_net(settings.window, settings.hidden);
    std::size_t hidden = 1;
    while (real_numbers(RealNet(settings.window, hidden)) < real_numbers(complex_net)) ++hidden;
    RealNet real_net(settings.window, hidden);
    auto const with_complex = learn(complex_net, samples, unseen, settings),
               with_real = learn(real_net, samples, unseen, settings);
    auto const show = [](char const* name, nn::AnyModule const& m, Result const& r) {
        std::printf("  %-8s %5zu real parameters: error %6.2f dB, %.3f %% of symbols wrong\n", name,
            real_numbers(m), 10 * std::log10(r.error), 100 * r.wrong);
    };
    std::printf("equalisation of symbols that were not learnt from:\n");
    show("complex", complex_net, with_complex);
    show("real", real_net, with_real);

    // the answers as functions of the sample in the middle, with those around it as they were
    // received once
    auto const middle = settings.window / 2;
    auto const regions = [&](auto const& net) {
        return [&](std::vector<Complex> const& points) {
            Z x = Z(unseen.windows(0)).expand({points.size(), settings.window}).clone();
            for (std::size_t k = 0; k < points.size(); ++k)
                x.mutable_data()[k * settings.window + middle] = points[k];
            Z const y = net(x).detach();
            return std::vector<Complex>(y.data(), y.data() + y.numel());
        };
    };
    std::vector<Complex> const mark{unseen.windows(0, middle).item()};
    draw(directory / "complex_regions.png", 2, mark, regions(complex_net));
    draw(directory / "real_regions.png", 2, mark, regions(real_net));
    std::printf("exclusive_or.png, complex_regions.png and real_regions.png are in %s;\n"
                "yellow, sky blue, blue and vermilion are the quadrants of the answer, from the "
                "first to the fourth\n",
        settings.output.c_str());

    if (solved == settings.starts && with_complex.error < with_real.error) return 0;
    std::fprintf(stderr, "error: %s\n",
        solved < settings.starts ? "some neurons did not learn exclusive or"
                                 : "the complex network is no better than the real one");
    return 1;
}

} // namespace

int main(int argc, char** argv) {
    return examples::exit_code([&] { return run(Settings(argc, argv)); });
}
