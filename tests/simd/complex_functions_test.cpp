// Every function of complex batches against long double functions of this file, over the whole
// range, and special values as in glibc.
//
// What is measured: the error of either part in units of epsilon |w|, where w is the exact result.
// A part that cancels, as the real part of log z near the unit circle, has no digits of its own.
// Where no part cancels, each part is measured in its own units of the last place, too. What
// overflows must be infinite, and the unit of a subnormal result is the smallest number.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <numbers>
#include <random>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <xgrad/xgrad.hpp>

#include "checked_types.hpp"

namespace xg = xgrad;

namespace {

using Wide = long double;
using Exact = std::complex<Wide>;

/// The long double functions. They are made of real ones, since not every C library has complex
/// ones of this precision.
namespace exact {

constexpr Wide half = 0.5L;

Wide product(Wide a, Wide b) { return a == 0 || b == 0 ? 0 : a * b; } // of 0 and infinity, too
Exact polar(Wide r, Wide phi) { return {product(r, std::cos(phi)), product(r, std::sin(phi))}; }
Wide abs(Exact z) { return std::hypot(z.real(), z.imag()); }
Wide angle(Exact z) { return std::atan2(z.imag(), z.real()); }
Exact sgn(Exact z) { return z == Exact(0) ? z : z / abs(z); }
Exact product(Exact a, Exact b) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
Exact quotient(Exact a, Exact b) {
    Wide const size = std::max(std::abs(b.real()), std::abs(b.imag())); // float: of 1e-76 in double
    Exact const c(b.real() / size, -b.imag() / size);
    return product(a / size, c) / (c.real() * c.real() + c.imag() * c.imag());
}
Exact exp(Exact z) { return polar(std::exp(z.real()), z.imag()); }
Exact expm1(Exact z) {
    if (std::abs(z.real()) > 60) return {exp(z).real() - 1, exp(z).imag()};
    Wide const s = std::sin(half * z.imag());
    return {std::expm1(z.real()) * std::cos(z.imag()) - 2 * s * s, exp(z).imag()};
}
Exact log(Exact z) {
    Wide const a = std::abs(z.real()), b = std::abs(z.imag()), big = std::max(a, b),
               small = std::min(a, b), excess = (big - 1) * (big + 1) + small * small;
    return {std::abs(excess) < half ? half * std::log1p(excess) : std::log(abs(z)), angle(z)};
}
Exact log1p(Exact z) {
    Wide const x = z.real(), y = z.imag();
    if (abs(z) > half) return log({1 + x, y});
    return {half * std::log1p(x * (2 + x) + y * y), std::atan2(y, 1 + x)};
}
Exact log2(Exact z) { return log(z) / std::numbers::ln2_v<Wide>; }
Exact log10(Exact z) { return log(z) / std::numbers::ln10_v<Wide>; }
Exact sqrt(Exact z) {
    Wide const t = std::sqrt(half * (abs(z) + std::abs(z.real())));
    if (t == 0) return {0, z.imag()};
    Wide const other = half * std::abs(z.imag()) / t;
    return z.real() < 0 ? Exact(other, std::copysign(t, z.imag()))
                        : Exact(t, std::copysign(other, z.imag()));
}
Exact sinh(Exact z) {
    return {product(std::sinh(z.real()), std::cos(z.imag())),
        product(std::cosh(z.real()), std::sin(z.imag()))};
}
Exact cosh(Exact z) {
    return {product(std::cosh(z.real()), std::cos(z.imag())),
        product(std::sinh(z.real()), std::sin(z.imag()))};
}
Exact tanh(Exact z) {
    Wide const s = std::sin(z.imag()), c = std::cos(z.imag()), size = std::abs(z.real());
    if (size > 40) return {std::copysign(Wide(1), z.real()), 4 * s * c * std::exp(-2 * size)};
    Wide const h = std::sinh(z.real()), square = h * h + c * c;
    return {h * std::cosh(z.real()) / square, s * c / square};
}
Exact sigmoid(Exact z) { // e^h / (2 cosh h) with h = z/2
    if (z.real() < -60) return exp(z);
    if (z.real() > 60) return {1, -exp(-z).imag()};
    return quotient(exp(half * z), Wide(2) * cosh(half * z));
}

/// i z and -i z, and f(iz)/i: the function of the circle that belongs to the hyperbolic one.
Exact times_i(Exact z) { return {-z.imag(), z.real()}; }
Exact over_i(Exact z) { return {z.imag(), -z.real()}; }
Exact sin(Exact z) { return over_i(sinh(times_i(z))); }
Exact cos(Exact z) { return cosh(times_i(z)); }
Exact tan(Exact z) { return over_i(tanh(times_i(z))); }

// W. Kahan, Branch cuts for complex elementary functions, 1987.
Exact asin(Exact z) {
    Exact const p = sqrt(Exact(1 - z.real(), -z.imag())), q = sqrt(Exact(1 + z.real(), z.imag()));
    return {
        std::atan2(z.real(), product(p, q).real()), std::asinh(product(std::conj(p), q).imag())};
}
Exact acos(Exact z) {
    Exact const p = sqrt(Exact(1 - z.real(), -z.imag())), q = sqrt(Exact(1 + z.real(), z.imag()));
    return {2 * std::atan2(p.real(), q.real()), std::asinh(product(std::conj(q), p).imag())};
}
Exact acosh(Exact z) {
    Exact const p = sqrt(Exact(z.real() - 1, z.imag())), q = sqrt(Exact(z.real() + 1, z.imag()));
    return {std::asinh(product(std::conj(p), q).real()), 2 * std::atan2(p.imag(), q.real())};
}
Exact atanh(Exact z) {
    Wide const x = std::abs(z.real()), y = z.imag(), rest = 1 - x;
    Wide const real =
        abs(z) > 1e12L ? quotient(1, z).real() : std::log1p(4 * x / (rest * rest + y * y)) / 4;
    return {std::copysign(real, z.real()), half * std::atan2(2 * y, rest * (1 + x) - y * y)};
}
Exact asinh(Exact z) { return over_i(asin(times_i(z))); }
Exact atan(Exact z) { return over_i(atanh(times_i(z))); }

} // namespace exact

/// How far a part is off, in this unit.
template <class P> double units_off(P got, Wide want, Wide unit) {
    P const rounded = static_cast<P>(want);
    if (std::isnan(want) || std::isnan(got)) return HUGE_VAL;
    if (std::isinf(rounded) || std::isinf(got)) {
        // Within a rounding of the largest number either is right.
        P const other = std::isinf(rounded) ? got : rounded;
        bool const is_near = std::abs(other) > std::numeric_limits<P>::max() * P(1 - 1e-6);
        return std::signbit(got) == std::signbit(rounded) && is_near ? 0 : HUGE_VAL;
    }
    unit = std::max<Wide>(unit, std::numeric_limits<P>::denorm_min());
    return static_cast<double>(std::abs(static_cast<Wide>(got) - want) / unit);
}
/// A unit in the last place.
template <class P> Wide place(Wide want) {
    P const size = std::min(static_cast<P>(std::abs(want)), std::numeric_limits<P>::max() / 2);
    return static_cast<Wide>(std::nextafter(size, std::numeric_limits<P>::infinity())) - size;
}

/// The worst errors: in units of the modulus, and of the parts in their own.
struct Errors {
    double modulus = 0, re = 0, im = 0;

    template <class P> void add(std::complex<P> got, Exact want) {
        Wide const unit = std::numeric_limits<P>::epsilon() * std::hypot(want.real(), want.imag());
        auto const take = [](double& worst, double off) {
            if (!(off <= worst)) worst = off;
        };
        take(modulus, std::max(units_off(got.real(), want.real(), unit),
                          units_off(got.imag(), want.imag(), unit)));
        take(re, units_off(got.real(), want.real(), place<P>(want.real())));
        take(im, units_off(got.imag(), want.imag(), place<P>(want.imag())));
    }
};

/// Parts of all sizes, on the axes, near 1 and near the zeros of sine and cosine.
template <class P> std::vector<std::complex<P>> const& numbers() {
    static auto const all = [] {
        using limits = std::numeric_limits<P>;
        double const low = std::log(limits::denorm_min()), high = std::log(limits::max());
        std::vector<P> parts{
            0, 1, limits::denorm_min(), limits::min(), limits::max() / 3, limits::max()};
        for (int i = 0; i < 28; ++i)
            parts.push_back(static_cast<P>(std::exp(low + (high - low) * (i + 0.5) / 28)));
        for (int i = 0; i < 12; ++i) parts.push_back(static_cast<P>(std::exp(i - 5.7)));
        for (int i = 1; i < 4; ++i) {
            parts.push_back(static_cast<P>(1 + std::exp(-8. * i)));
            parts.push_back(static_cast<P>(1 - std::exp(-8. * i)));
            parts.push_back(static_cast<P>(i * std::numbers::pi / 2));
        }
        std::vector<std::complex<P>> z;
        for (P const a : parts)
            for (P const b : parts) z.insert(z.end(), {{a, b}, {-a, b}, {a, -b}, {-a, -b}});
        std::mt19937 generator(7);
        auto const unit = [&] { return static_cast<double>(generator()) * 0x1p-31 - 1; };
        for (int i = 0; i < 6000; ++i) {
            double const sizes[] = {std::exp((high - 3) * unit()), std::exp(6 * unit()),
                1 + (i % 8 ? 1 : -1) * std::exp(-18 - 18 * unit()), 20 * unit()};
            double const size = sizes[i % 4], angle = std::numbers::pi * unit();
            z.push_back(
                {static_cast<P>(size * std::cos(angle)), static_cast<P>(size * std::sin(angle))});
        }
        return z;
    }();
    return all;
}

/// f of these numbers, where every batch holds neighbours.
template <class P, class F, class... More>
std::vector<std::complex<P>> by_batches(F f, std::vector<std::complex<P>> z, More... more) {
    using B = xg::simd::ComplexBatch<P>;
    std::size_t const n = z.size();
    (z.resize(n + B::width, P(1)), ..., more.resize(n + B::width, P(1)));
    std::vector<std::complex<P>> w(z.size());
    for (std::size_t i = 0; i < n; i += B::width)
        B(f(B::load(z.data() + i), B::load(more.data() + i)...)).store(w.data() + i);
    w.resize(n);
    return w;
}
template <class P, class F, class G> Errors errors(F f, G exact) {
    auto const& z = numbers<P>();
    auto const w = by_batches<P>(f, z);
    Errors worst;
    for (std::size_t i = 0; i < z.size(); ++i) worst.add(w[i], Exact(exact(Exact(z[i]))));
    return worst;
}

} // namespace

#define XGRAD_ERRORS(f) errors<T>([](auto z) { return f(z); }, [](Exact z) { return exact::f(z); })
#define XGRAD_CHECK_MODULUS(f)                                                                     \
    SUBCASE(#f) { CHECK(XGRAD_ERRORS(f).modulus <= 4); }
#define XGRAD_CHECK_PARTS(f)                                                                       \
    SUBCASE(#f) {                                                                                  \
        auto const worst = XGRAD_ERRORS(f);                                                        \
        CHECK(worst.modulus <= 4);                                                                 \
        CHECK(worst.re <= 4);                                                                      \
        CHECK(worst.im <= 4);                                                                      \
    }

TEST_CASE_TEMPLATE("complex functions are within 4 epsilon of the modulus of the result, from the "
                   "smallest to the largest number",
    T, XGRAD_CHECKED_TYPES) {
    XGRAD_CHECK_MODULUS(expm1);
    XGRAD_CHECK_MODULUS(log);
    XGRAD_CHECK_MODULUS(log1p);
    XGRAD_CHECK_MODULUS(log2);
    XGRAD_CHECK_MODULUS(log10);
    XGRAD_CHECK_MODULUS(tanh);
    XGRAD_CHECK_MODULUS(tan);
    XGRAD_CHECK_MODULUS(sigmoid);
    SUBCASE("reciprocal") {
        auto const& z = numbers<T>();
        auto const w = by_batches<T>([](auto v) { return reciprocal(v); }, z);
        Errors worst;
        for (std::size_t i = 0; i < z.size(); ++i)
            if (z[i] != std::complex<T>(0)) worst.add(w[i], exact::quotient(1, Exact(z[i])));
        CHECK(worst.modulus <= 4);
    }
    SUBCASE("unit_at") {
        CHECK(errors<T>([](auto z) { return unit_at(z.re); },
                  [](Exact z) { return exact::polar(1, z.real()); })
                  .modulus <= 4);
    }
}

TEST_CASE_TEMPLATE("both parts of complex functions that do not cancel are within 4 units in the "
                   "last place, from the smallest to the largest number",
    T, XGRAD_CHECKED_TYPES) {
    XGRAD_CHECK_PARTS(abs);
    XGRAD_CHECK_PARTS(angle);
    XGRAD_CHECK_PARTS(sgn);
    XGRAD_CHECK_PARTS(exp);
    XGRAD_CHECK_PARTS(sqrt);
    XGRAD_CHECK_PARTS(sinh);
    XGRAD_CHECK_PARTS(cosh);
    XGRAD_CHECK_PARTS(sin);
    XGRAD_CHECK_PARTS(cos);
    SUBCASE("polar") {
        auto const worst = errors<T>([](auto z) { return polar(z.re, z.im); },
            [](Exact z) { return exact::polar(z.real(), z.imag()); });
        CHECK(worst.modulus <= 4);
        CHECK(worst.re <= 4);
        CHECK(worst.im <= 4);
    }
    SUBCASE("the imaginary part of logarithms") {
        CHECK(XGRAD_ERRORS(log).im <= 4);
        CHECK(XGRAD_ERRORS(log2).im <= 4);
        CHECK(XGRAD_ERRORS(log10).im <= 4);
        CHECK(XGRAD_ERRORS(log1p).im <= 4);
    }
}

#if defined(__GLIBC__) && defined(__GLIBCXX__) // others have their own complex functions
TEST_CASE_TEMPLATE("inverse complex functions are within 4 epsilon of the modulus of the result, "
                   "from the smallest to the largest number",
    T, XGRAD_CHECKED_TYPES) {
    XGRAD_CHECK_MODULUS(asin);
    XGRAD_CHECK_MODULUS(acos);
    XGRAD_CHECK_MODULUS(atan);
    XGRAD_CHECK_MODULUS(asinh);
    XGRAD_CHECK_MODULUS(acosh);
    XGRAD_CHECK_MODULUS(atanh);
}
#endif

namespace {

/// Pairs of numbers of all sizes, and of moderate ones.
template <class P>
std::pair<std::vector<std::complex<P>>, std::vector<std::complex<P>>> pairs_of_numbers() {
    auto const& all = numbers<P>();
    std::mt19937 generator(11);
    std::vector<std::complex<P>> a, b;
    for (int i = 0; i < 20000; ++i) {
        std::size_t const moderate = all.size() - 6000;
        auto const pick = [&](std::size_t first) {
            return all[first + generator() % (all.size() - first)];
        };
        a.push_back(pick(i % 2 ? 0 : moderate));
        b.push_back(pick(i % 4 ? 0 : moderate));
    }
    return {a, b};
}
template <class P> bool is_zero(std::complex<P> z) { return z == std::complex<P>(0); }

} // namespace

TEST_CASE_TEMPLATE("complex products and quotients are within 4 epsilon of the modulus, of all "
                   "numbers from the smallest to the largest",
    T, XGRAD_CHECKED_TYPES) {
    auto const [a, b] = pairs_of_numbers<T>();
    auto const product = by_batches<T>([](auto x, auto y) { return x * y; }, a, b),
               quotient = by_batches<T>([](auto x, auto y) { return x / y; }, a, b);
    Errors of_product, of_quotient;
    int products = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        Exact const x(a[i]), y(b[i]);
        // The two products of a part may overflow where their sum does not.
        if (exact::abs(x) * exact::abs(y) < std::numeric_limits<T>::max())
            of_product.add(product[i], exact::product(x, y)), ++products;
        if (!is_zero(b[i])) of_quotient.add(quotient[i], exact::quotient(x, y));
    }
    CHECK(products > 10000);
    CHECK(of_product.modulus <= 4);
    CHECK(of_quotient.modulus <= 4);
}

TEST_CASE_TEMPLATE(
    "a complex power is within 2 (1 + |p log x|) epsilon of its modulus", T, XGRAD_CHECKED_TYPES) {
    // e^(p log x) multiplies the error of the logarithm by p, as std::pow does. log x is taken on
    // the principal branch.
    auto const [x, p] = pairs_of_numbers<T>();
    auto const power = by_batches<T>([](auto a, auto b) { return pow(a, b); }, x, p),
               real_exponent = by_batches<T>([](auto a, auto b) { return pow(a, b.re); }, x, p),
               real_base = by_batches<T>([](auto a, auto b) { return pow(a.re, b); }, x, p),
               root = by_batches<T>([](auto a) { return pow(a, 1 / 3.); }, x),
               cube = by_batches<T>([](auto a) { return pow(a, 3.); }, x);
    double worst = 0;
    int measured = 0;
    auto const measure = [&](std::complex<T> got, Exact base, Exact exponent) {
        if (is_zero(base)) return;
        Exact const t = exact::product(exponent, exact::log(base)), want = exact::exp(t);
        Wide const size = exact::abs(t);
        // Larger arguments of e^t have no digits after the point, and overflow is left out.
        if (size > 1000 || exact::abs(want) > std::numeric_limits<T>::max() / 2) return;
        Errors off;
        off.add(got, want);
        worst = std::max(worst, off.modulus / (1 + static_cast<double>(size)));
        ++measured;
    };
    for (std::size_t i = 0; i < x.size(); ++i) {
        measure(power[i], Exact(x[i]), Exact(p[i]));
        measure(real_exponent[i], Exact(x[i]), Exact(p[i]).real());
        measure(real_base[i], Exact(x[i]).real(), Exact(p[i]));
        measure(root[i], Exact(x[i]), static_cast<Wide>(static_cast<T>(1 / 3.)));
        measure(cube[i], Exact(x[i]), 3);
    }
    CHECK(measured > 20000);
    CHECK(worst <= 2);
}
