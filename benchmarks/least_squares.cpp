// Nonlinear least squares beside Ceres, Eigen's Levenberg-Marquardt and SciPy, one thread each: a
// sum of eight bells, NIST's problems, and those of Moré, Garbow and Hillstrom. Widely linear steps
// beside holomorphic ones.
//
// option: --nist   prints the digits of NIST's parameters that are right, as a table
#include <benchmark/benchmark.h>
#include <ceres/ceres.h>
#include <glog/logging.h>
#include <xgrad/least_squares.hpp>

#include <unsupported/Eigen/LevenbergMarquardt>

#include <string_view>

#include "../tests/optim/more_garbow_hillstrom.hpp"
#include "../tests/optim/nist.hpp"
#include "table.hpp"

namespace xg = xgrad;
using D = xg::Tensor<double>;
using C = std::complex<double>;
using Z = xg::Tensor<C>;

/// y(t) = sum of a exp(-((t - c) / w)^2) with eight bells, 1000 points in [0, 1].
namespace bells {

constexpr std::size_t count = 8, parameters = 3 * count, points = 1000;
double time_of(std::size_t i) { return static_cast<double>(i) / (points - 1); }
template <class T> T value(T const* p, double t) {
    T sum(0.);
    for (std::size_t k = 0; k < count; ++k) {
        T const z = (t - p[count + k]) / p[2 * count + k];
        sum += p[k] * exp(-z * z);
    }
    return sum;
}
/// `off` moves the start away from the truth. curve_fit.py has the same numbers.
std::vector<double> parameters_at(double off) {
    std::vector<double> p(parameters);
    for (std::size_t k = 0; k < count; ++k) {
        double const sign = k % 2 ? -1 : 1, place = static_cast<double>(k);
        p[k] = 1 + 0.1 * place + 0.3 * off;
        p[count + k] = (place + 0.5) / count + 0.01 * off * sign;
        p[2 * count + k] = 0.05 + 0.01 * off * sign;
    }
    return p;
}
std::vector<double> measured() {
    auto const truth = parameters_at(0);
    std::vector<double> y(points);
    for (std::size_t i = 0; i < points; ++i)
        y[i] = value(truth.data(), time_of(i)) + 0.01 * std::sin(1e4 * time_of(i) * time_of(i));
    return y;
}
std::vector<double> const y = measured(), start = parameters_at(1);

double by_xgrad() {
    static D const t = xg::linspace<double>(0., 1., points).reshape({points, 1}), data(y);
    auto const residual = [](D const& p) {
        auto const z = (t - p(1)) / p(2);
        return D(sum(p(0) * exp(-z * z), 1) - data);
    };
    return xg::least_squares(residual, D(start).reshape({3, count})).cost;
}

struct Residual {
    template <class T> bool operator()(T const* p, T* r) const {
        for (std::size_t i = 0; i < points; ++i) r[i] = value(p, time_of(i)) - y[i];
        return true;
    }
};
double by_ceres() {
    auto p = start;
    ceres::Problem problem;
    problem.AddResidualBlock(
        new ceres::AutoDiffCostFunction<Residual, points, parameters>(new Residual), nullptr,
        p.data());
    ceres::Solver::Options options;
    options.linear_solver_type = ceres::DENSE_QR;
    options.function_tolerance = options.parameter_tolerance = options.gradient_tolerance = 1e-8;
    options.logging_type = ceres::SILENT;
    ceres::Solver::Summary summary;
    ceres::Solve(options, &problem, &summary);
    return summary.final_cost;
}

/// With the Jacobian by hand.
struct EigenFunctor : Eigen::DenseFunctor<double> {
    EigenFunctor() : DenseFunctor(parameters, points) {}
    int operator()(InputType const& p, ValueType& r) const {
        Residual()(p.data(), r.data());
        return 0;
    }
    int df(InputType const& p, JacobianType& j) const {
        for (std::size_t k = 0; k < count; ++k)
            for (std::size_t i = 0; i < points; ++i) {
                auto const row = static_cast<Eigen::Index>(i), at = static_cast<Eigen::Index>(k);
                auto const n = static_cast<Eigen::Index>(count);
                double const w = p[at + 2 * n], z = (time_of(i) - p[at + n]) / w,
                             e = std::exp(-z * z);
                j(row, at) = e;
                j(row, at + n) = 2 * p[at] * e * z / w;
                j(row, at + 2 * n) = 2 * p[at] * e * z * z / w;
            }
        return 0;
    }
};
double by_eigen() {
    EigenFunctor f;
    Eigen::LevenbergMarquardt<EigenFunctor> lm(f);
    lm.setFtol(1e-8);
    lm.setXtol(1e-8);
    Eigen::VectorXd p = Eigen::Map<Eigen::VectorXd const>(start.data(), parameters);
    lm.minimize(p);
    return lm.fnorm() * lm.fnorm() / 2;
}
/// The nanoseconds and the cost that curve_fit.py measured; none without Python or SciPy.
std::optional<std::pair<double, double>> by_scipy() {
    std::string const file = __FILE__;
    auto const script = file.substr(0, file.rfind('/')) + "/curve_fit.py";
    auto const command = "(python3 " + script + " || /usr/bin/python3 " + script + ") 2> /dev/null";
    std::FILE* const out = popen(command.c_str(), "r");
    double ns = 0, cost = 0;
    bool const ran = out && std::fscanf(out, "%lf %lf", &ns, &cost) == 2;
    if (out) pclose(out);
    return ran ? std::optional(std::pair(ns, cost)) : std::nullopt;
}
void row() {
    auto const agree = [](char const* who, double cost) {
        if (std::abs(cost - by_xgrad()) <= 1e-6 * cost) return;
        std::fprintf(
            stderr, "bells: %s ends at the cost %.12g, xgrad at %.12g\n", who, cost, by_xgrad());
        std::exit(1);
    };
    agree("Ceres", by_ceres());
    agree("Eigen", by_eigen());
    bench::Case("fit of eight bells, 24 parameters", points)
        .peer("Ceres", by_ceres)
        .peer("Eigen", by_eigen)
        .xgrad(by_xgrad);
    if (auto const scipy = by_scipy()) {
        agree("SciPy", scipy->second);
        bench::rows().back().peers.emplace_back("SciPy", std::vector{scipy->first});
    }
}

} // namespace bells

namespace nist_fits {

struct Row {
    double const* x;
    std::size_t stride;
    double operator()(std::size_t k) const { return x[k * stride]; }
};
using Jet = ceres::Jet<double, 9>; // as many parameters as a problem has at most
struct Parameters {
    Jet const* const* b;
    Jet const& operator()(std::size_t i) const { return b[0][i]; }
};
nist::Models<D, D, D, D> const of_tensors;
nist::Models<Jet, double, Parameters, Row> const of_jets;

std::vector<double> by_method(
    char const* method, nist::Problem const& p, std::vector<double> const& start) {
    D const x = D(p.x).reshape({p.predictors, p.y.size()}), y(p.y);
    auto const& model = of_tensors.all.at(p.name);
    auto const found = xg::least_squares([&](D const& b) { return D(model(b, x) - y); }, D(start),
        {.method = method, .ftol = 0, .xtol = 1e-14, .gtol = 0, .max_nfev = 5000});
    return {found.x.data(), found.x.data() + start.size()};
}
std::vector<double> by_xgrad(nist::Problem const& p, std::vector<double> const& start) {
    return by_method("lmaccel", p, start);
}
std::vector<double> by_lm(nist::Problem const& p, std::vector<double> const& start) {
    return by_method("lm", p, start);
}

struct Cost final : ceres::CostFunction {
    nist::Problem const& p;
    decltype(of_jets)::Model const& model;

    explicit Cost(nist::Problem const& problem) : p(problem), model(of_jets.all.at(p.name)) {
        set_num_residuals(static_cast<int>(p.y.size()));
        mutable_parameter_block_sizes()->push_back(static_cast<int>(p.certified.size()));
    }
    bool Evaluate(double const* const* b, double* r, double** jacobian) const override {
        std::size_t const n = p.certified.size();
        Jet jets[9];
        for (std::size_t i = 0; i < n; ++i) jets[i] = Jet(b[0][i], static_cast<int>(i));
        Jet const* const all = jets;
        for (std::size_t k = 0; k < p.y.size(); ++k) {
            Jet const y = model({&all}, {p.x.data() + k, p.y.size()}) - p.y[k];
            r[k] = y.a;
            if (jacobian && jacobian[0]) std::copy_n(y.v.data(), n, jacobian[0] + k * n);
        }
        return true;
    }
};
/// With the options of Ceres' own test of these problems.
std::vector<double> by_ceres(nist::Problem const& p, std::vector<double> const& start) {
    auto b = start;
    ceres::Problem problem;
    problem.AddResidualBlock(new Cost(p), nullptr, b.data());
    ceres::Solver::Options options;
    options.linear_solver_type = ceres::DENSE_QR;
    options.max_num_iterations = 2000;
    options.function_tolerance = options.gradient_tolerance = options.parameter_tolerance =
        std::numeric_limits<double>::epsilon();
    options.logging_type = ceres::SILENT;
    ceres::Solver::Summary summary;
    ceres::Solve(options, &problem, &summary);
    return b;
}
double digits(nist::Problem const& p, std::vector<double> const& found) {
    double least = nist::certified_digits;
    for (std::size_t i = 0; i < found.size(); ++i)
        least = std::min(least, nist::digits(found[i], p.certified[i]));
    return std::max(least, 0.);
}

auto const problems = nist::read_problems();
template <class Fit> double all_of(Fit fit) {
    double sum = 0;
    for (auto const& p : problems)
        for (auto const& start : p.start) sum += fit(p, start)[0];
    return sum;
}
void add_rows() {
    bench::Case("NIST: all starts to the last digits", 2 * problems.size())
        .peer("Ceres", [] { return all_of(by_ceres); })
        .xgrad([] { return all_of(by_xgrad); });
    auto const count = [](char const* who, auto fit) {
        for (double const least : {4., 6., 9.}) {
            double solved = 0;
            for (auto const& p : problems)
                for (auto const& start : p.start) solved += digits(p, fit(p, start)) >= least;
            bench::Case("NIST: " + std::to_string(static_cast<int>(least)) + " digits, by " + who,
                2 * problems.size())
                .found(solved, "starts");
        }
    };
    count("xgrad", by_xgrad);
    count("xgrad's lm", by_lm);
    count("Ceres", by_ceres);
}
void print_table() {
    std::puts(
        "| problem | xgrad, start 1 | Ceres | xgrad, start 2 | Ceres |\n|---|---|---|---|---|");
    for (auto const& p : problems) {
        std::printf("| %s |", p.name.c_str());
        for (auto const& start : p.start)
            std::printf(
                " %.1f | %.1f |", digits(p, by_xgrad(p, start)), digits(p, by_ceres(p, start)));
        std::puts("");
    }
}

} // namespace nist_fits

namespace more_garbow_hillstrom {

struct Functor : Eigen::DenseFunctor<double> {
    Problem const& p;
    mutable int calls = 0;

    explicit Functor(Problem const& problem)
        : DenseFunctor(static_cast<int>(problem.n), static_cast<int>(problem.m)), p(problem) {}
    int operator()(InputType const& x, ValueType& r) const {
        ++calls;
        p.residual(x.data(), r.data());
        return 0;
    }
    int df(InputType const& x, JacobianType& j) const {
        auto const all = p.jacobian(x.data());
        j = Eigen::Map<Eigen::MatrixXd const>(all.data(), j.rows(), j.cols());
        return 0;
    }
};
/// The sum of squares at the end, and the calls of the residual.
std::pair<double, double> by_eigen(Problem const& p, std::vector<double> const& start) {
    Functor f(p);
    Eigen::LevenbergMarquardt<Functor> lm(f);
    lm.setMaxfev(200 * static_cast<Eigen::Index>(p.n + 1));
    Eigen::VectorXd x = Eigen::Map<Eigen::VectorXd const>(start.data(), f.inputs());
    lm.minimize(x);
    return {lm.fnorm() * lm.fnorm(), f.calls};
}
std::pair<double, double> by_xgrad(Problem const& p, std::vector<double> const& start) {
    try {
        auto const r =
            xg::least_squares([&](D const& x) { return Residual::apply(x, &p); }, D(start));
        return {2 * r.cost, r.nfev};
    } catch (xg::Error const&) { // not finite at the start
        return {std::numeric_limits<double>::infinity(), 1};
    }
}
void add_rows() {
    auto const all = problems();
    for (double const factor : {1., 10., 100.}) {
        double solved[2] = {}, ratio = 0, both = 0;
        for (auto const& p : all) {
            auto const start = p.start_times(factor);
            std::pair<double, double> const found[] = {by_eigen(p, start), by_xgrad(p, start)};
            bool const is_solved[] = {p.is_minimum(found[0].first), p.is_minimum(found[1].first)};
            for (int k : {0, 1}) solved[k] += is_solved[k];
            if (!is_solved[0] || !is_solved[1]) continue;
            ratio += found[1].second / found[0].second;
            ++both;
        }
        auto const name = "Moré, Garbow, Hillstrom, " + std::to_string(static_cast<int>(factor)) +
                          " times the start: ";
        bench::Case(name + "solved by Eigen's lmder", all.size()).found(solved[0], "problems");
        bench::Case(name + "solved by xgrad", all.size()).found(solved[1], "problems");
        bench::Case(name + "calls, as a multiple of lmder's", all.size())
            .found(ratio / both, "")
            .max_value(1.3);
    }
}

} // namespace more_garbow_hillstrom

/// sin(A z) = y with 4 n residuals: a few steps that all are accepted.
void add_steps(std::size_t n, char const* solver) {
    Z const a = Z(xg::randn<C>({4 * n, n}) / std::sqrt(static_cast<double>(n))),
            y = xg::randn<C>({4 * n}), start = xg::randn<C>({n});
    auto const steps = [=](bool holomorphic) {
        return [=] {
            return xg::least_squares([&](Z const& z) { return Z(sin(matmul(a, z)) - y); }, start,
                {.linear_solver = solver,
                    .ftol = 0,
                    .xtol = 0,
                    .gtol = 0,
                    .max_nfev = 6,
                    .holomorphic = holomorphic})
                .cost;
        };
    };
    bench::agree(solver, steps(true)(), steps(false)());
    bench::Case(std::string("widely linear steps: ") + solver, n)
        .peer("holomorphic", steps(true))
        .xgrad(steps(false))
        .at_most(2);
}

int main(int argc, char** argv) {
    FLAGS_minloglevel = google::GLOG_FATAL; // Ceres warns of each step that is not finite
    if (argc > 1 && std::string_view(argv[1]) == "--nist") {
        nist_fits::print_table();
        return 0;
    }
    xg::manual_seed(1);
    for (auto const* solver : {"qr", "cholesky"})
        for (std::size_t const n : {16u, 64u, 128u}) add_steps(n, solver);
    bells::row();
    nist_fits::add_rows();
    more_garbow_hillstrom::add_rows();
    return bench::run(argc, argv);
}
