// How many measurements |<a_k, x>|^2 does it take to find x? Wirtinger Flow makes a spectral start,
// then descends on a quartic loss. With Gaussian a_k it fails at m = 3 n and succeeds from about m
// = 4.5 n on: in 1 and in 991 of 1000 trials for n = 128. Candes, Li, Soltanolkotabi, "Phase
// retrieval via Wirtinger flow: theory and algorithms", 2015.
// ctest: --n 32 --trials 5 --ratios 2,6 --iterations 1000

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <xgrad/xgrad.hpp>

#include <options.hpp>
#include <relative_error.hpp>
#include <svg.hpp>

namespace xg = xgrad;
using Real = xg::Tensor<double>;
using Complex = xg::Tensor<std::complex<double>>;

struct Settings {
    std::size_t n = 128, trials = 30, iterations = 2500;
    std::vector<double> ratios = {2.5, 3, 3.5, 4, 4.5, 5, 6};
    std::uint64_t seed = 2;
    std::string output = "wirtinger_flow_output";

    Settings(int argc, char** argv) {
        examples::Options options("Measures how often Wirtinger Flow recovers a random signal.");
        options.number("n", n, "length of the signal", 1, 100000);
        options.number("trials", trials, "trials for each ratio", 1);
        options.number("ratios", ratios, "measurements per unknown, m / n", 0.1, 1000);
        options.number("iterations", iterations, "steps of gradient descent at most", 1);
        options.number("seed", seed, "of the signals, measurements and starts");
        options.text("output", output, "directory for the chart");
        options.parse(argc, argv);
    }
};

/// The leading eigenvector of A^H diag(y) A, by power iteration: A^H (y * A z) is half the gradient
/// of sum(y |A z|^2).
Complex spectral_start(Complex const& A, Real const& y) {
    auto z = xg::randn<std::complex<double>>({A.shape()[1]}).requires_grad_();
    for (int i = 0; i < 50; ++i) {
        z.zero_grad();
        sum(y * abs2(matmul(A, z))).backward();
        xg::NoGradGuard no_grad;
        z.copy_(z.grad() / norm(z.grad()));
    }
    return z;
}

struct Outcome {
    bool recovered;
    std::size_t iterations;
};

Outcome recover(Complex const& A, Real const& y, Complex const& x, std::size_t iterations) {
    auto const n = static_cast<double>(x.numel());
    auto const energy = n * sum(y).item() / sum(abs2(A)).item(); // estimates |x|^2
    auto z = spectral_start(A, y);
    {
        xg::NoGradGuard no_grad;
        z *= std::sqrt(energy);
    }
    for (std::size_t t = 1; t <= iterations; ++t) {
        z.zero_grad();
        Real const loss = mean(square(abs2(matmul(A, z)) - y)) / 2.;
        loss.backward();
        // Small steps first, while the start is still crude. The paper's gradient, d / d conj(z),
        // is half of ours.
        auto const mu = std::min(1 - std::exp(-static_cast<double>(t) / 330), 0.2);
        xg::NoGradGuard no_grad;
        z -= mu / (2 * energy) * z.grad();
        if (t % 10 == 0 && examples::relative_error(z, x) < 1e-5) return {true, t};
    }
    return {examples::relative_error(z, x) < 1e-5, iterations};
}

/// The fraction of trials with m measurements that succeed; prints its part of the table.
double success_rate(double ratio, Settings const& settings) {
    auto const m = static_cast<std::size_t>(
        std::max(std::round(ratio * static_cast<double>(settings.n)), 1.0));
    xg::manual_seed(settings.seed + m); // so no row depends on which others are asked for
    std::size_t successes = 0;
    std::vector<std::size_t> iterations;
    for (std::size_t trial = 0; trial < settings.trials; ++trial) {
        auto const x = xg::randn<std::complex<double>>({settings.n});
        auto const A = xg::randn<std::complex<double>>({m, settings.n});
        Real const y = abs2(matmul(A, x));
        auto const outcome = recover(A, y, x, settings.iterations);
        successes += outcome.recovered;
        iterations.push_back(outcome.iterations);
    }
    auto const rate = static_cast<double>(successes) / static_cast<double>(settings.trials);
    std::ranges::sort(iterations);
    std::printf("%7.2f %7zu %5zu of %-4zu %6.0f %% %12zu\n", ratio, m, successes, settings.trials,
        100 * rate, iterations[iterations.size() / 2]);
    std::fflush(stdout);
    return rate;
}

int measure(Settings const& settings) {
    std::filesystem::path const directory = settings.output;
    std::filesystem::create_directories(directory);
    std::printf("n = %zu; recovered is what has a relative error below 1e-5 after %zu steps\n\n",
        settings.n, settings.iterations);
    std::puts("  m / n       m   recovered       rate  median steps");
    examples::Series rates{"Wirtinger Flow", {}};
    for (auto const ratio : settings.ratios)
        rates.points.push_back({ratio, success_rate(ratio, settings)});
    auto const title = "Random signals recovered, n = " + std::to_string(settings.n);
    examples::write_svg(directory / "success_rate.svg", {title, "m / n", "success rate", {rates}});
    std::printf("\nsuccess_rate.svg is in %s\n", settings.output.c_str());
    return 0;
}

int main(int argc, char** argv) {
    return examples::exit_code([&] { return measure(Settings(argc, argv)); });
}
