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

/// Adds what the gradients read at and below a vertex whose first operand has the number `first`.
/// `above` is what the gradients of its ancestors read; `saved` says that its own value is saved.
template <class X> struct ReadsOf { // a scalar constant
    static void add(X const&, std::size_t, OperandMask, bool, Reads&) {}
};
template <class T> struct ReadsOf<Slot<T>> {
    static void add(Slot<T> const&, std::size_t first, OperandMask above, bool, Reads& reads) {
        reads.of[first] = above;
        reads.reached |= operands_from(first, 1);
    }
};
template <class Op, class... X> struct ReadsOf<Expression<Op, X...>> {
    using E = Expression<Op, X...>;
    static constexpr auto starts = first_operands<X...>();
    template <std::size_t J> using operand = std::tuple_element_t<J, std::tuple<X...>>;
    template <std::size_t J>
    static constexpr bool has_gradient =
        wants_gradient<operand<J>> && takes_gradients<typename E::kind> &&
        takes_gradients<typename ArgumentOf<J, typename E::signature>::type>;

    static Uses uses(E const& e) {
        return [&]<std::size_t... J>(std::index_sequence<J...>) {
            return (uses<J>(e) | ... | Uses{0});
        }(std::index_sequence_for<X...>{});
    }
    static void add(E const& e, std::size_t first, OperandMask above, bool saved, Reads& reads) {
        [&]<std::size_t... J>(std::index_sequence<J...>) {
            (add_operand<J>(e, first, above, saved, reads), ...);
        }(std::index_sequence_for<X...>{});
    }

private:
    template <std::size_t J> static Uses uses(E const& e) {
        if constexpr (has_gradient<J>)
            return partial_uses<J>(e.op, std::type_identity<typename E::signature>{});
        else return 0;
    }
    template <std::size_t J>
    static void add_operand(
        E const& e, std::size_t first, OperandMask above, bool saved, Reads& reads) {
        if constexpr (has_gradient<J>) {
            auto const used = uses<J>(e);
            for (std::size_t i = 0; i < sizeof...(X); ++i)
                if (used & uses_argument(i))
                    above |= operands_from(first + starts[i], starts[i + 1] - starts[i]);
            if (used & uses_result && !saved) above |= operands_from(first, E::operand_count);
            ReadsOf<operand<J>>::add(get<J>(e.x), first + starts[J], above, false, reads);
        }
    }
};

/// What the gradients of an expression of type F read. The result is saved, instead of operands,
/// where the gradient rules of the outermost operation read it and nothing else, as that of exp
/// does: no second evaluation. `result_exists` is false under a fused reduction.
template <class F> [[gnu::cold]] Reads reads_of(void const* expression, bool result_exists) {
    auto const& f = *static_cast<F const*>(expression);
    Reads reads;
    if constexpr (has_operation<F>)
        reads.result = result_exists && ReadsOf<F>::uses(f) == uses_result;
    ReadsOf<F>::add(f, 0, 0, reads.result, reads);
    return reads;
}

} // namespace xgrad::detail
