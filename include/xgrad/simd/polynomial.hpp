// What the elementary functions on batches share: polynomials, the nearest integer, and the bits of
// numbers.
#pragma once

#include <array>

#include <xgrad/simd/complex_batch.hpp>

namespace xgrad::simd::detail {

/// c[first] + c[first + step] x + c[first + 2 step] x^2 + ...
template <std::size_t first, std::size_t step, class P, std::size_t n>
XGRAD_INLINE Batch<P> polynomial(std::array<P, n> const& c, Batch<P> x) {
    if constexpr (first + step >= n) return c[first];
    else return c[first] + x * polynomial<first + step, step>(c, x);
}
/// c[0] + c[1] x + c[2] x^2 + ..., as one polynomial of the even powers and one of the odd powers.
/// The processor evaluates the two dependency chains in parallel.
template <class P, std::size_t n>
XGRAD_INLINE Batch<P> polynomial_in_two_chains(std::array<P, n> const& c, Batch<P> x) {
    auto const square = x * x;
    return polynomial<0, 2>(c, square) + x * polynomial<1, 2>(c, square);
}

/// The bit layout of the IEEE format P.
template <class P> struct Format {
    using bits = bits_of<P>;
    static constexpr int mantissa_bits = std::numeric_limits<P>::digits - 1;
    static constexpr bits bias = std::numeric_limits<P>::max_exponent - 1;
    /// 1.5 * 2^mantissa_bits. x + magic rounds x to an integer and has it in its lowest bits.
    static constexpr P magic = static_cast<P>(bits{3} << (mantissa_bits - 1));
};

/// The integer nearest to x, for |x| up to 2^50 (2^21 in single precision).
template <class P> struct Nearest {
    Batch<P> number;
    typename Batch<P>::bits integer; // plus the bits of `magic`

    XGRAD_INLINE explicit Nearest(Batch<P> x) {
        auto const shifted = x + Batch<P>(Format<P>::magic);
        integer = shifted.to_bits();
        number = shifted - Batch<P>(Format<P>::magic);
    }
};

/// Applies a function of the C library to each lane, for arguments outside of the usual range. It
/// is not inlined, so that loops stay small. Its symbol contains the width: translation units with
/// different flags must not share it.
template <class P, std::size_t width, class F, class... More>
XGRAD_NOINLINE Batch<P> each_aside(F f, Batch<P> x, More... more) {
    return each(f, x, more...);
}

} // namespace xgrad::simd::detail
