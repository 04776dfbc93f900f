// Real functions in one expression and in several, and the Nodes of one expression.
#include <doctest/doctest.h>

#include <support/fusion.hpp>

using namespace support;

namespace {

Values real(xg::Shape const& shape, unsigned seed = 1) {
    return sample(xg::DType::float64, shape, seed, 0.25, 2);
}

} // namespace

TEST_CASE("real formulas are the same fused and step by step, of one shape and broadcast") {
    for (auto const& [p, q] : std::vector<std::pair<xg::Shape, xg::Shape>>{
             {{19}, {19}}, {{2, 5}, {5}}, {{3, 1}, {1, 40}}, {{}, {7}}}) {
        Point const at{real(p), real(q, 2)};
        CHECK(is_the_same_in_steps<double, double>(
            [](auto s, auto x, auto y) { return s(s(sin(x)) * y) + s(exp(s(x * y))); }, at));
        CHECK(is_the_same_in_steps<double, double>(
            [](auto s, auto x, auto y) { return s(s(x * y) / s(y + 2)) - s(log(x)); }, at));
        CHECK(is_the_same_in_steps<double, double>(
            [](auto s, auto x, auto y) { return where(s(x > y), s(x * x), s(maximum(y, 1))); },
            at));
        CHECK(is_the_same_in_steps<double, double>(
            [](auto s, auto x, auto y) { return pow(s(x + 1), s(y * 0.5)) * s(tanh(s(x - y))); },
            at));
    }
}

TEST_CASE("one expression is one Node, however long, and its text names its operations") {
    auto const x = leaf(real({3})).as<double>(), y = leaf(real({3}, 2)).as<double>();
    xg::Tensor<double> const z = sin(x) * y + exp(x * y) - 2 * x;
    CHECK(z.grad_fn()->name() == "SubBackward");
    CHECK(z.grad_fn()->next_edges().size() == 2);
    CHECK(sum(sin(x) * y).grad_fn()->name() == "SumBackward");
    CHECK(sum(sin(x) * y).grad_fn()->next_edges().size() == 2);
}

TEST_CASE("a formula of many operations and one of many tensors have both derivatives") {
    auto const deep = [](auto x) {
        return sin(cos(sin(cos(tanh(exp(-x * x) + x) * x) + x) * x) + 1 / (2 + x)) * x;
    };
    CHECK(differentiates(function_of<double>(deep), {real({9})}));
    auto const wide = [](auto a, auto b, auto c, auto d, auto e, auto f) {
        return a * b * c + d * e * f - a * f + b / e;
    };
    CHECK(differentiates(function_of<double, double, double, double, double, double>(wide),
        {real({5}, 1), real({5}, 2), real({5}, 3), real({5}, 4), real({5}, 5), real({5}, 6)}));
}
