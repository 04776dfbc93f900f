// An array of antennas listens to one direction and is deaf to three others: the complex weights of
// its elements are found by gradient descent, so that the response is 1 towards the target and 0
// towards each interferer. Van Trees, "Optimum Array Processing", 2002, sections 2.2 (array
// manifold) and 3.7 (null steering).
// ctest: --points 361

#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <numbers>
#include <string>
#include <vector>

#include <xgrad/xgrad.hpp>

#include <options.hpp>
#include <svg.hpp>

namespace xg = xgrad;
using Complex = xg::Tensor<std::complex<double>>;

struct Settings {
    std::size_t elements = 16, iterations = 2000, points = 1441;
    double target = 10, depth = -200;
    std::vector<double> interferers = {-35, -12, 40};
    std::string output = "array_nulling_output";

    Settings(int argc, char** argv) {
        examples::Options options(
            "Finds the weights of an antenna array that hears one direction and not some others.");
        options.number("elements", elements, "antennas, half a wavelength apart", 2, 1000);
        options.number("iterations", iterations, "steps of gradient descent at most", 1);
        options.number("points", points, "of the beam pattern", 2, 1000000);
        options.number(
            "target", target, "direction to listen to, in degrees from broadside", -90, 90);
        options.number("interferers", interferers, "directions to be deaf to, in degrees", -90, 90);
        options.number("depth", depth, "response towards each of them to reach, in dB");
        options.text("output", output, "directory for the chart");
        options.parse(argc, argv);
    }
};

/// The signals of a plane wave at each antenna, one row for each direction: exp(i pi k sin(angle)).
Complex steering_vectors(std::vector<double> const& degrees, std::size_t elements) {
    auto a = xt::xarray<std::complex<double>>::from_shape({degrees.size(), elements});
    for (std::size_t i = 0; i < degrees.size(); ++i)
        for (std::size_t k = 0; k < elements; ++k)
            a(i, k) = std::polar(1., std::numbers::pi * static_cast<double>(k) *
                                         std::sin(degrees[i] * std::numbers::pi / 180));
    return Complex(a);
}

double decibels(std::complex<double> response) { return 20 * std::log10(std::abs(response)); }

int steer(Settings const& settings) {
    std::vector<double> directions{settings.target};
    directions.insert(directions.end(), settings.interferers.begin(), settings.interferers.end());
    auto const a = steering_vectors(directions, settings.elements);
    auto wanted = xg::zeros<std::complex<double>>({directions.size()});
    wanted(0) = 1;

    auto const start = steering_vectors({settings.target}, settings.elements);
    Complex w(conj(start(0)) /
              static_cast<double>(settings.elements)); // a beam to the target, deaf to nobody
    w.requires_grad_();
    // The curvature of the loss, the largest eigenvalue of 2 A^H A, is at most 2 trace(A^H A): such
    // a step never goes too far.
    double const step = 0.5 / sum(abs2(a)).item();
    std::size_t iteration = 0;
    auto const response = [&] { return Complex(matmul(a, w)).detach(); };
    auto const deepest = [&] {
        double worst = -INFINITY;
        auto const r = response();
        for (std::size_t i = 1; i < directions.size(); ++i)
            worst = std::max(worst, decibels(r.data()[i]));
        return worst;
    };
    for (; iteration < settings.iterations && !(deepest() < settings.depth); ++iteration) {
        w.zero_grad();
        sum(abs2(matmul(a, w) - wanted)).backward();
        xg::NoGradGuard no_grad;
        w -= step * w.grad();
    }

    auto const reached = response();
    std::printf("%zu antennas, %zu steps\n\n direction  response\n", settings.elements, iteration);
    for (std::size_t i = 0; i < directions.size(); ++i)
        std::printf("%7.1f deg %8.1f dB%s\n", directions[i],
            std::round(10 * decibels(reached.data()[i])) / 10 + 0., i == 0 ? "  target" : "");

    std::vector<double> angles(settings.points);
    for (std::size_t i = 0; i < angles.size(); ++i)
        angles[i] = -90 + 180 * static_cast<double>(i) / static_cast<double>(angles.size() - 1);
    auto const manifold = steering_vectors(angles, settings.elements);
    examples::Series before{"one beam", {}}, after{"with nulls", {}}, deaf{"interferers", {}, true};
    xg::NoGradGuard no_grad;
    Complex const first = matmul(manifold, conj(start(0)) / static_cast<double>(settings.elements)),
                  last = matmul(manifold, w);
    for (std::size_t i = 0; i < angles.size(); ++i) {
        before.points.push_back({angles[i], std::max(decibels(first.data()[i]), -80.)});
        after.points.push_back({angles[i], std::max(decibels(last.data()[i]), -80.)});
    }
    for (double const angle : settings.interferers) deaf.points.push_back({angle, 0});
    std::filesystem::path const directory = settings.output;
    std::filesystem::create_directories(directory);
    examples::write_svg(
        directory / "beam_pattern.svg", {"Beam pattern", "direction, degrees from broadside",
                                            "response, dB", {before, after, deaf}});
    std::printf("\nbeam_pattern.svg is in %s\n", settings.output.c_str());

    bool const heard = std::abs(decibels(reached.data()[0])) < 1e-6;
    if (heard && deepest() < settings.depth) return 0;
    std::fprintf(stderr, "error: %.0f dB were not reached\n", settings.depth);
    return 1;
}

int main(int argc, char** argv) {
    return examples::exit_code([&] { return steer(Settings(argc, argv)); });
}
