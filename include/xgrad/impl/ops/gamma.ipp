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

XGRAD_FUNCTION double digamma_after_1(double y) {
    constexpr double zero = 0x1.d8b618d5af8fep-2, zero_low = -0x1.1e563779a1f5bp-56;
    constexpr double even[] = {0x1.68a1980b249afp-24, 0x1.cf3d092649f95p-22, 0x1.71851021e265ep-19,
        0x1.23261490d0841p-16, 0x1.cf7bf64bccd3ap-14, 0x1.78856e0ed113ep-11, 0x1.40a5ea5a2de11p-8,
        0x1.35dfc7c3f4204p-5, 0x1.fad2ccafff970p-2};
    constexpr double odd[] = {-0x1.2053a653d3320p-25, -0x1.7216c24a9327cp-23,
        -0x1.26d43ffd05312p-20, -0x1.cf588541efbf6p-18, -0x1.6ebcd79629a12p-15,
        -0x1.265033c63085cp-12, -0x1.e718336ffb7dep-10, -0x1.b288668b696ffp-7,
        -0x1.e9b0c4a9bddb8p-4};
    double const t = y - 0.5, square = t * t;
    double p = 0, q = 0; // two chains, which the processor evaluates in parallel
    for (int k = 0; k < 9; ++k) {
        p = p * square + even[k];
        q = q * square + odd[k];
    }
    return ((y - zero) - zero_low) * (p + t * q + 1 / ((1 + zero) * (1 + y)));
}

XGRAD_FUNCTION double digamma(double x) {
    if (x == 0) return std::copysign(HUGE_VAL, -x);
    if (x < 0) { // by reflection at 1/2
        double const part = x - std::nearbyint(x), size = std::abs(part);
        if (size == 0) return std::numeric_limits<double>::quiet_NaN();
        double cotangent; // pi cot(pi part), from the tangent of an angle below pi/4
        if (size < 1e-9) cotangent = 1 / part;
        else if (size < 0.25) cotangent = std::numbers::pi / std::tan(std::numbers::pi * part);
        else
            cotangent =
                std::copysign(std::numbers::pi * std::tan(std::numbers::pi * (0.5 - size)), part);
        return (x > -1 ? digamma_after_1(-x) : digamma(1 - x)) - cotangent;
    }
    if (x < 1) return digamma_after_1(x) - 1 / x;
    if (x < 10) {
        double sum = 0;
        while (x >= 2) sum += 1 / --x;
        return sum + digamma_after_1(x - 1);
    }
    double const t = 1 / (x * x); // Stirling's series
    return std::log(x) - 0.5 / x -
           t * (1. / 12 -
                   t * (1. / 120 -
                           t * (1. / 252 -
                                   t * (1. / 240 - t * (1. / 132 - t * (691. / 32760 - t / 12))))));
}

XGRAD_FUNCTION double scaled_zeta(double s, double x) {
    double const first = x;
    auto const power = [&](double at) {
        double const ratio = first / at;
        return s == 2 ? ratio * ratio : std::pow(ratio, s);
    };
    double sum = 0, lost = 0; // `lost` by the roundings of the sum
    for (; x < 10 + 2 * s; ++x) {
        double const term = power(x), next = sum + term;
        lost += (sum - next) + term; // exact, since the terms descend (Kahan)
        sum = next;
        if (term < 1e-19 * sum) return sum + lost; // all later ones together are less than 15 of it
    }
    double term = power(x), integral = term * (x / (s - 1) + 0.5), rest = lost;
    term *= s / x;
    double next = s;
    for (double const factor : {1. / 12, -1. / 720, 1. / 30240, -1. / 1209600, 1. / 47900160,
             -691. / 1307674368000, 1. / 74724249600}) {
        rest += factor * term;
        term *= (next + 1.) / x * ((next + 2.) / x);
        next += 2;
    }
    return sum + (integral + rest);
}

XGRAD_FUNCTION double scaled_factorial(int n, double x, double factor) {
    double const s = n + 1., power = std::pow(x, -s);
    constexpr int largest = 170; // whose factorial is finite
    if (n <= largest) {
        double factorial = 1;
        if (n > 22) factorial = std::tgamma(s);
        else
            for (int k = 2; k <= n; ++k) factorial *= k; // exact
        if (is_normal(power)) return factorial * (power * factor);
        // The result may be normal: for large x, factor / x is about 1 / n.
        double const part = factorial * std::pow(x, -(n / 2)), rest = std::pow(x, -(n - n / 2));
        if (is_normal(part) && is_normal(rest)) return part * (factor / x) * rest;
    }
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
