// Second derivatives of whole expressions, which are computed in one pass of their own: of several
// scalar types, with masks and integers among the operands, broadcast and summed.
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

TEST_CASE("real and complex operands of one expression, broadcast and summed over axes") {
    Point const at{real({3, 1}), complex({4}, 2), real({3, 4}, 3)};
    CHECK(differentiates(function_of<double, cd, double>([](auto r, auto z, auto x) {
        return exp(r * z) * conj(z) + x / (r + 2) * z;
    }),
        at));
    CHECK(differentiates(function_of<double, cd, double>([](auto r, auto z, auto x) {
        return sum(abs2(polar(r, x) * z - x) * r);
    }),
        at));
    CHECK(differentiates(function_of<double, cd, double>([](auto r, auto z, auto x) {
        return sum(sgn(z) * sin(r * x) + complex(x, r) / z, {0});
    }),
        at));
    CHECK(differentiates(function_of<double, cd, double>([](auto r, auto z, auto x) {
        return mean(angle(z * r) * pow(x, r), {1}, xg::keepdims);
    }),
        at));
}

TEST_CASE("operands of float and double, masks and integers in one expression") {
    Values const n{xg::DType::int64, {5}, {1, 2, 3, -1, 2}},
        m{xg::DType::boolean, {5}, {1, 0, 1, 1, 0}};
    Point const mixed{real({5}), sample(xg::DType::float32, {5}, 2, 0.25, 2), n, m},
        narrow{sample(xg::DType::float32, {5}, 2, 0.25, 2), real({5}), n, m};
    CHECK(differentiates(function_of<double, std::int64_t, bool>([](auto x, auto k, auto mask) {
        return where(mask, x * x * k, exp(x)) / (k * k + x);
    }),
        {real({5}), n, m}));
    CHECK(is_the_same_in_steps<double, float, std::int64_t, bool>(
        [](auto s, auto x, auto y, auto k, auto mask) {
            return s(where(mask, s(x * y), s(sin(y)))) * s(x + k);
        },
        mixed, 1e-6));
    CHECK(is_the_same_in_steps<float, double, std::int64_t, bool>(
        [](auto s, auto x, auto y, auto k, auto mask) {
            return s(where(y > 1, s(x * x), s(exp(x)))) * s(x * s(mask + k));
        },
        narrow, 1e-5));
}

TEST_CASE("an expression in which each step has a result of its own kind") {
    CHECK(differentiates(function_of<cd>([](auto z) {
        return abs(z * z) * exp(complex(real(z), abs(z))) / (1 + abs2(sin(z)));
    }),
        {complex({7})}));
    CHECK(differentiates(function_of<double, double>([](auto x, auto y) {
        return maximum(x * y, y) * clamp(x * x, 0.1, y) + atan2(x, y) * minimum(x, 1);
    }),
        {real({9}), real({9}, 4)}));
}

TEST_CASE("second derivatives of softplus far from 0 are those of the logistic function") {
    auto const second = []<class T>(T at) {
        xg::Tensor<T> const x({at}, xg::requires_grad);
        auto const g = xg::grad(sum(softplus(x)), x, {.create_graph = true});
        return xg::grad(sum(g), x).item();
    };
    for (double const at : {-800., -100., -30., -1., 0., 1., 30., 800.}) {
        double const e = std::exp(-std::abs(at)), wanted = e / ((1 + e) * (1 + e));
        CHECK(second(at) == doctest::Approx(wanted).epsilon(1e-12));
        CHECK(second(static_cast<float>(at)) == doctest::Approx(wanted).epsilon(1e-5));
    }
}

TEST_CASE("the largest number of tensors in one expression") {
    constexpr std::size_t count = 63;
    std::vector<xg::Tensor<double>> x;
    for (std::size_t i = 0; i < count; ++i)
        x.push_back({{0.1 * static_cast<double>(i), 1., -2.}, xg::requires_grad});
    auto const sum_of_cubes = [&]<std::size_t... I>(std::index_sequence<I...>) {
        return xg::Tensor<double>(sum((... + pow(x[I], 3.))));
    };
    std::vector<xg::AnyTensor> const inputs(x.begin(), x.end());
    auto const g =
        xg::grad(sum_of_cubes(std::make_index_sequence<count>()), inputs, {.create_graph = true});
    for (std::size_t i = 0; i < count; ++i) {
        auto const second = xg::grad(sum(g[i].as<double>()), x[i], {.retain_graph = true});
        for (std::size_t k = 0; k < 3; ++k)
            CHECK(second.data()[k] == doctest::Approx(6 * x[i].data()[k]).epsilon(1e-12));
    }
}
