// ComplexBatch<P> holds complex numbers as two batches: the real parts and the imaginary parts. In
// memory the parts alternate, as in an array of std::complex; load and store shuffle them.
#pragma once

#include <xgrad/simd/batch.hpp>

namespace xgrad::simd {

template <class P> struct ComplexBatch;

namespace detail {

/// Squares of numbers between 1/max_squared and max_squared neither overflow nor become subnormal.
template <class P> inline constexpr P max_squared = std::same_as<P, float> ? P(1e18) : P(1e150);

/// True if the squares of these magnitudes neither overflow nor become subnormal; 0 is allowed.
template <class P> XGRAD_INLINE bool square_well(Batch<P> size) {
    return all_true((size < max_squared<P> && size > 1 / max_squared<P>) || size == 0);
}

// A function that is not inlined has the batch width among its template arguments: translation
// units with different flags must not share its symbol.

/// a/b lane by lane, for any numbers.
template <class P, std::size_t width>
ComplexBatch<P> quotient_aside(Batch<P> a_re, Batch<P> a_im, Batch<P> b_re, Batch<P> b_im);

} // namespace detail

/// Products of infinite numbers may have NaN parts, as in NumPy: a product does not look for them.
template <class P> struct ComplexBatch {
    using precision = P;
    using element = std::complex<P>;
    using real_batch = Batch<P>;
    static constexpr std::size_t width = real_batch::width;
    real_batch re, im;

    ComplexBatch() = default;
    XGRAD_INLINE ComplexBatch(real_batch r, real_batch i = real_batch(0)) : re(r), im(i) {}
    XGRAD_INLINE ComplexBatch(Mask<P> m) : ComplexBatch(real_batch(m)) {}
    template <class A>
        requires(std::is_arithmetic_v<A>)
    XGRAD_INLINE ComplexBatch(A a) : re(a), im(0) {}
    template <class A> XGRAD_INLINE ComplexBatch(std::complex<A> a) : re(a.real()), im(a.imag()) {}

    /// Reads `width` complex numbers and separates their parts.
    XGRAD_INLINE static ComplexBatch load(std::complex<P> const* z) {
        auto const* const p = reinterpret_cast<P const*>(z);
        auto const low = real_batch::load(p), high = real_batch::load(p + width);
        if constexpr (width == 1) return {low, high};
        else {
            ComplexBatch r;
            xgrad::detail::kernel::unzip<P>(low.v, high.v, r.re.v, r.im.v);
            return r;
        }
    }
    /// Interleaves the parts and writes `width` complex numbers.
    XGRAD_INLINE void store(std::complex<P>* z) const {
        auto* const p = reinterpret_cast<P*>(z);
        real_batch low = re, high = im;
        if constexpr (width > 1) xgrad::detail::kernel::zip<P>(re.v, im.v, low.v, high.v);
        low.store(p);
        high.store(p + width);
    }

    XGRAD_INLINE friend ComplexBatch operator+(ComplexBatch a, ComplexBatch b) {
        return {a.re + b.re, a.im + b.im};
    }
    XGRAD_INLINE friend ComplexBatch operator+(ComplexBatch a, real_batch b) {
        return {a.re + b, a.im};
    }
    XGRAD_INLINE friend ComplexBatch operator+(real_batch a, ComplexBatch b) {
        return {a + b.re, b.im};
    }
    XGRAD_INLINE friend ComplexBatch operator-(ComplexBatch a, ComplexBatch b) {
        return {a.re - b.re, a.im - b.im};
    }
    XGRAD_INLINE friend ComplexBatch operator-(ComplexBatch a, real_batch b) {
        return {a.re - b, a.im};
    }
    XGRAD_INLINE friend ComplexBatch operator-(real_batch a, ComplexBatch b) {
        return {a - b.re, -b.im};
    }
    XGRAD_INLINE friend ComplexBatch operator-(ComplexBatch a) { return {-a.re, -a.im}; }
    XGRAD_INLINE friend ComplexBatch operator*(ComplexBatch a, ComplexBatch b) {
        return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    }
    XGRAD_INLINE friend ComplexBatch operator*(ComplexBatch a, real_batch b) {
        return {a.re * b, a.im * b};
    }
    XGRAD_INLINE friend ComplexBatch operator*(real_batch a, ComplexBatch b) {
        return {a * b.re, a * b.im};
    }
    XGRAD_INLINE friend ComplexBatch operator/(ComplexBatch a, real_batch b) {
        return {a.re / b, a.im / b};
    }
    /// a conj(b) / |b|^2, where no product overflows or underflows. Another function divides other
    /// numbers, and knows infinities and zeros.
    XGRAD_INLINE friend ComplexBatch operator/(ComplexBatch a, ComplexBatch b) {
        auto const a_size = larger(abs(a.re), abs(a.im)), b_size = larger(abs(b.re), abs(b.im));
        using detail::max_squared;
        if (!all_true(b_size < max_squared<P> && b_size > 1 / max_squared<P>) ||
            !detail::square_well(a_size)) [[unlikely]]
            return detail::quotient_aside<P, width>(a.re, a.im, b.re, b.im);
        auto const square = b.re * b.re + b.im * b.im;
        return {(a.re * b.re + a.im * b.im) / square, (a.im * b.re - a.re * b.im) / square};
    }
    XGRAD_INLINE friend ComplexBatch operator/(real_batch a, ComplexBatch b) {
        return ComplexBatch(a) / b;
    }
    XGRAD_INLINE friend Mask<P> operator==(ComplexBatch a, ComplexBatch b) {
        return a.re == b.re && a.im == b.im;
    }
    XGRAD_INLINE friend Mask<P> operator!=(ComplexBatch a, ComplexBatch b) {
        return a.re != b.re || a.im != b.im;
    }
    XGRAD_INLINE friend ComplexBatch where(Mask<P> m, ComplexBatch a, ComplexBatch b) {
        return {where(m, a.re, b.re), where(m, a.im, b.im)};
    }
};

// Operators between a plain real number and a complex batch. They do not multiply by a zero
// imaginary part.
template <class A, class P>
    requires(std::is_arithmetic_v<A>)
XGRAD_INLINE ComplexBatch<P> operator*(A a, ComplexBatch<P> b) {
    return Batch<P>(a) * b;
}
template <class A, class P>
    requires(std::is_arithmetic_v<A>)
XGRAD_INLINE ComplexBatch<P> operator*(ComplexBatch<P> a, A b) {
    return a * Batch<P>(b);
}
template <class A, class P>
    requires(std::is_arithmetic_v<A>)
XGRAD_INLINE ComplexBatch<P> operator+(A a, ComplexBatch<P> b) {
    return Batch<P>(a) + b;
}
template <class A, class P>
    requires(std::is_arithmetic_v<A>)
XGRAD_INLINE ComplexBatch<P> operator+(ComplexBatch<P> a, A b) {
    return a + Batch<P>(b);
}
template <class A, class P>
    requires(std::is_arithmetic_v<A>)
XGRAD_INLINE ComplexBatch<P> operator-(A a, ComplexBatch<P> b) {
    return Batch<P>(a) - b;
}
template <class A, class P>
    requires(std::is_arithmetic_v<A>)
XGRAD_INLINE ComplexBatch<P> operator-(ComplexBatch<P> a, A b) {
    return a - Batch<P>(b);
}
template <class A, class P>
    requires(std::is_arithmetic_v<A>)
XGRAD_INLINE ComplexBatch<P> operator/(A a, ComplexBatch<P> b) {
    return Batch<P>(a) / b;
}
template <class A, class P>
    requires(std::is_arithmetic_v<A>)
XGRAD_INLINE ComplexBatch<P> operator/(ComplexBatch<P> a, A b) {
    return a / Batch<P>(b);
}

/// The batch type of elements of type T in a kernel of precision P: ComplexBatch, Mask or Batch.
template <class T, class P>
using batch_of = std::conditional_t<xgrad::detail::is_complex<T>, ComplexBatch<P>,
    std::conditional_t<std::same_as<T, bool>, Mask<P>, Batch<P>>>;

namespace detail {

/// a/b, without overflow or underflow on the way: powers of two scale both numbers to about 1. If
/// both parts are NaN, the rules for zeros and infinities of C99, Annex G.5.1, hold.
template <class P> std::complex<P> careful_quotient(std::complex<P> a, std::complex<P> b) {
    auto const exponent_of = [](std::complex<P> z) {
        P const size = std::fmax(std::abs(z.real()), std::abs(z.imag()));
        return size > 0 && size < HUGE_VAL ? std::ilogb(size) : 0;
    };
    auto const scaled = [](std::complex<P> z, int n) {
        return std::complex<P>(std::scalbn(z.real(), n), std::scalbn(z.imag(), n));
    };
    auto const times_conjugate = [](std::complex<P> x, std::complex<P> y) {
        return std::complex<P>(
            x.real() * y.real() + x.imag() * y.imag(), x.imag() * y.real() - x.real() * y.imag());
    };
    int const n = exponent_of(a), m = exponent_of(b);
    auto const p = scaled(a, -n), q = scaled(b, -m);
    P const square = q.real() * q.real() + q.imag() * q.imag();
    auto const quotient = scaled(times_conjugate(p, q) / square, n - m);
    if (!xgrad::detail::is_nan(quotient.real()) || !xgrad::detail::is_nan(quotient.imag()))
        return quotient;

    constexpr P infinity = std::numeric_limits<P>::infinity();
    auto const is_infinite = [](std::complex<P> z) {
        return xgrad::detail::is_infinite(z.real()) || xgrad::detail::is_infinite(z.imag());
    };
    auto const is_finite = [](std::complex<P> z) {
        return xgrad::detail::is_finite(z.real()) && xgrad::detail::is_finite(z.imag());
    };
    auto const corner = [](std::complex<P> z) { // 1 for an infinite part, 0 for another
        auto const part = [](P v) {
            return std::copysign(P(xgrad::detail::is_infinite(v) ? 1 : 0), v);
        };
        return std::complex<P>(part(z.real()), part(z.imag()));
    };
    if (square == 0) return std::copysign(infinity, b.real()) * a;
    if (is_infinite(a) && is_finite(b)) return infinity * times_conjugate(corner(a), b);
    if (is_infinite(b) && is_finite(a)) return P(0) * times_conjugate(p, corner(b));
    return quotient;
}
template <class P, std::size_t width>
XGRAD_NOINLINE ComplexBatch<P> quotient_aside(
    Batch<P> a_re, Batch<P> a_im, Batch<P> b_re, Batch<P> b_im) {
    return each([](std::complex<P> a, std::complex<P> b) { return careful_quotient(a, b); },
        ComplexBatch<P>(a_re, a_im), ComplexBatch<P>(b_re, b_im));
}

} // namespace detail
} // namespace xgrad::simd
