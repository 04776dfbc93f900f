// Lines of JAX's "Autodiff Cookbook".
#include <complex>
#include <map>

#include <doctest/doctest.h>

#include <xgrad/xgrad.hpp>

namespace jax = xgrad;
namespace jnp = xgrad;
using D = jax::Tensor<double>;
using C = std::complex<double>;
using Z = jax::Tensor<C>;
using A = xt::xarray<double>;

namespace {
bool same(D const& x, A const& expected) {
    return x.shape() == jax::Shape(expected.shape().begin(), expected.shape().end()) &&
           xt::allclose(x.array(), expected);
}
D const v({1., 2.}), w({3., 4.});

struct Parameters {
    D w, b;
};
struct Layers {
    Parameters first;
    std::vector<D> more;
};
} // namespace

TEST_CASE("grad") {
    auto const f = [](auto const& x) { return jnp::tanh(x); };
    auto const df = jax::grad(f);
    double const t = std::tanh(2.);
    CHECK(df(2.0).item() == doctest::Approx(1 - t * t));
    CHECK(jax::grad(jax::grad(f))(2.0).item() == doctest::Approx(-2 * t * (1 - t * t)));
    CHECK(jax::grad(jax::grad(jax::grad(f)))(2.0).item() ==
          doctest::Approx(-2 * (1 - t * t) * (1 - 3 * t * t)));

    auto const sigmoid = [](auto const& x) { return 0.5 * (jnp::tanh(x / 2) + 1); };
    D const inputs(
        {{0.52, 1.12, 0.77}, {0.88, -1.08, 0.15}, {0.52, 0.06, -1.30}, {0.74, -2.49, 1.39}}),
        targets({1., 1., 0., 1.});
    auto const predict = [&](D const& W, D const& b) { return sigmoid(matmul(inputs, W) + b); };
    auto const loss = [&](D const& W, D const& b) {
        D const p = predict(W, b);
        return -sum(log(p * targets + (1 - p) * (1 - targets)));
    };
    D const W({0.1, -0.2, 0.3}), b(0.05);
    auto const [W_grad, b_grad] = jax::grad(loss)(W, b);
    CHECK(same(jax::grad<0>(loss)(W, b), W_grad.array()));
    CHECK(same(jax::grad<1>(loss)(W, b), b_grad.array()));
    auto const [b_first, W_second] = jax::grad<1, 0>(loss)(W, b);
    CHECK(same(W_second, W_grad.array()));
    auto const [loss_value, Wb_grad] = jax::value_and_grad(loss)(W, b);
    CHECK(loss_value.item() == doctest::Approx(D(loss(W, b)).item()));
    CHECK(same(std::get<1>(Wb_grad), b_first.array()));
    // against differences, as the cookbook does
    double const eps = 1e-4;
    CHECK((D(loss(W, b + eps / 2)) - D(loss(W, b - eps / 2))).item() / eps ==
          doctest::Approx(b_grad.item()));
    auto const unit = W / norm(W);
    CHECK((D(loss(W + eps / 2 * unit, b)) - D(loss(W - eps / 2 * unit, b))).item() / eps ==
          doctest::Approx(vdot(W_grad, unit).item()));
}

TEST_CASE("containers of tensors") {
    auto const of_map = [](std::map<std::string, D> const& p) {
        return sum(p.at("w") * p.at("b"));
    };
    auto const g = jax::grad(of_map)(std::map<std::string, D>{{"w", v}, {"b", w}});
    CHECK(same(g.at("w"), {3, 4}));
    CHECK(same(g.at("b"), {1, 2}));
    auto const of_list = [](std::vector<D> const& p) { return sum(p[0] * p[1]); };
    CHECK(same(jax::grad(of_list)(std::vector{v, w})[1], {1, 2}));
    auto const of_array = [](std::array<D, 2> const& p) { return sum(p[0] * p[1]); };
    CHECK(same(jax::grad(of_array)(std::array{v, w})[0], {3, 4}));
    auto const of_tuple = [](std::tuple<D, D> const& p) { return sum(get<0>(p) * get<1>(p)); };
    CHECK(same(std::get<0>(jax::grad(of_tuple)(std::tuple{v, w})), {3, 4}));
    auto const of_struct = [](Parameters const& p) { return sum(p.w * p.b); };
    CHECK(same(jax::grad(of_struct)(Parameters{v, w}).w, {3, 4}));
    auto const of_both = [](Layers const& p, D const& x) {
        return sum(p.first.w * p.first.b * x) + sum(p.more[0] * x);
    };
    auto const [value, gradients] = jax::value_and_grad(of_both)(Layers{{v, w}, {w}}, v);
    CHECK(value.item() == 1 * 3 + 2 * 2 * 4 + 3 + 8);
    CHECK(same(std::get<0>(gradients).first.w, {3, 8}));
    CHECK(same(std::get<0>(gradients).more[0], {1, 2}));
    CHECK(same(std::get<1>(gradients), {6, 12}));
    // results, and second derivatives
    auto const two = [](D const& x) {
        return std::map<std::string, D>{{"a", x * x}, {"b", 2. * x}};
    };
    auto const [y, pull_back] = jax::vjp(two)(v);
    CHECK(same(y.at("a"), {1, 4}));
    CHECK(same(pull_back(std::map<std::string, D>{{"a", w}, {"b", w}}), {12, 24}));
    CHECK_THROWS_AS(pull_back(std::map<std::string, D>{{"a", w}}), jax::ShapeError);
    CHECK_THROWS_AS(pull_back(std::map<std::string, D>{{"a", w}, {"c", w}}), jax::ShapeError);
    CHECK_THROWS_AS(jax::jvp(of_both, std::tuple(Layers{{v, w}, {w}}, v),
                        std::tuple(Layers{{v, w}, {w, w}}, v)),
        jax::ShapeError);
    auto const [out, tangent] = jax::jvp(of_struct, Parameters{v, w}, Parameters{w, v});
    CHECK(tangent.item() == 9 + 16 + 1 + 4);
    CHECK(out.item() == 11);
    auto const hv = jax::hvp(of_struct)(Parameters{v, w}, Parameters{v, v}).second;
    CHECK(same(hv.w, {1, 2}));
}

TEST_CASE("Jacobians, and products with them") {
    auto const f = [](D const& x) { return x * x; };
    CHECK(same(jax::jacobian(f)(v), {{2, 0}, {0, 4}}));
    CHECK(same(jax::jacfwd(f)(v), {{2, 0}, {0, 4}}));
    CHECK(same(jax::jacrev(f)(v), {{2, 0}, {0, 4}}));
    CHECK(same(jax::jacobian(f, v, {.strategy = "forward"}), {{2, 0}, {0, 4}}));
    auto const [ja, jb] = jax::jacobian([](D const& a, D const& b) { return a * b; }, v, w);
    CHECK(same(jb, {{1, 0}, {0, 2}}));
    CHECK(same(ja, {{3, 0}, {0, 4}}));
    auto const cube = [](D const& x) { return sum(x * x * x); };
    CHECK(same(jax::hessian(cube)(v), {{6, 0}, {0, 12}}));
    CHECK(same(jax::jacfwd(jax::jacrev(cube))(v), {{6, 0}, {0, 12}}));
    auto const hvp = [&](D const& x, D const& t) { return jax::jvp(jax::grad(cube), x, t).second; };
    CHECK(same(hvp(v, w), {18, 48}));
    CHECK(same(jax::grad([&](D const& x) { return vdot(jax::grad(cube)(x), w); })(v), {18, 48}));
    auto const [y, vjp_fun] = jax::vjp(f)(v);
    CHECK(same(y, {1, 4}));
    CHECK(same(vjp_fun(w), {6, 16}));
    CHECK(same(vjp_fun(D(2. * w)), {12, 32})); // as often as one likes
    auto const [y2, f_jvp] = jax::linearize(f, v);
    CHECK(same(f_jvp(w), {6, 16}));
    CHECK(same(f_jvp(v), {2, 8}));
    CHECK_THROWS_AS(f_jvp(D({1.})), jax::ShapeError);
    auto const [y3, both_jvp] = jax::linearize([](D const& a, D const& b) { return a * b; }, v, w);
    CHECK(same(both_jvp(v, w), {6, 16}));
    // nested, where forward mode is not recorded
    CHECK(same(
        jax::jacfwd(jax::jacfwd([](D const& x) { return sum(x * x * x); }))(v), {{6, 0}, {0, 12}}));
    { // the function that is returned keeps no input alive, and outlives the transform
        jax::WeakTensor observer;
        auto pull = [&] {
            D const x({1., 2.});
            observer = jax::WeakTensor(x);
            return jax::vjp(f)(x).second;
        }();
        CHECK(same(pull(w), {6, 16}));
    }
    // of several inputs, recorded for an outer gradient
    auto const [z, both] = jax::vjp([](D const& a, D const& b) { return sum(a * b); })(v, w);
    CHECK(z.item() == 11);
    CHECK(same(std::get<1>(both(D(2.))), {2, 4}));
    CHECK(same(jax::grad([&](D const& x) { return sum(jax::vjp(f)(x).second(w)); })(v), {6, 8}));
    CHECK(same(jax::checkpoint(f)(v), {1, 4}));
    D const x({1., 2.}, jax::requires_grad);
    D const z2 = jax::checkpoint(jax::checkpoint(f))(x);
    sum(z2).backward();
    CHECK(same(x.grad(), {2, 4}));
    { // a call that throws leaves nothing behind
        D leaked;
        bool first = true;
        auto const throws = [&](D const& a) {
            leaked = a * a;
            if (std::exchange(first, false)) throw 1;
            return leaked;
        };
        CHECK_THROWS_AS(jax::checkpoint(throws, x), int);
        sum(leaked).backward();
        CHECK(same(x.grad(), {4, 8}));
    }
}

TEST_CASE("complex numbers") {
    auto const f = [](Z const& z) { return sum(z * z * z); };
    C const z(1, 2);
    // the derivative of a holomorphic function: 3 z^2
    CHECK(std::abs(jax::grad(f, {.holomorphic = true})(Z(z)).item() - 3. * z * z) < 1e-12);
    CHECK_THROWS_WITH_AS(jax::grad(f, {.strict = false})(Z(z)),
        doctest::Contains("with {.holomorphic = true} the result is its complex derivative"),
        jax::TypeError);
    CHECK_THROWS_AS(jax::grad([](Z const& a) { return a * a; }, {.holomorphic = true})(Z({z, z})),
        jax::GraphError); // not one number
    CHECK_THROWS_AS(jax::grad([](Z const& a) { return sum(abs2(a)); }, {.holomorphic = true})(Z(z)),
        jax::TypeError); // a real one
    // of a real function the gradient is 2 df/d(conj z), PyTorch's and not JAX's convention
    auto const power = [](Z const& x) { return sum(abs2(x)); };
    CHECK(std::abs(jax::grad(power)(Z(z)).item() - 2. * z) < 1e-12);
    CHECK(same(jax::grad([](D const& x) { return sum(real(exp(C(0, 1) * x))); })(D({0., 1.})),
        {0, -std::sin(1.)}));
}

TEST_CASE("names of jax.numpy and jax.nn") {
    CHECK(same(jnp::where(v > 1, v, 0.), {0, 2}));
    CHECK(same(jnp::logaddexp(0. * v, 0. * v), {std::log(2.), std::log(2.)}));
    CHECK(jnp::dot(v, w).item() == 11);
    CHECK(same(jnp::outer(v, w), {{3, 4}, {6, 8}}));
    CHECK(same(jnp::concatenate({v, w}, 0), {1, 2, 3, 4}));
    CHECK_FALSE(jax::stop_gradient(D(v * 1.)).requires_grad());
    auto const logistic = [](auto const& x) { return 1.0 / (1.0 + exp(-x)); };
    CHECK(same(jax::grad([&](auto const& x) { return sum(logistic(x)); })(D({0.})), {0.25}));
    CHECK(same(jnp::linspace(-3, 3, 3), {-3, 0, 3}));
}
