// Batch<P> holds as many elements of type P as one SIMD register of this build. Mask<P> holds the
// result of comparing two batches, one boolean a lane. Kernels and the rules of operations compute
// with batches; the operators also accept plain numbers and broadcast them to all lanes.
//
// Both types wrap a vector type of the compiler (core/vector.hpp). A batch has one lane if the
// compiler has no vector types or if P is not floating-point. The same code then runs on scalars.
//
// Read next: complex_batch.hpp, exp.hpp.
#pragma once

#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numbers>
#include <utility>

#include <xgrad/core/config.hpp>
#include <xgrad/core/intrinsics.hpp>
#include <xgrad/core/scalar.hpp>
#include <xgrad/core/vector.hpp>

namespace xgrad::simd {

using detail::kernel::SimdVector;

namespace detail {

/// The number of lanes in a batch of P.
template <class P> constexpr std::size_t batch_width() {
    return XGRAD_SIMD && RealScalar<P> ? xgrad::detail::kernel::register_bytes / sizeof(P) : 1;
}

/// The unsigned integer with as many bits as P.
template <class P> using bits_of = std::conditional_t<sizeof(P) == 8, std::uint64_t, std::uint32_t>;

} // namespace detail

/// One boolean for each lane of a Batch<P>. A true lane has all bits set.
template <class P> struct Mask {
    static constexpr std::size_t width = detail::batch_width<P>();
    using vector =
        decltype(SimdVector<P, width * sizeof(P)>{} < SimdVector<P, width * sizeof(P)>{});
    vector m;

    /// Stops a condition on a batch at compile time.
    template <class Condition>
        requires std::same_as<Condition, bool>
    explicit operator Condition() const {
        static_assert(!std::same_as<Condition, bool>,
            "this function branches on values, so it cannot run on batches: write "
            "xg::map(xg::with_branches, f, ...), sum_over<m, d>(xg::with_branches, f, ...), or "
            "where(condition, a, b) instead of the branch");
        return {};
    }
    /// Writes `width` elements, each true or false.
    XGRAD_INLINE void store(bool* p) const {
        if constexpr (width == 1) *p = m;
        else
            for (std::size_t i = 0; i < width; ++i) p[i] = m[i] != 0;
    }
    XGRAD_INLINE friend Mask operator&&(Mask a, Mask b) { return {static_cast<vector>(a.m & b.m)}; }
    XGRAD_INLINE friend Mask operator||(Mask a, Mask b) { return {static_cast<vector>(a.m | b.m)}; }
    XGRAD_INLINE friend Mask operator!(Mask a) {
        if constexpr (width == 1) return {!a.m};
        else
            return {~a.m}; // not a comparison with 0, for which g++ 12 stops with an internal error
    }

    /// True if all lanes are true.
    XGRAD_INLINE friend bool all_true(Mask a) {
        if constexpr (width == 1) return a.m;
#if defined(__AVX512F__)
        else if constexpr (sizeof(P) == 8)
            return _mm512_cmplt_epi64_mask(reinterpret_cast<__m512i>(a.m), __m512i{}) == 0xff;
        else return _mm512_cmplt_epi32_mask(reinterpret_cast<__m512i>(a.m), __m512i{}) == 0xffff;
#elif defined(__AVX__)
        else if constexpr (sizeof(P) == 8)
            return _mm256_movemask_pd(reinterpret_cast<__m256d>(a.m)) == 0xf;
        else return _mm256_movemask_ps(reinterpret_cast<__m256>(a.m)) == 0xff;
#elif defined(__SSE2__)
        else return _mm_movemask_epi8(reinterpret_cast<__m128i>(a.m)) == 0xffff;
#else
        else {
            bool yes = true;
            for (std::size_t i = 0; i < width; ++i) yes &= a.m[i] != 0;
            return yes;
        }
#endif
    }
};

/// A SIMD register of real numbers, or one number of another type.
template <class P> struct Batch {
    static constexpr std::size_t width = detail::batch_width<P>();
    using precision = P;
    using element = P;
    using vector = SimdVector<P, width * sizeof(P)>;
    using bits = SimdVector<detail::bits_of<P>, width * sizeof(P)>;
    vector v;

    Batch() = default;
    template <class A>
        requires(std::is_arithmetic_v<A>)
    XGRAD_INLINE Batch(A a)
        : v(static_cast<P>(a) - vector{}) // broadcasts; -0 + 0 would be +0
    {}
    XGRAD_INLINE Batch(Mask<P> m) : Batch(where(m, Batch(1), Batch(0))) {}
    /// A batch of these elements.
    XGRAD_INLINE static Batch from(vector v) {
        Batch r;
        r.v = v;
        return r;
    }
    /// Reinterprets the bits of each lane as an element of type P.
    XGRAD_INLINE static Batch from_bits(bits b) { return from(__builtin_bit_cast(vector, b)); }
    /// Reinterprets each lane as an unsigned integer.
    XGRAD_INLINE bits to_bits() const { return __builtin_bit_cast(bits, v); }

    /// Reads `width` elements from any address.
    XGRAD_INLINE static Batch load(P const* p) {
        Batch r;
        std::memcpy(&r.v, p, sizeof r.v);
        return r;
    }
    /// Writes `width` elements to any address.
    XGRAD_INLINE void store(P* p) const { std::memcpy(p, &v, sizeof v); }

    /// Reduces all lanes with `join`, which must be associative and commutative. Every lane of the
    /// result has the reduced value.
    template <class Join> XGRAD_INLINE Batch across(Join join) const {
        return across_from<width / 2>(join);
    }

    XGRAD_INLINE friend Batch operator+(Batch a, Batch b) { return from(a.v + b.v); }
    XGRAD_INLINE friend Batch operator-(Batch a, Batch b) { return from(a.v - b.v); }
    XGRAD_INLINE friend Batch operator*(Batch a, Batch b) { return from(a.v * b.v); }
    XGRAD_INLINE friend Batch operator/(Batch a, Batch b) { return from(a.v / b.v); }
    XGRAD_INLINE friend Batch operator-(Batch a) { return from(-a.v); }
    /// The elements of a where m is true, else those of b.
    XGRAD_INLINE friend Batch where(Mask<P> m, Batch a, Batch b) {
#if XGRAD_SIMD && defined(__SSE2__) && !defined(__SSE4_1__)
        if constexpr (width > 1) {
            auto const chosen = __builtin_bit_cast(bits, m.m);
            return from_bits((chosen & a.to_bits()) | (~chosen & b.to_bits()));
        } else
#endif
            return from(m.m ? a.v : b.v);
    }
    // Without SSE4.1, g++ 12 stops with an internal error where conditions of doubles that it has
    // understood are combined: there they are intrinsic functions, which it does not look into.
#if XGRAD_SIMD && defined(__SSE2__) && !defined(__SSE4_1__)
#    define XGRAD_COMPARISON(op, name)                                                             \
        XGRAD_INLINE friend Mask<P> operator op(Batch a, Batch b) {                                \
            if constexpr (width == 1) return {a.v op b.v};                                         \
            else if constexpr (width == 2)                                                         \
                return {reinterpret_cast<typename Mask<P>::vector>(_mm_cmp##name##_pd(a.v, b.v))}; \
            else                                                                                   \
                return {reinterpret_cast<typename Mask<P>::vector>(_mm_cmp##name##_ps(a.v, b.v))}; \
        }
#else
#    define XGRAD_COMPARISON(op, name)                                                             \
        XGRAD_INLINE friend Mask<P> operator op(Batch a, Batch b) { return {a.v op b.v}; }
#endif
    XGRAD_COMPARISON(<, lt);
    XGRAD_COMPARISON(<=, le);
    XGRAD_COMPARISON(>, gt);
    XGRAD_COMPARISON(>=, ge);
    XGRAD_COMPARISON(==, eq);
    XGRAD_COMPARISON(!=, neq);
#undef XGRAD_COMPARISON
    /// a > b ? a : b in each lane: b if either is NaN. The intrinsic compiles to one instruction;
    /// g++ does not find that instruction if an operand is a constant (bench_transcendental, exp).
    XGRAD_INLINE friend Batch larger(Batch a, Batch b) {
#if XGRAD_SIMD && defined(__AVX512F__)
        if constexpr (width == 8) return from(_mm512_max_pd(a.v, b.v));
        else if constexpr (width == 16) return from(_mm512_max_ps(a.v, b.v));
        else
#elif XGRAD_SIMD && defined(__AVX__)
        if constexpr (width == 4) return from(_mm256_max_pd(a.v, b.v));
        else if constexpr (width == 8) return from(_mm256_max_ps(a.v, b.v));
        else
#elif XGRAD_SIMD && defined(__SSE2__)
        if constexpr (width == 2) return from(_mm_max_pd(a.v, b.v));
        else if constexpr (width == 4) return from(_mm_max_ps(a.v, b.v));
        else
#endif
            return from(a.v > b.v ? a.v : b.v);
    }
    /// a < b ? a : b in each lane: b if either is NaN.
    XGRAD_INLINE friend Batch smaller(Batch a, Batch b) {
#if XGRAD_SIMD && defined(__AVX512F__)
        if constexpr (width == 8) return from(_mm512_min_pd(a.v, b.v));
        else if constexpr (width == 16) return from(_mm512_min_ps(a.v, b.v));
        else
#elif XGRAD_SIMD && defined(__AVX__)
        if constexpr (width == 4) return from(_mm256_min_pd(a.v, b.v));
        else if constexpr (width == 8) return from(_mm256_min_ps(a.v, b.v));
        else
#elif XGRAD_SIMD && defined(__SSE2__)
        if constexpr (width == 2) return from(_mm_min_pd(a.v, b.v));
        else if constexpr (width == 4) return from(_mm_min_ps(a.v, b.v));
        else
#endif
            return from(a.v < b.v ? a.v : b.v);
    }

    /// The absolute value.
    XGRAD_INLINE friend Batch abs(Batch x) {
        if constexpr (RealScalar<P>) return from_bits(x.to_bits() & ~sign_bit);
        else return from(x.v < 0 ? -x.v : x.v);
    }
    /// The size of one with the sign of the other.
    XGRAD_INLINE friend Batch copysign(Batch size, Batch sign) {
        return from_bits((size.to_bits() & ~sign_bit) | (sign.to_bits() & sign_bit));
    }
    /// The root, NaN of negative numbers.
    XGRAD_INLINE friend Batch sqrt(Batch x) {
        if constexpr (width == 1) return std::sqrt(x.v);
#if defined(__AVX512F__)
        else if constexpr (sizeof(P) == 8) return from(_mm512_sqrt_pd(x.v));
        else return from(_mm512_sqrt_ps(x.v));
#elif defined(__AVX__)
        else if constexpr (sizeof(P) == 8) return from(_mm256_sqrt_pd(x.v));
        else return from(_mm256_sqrt_ps(x.v));
#elif defined(__SSE2__)
        else if constexpr (sizeof(P) == 8) return from(_mm_sqrt_pd(x.v));
        else return from(_mm_sqrt_ps(x.v));
#elif defined(__ARM_NEON) && defined(__aarch64__)
        else if constexpr (sizeof(P) == 8) return from(vsqrtq_f64(x.v));
        else return from(vsqrtq_f32(x.v));
#else
        else {
            for (std::size_t i = 0; i < width; ++i) x.v[i] = std::sqrt(x.v[i]);
            return x;
        }
#endif
    }

    /// Rounds to the nearest integer, ties to even.
    XGRAD_INLINE friend Batch round(Batch x) { return x.template rounded<0>(); }
    XGRAD_INLINE friend Batch floor(Batch x) { return x.template rounded<1>(); }
    XGRAD_INLINE friend Batch ceil(Batch x) { return x.template rounded<2>(); }
    XGRAD_INLINE friend Batch trunc(Batch x) { return x.template rounded<3>(); }

private:
    static constexpr auto sign_bit = detail::bits_of<P>{1} << (8 * sizeof(P) - 1);
    static constexpr P first_whole =
        static_cast<P>(std::uint64_t{1} << (std::numeric_limits<P>::digits - 1));

    /// Rounds to the nearest integer (mode 0), down (1), up (2) or toward zero (3); x86 encodes the
    /// modes so. Without these instructions, adding 2^52 (2^23 in single precision) drops the
    /// fraction. Numbers above 2^52 have no fraction.
    template <int mode> XGRAD_INLINE Batch rounded() const {
        if constexpr (!RealScalar<P>) return *this;
#if defined(__AVX512F__)
        else if constexpr (width == 8) return from(_mm512_roundscale_pd(v, mode));
        else if constexpr (width == 16) return from(_mm512_roundscale_ps(v, mode));
#elif defined(__AVX__)
        else if constexpr (width == 4) return from(_mm256_round_pd(v, mode));
        else if constexpr (width == 8) return from(_mm256_round_ps(v, mode));
#endif
        else if constexpr (mode == 0) {
            Batch const a = abs(*this), whole(first_whole);
            return where(a < whole, copysign((a + whole) - whole, *this), *this);
        } else if constexpr (mode == 1) {
            Batch const n = round(*this);
            return where(n > *this, n - 1, n);
        } else if constexpr (mode == 2) return -floor(-*this);
        else return copysign(floor(abs(*this)), *this);
    }
    template <std::size_t half, class Join> XGRAD_INLINE Batch across_from(Join join) const {
        if constexpr (half == 0) return *this;
        else {
            constexpr auto rotated = [](int i) {
                return (i + static_cast<int>(half)) % static_cast<int>(width);
            };
            constexpr std::make_integer_sequence<int, static_cast<int>(width)> indices;
            auto const other = from(xgrad::detail::kernel::shuffle(v, v, rotated, indices));
            return join(*this, other).template across_from<half / 2>(join);
        }
    }
};

/// a in the lanes where m is true, b in the others, for two plain numbers.
template <class P, class A, class B>
    requires(std::is_arithmetic_v<A> && std::is_arithmetic_v<B>)
XGRAD_INLINE Batch<P> where(Mask<P> m, A a, B b) {
    return where(m, Batch<P>(a), Batch<P>(b));
}

namespace detail {

/// Applies a scalar function to each lane of one batch or of two, real or complex.
template <template <class> class B, class P, class F, class... More>
XGRAD_INLINE B<P> each(F f, B<P> x, More... more) {
    using T = typename B<P>::element;
    constexpr std::size_t width = B<P>::width;
    T in[1 + sizeof...(More)][width], out[width];
    std::size_t k = 0;
    (x.store(in[k++]), ..., more.store(in[k++]));
    for (std::size_t i = 0; i < width; ++i) {
        if constexpr (sizeof...(More) == 0) out[i] = f(in[0][i]);
        else out[i] = f(in[0][i], in[1][i]);
    }
    return B<P>::load(out);
}

} // namespace detail
/// True for the first n lanes.
template <class P> XGRAD_INLINE Mask<P> first_lanes(std::size_t n) {
    static constexpr auto lanes = [] {
        std::array<P, 64 / sizeof(P)> all{}; // files for several instruction sets share it
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<P>(i);
        return all;
    }();
    return Batch<P>::load(lanes.data()) < Batch<P>(static_cast<P>(n));
}

} // namespace xgrad::simd
