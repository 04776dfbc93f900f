// A graph of 100 x 100 poses in the plane, each measured from its neighbours, beside Ceres with
// Eigen's sparse Cholesky, one thread each. Both start at the same poses, which drift, and stop
// where a step changes the cost relatively by less than 1e-6. What takes the time is the
// factorisation of a sparse matrix of 30,000 rows.
#include <benchmark/benchmark.h>
#include <ceres/ceres.h>
#include <xgrad/least_squares.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "table.hpp"

namespace xg = xgrad;

namespace {

using D = xg::Tensor<double>;
using I = xg::Tensor<std::int64_t>;

constexpr std::size_t side = 100, poses = side * side;

/// What pose a sees of pose b: (x, y, angle).
template <class T> void relative(T const* a, T const* b, T* seen) {
    using std::cos, std::sin;
    T const c = cos(a[2]), s = sin(a[2]), x = b[0] - a[0], y = b[1] - a[1];
    seen[0] = c * x + s * y;
    seen[1] = c * y - s * x;
    seen[2] = b[2] - a[2];
}

struct Graph {
    std::vector<std::int64_t> ends;      // (m, 2)
    std::vector<double> measured, start; // (m, 3) and (poses, 3)

    Graph() {
        std::vector<double> truth;
        for (std::size_t i = 0; i < poses; ++i) {
            auto const at = static_cast<double>(i);
            for (double const number :
                {static_cast<double>(i % side), static_cast<double>(i / side), std::sin(at)})
                truth.push_back(number);
            start.insert(start.end(),
                {truth[3 * i] + 0.1 * std::sin(3 * at), truth[3 * i + 1] + 0.1 * std::cos(5 * at),
                    truth[3 * i + 2] + 0.1 * std::sin(7 * at)});
        }
        start[0] = start[1] = 0; // the first pose stays where it is
        start[2] = truth[2];
        for (std::size_t i = 0; i < poses; ++i)
            for (std::size_t const j : {i % side + 1 < side ? i + 1 : poses, i + side})
                if (j < poses) {
                    double seen[3];
                    relative(truth.data() + 3 * i, truth.data() + 3 * j, seen);
                    for (double const x : seen)
                        measured.push_back(
                            x + 0.01 * std::sin(static_cast<double>(measured.size())));
                    ends.push_back(static_cast<std::int64_t>(i));
                    ends.push_back(static_cast<std::int64_t>(j));
                }
    }
};
Graph const graph;

struct Edge {
    double const* measured;

    template <class T> bool operator()(T const* a, T const* b, T* residual) const {
        relative(a, b, residual);
        for (int k = 0; k < 3; ++k) residual[k] -= measured[k];
        return true;
    }
};

double by_ceres() {
    auto pose = graph.start;
    ceres::Problem problem;
    for (std::size_t i = 0; i < graph.ends.size() / 2; ++i)
        problem.AddResidualBlock(
            new ceres::AutoDiffCostFunction<Edge, 3, 3, 3>(new Edge{graph.measured.data() + 3 * i}),
            nullptr, pose.data() + 3 * graph.ends[2 * i], pose.data() + 3 * graph.ends[2 * i + 1]);
    problem.SetParameterBlockConstant(pose.data());
    ceres::Solver::Options options;
    options.linear_solver_type = ceres::SPARSE_NORMAL_CHOLESKY;
    options.sparse_linear_algebra_library_type = ceres::EIGEN_SPARSE;
    options.num_threads = 1;
    options.logging_type = ceres::SILENT;
    ceres::Solver::Summary summary;
    ceres::Solve(options, &problem, &summary);
    return summary.final_cost;
}

double by_xgrad() {
    using xg::all;
    auto const m = static_cast<std::ptrdiff_t>(graph.ends.size() / 2);
    D const measured = reshape(D(graph.measured), {m, 3});
    auto const residual = [&](D const& pair) {
        auto const of = [&](int end, int k) { return pair(all, end, k); };
        auto const c = cos(of(0, 2));
        auto const s = sin(of(0, 2));
        auto const x = of(1, 0) - of(0, 0), y = of(1, 1) - of(0, 1);
        return stack(
            std::vector<D>{D(c * x + s * y - measured(all, 0)), D(c * y - s * x - measured(all, 1)),
                D(of(1, 2) - of(0, 2) - measured(all, 2))},
            1);
    };
    xg::Tensor<bool> fixed = xg::zeros<bool>({poses, 3});
    std::fill_n(fixed.mutable_data(), 3, true);
    return xg::least_squares(xg::by_rows(residual, reshape(I(graph.ends), {m, 2})),
        reshape(D(graph.start), {poses, 3}), {.ftol = 1e-6, .fixed = fixed})
        .cost;
}

} // namespace

int main(int argc, char** argv) {
    double const ceres = by_ceres(), ours = by_xgrad();
    if (!(std::abs(ours / ceres - 1) < 1e-4)) {
        std::fprintf(stderr, "error: the cost is %g, and that of Ceres %g\n", ours, ceres);
        return 1;
    }
    bench::Case("pose graph", poses)
        .peer("Ceres, Eigen's sparse Cholesky", by_ceres)
        .xgrad(by_xgrad)
        .at_most(1);
    return bench::run(argc, argv);
}
