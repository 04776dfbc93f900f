// The words in which rules are written, for packs: sin, exp, conj, ... They are found through their argument's type, and
// mean the same for a tensor that records. Real functions are xsimd's or std's, but for exponentials, logarithms, tanh, sine and cosine;
// complex_words.hpp has those of complex numbers that go on from here.
#pragma once

#include <cmath>
#include <limits>
#include <numbers>

#include <xgrad/base/logarithm.hpp>
#include <xgrad/base/sine.hpp>

namespace xgrad {

namespace detail {

/// Applies a function of plain numbers to each number of a pack.
template <class P, class F, class... More> XGRAD_INLINE RealPack<P> each(F f, RealPack<P> x, More... more)
{
    constexpr std::size_t w = RealPack<P>::width;
    P in[1 + sizeof...(More)][w], out[w];
    std::size_t k = 0;
    (x.store(in[k++]), ..., more.store(in[k++]));
    for (std::size_t i = 0; i < w; ++i) {
        if constexpr (sizeof...(More) == 0) out[i] = f(in[0][i]);
        else out[i] = f(in[0][i], in[1][i]);
    }
    return RealPack<P>::load(out);
}
template <class P, class F, class... More> XGRAD_INLINE ComplexPack<P> each(F f, ComplexPack<P> x, More... more)
{
    constexpr std::size_t w = RealPack<P>::width;
    std::complex<P> in[1 + sizeof...(More)][w], out[w];
    std::size_t k = 0;
    (x.store(in[k++]), ..., more.store(in[k++]));
    for (std::size_t i = 0; i < w; ++i) {
        if constexpr (sizeof...(More) == 0) out[i] = f(in[0][i]);
        else out[i] = f(in[0][i], in[1][i]);
    }
    return ComplexPack<P>::load(out);
}

}  // namespace detail

// Real packs.
template <class P> XGRAD_INLINE RealPack<P> exp(RealPack<P> x)
{
    using std::exp;
    if constexpr (RealPack<P>::width > 1) return detail::exp_of_any(x);
    else return RealPack<P>::from(exp(x.v));
}
template <class P> XGRAD_INLINE RealPack<P> expm1(RealPack<P> x)
{
    using std::expm1;
    if constexpr (RealPack<P>::width > 1) return detail::expm1_of_any(x);
    else return RealPack<P>::from(expm1(x.v));
}
template <class P> XGRAD_INLINE RealPack<P> log(RealPack<P> x)
{
    using std::log;
    if constexpr (std::same_as<P, double> && RealPack<P>::width > 1) return detail::log_of_any(x);
    else return RealPack<P>::from(log(x.v));
}
template <class P> XGRAD_INLINE RealPack<P> log1p(RealPack<P> x)
{
    using std::log1p;
    if constexpr (RealPack<P>::width == 1) return RealPack<P>::from(log1p(x.v));
    else if constexpr (std::same_as<P, double>) return detail::log1p_of_any(x);
    else return where(x == 0, x, RealPack<P>::from(log1p(x.v))); // xsimd's is +0 at -0
}
template <class P> XGRAD_INLINE RealPack<P> log2(RealPack<P> x)
{
    using std::log2;
    if constexpr (std::same_as<P, double> && RealPack<P>::width > 1) return detail::log_to_base(x, 1, 0, std::numbers::log2e);
    else return RealPack<P>::from(log2(x.v));
}
template <class P> XGRAD_INLINE RealPack<P> log10(RealPack<P> x)
{
    using std::log10;
    if constexpr (std::same_as<P, double> && RealPack<P>::width > 1) return detail::log_to_base(x, 0x1.34413508p-2, 0x1.f79fef311f12bp-34, std::numbers::log10e);
    else return RealPack<P>::from(log10(x.v));
}
template <class P> XGRAD_INLINE RealPack<P> sqrt(RealPack<P> x) { using std::sqrt; return RealPack<P>::from(sqrt(x.v)); }
template <class P> XGRAD_INLINE RealPack<P> sin(RealPack<P> x)
{
    if constexpr (RealPack<P>::width == 1) return std::sin(x.v);
    else return detail::sine_and_cosine(x).sine;
}
template <class P> XGRAD_INLINE RealPack<P> cos(RealPack<P> x)
{
    if constexpr (RealPack<P>::width == 1) return std::cos(x.v);
    else return detail::sine_and_cosine(x).cosine;
}
/// xsimd's loses digits beside its poles.
template <class P> XGRAD_INLINE RealPack<P> tan(RealPack<P> x) {
    if constexpr (RealPack<P>::width == 1) return std::tan(x.v);
    else {
        auto const [s, c] = detail::sine_and_cosine(x);
        return s / c;
    }
}
template <class P> XGRAD_INLINE RealPack<P> asin(RealPack<P> x) { using std::asin; return RealPack<P>::from(asin(x.v)); }
template <class P> XGRAD_INLINE RealPack<P> acos(RealPack<P> x) { using std::acos; return RealPack<P>::from(acos(x.v)); }
template <class P> XGRAD_INLINE RealPack<P> atan(RealPack<P> x) { using std::atan; return RealPack<P>::from(atan(x.v)); }
template <class P> XGRAD_INLINE RealPack<P> sinh(RealPack<P> x) { using std::sinh; return RealPack<P>::from(sinh(x.v)); }
template <class P> XGRAD_INLINE RealPack<P> cosh(RealPack<P> x) { using std::cosh; return RealPack<P>::from(cosh(x.v)); }
template <class P> XGRAD_INLINE RealPack<P> asinh(RealPack<P> x) { using std::asinh; return RealPack<P>::from(asinh(x.v)); }
template <class P> XGRAD_INLINE RealPack<P> acosh(RealPack<P> x)
{
    using std::acosh;  // xsimd's is -infinity far below 1
    return where(x < 1, RealPack<P>(std::numeric_limits<P>::quiet_NaN()), RealPack<P>::from(acosh(x.v)));
}
template <class P> XGRAD_INLINE RealPack<P> atanh(RealPack<P> x) { using std::atanh; return RealPack<P>::from(atanh(x.v)); }
template <class P> XGRAD_INLINE RealPack<P> abs(RealPack<P> x) { using std::abs; return RealPack<P>::from(abs(x.v)); }
template <class P> XGRAD_INLINE RealPack<P> copysign(RealPack<P> size, RealPack<P> sign) { using std::copysign; return RealPack<P>::from(copysign(size.v, sign.v)); }
/// With e = exp(-2|x|) - 1: -e/(2 + e), with the sign of x.
template <class P> XGRAD_INLINE RealPack<P> tanh(RealPack<P> x)
{
    if constexpr (RealPack<P>::width == 1) return std::tanh(x.v);
    else {
        auto const size = abs(x);
        if (RealPack<P>::lanes::all((size < 0.55).m)) return detail::tanh_near_0(x);
        auto const e = detail::exp_of_negative(-2 * size).expm1;
        return copysign(e / (2 + e), x);
    }
}
template <class P> XGRAD_INLINE RealPack<P> atan2(RealPack<P> y, RealPack<P> x)
{
    using std::atan2;
    if constexpr (RealPack<P>::width > 1) {  // xsimd divides 0 by 0 and infinity by infinity
        auto const infinite = abs(y) == HUGE_VAL && abs(x) == HUGE_VAL;
        x = where(infinite || (y == 0 && x == 0), copysign(RealPack<P>(1), x), x);
        y = where(infinite, copysign(RealPack<P>(1), y), y);
    }
    return RealPack<P>::from(atan2(y.v, x.v));
}
/// Number by number: xsimd's is off by tens of units in the last place and wrong at 0 and infinity.
template <class P> XGRAD_INLINE RealPack<P> pow(RealPack<P> x, RealPack<P> p) { return detail::each([](P a, P b) { return std::pow(a, b); }, x, p); }

template <class P> XGRAD_INLINE MaskPack<P> isnan(RealPack<P> x) { return !(x == x); }
template <class P> XGRAD_INLINE RealPack<P> sgn(RealPack<P> x)
{
    return where(x > 0, RealPack<P>(1), where(x < 0, RealPack<P>(-1), where(x == 0, RealPack<P>(0), x)));
}
template <class P> XGRAD_INLINE RealPack<P> conj(RealPack<P> x) { return x; }
template <class P> XGRAD_INLINE RealPack<P> real(RealPack<P> x) { return x; }
template <class P> XGRAD_INLINE RealPack<P> imag(RealPack<P>) { return 0; }
template <class P> XGRAD_INLINE RealPack<P> abs2(RealPack<P> x) { return x * x; }
template <class P> XGRAD_INLINE RealPack<P> angle(RealPack<P> x) { return where(isnan(x), x, where(x < 0, RealPack<P>(std::numbers::pi), RealPack<P>(0))); }
template <class P> XGRAD_INLINE ComplexPack<P> complex(RealPack<P> re, RealPack<P> im) { return {re, im}; }

// Complex packs.
template <class P> XGRAD_INLINE RealPack<P> real(ComplexPack<P> z) { return z.re; }
template <class P> XGRAD_INLINE RealPack<P> imag(ComplexPack<P> z) { return z.im; }
template <class P> XGRAD_INLINE ComplexPack<P> conj(ComplexPack<P> z) { return {z.re, -z.im}; }
template <class P> XGRAD_INLINE RealPack<P> abs2(ComplexPack<P> z) { return z.re * z.re + z.im * z.im; }

namespace detail {

/// Exponents of powers of X that take no call.
template <class X> constexpr bool is_quick_exponent(double p) noexcept
{
    bool const is_real = std::same_as<X, RealPack<typename X::precision>>;
    return p == -1 || p == 0 || p == 0.5 || p == 1 || p == 2 || p == 3 || p == 4 || p == 5 || p == 6 || (is_real && (p == -2 || p == -0.5));
}

template <class X>
concept Pack = requires(X x) { x.store(nullptr); sqrt(x); };

/// Squares of numbers up to this, and down to its inverse, neither overflow nor lose digits.
template <class P> inline constexpr P largest_to_square = std::same_as<P, float> ? P(1e18) : P(1e150);

template <class P> XGRAD_INLINE bool are_ordinary(RealPack<P> x)
{
    auto const size = abs(x);
    return RealPack<P>::lanes::all((size < largest_to_square<P> && size > 1 / largest_to_square<P>).m);
}
template <class P> XGRAD_INLINE bool are_ordinary(ComplexPack<P> z) { return are_ordinary(larger(abs(z.re), abs(z.im))); }

template <Pack X> X real_power(X x, double p) {
    if (p == 2) return x * x;
    if (p == 1) return x;
    if (p == 3) return x * x * x;
    if (p == 4) return (x * x) * (x * x);
    if (p == 5) return (x * x) * (x * x) * x;
    if (p == 6) return (x * x) * (x * x) * (x * x);
    if (p == 0) return 1;
    if (p == -1) return 1 / x;
    if (p == 0.5) return sqrt(x);
    if (is_quick_exponent<X>(p)) return p == -2 ? 1 / (x * x) : 1 / sqrt(x);
    return pow(x, RealPack<typename X::precision>(p));
}

} // namespace detail

/// x^p for one real exponent. For 1/2 and -1/2 it is the root, or its inverse, at -0 and -infinity, too.
template <class P> RealPack<P> pow(RealPack<P> x, double p) { return detail::real_power(x, p); }

/// x^(p - 1) beside y = x^p: for packs a quotient, where that loses nothing.
template <class Y, class X, class E> auto power_below(Y const&, X const& x, E const& p)
{
    return pow(x, p - 1);
}
template <class Y, detail::Pack X, class E>
    requires detail::Pack<Y>
XGRAD_INLINE auto power_below(Y const& y, X const& x, E const& p)
{
    if constexpr (std::same_as<E, double>)
        if (detail::is_quick_exponent<X>(p - 1)) return pow(x, p - 1);
    return detail::are_ordinary(y) && detail::are_ordinary(x) ? y / x : pow(x, p - 1);
}

/// 1/x.
template <class P> XGRAD_INLINE RealPack<P> reciprocal(RealPack<P> x) { return 1 / x; }
template <class P> XGRAD_INLINE ComplexPack<P> reciprocal(ComplexPack<P> z) { return 1 / z; }
/// e^x / (1 + e^x), which has the smallest results, too; it is 1 from 40 on.
template <class P> XGRAD_INLINE RealPack<P> sigmoid(RealPack<P> x) {
    auto const e = exp(smaller(RealPack<P>(40), x)); // in this order, so that NaN stays
    return e / (1 + e);
}

}  // namespace xgrad
