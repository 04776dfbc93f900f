// What the gradients of a flattened expression read, found by calling each gradient rule on probes.
// Read next: tensor/operand_plan.hpp.
#pragma once

#include <xgrad/expr/flat_expression.hpp>
#include <xgrad/expr/probe.hpp>

namespace xgrad::detail {

/// What the gradient of each operand reads: operands, one bit each. `result` tells whether the
/// result is saved.
struct Reads {
    std::array<OperandMask, 64> of{};
    OperandMask reached = 0; // operands that can have a gradient; a mask has none
    bool result = false;
};

/// The operands that a rule reads, of an operation whose operands begin at `starts` behind `first`.
XGRAD_INLINE OperandMask operands_read(
    Uses used, std::size_t const* starts, std::size_t count, std::size_t first, bool saves_result) {
    OperandMask all = 0;
    for (std::size_t i = 0; i < count; ++i)
        if (used & uses_argument(i))
            all |= operands_from(first + starts[i], starts[i + 1] - starts[i]);
    return used & uses_result && !saves_result ? all | operands_from(first, starts[count]) : all;
}

/// Adds what the gradients read at and below a vertex whose first operand has the number `first`.
/// `above` is what the gradients of its ancestors read. Where `may_save`, the value of the vertex
/// is saved if the rules of its operation read it and nothing else.
template <class X, class Indices = typename X::indices> struct ReadsOf;
template <class T> struct ReadsOf<Constant<T>, std::index_sequence<>> {
    static void add(Constant<T> const&, std::size_t, OperandMask, bool, Reads&) {}
};
template <class T> struct ReadsOf<Slot<T>, std::index_sequence<>> {
    static void add(Slot<T> const&, std::size_t first, OperandMask above, bool, Reads& reads) {
        reads.of[first] = above;
        reads.reached |= operands_from(first, 1);
    }
};
template <class Op, class... X, std::size_t... J>
struct ReadsOf<Expression<Op, X...>, std::index_sequence<J...>> {
    using E = Expression<Op, X...>;
    template <std::size_t I, class Xi>
    static constexpr bool has_gradient =
        wants_gradient<Xi> && takes_gradients<typename E::kind> &&
        takes_gradients<typename ArgumentOf<I, typename E::signature>::type>;

    static void add(E const& e, std::size_t first, OperandMask above, bool may_save, Reads& reads) {
        static constexpr auto starts = first_operands<X...>();
        std::type_identity<typename E::signature> const signature;
        argument_indices<typename E::signature> const all;
        Uses const uses[] = {partial_uses<J, has_gradient<J, X>>(e.op, signature, all)...};
        bool const saves = may_save && (uses[J] | ...) == uses_result;
        reads.result |= saves;
        ((has_gradient<J, X>
                 ? ReadsOf<X>::add(static_cast<OperandAt<J, X> const&>(e.x).operand,
                       first + starts[J],
                       above | operands_read(uses[J], starts.data(), sizeof...(X), first, saves),
                       false, reads)
                 : void()),
            ...);
    }
};

/// What the gradients of an expression of type F read. The result is saved, instead of operands,
/// where the gradient rules of the outermost operation read it and nothing else, as that of exp
/// does: no second evaluation. `result_exists` is false under a fused reduction.
template <class F> [[gnu::cold]] Reads reads_of(void const* expression, bool result_exists) {
    Reads reads;
    ReadsOf<F>::add(*static_cast<F const*>(expression), 0, 0, result_exists, reads);
    return reads;
}

} // namespace xgrad::detail
