// Functions as members of tensors and of expressions, as one writes them after PyTorch: each has
// the value of the free function, and its gradient.
#include <doctest/doctest.h>
#include <xgrad/nn.hpp>
#include <xgrad/xgrad.hpp>

namespace xg = xgrad;
using D = xg::Tensor<double>;
using Z = xg::Tensor<std::complex<double>>;

TEST_CASE("elementwise functions") {
    D const x({{0.1, 0.2}, {0.3, 0.4}}), y({{0.5, -0.6}, {0.7, 0.8}});
    auto const check = [](auto const& a, auto const& b) { CHECK(allclose(D(a), D(b), 0, 0)); };
#define XGRAD_BOTH(f)                                                                              \
    check(x.f(), f(x));                                                                            \
    check((x * y).f(), f(x* y))
    XGRAD_BOTH(abs);
    XGRAD_BOTH(acos);
    XGRAD_BOTH(asin);
    XGRAD_BOTH(atan);
    XGRAD_BOTH(ceil);
    XGRAD_BOTH(cos);
    XGRAD_BOTH(cosh);
    XGRAD_BOTH(erf);
    XGRAD_BOTH(erfc);
    XGRAD_BOTH(exp);
    XGRAD_BOTH(expm1);
    XGRAD_BOTH(floor);
    XGRAD_BOTH(gelu);
    XGRAD_BOTH(log1p);
    XGRAD_BOTH(reciprocal);
    XGRAD_BOTH(relu);
    XGRAD_BOTH(round);
    XGRAD_BOTH(sigmoid);
    XGRAD_BOTH(sign);
    XGRAD_BOTH(sin);
    XGRAD_BOTH(sinh);
    XGRAD_BOTH(softplus);
    XGRAD_BOTH(square);
    XGRAD_BOTH(tan);
    XGRAD_BOTH(tanh);
    XGRAD_BOTH(trunc);
#undef XGRAD_BOTH
    check(x.log(), log(x));
    check(x.log2(), log2(x));
    check(x.log10(), log10(x));
    check(x.sqrt(), sqrt(x));
    check(x.rsqrt(), rsqrt(x));
    check(x.pow(2), x * x);
    check(x.pow(y), pow(x, y));
    check(x.atan2(y), atan2(x, y));
    check(x.clamp(0.15, 0.35), clamp(x, 0.15, 0.35));
    check(x.maximum(y), maximum(x, y));
    check((x - y).minimum(y), minimum(x - y, y));
    CHECK(x.isfinite().all_of().item());
    CHECK(!x.isnan().any_of().item());
    CHECK(!x.isinf().any_of().item());
}

TEST_CASE("reductions, with and without axes, in braces or as one integer") {
    D const x({{1., 2., 3.}, {4., 5., 7.}});
    CHECK(x.sum().item() == 22);
    CHECK(x.mean().item() == doctest::Approx(22. / 6));
    CHECK(x.prod().item() == 840);
    CHECK(x.max().item() == 7);
    CHECK(x.min().item() == 1);
    CHECK(x.norm().item() == doctest::Approx(std::sqrt(104.)));
    CHECK(allclose(x.sum(0), D({5., 7., 10.})));
    CHECK(allclose(x.sum(-1), D({6., 16.})));
    CHECK(x.sum({0, 1}).item() == 22);
    CHECK(x.sum({1}, true).shape() == xg::Shape{2, 1});
    CHECK(x.mean(0, true).shape() == xg::Shape{1, 3});
    CHECK(allclose(x.amax(1), D({3., 7.})));
    CHECK(allclose(x.amin({0}), D({1., 2., 3.})));
    CHECK(allclose(x.var(0), var(x, 0)));
    CHECK(allclose(x.stddev(1), stddev(x, 1)));
    CHECK(allclose(x.logsumexp(1), logsumexp(x, 1)));
    CHECK(allclose(x.cumsum(1), cumsum(x, 1)));
    CHECK(allclose(x.cumprod(0), cumprod(x, 0)));
    CHECK(x.argmax(1)(0).item() == 2);
    CHECK(x.argmin(0)(1).item() == 0);
    CHECK((x > 6.).any_of().item());
    CHECK(!(x > 6.).all_of().item());
    CHECK((x * x).sum().item() == 104);
    CHECK(allclose((x * 2.).sum(0), D({10., 14., 20.})));
    CHECK(allclose(x.softmax(1), softmax(x, 1)));
    CHECK(allclose((2. * x).log_softmax(-1), log_softmax(2. * x, -1)));
}

TEST_CASE("products and complex numbers") {
    D const a({{1., 2.}, {3., 4.}}), v({1., 2.});
    CHECK(allclose(a.matmul(a), matmul(a, a)));
    CHECK(allclose(a.matmul(v), D({5., 11.})));
    CHECK(v.dot(v).item() == 5);
    CHECK(allclose((a + a).matmul(v), D({10., 22.})));
    using C = std::complex<double>;
    Z const z({C(1, 2), C(-3, 0.5)});
    CHECK(allclose(z.real(), D({1., -3.})));
    CHECK(allclose(z.imag(), D({2., 0.5})));
    CHECK(allclose(z.abs(), abs(z)));
    CHECK(allclose(z.angle(), angle(z)));
    CHECK(allclose((z * z.conj()).real(), D({5., 9.25})));
}

TEST_CASE("a chain of members is one recorded expression") {
    D const x({0.1, 0.2, 0.3}, xg::requires_grad);
    D const y = (x.sin() * x.exp()).pow(2).mean();
    y.backward();
    D const other({0.1, 0.2, 0.3}, xg::requires_grad);
    mean(pow(sin(other) * exp(other), 2)).backward();
    CHECK(allclose(x.grad(), other.grad(), 0, 0));
}

TEST_CASE("an expression knows its shape") {
    D const x({{1., 2., 3.}}), y({{1.}, {2.}});
    CHECK((x * y).shape() == xg::Shape{2, 3});
    CHECK((x * y).numel() == 6);
    CHECK((x * y).dim() == 2);
    CHECK((x * y).ndim() == 2);
}

TEST_CASE("expressions are indexed, lists have formulas, and numbers are inputs of transforms") {
    D const a({1., 2., 3.}, xg::requires_grad), b({4., 5., 6.});
    CHECK((a * b)(1).item() == 10);
    CHECK((a + b)[2].item() == 9);
    CHECK(allclose(xg::cat({a, 2. * b}), D({1., 2., 3., 8., 10., 12.})));
    CHECK(xg::stack({a, a * b}, 1).shape() == xg::Shape{3, 2});
    D const y = sum(xg::cat({a, 3. * a}) * xg::cat({b, b}));
    y.backward();
    CHECK(allclose(a.grad(), 4. * b));
    CHECK(xg::grad([](auto const& x) { return x * x; })(2.0).item() == 4);
    CHECK(xg::grad([](auto const& x) { return x * x; }, 3).item() == 6);
    CHECK(a.size() == 3);
    CHECK(a.dimension() == 1);
    CHECK(allclose(a.flip(0), D({3., 2., 1.})));
    CHECK(allclose(D({{1., 2.}}).flip({0, 1}), D({{2., 1.}})));
    CHECK(D({{1., 2.}}).repeat({2, 3}).shape() == xg::Shape{2, 6});
    CHECK(D({{1., 2.}}).mm(D({{1.}, {1.}})).item() == 3);
    CHECK(allclose(xg::tensor({1., 2.}), D({1., 2.})));
    CHECK(xg::tensor({{1, 2}, {3, 4}}).shape() == xg::Shape{2, 2});
    CHECK(xg::tensor(3.).item() == 3);
    CHECK(xg::tensor<float>({1, 2}).dtype() == xg::DType::float32);
    CHECK(xg::tensor({5.}).shape() == xg::Shape{1});
    CHECK(allclose(a.real(), a));
    CHECK(allclose(D({{1., 2.}, {3., 5.}}).var({0}, false, 0.), D({1., 2.25})));
    D const w = xg::tensor({1., 2.}, xg::requires_grad);
    CHECK(w.requires_grad());
}
