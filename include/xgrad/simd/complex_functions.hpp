// Elementary functions on complex batches.
//
// If all elements of a batch have moderate magnitudes, a function is composed of real functions of
// batches. Otherwise std's function computes each element, as it always does for the inverse
// functions with their branch cuts. So the last digits of an element may depend on the other
// elements of its batch.
//
// Every function but pow is within 4 epsilon |w| of the exact result w
// (tests/simd/complex_functions_test.cpp). A part that is much smaller than the other one may have
// fewer digits where terms of it cancel: the real parts of log near the unit circle, of expm1 and
// of sigmoid, and parts of a quotient. Those of exp, sqrt, sin, cos, sinh and cosh, of angles and
// directions are within 4 ulp.
#pragma once

#include <xgrad/simd/complex_batch.hpp>
#include <xgrad/simd/functions.hpp>

namespace xgrad::simd {

namespace detail {

/// sqrt(a^2 + b^2), scaled by the larger one so that no square overflows or underflows.
template <class P, std::size_t width = Batch<P>::width>
XGRAD_NOINLINE Batch<P> scaled_modulus(Batch<P> a, Batch<P> b) {
    auto const big = where(a > b, a, b), small = where(a > b, b, a);
    auto const ratio = small / big;
    auto const length = where(big == 0, big, big * sqrt(ratio * ratio + 1));
    auto const infinite = a == HUGE_VAL || b == HUGE_VAL;
    return where(infinite, Batch<P>(HUGE_VAL), where(isnan(a), a, length));
}

/// Applies std's function to each lane. It is not inlined, so that loops stay small. It takes the
/// two parts by value: they are passed in registers.
template <class P, std::size_t width, class F, class... More>
XGRAD_NOINLINE ComplexBatch<P> parts_number_by_number(F f, Batch<P> re, Batch<P> im, More... more) {
    return each(f, ComplexBatch<P>(re, im), more...);
}
template <class P, class F, class... More>
XGRAD_INLINE ComplexBatch<P> number_by_number(F f, ComplexBatch<P> z, More... more) {
    return parts_number_by_number<P, Batch<P>::width>(f, z.re, z.im, more...);
}

/// The complex sine and cosine, or their hyperbolic counterparts.
template <class P> struct SineCosine {
    ComplexBatch<P> sine, cosine;
};

/// True if e^(2x) is finite and phi is, in all lanes.
template <class P> XGRAD_INLINE bool have_exponential(Batch<P> x, Batch<P> phi) {
    constexpr P most = std::same_as<P, float> ? P(40) : P(300);
    return all_true(abs(x) < most && abs(phi) < HUGE_VAL);
}

/// (cosh x, sinh x) from one exponential, where have_exponential: sinh|x| = (e + e/(1 + e))/2 with
/// e = exp|x| - 1.
template <class P> XGRAD_INLINE std::pair<Batch<P>, Batch<P>> cosh_sinh(Batch<P> x) {
    auto const e = expm1(abs(x)), inverse = 1 / (1 + e);
    return {0.5 * (1 + e + inverse), copysign(0.5 * (e + e * inverse), x)};
}

} // namespace detail

/// |z|, without overflow or underflow on the way.
template <class P> XGRAD_INLINE Batch<P> abs(ComplexBatch<P> z) {
    auto const a = abs(z.re), b = abs(z.im);
    return detail::square_well(larger(a, b)) ? sqrt(abs2(z)) : detail::scaled_modulus(a, b);
}
/// The argument of z, in (-pi, pi].
template <class P> XGRAD_INLINE Batch<P> angle(ComplexBatch<P> z) { return atan2(z.im, z.re); }

namespace detail {

/// z/|z| where |z| may overflow or be subnormal: a power of two scales z first. It is 0 for z = 0.
template <class P, std::size_t width>
XGRAD_NOINLINE ComplexBatch<P> scaled_direction(Batch<P> re, Batch<P> im) {
    auto const is_big = larger(abs(re), abs(im)) > 1;
    auto const scale = where(is_big, P(0.25), 1 / std::numeric_limits<P>::epsilon());
    ComplexBatch<P> const z(re * scale, im * scale);
    return where(re == 0 && im == 0, ComplexBatch<P>(0), z / abs(z));
}

} // namespace detail

/// z/|z|, or 0 for z = 0, given the modulus |z|.
template <class P> XGRAD_INLINE ComplexBatch<P> sgn(ComplexBatch<P> z, Batch<P> modulus) {
    if (!all_true(modulus >= std::numeric_limits<P>::min() && modulus < HUGE_VAL)) [[unlikely]]
        return detail::scaled_direction<P, Batch<P>::width>(z.re, z.im);
    return z / modulus;
}
template <class P> XGRAD_INLINE ComplexBatch<P> sgn(ComplexBatch<P> z) {
    if (!detail::are_ordinary(z)) [[unlikely]]
        return detail::scaled_direction<P, Batch<P>::width>(z.re, z.im);
    return z / sqrt(abs2(z));
}
/// e^(i phi).
template <class P> XGRAD_INLINE ComplexBatch<P> unit_at(Batch<P> phi) {
    auto const [s, c] = sincos(phi);
    return {c, s};
}
template <class P> XGRAD_INLINE ComplexBatch<P> polar(Batch<P> r, Batch<P> phi) {
    return r * unit_at(phi);
}
template <class P> XGRAD_INLINE ComplexBatch<P> exp(ComplexBatch<P> z) {
    if (all_true(z.re == 0))
        return unit_at(z.im); // phase factors are the most common complex exponentials
    constexpr P most = std::same_as<P, float> ? P(85) : P(700);
    if (!all_true((z.re < most) && -HUGE_VAL < z.re && abs(z.im) < HUGE_VAL))
        return detail::number_by_number([](auto v) { return std::exp(v); }, z);
    return polar(exp(z.re), z.im);
}
/// e^z - 1, exact to the last digits near 0, too.
template <class P> XGRAD_INLINE ComplexBatch<P> expm1(ComplexBatch<P> z) {
    // exp(x) cos(y) - 1 = expm1(x) cos(y) - 2 sin(y/2)^2 has no cancellation near 0.
    auto const s = sin(0.5 * z.im);
    ComplexBatch<P> const result(expm1(z.re) * cos(z.im) - 2 * s * s, exp(z.re) * sin(z.im));
    auto const is_near = abs(z.re) <= 40 && abs(z.im) < HUGE_VAL;
    return all_true(is_near) ? result : where(is_near, result, exp(z) - 1); // exp knows overflow
}

namespace detail {

/// 1/(1 + e^-z) where |Re z| > 40 or a part is not finite. It uses e^z for Re z < 0, so that the
/// exponential does not overflow.
template <class P, std::size_t width>
XGRAD_NOINLINE ComplexBatch<P> sigmoid_of_large(Batch<P> re, Batch<P> im) {
    ComplexBatch<P> const z(re, im);
    auto const negative = re < 0;
    auto const e = exp(where(negative, z, -z));
    return where(negative, e, ComplexBatch<P>(1)) / (1 + e);
}

} // namespace detail

/// 1/(1 + e^-z). With z = x + iy and u = e^-|x|, the modulus of 1 + u e^iy is that of (1 + u)
/// cos(y/2) + i (u - 1) sin(y/2), in which nothing cancels near the poles.
template <class P> XGRAD_INLINE ComplexBatch<P> sigmoid(ComplexBatch<P> z) {
    auto const size = abs(z.re);
    auto const is_near = size <= 40 && abs(z.im) < HUGE_VAL;
    auto const [s, c] = sincos(0.5 * z.im);
    auto const [u, e] = detail::exp_of_negative(-size);
    auto const p = (1 + u) * c, q = e * s, real = p * c, rest = q * s;
    auto const scale = 1 / (p * p + q * q);
    ComplexBatch<P> const result(
        where(z.re > 0, real - rest, u * (real + rest)) * scale, 2 * u * (s * c) * scale);
    if (all_true(is_near)) return result;
    return where(is_near, result, detail::sigmoid_of_large<P, Batch<P>::width>(z.re, z.im));
}

/// log z = log(|z|^2)/2 + i angle(z). Near the unit circle, |z|^2 - 1 = (big - 1)(big + 1) +
/// small^2 corrects the rounding error of |z|^2. The two terms may cancel: then the real part is
/// exact to the last digits of the imaginary part.
template <class P> XGRAD_INLINE ComplexBatch<P> log(ComplexBatch<P> z) {
    auto const a = abs(z.re), b = abs(z.im), big = larger(a, b), small = smaller(a, b);
    if (!detail::square_well(big))
        return detail::number_by_number([](auto v) { return std::log(v); }, z);
    auto const excess = (big - 1) * (big + 1) + small * small;
    auto const near_one = abs(excess) < 0.5;
    auto const square = where(near_one, 1 + excess, abs2(z)),
               rounding = where(near_one, (excess - (square - 1)) / square, Batch<P>(0));
    return {0.5 * (log(square) + rounding), angle(z)};
}
template <class P> ComplexBatch<P> log2(ComplexBatch<P> z) {
    return log(z) * (1 / std::numbers::ln2);
}
template <class P> ComplexBatch<P> log10(ComplexBatch<P> z) {
    return log(z) * (1 / std::numbers::ln10);
}
/// log(1 + z). For small z = x + iy the real part is log1p(x(2 + x) + y^2)/2, where log(1 + z)
/// would cancel.
template <class P> ComplexBatch<P> log1p(ComplexBatch<P> z) {
    return detail::each(
        [](std::complex<P> v) -> std::complex<P> {
            auto const whole = std::log(P(1) + v);
            if (!(std::norm(v) <= P(0.25))) return whole; // NaN, too
            return {std::log1p(v.real() * (2 + v.real()) + v.imag() * v.imag()) / 2, whole.imag()};
        },
        z);
}

/// sqrt z. sqrt((|z| + |x|)/2) has no cancellation: it is the real part for x >= 0, else the
/// absolute value of the imaginary part. |y| over twice it gives the other part.
template <class P> XGRAD_INLINE ComplexBatch<P> sqrt(ComplexBatch<P> z) {
    auto const a = abs(z.re), b = abs(z.im);
    if (!detail::square_well(larger(a, b)))
        return detail::number_by_number([](auto v) { return std::sqrt(v); }, z);
    auto const t = sqrt(0.5 * (sqrt(abs2(z)) + a)), other = where(t == 0, t, b / (t + t));
    return {where(z.re < 0, other, t), copysign(where(z.re < 0, t, other), z.im)};
}

namespace detail {

/// sinh(x + iy) = sinh x cos y + i cosh x sin y and cosh(x + iy) = cosh x cos y + i sinh x sin y.
template <class P> XGRAD_INLINE SineCosine<P> hyperbolic(ComplexBatch<P> z) {
    if (!have_exponential(z.re, z.im))
        return {number_by_number([](auto v) { return std::sinh(v); }, z),
            number_by_number([](auto v) { return std::cosh(v); }, z)};
    auto const unit = unit_at(z.im);
    auto const [c, s] = cosh_sinh(z.re);
    return {{s * unit.re, c * unit.im}, {c * unit.re, s * unit.im}};
}
/// sin z = -i sinh(iz) and cos z = cosh(iz).
template <class P> XGRAD_INLINE SineCosine<P> circular(ComplexBatch<P> z) {
    auto const [s, c] = hyperbolic(ComplexBatch<P>(-z.im, z.re));
    return {{s.im, -s.re}, c};
}

} // namespace detail

/// sin z, by sinh of iz.
template <class P> XGRAD_INLINE ComplexBatch<P> sin(ComplexBatch<P> z) {
    return detail::circular(z).sine;
}
/// cos z, by cosh of iz.
template <class P> XGRAD_INLINE ComplexBatch<P> cos(ComplexBatch<P> z) {
    return detail::circular(z).cosine;
}
/// sinh z, from the real functions of both parts.
template <class P> XGRAD_INLINE ComplexBatch<P> sinh(ComplexBatch<P> z) {
    return detail::hyperbolic(z).sine;
}
/// cosh z, from the real functions of both parts.
template <class P> XGRAD_INLINE ComplexBatch<P> cosh(ComplexBatch<P> z) {
    return detail::hyperbolic(z).cosine;
}
/// tanh(x + iy) = ((1 - q^2) sgn x + 4i q sin y cos y) / ((1 - q)^2 + 4q cos^2 y) with q =
/// exp(-2|x|): no term cancels or overflows.
template <class P> XGRAD_INLINE ComplexBatch<P> tanh(ComplexBatch<P> z) {
    if (!all_true(z.re == z.re && abs(z.im) < HUGE_VAL))
        return detail::number_by_number([](auto v) { return std::tanh(v); }, z);
    auto const unit = unit_at(z.im);
    auto const [q, e] = detail::exp_of_negative(-2 * abs(z.re));
    auto const cosine = 4 * q * unit.re, scale = 1 / (e * e + cosine * unit.re);
    return {copysign(e * (1 + q) * scale, z.re), cosine * unit.im * scale};
}
/// tan z = -i tanh(iz).
template <class P> XGRAD_INLINE ComplexBatch<P> tan(ComplexBatch<P> z) {
    auto const t = tanh(ComplexBatch<P>(-z.im, z.re));
    return {t.im, -t.re};
}
template <class P> ComplexBatch<P> asin(ComplexBatch<P> z) {
    return detail::each([](auto v) { return std::asin(v); }, z);
}
template <class P> ComplexBatch<P> acos(ComplexBatch<P> z) {
    return detail::each([](auto v) { return std::acos(v); }, z);
}
template <class P> ComplexBatch<P> atan(ComplexBatch<P> z) {
    return detail::each([](auto v) { return std::atan(v); }, z);
}
template <class P> ComplexBatch<P> asinh(ComplexBatch<P> z) {
    return detail::each([](auto v) { return std::asinh(v); }, z);
}
template <class P> ComplexBatch<P> acosh(ComplexBatch<P> z) {
    return detail::each([](auto v) { return std::acosh(v); }, z);
}
template <class P> ComplexBatch<P> atanh(ComplexBatch<P> z) {
    return detail::each([](auto v) { return std::atanh(v); }, z);
}

namespace detail {
/// 0^p: 0 if Re p > 0, 1 if p = 0, else NaN.
template <class P> std::complex<P> power_of_zero(std::complex<P> p) {
    if (p.real() > 0) return 0;
    P const nan = std::numeric_limits<P>::quiet_NaN();
    return p == std::complex<P>(0) ? std::complex<P>(1) : std::complex<P>(nan, nan);
}
} // namespace detail

/// x^p = e^(p log x); 0^p is 0 if Re p > 0, 1 if p = 0, else NaN. The exponent multiplies the error
/// of the logarithm: it is within 2 (1 + |p log x|) epsilon of the modulus.
template <class P> ComplexBatch<P> pow(ComplexBatch<P> x, ComplexBatch<P> p) {
    if (!detail::are_ordinary(x) || !all_true(abs(p.re) < HUGE_VAL && abs(p.im) < HUGE_VAL))
        return detail::number_by_number(
            [](auto a, auto b) {
                return a == decltype(a)(0) ? detail::power_of_zero(b) : std::pow(a, b);
            },
            x, p);
    return exp(p * log(x));
}
template <class P> ComplexBatch<P> pow(ComplexBatch<P> x, Batch<P> p) {
    return pow(x, ComplexBatch<P>(p));
}
template <class P> ComplexBatch<P> pow(Batch<P> x, ComplexBatch<P> p) {
    return pow(ComplexBatch<P>(x), p);
}
/// x^p with the same real exponent for all lanes. A product that overflows may have NaN parts
/// (infinity - infinity): std::pow then computes that element.
template <class P> ComplexBatch<P> pow(ComplexBatch<P> x, double p) {
    auto const y = detail::real_power(x, p);
    bool const is_product = p >= 2 && detail::is_quick_exponent<ComplexBatch<P>>(p);
    if (!is_product || all_true(y.re == y.re && y.im == y.im)) return y;
    return detail::number_by_number(
        [p](auto a, auto product) {
            return product == product || a != a ? product : std::pow(a, static_cast<P>(p));
        },
        x, y);
}

} // namespace xgrad::simd
