// Every elementary function of real batches against the long double functions of the C library:
// within 4 units in the last place over the whole range, and special values as there.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <xgrad/xgrad.hpp>

#include "by_batches.hpp"
#include "checked_types.hpp"

namespace xg = xgrad;

namespace {

/// By how many units in the last place a number is off. Where one is infinite, zero or NaN, both
/// must be.
template <class T> double units_off(T got, long double exact) {
    T const want = static_cast<T>(exact);
    if (std::isnan(want) || std::isnan(got))
        return std::isnan(want) && std::isnan(got) ? 0 : HUGE_VAL;
    if (std::isinf(want) || std::isinf(got)) {
        // Within a rounding of the largest number either is right.
        T const largest = std::numeric_limits<T>::max();
        T const other = std::isinf(want) ? got : want;
        if (got == want) return 0;
        return std::signbit(got) == std::signbit(want) && std::abs(other) > largest * T(1 - 1e-6)
                   ? 4
                   : HUGE_VAL;
    }
    T const size = std::abs(want);
    T const unit = std::nextafter(size, std::numeric_limits<T>::infinity()) - size;
    return static_cast<double>(
        std::abs(static_cast<long double>(got) - exact) / static_cast<long double>(unit));
}

/// Numbers of all sizes and both signs, and a dense row over -20 to 20 and over -1.5 to 1.5.
template <class T> std::vector<T> const& numbers() {
    static auto const all = [] {
        std::vector<T> x;
        auto const both = [&](double size) {
            x.push_back(static_cast<T>(size));
            x.push_back(static_cast<T>(-size));
        };
        double const smallest = std::log(std::numeric_limits<T>::denorm_min()),
                     largest = std::log(std::numeric_limits<T>::max());
        for (int i = 0; i < 4000; ++i) {
            both(std::exp(smallest + (largest - smallest) * i / 4000.));
            both(20 * (i + 0.37) / 4000.);
            both(1.5 * (i + 0.37) / 4000.);
            both(1 + std::exp(-36. * i / 4000.));
            both(1 - std::exp(-36. * i / 4000.));
        }
        return x;
    }();
    return all;
}
template <class T> std::vector<T> const& special_numbers() {
    using limits = std::numeric_limits<T>;
    static std::vector<T> const all{0, T(-0.), 1, -1, 2, -2, T(0.5), T(-0.5), limits::infinity(),
        -limits::infinity(), limits::quiet_NaN(), limits::denorm_min(), -limits::denorm_min(),
        limits::min(), -limits::min(), limits::max(), -limits::max(), limits::epsilon(), T(1e9),
        T(-1e9)};
    return all;
}

template <class T, class F, class G>
void check(std::string_view name, F f, G exact, double bound = 4) {
    CAPTURE(name);
    double worst = 0;
    T worst_at = 0;
    auto const& x = numbers<T>();
    auto const y = by_batches<T>(f, x);
    for (std::size_t i = 0; i < x.size(); ++i)
        if (double const off = units_off(y[i], exact(static_cast<long double>(x[i])));
            !(off <= worst))
            worst = off, worst_at = x[i];
    CAPTURE(worst_at);
    CHECK(worst <= bound);
    for (T const v : special_numbers<T>()) {
        CAPTURE(v);
        T const got = by_batches<T>(f, {T(0.7), v})[1],
                want = static_cast<T>(exact(static_cast<long double>(v)));
        CHECK(units_off(got, exact(static_cast<long double>(v))) <= bound);
        if (!std::isnan(want)) CHECK(std::signbit(got) == std::signbit(want));
    }
}

} // namespace

#define XGRAD_CHECK_FUNCTION(f)                                                                    \
    check<T>(                                                                                      \
        #f, [](auto x) { return f(x); }, [](long double x) { return std::f(x); })

TEST_CASE_TEMPLATE("elementary functions are within 4 units in the last place, from the smallest "
                   "to the largest number",
    T, XGRAD_CHECKED_TYPES) {
    XGRAD_CHECK_FUNCTION(exp);
    XGRAD_CHECK_FUNCTION(expm1);
    XGRAD_CHECK_FUNCTION(log);
    XGRAD_CHECK_FUNCTION(log1p);
    XGRAD_CHECK_FUNCTION(log2);
    XGRAD_CHECK_FUNCTION(log10);
    XGRAD_CHECK_FUNCTION(sqrt);
    XGRAD_CHECK_FUNCTION(sin);
    XGRAD_CHECK_FUNCTION(cos);
    XGRAD_CHECK_FUNCTION(tan);
    XGRAD_CHECK_FUNCTION(asin);
    XGRAD_CHECK_FUNCTION(acos);
    XGRAD_CHECK_FUNCTION(atan);
    XGRAD_CHECK_FUNCTION(sinh);
    XGRAD_CHECK_FUNCTION(cosh);
    XGRAD_CHECK_FUNCTION(tanh);
    XGRAD_CHECK_FUNCTION(asinh);
    // musl's acosh is finite for large negative numbers.
    check<T>(
        "acosh", [](auto x) { return acosh(x); },
        [](long double x) { return x < 1 ? static_cast<long double>(NAN) : std::acosh(x); });
    XGRAD_CHECK_FUNCTION(atanh);
    XGRAD_CHECK_FUNCTION(erf);
    XGRAD_CHECK_FUNCTION(erfc);
}

TEST_CASE_TEMPLATE("rounding of batches is exact", T, XGRAD_CHECKED_TYPES) {
    check<T>(
        "floor", [](auto x) { return floor(x); }, [](long double x) { return std::floor(x); }, 0);
    check<T>(
        "ceil", [](auto x) { return ceil(x); }, [](long double x) { return std::ceil(x); }, 0);
    check<T>(
        "trunc", [](auto x) { return trunc(x); }, [](long double x) { return std::trunc(x); }, 0);
    check<T>(
        "round", [](auto x) { return round(x); }, [](long double x) { return std::nearbyint(x); },
        0);
    check<T>(
        "abs", [](auto x) { return abs(x); }, [](long double x) { return std::abs(x); }, 0);
}

namespace {

template <class T, class F, class G>
void check_pairs(
    std::string_view name, F f, G exact, std::vector<T> const& x, std::vector<T> const& y) {
    using B = xg::simd::Batch<T>;
    CAPTURE(name);
    double worst = 0;
    T worst_x = 0, worst_y = 0;
    for (T const a : x)
        for (std::size_t j = 0; j < y.size(); j += B::width) {
            T others[B::width], got[B::width];
            for (std::size_t lane = 0; lane < B::width; ++lane)
                others[lane] = y[std::min(j + lane, y.size() - 1)];
            f(B(a), B::load(others)).store(got);
            for (std::size_t lane = 0; lane < B::width; ++lane) {
                long double const want =
                    exact(static_cast<long double>(a), static_cast<long double>(others[lane]));
                double off = units_off(got[lane], want);
                if (!std::isnan(want) && std::signbit(got[lane]) != std::signbit(want))
                    off = HUGE_VAL;
                if (!(off <= worst)) worst = off, worst_x = a, worst_y = others[lane];
            }
        }
    CAPTURE(worst_x);
    CAPTURE(worst_y);
    CHECK(worst <= 4);
}
/// A few hundred numbers of all sizes, and the special ones.
template <class T> std::vector<T> some_numbers() {
    auto some = special_numbers<T>();
    auto const& all = numbers<T>();
    for (std::size_t i = 0; i < all.size(); i += 97) some.push_back(all[i]);
    return some;
}

} // namespace

TEST_CASE_TEMPLATE(
    "atan2 and pow of numbers of all sizes, zeros, infinities and NaN", T, XGRAD_CHECKED_TYPES) {
    auto const x = some_numbers<T>();
    check_pairs<T>(
        "atan2", [](auto a, auto b) { return atan2(a, b); },
        [](long double a, long double b) { return std::atan2(a, b); }, x, x);
    check_pairs<T>(
        "pow", [](auto a, auto b) { return pow(a, b); },
        [](long double a, long double b) { return std::pow(a, b); }, x, x);
}
