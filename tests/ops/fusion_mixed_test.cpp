// Complex functions, functions of several scalar types, and reductions, in one expression and in
// several.
#include <doctest/doctest.h>

#include <support/fusion.hpp>

using namespace support;

namespace {

Values real(xg::Shape const& shape, unsigned seed = 1) {
    return sample(xg::DType::float64, shape, seed, 0.25, 2);
}
Values complex(xg::Shape const& shape, unsigned seed = 1) {
    return sample(xg::DType::complex128, shape, seed);
}

} // namespace

TEST_CASE("complex formulas, and those of both kinds, are the same fused and step by step") {
    Point const z{complex({11}), complex({11}, 2)}, mixed{real({11}), complex({11}, 2)};
    CHECK(is_the_same_in_steps<cd, cd>(
        [](auto s, auto z, auto w) { return s(abs(s(z * w))) * s(z - s(conj(w))); }, z));
    CHECK(is_the_same_in_steps<cd, cd>(
        [](auto s, auto z, auto w) { return s(sgn(z)) * s(exp(s(w / z))); }, z));
    CHECK(is_the_same_in_steps<double, cd>(
        [](auto s, auto r, auto z) { return s(s(r * z) + s(sin(r))) * s(pow(z, r)); }, mixed));
    CHECK(is_the_same_in_steps<double, cd>(
        [](auto s, auto r, auto z) { return s(real(s(z * z))) + s(r * s(imag(s(z * r)))); },
        mixed));
    CHECK(is_the_same_in_steps<double, cd>(
        [](auto s, auto r, auto z) { return s(polar(r, s(angle(z)))) * cd(0, 2) - s(1 / z); },
        mixed));
}

TEST_CASE("reductions are the same over an expression and over its value") {
    Point const at{real({4, 5}), real({5}, 2)};
    CHECK(is_the_same_in_steps<double, double>(
        [](auto s, auto x, auto y) { return sum(s(x * y)); }, at));
    CHECK(is_the_same_in_steps<double, double>(
        [](auto s, auto x, auto y) { return mean(s(s(x * y) + s(sin(x))), {0}); }, at));
    CHECK(is_the_same_in_steps<double, double>(
        [](auto s, auto x, auto y) { return x / s(norm(s(x * y), 2, {1}, xg::keepdims)); }, at));
    CHECK(is_the_same_in_steps<double, double>(
        [](auto s, auto x, auto y) {
            return logsumexp(s(x * y), {1}) + amax(s(x + y), {1}) + prod(s(x - y), {1});
        },
        at));
    CHECK(is_the_same_in_steps<double, double>(
        [](auto s, auto x, auto y) { return matmul(s(x * 2), s(sin(y))); }, at));
    CHECK(is_the_same_in_steps<cd>(
        [](auto s, auto z) { return sum(s(abs2(s(z * z)))); }, {complex({13})}));
}

TEST_CASE("formulas of two precisions are the same fused and step by step, up to rounding") {
    Point const at{sample(xg::DType::float32, {11}, 1, 0.25, 2), real({11}, 2)};
    CHECK(is_the_same_in_steps<float, double>(
        [](auto s, auto x, auto y) { return s(x * y) + s(x * x); }, at, 1e-6));
    CHECK(is_the_same_in_steps<float, float>(
        [](auto s, auto x, auto y) { return s(s(sin(x)) * y) + s(exp(s(x * y))); },
        {at[0], sample(xg::DType::float32, {11}, 2)}, 1e-5));
}
