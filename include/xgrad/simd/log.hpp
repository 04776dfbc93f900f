// Logarithms and inverse hyperbolic functions on batches, subnormal arguments included.
//
// Method: x = 2^n m with m in [sqrt(1/2), sqrt(2)), taken from the bits of x. log x = n ln 2 + log
// m, where log m = 2 atanh(s) is an odd series in s = (m - 1)/(m + 1): one division.
//
// Read next: pow.hpp, which needs the logarithm to 64 bits.
#pragma once

#include <xgrad/simd/exp.hpp>

namespace xgrad::simd {
namespace detail {

/// x = 2^n m for normal x > 0, with m between sqrt(1/2) and sqrt(2).
template <class P> struct BinaryParts {
    using bits = typename Batch<P>::bits;
    static constexpr int mantissa_bits = Format<P>::mantissa_bits;
    static constexpr auto one = std::bit_cast<bits_of<P>>(P(1));
    static constexpr auto root_of_half =
        std::bit_cast<bits_of<P>>(static_cast<P>(std::numbers::sqrt2 / 2));
    static constexpr P two_to_mantissa = static_cast<P>(bits_of<P>{1} << mantissa_bits);

    bits exponent; // n + bias
    Batch<P> n, m;

    XGRAD_INLINE explicit BinaryParts(Batch<P> x) {
        auto const all = x.to_bits();
        exponent = (all + (one - root_of_half)) >> mantissa_bits;
        // An integer in the mantissa bits of 2^mantissa_bits is converted by one subtraction.
        n = Batch<P>::from_bits(exponent | std::bit_cast<bits_of<P>>(two_to_mantissa)) -
            Batch<P>(two_to_mantissa + static_cast<P>(Format<P>::bias));
        m = Batch<P>::from_bits(all - (exponent << mantissa_bits) + one);
    }
    /// 2^(1 - n), or 0 where that would not be normal.
    XGRAD_INLINE Batch<P> twice_inverse_power() const {
        return Batch<P>::from_bits((2 * Format<P>::bias + 1 - exponent) << mantissa_bits);
    }
    /// The same decomposition for any x > 0: subnormal numbers are scaled first.
    XGRAD_INLINE static BinaryParts of_any(Batch<P> x) {
        constexpr int digits = std::numeric_limits<P>::digits + 1;
        constexpr P scale = static_cast<P>(std::uint64_t{1} << digits);
        auto const is_small = x < std::numeric_limits<P>::min();
        BinaryParts p(where(is_small, x * scale, x));
        p.n = where(is_small, p.n - digits, p.n);
        return p;
    }
};

/// 2/first + 2 x/(first + 4) + 2 x^2/(first + 8) + ... up to 2/last.
template <int first, int last, class P> XGRAD_INLINE Batch<P> every_other_inverse(Batch<P> x) {
    if constexpr (first + 4 > last) return 2. / first;
    else return 2. / first + x * every_other_inverse<first + 4, last>(x);
}

/// log m + last, where f = m - 1 and s = f/(2 + f). log m = 2 atanh(s) = 2s + sR with R = 2 s^2/3 +
/// 2 s^4/5 + ..., and 2s = f - sf. So log m = f - (f^2/2 - s (f^2/2 + R)): f is exact, and the
/// rounded terms are small beside f.
template <class P> XGRAD_INLINE Batch<P> log_near_1(Batch<P> f, Batch<P> s, Batch<P> last) {
    constexpr int end = std::same_as<P, float> ? 11 : 21;
    auto const z = s * s, z2 = z * z, half = 0.5 * f * f;
    auto const r = z * every_other_inverse<3, end>(z2) + z2 * every_other_inverse<5, end>(z2);
    return f - (half - (s * (half + r) + last));
}

/// y for finite x > 0; infinity for infinity, -infinity for 0, NaN for negative x and NaN.
template <class P> XGRAD_INLINE Batch<P> logarithm_or_not(Batch<P> x, Batch<P> y) {
    Batch<P> const infinity(HUGE_VAL), nan(std::numeric_limits<P>::quiet_NaN());
    return where(x > 0, where(x < infinity, y, x), where(x == 0, -infinity, nan));
}

/// The logarithm to another base b, within about two roundings. of_2_high + of_2_low is log_b(2); n
/// * of_2_high is exact. of_e is log_b(e).
template <class P> XGRAD_INLINE Batch<P> log_to_base(Batch<P> x, P of_2_high, P of_2_low, P of_e) {
    auto const p = BinaryParts<P>::of_any(x);
    auto const f = p.m - 1;
    auto const y = p.n * Batch<P>(of_2_low) + Batch<P>(of_e) * log_near_1<P>(f, f / (2 + f), 0);
    return logarithm_or_not(x, p.n * Batch<P>(of_2_high) + y);
}

} // namespace detail

/// log x within about one rounding.
template <class P> XGRAD_INLINE Batch<P> log(Batch<P> x) {
    using Constants = detail::ExpConstants<P>;
    auto const p = detail::BinaryParts<P>::of_any(x);
    auto const f = p.m - 1;
    auto const y = detail::log_near_1<P>(f, f / (2 + f), p.n * Batch<P>(Constants::ln2_low));
    return detail::logarithm_or_not(x, p.n * Batch<P>(Constants::ln2_high) + y);
}
template <class P> XGRAD_INLINE Batch<P> log2(Batch<P> x) {
    return detail::log_to_base<P>(x, 1, 0, std::numbers::log2e_v<P>);
}
template <class P> XGRAD_INLINE Batch<P> log10(Batch<P> x) {
    constexpr P high = std::same_as<P, float> ? P(0x1.34p-2) : P(0x1.34413508p-2);
    constexpr auto low =
        static_cast<P>(std::same_as<P, float> ? 0x1.04d427de7fbccp-12 : 0x1.f79fef311f12bp-34);
    return detail::log_to_base<P>(x, high, low, std::numbers::log10e_v<P>);
}

/// log(1 + x) within about one rounding. u = 1 + x loses the part `lost` of x; the correction is
/// lost/u.
template <class P> XGRAD_INLINE Batch<P> log1p(Batch<P> x) {
    using Constants = detail::ExpConstants<P>;
    auto const u = 1 + x, lost = x - (u - 1);
    detail::BinaryParts<P> const p(u);
    auto const f = p.m - 1;
    auto const inverse = 1 / (p.m * (2 + f)); // one division for f/(2 + f) and 1/m
    auto const correction = lost * p.twice_inverse_power() * (0.5 * (2 + f) * inverse);
    auto const last = p.n * Batch<P>(Constants::ln2_low) + correction;
    auto const y = detail::log_near_1(f, f * p.m * inverse, last);
    return where(x == 0, x, detail::logarithm_or_not(u, p.n * Batch<P>(Constants::ln2_high) + y));
}

namespace detail {

/// log(1 + small); log(2 x) where x is too large to be squared.
template <class P> XGRAD_INLINE Batch<P> log1p_or_log_of_twice(Batch<P> small, Batch<P> x) {
    auto const is_large = x > max_squared<P>;
    auto const y = log1p(where(is_large, x, small));
    return where(is_large, y + Batch<P>(std::numbers::ln2_v<P>), y);
}

} // namespace detail

/// asinh x = log(|x| + sqrt(x^2 + 1)) with the sign of x.
template <class P> XGRAD_INLINE Batch<P> asinh(Batch<P> x) {
    auto const a = abs(x), square = a * a;
    auto const small = a + square / (1 + sqrt(square + 1));
    return copysign(detail::log1p_or_log_of_twice(small, a), x);
}
/// acosh x = log(x + sqrt(x^2 - 1)), NaN for x < 1.
template <class P> XGRAD_INLINE Batch<P> acosh(Batch<P> x) {
    auto const t = where(x < 1, Batch<P>(std::numeric_limits<P>::quiet_NaN()), x) - 1;
    return detail::log1p_or_log_of_twice(t + sqrt(t * (t + 2)), x);
}
/// atanh x = log((1 + x)/(1 - x))/2.
template <class P> XGRAD_INLINE Batch<P> atanh(Batch<P> x) {
    auto const a = abs(x);
    return copysign(0.5 * log1p(2 * a / (1 - a)), x);
}

} // namespace xgrad::simd
