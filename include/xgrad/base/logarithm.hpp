// Logarithms on packs of double precision, also of the smallest numbers, which xsimd's take for larger ones. They have one division where
// those have two, and a quick way from the bits of an exponent to a number.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include <xgrad/base/exponential.hpp>

namespace xgrad::detail {

#if XGRAD_SIMD
/// x = 2^n m for normal x > 0, with m between the roots of 1/2 and 2.
struct BinaryParts {
    using Words = kernel::Vec<std::uint64_t, sizeof(RealPack<double>::v.data)>;
    static constexpr int mantissa_bits = 52;
    static constexpr std::uint64_t one = 0x3ff0000000000000, root_of_half = 0x3fe6a09e667f3bcd, two_to_52 = 0x4330000000000000;

    Words exponent;  // n + 1023
    RealPack<double> n, m;

    XGRAD_INLINE explicit BinaryParts(RealPack<double> x)
    {
        auto const bits = std::bit_cast<Words>(x.v.data);
        exponent = (bits + (one - root_of_half)) >> mantissa_bits;
        n = number(exponent | two_to_52) - RealPack<double>(0x1p52 + 1023);
        m = number(bits - (exponent << mantissa_bits) + one);
    }
    /// 2^(1 - n), or 0 where that would not be normal.
    XGRAD_INLINE RealPack<double> twice_inverse_power() const { return number((2047 - exponent) << mantissa_bits); }

private:
    XGRAD_INLINE static RealPack<double> number(Words bits) { return RealPack<double>::from(std::bit_cast<decltype(RealPack<double>::v.data)>(bits)); }
};

/// 2/first + 2 x/(first + 4) + 2 x^2/(first + 8) + ... up to 2/last.
template <int first, int last> XGRAD_INLINE RealPack<double> every_other_inverse(RealPack<double> x)
{
    if constexpr (first + 4 > last) return 2. / first;
    else return 2. / first + x * every_other_inverse<first + 4, last>(x);
}

/// log m + last. With f = m - 1 and s = f/(2 + f), 2s is f - sf, and log m = 2 atanh(s) = 2s + sR is f - (f^2/2 - s (f^2/2 + R)), in which all
/// that is rounded is small beside f; R = 2 s^2/3 + 2 s^4/5 + ...
XGRAD_INLINE RealPack<double> log_near_1(RealPack<double> f, RealPack<double> s, RealPack<double> last)
{
    auto const z = s * s, z2 = z * z, half = 0.5 * f * f, r = z * every_other_inverse<3, 21>(z2) + z2 * every_other_inverse<5, 21>(z2);
    return f - (half - (s * (half + r) + last));
}

/// y, the logarithm of x, where that is one; else infinity of infinity, -infinity of 0, and NaN.
XGRAD_INLINE RealPack<double> logarithm_or_not(RealPack<double> x, RealPack<double> y)
{
    RealPack<double> const infinity(HUGE_VAL), nan(std::numeric_limits<double>::quiet_NaN());
    return where(x > 0, where(x < infinity, y, x), where(x == 0, -infinity, nan));
}

XGRAD_INLINE BinaryParts parts_of_any(RealPack<double> x)
{
    auto const is_small = x < std::numeric_limits<double>::min();
    BinaryParts p(where(is_small, x * 0x1p54, x));
    p.n = where(is_small, p.n - 54, p.n);
    return p;
}

/// log x to about one rounding.
XGRAD_INLINE RealPack<double> log_of_any(RealPack<double> x)
{
    using Facts = ExponentialFacts<double>;
    BinaryParts const p = parts_of_any(x);
    auto const f = p.m - 1;
    return logarithm_or_not(x, p.n * RealPack<double>(Facts::ln2_high) + log_near_1(f, f / (2 + f), p.n * RealPack<double>(Facts::ln2_low)));
}
/// Logarithms to another base, to about two roundings: that of 2 in two parts, of which the first has zeros to spare, and that of e.
XGRAD_INLINE RealPack<double> log_to_base(RealPack<double> x, double of_2_high, double of_2_low, double of_e)
{
    BinaryParts const p = parts_of_any(x);
    auto const f = p.m - 1;
    return logarithm_or_not(x, p.n * RealPack<double>(of_2_high) + (p.n * RealPack<double>(of_2_low) + RealPack<double>(of_e) * log_near_1(f, f / (2 + f), 0)));
}

/// log(1 + x) to about one rounding: what is lost in u = 1 + x is that part of x, over u.
XGRAD_INLINE RealPack<double> log1p_of_any(RealPack<double> x)
{
    using Facts = ExponentialFacts<double>;
    auto const u = 1 + x, lost = x - (u - 1);
    BinaryParts const p(u);
    auto const f = p.m - 1, inverse = 1 / (p.m * (2 + f));  // one division for f/(2 + f) and 1/m
    auto const last = p.n * RealPack<double>(Facts::ln2_low) + lost * p.twice_inverse_power() * (0.5 * (2 + f) * inverse);
    return where(x == 0, x, logarithm_or_not(u, p.n * RealPack<double>(Facts::ln2_high) + log_near_1(f, f * p.m * inverse, last)));
}
#else  // where a pack is one number nothing calls these
RealPack<double> log_of_any(RealPack<double> x);
RealPack<double> log1p_of_any(RealPack<double> x);
RealPack<double> log_to_base(RealPack<double> x, double of_2_high, double of_2_low, double of_e);
#endif

}  // namespace xgrad::detail
