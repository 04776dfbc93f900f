// Elementary functions on real batches that the rules of operations call. A rule calls them without
// a namespace: argument-dependent lookup finds the overload for the type of its argument.
// complex_functions.hpp has the functions of complex batches.
//
// Gradients: none are recorded: rules state them. power_below() is a factor of the derivative of
// x^p.
#pragma once

#include <xgrad/simd/atan.hpp>
#include <xgrad/simd/log.hpp>
#include <xgrad/simd/pow.hpp>
#include <xgrad/simd/sincos.hpp>

namespace xgrad::simd {

/// The remainder of a division of a by b, with the sign of a. Of integers it is 0 where b is 0.
template <class P> XGRAD_INLINE Batch<P> fmod(Batch<P> a, Batch<P> b) {
    return detail::each(
        [](P p, P q) {
            if constexpr (std::integral<P>)
                return q == 0 || q == -1 ? P(0) : P(p % q); // the least number % -1 overflows
            else return std::fmod(p, q);
        },
        a, b);
}
template <class P> XGRAD_INLINE Mask<P> isnan(Batch<P> x) { return !(x == x); }
template <class P> XGRAD_INLINE Batch<P> sgn(Batch<P> x) {
    auto const of_negative = where(x < 0, Batch<P>(-1), where(x == 0, Batch<P>(0), x));
    return where(x > 0, Batch<P>(1), of_negative);
}
template <class P> XGRAD_INLINE Batch<P> conj(Batch<P> x) { return x; }
template <class P> XGRAD_INLINE Batch<P> real(Batch<P> x) { return x; }
template <class P> XGRAD_INLINE Batch<P> imag(Batch<P>) { return 0; }
template <class P> XGRAD_INLINE Batch<P> abs2(Batch<P> x) { return x * x; }
template <class P> XGRAD_INLINE Batch<P> angle(Batch<P> x) {
    return where(isnan(x), x, where(x < 0, Batch<P>(std::numbers::pi), Batch<P>(0)));
}
template <class P> XGRAD_INLINE ComplexBatch<P> complex(Batch<P> re, Batch<P> im) {
    return {re, im};
}
template <class P> XGRAD_INLINE Batch<P> reciprocal(Batch<P> x) { return 1 / x; }
/// A batch of zeros of the argument's type.
template <class P> XGRAD_INLINE Batch<P> zero_like(Batch<P>) { return 0; }
/// A batch of zeros of the argument's type.
template <class P> XGRAD_INLINE ComplexBatch<P> zero_like(ComplexBatch<P>) { return 0; }

// The parts of complex batches, for rules that serve both kinds.
template <class P> XGRAD_INLINE Batch<P> real(ComplexBatch<P> z) { return z.re; }
template <class P> XGRAD_INLINE Batch<P> imag(ComplexBatch<P> z) { return z.im; }
template <class P> XGRAD_INLINE ComplexBatch<P> conj(ComplexBatch<P> z) { return {z.re, -z.im}; }
template <class P> XGRAD_INLINE Batch<P> abs2(ComplexBatch<P> z) {
    return z.re * z.re + z.im * z.im;
}
template <class P> XGRAD_INLINE ComplexBatch<P> reciprocal(ComplexBatch<P> z) { return 1 / z; }

/// A real or complex batch.
template <class X>
concept AnyBatch = requires(X x) {
    x.store(nullptr);
    sqrt(x);
};

namespace detail {

/// True for exponents whose power is computed by multiplications, divisions and square roots.
template <class X> constexpr bool is_quick_exponent(double p) noexcept {
    bool const is_real = std::same_as<X, Batch<typename X::precision>>;
    return p == -1 || p == 0 || p == 0.5 || p == 1 || p == 2 || p == 3 || p == 4 || p == 5 ||
           p == 6 || (is_real && (p == -2 || p == -0.5));
}

/// True if no square of an element, and no reciprocal of one, overflows or becomes subnormal.
template <class P> XGRAD_INLINE bool are_ordinary(Batch<P> x) {
    auto const size = abs(x);
    return all_true(size < max_squared<P> && size > 1 / max_squared<P>);
}
template <class P> XGRAD_INLINE bool are_ordinary(ComplexBatch<P> z) {
    return are_ordinary(larger(abs(z.re), abs(z.im)));
}

/// x^p; products and roots where is_quick_exponent<X>(p).
template <AnyBatch X> X real_power(X x, double p) {
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
    return pow(x, Batch<typename X::precision>(p));
}

} // namespace detail

/// x^p with the same exponent for all lanes. For p = 1/2 it is sqrt(x), at -0 and -infinity too,
/// and for p = -1/2 it is 1/sqrt(x).
template <class P> Batch<P> pow(Batch<P> x, double p) { return detail::real_power(x, p); }

} // namespace xgrad::simd

namespace xgrad {

/// x^(p - 1), given y = x^p. For batches it is y/x, one division instead of a power, unless that
/// could overflow or lose digits.
template <class Y, class X, class E> auto power_below(Y const&, X const& x, E const& p) {
    return pow(x, p - 1);
}
template <class Y, simd::AnyBatch X, class E>
    requires simd::AnyBatch<Y>
XGRAD_INLINE auto power_below(Y const& y, X const& x, E const& p) {
    using namespace simd::detail;
    if constexpr (std::same_as<E, double>)
        if (is_quick_exponent<X>(p - 1)) return pow(x, p - 1);
    return are_ordinary(y) && are_ordinary(x) ? y / x : pow(x, p - 1);
}

} // namespace xgrad
