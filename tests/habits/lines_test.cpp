// Lines as people write them who know NumPy, PyTorch, JAX or xtensor.
#include <array>
#include <complex>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include <xgrad/linalg.hpp>
#include <xgrad/nn.hpp>
#include <xgrad/optim.hpp>
#include <xgrad/xgrad.hpp>

namespace xg = xgrad;
namespace nn = xg::nn;
using D = xg::Tensor<double>;
using I = xg::Tensor<std::int64_t>;
using Z = xg::Tensor<std::complex<double>>;

namespace {
bool same(D const& x, xt::xarray<double> const& expected) { return x.array() == expected; }
bool same(I const& x, xt::xarray<std::int64_t> const& expected) { return x.array() == expected; }
} // namespace

TEST_CASE("creation") {
    CHECK(same(xg::arange(5), {0, 1, 2, 3, 4}));
    CHECK(same(xg::arange(0, 10, 3), {0, 3, 6, 9}));
    CHECK(same(xg::arange(2, 4), {2, 3}));
    CHECK(same(xg::arange(5, 0, -2), {5, 3, 1}));
    CHECK(same(xg::arange(3.), {0, 1, 2}));
    CHECK(same(xg::arange<double>(3), {0, 1, 2}));
    CHECK(same(xg::arange<double>(1, 3), {1, 2}));
    CHECK(same(xg::arange(0, 1, 0.25), {0, 0.25, 0.5, 0.75}));
    static_assert(std::is_same_v<decltype(xg::arange(0, 3.f)), xg::Tensor<float>>);
    std::size_t const n = 3;
    CHECK(same(xg::arange(n), {0, 1, 2}));
    CHECK(same(xg::linspace(0, 1, 5), {0, 0.25, 0.5, 0.75, 1}));
    CHECK(same(xg::linspace(0, 1., 3), {0, 0.5, 1}));
    CHECK(same(xg::linspace(0., 1., 3), {0, 0.5, 1}));

    D const x = xg::rand({2, 3});
    CHECK(xg::rand_like(x).shape() == x.shape());
    CHECK(xg::randn_like(x, xg::requires_grad).requires_grad());
    CHECK(same(xg::full_like(x, 7), {{7, 7, 7}, {7, 7, 7}}));

    xg::manual_seed(3);
    I const dice = xg::randint(1, 7, {1000});
    CHECK(amin(dice).item() == 1);
    CHECK(amax(dice).item() == 6);
    CHECK(xg::mean(dice).item() == doctest::Approx(3.5).epsilon(0.05));
    CHECK(amax(xg::randint(2, 10)).item() <= 1);
    CHECK_THROWS_AS(xg::randint(3, 3, {2}), xg::Error);
    I const order = xg::randperm(100);
    CHECK(same(sort(order).values, xt::arange<std::int64_t>(100)));
    CHECK(order(0).item() + 100 * order(1).item() != 100); // not 0, 1, ...
    D const coins = xg::bernoulli(xg::full({10000}, 0.3));
    CHECK(mean(coins).item() == doctest::Approx(0.3).epsilon(0.05));
    CHECK(all_of(coins == 0. || coins == 1.).item());
    CHECK(same(xg::one_hot(I({2, 0}), 3), {{0, 0, 1}, {1, 0, 0}}));
    CHECK_THROWS_AS(xg::one_hot(I({2, 3}), 3), xg::Error);
    CHECK_THROWS_AS(xg::one_hot(I({-1}), 3), xg::Error);
}

TEST_CASE("joining") {
    D const a({1., 2.}), b({3., 4.});
    CHECK(same(xg::cat({a, b}), {1, 2, 3, 4}));
    CHECK(same(xg::cat({a, b}, 0), {1, 2, 3, 4}));
    CHECK(same(xg::cat<double>({a, 2. * b}), {1, 2, 6, 8}));
    CHECK(same(cat(std::vector{a, b}), {1, 2, 3, 4})); // a container is found by its elements
    CHECK(same(stack(std::array{a, b}, 1), {{1, 3}, {2, 4}}));
    std::vector const parts{a, b};
    CHECK(same(concatenate(std::span(parts)), {1, 2, 3, 4}));
    CHECK(same(xg::stack({a, b}, 1), {{1, 3}, {2, 4}}));
    CHECK(same(xg::concatenate({a, b}, 0), {1, 2, 3, 4}));
    D const m({{1., 2.}, {3., 4.}});
    D const whole = xg::block({{m, m}, {m, m}});
    CHECK(whole.shape() == xg::Shape{4, 4});
    CHECK(whole(3, 2).item() == 3);
    D const leaf = D({1., 2.}, xg::requires_grad);
    sum(xg::cat({leaf, leaf}) * D({1., 2., 3., 4.})).backward();
    CHECK(same(leaf.grad(), {4, 6}));
}

TEST_CASE("functions of shapes as members") {
    D const x({{1., 2., 3.}, {4., 5., 6.}});
    CHECK(x.flatten().shape() == xg::Shape{6});
    CHECK(x.unsqueeze(0).shape() == xg::Shape{1, 2, 3});
    CHECK(x.unsqueeze(-1).squeeze(-1).shape() == xg::Shape{2, 3});
    CHECK(x.unsqueeze(0).squeeze().shape() == xg::Shape{2, 3});
    CHECK(x.view_as(xg::zeros({3, 2})).shape() == xg::Shape{3, 2});
    CHECK(x.reshape_as(xg::zeros(6)).shape() == xg::Shape{6});
    CHECK(x(0).broadcast_to({4, 3}).shape() == xg::Shape{4, 3});
    CHECK(x(0).expand_as(x).shape() == xg::Shape{2, 3});
    CHECK(same(x.select(1, -1), {3, 6}));
    CHECK(same(x.narrow(1, 1, 2), {{2, 3}, {5, 6}}));
    CHECK(same(xg::narrow(x, 1, -2, 1).flatten(), {2, 5}));
    CHECK(same(x.T(), {{1, 4}, {2, 5}, {3, 6}}));
    CHECK(same(x.mT(), {{1, 4}, {2, 5}, {3, 6}}));
    CHECK(x.movedim(0, 1).shape() == xg::Shape{3, 2});
    CHECK(x.size(0) == 2);
    CHECK(x.size(-1) == 3);
    CHECK(x.ndim() == 2);
    Z const z({std::complex<double>(1, 2)});
    CHECK(z.reshape({1, 1}).H()(0, 0).item() == std::complex<double>(1, -2));
    CHECK_THROWS_WITH_AS(x.select(0, 2),
        "select: index 2 is out of range for axis 0 of shape [2, 3]", xg::IndexError);
    CHECK_THROWS_AS(x.narrow(0, 1, 2), xg::IndexError);
    CHECK_THROWS_AS(x.narrow(0, -3, 1), xg::IndexError);
    CHECK_THROWS_AS(x.size(2), xg::IndexError);

    // Views: changes and gradients arrive at the base.
    D base = xg::zeros({2, 3});
    base.select(0, 1) += 5.;
    base.narrow(1, 0, 1) += 1.;
    CHECK(same(base, {{1, 0, 0}, {6, 5, 5}}));
    D const leaf = D({{1., 2.}, {3., 4.}}, xg::requires_grad);
    sum(leaf.select(1, 0) * leaf.narrow(0, 1, 1).flatten()).backward();
    CHECK(same(leaf.grad(), {{3, 0}, {5, 3}}));
}

TEST_CASE("conversions") {
    D const x({1., 2.});
    static_assert(std::is_same_v<decltype(xg::Tensor<float>(x.to<float>())), xg::Tensor<float>>);
    CHECK(x.to<std::int64_t>()(1).item() == 2);
    CHECK(double(sum(x)) == 3);
    CHECK(double(2. * sum(x)) == 6);
    CHECK(static_cast<int>(x(1)) == 2);
    CHECK(int(argmax(x)) == 1);
    CHECK(double(sum(x > 0.)) == 2);
    int reached = 0;
    if (sum(x) < 4.) ++reached;
    if (sum(x) > 4.) ++reached;
    if (!(sum(x) > 4.)) ++reached;
    if (all_of(x > 0.)) ++reached;
    CHECK(reached == 3);
    if (all_of(x > 1.)) ++reached;
    if (any_of(x > 1.)) ++reached;
    CHECK(reached == 4);
    CHECK_FALSE(D());
    CHECK_THROWS_AS(static_cast<void>(static_cast<bool>(x < 4.)), xg::ShapeError);
    CHECK_THROWS_AS(static_cast<void>(static_cast<double>(x)), xg::ShapeError);
}

template <class T> T polynomial(T x) { // as written for double before
    T sum = 0.5;
    T const two = 2;
    for (int i = 0; i < 3; ++i) sum = sum * x + two;
    return sum;
}
double which(double) { return 1.; }
double which(D const&) { return 2.; }
D positive_part(D const& x) { return x.item() > 0. ? x : 0.0; }

TEST_CASE("a number becomes a tensor by itself") {
    D y = 3.0, n = 3;
    Z z = 2.0;
    xg::Tensor<float> f = 2.5;
    I i = 7;
    CHECK(y.item() == 3.);
    CHECK(n.item() == 3.);
    CHECK(n.dim() == 0);
    CHECK(z.item() == std::complex<double>(2.));
    CHECK(f.item() == 2.5f);
    CHECK(i.item() == 7);
    y = 4.0;
    CHECK(y.item() == 4.);
    D w = {3.0, xg::requires_grad};
    CHECK(w.requires_grad());

    D x({1., 2.}, xg::requires_grad), loss = 0;
    for (int k = 1; k <= 3; ++k) loss += sum(x * k);
    loss.backward();
    CHECK(same(x.grad(), {6, 6}));

    D a(2., xg::requires_grad);
    D p = polynomial(a);
    CHECK(p.item() == polynomial(2.));
    p.backward();
    CHECK(a.grad().item() == 0.5 * 12 + 2 * 4 + 2); // of x^3 / 2 + 2 x^2 + 2 x + 2
    CHECK(which(1.) + which(1) == 2.);
    CHECK(which(a) == 2.);
    CHECK(positive_part(-2.).item() == 0.);
    std::vector<D> const list = {1., 2.};
    CHECK(list[1].item() == 2.);
    D const brace{2.}; // a list, as always
    CHECK(brace.dim() == 1);
    // What would lose something is written: I n(3.5), D y(true).
    static_assert(!std::is_convertible_v<double, I> && std::is_constructible_v<I, double>);
    static_assert(!std::is_convertible_v<bool, D> && !std::is_convertible_v<int, xg::Tensor<bool>>);
    static_assert(!std::is_constructible_v<D, std::complex<double>>);
}

TEST_CASE("constants take the type of the tensor that they become") {
    xg::Tensor<bool> const mask({true, false});
    D y = where(mask, 1, 0);
    CHECK(same(y, {1, 0}));
    I n = where(mask, 1, 0);
    CHECK(same(n, {1, 0}));
    xg::Tensor<float> f = where(mask, 1., 0.);
    CHECK(f.array() == xt::xarray<float>{1, 0});
    Z z = where(mask, 1, 0.5);
    CHECK(z(1).item() == std::complex<double>(0.5));
    D x({3., 4.}, xg::requires_grad);
    y = where(mask, 1, 0);
    sum(x * y).backward();
    CHECK(same(x.grad(), {1, 0}));
    static_assert(!std::is_convertible_v<decltype(where(mask, 1., 0.)), I>);
    static_assert(!std::is_convertible_v<decltype(where(mask, n, 0)), D>);
}

TEST_CASE("NumPy's names") {
    D const x({{1., -2.}, {3., 0.5}});
    CHECK(same(clip(x, 0., 1.), {{1, 0}, {1, 0.5}}));
    CHECK(max(x).item() == 3);
    CHECK(min(x).item() == -2);
    CHECK(same(max(x, 0), {3, 0.5}));
    CHECK(min(x, -1, true).shape() == xg::Shape{2, 1});
    CHECK(same(max(x, -x), {{1, 2}, {3, 0.5}}));
    {
        using std::max;
        D const y = max(x, x.clone());
        CHECK(same(y, {{1, -2}, {3, 0.5}}));
    }
    CHECK(arg(Z({std::complex<double>(0, 1)})).item() == doctest::Approx(1.5707963267948966));
    CHECK(allclose(x, x + 1e-9));
    CHECK(!allclose(x, x + 1e-3));
    CHECK(allclose(x * 0., 0));
    CHECK(allclose(x, x + 1e-3, 0, 1e-2));
    double const infinity = HUGE_VAL;
    CHECK(allclose(D({infinity, 1.}), D({infinity, 1.})));
    CHECK(!allclose(D({infinity}), D({-infinity})));
    CHECK(!allclose(D({NAN}), D({NAN})));
    Z const z({std::complex<double>(1, 2)});
    CHECK(allclose(z, z + 1e-9));
}

TEST_CASE("indices") {
    D const x({{1., 2., 3.}, {4., 5., 6.}});
    CHECK(same(x(xg::all, 1), {2, 5}));
    CHECK(same(x(0, xg::range(1, 3)), {2, 3}));
    CHECK(same(x(0, xg::range({}, {}, 2)), {1, 3}));
    CHECK(same(x(xg::ellipsis, 0), {1, 4}));
    CHECK(x(xg::newaxis).shape() == xg::Shape{1, 2, 3});
    CHECK(x(xg::all, xg::newaxis).shape() == xg::Shape{2, 1, 3});
    CHECK(same(x[xg::range(1, 2)], {{4, 5, 6}}));
}

TEST_CASE("gradients and transforms in both forms") {
    D const a = D({1., 2.}, xg::requires_grad), b = D({3., 4.}, xg::requires_grad);
    auto const [ga, gb] = xg::grad(sum(a * b), a, b);
    CHECK(same(ga, {3, 4}));
    CHECK(same(gb, {1, 2}));
    CHECK(same(xg::grad(0.5 * sum(a * a), a), {1, 2}));
    CHECK(same(xg::grad(2. * sum(a * b), {a, b})[1], {2, 4}));
    auto const [twice_a, twice_b] = xg::grad(2. * sum(a * b), a, b);
    CHECK(same(twice_a, {6, 8}));
    CHECK(same(twice_b, {2, 4}));

    auto const f = [](auto const& x) { return sum(x * x * x); };
    D const x({1., 2.});
    CHECK(same(xg::grad(f)(x), {3, 12}));
    CHECK(same(xg::grad(f, x), {3, 12}));
    auto const [value, gradient] = xg::value_and_grad(f)(x);
    CHECK(value.item() == 9);
    CHECK(same(gradient, {3, 12}));
    auto const g = [](auto const& p, auto const& q) { return sum(p * p * q); };
    auto const [gp, gq] = xg::grad(g, x, x);
    CHECK(same(gp, {2, 8}));
    CHECK(same(gq, {1, 4}));
    auto const square = [](auto const& v) { return v * v; };
    CHECK(same(xg::jacobian(square)(x), {{2, 0}, {0, 4}}));
    CHECK(same(xg::jacobian(square, x), {{2, 0}, {0, 4}}));
    CHECK(same(xg::hessian(f)(x), {{6, 0}, {0, 12}}));
}

TEST_CASE("one home for each name: found by arguments, and named by nn::functional") {
    D const x({{0., 1.}, {2., -3.}});
    CHECK(allclose(softmax(x, 1), nn::functional::softmax(x, 1)));
    CHECK(allclose(log(softmax(x, -1)), log_softmax(x, -1)));
    CHECK(allclose(relu(x), nn::functional::relu(x)));
    CHECK(allclose(gelu(x), nn::functional::gelu(x)));
    CHECK(allclose(silu(x), nn::functional::silu(x)));
    CHECK(allclose(dropout(x, 0.5, false), x));
}

#if XGRAD_USE_LAPACK
TEST_CASE("linear algebra is found by its arguments") {
    D const m({{2., 1.}, {1., 3.}});
    CHECK(allclose(matmul(inv(m), m), xg::eye(2)));
    CHECK(det(m).item() == doctest::Approx(5));
    auto const [w, v] = eigh(m);
    CHECK(allclose(matmul(v * w, v.T()), m));
    CHECK(allclose(solve(m, D({3., 4.})), D({1., 1.})));
}
#endif

TEST_CASE("optimisers take a list in braces and a learning rate") {
    D a = D({1., 2.}, xg::requires_grad), b = D({3.}, xg::requires_grad);
    xg::optim::SGD sgd({a, b}, 0.5);
    (sum(a * a) + sum(b)).backward();
    sgd.step();
    CHECK(same(a.detach(), {0, 0}));
    CHECK(same(b.detach(), {2.5}));
    a.zero_grad();
    xg::optim::Adam adam({a}, 1e-3);
    sum(a).backward();
    adam.step(); // the first step of Adam is as long as the learning rate
    CHECK(a(0).item() == doctest::Approx(-1e-3));
}
