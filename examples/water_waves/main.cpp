// How deep is the water, and how strongly are its waves damped? Both decide the complex wave number
// k of a wave of frequency f, the solution of k tanh(k h) = c (2 pi f)^2 / g with h the depth and c
// = 1 for waves without loss. Newton's method solves the equation, and the implicit function
// theorem differentiates its solution: not a single step of Newton's method is recorded. Dean and
// Dalrymple, "Water Wave Mechanics for Engineers and Scientists", 1991, section 3.4.
// ctest: --frequencies 0.1,0.15,0.2,0.3

#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <numbers>
#include <string>
#include <tuple>
#include <vector>

#include <xgrad/xgrad.hpp>

#include <options.hpp>
#include <svg.hpp>

namespace xg = xgrad;
using Real = xg::Tensor<double>;
using Complex = xg::Tensor<std::complex<double>>;

struct Settings {
    std::vector<double> frequencies = {0.08, 0.1, 0.12, 0.15, 0.18, 0.22, 0.26, 0.3};
    double depth = 2.5, damping = 0.04, guess = 5;
    std::size_t iterations = 3000;
    std::string output = "water_waves_output";

    Settings(int argc, char** argv) {
        examples::Options options(
            "Finds the depth of water and the damping of its waves from their wave numbers.");
        options.number(
            "frequencies", frequencies, "at which wave numbers are measured, in Hz", 0.001, 100);
        options.number("depth", depth, "to be found, in metres", 0.01, 1000);
        options.number("damping", damping, "to be found, the imaginary part of c", 0, 1);
        options.number("guess", guess, "depth to start from, in metres", 0.01, 1000);
        options.number("iterations", iterations, "steps of gradient descent at most", 1);
        options.text("output", output, "directory for the chart");
        options.parse(argc, argv);
    }
};

/// The wave number k with k tanh(k h) = alpha. Of shape alpha's; h is one number. Gradients by the
/// implicit function theorem: where f(k, alpha, h) = 0, a change of alpha and h that f answers with
/// df changes k by -df / (df/dk).
struct WaveNumber : xg::Function<WaveNumber> {
    using Saved = std::tuple<Complex, Complex, Real>;
    static constexpr bool once_differentiable = true;

    static auto residual(Complex const& k, Complex const& alpha, Real const& depth) {
        return k * tanh(k * depth) - alpha;
    }

    static Complex forward(Context& ctx, Complex const& alpha, Real const& depth) {
        Complex k = alpha / sqrt(tanh(alpha * depth));
        for (double change = 1; change > 1e-14;) {
            Complex const t = tanh(k * depth);
            Complex const step = (k * t - alpha) / (t + k * depth * (1 - t * t));
            k = k - step;
            double const now = norm(step).item() / norm(k).item();
            if (!(now < change)) break; // rounding is all that is left
            change = now;
        }
        ctx.save_for_backward(k, alpha, depth);
        return k;
    }
    static std::tuple<Complex, Real> backward(Context& ctx, Complex const& g) {
        auto [k, alpha, depth] = ctx.saved_tensors();
        for (auto* z : {&k, &alpha}) *z = z->detach().requires_grad_();
        depth = depth.detach().requires_grad_();
        xg::EnableGradGuard const recording;
        Complex const f = residual(k, alpha, depth);
        // f is holomorphic in k, so the gradient of f for k is the conjugate of df/dk.
        auto const slope = grad(
            f, k, {.gradients = {xg::ones<std::complex<double>>(f.shape())}, .retain_graph = true});
        return grad(f, xg::inputs(alpha, depth), {.gradients = {Complex(-g / slope)}});
    }
};

int fit(Settings const& settings) {
    auto const count = settings.frequencies.size();
    auto squares = xg::zeros<double>({count});
    for (std::size_t i = 0; i < count; ++i)
        squares(static_cast<std::ptrdiff_t>(i)) =
            std::pow(2 * std::numbers::pi * settings.frequencies[i], 2) / 9.81;
    using C = std::complex<double>;
    Complex const measured =
        WaveNumber::apply(C(1, settings.damping) * squares, Real(settings.depth));
    Real const scale = abs2(measured);

    Real log_depth(std::log(settings.guess), xg::requires_grad); // so that a depth stays positive
    Complex c(C(1, 0), xg::requires_grad);
    Complex const before = Complex(WaveNumber::apply(c * squares, exp(log_depth))).detach();
    double depth_speed = 0;
    C c_speed = 0;
    double loss = 1;
    std::size_t step = 0;
    for (; step < settings.iterations && loss > 1e-22; ++step) {
        log_depth.zero_grad();
        c.zero_grad();
        auto const k = WaveNumber::apply(c * squares, exp(log_depth));
        auto const misfit = mean(abs2(k - measured) / scale);
        misfit.backward();
        loss = misfit.item();
        depth_speed = 0.9 * depth_speed - 0.3 * log_depth.grad().item();
        c_speed = 0.9 * c_speed - 0.3 * c.grad().item();
        xg::NoGradGuard no_grad;
        log_depth += depth_speed;
        c += c_speed;
    }
    double const depth = std::exp(log_depth.item()), damping = c.item().imag();
    std::printf("after %zu steps: depth %.6f m (true %.6f), damping %.6f (true %.6f)\n", step,
        depth, settings.depth, damping, settings.damping);

    examples::Series at_first{"first guess", {}}, fitted{"fitted", {}}, found{"measured", {}, true};
    Complex const after = WaveNumber::apply(c * squares, exp(log_depth));
    for (std::size_t i = 0; i < count; ++i) {
        at_first.points.push_back({settings.frequencies[i], before.data()[i].real()});
        fitted.points.push_back({settings.frequencies[i], after.data()[i].real()});
        found.points.push_back({settings.frequencies[i], measured.data()[i].real()});
    }
    std::filesystem::path const directory = settings.output;
    std::filesystem::create_directories(directory);
    examples::write_svg(directory / "dispersion.svg",
        {"Dispersion of water waves", "frequency, Hz", "wave number (real part), 1/m",
            {at_first, fitted, found}});
    std::printf("dispersion.svg is in %s\n", settings.output.c_str());
    if (std::abs(depth - settings.depth) < 1e-6 * settings.depth &&
        std::abs(damping - settings.damping) < 1e-6)
        return 0;
    std::fputs("error: depth and damping were not found\n", stderr);
    return 1;
}

int main(int argc, char** argv) {
    return examples::exit_code([&] { return fit(Settings(argc, argv)); });
}
