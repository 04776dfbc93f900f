// One tensor at several places of an expression, and several views of one memory.
#include <doctest/doctest.h>

#include <support/derivatives.hpp>

using namespace support;

namespace {
Point reals(xg::Shape const& shape) { return {sample(xg::DType::float64, shape, 1, 0.25, 2)}; }
} // namespace

TEST_CASE("a tensor gets its gradient once, from all its places in an expression") {
    for (auto const& shape : {xg::Shape{19}, xg::Shape{2, 3}, xg::Shape{}}) {
        CHECK(differentiates(function_of<double>([](auto a) { return a * a + a; }), reals(shape)));
        CHECK(differentiates(function_of<double>([](auto a) { return a - a; }), reals(shape)));
        CHECK(differentiates(function_of<double>([](auto a) { return a / a; }), reals(shape)));
        CHECK(differentiates(function_of<double>([](auto a) { return pow(a, a); }), reals(shape)));
        CHECK(differentiates(
            function_of<double>([](auto a) { return atan2(a, a) * a; }), reals(shape)));
    }
    auto const x = leaf_of<double>(sample(xg::DType::float64, {3}));
    xg::Tensor<double> const y = x * x + x;
    CHECK(y.grad_fn()->next_edges().size() == 1);
}

TEST_CASE("the same holds for complex numbers, and beside other tensors") {
    Point const z{sample(xg::DType::complex128, {11})};
    CHECK(differentiates(function_of<cd>([](auto a) { return a * conj(a) + a * a; }), z));
    CHECK(
        differentiates(function_of<cd>([](auto a) { return abs(a) * a + real(a) * imag(a); }), z));
    Point const at{sample(xg::DType::float64, {2, 11}, 1), sample(xg::DType::float64, {11}, 2)};
    CHECK(differentiates(
        function_of<double, double>([](auto a, auto b) { return a * b + b * a + b * b; }), at));
}

TEST_CASE("two handles of one tensor are one tensor, two leaves with equal values are two") {
    auto const a = leaf_of<double>(sample(xg::DType::float64, {5}, 1));
    auto const handle = a;
    xg::Tensor<double> y = a * handle;
    CHECK(
        holds(xg::grad(y, a, {.gradients = {xg::ones({5})}}), xg::Tensor<double>(2 * a.detach())));
    auto const other = leaf_of<double>(values(a));
    y = a * other;
    CHECK(holds(xg::grad(y, a, {.gradients = {xg::ones({5})}}), a.detach()));
}

TEST_CASE("a tensor and its own views in one expression each send their part of the gradient") {
    CHECK(differentiates(
        function_of<double>([](auto a) { return a * transpose(a); }), reals({4, 4})));
    CHECK(differentiates(
        function_of<double>([](auto a) { return a * a[1] + a(xt::all(), 0); }), reals({3, 3})));
    CHECK(differentiates(
        function_of<double>([](auto a) { return a(xg::slice(1)) - a(xg::slice({}, -1)); }),
        reals({9})));
    CHECK(
        differentiates(function_of<double>([](auto a) { return sum(a * a(0)) * a; }), reals({9})));
}

TEST_CASE("a tensor used by several expressions adds up their gradients") {
    auto const f = [](auto a) {
        xg::Tensor<double> const u = sin(a), v = a * u;
        return u * v + a;
    };
    CHECK(differentiates(function_of<double>(f), reals({7})));
}
