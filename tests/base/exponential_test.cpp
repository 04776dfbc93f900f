// e^x, e^x - 1 and tanh on packs, against the long double functions of the C library.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>
#include <xgrad/xgrad.hpp>

namespace xg = xgrad;

namespace {

/// Numbers of all sizes from 1e-9 to `most`, of both signs; where `sorted`, those that lie together are of about one size.
template <class T> std::vector<T> numbers(double most, bool sorted)
{
    std::size_t const n = 4099;
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) {
        double const part = static_cast<double>(sorted ? i : i * 1657 % n) / static_cast<double>(n - 1);
        x[i] = static_cast<T>((i % 2 ? -1 : 1) * 1e-9 * std::pow(most * 1e9, part));
    }
    return x;
}

/// By how many units in the last place a number is off.
template <class T> double units_off(T got, long double want)
{
    T const size = static_cast<T>(std::abs(want));
    return static_cast<double>(std::abs(static_cast<long double>(got) - want) / (std::nextafter(size, std::numeric_limits<T>::infinity()) - size));
}

/// By how many units the elements of y = f(x) are off at most.
template <class T, class F> double worst(std::vector<T> const& x, xg::Tensor<T> const& y, F f)
{
    double units = 0;
    for (std::size_t i = 0; i < x.size(); ++i) units = std::max(units, units_off(y.data()[i], f(static_cast<long double>(x[i]))));
    return units;
}
template <class T> double worst_tanh(std::vector<T> const& x)
{
    return worst(x, xg::Tensor<T>(tanh(xg::Tensor<T>(xt::adapt(x)))), [](long double v) { return std::tanh(v); });
}
template <class T> double worst_exp(std::vector<T> const& x)
{
    return worst(x, xg::Tensor<T>(exp(xg::Tensor<T>(xt::adapt(x)))), [](long double v) { return std::exp(v); });
}

template <class T> void check_exponentials(double most)
{
    using Pack = xg::RealPack<T>;
    T in[Pack::width], exp[Pack::width], expm1[Pack::width];
    double worst = 0;
    auto const x = numbers<T>(most, false);
    for (std::size_t i = 0; i + Pack::width <= x.size(); i += Pack::width) {
        for (std::size_t lane = 0; lane < Pack::width; ++lane) in[lane] = -std::abs(x[i + lane]);
        auto const y = xg::detail::exp_of_negative(Pack::load(in));
        y.exp.store(exp);
        y.expm1.store(expm1);
        for (std::size_t lane = 0; lane < Pack::width; ++lane) {
            auto const exact = static_cast<long double>(in[lane]);
            worst = std::max({worst, units_off(exp[lane], std::exp(exact)), units_off(expm1[lane], std::expm1(exact))});
        }
    }
    CHECK(worst < 1.5);
}

}  // namespace

TEST_CASE("e^x and e^x - 1 below 0 are off by little more than a rounding")
{
    check_exponentials<double>(700);
    check_exponentials<float>(85);
}

TEST_CASE("e^x is off by little more than a rounding from the smallest number to the largest")
{
    CHECK(worst_exp(numbers<double>(709.7, false)) < 1.5);
    CHECK(worst_exp(numbers<float>(87, false)) < 1.5);
    std::vector<double> few, small;  // what is below 2^-1022 has fewer digits
    for (int i = 0; i < 1000; ++i) {
        few.push_back(-745 + 0.037 * i);
        small.push_back(1e-300 * i);
    }
    CHECK(worst_exp(few) < 1.5);
    CHECK(worst_exp(small) == 0);
}

TEST_CASE("e^x ends in infinity and in 0, and NaN stays")
{
    auto const of = [](double x) { return xg::Tensor<double>(exp(xg::full({16}, x))).data()[5]; };
    CHECK(of(709.782712893384) == doctest::Approx(std::numeric_limits<double>::max()).epsilon(1e-12));
    for (double const x : {709.7827128933841, 710.5, 1e308, HUGE_VAL}) CHECK(of(x) == HUGE_VAL);
    CHECK(of(-745.13) == std::numeric_limits<double>::denorm_min());
    for (double const x : {-745.14, -1e308, -HUGE_VAL}) CHECK(of(x) == 0);
    CHECK(of(-0.) == 1);
    CHECK(std::isnan(of(std::nan(""))));
}

TEST_CASE("tanh is off by less than three units in the last place, beside numbers of any size")
{
    for (bool const sorted : {true, false}) {
        CHECK(worst_tanh(numbers<double>(1000, sorted)) < 3);
        CHECK(worst_tanh(numbers<float>(1000, sorted)) < 3);
    }
}

TEST_CASE("e^x is 0 where it is too small, and NaN stays")
{
    xg::RealPack<double> const far(-2000.), infinite(-HUGE_VAL), nan(std::nan(""));
    double lanes[xg::RealPack<double>::width];
    for (auto const& x : {far, infinite}) {
        xg::detail::exp_of_negative(x).exp.store(lanes);
        CHECK(lanes[0] == 0);
        xg::detail::exp_of_negative(x).expm1.store(lanes);
        CHECK(lanes[0] == -1);
    }
    xg::detail::exp_of_negative(nan).exp.store(lanes);
    CHECK(std::isnan(lanes[0]));
    xg::detail::exp_of_negative(nan).expm1.store(lanes);
    CHECK(std::isnan(lanes[0]));
}
