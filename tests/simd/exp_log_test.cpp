// e^x, e^x - 1, tanh, log x and log(1 + x) on batches, against the long double functions of the C
// library.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>
#include <xgrad/xgrad.hpp>

namespace xg = xgrad;

namespace {

/// Numbers of all sizes from 1e-9 to `most`, of both signs; where `sorted`, those that lie together
/// are of about one size.
template <class T> std::vector<T> numbers(double most, bool sorted) {
    std::size_t const n = 4099;
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) {
        double const part =
            static_cast<double>(sorted ? i : i * 1657 % n) / static_cast<double>(n - 1);
        x[i] = static_cast<T>((i % 2 ? -1 : 1) * 1e-9 * std::pow(most * 1e9, part));
    }
    return x;
}

/// By how many units in the last place a number is off.
template <class T> double units_off(T got, long double want) {
    T const size = static_cast<T>(std::abs(want));
    return static_cast<double>(std::abs(static_cast<long double>(got) - want) /
                               (std::nextafter(size, std::numeric_limits<T>::infinity()) - size));
}

/// By how many units the elements of y = f(x) are off at most.
template <class T, class F> double worst(std::vector<T> const& x, xg::Tensor<T> const& y, F f) {
    double units = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
        units = std::max(units, units_off(y.data()[i], f(static_cast<long double>(x[i]))));
    return units;
}
template <class T> double worst_tanh(std::vector<T> const& x) {
    return worst(x, xg::Tensor<T>(tanh(xg::Tensor<T>(xt::adapt(x)))),
        [](long double v) { return std::tanh(v); });
}
template <class T> double worst_exp(std::vector<T> const& x) {
    return worst(x, xg::Tensor<T>(exp(xg::Tensor<T>(xt::adapt(x)))),
        [](long double v) { return std::exp(v); });
}

template <class T> void check_exponentials(double most) {
    using Batch = xg::simd::Batch<T>;
    T in[Batch::width], exp[Batch::width], expm1[Batch::width];
    double worst = 0;
    auto const x = numbers<T>(most, false);
    for (std::size_t i = 0; i + Batch::width <= x.size(); i += Batch::width) {
        for (std::size_t lane = 0; lane < Batch::width; ++lane) in[lane] = -std::abs(x[i + lane]);
        auto const y = xg::simd::detail::exp_of_negative(Batch::load(in));
        y.exp.store(exp);
        y.expm1.store(expm1);
        for (std::size_t lane = 0; lane < Batch::width; ++lane) {
            auto const exact = static_cast<long double>(in[lane]);
            worst = std::max({worst, units_off(exp[lane], std::exp(exact)),
                units_off(expm1[lane], std::expm1(exact))});
        }
    }
    CHECK(worst < 1.5);
}

} // namespace

TEST_CASE("e^x and e^x - 1 below 0 are off by little more than a rounding") {
    check_exponentials<double>(700);
    check_exponentials<float>(85);
}

TEST_CASE("e^x is off by little more than a rounding from the smallest number to the largest") {
    CHECK(worst_exp(numbers<double>(709.7, false)) < 1.5);
    CHECK(worst_exp(numbers<float>(87, false)) < 1.5);
    std::vector<double> few, small; // what is below 2^-1022 has fewer digits
    for (int i = 0; i < 1000; ++i) {
        few.push_back(-745 + 0.037 * i);
        small.push_back(1e-300 * i);
    }
    CHECK(worst_exp(few) < 1.5);
    CHECK(worst_exp(small) == 0);
}

TEST_CASE("e^x ends in infinity and in 0, and NaN stays") {
    auto const of = [](double x) { return xg::Tensor<double>(exp(xg::full({16}, x))).data()[5]; };
    CHECK(
        of(709.782712893384) == doctest::Approx(std::numeric_limits<double>::max()).epsilon(1e-12));
    for (double const x : {709.7827128933841, 710.5, 1e308, HUGE_VAL}) CHECK(of(x) == HUGE_VAL);
    CHECK(of(-745.13) == std::numeric_limits<double>::denorm_min());
    for (double const x : {-745.14, -1e308, -HUGE_VAL}) CHECK(of(x) == 0);
    CHECK(of(-0.) == 1);
    CHECK(std::isnan(of(std::nan(""))));
}

TEST_CASE("tanh is off by less than three units in the last place, beside numbers of any size") {
    for (bool const sorted : {true, false}) {
        CHECK(worst_tanh(numbers<double>(1000, sorted)) < 3);
        CHECK(worst_tanh(numbers<float>(1000, sorted)) < 3);
    }
}

TEST_CASE("e^x is 0 where it is too small, and NaN stays") {
    xg::simd::Batch<double> const far(-2000.), infinite(-HUGE_VAL), nan(std::nan(""));
    double lanes[xg::simd::Batch<double>::width];
    for (auto const& x : {far, infinite}) {
        xg::simd::detail::exp_of_negative(x).exp.store(lanes);
        CHECK(lanes[0] == 0);
        xg::simd::detail::exp_of_negative(x).expm1.store(lanes);
        CHECK(lanes[0] == -1);
    }
    xg::simd::detail::exp_of_negative(nan).exp.store(lanes);
    CHECK(std::isnan(lanes[0]));
    xg::simd::detail::exp_of_negative(nan).expm1.store(lanes);
    CHECK(std::isnan(lanes[0]));
}

namespace {

using Batch = xg::simd::Batch<double>;

/// f of a number by batches.
template <class F> auto of_one(F f) {
    return [f](double x) {
        double lanes[Batch::width];
        f(Batch(x)).store(lanes);
        return lanes[Batch::width - 1];
    };
}
auto const log_of = of_one([](Batch x) { return log(x); });
auto const log1p_of = of_one([](Batch x) { return log1p(x); });
auto const log2_of = of_one([](Batch x) { return log2(x); });
auto const log10_of = of_one([](Batch x) { return log10(x); });
auto const expm1_of = of_one([](Batch x) { return expm1(x); });

template <class F, class Exact>
double worst_of(F f, Exact exact, double first, double factor, double last) {
    double units = 0;
    for (double x = first; std::abs(x) < std::abs(last); x *= factor)
        units = std::max(units, units_off(f(x), exact(static_cast<long double>(x))));
    return units;
}

} // namespace

TEST_CASE("logarithms and e^x - 1 are off by little more than a rounding, near 1 and 0 and "
          "everywhere else") {
    auto const log = [](long double x) { return std::log(x); };
    auto const log1p = [](long double x) { return std::log1p(x); };
    auto const expm1 = [](long double x) {
#ifdef __EMSCRIPTEN__
        // musl computes it in double. e^2y - 1 = (e^y - 1) (e^y - 1 + 2), from the Taylor series.
        int halvings = 0;
        for (; std::abs(x) > 0.5L; x /= 2) ++halvings;
        long double y = 0;
        for (int k = 30; k > 0; --k) y = x / k * (1 + y);
        for (; halvings > 0; --halvings) y *= y + 2;
        return y;
#else
        return std::expm1(x);
#endif
    };
    CHECK(worst_of(log_of, log, 1e-321, 1.09, 1e308) < 1.5);
    CHECK(worst_of(log_of, log, 0.6, 1.00007, 1.7) < 1.5);
    CHECK(worst_of(log1p_of, log1p, 1e-321, 1.09, 1e308) < 1.5);
    CHECK(worst_of(log1p_of, log1p, -1e-321, 1.09, -0.9) < 1.5);
    CHECK(worst_of(log1p_of, log1p, 1e-3, 1.00013, 3) < 1.5);
    CHECK(worst_of(log1p_of, log1p, -1e-3, 1.00013, -0.999) < 1.5);
    CHECK(worst_of(
              log2_of, [](long double x) { return std::log2(x); }, 1e-321, 1.03, 1e308) < 2.5);
    CHECK(worst_of(
              log10_of, [](long double x) { return std::log10(x); }, 1e-321, 1.03, 1e308) < 2.5);
    CHECK(worst_of(expm1_of, expm1, 1e-321, 1.09, 709.7) < 2);
    CHECK(worst_of(expm1_of, expm1, -1e-321, 1.09, -1000) < 2);
    CHECK(worst_of(expm1_of, expm1, 1e-2, 1.0007, 709.7) < 2);
}

TEST_CASE("logarithms of powers of their bases are exact") {
    for (int k = -1074; k < 1024; ++k) CHECK(log2_of(std::ldexp(1., k)) == k);
    double power = 1;
    for (int k = 0; k < 23; ++k, power *= 10) CHECK(log10_of(power) == k);
}

TEST_CASE("logarithms and e^x - 1 know infinity, NaN and 0 with its sign") {
    double const largest = std::numeric_limits<double>::max(), nan = std::nan("");
    for (double const x : {0., -0.}) CHECK(log_of(x) == -HUGE_VAL);
    for (double const x : {-5e-324, -1., -HUGE_VAL, nan}) CHECK(std::isnan(log_of(x)));
    CHECK(log_of(HUGE_VAL) == HUGE_VAL);
    CHECK(log_of(largest) == std::log(largest));
    CHECK(log_of(5e-324) == std::log(5e-324));
    CHECK(log_of(1) == 0);
    CHECK(log1p_of(-1) == -HUGE_VAL);
    for (double const x : {-1.5, -HUGE_VAL, nan}) CHECK(std::isnan(log1p_of(x)));
    CHECK(log1p_of(HUGE_VAL) == HUGE_VAL);
    CHECK(log1p_of(largest) == std::log(largest));
    for (double const x : {0., -0.})
        CHECK((log1p_of(x) == 0 && std::signbit(log1p_of(x)) == std::signbit(x)));
    for (double const x : {0., -0.})
        CHECK((expm1_of(x) == 0 && std::signbit(expm1_of(x)) == std::signbit(x)));
    for (double const x : {710., HUGE_VAL}) CHECK(expm1_of(x) == HUGE_VAL);
    CHECK(expm1_of(709.6) == doctest::Approx(std::expm1(709.6)).epsilon(1e-12));
    for (double const x : {-50., -HUGE_VAL}) CHECK(expm1_of(x) == -1);
    CHECK(std::isnan(expm1_of(nan)));
}

TEST_CASE("single precision reaches as far") {
    auto const of = [](auto f, float x) {
        return xg::Tensor<float>(f(xg::full({32}, x))).data()[17];
    };
    auto const exp_of = [&](float x) { return of([](auto const& t) { return exp(t); }, x); };
    auto const expm1_of_float = [&](float x) {
        return of([](auto const& t) { return expm1(t); }, x);
    };
    CHECK(exp_of(88.7f) == doctest::Approx(std::exp(88.7f)).epsilon(1e-6));
    CHECK(exp_of(-88.f) == doctest::Approx(std::exp(-88.f)).epsilon(1e-6));
    CHECK(exp_of(-100.f) == std::exp(-100.f));
    CHECK(exp_of(-104.f) == 0);
    CHECK(exp_of(88.8f) == HUGE_VALF);
    CHECK(expm1_of_float(88.5f) == doctest::Approx(std::expm1(88.5f)).epsilon(1e-6));
    CHECK(expm1_of_float(88.8f) == HUGE_VALF);
}
