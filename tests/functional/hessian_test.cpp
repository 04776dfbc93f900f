// hessian(), vhp(), hvp(): closed forms, agreement with each other, nesting, complex inputs.
#include <xgrad/functional/hvp.hpp>
#include <xgrad/ops/complex_activation.hpp>

#include "tensor/compare.hpp"

using namespace std::complex_literals;

namespace {
/// sum over i of 100 (x_{i+1} - x_i^2)^2 + (1 - x_i)^2
D rosenbrock(D const& x) {
    auto const n = static_cast<std::ptrdiff_t>(x.numel());
    D const head = x(xg::slice(0, n - 1)), tail = x(xg::slice(1, n));
    return sum(100. * square(tail - square(head)) + square(1. - head));
}
D rosenbrock_hessian(D const& x) {
    auto const n = static_cast<std::ptrdiff_t>(x.numel());
    D H = xg::zeros({x.numel(), x.numel()});
    for (std::ptrdiff_t i = 0; i < n; ++i) {
        double const here = x[i].item();
        double diagonal = i > 0 ? 200 : 0;
        if (i + 1 < n) diagonal += 1200 * here * here - 400 * x[i + 1].item() + 2;
        H(i, i) = diagonal;
        if (i + 1 < n) H(i, i + 1) = -400 * here, H(i + 1, i) = -400 * here;
    }
    return H;
}
} // namespace

TEST_CASE("the Hessian of Rosenbrock's function") {
    D const x({-1.2, 1., 0.3, 2.});
    D const H = rosenbrock_hessian(x);
    CHECK(difference(xg::hessian(rosenbrock, x), H, 1e-11) == "");
    D const v({1., -2., 3., 0.5});
    auto const [y, product] = xg::hvp(rosenbrock, x, v);
    CHECK(y.item() == doctest::Approx(rosenbrock(x).item()));
    CHECK(difference(product, D(matmul(H, v)), 1e-11) == "");
    CHECK(difference(xg::vhp(rosenbrock, x, v).second, D(matmul(H, v)), 1e-11) == "");
    CHECK_FALSE(product.requires_grad());
}

TEST_CASE("several inputs: blocks of second derivatives") {
    D const x({1., 2.});
    F const w({{3.f, 4.f}, {5.f, 6.f}});
    // f = sum_ij w_ij^2 x_i x_j
    auto const f = [](D const& a, F const& b) { return sum(square(b) * a * unsqueeze(a, 1)); };
    auto const [from_x, from_w] = xg::hessian(f, xg::inputs(x, w));
    auto const& [xx, xw] = from_x;
    auto const& [wx, ww] = from_w;
    CHECK(difference(xx, {{18., 41.}, {41., 72.}}, 1e-5) == "");
    CHECK(xw.shape() == xg::Shape{2, 2, 2});
    CHECK(wx.shape() == xg::Shape{2, 2, 2});
    CHECK(difference(D(permute(wx, {2, 0, 1})), D(cast<double>(xw)), 1e-5) == "");
    CHECK(difference(ww(0, 1), {{0.f, 4.f}, {0.f, 0.f}}) == "");
    auto const v = std::tuple(D({1., -1.}), F({{1.f, 0.f}, {2.f, 1.f}}));
    auto const by_vhp = xg::vhp(f, xg::inputs(x, w), v).second,
               by_hvp = xg::hvp(f, xg::inputs(x, w), v).second;
    CHECK(difference(std::get<0>(by_vhp), std::get<0>(by_hvp), 1e-5) == "");
    CHECK(difference(std::get<1>(by_vhp), std::get<1>(by_hvp)) == "");
    D const along_x =
        D(matmul(xx, std::get<0>(v))) + D(sum(cast<double>(xw) * std::get<1>(v), {1, 2}));
    CHECK(difference(std::get<0>(by_hvp), along_x, 1e-5) == "");
}

TEST_CASE("an input of one number needs no vector") {
    auto const f = [](D const& a) { return a * a * a; };
    CHECK(xg::hvp(f, D(2.)).second.item() == 12);
    CHECK(xg::vhp(f, D(2.)).second.item() == 12);
    CHECK(xg::hessian(f, D(2.)).item() == 12);
    CHECK(xg::hessian(f, D(2.)).shape() == xg::Shape{});
    CHECK_THROWS_WITH_AS(xg::hvp([](D const& a) { return sum(a); }, D({1., 2.})),
        doctest::Contains("hvp: the vector v can only be left out"), xg::GraphError);
}

TEST_CASE("complex inputs: the derivative of the gradient along a direction") {
    // f = |z^2 - c|^2 has the gradient 4 conj(z) (z^2 - c); along v: 4 conj(v) (z^2 - c) + 8 |z|^2
    // v
    std::complex<double> const z = 1. + 2.i, c = 0.5 - 1.i, v = 0.3 + 0.7i;
    auto const f = [&](Z const& a) { return sum(abs2(a * a - c)); };
    Z const wanted({4. * std::conj(v) * (z * z - c) + 8. * std::norm(z) * v});
    CHECK(difference(xg::value_and_grad(f, Z({z})).second, Z({4. * std::conj(z) * (z * z - c)})) ==
          "");
    CHECK(difference(xg::hvp(f, Z({z}), Z({v})).second, wanted) == "");
    CHECK(difference(xg::vhp(f, Z({z}), Z({v})).second, wanted) == "");
}

TEST_CASE("transforms within transforms") {
    D const x({0.5, -1., 2.});
    auto const f = [](D const& a) { return sum(sin(a) * a); };
    // a function that is itself made of a vjp and a jacobian: |grad f|^2
    auto const steepness = [&](D const& a) { return sum(square(xg::vjp(f, a).second)); };
    auto const by_jacobian = [&](D const& a) { return sum(square(xg::jacobian(f, a))); };
    auto const H = xg::hessian(steepness, x);
    // g = sin x + x cos x, g' = 2 cos x - x sin x, g'' = -3 sin x - x cos x; (g^2)'' = 2 (g'^2 + g
    // g'')
    D const g = sin(x) + x * cos(x), g1 = 2. * cos(x) - x * sin(x), g2 = -3. * sin(x) - x * cos(x);
    CHECK(difference(H.diagonal().clone(), D(2. * (g1 * g1 + g * g2))) == "");
    CHECK(norm(H * (1. - xg::eye(3))).item() == 0);
    CHECK(difference(xg::hessian(by_jacobian, x), H) == "");
    D const v({1., 2., 3.});
    CHECK(difference(xg::hvp(steepness, x, v).second, D(matmul(H, v))) == "");
    CHECK(difference(xg::grad([&](D const& a) { return sum(xg::hvp(f, a, v).second); })(x),
              D(v * g2)) == "");
    CHECK(difference(xg::grad([&](D const& a) { return sum(xg::vhp(f, a, v).second); })(x),
              D(v * g2)) == "");
    CHECK(
        difference(xg::jacobian([&](D const& a) { return D(xg::hessian(f, a).diagonal() * 1.); }, x)
                       .diagonal()
                       .clone(),
            g2) == "");
}

TEST_CASE("create_graph at the top, into captured tensors") {
    D const x({1., 2.}), w({3., 4.}, xg::requires_grad);
    auto const f = [&](D const& a) { return sum(w * a * a * a); };
    auto const H = xg::hessian(f, x, {.create_graph = true});
    CHECK(difference(xg::grad(sum(H), w), {6., 12.}) == "");
    auto const product = xg::hvp(f, x, D({1., 1.}), {.create_graph = true}).second;
    CHECK(difference(xg::grad(sum(product), w), {6., 12.}) == "");
    CHECK_FALSE(xg::hessian(f, x).requires_grad());
}

TEST_CASE("functions that are linear or constant in an input") {
    D const x({1., 2.}), w({3., 4.});
    auto const linear = [](D const& a) { return sum(a * 3.); };
    CHECK(difference(xg::hessian(linear, x), xg::zeros({2, 2})) == "");
    CHECK(difference(xg::hvp(linear, x, w).second, {0., 0.}) == "");
    CHECK(difference(xg::vhp(linear, x, w).second, {0., 0.}) == "");
    CHECK_THROWS_WITH_AS(xg::hessian(linear, x, {.strict = true}),
        doctest::Contains("You should ensure that your function is twice differentiable"),
        xg::GraphError);
    auto const constant = [&](D const&) { return sum(w); };
    CHECK(difference(xg::hessian(constant, x), xg::zeros({2, 2})) == "");
    CHECK(difference(xg::hvp(constant, x, w).second, {0., 0.}) == "");
    CHECK_THROWS_WITH_AS(xg::vhp(constant, x, w, {.strict = true}),
        doctest::Contains("Output 0 of the user-provided function does not require gradients"),
        xg::GraphError);
    auto const bilinear = [](D const& a, D const& b) { return sum(a * b); };
    auto const [to_x, to_w] =
        xg::hvp(bilinear, xg::inputs(x, w), std::tuple(D({1., 2.}), D({3., 4.}))).second;
    CHECK(difference(to_x, {3., 4.}) == "");
    CHECK(difference(to_w, {1., 2.}) == "");
}

TEST_CASE("errors of the Hessian and its products") {
    D const x({1., 2.});
    auto const vector_valued = [](D const& a) { return a * a; };
    CHECK_THROWS_WITH_AS(xg::hessian(vector_valued, x),
        doctest::Contains("The Tensor returned by the function given to hessian should contain a "
                          "single element, its shape is [2]"),
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(xg::hvp(vector_valued, x, x),
        doctest::Contains(
            "The Tensor returned by the function given to hvp should contain a single element"),
        xg::ShapeError);
    CHECK_THROWS_WITH_AS(xg::vhp([](D const& a) { return sum(a * a); }, x, D({{1., 2.}})),
        "vhp: v has invalid size: should be [2] but got [1, 2]", xg::ShapeError);
}

TEST_CASE("in modes of the caller") {
    D const x({1., 2.});
    auto const f = [](D const& a) { return sum(a * a * a); };
    xg::NoGradGuard const off;
    CHECK(difference(xg::hessian(f, x), {{6., 0.}, {0., 12.}}) == "");
    xg::InferenceMode const mode;
    CHECK(difference(xg::hessian(f, x), {{6., 0.}, {0., 12.}}) == "");
    CHECK(difference(xg::hvp(f, x, D({1., 1.})).second, {6., 12.}) == "");
}

TEST_CASE("a tensor hook in the function: hvp has the derivative of the gradient that it made, vhp "
          "and hessian run it again") {
    D const x({3., -1.});
    int calls = 0;
    auto const f = [&](D const& a) {
        D t = a * a;
        t.register_hook([&](D const& g) {
            ++calls;
            return D(2. * g);
        });
        return sum(t * t);
    };
    D const v({1., 2.});
    // the gradient is 2 (2 t) (2 a) = 8 a^3
    CHECK(difference(xg::value_and_grad(f, x).second, {216., -8.}) == "");
    calls = 0;
    CHECK(difference(xg::hvp(f, x, v).second, {24. * 9, 24. * 2}) == "");
    CHECK(calls == 1);
    // by way of t the hook doubles once more: 2 (8 a) (2 a), beside 8 t
    calls = 0;
    CHECK(difference(xg::vhp(f, x, v).second, {40. * 9, 40. * 2}) == "");
    CHECK(calls == 2);
    CHECK(difference(xg::hessian(f, x), {{40. * 9, 0.}, {0., 40.}}) == "");
}

TEST_CASE("a Hessian that is recorded is finite where the convention for a gradient is 0") {
    D const x({0., 0.6});
    auto const second = [&](auto const& f) { // of a sum over elements, at each element
        auto const of_sum = [&](D const& p) { return sum(f(p)); };
        D const plain = xg::hessian(of_sum, x);
        D const recorded = xg::hessian(of_sum, x.clone().requires_grad_(), {.create_graph = true});
        CHECK(difference(recorded, plain, 1e-15) == "");
        return plain;
    };
    auto const z = [](D const& p) { return Z(xg::complex(p, 0.5 * p)); };
    auto const argument = [&](D const& p) { return angle(z(p)) * abs2(z(p)); };
    CHECK(difference(second(argument), {{0., 0.}, {0., 2.5 * std::atan(0.5)}}, 1e-12) == "");
    auto const phase = [&](D const& p) { return real(sgn(z(p)) * abs2(z(p))); };
    CHECK(difference(second(phase), {{0., 0.}, {0., 2. * std::sqrt(1.25)}}, 1e-12) == "");
    auto const raised = [&](D const& p) { return real(xg::modrelu(z(p), D(0.5)) * z(p)); };
    // (|z| + 0.5) z^2/|z| = (|z| + 0.5) |z| w^2, w = (1 + 0.5 i)/|1 + 0.5 i|
    CHECK(difference(second(raised), {{0., 0.}, {0., 2. * 0.75}}, 1e-12) == "");
    auto const power = [&](D const& p) { return xg::norm(z(p), 1.5) * sum(p); };
    // |z|_1.5 = sqrt(1.25) |p| where the other element is 0
    auto const slope = std::sqrt(1.25);
    CHECK(difference(second(power), {{0., slope}, {slope, 2. * slope}}, 1e-12) == "");
    // of third derivatives
    auto const cubed = [&](D const& p) {
        auto const g = xg::grad([](D const& q) { return xg::norm(q(xg::slice(0, 1)), 2., 0); }, p);
        return D(g * g * g);
    };
    CHECK(difference(second(cubed), {{0., 0.}, {0., 0.}}) == "");
}
