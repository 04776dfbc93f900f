// Sine and cosine on batches, against the long double functions of the C library.
#include <algorithm>
#include <cmath>
#include <limits>

#include <doctest/doctest.h>
#include <xgrad/xgrad.hpp>

#include "checked_types.hpp"

namespace xg = xgrad;

namespace {

/// By how many units in the last place a number is off.
template <class T> double units_off(T got, long double want) {
    T const size = static_cast<T>(std::abs(want));
    return static_cast<double>(std::abs(static_cast<long double>(got) - want) /
                               (std::nextafter(size, std::numeric_limits<T>::infinity()) - size));
}

/// The most that sine and cosine are off for numbers of both signs and all sizes up to this one,
/// and for those near multiples of a quarter of pi.
template <class T> double worst(double most) {
    using Batch = xg::simd::Batch<T>;
    T x[Batch::width], sine[Batch::width], cosine[Batch::width];
    double units = 0;
    int const n = 4800;
    for (int i = 0; i < n; i += static_cast<int>(Batch::width)) {
        for (std::size_t lane = 0; lane < Batch::width; ++lane) {
            int const at = i + static_cast<int>(lane);
            double const part = static_cast<double>(at * 1657 % n) / n, quarter = std::atan(1.);
            double const size = at % 3 == 0   ? part * most
                                : at % 3 == 1 ? 1e-6 * std::pow(most * 1e6, part)
                                              : std::floor(part * most / quarter) * quarter;
            x[lane] = static_cast<T>(at % 2 ? size : -size);
        }
        auto const y = sincos(Batch::load(x));
        y.sine.store(sine);
        y.cosine.store(cosine);
        for (std::size_t lane = 0; lane < Batch::width; ++lane) {
            auto const exact = static_cast<long double>(x[lane]);
            units = std::max({units, units_off(sine[lane], std::sin(exact)),
                units_off(cosine[lane], std::cos(exact))});
        }
    }
    return units;
}

} // namespace

TEST_CASE_TEMPLATE(
    "sine and cosine are off by little more than a rounding", T, XGRAD_CHECKED_TYPES) {
    CHECK(worst<T>(0.8) < 1.2);
    CHECK(worst<T>(100) < 1.6);
    CHECK(worst<T>(std::is_same_v<T, float> ? 2990 : 99990) < 2.5);
}

TEST_CASE_TEMPLATE(
    "sine and cosine of zeros, giants, infinity and NaN, also beside ordinary numbers", T, float,
    double) {
    auto const of = [](auto x) {
        return xg::Tensor<T>(sin(xg::Tensor<T>({T(1), static_cast<T>(x), T(2), T(-3)})));
    };
    auto const cosine_of = [](auto x) {
        return xg::Tensor<T>(cos(xg::Tensor<T>({T(1), static_cast<T>(x), T(2), T(-3)})));
    };
    for (T const zero : {T(0), T(-0.)}) {
        CHECK(of(zero).data()[1] == zero);
        CHECK(std::signbit(of(zero).data()[1]) == std::signbit(zero));
        CHECK(cosine_of(zero).data()[1] == 1);
    }
    for (T const giant : {T(2999.5), T(-3000.5), T(1234567), T(-3e20)}) {
        CHECK(of(giant).data()[1] == doctest::Approx(std::sin(giant)).epsilon(1e-6));
        CHECK(cosine_of(giant).data()[1] == doctest::Approx(std::cos(giant)).epsilon(1e-6));
        CHECK(of(giant).data()[3] == doctest::Approx(std::sin(-3.)).epsilon(1e-6));
    }
    for (T const none : {std::numeric_limits<T>::infinity(), -std::numeric_limits<T>::infinity(),
             std::numeric_limits<T>::quiet_NaN()}) {
        CHECK(std::isnan(of(none).data()[1]));
        CHECK(std::isnan(cosine_of(none).data()[1]));
        CHECK(cosine_of(none).data()[2] == doctest::Approx(std::cos(2.)).epsilon(1e-6));
    }
}
