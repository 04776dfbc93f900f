// Residuals by rows, against the same problems with a dense Jacobian, and their errors.
#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <string>
#include <tuple>
#include <vector>

#include <xgrad/least_squares.hpp>

namespace xg = xgrad;

namespace by_rows_test {
namespace {

using D = xg::Tensor<double>;
using I = xg::Tensor<std::int64_t>;
using C = std::complex<double>;
using Z = xg::Tensor<C>;
using xg::all;

double difference(D const& a, D const& b) { return max(abs(a - b)).item(); }

/// Numbers that look random, between -1 and 1.
D scattered(xg::Shape const& shape, double seed) {
    auto const n = static_cast<double>(xg::numel(shape));
    return reshape(D(sin(xg::arange<double>(n) * 12.9898 + seed)), shape);
}
/// Each of 5 stations measures 24 points, as seen from a station that may turn, through a lens that
/// all share; so that each point has 2 or 3 observations.
struct Survey {
    I station, point, lens;
    D stations = scattered({5, 3}, 1.) * 0.3, points = scattered({24, 2}, 2.) + 3.,
      lenses = D({{1.2, 0.01}}), measured = xg::zeros({60, 2});

    Survey() {
        std::vector<std::int64_t> s, p;
        for (std::int64_t i = 0; i < 60; ++i) {
            s.push_back(i * 7 % 5);
            p.push_back((i * 11 + i / 24) % 24);
        }
        station = I(s);
        point = I(p);
        lens = xg::zeros<std::int64_t>({60});
        measured = D((*this)(index_select(stations, 0, station), index_select(points, 0, point),
                         index_select(lenses, 0, lens)) +
                     0.02 * scattered({60, 2}, 3.));
    }
    /// The image of points in stations, without what was measured.
    D operator()(D const& s, D const& p, D const& l) const {
        auto const dx = p(all, 0) - s(all, 0), dy = p(all, 1) - s(all, 1);
        D const c = cos(s(all, 2)), n = sin(s(all, 2));
        D const u = c * dx - n * dy, v = n * dx + c * dy;
        D const scale = l(all, 0) + l(all, 1) * (u * u + v * v);
        return stack(std::vector<D>{D(u * scale), D(v * scale)}, 1) - measured;
    }
    auto by_rows() const { return xg::by_rows(*this, station, point, lens); }
    auto start() const {
        return std::tuple(D(stations + 0.02 * scattered({5, 3}, 4.)),
            D(points + 0.05 * scattered({24, 2}, 5.)), D(lenses + D({0., 0.01})));
    }
};
/// The same residuals for the general solver.
auto dense(auto const& f) {
    return [&f](auto const&... x) { return f(x...); };
}
xg::LeastSquaresOptions tight(char const* method, char const* solver) {
    return {.method = method, .linear_solver = solver, .ftol = 0, .xtol = 1e-11, .gtol = 1e-11};
}

} // namespace
} // namespace by_rows_test

TEST_CASE("by rows: the steps are those of the dense solver, for all methods") {
    using namespace by_rows_test;
    Survey const survey;
    auto const f = survey.by_rows();
    CHECK(f(survey.stations, survey.points, survey.lenses).shape() == xg::Shape{60, 2});
    for (auto const* method : {"lm", "lmaccel", "dogleg"}) {
        CAPTURE(std::string(method));
        std::vector<double> costs[2];
        std::size_t which = 0;
        auto options = tight(method, "cholesky");
        options.gtol = 1e-9;
        // The survey may be moved and rotated as a whole: those numbers stay.
        options.fixed =
            std::tuple(D({{1., 1., 1.}, {0., 0., 0.}, {0., 0., 0.}, {0., 0., 0.}, {0., 0., 0.}}),
                xg::zeros({24, 2}), D({{1., 0.}}));
        options.callback = [&](xg::LeastSquaresStep const& s) { costs[which].push_back(s.cost); };
        auto const wanted = xg::least_squares(dense(f), survey.start(), options);
        which = 1;
        auto const r = xg::least_squares(f, survey.start(), options);
        static_assert(std::same_as<decltype(r), decltype(wanted)>);
        CHECK(r.success);
        CHECK(r.cost == doctest::Approx(wanted.cost).epsilon(1e-10));
        for (std::size_t i = 0; i < 4; ++i)
            CHECK(costs[0][i] == doctest::Approx(costs[1][i]).epsilon(1e-8));
        CHECK(difference(std::get<1>(r.x), std::get<1>(wanted.x)) < 1e-7);
        CHECK(difference(r.fun, wanted.fun) < 1e-7);
        CHECK(difference(std::get<0>(r.grad), std::get<0>(wanted.grad)) < 1e-7);
        CHECK(difference(r.covariance(), wanted.covariance()) <
              1e-6 * max(wanted.covariance()).item());
        options.linear_solver = "cg";
        auto const iterated = xg::least_squares(f, survey.start(), options);
        CHECK(iterated.success);
        CHECK(iterated.cost == doctest::Approx(wanted.cost).epsilon(1e-9));
        CHECK_THROWS_WITH_AS(static_cast<void>(iterated.covariance()),
            "covariance: linear_solver cg has no factors: take cholesky", xg::Error);
    }
    CHECK_THROWS_WITH_AS(xg::least_squares(f, survey.start(), {.method = "gauss_newton"}),
        doctest::Contains("parameters, so that the step of gauss_newton is not determined"),
        xg::Error);
    auto const free = xg::least_squares(f, survey.start());
    CHECK(free.success);
    CHECK_THROWS_WITH_AS(static_cast<void>(free.covariance()),
        doctest::Contains("some are not determined"), xg::Error);
}

TEST_CASE("by rows: a loss is that of a row, and bounds, as for complex residuals") {
    using namespace by_rows_test;
    Survey survey;
    survey.measured(7, 0) = 40.;
    survey.measured(31, 1) = -20.;
    auto const f = survey.by_rows();
    auto const with_complex = [&](D const& s, D const& p, D const& l) {
        return view_as_complex(f(s, p, l));
    };
    auto options = tight("lm", "cholesky");
    options.gtol = 1e-8;
    options.loss = "cauchy";
    options.f_scale = 0.05;
    options.fixed =
        std::tuple(D({{1., 1., 1.}, {0., 0., 0.}, {0., 0., 0.}, {0., 0., 0.}, {0., 0., 0.}}),
            xg::zeros({24, 2}), D({{1., 0.}}));
    options.lower = std::tuple(D(-10.), D(-10.), D({{0., 0.015}}));
    auto const wanted = xg::least_squares(with_complex, survey.start(), options);
    for (auto const* solver : {"automatic", "cg"}) {
        options.linear_solver = solver;
        auto const r = xg::least_squares(f, survey.start(), options);
        CHECK(r.success);
        CHECK(r.nit < 30);
        CHECK(r.cost == doctest::Approx(wanted.cost).epsilon(1e-9));
        CHECK(std::get<2>(r.x)(0, 1).item() == 0.015);
    }
}

TEST_CASE("by rows: several rows of one parameter, as in a graph of poses") {
    using namespace by_rows_test;
    // A grid of 6 x 7 heights, with measured differences of neighbours, and of some with
    // themselves, which are the heights.
    std::vector<std::int64_t> ends;
    for (std::int64_t i = 0; i < 42; ++i) {
        for (std::int64_t const j : {i % 7 < 6 ? i + 1 : i, i < 35 ? i + 7 : i, (i * 17) % 42})
            ends.insert(ends.end(), {i, j});
    }
    auto const m = static_cast<std::ptrdiff_t>(ends.size() / 2);
    I const index = reshape(I(ends), {m, 2});
    D const measured = scattered({static_cast<std::size_t>(m)}, 0.);
    auto const f = xg::by_rows(
        [&](D const& pair) {
            D const height = pair(all, 0, 0) - 0.8 * sin(pair(all, 1, 0)) - measured,
                    other = pair(all, 0, 1) - 0.5 * pair(all, 1, 1) * cos(pair(all, 0, 0));
            return stack(std::vector<D>{height, D(other + 0.3 * measured)}, 1);
        },
        index);
    D const start = xg::zeros({42, 2}) + 0.1;
    auto const wanted = xg::least_squares(dense(f), start, tight("lm", "qr"));
    for (auto const* solver : {"cholesky", "cg"}) {
        auto const r = xg::least_squares(f, start, tight("lm", solver));
        CHECK(r.success);
        CHECK(r.cost == doctest::Approx(wanted.cost).epsilon(1e-9));
        CHECK(difference(r.x, wanted.x) < 1e-6);
    }
}

TEST_CASE("by rows: a chain of poses with few closures, by conjugate gradients") {
    using namespace by_rows_test;
    // Preconditioned by an incomplete factor of the chain they take few iterations.
    std::vector<std::int64_t> ends;
    for (std::int64_t i = 0; i + 1 < 300; ++i) {
        ends.insert(ends.end(), {i, i + 1});
        if (i % 50 == 0) ends.insert(ends.end(), {i, i + 49});
    }
    auto const m = static_cast<std::ptrdiff_t>(ends.size() / 2);
    D const truth = scattered({300, 2}, 1.), noise = 0.01 * scattered({ends.size() / 2, 2}, 2.);
    auto const between = [](D const& pair) {
        D const x = pair(all, 1) - pair(all, 0);
        return D(x + 0.1 * sin(x));
    };
    I const index = reshape(I(ends), {m, 2});
    D const measured = between(xg::detail::indexed_rows(truth, index)) + noise;
    auto const f = xg::by_rows([&](D const& pair) { return D(between(pair) - measured); }, index);
    auto options = tight("lm", "cholesky");
    options.fixed = xg::zeros({300, 2});
    D fixed = xg::zeros({300, 2});
    fixed.mutable_data()[0] = fixed.mutable_data()[1] = 1;
    options.fixed = fixed;
    auto const wanted = xg::least_squares(f, truth, options);
    options.linear_solver = "cg";
    auto const r = xg::least_squares(f, truth, options);
    CHECK(r.success);
    CHECK(r.cost == doctest::Approx(wanted.cost).epsilon(1e-9));
    CHECK(difference(r.x, wanted.x) < 1e-6);
    CHECK(r.nit < 15);
}

TEST_CASE("by rows: random graphs, whose incomplete factor may be indefinite") {
    using namespace by_rows_test;
    for (std::int64_t k = 0; k < 20; ++k) {
        std::int64_t const blocks = 8 + k, rows = 3 * blocks;
        std::vector<std::int64_t> of;
        for (std::int64_t i = 0; i < 3 * rows; ++i)
            of.push_back((i * i * 7 + i * (k + 3)) % 1009 % blocks);
        auto const m = static_cast<std::size_t>(rows);
        D const a = scattered({m, 6, 2}, 1. + static_cast<double>(k)), y = scattered({m, 2}, 3.);
        auto const f = xg::by_rows(
            [&](D const& x) {
                D const s = sum(a * reshape(x, {rows, 6, 1}), 1);
                return D(s + 0.1 * sin(s) - y);
            },
            reshape(I(of), {rows, 3}));
        D const start = xg::zeros({static_cast<std::size_t>(blocks), 2});
        auto const wanted = xg::least_squares(f, start, tight("lm", "cholesky"));
        auto const r = xg::least_squares(f, start, tight("lm", "cg"));
        CHECK(r.success);
        CHECK(r.cost == doctest::Approx(wanted.cost).epsilon(1e-8));
    }
}

TEST_CASE("by rows: the slope of fixed numbers, and a free scale, as in the dense solver") {
    using namespace by_rows_test;
    // Directions to points from stations, of which the first is fixed: the scale is free.
    std::vector<std::int64_t> station, point;
    for (std::int64_t p = 0; p < 20; ++p)
        for (std::int64_t s = 0; s < 5; ++s) {
            station.push_back(s);
            point.push_back(p);
        }
    D const stations = scattered({5, 2}, 1.), points = scattered({20, 2}, 2.) + D({0., 6.});
    D const noise = 1e-3 * scattered({100}, 3.);
    I const s_index(station), p_index(point);
    auto const slope = [](D const& s, D const& p) {
        return D((p(all, 0) - s(all, 0)) / (p(all, 1) - s(all, 1)));
    };
    D const measured =
        slope(index_select(stations, 0, s_index), index_select(points, 0, p_index)) + noise;
    auto const f = xg::by_rows(
        [&](D const& s, D const& p) { return D(slope(s, p) - measured); }, s_index, p_index);
    D fixed = xg::zeros({5, 2});
    fixed.mutable_data()[0] = fixed.mutable_data()[1] = 1;
    for (bool const is_free : {true, false}) {
        for (std::size_t const i : {2u, 3u}) fixed.mutable_data()[i] = is_free ? 0 : 1;
        xg::LeastSquaresOptions options;
        options.fixed = std::tuple(fixed, D(0.));
        auto const start = std::tuple(stations, points);
        auto const wanted = xg::least_squares(dense(f), start, options);
        auto const r = xg::least_squares(f, start, options);
        CHECK(difference(std::get<0>(r.grad), std::get<0>(wanted.grad)) < 1e-5);
        CHECK((max(abs(std::get<0>(r.grad)(1))).item() > 1e-5) == !is_free);
        if (is_free) {
            std::string const message =
                "covariance: the Jacobian has rank 47 for 48 parameters: some are not determined";
            CHECK_THROWS_WITH_AS(
                static_cast<void>(wanted.covariance()), message.c_str(), xg::Error);
            CHECK_THROWS_WITH_AS(static_cast<void>(r.covariance()), message.c_str(), xg::Error);
        } else
            CHECK(difference(r.covariance(), wanted.covariance()) <
                  1e-5 * max(wanted.covariance()).item());
    }
}

TEST_CASE("by rows: complex numbers and single precision") {
    using namespace by_rows_test;
    // z(i, j) = u(i) conj(v(j)) for some pairs, where u(0) = 1
    I const left({0, 0, 1, 1, 2, 2, 3, 3}), right({0, 1, 1, 2, 2, 3, 3, 0});
    Z const u({C(1, 0), C(0.5, 1), C(-1, 0.3), C(2, -1)}),
        v({C(1, 1), C(-0.5, 2), C(0.7, 0), C(0, -1)});
    Z const z = index_select(u, 0, left) * conj(index_select(v, 0, right)) + C(0.01, 0);
    auto const product = [&](Z const& a, Z const& b) { return a * conj(b) - z; };
    auto const f = xg::by_rows(product, left, right);
    auto options = tight("lm", "automatic");
    options.fixed = std::tuple(D({1., 0., 0., 0.}), D(0.));
    auto const start = std::tuple(Z(u + C(0.1, 0.1)), Z(v * C(1.1, 0.2)));
    auto const r = xg::least_squares(f, start, options);
    options.linear_solver = "qr";
    auto const wanted = xg::least_squares(dense(f), start, options);
    CHECK(r.success);
    CHECK(std::abs(r.cost - wanted.cost) < 1e-12);
    CHECK(max(abs(std::get<1>(r.x) - std::get<1>(wanted.x))).item() < 1e-8);
    CHECK(max(abs(r.fun - wanted.fun)).item() < 1e-8);

    using F = xg::Tensor<float>;
    auto const halves =
        xg::least_squares(xg::by_rows([](F const& a) { return F(a * a - 2.f); }, I({0, 1, 1})),
            std::tuple(F({1.f, 2.f})));
    CHECK(max(abs(std::get<0>(halves.x) - std::sqrt(2.f))).item() < 1e-5f);
}

TEST_CASE("by rows: errors") {
    using namespace by_rows_test;
    auto const square_of = [](D const& a) { return D(a * a - 1.); };
    D const x({2., 3.});
    CHECK_THROWS_WITH_AS(xg::least_squares(xg::by_rows(square_of, I({0, 2})), x),
        "by_rows: index 0 names row 2 of a parameter of shape [2]", xg::IndexError);
    CHECK_THROWS_WITH_AS(
        xg::least_squares(
            xg::by_rows([](D const& a, D const& b) { return D(a * b); }, I({0, 1}), I({0})),
            std::tuple(x, x)),
        "by_rows: index 1 of shape [1] for a parameter of shape [2] and 2 observations: it must "
        "have the shape (m) or (m, c), and the parameter rows",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(
        xg::least_squares(xg::by_rows(square_of, I({0, 1})), x, {.linear_solver = "qr"}),
        "least_squares: linear_solver qr is not for residuals by rows: take cholesky or cg",
        xg::Error);
    CHECK_THROWS_WITH_AS(
        xg::least_squares(xg::by_rows([](D const& a) { return D(a - mean(a)); }, I({0, 1, 1})), x),
        doctest::Contains("by_rows: Row 2 depends on other rows: each row is a problem of its own"),
        xg::GraphError);
    CHECK_THROWS_WITH_AS(
        xg::least_squares(xg::by_rows([](D const& a) { return D(sum(a)); }, I({0, 1})), x),
        doctest::Contains("by_rows: the function returned the shape [] for 2 observations"),
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(
        xg::least_squares(xg::by_rows([](D const& a) { return D(log(a - 5.)); }, I({0, 1})), x),
        "least_squares: the residual is not finite at the start", xg::Error);
    CHECK_THROWS_WITH_AS(xg::least_squares(xg::by_rows(square_of, xg::zeros<std::int64_t>({0})), x),
        "least_squares: there are no residuals", xg::Error);
    CHECK_THROWS_WITH_AS(
        xg::least_squares(xg::by_rows([](D const& a) { return D(a.detach() - 1.); }, I({0, 1})), x),
        doctest::Contains("least_squares: the function does not depend on its argument"),
        xg::GraphError);
    CHECK_THROWS_WITH_AS(xg::least_squares(xg::by_rows(square_of, I({0, 1})), D()),
        "by_rows: parameter 0 is undefined", xg::Error);
    CHECK_THROWS_WITH_AS(
        xg::least_squares(square_of, D()), "least_squares: parameter 0 is undefined", xg::Error);
    CHECK_THROWS_WITH_AS(xg::least_squares(xg::by_rows(square_of, I()), x),
        doctest::Contains("by_rows: argument 0 is undefined"), xg::Error);
    D const many = xg::ones({20000});
    auto const r =
        xg::least_squares(xg::by_rows(square_of, xg::arange<std::int64_t>(20000)), D(many * 2.));
    CHECK(difference(r.x, many) < 1e-6);
    CHECK_THROWS_WITH_AS(static_cast<void>(r.covariance(1.)),
        "covariance: a matrix of 20000 x 20000 numbers, for all parameters that are not fixed, "
        "would take more than 2 GB",
        xg::Error);
}
