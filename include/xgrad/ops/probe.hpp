// Probes: values without numbers that record which arguments a rule reads. Calling `partial` on
// probes tells a Node what to save for backward, and lets the compiler check a rule without
// compiling a kernel.
#pragma once

#include <cstdint>

#include <xgrad/ops/operation.hpp>

namespace xgrad::detail {

/// A set of values that are read: bit 0 is the result y, bit 1 + i is argument i.
using Uses = std::uint32_t;
inline constexpr Uses uses_result = 1;
constexpr Uses uses_argument(std::size_t i) { return Uses{2} << i; }

struct MaskProbe {
    Uses uses = 0;
    static MaskProbe of(Uses u) { return {u}; }
};
struct RealProbe {
    Uses uses = 0;
    RealProbe() = default;
    template <class A>
        requires(std::is_arithmetic_v<A>)
    RealProbe(A) {}
    RealProbe(MaskProbe m) : uses(m.uses) {}
    static RealProbe of(Uses u) {
        RealProbe p;
        p.uses = u;
        return p;
    }
};
struct ComplexProbe {
    Uses uses = 0;
    ComplexProbe() = default;
    template <class A>
        requires(std::is_arithmetic_v<A>)
    ComplexProbe(A) {}
    template <class A> ComplexProbe(std::complex<A>) {}
    ComplexProbe(RealProbe x) : uses(x.uses) {}
    ComplexProbe(MaskProbe m) : uses(m.uses) {}
    static ComplexProbe of(Uses u) {
        ComplexProbe p;
        p.uses = u;
        return p;
    }
};

template <class X>
concept Probe =
    std::same_as<X, MaskProbe> || std::same_as<X, RealProbe> || std::same_as<X, ComplexProbe>;
template <class X>
concept Plain = std::is_arithmetic_v<X>;
template <class A, class B>
concept ProbePair = (Probe<A> && (Probe<B> || Plain<B>)) || (Plain<A> && Probe<B>);

template <Probe X> Uses uses_of(X x) { return x.uses; }
template <Plain X> Uses uses_of(X) { return 0; }
template <class A, class B>
using JoinedProbe =
    std::conditional_t<std::same_as<A, ComplexProbe> || std::same_as<B, ComplexProbe>, ComplexProbe,
        RealProbe>;
template <class A, class B> auto joined(A a, B b) {
    return JoinedProbe<A, B>::of(uses_of(a) | uses_of(b));
}

template <class A, class B>
    requires ProbePair<A, B>
auto operator+(A a, B b) {
    return joined(a, b);
}
template <class A, class B>
    requires ProbePair<A, B>
auto operator-(A a, B b) {
    return joined(a, b);
}
template <class A, class B>
    requires ProbePair<A, B>
auto operator*(A a, B b) {
    return joined(a, b);
}
template <class A, class B>
    requires ProbePair<A, B>
auto operator/(A a, B b) {
    return joined(a, b);
}
template <class A, class B>
    requires ProbePair<A, B>
auto pow(A a, B b) {
    return joined(a, b);
}
template <class A, class B>
    requires ProbePair<A, B>
auto atan2(A a, B b) {
    return joined(a, b);
}
template <class A, class B>
    requires ProbePair<A, B>
auto copysign(A a, B b) {
    return joined(a, b);
}
template <class A, class B>
    requires ProbePair<A, B>
MaskProbe operator<(A a, B b) {
    return {uses_of(a) | uses_of(b)};
}
template <class A, class B>
    requires ProbePair<A, B>
MaskProbe operator<=(A a, B b) {
    return {uses_of(a) | uses_of(b)};
}
template <class A, class B>
    requires ProbePair<A, B>
MaskProbe operator>(A a, B b) {
    return {uses_of(a) | uses_of(b)};
}
template <class A, class B>
    requires ProbePair<A, B>
MaskProbe operator>=(A a, B b) {
    return {uses_of(a) | uses_of(b)};
}
template <class A, class B>
    requires ProbePair<A, B>
MaskProbe operator==(A a, B b) {
    return {uses_of(a) | uses_of(b)};
}
template <class A, class B>
    requires ProbePair<A, B>
MaskProbe operator!=(A a, B b) {
    return {uses_of(a) | uses_of(b)};
}
template <class A, class B>
    requires ProbePair<A, B>
ComplexProbe complex(A a, B b) {
    return ComplexProbe::of(uses_of(a) | uses_of(b));
}
template <class A, class B>
    requires ProbePair<A, B>
ComplexProbe polar(A a, B b) {
    return ComplexProbe::of(uses_of(a) | uses_of(b));
}
template <class A, class B>
    requires ProbePair<A, B>
auto where(MaskProbe m, A a, B b) {
    return JoinedProbe<A, B>::of(m.uses | uses_of(a) | uses_of(b));
}

template <Plain A, Plain B> RealProbe where(MaskProbe m, A, B) { return RealProbe::of(m.uses); }

inline MaskProbe operator&&(MaskProbe a, MaskProbe b) { return {a.uses | b.uses}; }
inline MaskProbe operator||(MaskProbe a, MaskProbe b) { return {a.uses | b.uses}; }
inline MaskProbe operator!(MaskProbe a) { return a; }
inline MaskProbe isnan(RealProbe x) { return {x.uses}; }
template <Probe X> X operator-(X x) { return x; }
template <Probe X> X zero_like(X) { return {}; }
template <Probe X> X exp(X x) { return x; }
template <Probe X> X expm1(X x) { return x; }
template <Probe X> X sigmoid(X x) { return x; }
template <Probe X> X log(X x) { return x; }
template <Probe X> X log1p(X x) { return x; }
template <Probe X> X log2(X x) { return x; }
template <Probe X> X log10(X x) { return x; }
template <Probe X> X sqrt(X x) { return x; }
template <Probe X> X sin(X x) { return x; }
template <Probe X> X cos(X x) { return x; }
template <Probe X> X tan(X x) { return x; }
template <Probe X> X asin(X x) { return x; }
template <Probe X> X acos(X x) { return x; }
template <Probe X> X atan(X x) { return x; }
template <Probe X> X sinh(X x) { return x; }
template <Probe X> X cosh(X x) { return x; }
template <Probe X> X tanh(X x) { return x; }
template <Probe X> X asinh(X x) { return x; }
template <Probe X> X acosh(X x) { return x; }
template <Probe X> X atanh(X x) { return x; }
template <Probe X> X sgn(X x) { return x; }
template <Probe X> X conj(X x) { return x; }
template <Probe X> X reciprocal(X x) { return x; }
template <Probe X> RealProbe abs(X x) { return RealProbe::of(x.uses); }
template <Probe X> RealProbe real(X x) { return RealProbe::of(x.uses); }
template <Probe X> RealProbe imag(X x) { return RealProbe::of(x.uses); }
template <Probe X> RealProbe abs2(X x) { return RealProbe::of(x.uses); }
template <Probe X> RealProbe angle(X x) { return RealProbe::of(x.uses); }

template <class L>
using probe_of = std::conditional_t<std::same_as<L, B>, MaskProbe,
    std::conditional_t<std::same_as<L, C>, ComplexProbe, RealProbe>>;

inline Uses derivative_uses(One) { return 0; }
inline Uses derivative_uses(MinusOne) { return 0; }
inline Uses derivative_uses(Nothing) { return 0; }
inline Uses derivative_uses(ImaginaryUnit) { return 0; }
template <Plain X> Uses derivative_uses(X) { return 0; }
template <Probe X> Uses derivative_uses(X x) { return uses_of(x); }
template <class M, class W> Uses derivative_uses(selected<M, W> d) {
    return d.mask.uses | derivative_uses(d.weight);
}
template <class V> Uses derivative_uses(gradient<V> d) { return derivative_uses(d.value); }
template <class V> Uses derivative_uses(conjugate<V> d) { return derivative_uses(d.value); }
template <class V, class W> Uses derivative_uses(wirtinger<V, W> d) {
    return derivative_uses(d.dz) | derivative_uses(d.dz_bar);
}

/// The values that partial(wrt<I>) of Op reads, for this signature.
template <std::size_t I, class Op, class Y, class... X>
Uses partial_uses(Op const& op, std::type_identity<Y(X...)>) {
    return [&]<std::size_t... J>(std::index_sequence<J...>) {
        return derivative_uses(op.partial(
            wrt<I>{}, probe_of<Y>::of(uses_result), probe_of<X>::of(uses_argument(J))...));
    }(std::index_sequence_for<X...>{});
}

} // namespace xgrad::detail
