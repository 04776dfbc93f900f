// Dual numbers as data: a value and its tangents, the derivatives in N directions. The rules that
// they are computed by are expr/dual.hpp; <xgrad/dual.hpp> is for programs of their own.
//
// Gradients: tangent i is the derivative in direction i.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include <xgrad/simd/complex_batch.hpp>

namespace xgrad {

template <class V, std::size_t N = 1> struct Dual;

namespace detail {

template <class X> inline constexpr std::size_t dual_depth = 0;
template <class V, std::size_t N>
inline constexpr std::size_t dual_depth<Dual<V, N>> = 1 + dual_depth<V>;
template <class X> inline constexpr bool is_dual = dual_depth<X> > 0;

/// The kind and the precision of a part of a dual number.
template <class V> struct PartOf {
    using kind = kind_of<V>;
    using precision = precision_of<V>;
};
template <class K, class P> struct BatchPart {
    using kind = K;
    using precision = P;
    static constexpr bool is_part = true;
};
template <class P> struct PartOf<simd::Mask<P>> : BatchPart<B, P> {};
template <class P> struct PartOf<simd::Batch<P>> : BatchPart<R, P> {};
template <class P> struct PartOf<simd::ComplexBatch<P>> : BatchPart<C, P> {};
template <class V, std::size_t N> struct PartOf<Dual<V, N>> : PartOf<V> {
    static constexpr bool is_part = true;
};

/// A value of kind L that is made as V is: a number, a batch or a dual number. A mask has no
/// tangents.
template <class L, class V> struct OfKind {
    using type = typename L::template over<precision_of<V>>;
};
template <class L, class V>
    requires requires { V::width; }
struct OfKind<L, V> {
    using P = typename PartOf<V>::precision;
    using type = simd::batch_of<typename L::template over<P>, P>;
};
template <class L, class V, std::size_t N> struct OfKind<L, Dual<V, N>> {
    using type = Dual<typename OfKind<L, V>::type, N>;
};
template <class V, std::size_t N> struct OfKind<B, Dual<V, N>> : OfKind<B, V> {};
template <class L, class V> using of_kind = typename OfKind<L, V>::type;

/// The type at the bottom of nested dual numbers.
template <class V> struct BottomOf {
    using type = V;
};
template <class V, std::size_t N> struct BottomOf<Dual<V, N>> : BottomOf<V> {};

/// Which tangents may differ from 0. Of batches a mask says so, which is a constant to the compiler
/// where code does not branch: tangents that are 0 cost nothing (benchmarks/map.cpp, row a1).
template <std::size_t masks, class = std::make_index_sequence<masks>> struct Support;
template <std::size_t masks, std::size_t... M> struct Support<masks, std::index_sequence<M...>> {
    std::uint64_t mask[masks];
    bool of_operand; // of a kernel: the tangents of expr/walk.hpp

    XGRAD_INLINE static constexpr Support none() { return {{}, false}; }
    XGRAD_INLINE static constexpr Support all() { return {{~std::uint64_t{M - M}...}, true}; }
    XGRAD_INLINE static constexpr Support one(std::size_t i) {
        return {{(i / 64 == M ? std::uint64_t{1} << i % 64 : 0)...}, false};
    }
    XGRAD_INLINE constexpr bool has(std::size_t i) const { return mask[i / 64] >> i % 64 & 1; }
    XGRAD_INLINE friend constexpr Support operator|(Support const& a, Support const& b) {
        return {{(a.mask[M] | b.mask[M])...}, a.of_operand || b.of_operand};
    }
};
template <> struct Support<0> {
    static constexpr bool of_operand = false;
    XGRAD_INLINE static constexpr Support none() { return {}; }
    XGRAD_INLINE static constexpr Support all() { return {}; }
    XGRAD_INLINE static constexpr Support one(std::size_t) { return {}; }
    XGRAD_INLINE constexpr bool has(std::size_t) const { return true; }
    XGRAD_INLINE friend constexpr Support operator|(Support a, Support) { return a; }
};

} // namespace detail

/// N tangents of type V, indexed from 0; 0 where nothing is given.
template <class V, std::size_t N> class Tangents {
public:
    /// Which tangents may differ from 0.
    using Support = detail::Support<Number<typename detail::BottomOf<V>::type> ? 0 : (N + 63) / 64>;

    XGRAD_INLINE Tangents()
        : Tangents(Support::none(), [](std::size_t) XGRAD_LAMBDA_INLINE { return V(0); }) {}
    /// All tangents are t.
    template <class T>
        requires std::convertible_to<T, V>
    XGRAD_INLINE Tangents(T const& t)
        : Tangents(Support::all(), [&](std::size_t) XGRAD_LAMBDA_INLINE { return V(t); }) {}
    template <class W>
        requires(!std::same_as<W, V> && std::convertible_to<W, V>)
    XGRAD_INLINE Tangents(Tangents<W, N> const& t)
        : Tangents(t.support(), [&](std::size_t i) XGRAD_LAMBDA_INLINE { return V(t[i]); }) {}
    /// Tangent i is f(i) where the support has i, and 0 where not.
    template <class F>
    XGRAD_INLINE Tangents(Support support, F const& f)
        : Tangents(support, f, std::make_index_sequence<N>{}) {}

    XGRAD_INLINE V const& operator[](std::size_t i) const { return at_[i]; }
    V const* begin() const { return at_; }                    // the first tangent
    V const* end() const { return at_ + N; }                  // behind the last one
    static constexpr std::size_t size() { return N; }         // the number of tangents
    XGRAD_INLINE Support support() const { return support_; } // which may differ from 0

    XGRAD_INLINE friend Tangents operator+(Tangents const& a, Tangents const& b) {
        return Tangents(a.support_ | b.support_, [&](std::size_t i) XGRAD_LAMBDA_INLINE {
            return !a.support_.has(i) ? b[i] : !b.support_.has(i) ? a[i] : a[i] + b[i];
        });
    }

private:
    template <class F, std::size_t... I>
    XGRAD_INLINE Tangents(Support support, F const& f, std::index_sequence<I...>)
        : at_{support.has(I) ? f(I) : V(0)...}, support_(support) {}

    V at_[N];
    // Mutable: of a constant variable without such a member g++ 12 makes an object in memory, where
    // it does not know the mask (benchmarks/sum_over.cpp).
    [[no_unique_address]] mutable Support support_;
};
template <class V> class Tangents<V, 0> {
public:
    using Support = detail::Support<0>;
    Tangents() = default;
    template <class T> XGRAD_INLINE Tangents(T const&) {}
    template <class F> XGRAD_INLINE Tangents(Support, F const&) {}
    XGRAD_INLINE V operator[](std::size_t) const { return V(0); }
    static constexpr std::size_t size() { return 0; }
    XGRAD_INLINE Support support() const { return {}; }
    XGRAD_INLINE friend Tangents operator+(Tangents, Tangents) { return {}; }
};

/// A value and its tangents, the derivatives in N directions. V is float, double, a complex number,
/// a batch or a Dual. Operators and xgrad's elementwise functions take it; call them without a
/// namespace: `using std::sin; y = sin(x);`.
template <class V, std::size_t N> struct Dual {
    using operand_tag = void;
    using evaluated_at_once = void;
    using kind = typename detail::PartOf<V>::kind;
    using precision = typename detail::PartOf<V>::precision;
    using value_type = V;
    V value;                // the value
    Tangents<V, N> tangent; // tangent[i] is the derivative in direction i

    XGRAD_INLINE Dual() : value() {}
    /// A constant: its tangents are 0.
    template <class X>
        requires(std::convertible_to<X, V> && detail::dual_depth<X> <= detail::dual_depth<V>)
    XGRAD_INLINE Dual(X const& x) : value(x) {}
    /// A real number as a complex one.
    template <class W>
        requires(!std::same_as<W, V> && detail::dual_depth<W> == detail::dual_depth<V> &&
                    std::convertible_to<W, V>)
    XGRAD_INLINE Dual(Dual<W, N> const& x) : value(x.value), tangent(x.tangent) {}
    XGRAD_INLINE Dual(V const& v, Tangents<V, N> const& t) : value(v), tangent(t) {}
    /// The argument of a function: its tangent `direction` is 1, and the others are 0.
    XGRAD_INLINE static Dual variable(V const& v, std::size_t direction = 0) {
        return {
            v, Tangents<V, N>(Tangents<V, N>::Support::one(direction),
                   [&](std::size_t i) XGRAD_LAMBDA_INLINE { return V(i == direction ? 1 : 0); })};
    }

    template <class X> XGRAD_INLINE Dual& operator+=(X const& x) { return *this = *this + x; }
    template <class X> XGRAD_INLINE Dual& operator-=(X const& x) { return *this = *this - x; }
    template <class X> XGRAD_INLINE Dual& operator*=(X const& x) { return *this = *this * x; }
    template <class X> XGRAD_INLINE Dual& operator/=(X const& x) { return *this = *this / x; }
};
template <class V> Dual(V, V) -> Dual<V, 1>;
template <class V, std::size_t N> XGRAD_INLINE Dual<V, N> zero_like(Dual<V, N> const&) { return 0; }

namespace detail {

template <class X> XGRAD_INLINE X value_of(X const& x) { return x; }
template <class V, std::size_t N> XGRAD_INLINE V value_of(Dual<V, N> const& x) { return x.value; }

// A C++ number beside a batch: rules compute on batches, whose first lane is the number.
template <class T> XGRAD_INLINE auto to_batch(T x) {
    using P = precision_of<T>;
    if constexpr (std::same_as<T, bool>) return simd::Batch<double>(x) != 0;
    else return simd::batch_of<T, P>(x);
}
template <class P> XGRAD_INLINE P first_lane(simd::Batch<P> x) {
    if constexpr (simd::Batch<P>::width == 1) return x.v;
    else return x.v[0];
}
template <class P> XGRAD_INLINE bool first_lane(simd::Mask<P> m) {
    if constexpr (simd::Mask<P>::width == 1) return m.m;
    else return m.m[0] != 0;
}
template <class P> XGRAD_INLINE std::complex<P> first_lane(simd::ComplexBatch<P> z) {
    return {first_lane(z.re), first_lane(z.im)};
}
template <Number A> XGRAD_INLINE A first_lane(A a) { return a; }

} // namespace detail
} // namespace xgrad
