// sum_over(): values, gradients and Hessians beside closed forms, beside the same functions written
// with tensors, and beside differences.
#include <stdexcept>

#include <xgrad/sum_over.hpp>

#include "tensor/compare.hpp"

namespace {

using I = xg::Tensor<std::int64_t>;

D leaf(D const& x) { return x.detach().clone().requires_grad_(); }
D column(D const& x, std::ptrdiff_t corner, std::ptrdiff_t number) {
    return x(xg::all, corner, number);
}
/// The rows of x that are corners of the elements.
D gathered(D const& x, I const& index) {
    auto const m = static_cast<std::ptrdiff_t>(index.shape()[1]);
    return reshape(index_select(x, 0, flatten(index)), {-1, m, x.shape(1)});
}

auto const spring = [](auto const& ends, auto const& stiffness) {
    auto const d = ends[0] - ends[1];
    return 0.5 * stiffness() * d * d;
};
/// The symmetric Dirichlet energy of a triangle whose rest has two unit edges.
auto const dirichlet = [](auto const& corners, auto const& area) {
    auto const& [a, b, c] = corners;
    auto const ux = b[0] - a[0], uy = b[1] - a[1], vx = c[0] - a[0], vy = c[1] - a[1];
    auto const det = ux * vy - uy * vx, norm = ux * ux + uy * uy + vx * vx + vy * vy;
    return area() * (norm + norm / (det * det));
};
/// The same with tensors.
D dirichlet_of(D const& x, I const& index, D const& area) {
    D const p = gathered(x, index);
    D const ux = column(p, 1, 0) - column(p, 0, 0), uy = column(p, 1, 1) - column(p, 0, 1),
            vx = column(p, 2, 0) - column(p, 0, 0), vy = column(p, 2, 1) - column(p, 0, 1);
    D const det = ux * vy - uy * vx, norm = ux * ux + uy * uy + vx * vx + vy * vy;
    return sum(area * (norm + norm / (det * det)));
}
/// A row of n squares, of two triangles each, a little distorted.
struct Strip {
    D x, area;
    I index;
    explicit Strip(std::size_t n)
        : x(xg::zeros<double>({2 * n + 2, 2})), area(xg::zeros<double>({2 * n})),
          index(xg::zeros<std::int64_t>({2 * n, 3})) {
        for (std::size_t i = 0; i < 2 * n + 2; ++i) {
            auto const t = static_cast<double>(i);
            x.mutable_data()[2 * i] = std::floor(t / 2) + 0.2 * std::sin(3 * t);
            x.mutable_data()[2 * i + 1] = static_cast<double>(i % 2) + 0.2 * std::cos(2 * t);
        }
        for (std::size_t e = 0; e < 2 * n; ++e) {
            auto const i = static_cast<std::int64_t>(e);
            std::int64_t const lower[] = {i, i + 2, i + 1}, upper[] = {i + 2, i, i + 1};
            std::copy_n(e % 2 ? upper : lower, 3, index.mutable_data() + 3 * e);
            area.mutable_data()[e] = 0.5 + 0.01 * static_cast<double>(e);
        }
    }
};
D dense_hessian(std::function<D(D const&)> const& f, D const& x) {
    auto const n = static_cast<std::ptrdiff_t>(x.numel());
    return reshape(xg::hessian(f, x), {n, n});
}

} // namespace

TEST_CASE("springs on a line: the Hessian is the Laplacian of the graph") {
    D const x({0., 1., 3., 6.}), stiffness({1., 2., 3., 4.});
    I const index({{0, 1}, {1, 2}, {2, 3}, {3, 1}});
    auto e = xg::sum_over<2>(spring, x, index, stiffness);
    CHECK(e.value().item() == doctest::Approx(0.5 + 4 + 13.5 + 50));
    CHECK(difference(e.gradient(), D({-1., -23., -5., 29.})) == "");
    CHECK(difference(e.hessian().to_dense(), D({{1., -1., 0., 0.}, {-1., 7., -2., -4.},
                                                 {0., -2., 5., -3.}, {0., -4., -3., 7.}})) == "");
    CHECK(e.hessian().nonzeros() == 12);
    auto const triplets = e.hessian().triplets();
    CHECK(triplets.size() == 12);
    CHECK(triplets[3].row() == 1);
    CHECK(triplets[3].col() == 1);
    CHECK(triplets[3].value() == 7);
}

TEST_CASE("a mesh of triangles: the same as with tensors, for any number of elements") {
    for (std::size_t const n : {1u, 3u, 4u, 9u, 1500u}) {
        Strip const mesh(n);
        D const x = leaf(mesh.x), y = leaf(mesh.x);
        auto e = xg::sum_over<3, 2>(dirichlet, x, mesh.index, mesh.area);
        D const wanted = dirichlet_of(y, mesh.index, mesh.area);
        CHECK(difference(e.value(), wanted, 1e-13) == "");
        e.value().backward();
        wanted.backward();
        CHECK(difference(x.grad(), y.grad(), 1e-11) == "");
        CHECK(difference(e.gradient(), y.grad(), 1e-11) == "");
        auto const h = e.hessian();
        CHECK(h.nonzeros() == static_cast<std::ptrdiff_t>(4 * (2 * n + 2 + 2 * (4 * n + 1))));
        if (n < 10)
            CHECK(
                difference(h.to_dense(),
                    dense_hessian(
                        [&](D const& t) { return dirichlet_of(t, mesh.index, mesh.area); }, mesh.x),
                    1e-11) == "");
        else {
            D const v = cos(mesh.x * 5), small = v * 1e-6;
            D const difference_of_gradients =
                (e.at(mesh.x + small).gradient() - e.at(mesh.x - small).gradient()) / 2e-6;
            D const product =
                xg::hvp([&](D const& t) { return e.at(t).value(); }, mesh.x, v).second;
            CHECK(difference(product, difference_of_gradients, 1e-4) == "");
        }
    }
}

/// Hessians of a function of three numbers, by elements and by tensors.
template <class F> void check(char const* name, F const& f) {
    CAPTURE(name);
    D const x({0.3, 0.7, 1.2, 0.4, 0.9, 1.6, 0.2, 1.1, 0.8, 1.4, 0.6, 1.3});
    auto const last = 10;
    I index = xg::zeros<std::int64_t>({last, 3});
    for (std::int64_t e = 0; e < last; ++e)
        for (std::int64_t a = 0; a < 3; ++a) index.mutable_data()[3 * e + a] = e + a;
    auto const with_tensors = [&](D const& t) {
        return D(sum(f(t(xg::slice(0, 10)), t(xg::slice(1, 11)), t(xg::slice(2, 12)))));
    };
    D const y = leaf(x), wanted = with_tensors(y), hessian = dense_hessian(with_tensors, x);
    wanted.backward();
    auto const agree = [&](auto sum) {
        CHECK(difference(sum.value(), wanted, 1e-12) == "");
        CHECK(difference(sum.at(x).gradient(), y.grad(), 1e-11) == "");
        CHECK(difference(sum.at(x).hessian().to_dense(), hessian, 1e-10) == "");
    };
    auto const of_array = [&](auto const& p) { return f(p[0], p[1], p[2]); };
    agree(xg::sum_over<3>(of_array, x, index));
    agree(xg::sum_over<3>(xg::with_branches, of_array, x, index));
}

TEST_CASE("second derivatives of the rules") {
    check("products", [](auto a, auto b, auto c) { return a * b * c - a / b + 2. / c - 3. * a; });
    check(
        "exponentials", [](auto a, auto b, auto c) { return exp(a * b) * log(c) + expm1(c - a); });
    check("roots and powers", [](auto a, auto b, auto c) {
        return sqrt(a * a + b * b) + pow(c, 3) + pow(a, 2.5) + square(b) * pow(a, b);
    });
    check("trigonometry", [](auto a, auto b, auto c) {
        return sin(a) * cos(b) + tan(a * 0.5) + atan2(b, c) + tanh(a - c) + sinh(b) + asin(a * 0.5);
    });
    check("choices", [](auto a, auto b, auto c) {
        return where(a < b, a * a * c, b * sin(c)) + maximum(a, b) * c + abs(a - b) * b +
               relu(c - a);
    });
    check("special functions", [](auto a, auto b, auto c) {
        return erf(a * b) + lgamma(c + 1.) + sigmoid(a - b) + softplus(c * b) + hypot(a, c);
    });
    check("one argument alone, and constants", [](auto a, auto, auto) { return -a + 1. + a * 0.; });
}

TEST_CASE("tetrahedra: Hessians of 12 numbers") {
    auto const volume = [](auto const& p) {
        auto const edge = [&](int i, int k) { return p[i][k] - p[0][k]; };
        auto const det = edge(1, 0) * (edge(2, 1) * edge(3, 2) - edge(2, 2) * edge(3, 1)) -
                         edge(1, 1) * (edge(2, 0) * edge(3, 2) - edge(2, 2) * edge(3, 0)) +
                         edge(1, 2) * (edge(2, 0) * edge(3, 1) - edge(2, 1) * edge(3, 0));
        return det * det / 6. + exp(0.1 * p[3][2] * p[0][0]);
    };
    D const x({{0., 0., 0.1}, {1., 0.1, 0.}, {0.2, 1.1, 0.}, {0.1, 0.2, 0.9}, {1.1, 0.9, 1.}});
    I const index({{0, 1, 2, 3}, {1, 2, 3, 4}});
    auto const with_tensors = [&](D const& t) {
        D const q = gathered(t, index);
        std::array<std::array<D, 3>, 4> p;
        for (int i = 0; i < 4; ++i)
            for (int k = 0; k < 3; ++k) p[i][k] = column(q, i, k);
        auto const edge = [&](int i, int k) { return D(p[i][k] - p[0][k]); };
        D const det = edge(1, 0) * (edge(2, 1) * edge(3, 2) - edge(2, 2) * edge(3, 1)) -
                      edge(1, 1) * (edge(2, 0) * edge(3, 2) - edge(2, 2) * edge(3, 0)) +
                      edge(1, 2) * (edge(2, 0) * edge(3, 1) - edge(2, 1) * edge(3, 0));
        return D(sum(det * det / 6. + exp(0.1 * p[3][2] * p[0][0])));
    };
    auto e = xg::sum_over<4, 3>(volume, x, index);
    CHECK(difference(e.value(), with_tensors(x)) == "");
    CHECK(difference(e.hessian().to_dense(), dense_hessian(with_tensors, x), 1e-11) == "");
    auto number_by_number = xg::sum_over<4, 3>(xg::with_branches, volume, x, index);
    CHECK(difference(number_by_number.hessian().values(), e.hessian().values(), 1e-12) == "");
}

TEST_CASE("functions that branch") {
    auto const stiff_in_compression = [](auto const& p, auto const& stiffness) {
        using T = std::remove_cvref_t<decltype(p[0])>;
        T const d = p[1] - p[0] - 1.;
        if (d < 0.) return T(5. * stiffness() * d * d);
        T energy = 0;
        for (int k = 0; k < 2; ++k) energy += 0.25 * stiffness() * d * d;
        return energy;
    };
    D const x({0., 2., 2.5}), stiffness({1., 2.});
    auto e =
        xg::sum_over<2>(xg::with_branches, stiff_in_compression, x, I({{0, 1}, {1, 2}}), stiffness);
    CHECK(e.value().item() == doctest::Approx(0.5 + 2.5));
    CHECK(difference(e.gradient(), D({-1., 1. + 10., -10.})) == "");
    CHECK(difference(
              e.hessian().to_dense(), D({{1., -1., 0.}, {-1., 21., -20.}, {0., -20., 20.}})) == "");
    auto const root = [](auto const& p) { return sqrt(p[0] * 0. + p[1]) * (p[0] < 0. ? 0. : 1.); };
    auto r = xg::sum_over<2>(xg::with_branches, root, x, I({{0, 1}}));
    CHECK(difference(r.hessian().to_dense(),
              D({{0., 0., 0.}, {0., -0.25 * std::pow(2, -1.5), 0.}, {0., 0., 0.}})) == "");
    auto const throws = [](auto const& p) {
        if (p[0] > 1.) throw std::domain_error("more than 1");
        return p[0];
    };
    CHECK_THROWS_AS(
        xg::sum_over<1>(xg::with_branches, throws, x, I({{0}, {1}})).value(), std::domain_error);
}

TEST_CASE("an empty index, repeated corners, and rows that no element has") {
    D const x({1., 2., 3.});
    auto const f = [](auto const& p) { return p[0] * p[0] * p[1]; };
    auto none = xg::sum_over<2>(f, x, xg::zeros<std::int64_t>({0, 2}));
    CHECK(none.value().item() == 0);
    CHECK(difference(none.gradient(), D({0., 0., 0.})) == "");
    CHECK(none.hessian().nonzeros() == 0);
    CHECK(none.hessian().rows() == 3);
    auto twice = xg::sum_over<2>(f, x, I({{1, 1}, {0, 1}})); // x1^3 + x0^2 x1
    CHECK(twice.value().item() == 10);
    CHECK(difference(twice.gradient(), D({4., 13., 0.})) == "");
    CHECK(difference(twice.hessian().to_dense(), D({{4., 2., 0.}, {2., 12., 0.}, {0., 0., 0.}})) ==
          "");
}

TEST_CASE("scalar types, and constants of any shape and type") {
    xg::Tensor<float> const x({{1.f, 2.f}, {3.f, 5.f}});
    auto const f = [](auto const& p, auto const& matrix, auto const& kind) {
        return p[0][0] * p[1][1] * matrix(0, 1) + p[0][1] * matrix(1, 0) * kind();
    };
    D const matrix({{{1., 2.}, {3., 4.}}, {{5., 6.}, {7., 8.}}});
    auto e = xg::sum_over<2, 2>(f, x, I({{0, 1}, {1, 0}}), matrix, I({2, 3}));
    static_assert(std::same_as<decltype(e.value()), F>);
    CHECK(e.value().item() == 1 * 5 * 2 + 2 * 3 * 2 + 3 * 2 * 6 + 5 * 7 * 3);
    CHECK(difference(e.gradient(), F({{10.f, 6.f + 18.f}, {12.f, 2.f + 21.f}})) == "");
    CHECK(
        difference(e.hessian().to_dense(), F({{0.f, 0.f, 0.f, 2.f}, {0.f, 0.f, 6.f, 0.f},
                                               {0.f, 6.f, 0.f, 0.f}, {2.f, 0.f, 0.f, 0.f}})) == "");
    Strip const mesh(40);
    auto single = xg::sum_over<3, 2>(dirichlet, xg::cast<float>(mesh.x), mesh.index, mesh.area);
    auto full = xg::sum_over<3, 2>(dirichlet, mesh.x, mesh.index, mesh.area);
    CHECK(difference(
              single.hessian().values(), F(xg::cast<float>(full.hessian().values())), 1e-3) == "");
}

TEST_CASE("the value is an operation as any other") {
    Strip const mesh(5);
    auto const e = xg::sum_over<3, 2>(dirichlet, mesh.x, mesh.index, mesh.area);
    auto const f = [&](D const& t) { return D(log(e.at(t * 1.1).value()) + sum(t * t)); };
    auto const g = [&](D const& t) {
        return D(log(dirichlet_of(t * 1.1, mesh.index, mesh.area)) + sum(t * t));
    };
    D const x = leaf(mesh.x), y = leaf(mesh.x), v = cos(mesh.x);
    f(x).backward();
    g(y).backward();
    CHECK(difference(x.grad(), y.grad(), 1e-12) == "");
    CHECK(difference(xg::jvp(f, mesh.x, v).second, xg::jvp(g, mesh.x, v).second, 1e-12) == "");
    CHECK(difference(xg::hvp(f, mesh.x, v).second, xg::hvp(g, mesh.x, v).second, 1e-11) == "");
    CHECK(difference(dense_hessian(f, mesh.x), dense_hessian(g, mesh.x), 1e-11) == "");
    CHECK_FALSE(e.at(mesh.x).value().requires_grad());
    auto const at = transpose(D(transpose(mesh.x)).clone());
    CHECK(difference(e.at(at).gradient(), e.at(mesh.x).gradient()) == "");
}

TEST_CASE("what is known is forgotten when x changes in place") {
    D const stiffness({2.});
    D x({0., 1.});
    auto e = xg::sum_over<2>(spring, x, I({{0, 1}}), stiffness);
    CHECK(difference(e.hessian().values(), D({2., -2., -2., 2.})) == "");
    CHECK(difference(e.gradient(), D({-2., 2.})) == "");
    x *= 3.;
    CHECK(difference(e.gradient(), D({-6., 6.})) == "");
    CHECK(e.value().item() == 9);
    CHECK(&e.hessian().pattern() == &e.at(x).hessian().pattern());
}

TEST_CASE("a constant of one axis is its number") {
    auto const called = [](auto const& p, auto const& l, auto const& k) {
        auto const d = sqrt(p[0] * p[0] + p[1] * p[1]) - l();
        return 0.5 * k() * d * d / l() + where(p[0] < l(), -p[1], 2. / l()) * p[0] +
               fmax(p[1], k()) + exp(-l() * k()) * p[1];
    };
    auto const itself = [](auto const& p, auto const& l, auto const& k) {
        auto const d = sqrt(p[0] * p[0] + p[1] * p[1]) - l;
        return 0.5 * k * d * d / l + where(p[0] < l, -p[1], 2. / l) * p[0] + fmax(p[1], k) +
               exp(-l * k) * p[1];
    };
    D const x({1., 2., 3.5}), length({3., 1.}), stiffness({2., 3.});
    I const index({{0, 1}, {1, 2}});
    auto const agree = [&](auto e, auto f) {
        CHECK(difference(f.hessian().values(), e.hessian().values(), 1e-15) == "");
        CHECK(difference(f.at(x).gradient(), e.at(x).gradient(), 1e-15) == "");
        CHECK(f.at(x).value().item() == e.at(x).value().item());
    };
    agree(xg::sum_over<2>(called, x, index, length, stiffness),
        xg::sum_over<2>(itself, x, index, length, stiffness));
    agree(xg::sum_over<2>(xg::with_branches, called, x, index, length, stiffness),
        xg::sum_over<2>(xg::with_branches, itself, x, index, length, stiffness));
    CHECK_THROWS_WITH_AS((xg::sum_over<2>([](auto const& p, auto const& c) { return p[0] * c; }, x,
                             index, D({{1., 2.}, {3., 4.}}))
                                 .value()),
        "sum_over: there is no number [] in a constant of shape [2, 2], whose first axis is that "
        "of "
        "the elements",
        xg::IndexError);
}

TEST_CASE("constants are those of the call") {
    D c({2.});
    auto energy = xg::sum_over<2>([](auto const& p, auto const& c) { return c() * p[0] * p[1]; },
        D({1., 2.}), I({{0, 1}}), c);
    CHECK(energy.value().item() == 4.);
    c += 1.;
    CHECK(energy.hessian().values().data()[1] == 2.);
    CHECK(energy.value().item() == 4.);
}

TEST_CASE("the positive semidefinite part of each element's Hessian") {
    auto const f = [](auto const& p) { return p[0] * p[1] + 0. * exp(p[0]); }; // eigenvalues 1, -1
    D const x({1., 2., 3.});
    auto e = xg::sum_over<2>(f, x, I({{0, 1}, {1, 2}}));
    CHECK(difference(e.positive_hessian().to_dense(),
              D({{0.5, 0.5, 0.}, {0.5, 1., 0.5}, {0., 0.5, 0.5}})) == "");
    CHECK(difference(e.hessian().to_dense(), D({{0., 1., 0.}, {1., 0., 1.}, {0., 1., 0.}})) == "");
    CHECK(e.value().item() == 8);
    auto convex = xg::sum_over<2>(spring, x, I({{0, 1}, {1, 2}}), D({1., 2.}));
    CHECK(difference(convex.positive_hessian().values(), convex.hessian().values(), 1e-15) == "");
    Strip const mesh(7);
    for (auto const& [corners, only] :
        {std::pair(mesh.index, false), {mesh.index(xg::slice(3, 4)), true}}) {
        auto energy = xg::sum_over<3, 2>(xg::with_branches, dirichlet, mesh.x * D({1., -0.4}),
            I(corners).clone(), only ? D({1.}) : mesh.area);
        D const h = energy.hessian().to_dense(), p = energy.positive_hessian().to_dense();
        D const taken = p - h; // is positive semidefinite, too
        for (int k = 0; k < 20; ++k) {
            D const v = cos(xg::arange<double>(static_cast<double>(h.shape(0))) * (0.3 + 0.1 * k));
            CHECK(dot(v, matmul(p, v)).item() > -1e-9);
            CHECK(dot(v, matmul(taken, v)).item() > -1e-9);
        }
        if (only) CHECK(difference(matmul(p, taken), xg::zeros_like(h), 1e-8) == "");
    }
}

TEST_CASE("results do not depend on the number of threads") {
    Strip const mesh(6000);
    auto const e = xg::sum_over<3, 2>(dirichlet, mesh.x, mesh.index, mesh.area);
    auto one = e.at(mesh.x);
    D const h = one.hessian().values(), g = one.gradient(), v = one.value();
    xg::set_num_threads(3);
    auto several = e.at(mesh.x);
    CHECK(values(several.hessian().values()) == values(h));
    CHECK(values(several.gradient()) == values(g));
    CHECK(several.value().item() == v.item());
    xg::set_num_threads(1);
}

TEST_CASE("wrong calls say what is wrong") {
    D const x({{1., 2.}, {3., 4.}}), one({1.});
    I const index({{0, 1}});
    auto const f = [](auto const& p) { return p[0][0] * p[1][1]; };
    auto const g = [](auto const& p, auto const& c) { return p[0][0] * c(0); };
    CHECK_THROWS_WITH_AS((xg::sum_over<2, 3>([](auto const& p) { return p[0][0]; }, x, index)),
        "sum_over<2, 3>: x has shape [2, 2], and should have 3 columns", xg::ShapeError);
    CHECK_THROWS_WITH_AS((xg::sum_over<2>([](auto const& p) { return p[0]; }, x, index)),
        "sum_over<2>: x has shape [2, 2], and should be a vector", xg::ShapeError);
    CHECK_THROWS_WITH_AS((xg::sum_over<2, 2>(f, x, I({{0, 1, 1}}))),
        "sum_over: the index has shape [1, 3], and should have a row of 2 for each element",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS((xg::sum_over<2, 2>(f, x, I({{0, 1}, {0, 2}}))),
        "sum_over: the index names row 2 for corner 1 of element 1, and x has 2 rows",
        xg::IndexError);
    CHECK_THROWS_AS((xg::sum_over<2, 2>(f, x, I({{-1, 1}}))), xg::IndexError);
    CHECK_THROWS_WITH_AS((xg::sum_over<2, 2>(g, x, index, D({1., 2.}))),
        "sum_over: a constant has shape [2], and its first axis should be that of the 1 elements",
        xg::ShapeError);
    CHECK_THROWS_WITH_AS((xg::sum_over<2, 2>(g, x, index, one).value()),
        "sum_over: there is no number [0] in a constant of shape [1], whose first axis is that of "
        "the elements",
        xg::IndexError);
    CHECK_THROWS_AS((xg::sum_over<2, 2>(g, x, index, leaf(one))), xg::GraphError);
    CHECK_THROWS_WITH_AS((xg::sum_over<2, 2>(f, x, index).at(one)),
        "sum_over: at() takes an x of shape [2, 2], as the first one, not of [1]", xg::ShapeError);
    auto const second = [&](D const& p) {
        auto const total = [&](D const& q) { return xg::sum_over<2, 2>(f, q, index).value(); };
        return D(xg::hvp(total, p, p).second);
    };
    auto const* const told = "sum_over: there are derivatives up to the second";
    CHECK_THROWS_WITH_AS(xg::jvp(second, x, x), told, xg::GraphError);
    CHECK_THROWS_WITH_AS(xg::vjp(second, x, x), told, xg::GraphError);
}
