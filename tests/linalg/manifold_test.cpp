// Manifolds: their functions against each other, minima against closed forms, parameters that stay
// on a manifold, and what is refused.
#include <functional>

#include <xgrad/manifold.hpp>
#include <xgrad/nn.hpp>

#include "tensor/compare.hpp"

using xg::Descent;

namespace {

constexpr Descent methods[] = {
    Descent::gradient, Descent::conjugate_gradient, Descent::lbfgs, Descent::trust_region};

D real_like(std::initializer_list<std::size_t> shape) {
    return xg::zeros<double>(xg::Shape(shape));
}
Z complex_like(std::initializer_list<std::size_t> shape) {
    return xg::zeros<complex<double>>(xg::Shape(shape));
}
template <class T> xg::Tensor<T> hermitian_matrix(std::size_t n) {
    xg::Tensor<T> const a = xg::randn<T>({n, n});
    return 0.5 * (a + adjoint(a));
}
/// Re sum conj(x) y, as a tensor.
template <class X, class Y> D inner(X const& x, Y const& y) {
    if constexpr (xg::ComplexScalar<typename X::value_type>) return sum(real(conj(x) * y));
    else return sum(x * y);
}
template <class X> double distance_to_orthonormal(X const& x) {
    X const gram = matmul(adjoint(x), x);
    return max(abs(gram - xg::eye<typename X::value_type>(x.shape(-1)))).item();
}

/// Minimises by all methods and compares the value and the iterations.
template <class X, class M>
void check_minimum(std::type_identity_t<std::function<D(X const&)>> const& f, X const& x0,
    M const& m, double value, std::initializer_list<int> max_iterations, double gtol = 1e-6) {
    auto most = max_iterations.begin();
    for (auto const method : methods) {
        auto const found = xg::minimize(f, x0, xg::on(m), {.method = method, .gtol = gtol});
        CAPTURE(static_cast<int>(method));
        CAPTURE(found.message);
        CHECK(found.converged);
        CHECK(found.value == doctest::Approx(value).epsilon(1e-9));
        CHECK(found.iterations <= *most++);
        CHECK(xg::detail::GeometryOf<M, X>{m}.distance(found.x) < 1e-14);
    }
}

/// The power of t with which f(R(t v)) differs from its expansion of second order.
template <class X, class M> double order_of_expansion(M const& m, X const& like) {
    X const x = m.random(like), c = xg::detail::random_like(x), b = xg::detail::random_like(x);
    std::function<D(X const&)> const f = [&](X const& y) {
        return D(inner(c, y) + 0.5 * xg::square(inner(b, y)));
    };
    xg::detail::GeometryOf<M, X> const g{m};
    X const v = g.project(x, xg::detail::random_like(x));
    auto const of = xg::detail::minimizer<X>(f, g, {});
    auto const [value, e] = of.value_and_gradient(x);
    double const first = g.inner(x, g.gradient(x, e), v),
                 second = g.inner(x, g.hessian(x, e, of.linearized_gradient(x)(v), v), v);
    return xg::detail::slope_of([&](double t) {
        return std::abs(f(g.retract(x, xg::detail::multiple_of(t, v))).item() - value - t * first -
                        t * t / 2 * second);
    });
}

} // namespace

TEST_CASE("The functions of a manifold belong to each other") {
    xg::manual_seed(1);
    D const d = real_like({5, 3}), square_d = real_like({2, 4, 4});
    Z const z = complex_like({5, 3}), square_z = complex_like({2, 4, 4});
    auto const check = [](auto const& m, auto const& like) {
        CHECK(xg::check_manifold(m, like) == 2);
        CHECK(order_of_expansion(m, like) > 2.7);
    };
    check(xg::Euclidean(), d), check(xg::Euclidean(), z);
    check(xg::Sphere(), d), check(xg::Sphere(), z);
    check(xg::UnitModulus(), z);
    check(xg::Oblique(), d), check(xg::Oblique{.axis = -1}, z);
    check(xg::Stiefel(), d), check(xg::Stiefel(), z);
    check(xg::Unitary(), square_d), check(xg::Unitary(), square_z);
    check(xg::SpecialUnitary(), square_d), check(xg::SpecialUnitary(), square_z);
    check(xg::HermitianPositiveDefinite(), square_d);
    check(xg::HermitianPositiveDefinite(), square_z);
    check(xg::FixedRank{2}, d), check(xg::FixedRank{2}, z);
    // functions on it do not change with the basis, which those of order_of_expansion() do
    CHECK(xg::check_manifold(xg::Grassmann(), d) == 2);
    CHECK(xg::check_manifold(xg::Grassmann(), z) == 2);
    CHECK(xg::check_manifold(xg::on(xg::Sphere(), xg::Stiefel(), xg::HermitianPositiveDefinite()),
              std::tuple(d, z, square_d)) == 2);

    Z const u = xg::SpecialUnitary().random(square_z);
    CHECK(difference(xg::linalg::det(u), xg::ones<complex<double>>({2})) == "");
    CHECK(distance_to_orthonormal(xg::Unitary().random(complex_like({64, 64}))) < 1e-14);
}

TEST_CASE("Dominant eigenspaces") {
    xg::manual_seed(2);
    auto const a = hermitian_matrix<double>(60);
    auto const w = values(xg::linalg::eigvalsh(a));
    auto const rayleigh = [&](auto const& x) { return D(-inner(x, matmul(a, x))); };
    check_minimum<D>(
        rayleigh, xg::Sphere().random(real_like({60})), xg::Sphere(), -w[59], {2000, 300, 150, 15});
    check_minimum<D>(rayleigh, xg::Grassmann().random(real_like({60, 3})), xg::Grassmann(),
        -w[59] - w[58] - w[57], {2000, 300, 150, 20});

    auto const c = hermitian_matrix<complex<double>>(40);
    auto const v = values(xg::linalg::eigvalsh(c));
    // Brockett's function: its minimum orders the eigenvectors
    D const weights({3., 2., 1.});
    check_minimum<Z>([&](Z const& x) { return D(-inner(x * weights, matmul(c, x))); },
        xg::Stiefel().random(complex_like({40, 3})), xg::Stiefel(), -3 * v[39] - 2 * v[38] - v[37],
        {2000, 400, 200, 25});
}

TEST_CASE("Iterations of pymanopt's own example") {
    // docs/quickstart.rst of pymanopt: numpy.random.seed(42), a symmetric matrix of 3 x 3, steepest
    // descent from a random start. Printed are 23 rows, the start among them, until the gradient is
    // below 1e-6, and the first row: cost 1.1041943339110254, gradient 0.565626470. Both and the
    // norm determine the squares of the start's components along the eigenvectors.
    D const a({{0.49671415, 0.69238278, 1.11345068}, {0.69238278, -0.23415337, 0.266648885},
        {1.11345068, 0.266648885, -0.46947439}});
    auto const [w, v] = xg::linalg::eigh(a);
    double const f = -1.1041943339110254, g = 0.565626470 / 2;
    D const moments = xg::stack({D(xg::ones({3})), w, D(w * w)});
    D const x = matmul(v, D(sqrt(xg::linalg::solve(moments, D({1., f, g * g + f * f})))));
    for (auto const* method : {"gradient", "conjugate_gradient", "lbfgs", "trust_region"}) {
        CAPTURE(method);
        std::vector<double> costs, gradients;
        auto const found = xg::minimize([&](D const& y) { return D(-sum(y * matmul(a, y))); },
            D(x / norm(x)), xg::on(xg::Sphere()),
            {.method = method, .callback = [&](xg::MinimizeProgress const& p) {
                 costs.push_back(p.value), gradients.push_back(p.grad_norm);
             }});
        CHECK(costs[0] == doctest::Approx(-f).epsilon(1e-8));
        CHECK(gradients[0] == doctest::Approx(2 * g).epsilon(1e-8));
        CHECK(found.converged);
        CHECK(found.value == doctest::Approx(-1.5274168152255774).epsilon(1e-8));
        CHECK(found.iterations <= 12); // pymanopt: 22
    }
}

TEST_CASE("Procrustes and joint diagonalisation, unitary 64 x 64") {
    xg::manual_seed(3);
    Z const a = xg::randn<complex<double>>({80, 64}), b = xg::randn<complex<double>>({80, 64});
    // |a u - b|^2 is least where u is the polar factor of a^H b
    double const nuclear = sum(xg::linalg::svdvals(matmul(adjoint(a), b))).item();
    double const least = sum(abs2(a)).item() + sum(abs2(b)).item() - 2 * nuclear;
    auto const found = xg::minimize([&](Z const& u) { return D(sum(abs2(matmul(a, u) - b))); },
        xg::Unitary().random(complex_like({64, 64})), xg::on(xg::Unitary()),
        {.method = Descent::trust_region});
    CHECK(found.converged);
    CHECK(found.value == doctest::Approx(least).epsilon(1e-10));
    CHECK(distance_to_orthonormal(found.x) < 1e-14);

    Z const basis = xg::Unitary().random(complex_like({8, 8}));
    std::vector<Z> family;
    for (int k = 0; k < 4; ++k) family.push_back(matmul(Z(basis * xg::randn({8})), adjoint(basis)));
    auto const off_diagonal = [&](Z const& u) {
        D total(0.);
        for (auto const& m : family) {
            Z const t = matmul(adjoint(u), matmul(m, u));
            total = total + sum(abs2(t)) - sum(abs2(t.diagonal()));
        }
        return total;
    };
    // from a start whose basin has the common eigenvectors
    Z const near = xg::Unitary().retract(basis, Z(0.05 * xg::randn<complex<double>>({8, 8})));
    for (auto const method : methods) {
        auto const joint =
            xg::minimize(off_diagonal, near, xg::on(xg::Unitary()), {.method = method});
        CHECK(joint.converged);
        CHECK(joint.value < 1e-12);
    }
}

TEST_CASE("Relaxed max-cut has the bounds that are known") {
    xg::manual_seed(4);
    // sum over edges of (1 - <x_i, x_j>) / 2 with unit vectors: 12.5 for the Petersen graph, whose
    // largest cut has 12 edges, and 5 (1 + cos(pi / 5)) / 2 for a cycle of 5
    auto const bound = [](D const& adjacency, double value) {
        auto const n = adjacency.shape(0);
        check_minimum<D>(
            [&](D const& x) { return D(0.25 * sum(adjacency * (matmul(x, xg::mT(x)) - 1.))); },
            xg::Oblique{-1}.random(real_like({n, 5})), xg::Oblique{-1}, -value,
            {2000, 300, 150, 40});
    };
    D cycle = real_like({5, 5}), petersen = real_like({10, 10});
    auto const join = [](D& a, int i, int j) { a(i, j) = 1., a(j, i) = 1.; };
    for (int i = 0; i < 5; ++i) {
        join(cycle, i, (i + 1) % 5);
        join(petersen, i, (i + 1) % 5), join(petersen, i, i + 5);
        join(petersen, i + 5, (i + 2) % 5 + 5);
    }
    bound(cycle, 2.5 * (1 + std::cos(std::acos(-1.) / 5)));
    bound(petersen, 12.5);
}

TEST_CASE("Beamforming by phases") {
    xg::manual_seed(5);
    // the power |sum conj(w_i) h_i|^2 of 256 antennas is at most (sum |h_i|)^2
    Z const h = xg::randn<complex<double>>({256});
    double const power = std::pow(sum(abs(h)).item(), 2);
    check_minimum<Z>([&](Z const& w) { return D(-abs2(sum(conj(w) * h)) / 256.); },
        xg::UnitModulus().random(complex_like({256})), xg::UnitModulus(), -power / 256,
        {1000, 200, 100, 25});
}

TEST_CASE("Positive definite matrices") {
    xg::manual_seed(6);
    xg::HermitianPositiveDefinite const m;
    Z const q = m.random(complex_like({4, 4}));
    // tr(x q) - log det x is least at q^-1
    check_minimum<Z>(
        [&](Z const& x) { return D(inner(x, q) - std::get<1>(xg::linalg::slogdet(x))); },
        m.random(q), m, 4 + std::get<1>(xg::linalg::slogdet(q)).item(), {100, 100, 50, 15});
    // the point between a and b: a^(1/2) (a^(-1/2) b a^(-1/2))^(1/2) a^(1/2)
    D const a = m.random(real_like({3, 3})), b = m.random(a);
    auto const power_of = [](D const& x, double p) {
        auto const [w, v] = xg::linalg::eigh(x);
        return D(matmul(D(v * pow(w, p)), xg::mT(v)));
    };
    auto const square_distance = [](D const& x, D const& l) { // with l l^T = the other matrix
        D const half = xg::linalg::solve_triangular(l, x);
        return D(sum(square(
            log(xg::linalg::eigvalsh(D(xg::linalg::solve_triangular(l, D(xg::mT(half)))))))));
    };
    D const la = xg::linalg::cholesky(a), lb = xg::linalg::cholesky(b);
    auto const mean =
        xg::minimize([&](D const& x) { return D(square_distance(x, la) + square_distance(x, lb)); },
            a, xg::on(m), {.gtol = 1e-10});
    D const ra = power_of(a, 0.5), ia = power_of(a, -0.5);
    D const between = power_of(D(matmul(matmul(ia, b), ia)), 0.5);
    CHECK(mean.converged);
    CHECK(difference(mean.x, D(matmul(matmul(ra, between), ra)), 1e-8) == "");
}

TEST_CASE("Matrices of one rank") {
    xg::manual_seed(7);
    D const a = xg::randn({12, 9});
    auto const s = values(xg::linalg::svdvals(a));
    double rest = 0;
    for (std::size_t i = 3; i < s.size(); ++i) rest += s[i] * s[i];
    check_minimum<D>([&](D const& x) { return D(sum(square(x - a))); }, xg::FixedRank{3}.random(a),
        xg::FixedRank{3}, rest, {1000, 200, 100, 25});
    // completion from a part of the elements
    D const whole = matmul(xg::randn({30, 2}), xg::randn({2, 20}));
    D const mask = xg::cast<double>(xg::rand({30, 20}) < 0.6);
    auto const found = xg::minimize([&](D const& x) { return D(sum(mask * square(x - whole))); },
        xg::FixedRank{2}.random(whole), xg::on(xg::FixedRank{2}), {.gtol = 1e-9});
    CHECK(found.converged);
    CHECK(difference(found.x, whole, 1e-8) == "");
}

TEST_CASE("Several tensors, each on a manifold of its own") {
    xg::manual_seed(8);
    Z const a = xg::randn<complex<double>>({6, 4});
    // Re <u, a v> with unit vectors is at most the largest singular value
    auto const f = [&](Z const& u, Z const& v) { return D(-inner(u, matmul(a, v))); };
    double const largest = xg::linalg::svdvals(a).data()[0];
    auto const start =
        std::tuple(xg::Sphere().random(complex_like({6})), xg::Sphere().random(complex_like({4})));
    for (auto const method : methods) {
        auto const found =
            xg::minimize(f, start, xg::on(xg::Sphere(), xg::Sphere()), {.method = method});
        CHECK(found.converged);
        CHECK(found.value == doctest::Approx(-largest));
        CHECK(std::get<1>(found.x).shape() == xg::Shape{4});
    }
}

TEST_CASE("Without a constraint, and in single precision") {
    auto const valley = [](auto const& x) {
        return sum(100. * square(x[1] - square(x[0])) + square(1. - x[0]));
    };
    for (auto const method : {Descent::lbfgs, Descent::trust_region}) {
        auto const found = xg::minimize(
            valley, D({-1.2, 1.}), xg::on(xg::Euclidean()), {.method = method, .gtol = 1e-9});
        CHECK(found.converged);
        CHECK(found.iterations < 60);
        CHECK(difference(found.x, D({1., 1.}), 1e-8) == "");
        CHECK_FALSE(found.x.requires_grad());
    }
    F const h = xg::randn<float>({20});
    auto const single = xg::minimize([&](F const& x) { return F(-sum(x * h)); },
        xg::Sphere().random(h), xg::on(xg::Sphere()), {.gtol = 1e-4});
    CHECK(single.converged);
    CHECK(difference(single.x, F(h / norm(h)), 1e-4) == "");
}

TEST_CASE("In single precision it stops where rounding hides progress, and says so") {
    xg::manual_seed(2);
    F const a = xg::randn<float>({30, 30}), start = xg::Sphere().random(xg::randn<float>({30}));
    F const s = 0.5f * (a + transpose(a));
    double const least = -values(xg::linalg::eigvalsh(D(xg::cast<double>(s))))[29];
    for (auto const method : methods) {
        CAPTURE(static_cast<int>(method));
        auto const found = xg::minimize([&](F const& x) { return F(-sum(x * matmul(s, x))); },
            start, xg::on(xg::Sphere()), {.method = method, .gtol = 1e-12});
        CHECK_FALSE(found.converged);
        CHECK(found.message.find("no lower value was found: rounding hides further progress") !=
              std::string::npos);
        CHECK(found.value == doctest::Approx(least).epsilon(1e-5));
        CHECK(found.iterations < 300);
        CHECK(found.evaluations < 2000);
    }
}

TEST_CASE("Tangents may be expressions") {
    xg::manual_seed(3);
    auto const check = [](auto const& m, auto const& like) {
        auto const x = m.random(like);
        CHECK(difference(m.retract(x, 0. * x), x) == "");
        auto const v = m.project(x, 2. * x + 1.);
        CHECK(difference(v, m.project(x, std::remove_cvref_t<decltype(x)>(2. * x + 1.))) == "");
    };
    check(xg::Euclidean(), real_like({3})), check(xg::Sphere(), complex_like({3}));
    check(xg::UnitModulus(), complex_like({3})), check(xg::Oblique(), real_like({3, 2}));
    check(xg::Stiefel(), complex_like({3, 2})), check(xg::Unitary(), real_like({3, 3}));
    check(xg::SpecialUnitary(), complex_like({3, 3})), check(xg::Grassmann(), real_like({3, 2}));
    check(xg::HermitianPositiveDefinite(), real_like({3, 3}));
    check(xg::FixedRank{1}, complex_like({3, 2}));
    xg::HermitianPositiveDefinite const m;
    D const x = m.random(real_like({3, 3})), y = m.random(x);
    CHECK(m.inner(x, 1. * y, 2. * y) == doctest::Approx(2 * m.inner(x, y, y)));
    CHECK(difference(m.transport(x, y, 2. * x), 2. * y, 1e-10) == "");
    auto const two = xg::on(xg::Sphere(), xg::Sphere());
    D const z({0.6, 0.8});
    auto const moved = two.retract(std::tuple(z, z), std::tuple(0. * z, 0. * z));
    CHECK(difference(std::get<1>(moved), z) == "");
}

namespace {

struct Rotating : xg::nn::Module<Rotating> {
    xg::On<xg::nn::Parameter<complex<double>>, xg::Stiefel> weight{
        *this, "weight", xg::Stiefel().random(complex_like({8, 3}))};
    xg::nn::Parameter<double> scale{*this, "scale", D({1., 2., 3.})};
    Z forward(Z const& x) { return matmul(x, weight) * scale; }
};

} // namespace

TEST_CASE("Parameters stay on their manifold for 10,000 steps") {
    xg::manual_seed(9);
    auto const c = hermitian_matrix<complex<double>>(8);
    auto const w = values(xg::linalg::eigvalsh(c));
    auto const train = [&](auto&& optimizer, Rotating& net, int steps) {
        for (int i = 0; i < steps; ++i) {
            optimizer.zero_grad();
            D const loss = -inner(net.weight, matmul(c, net.weight)) + sum(square(net.scale));
            loss.backward();
            optimizer.step();
        }
        return -inner(net.weight, matmul(c, net.weight)).item();
    };
    double const least = -w[7] - w[6] - w[5];
    Rotating net;
    Rotating copy = net; // stays on the manifold, too
    double value =
        train(xg::optim::SGD(net.parameters(), {.lr = 0.01, .momentum = 0.9}), net, 10000);
    CHECK(value == doctest::Approx(least).epsilon(1e-10));
    CHECK(distance_to_orthonormal(net.weight.detach()) < 1e-14);
    CHECK(max(abs(net.scale)).item() < 1e-10);
    value = train(xg::optim::Adam(copy.parameters(), {.lr = 0.01}), copy, 2000);
    CHECK(value == doctest::Approx(least).epsilon(1e-5));
    CHECK(distance_to_orthonormal(copy.weight.detach()) < 1e-14);
    // the gradient is a tangent
    Z const g = copy.weight.grad(), x = copy.weight.detach();
    CHECK(difference(xg::Stiefel().project(x, g), g) == "");
}

TEST_CASE("keep_on() ends with its handle and with its tensor") {
    D x({3., 4.}, xg::requires_grad);
    CHECK_THROWS_WITH_AS(xg::keep_on(x, xg::Sphere()),
        "keep_on: the point of shape [2] is not on Sphere: retract(x, 0) differs from it by "
        "0.800000 of its length",
        xg::Error);
    x = D({0.6, 0.8}, xg::requires_grad);
    auto handle = xg::keep_on(x, xg::Sphere());
    xg::optim::SGD optimizer({x}, {.lr = 0.5});
    sum(x).backward();
    CHECK(difference(x.grad(), D({1. - 0.6 * 1.4, 1. - 0.8 * 1.4})) == "");
    optimizer.step();
    CHECK(norm(x).item() == doctest::Approx(1).epsilon(1e-15));
    handle.remove();
    optimizer.zero_grad();
    sum(x).backward();
    CHECK(difference(x.grad(), D({1., 1.})) == "");
    optimizer.step();
    CHECK(norm(x).item() < 0.9);
    {
        D y({1., 0.}, xg::requires_grad);
        xg::keep_on(y, xg::Sphere());
    }
    optimizer.step();
}

TEST_CASE("What minimize refuses") {
    auto const f = [](D const& x) { return sum(log(x)); };
    auto const run = [&](D const& x, xg::MinimizeOptions const& options = {}) {
        return xg::minimize(f, x, xg::on(xg::Sphere()), options);
    };
    CHECK_THROWS_WITH_AS(run(D({1., 2., 2.})),
        "minimize: the point of shape [3] is not on Sphere: retract(x, 0) differs from it "
        "by 0.666667 of its length",
        xg::Error);
    CHECK_THROWS_WITH_AS(
        run(D({1., 0.})), "minimize: the function is -inf at the start", xg::Error);
    CHECK_THROWS_WITH_AS(run(D({0.6, 0.8}), {.history_size = 0}),
        "minimize: max_iter, gtol and max_radius must not be negative, and history_size must be "
        "positive",
        xg::Error);
    CHECK_THROWS_WITH_AS(run(D()), "minimize: x0 0 is undefined", xg::Error);
    D const unit({0.6, 0.8});
    CHECK_THROWS_WITH_AS(xg::minimize([](D const& x, D const& y) { return sum(x * y); },
                             std::tuple(unit, D({1., 2., 2.})), xg::on(xg::Sphere(), xg::Sphere())),
        "minimize: part 1: the point of shape [3] is not on Sphere: retract(x, 0) differs from it "
        "by 0.666667 of its length",
        xg::Error);
    CHECK_THROWS_WITH_AS(run(D({0.6, 0.8}), {.method = "newton"}),
        "method: there is no 'newton', only gradient, conjugate_gradient, lbfgs, trust_region",
        xg::Error);
    auto const elements = [](D const& x) { return x * x; };
    CHECK_THROWS_WITH_AS(xg::minimize(elements, D({0.6, 0.8}), xg::on(xg::Sphere())),
        "minimize: the function must return one number, not shape [2]", xg::ShapeError);
    auto const sum_of_squares = [](D const& x) { return sum(x * x); };
    CHECK_THROWS_WITH_AS(xg::minimize(sum_of_squares, D({{1., 2.}, {2., 1.}}),
                             xg::on(xg::HermitianPositiveDefinite())),
        doctest::Contains("minimize: the point of shape [2, 2] is not on "
                          "HermitianPositiveDefinite: linalg.cholesky: "),
        xg::Error);
    CHECK_THROWS_WITH_AS(
        xg::minimize(sum_of_squares, D({{1., 2.}, {2., 1.}}), xg::on(xg::SpecialOrthogonal())),
        doctest::Contains("the point of shape [2, 2] is not on SpecialOrthogonal: "), xg::Error);
    CHECK_THROWS_WITH_AS(
        xg::minimize(sum_of_squares, D({{1., 2.}, {2., 1.}}), xg::on(xg::Orthogonal())),
        doctest::Contains("the point of shape [2, 2] is not on Orthogonal: "), xg::Error);
    CHECK_THROWS_WITH_AS(xg::FixedRank{4}.random(real_like({3, 5})),
        "FixedRank: matrices of shape [3, 5] have no rank 4", xg::ShapeError);
    CHECK_THROWS_WITH_AS(xg::Stiefel().random(real_like({2, 3})),
        "a manifold of orthonormal columns: matrices of shape [2, 3] have none; [..., n, p] needs "
        "n >= p",
        xg::ShapeError);
    CHECK_THROWS_AS(xg::Unitary().random(real_like({3, 2})), xg::ShapeError);

    for (auto const method : methods)
        CHECK_THROWS_WITH_AS(xg::minimize([](D const& x) { return D(square(D(x(0).item() - 1.))); },
                                 D({0.6, 0.8}), xg::on(xg::Sphere()), {.method = method}),
            doctest::Contains("minimize: the function does not depend on its argument"),
            xg::GraphError);

    int calls = 0;
    auto const few = xg::minimize(
        [](D const& x) {
            return sum(x * D({1., 2.}));
        },
        D({0.6, 0.8}), xg::on(xg::Sphere()),
        {.max_iter = 2, .gtol = 0, .callback = [&](xg::MinimizeProgress const& p) {
             CHECK(p.iteration == calls++);
         }});
    CHECK(calls == 3);
    CHECK_FALSE(few.converged);
    CHECK(few.message.find("is above gtol after max_iter = 2 iterations.") != std::string::npos);
}

TEST_CASE("a callback that returns false ends the descent") {
    auto const f = [](D const& x) { return sum(x * D({1., 2.})); };
    D const start({0.6, 0.8});
    for (std::int64_t const last : {0, 1, 2}) {
        auto const found = xg::minimize(f, start, xg::on(xg::Sphere()),
            {.gtol = 0,
                .callback = [&](xg::MinimizeProgress const& p) { return p.iteration < last; }});
        CHECK(found.iterations == last);
        CHECK_FALSE(found.converged);
        CHECK(found.message.find("above gtol, but the callback returned false.") !=
              std::string::npos);
        auto const as_many =
            xg::minimize(f, start, xg::on(xg::Sphere()), {.max_iter = last, .gtol = 0});
        CHECK(found.value == as_many.value);
    }
    std::function<bool(xg::MinimizeProgress const&)> none;
    CHECK(xg::minimize(f, start, xg::on(xg::Sphere()), {.callback = none}).converged);
}

namespace wrong_manifolds {

// each has one fault
struct WithoutProjection : xg::Sphere {
    D project(D const&, D const& v) const { return v; }
};
struct HalfProjection : xg::Sphere {
    D project(D const& x, D const& v) const { return v - 0.5 * x * sum(x * v); }
};
struct SlantedProjection : xg::Sphere {
    D project(D const& x, D const& v) const {
        D const n = x + D({0.1, 0., 0., 0.});
        return v - x * (sum(n * v) / sum(n * x));
    }
};
struct RandomOffTheSphere : xg::Sphere {
    D random(D const& x) const { return xg::randn_like(x); }
};
struct WithoutNormalisation : xg::Sphere {
    D retract(D const& x, D const& v) const { return x + v * (1 + norm(x - 1.)); }
};
struct RetractionBeside : xg::Sphere {
    D retract(D const& x, D const& v) const { return Sphere::retract(x, v) * (1. + sum(v * v)); }
};
struct RandomOfTwo : xg::Sphere {
    D random(D const&) const { return D({1., 0.}); }
};
struct RetractionToARow : xg::Sphere {
    D retract(D const& x, D const& v) const { return unsqueeze(Sphere::retract(x, v), 0); }
};
struct NoTransport : xg::Sphere {
    D transport(D const&, D const&, D const& v) const { return v; }
};
struct LongTransport : xg::Sphere {
    D transport(D const&, D const& y, D const& v) const { return project(y, D(2. * v)); }
};
struct AsymmetricProduct : xg::Sphere {
    double inner(D const&, D const& u, D const& v) const {
        return sum(u * v).item() + u(0).item() * v(1).item();
    }
    D gradient(D const& x, D const& g) const { return project(x, g); }
};
struct NegativeProduct : xg::Sphere {
    double inner(D const&, D const& u, D const& v) const { return -sum(u * v).item(); }
    D gradient(D const& x, D const& g) const { return -project(x, g); }
};
struct AnotherProduct : xg::Sphere {
    double inner(D const&, D const& u, D const& v) const { return 2 * sum(u * v).item(); }
    D gradient(D const& x, D const& g) const { return project(x, g); }
};
struct NoGradient : xg::Sphere {
    double inner(D const&, D const& u, D const& v) const { return sum(u * v).item(); }
    D gradient(D const&, D const& g) const { return g; }
};
struct AsymmetricHessian : xg::Sphere {
    D hessian(D const& x, D const& g, D const& h, D const& v) const {
        return project(x, h) + project(x, g) * (sum(x * g) + v(0));
    }
};
struct HessianOfAPlane : xg::Sphere {
    D hessian(D const& x, D const&, D const& h, D const&) const { return project(x, h); }
};
struct CurvedProjection : xg::Sphere {
    D project(D const& x, D const& v) const {
        return Sphere::project(x, v) / (1. + sum(square(Sphere::project(x, v))));
    }
};
struct ProjectionOntoMore : xg::Sphere { // idempotent, linear, symmetric
    D project(D const&, D const& v) const { return v * D({1., 1., 1., 0.}); }
};
struct OddProjection : xg::Sphere { // of a product of its own, so that symmetry is not asked for
    D project(D const& x, D const& v) const { // keeps tangents
        D const p = Sphere::project(x, v), n = v - p;
        return p + Sphere::project(x, D({1., 0., 0., 0.})) * square(sum(n * x));
    }
    double inner(D const&, D const& u, D const& v) const { return 2 * sum(u * v).item(); }
    D gradient(D const& x, D const& g) const { return 0.5 * Sphere::project(x, g); }
};
struct AnySphere : xg::Sphere { // whose project() is one on spheres of each radius
    D project(D const& x, D const& v) const { return v - x * (sum(x * v) / sum(x * x)); }
};
struct StraightRetraction : AnySphere {
    D retract(D const& x, D const& v) const { return x + v; }
};
struct Parabola : AnySphere { // leaves the sphere by the fourth power of v
    D retract(D const& x, D const& v) const { return x * (1. - 0.5 * sum(v * v)) + v; }
};
struct OtherRadius : xg::Sphere {
    D retract(D const& x, D const& v) const { return 1.1 * Sphere::retract(x, v); }
};
struct WanderingRetraction : xg::Sphere { // retract(y, 0) is never y
    D retract(D const& x, D const& v) const { return Sphere::retract(x, v) + 0.1 * x; }
};
struct ArcThatGrows : xg::Sphere { // right at 0, and leaves the sphere
    D retract(D const& x, D const& v) const { return x * cos(norm(v)) + v; }
};
struct GreatCircle : xg::Sphere { // for points only: retract(x, 0) is x for each x
    D retract(D const& x, D const& v) const {
        D const n = norm(v) + 1e-300;
        return x * cos(n) + v * (sin(n) / n);
    }
};
struct PolarOfPoints : xg::Stiefel { // (1 + v^T v) is (x + v)^T (x + v) at points only
    D retract(D const& x, D const& v) const {
        auto const [w, q] = xg::linalg::eigh(D(xg::eye(x.shape(-1)) + matmul(adjoint(v), v)));
        return matmul(D(x + v), D(matmul(D(q / sqrt(w)), adjoint(q))));
    }
};
struct RotationOfPoints : xg::Orthogonal { // x exp(x^T v), where x^T x = 1
    D project(D const& x, D const& v) const {
        D const s = matmul(adjoint(x), v);
        return matmul(x, D(0.5 * (s - adjoint(s))));
    }
    D retract(D const& x, D const& v) const { // Cayley's transform
        D const s = matmul(adjoint(x), v), one = xg::eye(x.shape(-1));
        return matmul(x, xg::linalg::solve(D(one - 0.5 * s), D(one + 0.5 * s)));
    }
};
// right, but of first order
struct BentRetraction : xg::Sphere {
    D retract(D const& x, D const& v) const {
        return Sphere::retract(x, D(v + D({1., 0., 0., 0.}) * sum(v * v)));
    }
};
struct BentHessian : BentRetraction { // without the curvature
    D hessian(D const& x, D const&, D const& h, D const&) const { return project(x, h); }
};
// right
struct Plane : xg::Euclidean { // vectors with the sum 0
    D project(D const&, D const& v) const { return v - mean(v); }
    D random(D const& x) const { return project(x, xg::randn_like(x)); }
};
struct Gram { // y y^T of two columns: y^T v of a horizontal v is symmetric
    D retract(D const& y, D const& v) const { return y + v; }
    D random(D const& y) const { return xg::randn_like(y); }
    D project(D const& y, D const& v) const {
        D const s = matmul(adjoint(y), v), turn({{0., 1.}, {-1., 0.}});
        return v - matmul(y, turn) * ((s(0, 1) - s(1, 0)) / sum(y * y));
    }
};
struct SubspacesByQr : xg::Grassmann { // whose retraction turns the basis
    D retract(D const& x, D const& v) const {
        D const y = x + v, l = xg::linalg::cholesky(D(matmul(adjoint(y), y)));
        return adjoint(D(xg::linalg::solve_triangular(l, D(adjoint(y)))));
    }
    D random(D const& x) const { return retract(xg::randn_like(x), xg::zeros_like(x)); }
};

} // namespace wrong_manifolds

TEST_CASE("check_manifold says what is wrong") {
    using namespace wrong_manifolds;
    xg::manual_seed(10);
    D const like = real_like({4});
    auto const says = [](auto const& m, auto const& at, char const* text) {
        std::string message;
        try {
            xg::check_manifold(m, at);
        } catch (xg::Error const& e) { message = e.what(); }
        CAPTURE(message);
        CHECK(message.find(text) != std::string::npos);
    };
    says(WithoutProjection(), like, ": project(x, v) is no tangent, or retract(x, v) drops");
    says(CurvedProjection(), like, ": project(x, v) changes a tangent v");
    says(ProjectionOntoMore(), like, ": project(x, v) is no tangent, or retract(x, v) drops");
    says(OddProjection(), like, ": project(x, v) is not linear in v");
    says(OtherRadius(), like, ": retract(x, 0) is not on the manifold");
    says(WanderingRetraction(), like, ": retract(x, 0) is not on the manifold");
    says(ArcThatGrows(), like, ": retract(x, v) is not on the manifold");
    for (int i = 0; i < 10; ++i) {
        says(StraightRetraction(), like, ": retract(x, t v) leaves the manifold: its derivative");
        says(Parabola(), like, ": retract(x, t v) leaves the manifold: its derivative");
    }
    says(GreatCircle(), like, ": retract(x, 0) of an x beside the manifold is not on");
    says(PolarOfPoints(), real_like({5, 2}), ": retract(x, 0) of an x beside the manifold");
    says(RotationOfPoints(), real_like({3, 3}), ": retract(x, 0) of an x beside the manifold");
    says(HalfProjection(), like, "project(x, v) changes a tangent v");
    says(SlantedProjection(), like, "project(x, v) is not the nearest tangent");
    says(RandomOffTheSphere(), like, "random(x) is not on the manifold");
    says(WithoutNormalisation(), like, ": retract(x, t v) leaves x in another direction than v");
    says(RetractionBeside(), like, "retract(x, v) is not on the manifold");
    says(RandomOfTwo(), like, "manifold: a result has shape [2], not [4]");
    says(RetractionToARow(), like, "manifold: a result has shape [1, 4], not [4]");
    says(NoTransport(), like, "transport(x, y, v) is no tangent at y");
    says(LongTransport(), like, "transport(x, x, v) is not v");
    says(AsymmetricProduct(), like, "inner(x, u, v) is not inner(x, v, u)");
    says(NegativeProduct(), like, "inner(x, v, v) is not positive");
    says(AnotherProduct(), like, "inner(x, gradient(x, g), v) is not Re sum conj(g) v");
    says(NoGradient(), like, "gradient(x, g) is no tangent");
    says(AsymmetricHessian(), like, "hessian(x, g, h, v) is not symmetric");
    says(HessianOfAPlane(), like,
        "hessian(x, g, h, v) is not the derivative of project(x, g) along v");
    says(BentHessian(), like, "hessian(x, g, h, v) is not the derivative of project(x, g) along v");
    says(xg::on(xg::Sphere(), HalfProjection()), std::tuple(like, like),
        "HalfProjection: project(x, v) changes a tangent v");
    CHECK(xg::check_manifold(BentRetraction(), like) == 1);
    // nothing to normalise: parallel planes, and a quotient of all matrices by rotations
    CHECK(xg::check_manifold(Plane(), like) == 2);
    CHECK(xg::check_manifold(Gram(), real_like({4, 2})) == 2);
    CHECK(xg::check_manifold(SubspacesByQr(), real_like({5, 2})) == 2);
}
