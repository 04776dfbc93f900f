// A bundle adjustment of the size of BAL's problem-16-22106, beside Ceres: 16 cameras with 9
// numbers each (angle-axis, translation, focal length, two coefficients of distortion), 22,106
// points and 83,718 observations, generated with noise and outliers, the same ones in every run.
// Both start at the same point with Huber's loss, eliminate the points first, stop where a step
// changes the cost relatively by less than 1e-6, and use one thread. Prints how long each takes,
// and takes to the cost that Ceres ends with; the least of three runs in turn.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <tuple>
#include <vector>

#include <ceres/ceres.h>

#include <xgrad/least_squares.hpp>
#include <xgrad/map.hpp>

#include "table.hpp"

namespace xg = xgrad;

namespace {

using D = xg::Tensor<double>;
using I = xg::Tensor<std::int64_t>;
using Clock = std::chrono::steady_clock;

constexpr std::size_t cameras = 16, points = 22106, observations = 83718;

/// BAL's camera: (u, v) of the point (x, y, z).
template <class T>
std::pair<T, T> project(T a, T b, T c, T tx, T ty, T tz, T focal, T k1, T k2, T x, T y, T z) {
    using std::cos, std::sin, std::sqrt;
    T const theta = sqrt(a * a + b * b + c * c + 1e-30), over = 1. / theta;
    T const cosine = cos(theta), sine = sin(theta) * over;
    T const dot = (a * x + b * y + c * z) * (1. - cosine) * over * over;
    T const px = x * cosine + (b * z - c * y) * sine + a * dot + tx,
            py = y * cosine + (c * x - a * z) * sine + b * dot + ty,
            pz = z * cosine + (a * y - b * x) * sine + c * dot + tz;
    T const depth = -1. / pz, u = px * depth, v = py * depth, r2 = u * u + v * v;
    T const scale = focal * (1. + r2 * (k1 + k2 * r2));
    return {scale * u, scale * v};
}

/// Numbers that look random, the same with every compiler.
struct Random {
    std::uint64_t state = 1;

    double uniform() { // in [-1, 1)
        state = state * 6364136223846793005u + 1442695040888963407u;
        return static_cast<double>(state >> 11) / static_cast<double>(std::uint64_t{1} << 52) - 1;
    }
    double normal() { // a sum of 12 has the variance 4
        double sum = 0;
        for (int i = 0; i < 12; ++i) sum += uniform();
        return sum / 2;
    }
};

struct Problem {
    std::vector<double> camera, point, observed; // (16, 9), (22106, 3) and (83718, 2)
    std::vector<std::int64_t> camera_of, point_of;

    Problem() {
        Random random;
        for (std::size_t i = 0; i < cameras; ++i) {
            double const angle = 0.08 * (static_cast<double>(i) - 7.5);
            for (double const number : {0.05 * random.uniform(), angle, 0.05 * random.uniform(),
                     0.2 * random.uniform(), 0.2 * random.uniform(), -10 + 0.5 * random.uniform(),
                     800 + 40 * random.uniform(), -0.05, 0.01})
                camera.push_back(number);
        }
        for (std::size_t i = 0; i < 3 * points; ++i) point.push_back(3 * random.uniform());
        for (std::size_t i = 0; i < points; ++i) {
            std::size_t const count =
                3 + (i % 4 == 0 ? 3 : 0) + (i % 27 == 1 && i / 27 < 819 ? 1 : 0);
            auto const first = static_cast<std::size_t>((random.uniform() + 1) / 2 * cameras);
            for (std::size_t k = 0; k < count && camera_of.size() < observations; ++k) {
                camera_of.push_back(static_cast<std::int64_t>((first + 5 * k) % cameras));
                point_of.push_back(static_cast<std::int64_t>(i));
                double const* const c = camera.data() + 9 * camera_of.back();
                double const* const p = point.data() + 3 * i;
                auto const [u, v] =
                    project(c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], c[8], p[0], p[1], p[2]);
                double const far = random.uniform() > 0.96 ? 60 : 0.5; // one of fifty is an outlier
                observed.push_back(u + far * random.normal());
                observed.push_back(v + far * random.normal());
            }
        }
        for (std::size_t i = 0; i < camera.size(); ++i) {
            constexpr double off[] = {0.01, 0.01, 0.01, 0.1, 0.1, 0.1, 10, 0.02, 0.005};
            camera[i] += off[i % 9] * random.uniform();
        }
        for (auto& x : point) x += 0.1 * random.uniform();
    }
};

struct Reprojection {
    double u, v;

    template <class T> bool operator()(T const* c, T const* p, T* residual) const {
        auto const [x, y] =
            project(c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], c[8], p[0], p[1], p[2]);
        residual[0] = x - u;
        residual[1] = y - v;
        return true;
    }
};

struct Run {
    double seconds = 1e300, cost = 0;
    std::vector<std::pair<double, double>> trace; // seconds and cost after each step
    std::size_t steps = 0;

    void keep_faster(Run const& other) {
        if (other.seconds < seconds) *this = other;
    }
};

double since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

Run by_ceres(Problem const& given) {
    auto camera = given.camera, point = given.point;
    ceres::Problem problem;
    for (std::size_t i = 0; i < given.camera_of.size(); ++i)
        problem.AddResidualBlock(
            new ceres::AutoDiffCostFunction<Reprojection, 2, 9, 3>(
                new Reprojection{given.observed[2 * i], given.observed[2 * i + 1]}),
            new ceres::HuberLoss(1.), camera.data() + 9 * given.camera_of[i],
            point.data() + 3 * given.point_of[i]);
    ceres::Solver::Options options;
    options.linear_solver_type = ceres::DENSE_SCHUR;
    options.num_threads = 1;
    options.max_num_iterations = 500;
    options.logging_type = ceres::SILENT;
    ceres::Solver::Summary summary;
    auto const start = Clock::now();
    ceres::Solve(options, &problem, &summary);
    Run run{since(start), summary.final_cost, {}, summary.iterations.size() - 1};
    for (auto const& step : summary.iterations)
        run.trace.emplace_back(step.cumulative_time_in_seconds, step.cost);
    return run;
}

Run by_xgrad(Problem const& given) {
    using xg::all;
    auto const m = static_cast<std::ptrdiff_t>(given.camera_of.size());
    D const observed = reshape(D(given.observed), {m, 2});
    auto const reprojection = [&](D const& c, D const& p) {
        auto const image = [&](auto f) {
            return xg::map(f, c(all, 0), c(all, 1), c(all, 2), c(all, 3), c(all, 4), c(all, 5),
                c(all, 6), c(all, 7), c(all, 8), p(all, 0), p(all, 1), p(all, 2));
        };
        D const u = image([](auto... x) { return project(x...).first; }) - observed(all, 0),
                v = image([](auto... x) { return project(x...).second; }) - observed(all, 1);
        return stack(std::vector<D>{u, v}, 1);
    };
    auto const residual = xg::by_rows(reprojection, I(given.camera_of), I(given.point_of));
    std::tuple const x(
        reshape(D(given.camera), {cameras, 9}), reshape(D(given.point), {points, 3}));
    Run run;
    auto const start = Clock::now();
    auto const r = xg::least_squares(residual, x,
        {.ftol = 1e-6, .loss = "huber", .callback = [&](xg::LeastSquaresStep const& s) {
             run.trace.emplace_back(since(start), s.cost);
         }});
    run.seconds = since(start);
    run.cost = r.cost;
    run.steps = r.nit;
    return run;
}

} // namespace

int main(int argc, char** argv) {
    int const repetitions = 3;
    Problem const problem;
    std::printf(
        "%zu cameras, %zu points, %zu observations\n", cameras, points, problem.camera_of.size());
    Run ceres, ours;
    for (int i = 0; i < repetitions; ++i) {
        std::fprintf(stderr, "\rrun %d of %d", i + 1, repetitions);
        ceres.keep_faster(by_ceres(problem));
        ours.keep_faster(by_xgrad(problem));
    }
    std::fprintf(stderr, "\r");
    double const wanted = ceres.cost * (1 + 1e-6);
    auto const until = [&](Run const& run) {
        for (auto const& [seconds, cost] : run.trace)
            if (cost <= wanted) return seconds;
        return std::nan("");
    };
    std::printf("%-24s%12s%16s%8s%16s\n", "", "seconds", "cost", "steps", "to Ceres' cost");
    for (auto const& [name, run] :
        {std::pair("Ceres, DENSE_SCHUR", &ceres), std::pair("xgrad, by_rows", &ours)})
        std::printf("%-24s%12.3f%16.6f%8zu%16.3f\n", name, run->seconds, run->cost, run->steps,
            until(*run));
    bench::Case("bundle adjustment: to Ceres' cost, xgrad / Ceres", observations)
        .found(until(ours) / until(ceres), "x")
        .max_value(1);
    bench::Case("bundle adjustment: steps by Ceres", observations)
        .found(static_cast<double>(ceres.steps), "");
    return bench::run(argc, argv);
}
