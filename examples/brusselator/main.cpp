// Spots grow out of noise in the Brusselator, a model of two chemicals that react and diffuse: u' =
// A + u^2 v - (B + 1) u + Du lap(u), v' = B u - u^2 v + Dv lap(v). Its Jacobian is sparse: each
// rate depends on five neighbours of one chemical and on one place of the other. A plan finds that
// out of the program, and each implicit step solves a system with it. Prigogine and Lefever,
// "Symmetry breaking instabilities in dissipative systems II", 1968.
// ctest: --size 32 --steps 100

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <numbers>
#include <string>
#include <vector>

#include <xgrad/sparse.hpp>

#include <image.hpp>
#include <options.hpp>

namespace xg = xgrad;
using Real = xg::Tensor<double>;

struct Settings {
    std::size_t size = 64, steps = 200;
    double step = 1;
    std::string output = "brusselator_output";

    Settings(int argc, char** argv) {
        examples::Options options(
            "Grows a Turing pattern by implicit steps with a sparse Jacobian.");
        options.number("size", size, "places along each side of the square", 16, 512);
        options.number("steps", steps, "steps in time", 1);
        options.number("step", step, "length of a step", 0.001, 10);
        options.text("output", output, "directory for the pictures");
        options.parse(argc, argv);
    }
};

constexpr double A = 3, B = 9, Du = 5, Dv = 12;

Real laplacian(Real const& u) {
    return roll(u, 1, 0) + roll(u, -1, 0) + roll(u, 1, 1) + roll(u, -1, 1) - 4 * u;
}
/// The rates of both chemicals; `state` has the axes chemical, row, column, and no border.
Real rates(Real const& state) {
    Real const u = state(0), v = state(1);
    Real const made = u * u * v;
    return xg::stack(
        {Real(A + made - (B + 1) * u + Du * laplacian(u)), Real(B * u - made + Dv * laplacian(v))});
}

using Vector = std::vector<double>;
double dot(Vector const& a, Vector const& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
}
/// J x.
Vector product(xg::SparseMatrix<double> const& j, Vector const& x) {
    Vector y(x.size());
    for (std::size_t i = 0, at = 0; i < y.size(); ++i)
        for (int const column : j.pattern().row(i))
            y[i] += j.data()[at++] * x[static_cast<std::size_t>(column)];
    return y;
}
/// Solves (1 - step J) x = b: BiCGSTAB, van der Vorst, 1992.
Vector solve(xg::SparseMatrix<double> const& j, double step, Vector const& b) {
    auto const apply = [&](Vector const& x) {
        Vector y = product(j, x);
        for (std::size_t i = 0; i < y.size(); ++i) y[i] = x[i] - step * y[i];
        return y;
    };
    Vector x(b.size()), r = b, p(b.size()), v(b.size());
    double rho = 1, alpha = 1, omega = 1;
    double const enough = 1e-14 * dot(b, b);
    for (int iteration = 0; iteration < 1000 && dot(r, r) > enough; ++iteration) {
        double const next = dot(b, r), beta = next / rho * alpha / omega;
        rho = next;
        for (std::size_t i = 0; i < p.size(); ++i) p[i] = r[i] + beta * (p[i] - omega * v[i]);
        v = apply(p);
        alpha = rho / dot(b, v);
        for (std::size_t i = 0; i < r.size(); ++i) r[i] -= alpha * v[i];
        Vector const t = apply(r);
        omega = dot(t, r) / dot(t, t);
        for (std::size_t i = 0; i < r.size(); ++i) {
            x[i] += alpha * p[i] + omega * r[i];
            r[i] -= omega * t[i];
        }
    }
    return x;
}

/// How fast a wave of this squared wave number grows at the uniform state u = A, v = B / A: the
/// larger eigenvalue of its two equations.
double growth(double k2) {
    double const a = B - 1 - Du * k2, b = A * A, c = -B, d = -A * A - Dv * k2;
    std::complex<double> const root =
        std::sqrt(std::complex<double>((a - d) * (a - d) / 4 + b * c));
    return (a + d) / 2 + root.real();
}
/// The squared wave number of mode (p, q) of the differences of laplacian().
double wave_number(std::size_t p, std::size_t q, std::size_t size) {
    auto const part = [&](std::size_t i) {
        return 2 - 2 * std::cos(2 * std::numbers::pi * static_cast<double>(i) /
                                static_cast<double>(size));
    };
    return part(p) + part(q);
}

void write_picture(std::filesystem::path const& path, Real const& u) {
    examples::GreyImage image{4 * u.shape(1), 4 * u.shape(0)};
    for (std::size_t i = 0; i < image.height; ++i)
        for (std::size_t j = 0; j < image.width; ++j)
            image.values[i * image.width + j] =
                examples::grey_level(u.data()[i / 4 * u.shape(1) + j / 4] / 6);
    write_png(path, image);
}

int run(Settings const& settings) {
    std::size_t const n = settings.size, places = n * n;
    Real state = xg::zeros<double>({2, n, n});
    unsigned number = 1;
    for (std::size_t i = 0; i < 2 * places; ++i) {
        number = number * 1664525 + 1013904223;
        state.mutable_data()[i] =
            (i < places ? A : B / A) + 0.1 * (static_cast<double>(number >> 8) / 0x1p24 - 0.5);
    }
    std::filesystem::path const directory = settings.output;
    std::filesystem::create_directories(directory);
    write_picture(directory / "start.png", state(0).clone());

    auto const plan = xg::sparsity(rates, state);
    auto const& pattern = plan.jacobian_pattern();
    std::printf("%td x %td, %td entries, %d colours\n", pattern.rows(), pattern.cols(),
        pattern.nonzeros(), plan.jacobian_colors());

    // The eigenvalue of the Jacobian for a wave at the uniform state has a closed form.
    Real uniform = xg::zeros<double>({2, n, n});
    std::fill_n(uniform.mutable_data(), places, A);
    std::fill_n(uniform.mutable_data() + places, places, B / A);
    std::size_t const mode = n / 10;
    double const k2 = wave_number(mode, 0, n), rate = growth(k2);
    Vector wave(2 * places);
    for (std::size_t i = 0; i < places; ++i) {
        double const value = std::cos(
            2 * std::numbers::pi * static_cast<double>(mode * (i / n)) / static_cast<double>(n));
        wave[i] = A * A * value; // an eigenvector of its two equations
        wave[places + i] = (rate - (B - 1 - Du * k2)) * value;
    }
    Vector const grown = product(plan.jacobian(uniform), wave);
    double error = 0;
    for (std::size_t i = 0; i < wave.size(); ++i)
        error = std::max(error, std::abs(grown[i] - rate * wave[i]));
    std::printf("growth of mode %zu: %.6f, wrong by %.1e\n", mode, rate, error);

    double change = 0;
    for (std::size_t step = 0; step < settings.steps; ++step) { // Rosenbrock's, of first order
        Real const f = rates(state);
        Vector b(f.data(), f.data() + f.numel());
        for (auto& x : b) x *= settings.step;
        Vector const d = solve(plan.jacobian(state), settings.step, b);
        Real next = state.clone();
        for (std::size_t i = 0; i < d.size(); ++i) next.mutable_data()[i] += d[i];
        change = std::sqrt(dot(d, d) / static_cast<double>(d.size()));
        state = next;
    }
    write_picture(directory / "pattern.png", state(0).clone());

    // The strongest wave is one of those that grow, and near the fastest.
    Real const strength =
        abs2(fft2(xg::cast<std::complex<double>>(Real(state(0) - mean(state(0))))));
    auto const strongest = static_cast<std::size_t>(
        std::max_element(strength.data(), strength.data() + places) - strength.data());
    double const found = std::sqrt(wave_number(strongest / n, strongest % n, n)),
                 fastest = std::sqrt(std::sqrt(A * A / (Du * Dv)));
    std::printf("after %zu steps: wave number %.3f (critical %.3f), last change %.1e\n",
        settings.steps, found, fastest, change);
    std::printf("start.png and pattern.png are in %s\n", settings.output.c_str());
    if (error < 1e-10 && std::abs(found / fastest - 1) < 0.15 && growth(found * found) > 0)
        return 0;
    std::fputs("error: this is not the pattern that theory predicts\n", stderr);
    return 1;
}

int main(int argc, char** argv) {
    return examples::exit_code([&] { return run(Settings(argc, argv)); });
}
