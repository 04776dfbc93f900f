// The law of fusion: written as one expression or step by step, a formula has the same value and the same gradients.
#include <doctest/doctest.h>

#include <support/derivatives.hpp>

using namespace support;

namespace {

/// What a formula calls on its parts: nothing, or evaluation into a tensor of its own.
auto const fused = [](auto const& part) { return part; };
auto const stepwise = [](auto const& part) { return xg::materialize_expression(part); };

/// f(step, x...) for both kinds of step.
template <class... T, class F> Verdict is_law(F f, Point const& at, double tolerance = 1e-12)
{
    auto const at_once = function_of<T...>([f](auto const&... x) { return f(fused, x...); });
    auto const in_steps = function_of<T...>([f](auto const&... x) { return f(stepwise, x...); });
    return agrees_with(at_once, in_steps, at, tolerance);
}

Values real(xg::Shape const& shape, unsigned seed = 1) { return sample(xg::DType::float64, shape, seed, 0.25, 2); }
Values complex(xg::Shape const& shape, unsigned seed = 1) { return sample(xg::DType::complex128, shape, seed); }

}  // namespace

TEST_CASE("real formulas are the same fused and step by step, of one shape and broadcast")
{
    for (auto const& [p, q] : std::vector<std::pair<xg::Shape, xg::Shape>>{{{19}, {19}}, {{2, 5}, {5}}, {{3, 1}, {1, 40}}, {{}, {7}}}) {
        Point const at{real(p), real(q, 2)};
        CHECK(is_law<double, double>([](auto s, auto x, auto y) { return s(s(sin(x)) * y) + s(exp(s(x * y))); }, at));
        CHECK(is_law<double, double>([](auto s, auto x, auto y) { return s(s(x * y) / s(y + 2)) - s(log(x)); }, at));
        CHECK(is_law<double, double>([](auto s, auto x, auto y) { return where(s(x > y), s(x * x), s(maximum(y, 1))); }, at));
        CHECK(is_law<double, double>([](auto s, auto x, auto y) { return pow(s(x + 1), s(y * 0.5)) * s(tanh(s(x - y))); }, at));
    }
}

TEST_CASE("complex formulas, and those of both kinds, are the same fused and step by step")
{
    Point const z{complex({11}), complex({11}, 2)}, mixed{real({11}), complex({11}, 2)};
    CHECK(is_law<cd, cd>([](auto s, auto z, auto w) { return s(abs(s(z * w))) * s(z - s(conj(w))); }, z));
    CHECK(is_law<cd, cd>([](auto s, auto z, auto w) { return s(sgn(z)) * s(exp(s(w / z))); }, z));
    CHECK(is_law<double, cd>([](auto s, auto r, auto z) { return s(s(r * z) + s(sin(r))) * s(pow(z, r)); }, mixed));
    CHECK(is_law<double, cd>([](auto s, auto r, auto z) { return s(real(s(z * z))) + s(r * s(imag(s(z * r)))); }, mixed));
    CHECK(is_law<double, cd>([](auto s, auto r, auto z) { return s(polar(r, s(angle(z)))) * cd(0, 2) - s(1 / z); }, mixed));
}

TEST_CASE("reductions are the same over an expression and over its value")
{
    Point const at{real({4, 5}), real({5}, 2)};
    CHECK(is_law<double, double>([](auto s, auto x, auto y) { return sum(s(x * y)); }, at));
    CHECK(is_law<double, double>([](auto s, auto x, auto y) { return mean(s(s(x * y) + s(sin(x))), {0}); }, at));
    CHECK(is_law<double, double>([](auto s, auto x, auto y) { return x / s(norm(s(x * y), 2, {1}, xg::keepdims)); }, at));
    CHECK(is_law<double, double>([](auto s, auto x, auto y) { return logsumexp(s(x * y), {1}) + amax(s(x + y), {1}) + prod(s(x - y), {1}); }, at));
    CHECK(is_law<double, double>([](auto s, auto x, auto y) { return matmul(s(x * 2), s(sin(y))); }, at));
    CHECK(is_law<cd>([](auto s, auto z) { return sum(s(abs2(s(z * z)))); }, {complex({13})}));
}

TEST_CASE("formulas of two precisions are the same fused and step by step, up to rounding")
{
    Point const at{sample(xg::DType::float32, {11}, 1, 0.25, 2), real({11}, 2)};
    CHECK(is_law<float, double>([](auto s, auto x, auto y) { return s(x * y) + s(x * x); }, at, 1e-6));
    CHECK(is_law<float, float>([](auto s, auto x, auto y) { return s(s(sin(x)) * y) + s(exp(s(x * y))); }, {at[0], sample(xg::DType::float32, {11}, 2)}, 1e-5));
}

TEST_CASE("one expression is one Node, however long, and its text names its operations")
{
    auto const x = leaf(real({3})).as<double>(), y = leaf(real({3}, 2)).as<double>();
    xg::Tensor<double> const z = sin(x) * y + exp(x * y) - 2 * x;
    CHECK(z.grad_fn()->name() == "SubBackward");
    CHECK(z.grad_fn()->next_edges().size() == 2);
    CHECK(sum(sin(x) * y).grad_fn()->name() == "SumBackward");
    CHECK(sum(sin(x) * y).grad_fn()->next_edges().size() == 2);
}

TEST_CASE("a formula of many operations and one of many tensors have both derivatives")
{
    auto const deep = [](auto x) { return sin(cos(sin(cos(tanh(exp(-x * x) + x) * x) + x) * x) + 1 / (2 + x)) * x; };
    CHECK(differentiates(function_of<double>(deep), {real({9})}));
    auto const wide = [](auto a, auto b, auto c, auto d, auto e, auto f) { return a * b * c + d * e * f - a * f + b / e; };
    CHECK(differentiates(function_of<double, double, double, double, double, double>(wide), {real({5}, 1), real({5}, 2), real({5}, 3), real({5}, 4), real({5}, 5), real({5}, 6)}));
}
