// Stress and stiffness from an energy with branches: a bar of a metal that yields is bent, and bent
// back. Its cross section is many fibres, each elastic up to a stress, and with less stiffness from
// there on. The program has the energy of a fibre alone: map() gives stresses, and sum_over() the
// bending moment and the stiffness, which are derivatives of the energy of the section. Two
// answers are known: the moment of an ideal section, M = My (3 - (ky / k)^2) / 2 from the curvature
// ky on, at which its outermost fibres yield, and Masing's rule for bending back. Lubliner,
// "Plasticity Theory", 1990; Masing, "Eigenspannungen und Verfestigung beim Messing",
// 1926.
// ctest: --fibres 400

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <string>

#include <xgrad/sum_over.hpp>

#include <options.hpp>
#include <svg.hpp>

namespace xg = xgrad;
using Real = xg::Tensor<double>;

struct Settings {
    std::size_t fibres = 2000;
    double hardening = 0.1;
    std::string output = "material_law_output";

    Settings(int argc, char** argv) {
        examples::Options options("Bends a bar that yields, and bends it back.");
        options.number("fibres", fibres, "fibres of the cross section", 10, 1000000);
        options.number("hardening", hardening, "stiffness beyond yielding, of that before", 0, 0.9);
        options.text("output", output, "directory for the picture");
        options.parse(argc, argv);
    }
};

// The section has the width 1 and the heights from -1 to 1; Young's modulus and the stress of
// yielding are 1. Then ky is 1.
constexpr double inertia = 2. / 3;

/// The energy of a fibre that yields at the stress 1 and hardens: what is spent on the way from the
/// plastic strain to this strain.
struct Fibre {
    double hardening;
    template <class T, class P> auto operator()(T strain, P plastic) const {
        T const elastic = strain - plastic;
        T const stored = 0.5 * hardening * strain * strain;
        if (elastic > 1.) return stored + (1 - hardening) * (elastic - 0.5);
        if (elastic < -1.) return stored - (1 - hardening) * (elastic + 0.5);
        return stored + (1 - hardening) * 0.5 * elastic * elastic;
    }
};

/// Moment and stiffness of an ideal section that is bent for the first time.
examples::Point bent(double curvature, double hardening) {
    double const size = std::max(1., std::abs(curvature)),
                 ideal = inertia * 0.5 * (3 - 1 / (size * size));
    double const moment =
        std::abs(curvature) < 1 ? inertia * curvature : std::copysign(ideal, curvature);
    return {hardening * inertia * curvature + (1 - hardening) * moment,
        inertia * (hardening + (1 - hardening) / (size * size * size))};
}

int run(Settings const& settings) {
    std::size_t const n = settings.fibres;
    Fibre const fibre{settings.hardening};
    Real const height =
        (xg::arange<double>(static_cast<double>(n)) + 0.5) * (2. / static_cast<double>(n)) - 1;
    Real plastic = xg::zeros<double>({n});

    // Each fibre reads both numbers of x: the strain in the middle and the curvature.
    xg::Tensor<std::int64_t> index = xg::zeros<std::int64_t>({n, 2});
    for (std::size_t i = 0; i < n; ++i) index.mutable_data()[2 * i + 1] = 1;
    auto const section = [&](Real const& x) {
        return xg::sum_over<2>(
            xg::with_branches,
            [fibre, area = 2. / static_cast<double>(n)](auto const& bending, auto const& y,
                auto const& stays) { return area * fibre(bending[0] + y() * bending[1], stays()); },
            x, index, height, plastic);
    };

    double const largest = 4;
    double moment_error = 0, stiffness_error = 0, stress_error = 0;
    examples::Series loop{"fibres", {}}, ideal{"closed form", {}};
    for (int step = 0; step <= 300; ++step) {
        // To the largest curvature, to its opposite, and back.
        double const way = static_cast<double>(step) / 100;
        double const curvature = largest * (way < 1 ? way : way < 2 ? 3 - 2 * way : 2 * way - 5);
        auto now = section(Real({0., curvature}));
        auto const h = now.hessian();
        double const moment = now.gradient().data()[1], stiffness = h.data()[3];

        // Masing: the way back is the first one, twice as large, from the point of return.
        double const side = way <= 2 ? 1 : -1;
        auto const first = bent(curvature, settings.hardening),
                   corner = bent(side * largest, settings.hardening),
                   back = bent((side * largest - curvature) / 2, settings.hardening);
        double const expected = way <= 1 ? first.x : corner.x - 2 * back.x,
                     expected_stiffness = way <= 1 ? first.y : back.y;
        moment_error = std::max(moment_error, std::abs(moment - expected));
        stiffness_error = std::max(stiffness_error, std::abs(stiffness - expected_stiffness));
        loop.points.push_back({curvature, moment});
        ideal.points.push_back({curvature, expected});

        // The stress of each fibre is the derivative of its energy. What does not come back as
        // stress stays as plastic strain.
        Real const strain = Real(height * curvature).requires_grad_();
        sum(xg::map(xg::with_branches, fibre, strain, plastic)).backward();
        Real const stress = strain.grad();
        Real const yielding =
            (stress - settings.hardening * strain.detach()) / (1 - settings.hardening);
        Real const closed = minimum(maximum(Real(strain.detach() - plastic), -1.), 1.);
        stress_error = std::max(stress_error, amax(abs(yielding - closed)).item());
        plastic = strain.detach() - yielding;
    }
    double const enough = 20 / static_cast<double>(n);
    std::printf("errors: stress %.1e, moment %.1e, stiffness %.1e, of %zu fibres\n", stress_error,
        moment_error, stiffness_error, n);

    std::filesystem::path const directory = settings.output;
    std::filesystem::create_directories(directory);
    examples::write_svg(directory / "bending.svg",
        {"A bar that yields, bent and bent back", "curvature, of that which yields first", "moment",
            {loop, ideal}});
    std::printf("bending.svg is in %s\n", settings.output.c_str());
    if (stress_error < 1e-12 && moment_error < enough && stiffness_error < enough) return 0;
    std::fputs("error: moments or stiffness are not those of the closed forms\n", stderr);
    return 1;
}

int main(int argc, char** argv) {
    return examples::exit_code([&] { return run(Settings(argc, argv)); });
}
