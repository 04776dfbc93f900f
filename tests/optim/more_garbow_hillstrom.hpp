// The 35 problems of Moré, Garbow and Hillstrom, "Testing unconstrained optimization software"
// (1981), some with several sizes: 41 in all. A residual is a template over its number type, so
// that other solvers compute it, too, and its derivatives come from complex numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <numbers>
#include <string>
#include <vector>

#include <xgrad/xgrad.hpp>

namespace more_garbow_hillstrom {

using Complex = std::complex<double>;

struct Problem {
    std::string name;
    std::size_t n, m;           // parameters and residuals
    std::vector<double> start;  // the standard one
    std::vector<double> minima; // of the sum of squares; the first is the global one
    std::function<void(double const*, double*)> residual;
    std::function<void(Complex const*, Complex*)> complex_residual;

    /// The standard starting point times a factor; where it is 0, the factor itself.
    std::vector<double> start_times(double factor) const {
        auto x = start;
        bool const is_zero = std::ranges::all_of(x, [](double v) { return v == 0; });
        for (double& v : x) v = factor == 1 ? v : (is_zero ? factor : factor * v);
        return x;
    }
    std::vector<double> values(double const* x) const {
        std::vector<double> r(m);
        residual(x, r.data());
        return r;
    }
    /// The Jacobian, column by column, from steps in imaginary directions.
    std::vector<double> jacobian(double const* x) const {
        constexpr double step = 1e-100;
        std::vector<Complex> at(x, x + n), r(m);
        std::vector<double> all;
        for (std::size_t j = 0; j < n; ++j) {
            at[j] += Complex(0, step);
            complex_residual(at.data(), r.data());
            at[j] = x[j];
            for (auto const& v : r) all.push_back(v.imag() / step);
        }
        return all;
    }
    bool is_minimum(double squares) const {
        return std::ranges::any_of(
            minima, [&](double f) { return std::abs(squares - f) <= std::max(1e-4 * f, 1e-10); });
    }
    /// The largest cosine between the residuals and a column of the Jacobian.
    double cosine(double const* x) const {
        auto const r = values(x), a = jacobian(x);
        double largest = 0, size = 0;
        for (double const v : r) size += v * v;
        for (std::size_t j = 0; j < n; ++j) {
            double product = 0, norm = 0;
            for (std::size_t i = 0; i < m; ++i) {
                product += a[j * m + i] * r[i];
                norm += a[j * m + i] * a[j * m + i];
            }
            if (norm > 0 && size > 0)
                largest = std::max(largest, std::abs(product) / std::sqrt(norm * size));
        }
        return largest;
    }
};

/// A problem as a function of tensors.
struct Residual : xgrad::Function<Residual> {
    using D = xgrad::Tensor<double>;
    using Saved = std::tuple<D>;
    struct Data {
        Problem const* problem = nullptr;
        D jacobian; // (n, m), once it is asked for
    };
    static D forward(Context& ctx, D const& x, Problem const* problem) {
        ctx.problem = problem;
        ctx.save_for_backward(x);
        return D(problem->values(x.data()));
    }
    static D const& jacobian(Context& ctx) {
        if (ctx.jacobian.defined()) return ctx.jacobian;
        auto const [x] = ctx.saved_tensors();
        auto const n = static_cast<std::ptrdiff_t>(ctx.problem->n);
        return ctx.jacobian = reshape(D(ctx.problem->jacobian(x.data())), {n, -1});
    }
    static auto backward(Context& ctx, D const& g) {
        return std::tuple(D(matmul(jacobian(ctx), g)), std::nullopt);
    }
    static D jvp(Context& ctx, D const& along, std::nullopt_t) {
        return matmul(along, jacobian(ctx));
    }
};

/// The residual f(i, x) of residual i = 1, ..., m, where x(1) is the first parameter.
template <class F>
Problem problem(std::string name, std::size_t m, std::vector<double> start,
    std::vector<double> minima, F const& f) {
    std::size_t const n = start.size();
    auto const all = [f, m]<class T>(T const* x, T* r) {
        auto const at = [x](std::size_t j) { return x[j - 1]; };
        for (std::size_t i = 1; i <= m; ++i) r[i - 1] = f(i, at);
    };
    return {std::move(name), n, m, std::move(start), std::move(minima), all, all};
}

inline double number(std::size_t i) { return static_cast<double>(i); }
inline std::vector<double> filled(std::size_t n, auto const& f) {
    std::vector<double> x;
    for (std::size_t j = 1; j <= n; ++j) x.push_back(f(number(j)));
    return x;
}
/// Sum of term(j) for j = first, ..., last.
auto sum(std::size_t first, std::size_t last, auto const& term) {
    auto all = term(first);
    for (std::size_t j = first + 1; j <= last; ++j) all = all + term(j);
    return all;
}

inline std::vector<Problem> problems() {
    using std::sqrt, std::exp, std::cos, std::sin, std::atan, std::pow;
    auto const square = [](auto const& v) { return v * v; };
    auto const bard = std::to_array(
        {.14, .18, .22, .25, .29, .32, .35, .39, .37, .58, .73, .96, 1.34, 2.10, 4.39});
    auto const gaussian = std::to_array({.0009, .0044, .0175, .0540, .1295, .2420, .3521, .3989,
        .3521, .2420, .1295, .0540, .0175, .0044, .0009});
    auto const meyer = std::to_array({34780., 28610., 23650., 19630., 16370., 13720., 11540., 9744.,
        8261., 7030., 6005., 5147., 4427., 3820., 3307., 2872.});
    auto const kowalik = std::to_array(
        {.1957, .1947, .1735, .1600, .0844, .0627, .0456, .0342, .0323, .0235, .0246});
    auto const kowalik_u =
        std::to_array({4., 2., 1., .5, .25, .167, .125, .1, .0833, .0714, .0625});
    auto const osborne1 = std::to_array({.844, .908, .932, .936, .925, .908, .881, .850, .818, .784,
        .751, .718, .685, .658, .628, .603, .580, .558, .538, .522, .506, .490, .478, .467, .457,
        .448, .438, .431, .424, .420, .414, .411, .406});
    auto const osborne2 = std::to_array({1.366, 1.191, 1.112, 1.013, .991, .885, .831, .847, .786,
        .725, .746, .679, .608, .655, .616, .606, .602, .626, .651, .724, .649, .649, .694, .644,
        .624, .661, .612, .558, .533, .495, .500, .423, .395, .375, .372, .391, .396, .405, .428,
        .429, .523, .562, .607, .653, .672, .708, .633, .668, .645, .632, .591, .559, .597, .625,
        .739, .710, .729, .720, .636, .581, .428, .292, .162, .098, .054});

    auto const rosenbrock = [=](std::size_t i, auto x) {
        return i % 2 ? 10. * (x(i + 1) - square(x(i))) : 1. - x(i - 1);
    };
    auto const powell_singular = [=](std::size_t i, auto x) {
        std::size_t const k = (i - 1) / 4 * 4;
        switch (i - k) {
        case 1:
            return x(k + 1) + 10. * x(k + 2);
        case 2:
            return sqrt(5.) * (x(k + 3) - x(k + 4));
        case 3:
            return square(x(k + 2) - 2. * x(k + 3));
        default:
            return sqrt(10.) * square(x(k + 1) - x(k + 4));
        }
    };
    auto const watson = [=](std::size_t n) {
        return [=](std::size_t i, auto x) {
            if (i == 30) return 1. * x(1);
            if (i == 31) return x(2) - square(x(1)) - 1.;
            double const t = number(i) / 29;
            auto const slope = sum(
                2, n, [&](std::size_t j) { return number(j - 1) * pow(t, number(j) - 2) * x(j); });
            return slope -
                   square(sum(1, n, [&](std::size_t j) { return pow(t, number(j) - 1) * x(j); })) -
                   1.;
        };
    };
    auto const brown_almost_linear = [=](std::size_t n) {
        return [=](std::size_t i, auto x) {
            if (i < n) return x(i) + sum(1, n, x) - (number(n) + 1);
            auto product = 1. * x(1);
            for (std::size_t j = 2; j <= n; ++j) product = product * x(j);
            return product - 1.;
        };
    };
    auto const chebyquad = [=](std::size_t n) {
        return [=](std::size_t i, auto x) {
            auto const polynomial = [&](std::size_t j) { // T_i of 2 x - 1
                auto const z = 2. * x(j) - 1.;
                auto last = 0. * z + 1., now = z;
                for (std::size_t k = 1; k < i; ++k) {
                    auto const next = 2. * z * now - last;
                    last = now;
                    now = next;
                }
                return now;
            };
            return sum(1, n, polynomial) / number(n) +
                   (i % 2 ? 0. : 1 / (number(i) * number(i) - 1));
        };
    };
    auto const same = [](double v) { return [v](double) { return v; }; };
    auto const spread = [](std::size_t n) {
        return filled(n, [n](double j) { return j / (number(n) + 1); });
    };

    std::vector<Problem> all;
    auto const add = [&](auto&&... parts) { all.push_back(problem(parts...)); };
    using Point = std::vector<double>;
    add("Rosenbrock", 2u, Point{-1.2, 1}, Point{0}, rosenbrock);
    add("Freudenstein and Roth", 2u, Point{0.5, -2}, Point{0, 48.98425368},
        [=](std::size_t i, auto x) {
            return i == 1 ? -13. + x(1) + ((5. - x(2)) * x(2) - 2.) * x(2)
                          : -29. + x(1) + ((x(2) + 1.) * x(2) - 14.) * x(2);
        });
    add("Powell, badly scaled", 2u, Point{0, 1}, Point{0}, [=](std::size_t i, auto x) {
        return i == 1 ? 1e4 * x(1) * x(2) - 1. : exp(-x(1)) + exp(-x(2)) - 1.0001;
    });
    add("Brown, badly scaled", 3u, Point{1, 1}, Point{0}, [=](std::size_t i, auto x) {
        return i == 1 ? x(1) - 1e6 : i == 2 ? x(2) - 2e-6 : x(1) * x(2) - 2.;
    });
    add("Beale", 3u, Point{1, 1}, Point{0}, [=](std::size_t i, auto x) {
        auto const power = i == 1 ? 1. * x(2) : i == 2 ? x(2) * x(2) : x(2) * x(2) * x(2);
        return (i == 1 ? 1.5 : i == 2 ? 2.25 : 2.625) - x(1) * (1. - power);
    });
    add("Jennrich and Sampson", 10u, Point{0.3, 0.4}, Point{124.3621824},
        [=](std::size_t i, auto x) {
            return 2. + 2 * number(i) - (exp(number(i) * x(1)) + exp(number(i) * x(2)));
        });
    add("helical valley", 3u, Point{-1, 0, 0}, Point{0}, [=](std::size_t i, auto x) {
        if (i == 3) return 1. * x(3);
        if (i == 2) return 10. * (sqrt(x(1) * x(1) + x(2) * x(2)) - 1.);
        return 10. * (x(3) - 10. * (atan(x(2) / x(1)) / (2 * std::numbers::pi) +
                                       (std::real(x(1)) < 0 ? 0.5 : 0.)));
    });
    add("Bard", 15u, Point{1, 1, 1}, Point{8.214877307e-3, 17.42869333},
        [=](std::size_t i, auto x) {
            double const u = number(i), v = 16 - u, w = std::min(u, v);
            return bard[i - 1] - (x(1) + u / (v * x(2) + w * x(3)));
        });
    add("Gaussian", 15u, Point{0.4, 1, 0}, Point{1.127932769e-8}, [=](std::size_t i, auto x) {
        return x(1) * exp(-0.5 * x(2) * square((8 - number(i)) / 2 - x(3))) - gaussian[i - 1];
    });
    add("Meyer", 16u, Point{0.02, 4000, 250}, Point{87.94585517}, [=](std::size_t i, auto x) {
        return x(1) * exp(x(2) / (45 + 5 * number(i) + x(3))) - meyer[i - 1];
    });
    add("Gulf", 99u, Point{5, 2.5, 0.15}, Point{0}, [=](std::size_t i, auto x) {
        double const t = number(i) / 100, y = 25 + pow(-50 * std::log(t), 2. / 3);
        return exp(-pow(square(y - x(2)), x(3) / 2.) / x(1)) - t;
    });
    add("Box, three-dimensional", 10u, Point{0, 10, 20}, Point{0, 7.556e-2},
        [=](std::size_t i, auto x) {
            double const t = 0.1 * number(i);
            return exp(-t * x(1)) - exp(-t * x(2)) - x(3) * (exp(-t) - exp(-10 * t));
        });
    add("Powell, singular", 4u, Point{3, -1, 0, 1}, Point{0}, powell_singular);
    add("Wood", 6u, Point{-3, -1, -3, -1}, Point{0}, [=](std::size_t i, auto x) {
        switch (i) {
        case 1:
            return 10. * (x(2) - square(x(1)));
        case 2:
            return 1. - x(1);
        case 3:
            return sqrt(90.) * (x(4) - square(x(3)));
        case 4:
            return 1. - x(3);
        case 5:
            return sqrt(10.) * (x(2) + x(4) - 2.);
        default:
            return (x(2) - x(4)) / sqrt(10.);
        }
    });
    add("Kowalik and Osborne", 11u, Point{.25, .39, .415, .39}, Point{3.075056038e-4, 1.027342e-3},
        [=](std::size_t i, auto x) {
            double const u = kowalik_u[i - 1];
            return kowalik[i - 1] - x(1) * (u * u + u * x(2)) / (u * u + u * x(3) + x(4));
        });
    add("Brown and Dennis", 20u, Point{25, 5, -5, -1}, Point{85822.20163},
        [=](std::size_t i, auto x) {
            double const t = number(i) / 5;
            return square(x(1) + t * x(2) - exp(t)) + square(x(3) + sin(t) * x(4) - cos(t));
        });
    add("Osborne 1", 33u, Point{.5, 1.5, -1, .01, .02}, Point{5.464894697e-5},
        [=](std::size_t i, auto x) {
            double const t = 10 * (number(i) - 1);
            return osborne1[i - 1] - (x(1) + x(2) * exp(-t * x(4)) + x(3) * exp(-t * x(5)));
        });
    add("Biggs EXP6", 13u, Point{1, 2, 1, 1, 1, 1}, Point{0, 5.655649926e-3, 0.30636677},
        [=](std::size_t i, auto x) {
            double const t = 0.1 * number(i), y = exp(-t) - 5 * exp(-10 * t) + 3 * exp(-4 * t);
            return x(3) * exp(-t * x(1)) - x(4) * exp(-t * x(2)) + x(6) * exp(-t * x(5)) - y;
        });
    add("Osborne 2", 65u, Point{1.3, .65, .65, .7, .6, 3, 5, 7, 2, 4.5, 5.5}, Point{4.013773629e-2},
        [=](std::size_t i, auto x) {
            double const t = (number(i) - 1) / 10;
            return osborne2[i - 1] - (x(1) * exp(-t * x(5)) + x(2) * exp(-square(t - x(9)) * x(6)) +
                                         x(3) * exp(-square(t - x(10)) * x(7)) +
                                         x(4) * exp(-square(t - x(11)) * x(8)));
        });
    add("Watson, 6", 31u, Point(6), Point{2.287670053e-3}, watson(6));
    add("Watson, 9", 31u, Point(9), Point{1.399760138e-6}, watson(9));
    add("Watson, 12", 31u, Point(12), Point{4.722381100e-10}, watson(12));
    add("extended Rosenbrock", 10u,
        filled(10, [](double j) { return std::fmod(j, 2) == 1 ? -1.2 : 1.; }), Point{0},
        rosenbrock);
    add("extended Powell, singular", 12u,
        filled(12,
            [](double j) {
                return std::to_array({3., -1., 0., 1.})[static_cast<std::size_t>(j - 1) % 4];
            }),
        Point{0}, powell_singular);
    add("penalty I", 11u, filled(10, [](double j) { return j; }), Point{7.087651467e-5},
        [=](std::size_t i, auto x) {
            if (i <= 10) return sqrt(1e-5) * (x(i) - 1.);
            return sum(1, 10, [&](std::size_t j) { return square(x(j)); }) - 0.25;
        });
    add("penalty II", 20u, filled(10, same(0.5)), Point{2.936605374e-4},
        [=](std::size_t i, auto x) {
            double const a = sqrt(1e-5), t = number(i);
            if (i == 1) return x(1) - 0.2;
            if (i <= 10)
                return a *
                       (exp(x(i) / 10.) + exp(x(i - 1) / 10.) - (exp(t / 10) + exp((t - 1) / 10)));
            if (i < 20) return a * (exp(x(i - 9) / 10.) - exp(-0.1));
            return sum(1, 10, [&](std::size_t j) { return (11 - number(j)) * square(x(j)); }) - 1.;
        });
    add("variably dimensioned", 12u, filled(10, [](double j) { return 1 - j / 10; }), Point{0},
        [=](std::size_t i, auto x) {
            if (i <= 10) return x(i) - 1.;
            auto const all = sum(1, 10, [&](std::size_t j) { return number(j) * (x(j) - 1.); });
            return i == 11 ? all : all * all;
        });
    add("trigonometric", 10u, filled(10, same(0.1)), Point{0, 2.795056e-5},
        [=](std::size_t i, auto x) {
            return 10. - sum(1, 10, [&](std::size_t j) { return cos(x(j)); }) +
                   number(i) * (1. - cos(x(i))) - sin(x(i));
        });
    add("Brown, almost linear, 10", 10u, filled(10, same(0.5)), Point{0, 1},
        brown_almost_linear(10));
    add("Brown, almost linear, 30", 30u, filled(30, same(0.5)), Point{0, 1},
        brown_almost_linear(30));
    auto const grid = filled(10, [](double j) { return j / 11 * (j / 11 - 1); });
    add("discrete boundary value", 10u, grid, Point{0}, [=](std::size_t i, auto x) {
        double const h = 1. / 11, t = number(i) * h;
        auto const cube = x(i) + t + 1.;
        auto all = 2. * x(i) + h * h / 2 * cube * cube * cube;
        if (i > 1) all = all - x(i - 1);
        if (i < 10) all = all - x(i + 1);
        return all;
    });
    add("discrete integral equation", 10u, grid, Point{0}, [=](std::size_t i, auto x) {
        double const h = 1. / 11, t = number(i) * h;
        return x(i) + h / 2 * sum(1, 10, [&](std::size_t j) {
            double const s = number(j) * h;
            auto const cube = x(j) + s + 1.;
            return (j <= i ? (1 - t) * s : t * (1 - s)) * cube * cube * cube;
        });
    });
    add("Broyden, tridiagonal", 10u, filled(10, same(-1)), Point{0}, [=](std::size_t i, auto x) {
        auto all = (3. - 2. * x(i)) * x(i) + 1.;
        if (i > 1) all = all - x(i - 1);
        if (i < 10) all = all - 2. * x(i + 1);
        return all;
    });
    add("Broyden, banded", 10u, filled(10, same(-1)), Point{0}, [=](std::size_t i, auto x) {
        auto all = x(i) * (2. + 5. * x(i) * x(i)) + 1.;
        for (std::size_t j = i > 5 ? i - 5 : 1; j <= std::min<std::size_t>(10, i + 1); ++j)
            if (j != i) all = all - x(j) * (1. + x(j));
        return all;
    });
    add("linear, full rank", 10u, filled(5, same(1)), Point{5}, [=](std::size_t i, auto x) {
        auto const all = -0.2 * sum(1, 5, x) - 1.;
        return i <= 5 ? x(i) + all : all;
    });
    add("linear, rank 1", 10u, filled(5, same(1)), Point{45. / 21}, [=](std::size_t i, auto x) {
        return number(i) * sum(1, 5, [&](std::size_t j) { return number(j) * x(j); }) - 1.;
    });
    add("linear, rank 1 with zeros", 10u, filled(5, same(1)), Point{62. / 17},
        [=](std::size_t i, auto x) {
            return (i == 10 ? 0 : number(i - 1)) * sum(2, 4, [&](std::size_t j) {
                return number(j) * x(j);
            }) - 1.;
        });
    add("Chebyquad, 1", 8u, spread(1), Point{3.557905}, chebyquad(1));
    add("Chebyquad, 8", 8u, spread(8), Point{3.516873726e-3}, chebyquad(8));
    add("Chebyquad, 9", 9u, spread(9), Point{0}, chebyquad(9));
    add("Chebyquad, 10", 10u, spread(10), Point{4.772713e-3, 6.503954801e-3}, chebyquad(10));
    return all;
}

} // namespace more_garbow_hillstrom
