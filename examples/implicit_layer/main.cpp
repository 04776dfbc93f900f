// A network whose hidden layer is an equilibrium: z = tanh(W z + U x + b), however many layers with
// the same weights it takes to get there. fixed_point() finds z by Anderson's acceleration, and its
// gradient is one linear solve at z, so that no iteration is recorded. Bai, Kolter and Koltun,
// "Deep equilibrium models", 2019. The network learns which of two spirals a point belongs to. Its
// gradient is compared with that of recorded iterations, which comes nearer with each of them.
// ctest: --points 30 --steps 60

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <numbers>
#include <string>
#include <vector>

#include <xgrad/data.hpp>
#include <xgrad/implicit.hpp>
#include <xgrad/optim.hpp>

#include <options.hpp>
#include <svg.hpp>

namespace xg = xgrad;
using Real = xg::Tensor<double>;

struct Settings {
    std::size_t points = 100, hidden = 16, steps = 150;
    double noise = 0.1;
    std::uint64_t seed = 1;
    std::string output = "implicit_layer_output";

    Settings(int argc, char** argv) {
        examples::Options options("Trains a network whose hidden layer is a fixed point.");
        options.number(
            "points", points, "of each spiral, for training and for the test", 10, 10000);
        options.number("hidden", hidden, "size of the hidden layer", 1, 1000);
        options.number("steps", steps, "steps of training", 1);
        options.number("noise", noise, "standard deviation of the points", 0, 10);
        options.number("seed", seed, "of the points and the network");
        options.text("output", output, "directory for the charts");
        options.parse(argc, argv);
    }
};

/// Points near two spirals, the first half of them near the first one.
Real spirals(std::size_t points, double noise) {
    Real const t = xg::linspace(0.5, 3.5, points);
    Real const arm = xg::stack({Real(t * cos(2 * t)), Real(t * sin(2 * t))}, 1);
    return xg::cat({arm, Real(-arm)}) + noise * xg::randn({2 * points, 2});
}

struct Network {
    Real a, u, b, out, bias;

    explicit Network(std::size_t hidden)
        : a(xg::randn({hidden, hidden})), u(xg::randn({2, hidden})), b(xg::randn({hidden})),
          out(xg::randn({hidden}) / std::sqrt(static_cast<double>(hidden))), bias(0.) {
        for (auto* each : {&a, &u, &b, &out, &bias}) each->requires_grad_();
    }
    std::vector<xg::AnyTensor> parameters() const { return {a, u, b, out, bias}; }

    /// W, whose columns have sums of moduli below 1, so that there is one equilibrium.
    Real weight() const { return 0.95 * a / sum(abs(a), {0}, true); }
    Real layer(Real const& z, Real const& w, Real const& input) const {
        return tanh(matmul(z, w) + input);
    }
    Real input(Real const& x) const { return matmul(x, u) + b; }
    /// An equilibrium for each row of x, in which they are independent.
    Real equilibrium(Real const& x) const {
        Real const w = weight(), in = input(x);
        return xg::fixed_point([=, this](Real const& z) { return layer(z, w, in); },
            xg::zeros(in.shape()), {.rows = true});
    }
    /// What so many iterations make of 0.
    Real unrolled(Real const& x, std::size_t iterations) const {
        Real const w = weight(), in = input(x);
        Real z = xg::zeros(in.shape());
        for (std::size_t i = 0; i < iterations; ++i) z = layer(z, w, in);
        return z;
    }
    /// Positive for the first spiral.
    Real score(Real const& z) const { return matmul(z, out) + bias; }
};

/// The logistic loss.
Real loss_of(Real const& score, Real const& sign) { return mean(log1p(exp(-sign * score))); }

/// Where the score changes its sign between neighbours of a grid.
examples::Series boundary(Network const& network) {
    constexpr std::size_t n = 61;
    xg::NoGradGuard no_grad;
    auto const [across, up] = xg::meshgrid(xg::linspace(-4., 4., n), xg::linspace(-4., 4., n));
    Real const grid = xg::stack({across.flatten(), up.flatten()}, 1);
    Real const score = network.score(network.equilibrium(grid));
    examples::Series series{"decision boundary", {}, true};
    auto const between = [&](std::size_t i, std::size_t j) {
        double const a = score.data()[i], b = score.data()[j], t = a / (a - b);
        if (a * b < 0)
            series.points.push_back({std::lerp(grid.data()[2 * i], grid.data()[2 * j], t),
                std::lerp(grid.data()[2 * i + 1], grid.data()[2 * j + 1], t)});
    };
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j + 1 < n; ++j) {
            between(i * n + j, i * n + j + 1);
            between(j * n + i, (j + 1) * n + i);
        }
    return series;
}

int train(Settings const& settings) {
    xg::manual_seed(settings.seed);
    auto const half = settings.points;
    Real const x = spirals(half, settings.noise), test = spirals(half, settings.noise);
    Real const sign = xg::cat({xg::ones({half}), Real(-xg::ones({half}))});
    Network const network(settings.hidden);
    xg::optim::Adam optimizer(network.parameters(), {.lr = 0.03});
    xg::data::ProgressBar bar(settings.steps, {.label = "training"});
    for (std::size_t step = 0; step < settings.steps; ++step) {
        optimizer.zero_grad();
        Real const loss = loss_of(network.score(network.equilibrium(x)), sign);
        loss.backward();
        optimizer.step();
        bar.update(1, loss.item());
    }
    bar.finish();
    auto const share_right = [&](Real const& points) {
        xg::NoGradGuard no_grad;
        Real const agreement = network.score(network.equilibrium(points)) * sign;
        return mean(where(agreement > 0., 1., 0.)).item();
    };
    double const right = share_right(test);
    std::printf(
        "right after %zu steps: %.1f %% of the points for training, %.1f %% of the others\n",
        settings.steps, 100 * share_right(x), 100 * right);

    auto const gradient = [&](Real const& z) {
        return xg::grad(loss_of(network.score(z), sign), xg::inputs(network.a, network.u));
    };
    auto const [a, u] = gradient(network.equilibrium(x));
    examples::Series distance{"gradient", {}};
    std::puts("\niterations   the gradient through them differs by");
    double difference = 1;
    for (std::size_t const iterations : {1u, 2u, 4u, 8u, 16u, 32u, 64u, 128u}) {
        auto const [da, du] = gradient(network.unrolled(x, iterations));
        difference = std::hypot(norm(da - a).item(), norm(du - u).item()) /
                     std::hypot(norm(a).item(), norm(u).item());
        std::printf("%10zu   %.1e\n", iterations, difference);
        distance.points.push_back({static_cast<double>(iterations), std::log10(difference)});
    }

    examples::Series first{"first spiral", {}, true}, second{"second spiral", {}, true};
    for (std::size_t i = 0; i < 2 * half; ++i)
        (i < half ? first : second).points.push_back({test.data()[2 * i], test.data()[2 * i + 1]});
    std::filesystem::path const directory = settings.output;
    std::filesystem::create_directories(directory);
    examples::write_svg(
        directory / "spirals.svg", {"Points that the network has not seen", "x1", "x2",
                                       {first, second, boundary(network)}, true});
    examples::write_svg(
        directory / "gradient.svg", {"Implicit against unrolled", "recorded iterations",
                                        "log10 of the relative difference", {distance}});
    std::printf("\nspirals.svg and gradient.svg are in %s\n", settings.output.c_str());
    if (right >= 0.95 && difference < 1e-8) return 0;
    std::fputs("error: the spirals were not learnt, or the gradient is wrong\n", stderr);
    return 1;
}

int main(int argc, char** argv) {
    return examples::exit_code([&] { return train(Settings(argc, argv)); });
}
