// Probes: values without numbers that record which arguments a rule reads. Calling `partial` on
// probes tells a Node what to save for backward, and lets the compiler check a rule without
// compiling a kernel.
#pragma once

#include <cstdint>

#include <xgrad/expr/operation.hpp>

namespace xgrad::detail {

/// A set of values that are read: bit 0 is the result y, bit 1 + i is argument i.
using Uses = std::uint32_t;
inline constexpr Uses uses_result = 1;
constexpr Uses uses_argument(std::size_t i) { return Uses{2} << i; }

/// A value of kind K. The functions that rules call take it as they take a tensor: express()
/// applies their operations at once.
template <class K> struct Probe {
    using operand_tag = void;
    using evaluated_at_once = void;
    using kind = K;
    using precision = bool;
    Uses uses = 0;

    constexpr Probe() = default;
    template <Number A> constexpr Probe(A) {}
    template <class L>
        requires(kind_rank<L> < kind_rank<K>)
    constexpr Probe(Probe<L> x) : uses(x.uses) {}
    static constexpr Probe of(Uses u) {
        Probe p;
        p.uses = u;
        return p;
    }
};
/// The kind and the precision of a value in a rule; a plain number has no precision.
template <class X> struct RuleValue {
    using kind = kind_of<X>;
    using precision = bool;
};
template <std::integral X> struct RuleValue<X> {
    using kind = R;
    using precision = bool;
};
template <class K> struct RuleValue<Probe<K>> {
    using kind = K;
    using precision = bool;
};

template <class X> inline constexpr bool is_probe = false;
template <class K> inline constexpr bool is_probe<Probe<K>> = true;
template <class X>
concept Plain = std::is_arithmetic_v<X>;

template <class K> constexpr Uses uses_of(Probe<K> x) { return x.uses; }
template <Number X> constexpr Uses uses_of(X) { return 0; }
template <class K> constexpr Probe<K> zero_like(Probe<K>) { return {}; }

/// The probe for arguments of kind L; rules take integers as real numbers.
template <class L> using probe_of = Probe<std::conditional_t<std::same_as<L, Z>, R, L>>;

inline Uses derivative_uses(One) { return 0; }
inline Uses derivative_uses(MinusOne) { return 0; }
inline Uses derivative_uses(Nothing) { return 0; }
inline Uses derivative_uses(ImaginaryUnit) { return 0; }
template <Plain X> Uses derivative_uses(X) { return 0; }
template <class K> Uses derivative_uses(Probe<K> x) { return x.uses; }
template <class M, class W> Uses derivative_uses(selected<M, W> d) {
    return d.mask.uses | derivative_uses(d.weight);
}
template <class V> Uses derivative_uses(gradient<V> d) { return derivative_uses(d.value); }
template <class V> Uses derivative_uses(conjugate<V> d) { return derivative_uses(d.value); }
template <class V, class W> Uses derivative_uses(wirtinger<V, W> d) {
    return derivative_uses(d.dz) | derivative_uses(d.dz_bar);
}

/// The values that partial(wrt<I>) of Op reads, for this signature, if there is that gradient.
template <std::size_t I, bool has_gradient = true, class Op, class Y, class... X, std::size_t... J>
Uses partial_uses(Op const& op, std::type_identity<Y(X...)>, std::index_sequence<J...>) {
    if constexpr (!has_gradient) return 0;
    else
        return derivative_uses(op.partial(
            wrt<I>{}, probe_of<Y>::of(uses_result), probe_of<X>::of(uses_argument(J))...));
}

/// Called by express() where an argument is a probe.
template <class Op, class... X>
    requires(is_probe<X> || ...)
constexpr auto evaluate_at_once(Op const&, X... x) {
    using Signature = signature_for<Op, typename RuleValue<X>::kind...>;
    constexpr bool is_defined = !std::same_as<Signature, NoSignature>;
    static_assert(is_defined, "a rule calls a function for arguments of a kind on which that "
                              "function is not defined: see its domain");
    if constexpr (is_defined)
        return probe_of<typename ResultOf<Signature>::type>::of((uses_of(x) | ...));
}

} // namespace xgrad::detail
