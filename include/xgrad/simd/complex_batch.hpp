// ComplexBatch<P> holds complex numbers as two batches: the real parts and the imaginary parts. In
// memory the parts alternate, as in an array of std::complex; load and store shuffle them.
#pragma once

#include <xgrad/simd/batch.hpp>

namespace xgrad::simd {

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
    /// Smith's algorithm. It squares no part, so that it overflows only in the last few binades of
    /// P.
    XGRAD_INLINE friend ComplexBatch operator/(ComplexBatch a, ComplexBatch b) {
        auto const wide = abs(b.re) >= abs(b.im);
        auto const big = where(wide, b.re, b.im), small = where(wide, b.im, b.re);
        auto const ratio = where(big == 0, real_batch(0), small / big);
        auto const scale = real_batch(1) / (big + small * ratio);
        auto const p = where(wide, a.re, a.im), q = where(wide, a.im, a.re);
        auto const imaginary = (q - p * ratio) * scale;
        return {(p + q * ratio) * scale, where(wide, imaginary, -imaginary)};
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

} // namespace xgrad::simd
