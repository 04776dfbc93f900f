// Functions at points where their values are known in closed form, of every type of number.
#include <doctest/doctest.h>

#include <support/derivatives.hpp>

using namespace support;

namespace {

using D = xg::Tensor<double>;
using F = xg::Tensor<float>;
using I = xg::Tensor<std::int64_t>;

double const pi = std::numbers::pi, euler = std::numbers::egamma, ln2 = std::numbers::ln2, ln3 = std::log(3);
double const apery = 1.2020569031595942, catalan = 0.9159655941772190;

struct Sawtooth : xg::Elementwise<xg::R(xg::R)> {
    auto value(auto x) const { return x - floor(x); }
    auto partial(xg::wrt<0>, auto, auto) const { return xg::one; }
};
struct Steps : xg::Elementwise<xg::R(xg::R)> {
    auto value(auto x) const { return x * floor(x) + trunc(x) * ceil(x) + lgamma(x + 4) - erfc(x); }
    auto partial(xg::wrt<0>, auto, auto x) const
    {
        auto const same = copysign(x, x) + fmod(x, x) + trunc(x) - trunc(x);
        return floor(same) + round(x + 5) - 5 - round(x) + polygamma(0, x + 4) + 2 * std::numbers::inv_sqrtpi * exp(-x * x) + erfc(x) - erfc(x) + ceil(x) - ceil(x);
    }
};

}  // namespace

TEST_CASE("digamma at whole, half, third and quarter numbers, of both signs (Gauss)")
{
    D const x({1, 2, 0.5, 1. / 3, 0.25, 0.75, -0.5, -0.25, 1e10, -1e5 - 0.5});
    CHECK(holds(digamma(x), {-euler, 1 - euler, -euler - 2 * ln2, -euler - pi / (2 * std::sqrt(3)) - 1.5 * ln3, -euler - pi / 2 - 3 * ln2, -euler + pi / 2 - 3 * ln2, 2 - euler - 2 * ln2,
                             4 - euler + pi / 2 - 3 * ln2, std::log(1e10) - 0.5e-10, std::log(1e5 + 1) + 1 / 24e10}, 2e-14));
    CHECK(holds(digamma(cast<float>(x)), values(D(digamma(cast<double>(F(cast<float>(x)))))).numbers, 2e-6));
    double const zero = 1.4616321449683623;  // of which psi is no further than its rounding
    CHECK(std::abs(D(digamma(D({zero}))).item()) < 1e-15);
}

TEST_CASE("derivatives of digamma at 1, 1/2 and 1/4, and below 0")
{
    D const x({1, 0.5, 0.25, -0.5, -1.5});
    CHECK(holds(polygamma(1, x), {pi * pi / 6, pi * pi / 2, pi * pi + 8 * catalan, pi * pi / 2 + 4, pi * pi / 2 + 4 + 4. / 9}, 1e-14));
    CHECK(holds(polygamma(2, x), {-2 * apery, -14 * apery, -2 * pi * pi * pi - 56 * apery, 16 - 14 * apery, 16 + 16. / 27 - 14 * apery}, 1e-14));
    CHECK(holds(polygamma(3, x), {std::pow(pi, 4) / 15, std::pow(pi, 4), 8 * std::pow(pi, 4) + 768 * 0.98894455174110533611, std::pow(pi, 4) + 96, std::pow(pi, 4) + 96 + 96. / 81}, 1e-14));
    CHECK(holds(polygamma(0, x), D(digamma(x)), 0));
    for (auto const& [n, at, wanted] : {std::tuple(20, 1., -2432903168507861321.74), std::tuple(20, 30., -4.786085204571763512e-13), std::tuple(5, 12.5, 9.562271597107644342e-5)})
        CHECK(D(polygamma(n, D({at}))).item() / wanted == doctest::Approx(1).epsilon(1e-13));  // of the series in 40 digits
    CHECK(has(message_of([&] { polygamma(-1, x); }), {"polygamma", "-1"}));
}

TEST_CASE("polygamma of large orders ends, and has the limit where n! is infinite")
{
    // (-1)^(n+1) n! x^-(n+1) times the sum of (x / (x + k))^(n+1)
    auto const wanted = [](int n, double x) {
        long double sum = 0;
        for (int k = 0; k < 5000; ++k) sum += powl(static_cast<long double>(x) / (x + k), n + 1);
        long double const size = expl(lgammal(n + 1) - (n + 1) * logl(x) + logl(sum));
        return static_cast<double>(n % 2 ? size : -size);
    };
    for (auto const& [n, x] : {std::pair(30, 2.), {160, 1.5}, {170, 80.}, {171, 80.}, {200, 100.},
             {201, 60.}, {500, 200.}, {1000, 370.}})
        CHECK(D(polygamma(n, D({x}))).item() / wanted(n, x) == doctest::Approx(1).epsilon(1e-11));
    D const x({0.5, 2., 1e9, -0.25}, xg::requires_grad);
    CHECK(holds(polygamma(1000000000, x), {-inf, -inf, 0, inf}));
    CHECK(holds(polygamma(999999999, x), {inf, inf, 0, inf}));
    CHECK(holds(xg::grad(sum(polygamma(1000000, x)), x), {inf, inf, 0, inf}));
    CHECK(has(message_of([&] { polygamma(std::numeric_limits<int>::max(), x); }),
        {"polygamma", "too large"}));
}

TEST_CASE("polygamma next to its poles, on both sides")
{
    for (double const e : {1e-3, -1e-3, 1e-8, -1e-8, 1e-14, -1e-14})
        for (double const pole : {0., -1., -4.}) {
            double const d = (pole + e) - pole;
            INFO(pole << " and " << d);
            CHECK(D(digamma(D({pole + e}))).item() * -d == doctest::Approx(1).epsilon(4 * std::abs(e) + 1e-13));
            CHECK(D(polygamma(1, D({pole + e}))).item() * d * d == doctest::Approx(1).epsilon(4 * e * e + 1e-13));
            CHECK(D(polygamma(2, D({pole + e}))).item() * d * d * d == doctest::Approx(-2).epsilon(4 * std::abs(d * d * d) + 1e-13));
        }
}

TEST_CASE("erf is the C++ library's to three units of the last place, of numbers of all sizes beside each other")
{
    std::vector<double> numbers;
    for (double x = 1e-300; x < 1e-2; x *= 7) numbers.push_back(x);
    for (double x = -6.5; x < 6.5; x += 1. / 512) numbers.push_back(x);
    D const y = erf(D(xt::xarray<double>(xt::adapt(numbers))));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        double const want = std::erf(numbers[i]), got = y(static_cast<int>(i)).item();
        INFO("of " << numbers[i]);
        CHECK(std::abs(got - want) <= 3 * std::numeric_limits<double>::epsilon() / 2 * std::abs(want));
    }
    CHECK(std::signbit(D(erf(D({-0.}))).item()));
}

TEST_CASE("the error functions are what they become far from 0, and erfc keeps its digits there")
{
    D const x({1e200, -1e200, 10, -10, inf, -inf});
    CHECK(holds(erf(x), {1, -1, 1, -1, 1, -1}, 0));
    CHECK(holds(erfc(x), {0, 2, std::erfc(10.), 2, 0, 2}, 0));
    CHECK(D(erfc(D({10.}))).item() / 2.0884875837625447570e-45 == doctest::Approx(1).epsilon(1e-14));
    CHECK(static_cast<double>(F(erfc(F({5.f}))).item()) / 1.5374597944280349e-12 == doctest::Approx(1).epsilon(1e-6));
    CHECK(holds(erf(F({1e30f, -1e30f})), {1, -1}, 0));
    CHECK(std::isnan(D(erf(D({NaN}))).item()));
}

TEST_CASE("nan_to_num puts the largest number of x's type for infinity")
{
    double const most = std::numeric_limits<float>::max();
    CHECK(holds(nan_to_num(F({HUGE_VALF, -HUGE_VALF, static_cast<float>(NaN)})), {most, -most, 0}, 0));
    CHECK(holds(nan_to_num(F({HUGE_VALF})) * D({2}), {2 * most}, 0));
    CHECK(holds(nan_to_num(I({3, -4})), {3, -4}, 0));
}

TEST_CASE("integers are rounded to themselves, and stay integers")
{
    std::int64_t const large = (std::int64_t(1) << 53) + 1;
    I const i({large, -large, 3});
    I const down = floor(i), up = ceil(i), near = round(i), to_zero = trunc(i);
    for (auto const& r : {down, up, near, to_zero})
        for (std::size_t k = 0; k < 3; ++k) CHECK(r.data()[k] == i.data()[k]);
    CHECK(holds(remainder(I({7, -7, 6}), 3), {1, 2, 0}, 0));
    CHECK(holds(floor(I({7, -7})) * 0.5, {3.5, -3.5}, 0));
}

TEST_CASE("operations on two operands broadcast, and take numbers on either side")
{
    D const column = reshape(D({3, 6}), {2, 1}), row({4, 8});
    CHECK(holds(hypot(column, row), {5, std::sqrt(73), std::sqrt(52), 10}, 1e-15));
    CHECK(holds(hypot(row, 3), {5, std::sqrt(73)}, 1e-15));
    CHECK(holds(fmod(7, row), {3, 7}, 0));
    CHECK(holds(xlogy(2, row), {4 * ln2, 6 * ln2}, 1e-15));
    CHECK(holds(copysign(2, -row), {-2, -2}, 0));
    CHECK(holds(lerp(column, row, 0.5), {3.5, 5.5, 5, 7}, 0));
    CHECK(holds(logaddexp(D({std::log(3.)}), std::log(5.)), {std::log(8.)}, 1e-15));
}

TEST_CASE("the words of these operations stand in rules of one's own")
{
    Values const at{xg::DType::float64, {3}, {-1.25, 0.75, 2.25}};
    CHECK(holds(value_of(function_of<double>([](auto x) { return xg::apply<Sawtooth>(x); }), {at}).numbers, {0.75, 0.75, 0.25}, 0));
    CHECK(differentiates(function_of<double>([](auto x) { return xg::apply<Steps>(x); }), {at}));
}
