// Packs: a few numbers of one precision side by side, real, complex or true/false. A kernel runs on packs, and so do the
// rules of operations, which is why the operators here take plain numbers too. Without SIMD a pack holds one number.
// Read words.hpp and complex_words.hpp next for the functions on packs.
#pragma once

#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <xgrad/base/config.hpp>
#include <xgrad/base/scalar.hpp>
#if XGRAD_SIMD
// g++ 12 takes the undefined lanes that its own AVX-512 intrinsics start from for a mistake of whoever inlines them.
#    if defined(__GNUC__) && !defined(__clang__)
#        pragma GCC diagnostic push
#        pragma GCC diagnostic ignored "-Wuninitialized"
#        pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#    endif
#    include <xsimd/xsimd.hpp>
#    if defined(__GNUC__) && !defined(__clang__)
#        pragma GCC diagnostic pop
#    endif
#endif

namespace xgrad {

namespace detail {

template <class P> struct Lanes {
    using vector = P;
    using mask = bool;
    static constexpr std::size_t width = 1;
    XGRAD_INLINE static P select(bool m, P a, P b) { return m ? a : b; }
    XGRAD_INLINE static P larger(P a, P b) { return a > b ? a : b; }
    XGRAD_INLINE static P smaller(P a, P b) { return a < b ? a : b; }
    XGRAD_INLINE static P plus(P a, P b) { return a + b; }
    XGRAD_INLINE static P minus(P a, P b) { return a - b; }
    XGRAD_INLINE static P times(P a, P b) { return a * b; }
    XGRAD_INLINE static P over(P a, P b) { return a / b; }
    XGRAD_INLINE static P negative(P a) { return -a; }
    XGRAD_INLINE static bool all(bool m) { return m; }
    XGRAD_INLINE static P load(P const* p) { return *p; }
    XGRAD_INLINE static void store(P* p, P v) { *p = v; }
};
#if XGRAD_SIMD
template <class P>
    requires RealScalar<P>
struct Lanes<P> {
    using vector = xsimd::batch<P>;
    using mask = xsimd::batch_bool<P>;
    static constexpr std::size_t width = vector::size;
    XGRAD_INLINE static vector select(mask m, vector a, vector b) { return xsimd::select(m, a, b); }
#    if defined(__SSE2__)
    XGRAD_INLINE static vector larger(vector a, vector b) { return xsimd::max(a, b); }
    XGRAD_INLINE static vector smaller(vector a, vector b) { return xsimd::min(a, b); }
#    else  // where other processors' instructions take NaN in another way
    XGRAD_INLINE static vector larger(vector a, vector b) { return select(a > b, a, b); }
    XGRAD_INLINE static vector smaller(vector a, vector b) { return select(a < b, a, b); }
#    endif
    // The compiler's own arithmetic: it compiles faster than calls do, two negations cancel, and one goes into a product or a sum.
    XGRAD_INLINE static vector plus(vector a, vector b) { return a.data + b.data; }
    XGRAD_INLINE static vector minus(vector a, vector b) { return a.data - b.data; }
    XGRAD_INLINE static vector times(vector a, vector b) { return a.data * b.data; }
    XGRAD_INLINE static vector over(vector a, vector b) { return a.data / b.data; }
    XGRAD_INLINE static vector negative(vector a) { return -a.data; }
    XGRAD_INLINE static bool all(mask m) { return xsimd::all(m); }
    XGRAD_INLINE static vector load(P const* p)
    {
        typename vector::register_type r;
        __builtin_memcpy(&r, p, sizeof r);
        return r;
    }
    XGRAD_INLINE static void store(P* p, vector v) { __builtin_memcpy(p, &v.data, sizeof v.data); }
};
#endif

}  // namespace detail

/// Answers to a comparison of packs.
template <class P> struct MaskPack {
    using lanes = detail::Lanes<P>;
    static constexpr std::size_t width = lanes::width;
    typename lanes::mask m;

    XGRAD_INLINE void store(bool* p) const
    {
        if constexpr (width == 1) *p = m;
        else {
            alignas(64) bool all[width];
            m.store_aligned(all);
            for (std::size_t i = 0; i < width; ++i) p[i] = all[i];
        }
    }
    XGRAD_INLINE friend MaskPack operator&&(MaskPack a, MaskPack b)
    {
        if constexpr (width == 1) return {a.m && b.m};
        else return {a.m & b.m};
    }
    XGRAD_INLINE friend MaskPack operator||(MaskPack a, MaskPack b)
    {
        if constexpr (width == 1) return {a.m || b.m};
        else return {a.m | b.m};
    }
    XGRAD_INLINE friend MaskPack operator!(MaskPack a)
    {
        if constexpr (width == 1) return {!a.m};
        else return {~a.m};
    }
};

/// Real numbers (or int64, one at a time).
template <class P> struct RealPack {
    using lanes = detail::Lanes<P>;
    using precision = P;
    static constexpr std::size_t width = lanes::width;
    typename lanes::vector v;

    RealPack() = default;
    template <class A>
        requires(std::is_arithmetic_v<A>)
    XGRAD_INLINE RealPack(A a) : v(static_cast<P>(a))
    {
    }
    XGRAD_INLINE RealPack(MaskPack<P> m) : RealPack(where(m, RealPack(1), RealPack(0))) {}
    XGRAD_INLINE static RealPack from(typename lanes::vector v)
    {
        RealPack r;
        r.v = v;
        return r;
    }

    XGRAD_INLINE static RealPack load(P const* p) { return from(lanes::load(p)); }
    XGRAD_INLINE void store(P* p) const { lanes::store(p, v); }

    /// Every lane joined with every other by an operation that asks for no order: the result is in all of them.
    template <class Join> XGRAD_INLINE RealPack across(Join join) const { return across_from<width / 2>(join); }

    XGRAD_INLINE friend RealPack operator+(RealPack a, RealPack b) { return from(lanes::plus(a.v, b.v)); }
    XGRAD_INLINE friend RealPack operator-(RealPack a, RealPack b) { return from(lanes::minus(a.v, b.v)); }
    XGRAD_INLINE friend RealPack operator*(RealPack a, RealPack b) { return from(lanes::times(a.v, b.v)); }
    XGRAD_INLINE friend RealPack operator/(RealPack a, RealPack b) { return from(lanes::over(a.v, b.v)); }
    XGRAD_INLINE friend RealPack operator-(RealPack a) { return from(lanes::negative(a.v)); }
    XGRAD_INLINE friend MaskPack<P> operator<(RealPack a, RealPack b) { return {a.v < b.v}; }
    XGRAD_INLINE friend MaskPack<P> operator<=(RealPack a, RealPack b) { return {a.v <= b.v}; }
    XGRAD_INLINE friend MaskPack<P> operator>(RealPack a, RealPack b) { return {a.v > b.v}; }
    XGRAD_INLINE friend MaskPack<P> operator>=(RealPack a, RealPack b) { return {a.v >= b.v}; }
    XGRAD_INLINE friend MaskPack<P> operator==(RealPack a, RealPack b) { return {a.v == b.v}; }
    XGRAD_INLINE friend MaskPack<P> operator!=(RealPack a, RealPack b) { return !(a == b); }  // not xsimd's, which is false for NaN on AVX-512
    XGRAD_INLINE friend RealPack where(MaskPack<P> m, RealPack a, RealPack b) { return from(lanes::select(m.m, a.v, b.v)); }
    /// a where it is larger (smaller) than b, else b: where either is NaN, too.
    XGRAD_INLINE friend RealPack larger(RealPack a, RealPack b) { return from(lanes::larger(a.v, b.v)); }
    XGRAD_INLINE friend RealPack smaller(RealPack a, RealPack b) { return from(lanes::smaller(a.v, b.v)); }

private:
    template <std::size_t half, class Join> XGRAD_INLINE RealPack across_from(Join join) const
    {
        if constexpr (half == 0) return *this;
        else return join(*this, rotated<half>(std::make_index_sequence<width>{})).template across_from<half / 2>(join);
    }
    template <std::size_t by, std::size_t... I> XGRAD_INLINE RealPack rotated(std::index_sequence<I...>) const
    {
        return from(__builtin_shufflevector(v.data, v.data, static_cast<int>((I + by) % width)...));
    }
};

/// Complex numbers, real and imaginary parts in packs of their own.
template <class P> struct ComplexPack {
    using precision = P;
    using real_pack = RealPack<P>;
    static constexpr std::size_t width = real_pack::width;
    real_pack re, im;

    ComplexPack() = default;
    XGRAD_INLINE ComplexPack(real_pack r, real_pack i = real_pack(0)) : re(r), im(i) {}
    XGRAD_INLINE ComplexPack(MaskPack<P> m) : ComplexPack(real_pack(m)) {}
    template <class A>
        requires(std::is_arithmetic_v<A>)
    XGRAD_INLINE ComplexPack(A a) : re(a), im(0)
    {
    }
    template <class A> XGRAD_INLINE ComplexPack(std::complex<A> a) : re(a.real()), im(a.imag()) {}

    XGRAD_INLINE static ComplexPack load(std::complex<P> const* z)
    {
        auto const* const p = reinterpret_cast<P const*>(z);
        if constexpr (width == 1) return {real_pack(p[0]), real_pack(p[1])};
#if XGRAD_SIMD
        else return deinterleave(real_pack::load(p), real_pack::load(p + width), std::make_index_sequence<width>{});
#endif
    }
    XGRAD_INLINE void store(std::complex<P>* z) const
    {
        auto* const p = reinterpret_cast<P*>(z);
        if constexpr (width == 1) p[0] = re.v, p[1] = im.v;
#if XGRAD_SIMD
        else interleave(p, std::make_index_sequence<width>{});
#endif
    }

    XGRAD_INLINE friend ComplexPack operator+(ComplexPack a, ComplexPack b) { return {a.re + b.re, a.im + b.im}; }
    XGRAD_INLINE friend ComplexPack operator+(ComplexPack a, real_pack b) { return {a.re + b, a.im}; }
    XGRAD_INLINE friend ComplexPack operator+(real_pack a, ComplexPack b) { return {a + b.re, b.im}; }
    XGRAD_INLINE friend ComplexPack operator-(ComplexPack a, ComplexPack b) { return {a.re - b.re, a.im - b.im}; }
    XGRAD_INLINE friend ComplexPack operator-(ComplexPack a, real_pack b) { return {a.re - b, a.im}; }
    XGRAD_INLINE friend ComplexPack operator-(real_pack a, ComplexPack b) { return {a - b.re, -b.im}; }
    XGRAD_INLINE friend ComplexPack operator-(ComplexPack a) { return {-a.re, -a.im}; }
    XGRAD_INLINE friend ComplexPack operator*(ComplexPack a, ComplexPack b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
    XGRAD_INLINE friend ComplexPack operator*(ComplexPack a, real_pack b) { return {a.re * b, a.im * b}; }
    XGRAD_INLINE friend ComplexPack operator*(real_pack a, ComplexPack b) { return {a * b.re, a * b.im}; }
    XGRAD_INLINE friend ComplexPack operator/(ComplexPack a, real_pack b) { return {a.re / b, a.im / b}; }
    /// Smith's quotient, which squares no part: right up to the last few powers of 2 of the range of P.
    XGRAD_INLINE friend ComplexPack operator/(ComplexPack a, ComplexPack b)
    {
        auto const wide = abs(b.re) >= abs(b.im);
        auto const big = where(wide, b.re, b.im), small = where(wide, b.im, b.re);
        auto const ratio = where(big == 0, real_pack(0), small / big);
        auto const scale = real_pack(1) / (big + small * ratio);
        auto const p = where(wide, a.re, a.im), q = where(wide, a.im, a.re);
        auto const imaginary = (q - p * ratio) * scale;
        return {(p + q * ratio) * scale, where(wide, imaginary, -imaginary)};
    }
    XGRAD_INLINE friend ComplexPack operator/(real_pack a, ComplexPack b) { return ComplexPack(a) / b; }
    XGRAD_INLINE friend MaskPack<P> operator==(ComplexPack a, ComplexPack b) { return a.re == b.re && a.im == b.im; }
    XGRAD_INLINE friend MaskPack<P> operator!=(ComplexPack a, ComplexPack b) { return a.re != b.re || a.im != b.im; }
    XGRAD_INLINE friend ComplexPack where(MaskPack<P> m, ComplexPack a, ComplexPack b) { return {where(m, a.re, b.re), where(m, a.im, b.im)}; }

private:
#if XGRAD_SIMD
    template <std::size_t... I> XGRAD_INLINE static ComplexPack deinterleave(real_pack lo, real_pack hi, std::index_sequence<I...>)
    {
        return {real_pack::from(__builtin_shufflevector(lo.v.data, hi.v.data, static_cast<int>(2 * I)...)),
                real_pack::from(__builtin_shufflevector(lo.v.data, hi.v.data, static_cast<int>(2 * I + 1)...))};
    }
    template <std::size_t... I> XGRAD_INLINE void interleave(P* p, std::index_sequence<I...>) const
    {
        real_pack::from(__builtin_shufflevector(re.v.data, im.v.data, static_cast<int>(I / 2 + (I % 2) * width)...)).store(p);
        real_pack::from(__builtin_shufflevector(re.v.data, im.v.data, static_cast<int>((I + width) / 2 + (I % 2) * width)...)).store(p + width);
    }
#endif
};

/// A choice between plain numbers.
template <class P, class A, class B>
    requires(std::is_arithmetic_v<A> && std::is_arithmetic_v<B>)
XGRAD_INLINE RealPack<P> where(MaskPack<P> m, A a, B b)
{
    return where(m, RealPack<P>(a), RealPack<P>(b));
}

// Plain numbers beside complex packs: real, so that no multiplication by zero is spent on them.
template <class A, class P>
    requires(std::is_arithmetic_v<A>)
XGRAD_INLINE ComplexPack<P> operator*(A a, ComplexPack<P> b)
{
    return RealPack<P>(a) * b;
}
template <class A, class P>
    requires(std::is_arithmetic_v<A>)
XGRAD_INLINE ComplexPack<P> operator*(ComplexPack<P> a, A b)
{
    return a * RealPack<P>(b);
}
template <class A, class P>
    requires(std::is_arithmetic_v<A>)
XGRAD_INLINE ComplexPack<P> operator+(A a, ComplexPack<P> b)
{
    return RealPack<P>(a) + b;
}
template <class A, class P>
    requires(std::is_arithmetic_v<A>)
XGRAD_INLINE ComplexPack<P> operator+(ComplexPack<P> a, A b)
{
    return a + RealPack<P>(b);
}
template <class A, class P>
    requires(std::is_arithmetic_v<A>)
XGRAD_INLINE ComplexPack<P> operator-(A a, ComplexPack<P> b)
{
    return RealPack<P>(a) - b;
}
template <class A, class P>
    requires(std::is_arithmetic_v<A>)
XGRAD_INLINE ComplexPack<P> operator-(ComplexPack<P> a, A b)
{
    return a - RealPack<P>(b);
}
template <class A, class P>
    requires(std::is_arithmetic_v<A>)
XGRAD_INLINE ComplexPack<P> operator/(A a, ComplexPack<P> b)
{
    return RealPack<P>(a) / b;
}
template <class A, class P>
    requires(std::is_arithmetic_v<A>)
XGRAD_INLINE ComplexPack<P> operator/(ComplexPack<P> a, A b)
{
    return a / RealPack<P>(b);
}

namespace detail {

/// The pack in which a value of this scalar type travels through a kernel of precision P.
template <class T, class P>
using pack_of = std::conditional_t<is_complex<T>, ComplexPack<P>, std::conditional_t<std::same_as<T, bool>, MaskPack<P>, RealPack<P>>>;

}  // namespace detail
}  // namespace xgrad
