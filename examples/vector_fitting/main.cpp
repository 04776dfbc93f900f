// The poles and residues of a frequency response that was measured with noise: H(s) = d + the sum
// of r / (s - p) + conj(r) / (s - conj(p)) over the resonances of a structure, at s = i w. Poles,
// residues and the real d are fitted by complex least squares: resonances are added where the
// misfit is largest, and each time all of them are fitted together. The covariance says how far the
// poles may be from the true ones. Gustavsen and Semlyen, "Rational approximation of frequency
// domain responses by vector fitting", 1999, solve this problem by iterated linear fits.
// ctest: --points 200
// ctest: --points 150 --noise 0

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <numbers>
#include <string>
#include <tuple>
#include <vector>

#include <xgrad/data.hpp>
#include <xgrad/least_squares.hpp>

#include <options.hpp>
#include <svg.hpp>

namespace xg = xgrad;
using C = std::complex<double>;
using Real = xg::Tensor<double>;
using Complex = xg::Tensor<C>;

struct Settings {
    std::size_t points = 300;
    double noise = 0.05;
    std::uint64_t seed = 1;
    std::string output = "vector_fitting_output";

    Settings(int argc, char** argv) {
        examples::Options options("Finds the complex poles of a measured frequency response.");
        options.number("points", points, "frequencies at which it is measured", 50, 100000);
        options.number("noise", noise, "standard deviation, in parts of the mean modulus", 0, 1);
        options.number("seed", seed, "of the noise");
        options.text("output", output, "directory for the charts");
        options.parse(argc, argv);
    }
};

/// Poles, residues and the constant d.
using Model = std::tuple<Complex, Complex, Real>;

/// H at each of s.
Complex response(Complex const& s, Model const& model) {
    auto const& [poles, residues, rest] = model;
    Complex const at = s.unsqueeze(1);
    return sum(residues / (at - poles) + conj(residues) / (at - conj(poles)), {1}) + rest;
}

/// The model with one more resonance, at the frequency of the largest misfit; its residue is 0.
Model with_resonance(Model const& model, Complex const& s, Complex const& misfit) {
    auto const& [poles, residues, rest] = model;
    double const w = s(argmax(abs(misfit)).item()).item().imag();
    return {
        xg::cat({poles, Complex({C(-0.02 * w, w)})}), xg::cat({residues, Complex({C(0)})}), rest};
}

/// The parameters with the least sum of squares from `start` on: all of them, or the linear ones,
/// residues and d.
auto fit(Complex const& s, Complex const& measured, Model const& start, bool keeps_poles) {
    return xg::least_squares(
        [&](Complex const& poles, Complex const& residues, Real const& rest) {
            return response(s, {poles, residues, rest}) - measured;
        },
        start,
        {.ftol = 1e-14,
            .xtol = 1e-14,
            .gtol = 1e-14,
            .fixed = std::tuple(Real(keeps_poles), Real(0.), Real(0.))});
}

examples::Series moduli(std::string const& name, Complex const& s, Complex const& h, bool dots) {
    examples::Series series{name, {}, dots};
    for (std::size_t i = 0; i < h.numel(); ++i)
        series.points.push_back({s.data()[i].imag(), 20 * std::log10(std::abs(h.data()[i]))});
    return series;
}
examples::Series in_the_plane(std::string const& name, Complex const& poles) {
    examples::Series series{name, {}, true};
    for (std::size_t i = 0; i < poles.numel(); ++i)
        series.points.push_back({poles.data()[i].real(), poles.data()[i].imag()});
    return series;
}

int identify(Settings const& settings) {
    // By ascending frequency; two resonances overlap.
    Model const truth{Complex({C(-0.03, 1), C(-0.05, 2.4), C(-0.06, 2.55), C(-0.12, 4.2)}),
        Complex({C(0.02, -0.1), C(0, -0.2), C(0.08, 0.12), C(-0.1, -0.3)}), Real(0.1)};
    Complex const s = C(0, 1) * xg::linspace(0.5, 5., settings.points);
    Complex const exact = response(s, truth);
    double const sigma = settings.noise * mean(abs(exact)).item();
    xg::manual_seed(settings.seed);
    Complex const measured = exact + sigma * xg::randn<C>({settings.points});

    std::size_t const count = std::get<0>(truth).numel();
    Model model{xg::zeros<C>({0}), xg::zeros<C>({0}), Real(0.)};
    Complex misfit = measured;
    examples::Series starts{"start", {}, true};
    Real deviations;
    std::puts("resonances   steps   root mean square of the misfit");
    for (std::size_t i = 1; i <= count; ++i) {
        model = with_resonance(model, s, misfit);
        C const start = std::get<0>(model).data()[i - 1];
        starts.points.push_back({start.real(), start.imag()});
        auto const found = fit(s, measured, fit(s, measured, model, true).x, false);
        model = found.x, misfit = found.fun;
        deviations = sqrt(found.covariance().diagonal());
        std::printf("%10zu %7zu   %.3e\n", i, found.nit, std::sqrt(mean(abs2(misfit)).item()));
    }

    auto const& [poles, residues, rest] = model;
    auto const order = argsort(imag(poles));
    bool right = true;
    std::puts("\n                  pole   its error    standard deviation");
    for (std::size_t i = 0; i < count; ++i) {
        auto const at = static_cast<std::size_t>(order.data()[i]);
        C const pole = poles.data()[at], error = pole - std::get<0>(truth).data()[i];
        double const re = deviations.data()[2 * at], im = deviations.data()[2 * at + 1];
        std::printf("%10.6f %+10.6fi     %.1e     %.1e, %.1e\n", pole.real(), pole.imag(),
            std::abs(error), re, im);
        right &= std::abs(error.real()) < 4 * re + 1e-10 && std::abs(error.imag()) < 4 * im + 1e-10;
    }

    std::filesystem::path const directory = settings.output;
    std::filesystem::create_directories(directory);
    examples::write_svg(directory / "response.svg",
        {"Frequency response", "angular frequency", "modulus, dB",
            {moduli("measured", s, measured, true), moduli("fit", s, response(s, model), false)}});
    examples::write_svg(directory / "poles.svg",
        {"Poles", "real part", "imaginary part",
            {in_the_plane("true", std::get<0>(truth)), in_the_plane("found", poles), starts}});
    std::printf("\nresponse.svg and poles.svg are in %s\n", settings.output.c_str());
    if (right) return 0;
    std::fputs(
        "error: a pole is farther from the true one than four standard deviations\n", stderr);
    return 1;
}

int main(int argc, char** argv) {
    return examples::exit_code([&] { return identify(Settings(argc, argv)); });
}
