// Gradients of reductions, in both orders, and at ties, zeros and infinities.
#include <doctest/doctest.h>

#include <support/derivatives.hpp>

using namespace support;

namespace {

using D = xg::Tensor<double>;

Point reals(xg::Shape const& shape, unsigned seed = 3) { return {sample(xg::DType::float64, shape, seed, 0.25, 2)}; }
Point complexes(xg::Shape const& shape) { return {sample(xg::DType::complex128, shape, 3)}; }

/// The gradient of a scalar function of a vector.
template <class F> std::vector<cd> slope(F f, std::vector<double> at)
{
    D x(xg::zeros({at.size()}, xg::requires_grad));
    std::copy(at.begin(), at.end(), x.mutable_data());
    return values(xg::grad(D(f(x)), x)).numbers;
}

}  // namespace

TEST_CASE("sums of expressions have both derivatives, over any axes")
{
    for (auto const& axes : {xg::Axes{}, xg::Axes{0}, xg::Axes{-1}, xg::Axes{0, 1}})
        for (bool const keep : {false, true}) {
            CHECK(differentiates(function_of<double>([=](auto x) { return sum(x * x, axes, keep); }), reals({3, 4})));
            CHECK(differentiates(function_of<double>([=](auto x) { return mean(sin(x) * x, axes, keep); }), reals({3, 4})));
            CHECK(differentiates(function_of<cd>([=](auto x) { return sum(x * conj(x) * x, axes, keep); }), complexes({3, 4})));
        }
    CHECK(differentiates(function_of<double>([](auto x) { return sum(x); }), reals({2, 40})));
    CHECK(differentiates(function_of<double>([](auto x) { return mean(x); }), reals({300})));
    CHECK(differentiates(function_of<double, double>([](auto x, auto y) { return sum(x * y, {1}); }), {reals({3, 40})[0], reals({40}, 4)[0]}));
    CHECK(differentiates(function_of<double, double>([](auto x, auto y) { return sum(x * y, {1}); }), {reals({2, 257})[0], reals({1}, 4)[0]}));
    CHECK(differentiates(function_of<double, double>([](auto x, auto y) { return sum(x * y, {1}); }), {reals({65, 3})[0], reals({65, 1}, 4)[0]}));
    CHECK(differentiates(function_of<double, cd>([](auto x, auto z) { return sum(x * z) * mean(x); }), {reals({5})[0], complexes({5})[0]}));
}

TEST_CASE("extrema have both derivatives, over any axes")
{
    for (auto const& axes : {xg::Axes{0}, xg::Axes{-1}, xg::Axes{0, 1}})
        for (bool const keep : {false, true}) {
            CHECK(differentiates(function_of<double>([=](auto x) { return amax(x * x, axes, keep); }), reals({3, 4})));
            CHECK(differentiates(function_of<double>([=](auto x) { return square(amin(x, axes, keep)); }), reals({3, 4})));
        }
}

TEST_CASE("products, logsumexp and norms have both derivatives, over any axes")
{
    for (auto const& axes : {xg::Axes{0}, xg::Axes{-1}, xg::Axes{0, 1}})
        for (bool const keep : {false, true}) {
            CHECK(differentiates(function_of<double>([=](auto x) { return prod(x, axes, keep); }), reals({3, 4})));
            CHECK(differentiates(function_of<double>([=](auto x) { return logsumexp(x, axes, keep); }), reals({3, 4})));
            for (double const p : {1., 2., 2.5, 3., inf}) CHECK(differentiates(function_of<double>([=](auto x) { return norm(x, p, axes, keep); }), reals({3, 4})));
        }
    CHECK(differentiates(function_of<cd>([](auto x) { return prod(x, {1}); }), complexes({2, 3})));
    CHECK(differentiates(function_of<cd>([](auto x) { return logsumexp(x, {1}); }), complexes({2, 3})));
    for (double const p : {1., 2., 3., inf}) CHECK(differentiates(function_of<cd>([=](auto x) { return norm(x, p, {0}); }), complexes({3, 2})));
}

TEST_CASE("elements that share an extremum share its gradient equally")
{
    CHECK(holds(slope([](auto x) { return amax(x); }, {1, 3, 3, 2, 3}), {0, 1 / 3., 1 / 3., 0, 1 / 3.}));
    CHECK(holds(slope([](auto x) { return amin(x); }, {1, 3, 1, 2}), {0.5, 0, 0.5, 0}));
    CHECK(holds(slope([](auto x) { return amax(x); }, {5, 5}), {0.5, 0.5}));
    CHECK(holds(slope([](auto x) { return amax(x); }, {1, NaN, 3, NaN}), {0, 0.5, 0, 0.5}));
    CHECK(holds(slope([](auto x) { return amax(x); }, {1, inf, inf}), {0, 0.5, 0.5}));
    CHECK(holds(slope([](auto x) { return amin(x); }, {-inf, 2}), {1, 0}));
    CHECK(holds(slope([](auto x) { return sum(amax(reshape(x, {2, 2}), {0})); }, {1, 2, 1, 3}), {0.5, 0, 0.5, 1}));
}

TEST_CASE("a product with zeros has the gradient of its other factors, in both orders")
{
    CHECK(holds(slope([](auto x) { return prod(x); }, {2, 3, 4}), {12, 8, 6}));
    CHECK(holds(slope([](auto x) { return prod(x); }, {2, 0, 4}), {0, 8, 0}));
    CHECK(holds(slope([](auto x) { return prod(x); }, {0, 0, 4}), {0, 0, 0}));
    for (auto const& at : {std::vector<cd>{2, 0, 4, 3}, {0, 0, 4, 3}, {0, 0, 0, 3}, {0, 0, 0, 0}}) {
        CHECK(differentiates(function_of<double>([](auto x) { return prod(x); }), {{xg::DType::float64, {4}, at}}));
        CHECK(differentiates(function_of<cd>([](auto x) { return prod(x); }), {{xg::DType::complex128, {4}, at}}));
    }
    CHECK(differentiates(function_of<double>([](auto x) { return prod(x, {0}); }), {{xg::DType::float64, {2, 2}, {0, 1, 0, 2}}}));
}

TEST_CASE("the gradient of logsumexp is softmax, and NaN of nothing but -infinity")
{
    double const e = std::exp(1);
    CHECK(holds(slope([](auto x) { return logsumexp(x); }, {1000, 1001}), {1 / (1 + e), e / (1 + e)}));
    CHECK(holds(slope([](auto x) { return logsumexp(x); }, {-inf, 0, 0}), {0, 0.5, 0.5}));
    CHECK(holds(slope([](auto x) { return logsumexp(x); }, {-inf, -inf}), {NaN, NaN}));
}

TEST_CASE("every norm has gradient 0 at 0, and so have its zero elements")
{
    for (double const p : {1., 1.5, 2., 3., inf}) {
        INFO("p = " << p);
        CHECK(holds(slope([=](auto x) { return norm(x, p); }, {0, 0, 0}), {0, 0, 0}));
        xg::Tensor<cd> const z = xg::zeros<cd>({2}, xg::requires_grad);
        CHECK(holds(xg::grad(norm(z, p), z), {0, 0}));
    }
    CHECK(holds(slope([](auto x) { return norm(x); }, {3, 0, -4}), {0.6, 0, -0.8}));
    CHECK(holds(slope([](auto x) { return norm(x, 1); }, {3, 0, -4}), {1, 0, -1}));
    CHECK(holds(slope([](auto x) { return norm(x, inf); }, {4, 0, -4}), {0.5, 0, -0.5}));
}

TEST_CASE("float reductions agree with those of double, in value and both derivatives")
{
    Point const at{sample(xg::DType::float32, {3, 7}, 3, 0.25, 2)};
    auto const check = [&]<class F>(F) { CHECK(agrees_with_double(function_of<float>(F{}), function_of<double>(F{}), at)); };
    check([](auto x) { return sum(x * x, {0}); });
    check([](auto x) { return mean(sin(x), {1}, xg::keepdims); });
    check([](auto x) { return amax(x * x, {1}); });
    check([](auto x) { return prod(x, {1}); });
    check([](auto x) { return logsumexp(x, {0}); });
    check([](auto x) { return norm(x, 2, {1}); });
    check([](auto x) { return norm(x, 3); });
}
