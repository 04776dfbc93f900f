// Gradients of gradients.
#include "walk.hpp"

TEST_CASE("derivatives of a power of any order") {
    D const x({1., 2., -3.}, xg::requires_grad);
    D const y = sum(x * x * x * x);
    D const first = grad(y, x, {.create_graph = true});
    D const second = grad(sum(first), x, {.create_graph = true});
    D const third = grad(sum(second), x, {.create_graph = true});
    D const fourth = grad(sum(third), x, {.create_graph = true});
    CHECK(difference(first, {4., 32., -108.}) == "");
    CHECK(difference(second, {12., 48., 108.}) == "");
    CHECK(difference(third, {24., 48., -72.}) == "");
    CHECK(difference(fourth, {24., 24., 24.}) == "");
}

TEST_CASE("derivatives of sin(x) exp(x) up to the third") {
    D const x({0.3, -1.2}, xg::requires_grad);
    D const y = sum(sin(x) * exp(x));
    D const first = grad(y, x, {.create_graph = true});
    D const second = grad(sum(first), x, {.create_graph = true});
    D const third = grad(sum(second), x);
    auto const d1 = values(first), d2 = values(second), d3 = values(third), at = values(x);
    for (std::size_t i = 0; i < 2; ++i) {
        double const s = std::sin(at[i]), c = std::cos(at[i]), e = std::exp(at[i]);
        CHECK(d1[i] == doctest::Approx(e * (s + c)).epsilon(1e-13));
        CHECK(d2[i] == doctest::Approx(2 * e * c).epsilon(1e-13));
        CHECK(d3[i] == doctest::Approx(2 * e * (c - s)).epsilon(1e-13));
    }
}

TEST_CASE("the gradient is the same number whether or not it is recorded") {
    D const x({0.3, -1.2}, xg::requires_grad), w({2., 0.5}, xg::requires_grad);
    D const y = sum(exp(x * w) / (1. + x * x));
    auto const [a, b] = grad(y, xg::inputs(x, w), {.retain_graph = true});
    auto const [c, d] = grad(y, xg::inputs(x, w), {.create_graph = true});
    CHECK(difference(c, a) == "");
    CHECK(difference(d, b) == "");
    CHECK(c.requires_grad());
    CHECK_FALSE(a.requires_grad());
}

TEST_CASE("a Hessian times a vector agrees with the Hessian on paper") {
    // f = x0^2 x1 + exp(x1): H = [[2 x1, 2 x0], [2 x0, exp(x1)]]
    D const x({1.5, 0.5}, xg::requires_grad);
    D const f = x[0] * x[0] * x[1] + exp(x[1]);
    D const g = grad(f, x, {.create_graph = true});
    CHECK(difference(g, {1.5, 2.25 + std::exp(0.5)}) == "");
    D const hv = grad(sum(g * D({1., 10.})), x);
    CHECK(difference(hv, {1. + 30., 3. + 10 * std::exp(0.5)}) == "");
}

TEST_CASE("the Hessian of a function of two tensors is symmetric") {
    D const x({0.5, 1.}, xg::requires_grad), w({2., 3.}, xg::requires_grad);
    D const f = sum(x * x * w * w);
    auto const [gx, gw] = grad(f, xg::inputs(x, w), {.create_graph = true});
    D const xw = grad(sum(gx), w, {.retain_graph = true}), wx = grad(sum(gw), x);
    CHECK(difference(xw, {4., 12.}) == "");
    CHECK(difference(wx, {4., 12.}) == "");
}

TEST_CASE("broadcast operands differentiate twice") {
    D const m({{1., 2.}, {3., 4.}}, xg::requires_grad), row({0.5, 2.}, xg::requires_grad);
    auto const [gm, grow] = grad(sum(m * m * row), xg::inputs(m, row), {.create_graph = true});
    CHECK(difference(gm, {{1., 8.}, {3., 16.}}) == "");
    CHECK(difference(grow, {10., 20.}) == "");
    auto const [mm, mr] = grad(sum(gm), xg::inputs(m, row), {.retain_graph = true});
    CHECK(difference(mm, {{1., 4.}, {1., 4.}}) == "");
    CHECK(difference(mr, {8., 12.}) == "");
    CHECK(difference(grad(sum(grow), m), {{2., 4.}, {6., 8.}}) == "");
}

TEST_CASE("complex functions differentiate twice") {
    Z const z({complex<double>(1, 2)}, xg::requires_grad);
    Z const g = grad(sum(abs2(z * z)), z, {.create_graph = true}); // |z|^4: gradient 4 |z|^2 z
    CHECK(difference(g, {complex<double>(20, 40)}) == "");
    // the real part of that, 4 (x^2 + y^2) x, has the gradient 12 x^2 + 4 y^2 + i 8 x y
    CHECK(difference(grad(sum(real(g)), z), {complex<double>(28, 16)}) == "");
}

TEST_CASE("means, matrix products and joined tensors differentiate twice") {
    D const a({{1., 2.}, {3., 4.}}, xg::requires_grad);
    D const g = grad(mean(matmul(a, a)), a, {.create_graph = true});
    CHECK(difference(g, {{1.75, 2.75}, {2.25, 3.25}}) == "");
    CHECK(difference(grad(sum(g), a), {{1., 1.}, {1., 1.}}) == "");
}

TEST_CASE("a gradient penalty flows back into the leaves") {
    D const x({1., 2.}, xg::requires_grad), w({3., 4.}, xg::requires_grad);
    D const y = sum(x * x * w);
    D const g = grad(y, x, {.create_graph = true}); // 2 x w
    D const penalty = sum(g * g);                   // 4 x^2 w^2
    penalty.backward();
    CHECK(difference(x.grad(), {72., 256.}) == "");
    CHECK(difference(w.grad(), {24., 128.}) == "");
}

TEST_CASE("gradients collected with create_graph can be differentiated") {
    D const x({1., 2.}, xg::requires_grad), y({3., 4.}, xg::requires_grad);
    D const f = x + y * 2. + x * y;
    f.backward(xg::ones({2}), {.create_graph = true});
    D const gx = x.grad(), gy = y.grad();
    D const h = grad(sum(2. * gx + gy), x);
    CHECK(difference(h, {1., 1.}) == "");
    CHECK(difference(x.grad(), {4., 5.}) == "");
    CHECK(difference(y.grad(), {3., 4.}) == "");
    x.impl().grad = nullptr;
    y.impl().grad = nullptr;
}

TEST_CASE("steps along recorded gradients can be differentiated as one") {
    D const x({0.5}, xg::requires_grad);
    D at = x;
    for (int i = 0; i < 5; ++i) at = at + 0.05 * grad(sum(at * at), at, {.create_graph = true});
    CHECK_FALSE(x.grad().defined());
    sum(at).backward();
    CHECK(difference(x.grad(), {std::pow(1.1, 5)}) == "");
}

TEST_CASE("a gradient that does not depend on the input has no second derivative, or a zero one") {
    D const x({1., 2.}, xg::requires_grad);
    D const g = grad(sum(x * 3.), x, {.create_graph = true});
    CHECK(difference(g, {3., 3.}) == "");
    if (g.requires_grad()) {
        D const gg = grad(sum(g), x, {.allow_unused = true});
        if (gg.defined()) CHECK(difference(gg, {0., 0.}) == "");
    }
}

TEST_CASE("gradients of a given output gradient are found as well") {
    D const x({1., 2.}, xg::requires_grad), v({5., 7.}, xg::requires_grad);
    D const y = x * x;
    D const g = grad(y, x, {.gradients = {v}, .create_graph = true}); // 2 x v
    CHECK(difference(g, {10., 28.}) == "");
    auto const [gx, gv] = grad(sum(g), xg::inputs(x, v));
    CHECK(difference(gx, {10., 14.}) == "");
    CHECK(difference(gv, {2., 4.}) == "");
}

TEST_CASE("derivatives of up to the fourth order go through results that were saved, broadcasting, "
          "sums and repeated operands") {
    D const x({0.5, -1.}, xg::requires_grad), w({{2.}, {3.}}, xg::requires_grad);
    // f = sum_ij exp(w_i x_j) + x_j^2 w_i; the k-th derivative for x_j: sum_i w_i^k exp(w_i x_j) +
    // ...
    auto derivative = [&](D d, int times) {
        for (int k = 0; k < times; ++k) d = grad(sum(d), x, {.create_graph = true});
        return d;
    };
    D const f = sum(sum(exp(w * x), {0}) + sum(x * x * w, {0}));
    auto const power = [&](double at, int k) {
        return std::pow(2., k) * std::exp(2. * at) + std::pow(3., k) * std::exp(3. * at);
    };
    CHECK(difference(derivative(f, 1), {power(0.5, 1) + 5, power(-1, 1) - 10}) == "");
    CHECK(difference(derivative(f, 2), {power(0.5, 2) + 10, power(-1, 2) + 10}) == "");
    CHECK(difference(derivative(f, 3), {power(0.5, 3), power(-1, 3)}) == "");
    CHECK(difference(derivative(f, 4), {power(0.5, 4), power(-1, 4)}) == "");
    // and once for w in the end: d/dw_i of sum_j w_i^2 exp(w_i x_j) + 2 w_i
    double wanted[2];
    for (int i = 0; i < 2; ++i) {
        wanted[i] = 4;
        for (double const at : {0.5, -1.})
            wanted[i] += (2 * (i + 2.) + (i + 2.) * (i + 2.) * at) * std::exp((i + 2.) * at);
    }
    CHECK(difference(grad(sum(derivative(f, 2)), w), {{wanted[0]}, {wanted[1]}}) == "");
}

TEST_CASE("third derivatives for an incoming gradient, and of complex functions") {
    D const x({0.5, 2.}, xg::requires_grad), seed({3., 5.}, xg::requires_grad),
        v({1., 2.}, xg::requires_grad);
    D const g = grad(D(x * x * x), x, {.gradients = {seed}, .create_graph = true}); // 3 x^2 s
    D const h = grad(g, x, {.gradients = {v}, .create_graph = true});               // 6 x s v
    auto const [hx, hs, hv] = grad(sum(h), xg::inputs(x, seed, v), {.retain_graph = true});
    CHECK(difference(hx, {18., 60.}) == "");
    CHECK(difference(hs, {3., 24.}) == "");
    CHECK(difference(hv, {9., 60.}) == "");
    D const hs_again = grad(g, seed, {.gradients = {v}, .create_graph = true}); // 3 x^2 v
    CHECK(difference(grad(sum(hs_again), x), {3., 24.}) == "");

    Z const z({complex<double>(1, 2)}, xg::requires_grad);
    Z const first = grad(sum(real(z * z * z)), z, {.create_graph = true}); // 3 conj(z)^2
    Z const second = grad(sum(real(first)), z, {.create_graph = true});    // 6 conj(z)
    CHECK(difference(first, {3. * std::conj(complex<double>(1, 2) * complex<double>(1, 2))}) == "");
    CHECK(difference(second, {complex<double>(6, -12)}) == "");
    CHECK(difference(grad(sum(imag(second)), z), {complex<double>(0, -6)}) == "");
}

TEST_CASE(
    "third derivatives of formulas of several precisions, and with masks and integers in them") {
    xg::Tensor<float> const f({0.5f, 2.f}, xg::requires_grad);
    D const x({3., -4.}, xg::requires_grad);
    xg::Tensor<std::int64_t> const n({2, 3});
    // sum(f^2 x^3 n + where(x > 0, x, f) x^2)
    D const loss = sum(f * f * x * x * x * n + where(x > 0., x, f) * x * x);
    D const gx = grad(loss, x, {.create_graph = true});
    D const gxx = grad(sum(gx), x, {.create_graph = true});
    CHECK(difference(gx, {3 * 0.25 * 9 * 2 + 3 * 9., 3 * 4. * 16 * 3 - 2 * 2 * 4.}) == "");
    CHECK(difference(gxx, {6 * 0.25 * 3 * 2 + 6 * 3., 6 * 4. * -4 * 3 + 2 * 2.}) == "");
    auto const [third, mixed] = grad(sum(gxx), xg::inputs(x, f));
    CHECK(difference(third, {6 * 0.25 * 2 + 6., 6 * 4. * 3}) == "");
    CHECK(difference(mixed, xg::Tensor<float>({12 * 0.5f * 3 * 2, 12 * 2.f * -4 * 3 + 2})) == "");
}
