// NIST's 27 problems of nonlinear regression, from both of its starting points, with the digits of
// the parameters, of their standard deviations and of the residual sum of squares that are
// certified, and with the calls of the residual: docs/least_squares.md has a table of them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <xgrad/least_squares.hpp>

#include "nist.hpp"

namespace xg = xgrad;

namespace {
using D = xg::Tensor<double>;

/// The table of docs/least_squares.md: what a row says of a problem, in five columns for each
/// start.
std::map<std::string, std::vector<double>> documented() {
    std::ifstream page(
        std::filesystem::path(__FILE__).parent_path() / "../../docs/least_squares.md");
    std::map<std::string, std::vector<double>> rows;
    for (std::string line; std::getline(page, line);) {
        std::istringstream cells(line);
        std::string bar, name, level;
        if (!(cells >> bar >> name >> bar >> level) || bar != "|") continue;
        std::vector<double> numbers;
        for (double number; cells >> bar >> number;) numbers.push_back(number);
        if (numbers.size() == 10) rows[name] = numbers;
    }
    return rows;
}
} // namespace

TEST_CASE("NIST's problems of nonlinear regression") {
    auto const problems = nist::read_problems();
    nist::Models<D, D, D, D> const models;
    constexpr double certified = nist::certified_digits;
    CHECK(problems.size() == 27);
    bool const prints = std::getenv("XGRAD_NIST_TABLE"); // that of docs/least_squares.md
    auto const table = documented();
    CHECK(table.size() == problems.size());
    double total = 0;
    for (auto const& p : problems) {
        if (prints) std::cout << "| " << p.name << " | " << p.level << std::fixed << " |";
        D const x = D(p.x).reshape({p.predictors, p.y.size()}), y(p.y);
        auto const residual = [&](D const& b) { return D(models.all.at(p.name)(b, x) - y); };
        for (std::size_t s = 0; s < 2; ++s) {
            auto const& start = p.start[s];
            auto const r = xg::least_squares(residual, D(start),
                {.method = "lmaccel", .ftol = 0, .xtol = 1e-14, .gtol = 0, .max_nfev = 5000});
            auto const covariance = r.covariance();
            double parameters = certified, deviations = certified;
            for (std::size_t i = 0; i < p.certified.size(); ++i) {
                parameters = std::min(parameters, nist::digits(r.x(i).item(), p.certified[i]));
                deviations = std::min(
                    deviations, nist::digits(std::sqrt(covariance(i, i).item()), p.deviation[i]));
            }
            double const squares = nist::digits(2 * r.cost, p.squares);
            total += parameters;
            INFO(p.name, ": ", r.message);
            CHECK(r.success);
            CHECK(parameters > 9.4);
            // Its residuals of 1e-13 are rounding errors: the values are sums of exponentials.
            if (p.name != "Lanczos1") {
                CHECK(deviations > 9.4);
                CHECK(squares > 9.8);
            }
            // Other compilers round otherwise, which some problems feel: digits and calls differ.
            double const* const row = table.at(p.name).data() + 5 * s;
            CHECK(std::abs(parameters - row[0]) < 1);
            CHECK(std::abs(static_cast<double>(r.nfev) - row[4]) < 10 + 0.5 * row[4]);
            if (prints)
                std::cout << std::setprecision(1) << ' ' << parameters << " | " << deviations
                          << " | " << squares << " | " << r.nfev << " |";
        }
        if (prints) std::cout << '\n';
    }
    CHECK(total / 54 > 10.6);
}

TEST_CASE("Cauchy's point is the step of dogleg where the full step overflows") {
    // From here the parameters run away, until a column of the Jacobian is 1e-160.
    auto const problems = nist::read_problems();
    auto const& p = *std::ranges::find(problems, "MGH17", &nist::Problem::name);
    nist::Models<D, D, D, D> const models;
    D const x = D(p.x).reshape({p.predictors, p.y.size()}), y(p.y);
    auto const residual = [&](D const& b) { return D(models.all.at(p.name)(b, x) - y); };
    auto const r = xg::least_squares(residual, D(p.start[0]),
        {.method = "dogleg",
            .ftol = 0,
            .xtol = 1e-14,
            .gtol = 0,
            .max_nfev = 200,
            .callback = [](xg::LeastSquaresStep const& step) {
                CHECK(std::isfinite(step.step_norm));
            }});
    CHECK(r.message == "not converged: the residual was called 200 times, and max_nfev is 200");
}
