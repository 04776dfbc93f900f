// Functions at points where their values are known in closed form, of every type of number.
#include <doctest/doctest.h>

#include <support/derivatives.hpp>
#include <xgrad/ops/activation.hpp>

using namespace support;

namespace {

using D = xg::Tensor<double>;
using F = xg::Tensor<float>;
using I = xg::Tensor<std::int64_t>;

double const pi = std::numbers::pi, euler = std::numbers::egamma, ln2 = std::numbers::ln2,
             ln3 = std::log(3);
double const apery = 1.2020569031595942, catalan = 0.9159655941772190;

struct Sawtooth : xg::Elementwise<xg::R(xg::R)> {
    auto value(auto x) const { return x - floor(x); }
    auto partial(xg::wrt<0>, auto, auto) const { return xg::one; }
};
struct Steps : xg::Elementwise<xg::R(xg::R)> {
    auto value(auto x) const { return x * floor(x) + trunc(x) * ceil(x) + lgamma(x + 4) - erfc(x); }
    auto partial(xg::wrt<0>, auto, auto x) const {
        auto const same = copysign(x, x) + fmod(x, x) + trunc(x) - trunc(x);
        return floor(same) + round(x + 5) - 5 - round(x) + polygamma(0, x + 4) +
               2 * std::numbers::inv_sqrtpi * exp(-x * x) + erfc(x) - erfc(x) + ceil(x) - ceil(x);
    }
};

} // namespace

TEST_CASE("digamma at whole, half, third and quarter numbers, of both signs (Gauss)") {
    D const x({1, 2, 0.5, 1. / 3, 0.25, 0.75, -0.5, -0.25, 1e10, -1e5 - 0.5});
    CHECK(holds(digamma(x),
        {-euler, 1 - euler, -euler - 2 * ln2, -euler - pi / (2 * std::sqrt(3)) - 1.5 * ln3,
            -euler - pi / 2 - 3 * ln2, -euler + pi / 2 - 3 * ln2, 2 - euler - 2 * ln2,
            4 - euler + pi / 2 - 3 * ln2, std::log(1e10) - 0.5e-10, std::log(1e5 + 1) + 1 / 24e10},
        2e-14));
    CHECK(holds(digamma(cast<float>(x)),
        values(D(digamma(cast<double>(F(cast<float>(x)))))).numbers, 2e-6));
    double const zero = 1.4616321449683623; // of which psi is no further than its rounding
    CHECK(std::abs(D(digamma(D({zero}))).item()) < 1e-15);
}

TEST_CASE("derivatives of digamma at 1, 1/2 and 1/4, and below 0") {
    D const x({1, 0.5, 0.25, -0.5, -1.5});
    CHECK(holds(polygamma(1, x),
        {pi * pi / 6, pi * pi / 2, pi * pi + 8 * catalan, pi * pi / 2 + 4,
            pi * pi / 2 + 4 + 4. / 9},
        1e-14));
    CHECK(holds(polygamma(2, x),
        {-2 * apery, -14 * apery, -2 * pi * pi * pi - 56 * apery, 16 - 14 * apery,
            16 + 16. / 27 - 14 * apery},
        1e-14));
    CHECK(holds(polygamma(3, x),
        {std::pow(pi, 4) / 15, std::pow(pi, 4), 8 * std::pow(pi, 4) + 768 * 0.98894455174110533611,
            std::pow(pi, 4) + 96, std::pow(pi, 4) + 96 + 96. / 81},
        1e-14));
    CHECK(holds(polygamma(0, x), D(digamma(x)), 0));
    for (auto const& [n, at, wanted] : {std::tuple(20, 1., -2432903168507861321.74),
             std::tuple(20, 30., -4.786085204571763512e-13),
             std::tuple(5, 12.5, 9.562271597107644342e-5)})
        CHECK(D(polygamma(n, D({at}))).item() / wanted ==
              doctest::Approx(1).epsilon(1e-13)); // of the series in 40 digits
    CHECK(has(message_of([&] { polygamma(-1, x); }), {"polygamma", "-1"}));
}

TEST_CASE("polygamma of large orders ends, and has the limit where n! is infinite") {
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

TEST_CASE("polygamma next to its poles, on both sides") {
    for (double const e : {1e-3, -1e-3, 1e-8, -1e-8, 1e-14, -1e-14})
        for (double const pole : {0., -1., -4.}) {
            double const d = (pole + e) - pole;
            INFO(pole << " and " << d);
            CHECK(D(digamma(D({pole + e}))).item() * -d ==
                  doctest::Approx(1).epsilon(4 * std::abs(e) + 1e-13));
            CHECK(D(polygamma(1, D({pole + e}))).item() * d * d ==
                  doctest::Approx(1).epsilon(4 * e * e + 1e-13));
            CHECK(D(polygamma(2, D({pole + e}))).item() * d * d * d ==
                  doctest::Approx(-2).epsilon(4 * std::abs(d * d * d) + 1e-13));
        }
}

TEST_CASE("erf is the C++ library's to three units of the last place, of numbers of all sizes "
          "beside each other") {
    std::vector<double> numbers;
    for (double x = 1e-300; x < 1e-2; x *= 7) numbers.push_back(x);
    for (double x = -6.5; x < 6.5; x += 1. / 512) numbers.push_back(x);
    D const y = erf(D(xt::xarray<double>(xt::adapt(numbers))));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        double const want = std::erf(numbers[i]), got = y(static_cast<int>(i)).item();
        INFO("of " << numbers[i]);
        CHECK(std::abs(got - want) <=
              3 * std::numeric_limits<double>::epsilon() / 2 * std::abs(want));
    }
    CHECK(std::signbit(D(erf(D({-0.}))).item()));
}

TEST_CASE("the error functions are what they become far from 0, and erfc keeps its digits there") {
    D const x({1e200, -1e200, 10, -10, inf, -inf});
    CHECK(holds(erf(x), {1, -1, 1, -1, 1, -1}, 0));
    CHECK(holds(erfc(x), {0, 2, std::erfc(10.), 2, 0, 2}, 0));
    CHECK(
        D(erfc(D({10.}))).item() / 2.0884875837625447570e-45 == doctest::Approx(1).epsilon(1e-14));
    CHECK(static_cast<double>(F(erfc(F({5.f}))).item()) / 1.5374597944280349e-12 ==
          doctest::Approx(1).epsilon(1e-6));
    CHECK(holds(erf(F({1e30f, -1e30f})), {1, -1}, 0));
    CHECK(std::isnan(D(erf(D({NaN}))).item()));
}

namespace {

/// Value and derivative at some numbers, in an array that fills whole batches.
template <class T, class F>
std::pair<std::vector<T>, std::vector<T>> value_and_slope(F f, std::vector<T> const& at) {
    xg::Tensor<T> x = xg::full<T>({(at.size() + 15) / 16 * 16}, at.back(), xg::requires_grad);
    std::copy(at.begin(), at.end(), x.mutable_data());
    xg::Tensor<T> const y = f(x);
    sum(y).backward();
    xg::Tensor<T> const slope = x.grad();
    return {{y.data(), y.data() + at.size()}, {slope.data(), slope.data() + at.size()}};
}

template <class T> T ulps(T got, long double want, int how_many) {
    auto const unit = std::max<long double>(
        std::abs(want) * std::numeric_limits<T>::epsilon(), std::numeric_limits<T>::denorm_min());
    return std::abs(static_cast<long double>(got) - want) <= how_many * unit;
}

} // namespace

TEST_CASE_TEMPLATE("erfc keeps its digits for all numbers", T, float, double) {
    std::vector<T> at;
    for (T x = -7; x < T(sizeof(T) == 8 ? 28 : 11); x += T(1) / 64) at.push_back(x);
    auto const [y, slope] = value_and_slope([](auto const& x) { return erfc(x); }, at);
    for (std::size_t i = 0; i < at.size(); ++i) {
        long double const x = at[i];
        INFO("erfc(" << at[i] << ") = " << y[i]);
        CHECK(ulps(y[i], std::erfc(x), 3));
        CHECK(ulps(slope[i], -2 / std::sqrt(std::numbers::pi_v<long double>) * std::exp(-x * x),
            2 + static_cast<int>(x * x)));
    }
}

TEST_CASE_TEMPLATE(
    "gelu has digits wherever it has a value, and so has its derivative", T, float, double) {
    std::vector<T> at;
    for (T x = sizeof(T) == 8 ? -37 : T(-12.5); x < 9; x += T(1) / 8) at.push_back(x);
    auto const [y, slope] = value_and_slope([](auto const& x) { return gelu(x); }, at);
    for (std::size_t i = 0; i < at.size(); ++i) {
        long double const x = at[i], part = std::erfc(-x / std::sqrt(2.0L)) / 2;
        long double const density =
            std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi_v<long double>);
        int const lost = 4 + static_cast<int>(x * x); // by the rounding of x^2 in an exponent
        long double const unit = static_cast<long double>(lost) * std::numeric_limits<T>::epsilon();
        INFO("gelu(" << at[i] << ") = " << y[i] << ", derivative " << slope[i]);
        CHECK(ulps(y[i], x * part, lost));
        CHECK(std::abs(slope[i] - (part + x * density)) <= unit * (part + std::abs(x) * density));
    }
    CHECK(
        value_and_slope([](auto const& x) { return gelu(x); }, std::vector<T>{-8.5f}).first[0] < 0);
}

TEST_CASE_TEMPLATE("sinc is 0 at whole numbers, and has its digits beside them", T, float, double) {
    auto const pi_ = std::numbers::pi_v<long double>;
    std::vector<T> at;
    for (int n = 1; n < 200; n += 7)
        for (T const away : {T(0), T(1) / 1024, T(-1) / 2048, T(3) / 8, T(-1) / 2})
            for (int sign : {1, -1})
                at.push_back(static_cast<T>(sign) * (static_cast<T>(n) + away));
    auto const [y, slope] = value_and_slope([](auto const& x) { return sinc(x); }, at);
    for (std::size_t i = 0; i < at.size(); ++i) {
        long double const x = at[i], n = std::nearbyint(x), sign = std::fmod(n, 2) == 0 ? 1 : -1;
        long double const s = sign * std::sin(pi_ * (x - n)), c = sign * std::cos(pi_ * (x - n));
        INFO("sinc(" << at[i] << ") = " << y[i] << ", derivative " << slope[i]);
        CHECK(ulps(y[i], s / (pi_ * x), 3));
        CHECK(std::abs(slope[i] - (c - s / (pi_ * x)) / x) <=
              5 * std::numeric_limits<T>::epsilon() / std::abs(x));
    }
    using Complex = std::complex<T>;
    xg::Tensor<Complex> const z({Complex(5), Complex(1000, T(1e-3))}), w = sinc(z);
    CHECK(w(0).item() == Complex(0));
    std::complex<long double> const beside(0, 1e-3L), far(1000, 1e-3L);
    std::complex<long double> const want = std::sin(pi_ * beside) / (pi_ * far);
    CHECK(std::abs(std::complex<long double>(w(1).item()) - want) <= 1e-6L * std::abs(want));
}

TEST_CASE_TEMPLATE("sigmoid has results down to the smallest numbers", T, float, double) {
    std::vector<T> at;
    for (T x = sizeof(T) == 8 ? -745 : -103; x < 60; x += T(3) / 4) at.push_back(x);
    auto const y = value_and_slope([](auto const& x) { return sigmoid(x); }, at).first;
    for (std::size_t i = 0; i < at.size(); ++i) {
        INFO("sigmoid(" << at[i] << ") = " << y[i]);
        CHECK(ulps(y[i], 1 / (1 + std::exp(-static_cast<long double>(at[i]))), 3));
    }
    std::vector<T> const ends{T(-inf), T(-1e9), 0, T(1e9), T(inf), T(NaN)};
    auto const of_ends = value_and_slope([](auto const& x) { return sigmoid(x); }, ends).first;
    CHECK(std::vector<T>(of_ends.begin(), of_ends.end() - 1) == std::vector<T>{0, 0, T(0.5), 1, 1});
    CHECK(std::isnan(of_ends.back()));
}

TEST_CASE_TEMPLATE("tan has its digits beside its poles", T, float, double) {
    std::vector<T> at;
    for (int n = -30; n <= 30; ++n)
        for (T const away : {T(0), T(1e-3), T(-1e-6), T(0.3), T(-0.7)})
            at.push_back(static_cast<T>((n + 0.5) * pi) + away);
    auto const y = value_and_slope([](auto const& x) { return tan(x); }, at).first;
    for (std::size_t i = 0; i < at.size(); ++i) {
        INFO("tan(" << at[i] << ") = " << y[i]);
        CHECK(ulps(y[i], static_cast<T>(std::tan(static_cast<double>(at[i]))), 4));
    }
}

TEST_CASE_TEMPLATE("odd functions keep the sign of 0", T, float, double) {
    xg::Tensor<T> const x = xg::full<T>({16}, T(-0.0));
    auto const is_negative_zero = [](xg::Tensor<T> const& y) {
        bool all = true;
        for (std::size_t i = 0; i < y.numel(); ++i)
            all = all && y.data()[i] == 0 && std::signbit(y.data()[i]);
        return all;
    };
    CHECK(is_negative_zero(sin(x)));
    CHECK(is_negative_zero(tan(x)));
    CHECK(is_negative_zero(asin(x)));
    CHECK(is_negative_zero(atan(x)));
    CHECK(is_negative_zero(sinh(x)));
    CHECK(is_negative_zero(tanh(x)));
    CHECK(is_negative_zero(asinh(x)));
    CHECK(is_negative_zero(atanh(x)));
    CHECK(is_negative_zero(erf(x)));
    CHECK(is_negative_zero(expm1(x)));
    CHECK(is_negative_zero(log1p(x)));
    CHECK(is_negative_zero(sqrt(x)));
    CHECK(is_negative_zero(gelu(x)));
    CHECK(is_negative_zero(pow(x, 3)));
    CHECK(is_negative_zero(round(x)));
}

TEST_CASE("nan_to_num puts the largest number of x's type for infinity") {
    double const most = std::numeric_limits<float>::max();
    CHECK(holds(
        nan_to_num(F({HUGE_VALF, -HUGE_VALF, static_cast<float>(NaN)})), {most, -most, 0}, 0));
    CHECK(holds(nan_to_num(F({HUGE_VALF})) * D({2}), {2 * most}, 0));
    CHECK(holds(nan_to_num(I({3, -4})), {3, -4}, 0));
}

TEST_CASE("integers are rounded to themselves, and stay integers") {
    std::int64_t const large = (std::int64_t(1) << 53) + 1;
    I const i({large, -large, 3});
    I const down = floor(i), up = ceil(i), near = round(i), to_zero = trunc(i);
    for (auto const& r : {down, up, near, to_zero})
        for (std::size_t k = 0; k < 3; ++k) CHECK(r.data()[k] == i.data()[k]);
    CHECK(holds(remainder(I({7, -7, 6}), 3), {1, 2, 0}, 0));
    CHECK(holds(floor(I({7, -7})) * 0.5, {3.5, -3.5}, 0));
}

TEST_CASE("operations on two operands broadcast, and take numbers on either side") {
    D const column = reshape(D({3, 6}), {2, 1}), row({4, 8});
    CHECK(holds(hypot(column, row), {5, std::sqrt(73), std::sqrt(52), 10}, 1e-15));
    CHECK(holds(hypot(row, 3), {5, std::sqrt(73)}, 1e-15));
    CHECK(holds(fmod(7, row), {3, 7}, 0));
    CHECK(holds(xlogy(2, row), {4 * ln2, 6 * ln2}, 1e-15));
    CHECK(holds(copysign(2, -row), {-2, -2}, 0));
    CHECK(holds(lerp(column, row, 0.5), {3.5, 5.5, 5, 7}, 0));
    CHECK(holds(logaddexp(D({std::log(3.)}), std::log(5.)), {std::log(8.)}, 1e-15));
}

TEST_CASE("the words of these operations stand in rules of one's own") {
    Values const at{xg::DType::float64, {3}, {-1.25, 0.75, 2.25}};
    CHECK(holds(
        value_of(function_of<double>([](auto x) { return xg::apply<Sawtooth>(x); }), {at}).numbers,
        {0.75, 0.75, 0.25}, 0));
    CHECK(differentiates(function_of<double>([](auto x) { return xg::apply<Steps>(x); }), {at}));
}
