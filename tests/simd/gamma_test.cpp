// The gamma function's logarithm against that of the C library in long double, and its derivatives
// against a long double reference of this file.
//
// What is measured: units in the last place for positive numbers, also next to the zeros at 1, 2
// and 1.46. Between two negative whole numbers the functions cancel next to zeros that are no
// numbers of the format. There the error is measured in epsilon of the larger term, or of 1.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <vector>

#include <doctest/doctest.h>
#include <xgrad/xgrad.hpp>

#include "by_batches.hpp"
#include "checked_types.hpp"

namespace xg = xgrad;

namespace {

using Wide = long double;

/// B_2, B_4, ..., of which Stirling's series is made.
constexpr std::array<Wide, 12> bernoulli{1 / 6.L, -1 / 30.L, 1 / 42.L, -1 / 30.L, 5 / 66.L,
    -691 / 2730.L, 7 / 6.L, -3617 / 510.L, 43867 / 798.L, -174611 / 330.L, 854513 / 138.L,
    -236364091 / 2730.L};

/// digamma for x > 0: the recurrence up to 40, where Stirling's series has 24 digits.
Wide digamma(Wide x) {
    Wide sum = 0;
    for (; x < 40; x += 1) sum -= 1 / x;
    Wide series = std::log(x) - 1 / (2 * x), power = 1;
    for (int k = 1; k <= 12; ++k)
        series -= bernoulli[static_cast<std::size_t>(k - 1)] * (power /= x * x) / (2 * k);
    return sum + series;
}
/// digamma between 1 and 2 as the difference from its zero z, term by term, so that no digits
/// cancel.
Wide digamma_near_zero(Wide x) {
    Wide const z = 0x1.762d86356be3f8p+0L, distance = (x - z) + 0x1.1e563779a1f5bp-56L;
    Wide const b = z + 40, relative = std::log1p(distance / b);
    Wide sum = distance / (2 * (x + 40) * b) + relative, power = 1;
    for (int k = 0; k < 40; ++k) sum += distance / ((x + k) * (z + k));
    for (int k = 1; k <= 12; ++k)
        sum -= bernoulli[static_cast<std::size_t>(k - 1)] * (power /= b * b) / (2 * k) *
               std::expm1(-2 * k * relative);
    return sum;
}
/// Derivative n > 0 of digamma, by the recurrence from any x up to 40 + n, and the derivative of
/// Stirling's series.
Wide polygamma(int n, Wide x) {
    Wide factorial = 1, sum = 0; // (n - 1)!
    for (int k = 2; k < n; ++k) factorial *= k;
    for (; x < 40 + n; x += 1) sum += n * factorial / std::pow(x, static_cast<Wide>(n + 1));
    Wide power = factorial / std::pow(x, static_cast<Wide>(n));
    sum += power * (1 + n / (2 * x));
    for (int k = 1; k <= 12; ++k) { // (2k + n - 1)!/(2k)! x^-(2k + n)
        power *= (2 * k + n - 1) * Wide(k == 1 ? n : 2 * k + n - 2) / (x * x);
        sum += bernoulli[static_cast<std::size_t>(k - 1)] * power / [k] {
            Wide even = 1;
            for (int j = 2; j <= 2 * k; ++j) even *= j;
            return even;
        }();
    }
    return n % 2 ? sum : -sum;
}

template <class T> Wide place(Wide want) {
    T const size = std::abs(static_cast<T>(want));
    return std::max<Wide>(
        static_cast<Wide>(std::nextafter(size, std::numeric_limits<T>::infinity())) -
            static_cast<Wide>(size),
        std::numeric_limits<T>::denorm_min());
}

/// The largest error of f, in units that unit(x, exact value) gives.
template <class T, class F, class G, class U>
double worst(F f, std::vector<T> const& x, G exact, U unit) {
    auto const y = by_batches<T>(f, x);
    double most = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        Wide const at = x[i], want = exact(at);
        T const rounded = static_cast<T>(want);
        double off = std::isinf(rounded) && rounded == y[i] ? 0 : HUGE_VAL;
        if (std::isfinite(rounded) && std::isfinite(y[i]))
            off = static_cast<double>(std::abs(static_cast<Wide>(y[i]) - want) / unit(at, want));
        if (!(off <= most)) most = off;
    }
    return most;
}

auto const lgamma_of = [](auto x) { return lgamma(x); };
auto const digamma_of = [](auto x) { return polygamma(0, x); };
auto const exact_lgamma = [](Wide x) { return std::lgamma(x); };
template <class T> auto const in_place = [](Wide, Wide want) { return place<T>(want); };

/// `n` numbers from low to high, in equal steps; or in equal ratios.
template <class T> std::vector<T> steps(double low, double high, int n) {
    std::vector<T> x;
    for (int i = 0; i < n; ++i) x.push_back(static_cast<T>(low + (high - low) * (i + 0.37) / n));
    return x;
}
template <class T> std::vector<T> ratios(double low, double high, int n) {
    std::vector<T> x;
    double const first = std::log(low), last = std::log(high);
    for (int i = 0; i < n; ++i)
        x.push_back(static_cast<T>(std::exp(first + (last - first) * (i + 0.37) / n)));
    return x;
}
/// Positive numbers of all sizes, and next to this one.
template <class T> std::vector<T> positive(double zero) {
    using limits = std::numeric_limits<T>;
    auto x = ratios<T>(limits::denorm_min(), limits::max(), 4000);
    for (auto const& more : {steps<T>(0, 3, 4000), steps<T>(3, 40, 2000)})
        x.insert(x.end(), more.begin(), more.end());
    for (int k = 1; k < 400; ++k)
        for (double const sign : {1., -1.})
            x.push_back(static_cast<T>(zero + sign * std::exp(-k * 36 / 400.)));
    x.push_back(static_cast<T>(zero));
    x.insert(x.end(), {1, 2, 10, limits::denorm_min(), limits::min(), limits::max()});
    std::erase_if(x, [](T v) { return !(v > 0); });
    return x;
}
/// Negative numbers down to -1e6 that are not whole.
template <class T> std::vector<T> negative() {
    auto x = ratios<T>(std::numeric_limits<T>::denorm_min(), 1e6, 3000);
    for (auto const& more : {steps<T>(0, 5, 3000), steps<T>(5, 200, 3000)})
        x.insert(x.end(), more.begin(), more.end());
    std::erase_if(x, [](T v) { return v == std::nearbyint(v); });
    for (T& v : x) v = -v;
    return x;
}
Wide pi_cotangent(Wide x) {
    Wide const part = x - std::nearbyint(x), pi = std::numbers::pi_v<Wide>;
    return std::abs(part) < 1e-12L ? 1 / part : pi / std::tan(pi * part);
}

} // namespace

TEST_CASE_TEMPLATE("the logarithm of the gamma function is within 4 units in the last place for "
                   "positive numbers, next to its zeros, too",
    T, XGRAD_CHECKED_TYPES) {
    CHECK(worst<T>(lgamma_of, positive<T>(1), exact_lgamma, in_place<T>) <= 4);
    CHECK(worst<T>(lgamma_of, positive<T>(2), exact_lgamma, in_place<T>) <= 4);
}

TEST_CASE_TEMPLATE("the logarithm of the gamma function is within 4 epsilon of itself or of 1 for "
                   "negative numbers",
    T, XGRAD_CHECKED_TYPES) {
    CHECK(worst<T>(lgamma_of, negative<T>(), exact_lgamma, [](Wide, Wide want) {
        return std::numeric_limits<T>::epsilon() * std::max<Wide>(1, std::abs(want));
    }) <= 4);
}

TEST_CASE_TEMPLATE("digamma is within 4 units in the last place for positive numbers, next to its "
                   "zero, too",
    T, XGRAD_CHECKED_TYPES) {
    double const zero = 1.4616321449683623;
    CHECK(worst<T>(
              digamma_of, positive<T>(zero),
              [](Wide x) { return 1 < x && x < 2 ? digamma_near_zero(x) : digamma(x); },
              in_place<T>) <= 4);
}

TEST_CASE_TEMPLATE("digamma is within 4 epsilon of the larger term of its reflection for negative "
                   "numbers",
    T, XGRAD_CHECKED_TYPES) {
    CHECK(worst<T>(
              digamma_of, negative<T>(), [](Wide x) { return digamma(1 - x) - pi_cotangent(x); },
              [](Wide x, Wide) {
                  Wide const larger = std::max(std::abs(digamma(1 - x)), std::abs(pi_cotangent(x)));
                  return std::numeric_limits<T>::epsilon() * larger;
              }) <= 4);
}

TEST_CASE_TEMPLATE("derivative n of digamma is within 4 + n units in the last place for positive "
                   "numbers, and within 4 for n = 1 and n = 2",
    T, XGRAD_CHECKED_TYPES) {
    for (int const n : {1, 2, 3, 4, 6, 10, 20}) {
        CAPTURE(n);
        auto x = ratios<T>(1e-10, std::numeric_limits<T>::max(), 2400);
        for (T const v : steps<T>(0, 40, 1200)) x.push_back(v);
        // What the type cannot hold is left out.
        std::erase_if(x, [n](T v) {
            Wide const y = std::abs(polygamma(n, v));
            return !(y > std::numeric_limits<T>::min() && y < std::numeric_limits<T>::max());
        });
        CHECK(x.size() > 1200);
        CHECK(worst<T>([n](auto v) { return polygamma(n, v); }, x,
                  [n](Wide v) { return polygamma(n, v); }, in_place<T>) <= (n < 3 ? 4 : 4 + n));
    }
}

TEST_CASE_TEMPLATE(
    "derivative n of digamma is within 4 + n epsilon of the term of the nearest pole "
    "for negative numbers",
    T, XGRAD_CHECKED_TYPES) {
    for (int const n : {1, 2, 3, 4}) {
        CAPTURE(n);
        auto x = steps<T>(-30, 0, 3000);
        std::erase_if(x, [](T v) { return v == std::nearbyint(v); });
        CHECK(worst<T>([n](auto v) { return polygamma(n, v); }, x,
                  [n](Wide v) { return polygamma(n, v); },
                  [n](Wide v, Wide) { // n! / |distance|^(n + 1)
                      Wide const distance = std::abs(v - std::nearbyint(v));
                      return std::numeric_limits<T>::epsilon() * std::tgamma(Wide(n + 1)) /
                             std::pow(distance, static_cast<Wide>(n + 1));
                  }) <= 4 + n);
    }
}

TEST_CASE_TEMPLATE(
    "the gamma function's logarithm and digamma at poles, infinities and NaN", T, float, double) {
    T const inf = std::numeric_limits<T>::infinity();
    auto const value = [](auto f, T x) { return by_batches<T>(f, std::vector<T>{T(0.7), x})[1]; };
    for (T const pole : {T(0), T(-0.), T(-1), T(-7), -inf, inf})
        CHECK(value(lgamma_of, pole) == inf);
    CHECK(std::isnan(value(lgamma_of, std::numeric_limits<T>::quiet_NaN())));
    CHECK(value(lgamma_of, 1) == 0);
    CHECK(value(lgamma_of, 2) == 0);

    CHECK(value(digamma_of, 0) == -inf);
    CHECK(value(digamma_of, T(-0.)) == inf);
    CHECK(value(digamma_of, inf) == inf);
    for (T const none : {T(-1), T(-7), -inf, std::numeric_limits<T>::quiet_NaN()})
        CHECK(std::isnan(value(digamma_of, none)));
    for (T const pole : {T(0), T(-1), T(-7)}) {
        CHECK(value([](auto x) { return polygamma(1, x); }, pole) == inf);
        CHECK(std::abs(value([](auto x) { return polygamma(2, x); }, pole)) == inf);
    }
    CHECK(value([](auto x) { return polygamma(1, x); }, inf) == 0);
}
