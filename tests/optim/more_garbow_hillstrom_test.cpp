// least_squares() beside MINPACK's lmder on the problems of Moré, Garbow and Hillstrom, from the
// standard starting point, and from ten and a hundred times that.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include <xgrad/least_squares.hpp>

#include "more_garbow_hillstrom.hpp"

namespace xg = xgrad;

namespace {

using D = xg::Tensor<double>;
using more_garbow_hillstrom::Problem;

/// How often lmder calls the residual (Eigen's port, ftol = xtol = sqrt(epsilon), gtol = 0, at most
/// 200 (n + 1) times), for each problem and start; 0 where it does not end at a known minimum.
/// benchmarks/least_squares.cpp counts again.
constexpr int lmder_calls[][3] = {{21, 8, 6}, {14, 19, 24}, {19, 0, 0}, {16, 17, 20}, {9, 0, 0},
    {21, 0, 0}, {11, 20, 19}, {6, 34, 11}, {4, 13, 25}, {126, 0, 286}, {23, 2, 0}, {7, 0, 0},
    {65, 81, 71}, {70, 71, 82}, {18, 78, 514}, {254, 53, 241}, {18, 86, 638}, {49, 57, 65},
    {16, 0, 0}, {8, 14, 15}, {8, 20, 18}, {10, 13, 34}, {21, 8, 6}, {63, 102, 70}, {79, 44, 90},
    {80, 37, 166}, {11, 13, 16}, {28, 38, 37}, {14, 13, 0}, {4, 0, 0}, {5, 6, 11}, {5, 6, 11},
    {6, 10, 13}, {7, 13, 19}, {3, 3, 3}, {3, 3, 3}, {3, 3, 3}, {1, 0, 0}, {39, 0, 0}, {12, 1043, 0},
    {25, 0, 0}};

std::vector<double> solved_ratios(xg::LeastSquaresOptions const& options, std::size_t column,
    std::vector<Problem> const& problems, int& solved) {
    std::vector<double> ratios; // of calls, where both solve a problem
    double const factor = std::pow(10., column);
    for (std::size_t k = 0; k < problems.size(); ++k) {
        auto const& p = problems[k];
        CAPTURE(p.name);
        CAPTURE(factor);
        D const start(p.start_times(factor));
        auto const values = p.values(start.data());
        if (!std::isfinite(std::inner_product(values.begin(), values.end(), values.begin(), 0.)))
            continue;
        auto const r = xg::least_squares(
            [&](D const& x) { return more_garbow_hillstrom::Residual::apply(x, &p); }, start,
            options);
        bool const is_solved = p.is_minimum(2 * r.cost);
        solved += is_solved;
        INFO(r.message);
        // Success is a known minimum, or another stationary point.
        if (r.success) CHECK((is_solved || p.cosine(r.x.data()) < 1e-3));
        if (is_solved && lmder_calls[k][column])
            ratios.push_back(static_cast<double>(r.nfev) / lmder_calls[k][column]);
    }
    return ratios;
}

} // namespace

TEST_CASE("the problems of Moré, Garbow and Hillstrom are solved as by lmder, in as many calls") {
    auto const problems = more_garbow_hillstrom::problems();
    REQUIRE(problems.size() == std::size(lmder_calls));
    for (std::size_t const column : {0u, 1u, 2u}) {
        CAPTURE(column);
        int solved = 0;
        auto const ratios = solved_ratios({}, column, problems, solved);
        CHECK(solved >= std::ranges::count_if(
                            lmder_calls, [&](auto const& calls) { return calls[column] > 0; }));
        double sum = 0, logarithms = 0;
        for (double const ratio : ratios) {
            sum += ratio;
            logarithms += std::log(ratio);
        }
        auto const count = static_cast<double>(ratios.size());
        CHECK(sum / count < 1.3);
        CHECK(std::exp(logarithms / count) < 1.1);
    }
}

TEST_CASE("the other methods solve them from the standard start") {
    auto const problems = more_garbow_hillstrom::problems();
    for (auto const* method : {"lmaccel", "dogleg"}) {
        CAPTURE(std::string(method));
        int solved = 0;
        auto const ratios = solved_ratios({.method = method}, 0, problems, solved);
        CHECK(solved == 41);
    }
}

TEST_CASE("conjugate gradients take no other point for a minimum") {
    auto const problems = more_garbow_hillstrom::problems();
    constexpr int at_least[] = {38, 35};
    for (std::size_t const column : {0u, 1u}) {
        CAPTURE(column);
        int solved = 0;
        solved_ratios({.linear_solver = "cg"}, column, problems, solved);
        CHECK(solved >= at_least[column]);
    }
}
