// Bodies of gamma.hpp.
#pragma once

#include <xgrad/ops/gamma.hpp>

namespace xgrad::detail {

XGRAD_FUNCTION double log_gamma(double x) {
#if __has_include(<unistd.h>) && !defined(_WIN32)
    int sign; // std::lgamma writes it to a variable that all threads share
    return ::lgamma_r(x, &sign);
#else
    return std::lgamma(x);
#endif
}

XGRAD_FUNCTION double digamma(double x) {
    if (x == 0) return std::copysign(HUGE_VAL, -x);
    if (x < 0) { // by reflection at 1/2
        double const part = x - std::nearbyint(x);
        return part == 0 ? std::numeric_limits<double>::quiet_NaN()
                         : digamma(1 - x) - std::numbers::pi / std::tan(std::numbers::pi * part);
    }
    double sum = 0;
    for (; x < 10; ++x) sum -= 1 / x;
    double const t = 1 / (x * x); // Stirling's series
    return sum + std::log(x) - 0.5 / x -
           t * (1. / 12 -
                   t * (1. / 120 -
                           t * (1. / 252 -
                                   t * (1. / 240 - t * (1. / 132 - t * (691. / 32760 - t / 12))))));
}

XGRAD_FUNCTION double scaled_zeta(double s, double x) {
    double const first = x;
    auto const power = [&](double at) { return std::pow(first / at, s); };
    double sum = 0;
    for (; x < 10 + 2 * s; ++x) {
        double const term = power(x);
        sum += term;
        if (term < 1e-19 * sum) return sum; // all later terms together are less than 15 of this
    }
    double term = power(x);
    sum += term * (x / (s - 1) + 0.5);
    term *= s / x;
    double next = s;
    for (double const factor : {1. / 12, -1. / 720, 1. / 30240, -1. / 1209600, 1. / 47900160,
             -691. / 1307674368000, 1. / 74724249600}) {
        sum += factor * term;
        term *= (next + 1.) / x * ((next + 2.) / x);
        next += 2;
    }
    return sum;
}

XGRAD_FUNCTION double scaled_factorial(int n, double x, double factor) {
    double const s = n + 1., power = std::pow(x, -s);
    constexpr int largest = 170; // whose factorial is finite
    if (n <= largest && std::isnormal(power)) return std::tgamma(s) * (power * factor);
    double const size = log_gamma(s) - s * std::log(x) + std::log(std::abs(factor));
    return std::copysign(std::exp(size), factor);
}

XGRAD_FUNCTION double polygamma(int n, double x) {
    if (n == 0) return digamma(x);
    double const s = n + 1., even = n % 2 == 0 ? -1 : 1;
    if (x == HUGE_VAL) return even * 0;
    if (x > 0) return even * scaled_factorial(n, x, scaled_zeta(s, x));
    // Of the terms (x + k)^-s, that of the pole nearby stands alone, those after it are one sum,
    // and those before it a difference of two.
    double const part = x - std::nearbyint(x), size = std::abs(part);
    if (size == 0) return even * HUGE_VAL;
    auto const zeta = [&](double at) { return std::pow(size / at, s) * scaled_zeta(s, at); };
    double const nearest = part > 0 ? 1 : even;
    return even * scaled_factorial(
                      n, size, nearest + zeta(1 + part) + even * (zeta(1 - part) - zeta(1 - x)));
}

} // namespace xgrad::detail
