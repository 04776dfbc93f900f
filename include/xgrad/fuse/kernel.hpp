// Kernels: the loops over the batches of a tile, for the value, the gradients, or a sum with its
// gradients. Only this header, flat_expression.hpp and dual_kernel.hpp are compiled for each
// expression. A kernel computes whole batches: where n is no multiple of the lanes of a batch, the
// arguments have capacity for whole batches. Read next: run_kernel.hpp, which brings the tail of a
// tile to a kernel, and nd_loop.hpp, which calls kernels on tiles. Both are compiled once.
#pragma once

#include <xgrad/core/vector.hpp>
#include <xgrad/expr/flat_expression.hpp>
#include <xgrad/simd/load_store.hpp>

namespace xgrad::detail {

/// The operands with the same values as in the previous batch: none in the first batch, later the
/// operands that are constant in the tile.
template <bool exist> struct InvariantOperands {
    OperandMask constant, now = 0;

    XGRAD_INLINE OperandMask next() {
        if constexpr (!exist) return 0;
        return optimisation_barrier(std::exchange(now, constant)); // stops loop unswitching
    }
};
template <class F>
using invariant_operands = InvariantOperands<(F::operand_count > 1 && has_invariant_parts<F>)>;

XGRAD_INLINE void copy_pointers(void* const* from, std::size_t n, void const** to) {
    for (std::size_t k = 0; k < n; ++k) to[k] = optimisation_barrier(from[k]);
}

/// out[i] = f(in[0][i], in[1][i], ...) for i < n. The arguments are the operands, then `out`.
/// `constant`: the operands that have one value in the whole tile.
template <class F>
XGRAD_NOINLINE void forward_kernel(
    void const* expression, void* const* arguments, std::size_t n, OperandMask constant) {
    F const f = *static_cast<F const*>(expression); // a copy that no output can alias
    using P = compute_precision<F>;
    void const* in[F::operand_count];
    copy_pointers(arguments, F::operand_count, in);
    auto* const out = static_cast<typename F::scalar*>(arguments[F::operand_count]);
    invariant_operands<F> invariant{constant};
    Values<F, P> v{};
    set_constants(f, v);
    for (std::size_t i = 0; i < n; i += simd::Batch<P>::width) {
        evaluate<0, P, Pass::forward>(f, BatchLoader<P>{in, i}, v, invariant.next());
        store_batch(out + i, v.y);
    }
}

/// The order of the arguments of a backward kernel and of a sum kernel: the operands, the gradient
/// of the result, the saved result, then one destination for the gradient of each operand. A sum
/// kernel reads neither the second nor the third.
struct BackwardLayout {
    std::size_t operand_count;
    constexpr std::size_t grad_output() const { return operand_count; }
    constexpr std::size_t result() const { return operand_count + 1; }
    constexpr std::size_t gradients() const { return operand_count + 2; }
    constexpr std::size_t total() const { return 2 * operand_count + 2; }
};

/// Which gradients a backward kernel writes. `wanted`: the operands with a gradient. Operand k
/// writes to the destination of operand target[k], an earlier operand if both are the same tensor;
/// then `add` has bit k and the kernel adds. `routes` encodes the same for the first operands, so
/// that the kernel tests bits of one register.
struct BackwardPlan {
    static constexpr std::size_t paired_operands = 6;
    /// Bits of `routes`: stored(k): operand k writes its gradient; meets(k): it is added to that of
    /// an earlier operand; pair(i, k): that operand is i (no bit for the first operand).
    static constexpr std::uint32_t stored(std::size_t k) { return std::uint32_t{1} << k; }
    static constexpr std::uint32_t meets(std::size_t k) {
        return std::uint32_t{1} << (paired_operands + k);
    }
    static constexpr std::uint32_t pair(std::size_t earlier, std::size_t later) {
        return std::uint32_t{1} << (2 * paired_operands + later * (later - 1) / 2 + earlier);
    }

    OperandMask wanted = 0, add = 0;
    std::uint32_t routes = 0;
    bool saved_result = false;
    std::uint8_t target[64];

    BackwardPlan() noexcept {} // leaves `target` to be filled

    /// True for an operand that writes a gradient instead of adding it to that of an earlier
    /// operand.
    bool makes_gradient(std::size_t k) const noexcept { return (wanted & ~add) >> k & 1; }
    /// Operand k writes its own gradient.
    void keep(std::size_t k) noexcept;
    /// The gradient of operand k is added to that of `nearest`, the previous operand that is the
    /// same tensor.
    void send_to(std::size_t nearest, std::size_t k) noexcept;
    /// The plan restricted to some operands. Of the operands of one tensor, `operands` has all or
    /// none.
    BackwardPlan only(OperandMask operands) const noexcept;
};

template <class T, class P>
using gradient_batch =
    std::conditional_t<Differentiable<T>, simd::batch_of<tile_type<T, P>, P>, NoPartial>;
template <class Indices, class P, class... T> struct GradientBatches {};
template <std::size_t... K, class P, class... T>
    requires(sizeof...(T) <= BackwardPlan::paired_operands)
struct GradientBatches<std::index_sequence<K...>, P, T...> : OperandAt<K, gradient_batch<T, P>>... {
};

/// Writes the gradients of operands of these scalar types to their destinations, batch by batch.
/// Gradients of the same tensor are added in registers, or in memory if there are more than
/// BackwardPlan::paired_operands operands.
template <class P, class Operands> struct GradientDestination;
template <class P, class... T> struct GradientDestination<P, Scalars<T...>> {
    static constexpr std::size_t count = sizeof...(T);
    static constexpr bool in_registers = count <= BackwardPlan::paired_operands;
    using Batches = GradientBatches<std::index_sequence_for<T...>, P, T...>;
    template <std::size_t K> using scalar = std::tuple_element_t<K, std::tuple<T...>>;

    OperandMask const wanted, add, added_to;
    std::uint32_t const routes;
    simd::Batch<P> const factor;
    bool const scales;
    void* out[count] = {}; // unused where no gradient is wanted

    /// `added_to_place`: operands whose gradient is added to what the destination has. `times`: a
    /// factor for all gradients.
    XGRAD_INLINE GradientDestination(
        BackwardPlan const& plan, OperandMask added_to_place, double times = 1)
        : wanted(plan.wanted), add(in_registers ? plan.add : plan.add | added_to_place),
          added_to(added_to_place),
          routes(plan.routes | (times != 1 || added_to_place ? changes : 0)), factor(times),
          scales(times != 1) {}

    /// Sets the destination of each operand.
    XGRAD_INLINE void set_destinations(BackwardPlan const& plan, void* const* places) {
        for (std::size_t k = 0; k < count; ++k)
            out[k] = optimisation_barrier(places[in_registers ? k : std::size_t{plan.target[k]}]);
    }
    /// The callable that backpropagate() gives the gradients of the batch at i.
    struct Taking {
        GradientDestination const& destination;
        Batches& batches;
        std::size_t i;

        template <class, std::size_t K> XGRAD_INLINE void operator()(auto g) const {
            destination.template take<K>(batches, g, i);
        }
    };
    XGRAD_INLINE Taking taking(Batches& batches, std::size_t i) const {
        return {*this, batches, i};
    }
    template <std::size_t K> XGRAD_INLINE void take(Batches& batches, auto g, std::size_t i) const {
        if constexpr (in_registers) get<K>(batches) = g;
        else {
            auto* const p = place<K>(i);
            if (scales) g = g * factor;
            if (add >> K & 1) (decltype(g)::load(p) + g).store(p);
            else if (wanted >> K & 1) g.store(p);
        }
    }
    /// Writes the gradients of one batch after all operands have delivered theirs.
    XGRAD_INLINE void store(Batches& batches, std::size_t i) const {
        if constexpr (in_registers) store(batches, i, std::index_sequence_for<T...>{});
    }

private:
    static constexpr std::uint32_t changes =
        std::uint32_t{1} << 31; // a bit of `routes`: gradients are scaled or accumulated

    template <std::size_t... K>
    XGRAD_INLINE void store(Batches& batches, std::size_t i, std::index_sequence<K...>) const {
        // A barrier: else each bit gets a register of its own, and there are too few.
        auto const routes_now = optimisation_barrier(routes);
        if (routes_now & changes) [[unlikely]]
            (change<K>(batches, i), ...);
        (pass_on<count - 1 - K>(batches, routes_now, i), ...);
    }
    template <std::size_t K> XGRAD_INLINE auto* place(std::size_t i) const {
        return static_cast<tile_type<scalar<K>, P>*>(out[K]) + i;
    }
    /// Called from the last operand to the first: gradients that are added to an operand's gradient
    /// come from later operands, so it is complete when it is stored.
    template <std::size_t K>
    XGRAD_INLINE void pass_on(Batches& batches, std::uint32_t routes_now, std::size_t i) const {
        if constexpr (Differentiable<scalar<K>>) {
            if constexpr (K > 0)
                if (routes_now & BackwardPlan::meets(K))
                    return add_to_nearest<K - 1, K>(batches, routes_now);
            if (routes_now & BackwardPlan::stored(K)) [[likely]]
                get<K>(batches).store(place<K>(i));
        }
    }
    template <std::size_t Earlier, std::size_t K>
    XGRAD_INLINE void add_to_nearest(Batches& batches, std::uint32_t routes_now) const {
        if constexpr (Earlier > 0)
            if (!(routes_now & BackwardPlan::pair(Earlier, K)))
                return add_to_nearest<Earlier - 1, K>(batches, routes_now);
        if constexpr (std::same_as<scalar<Earlier>, scalar<K>>)
            get<Earlier>(batches) = get<Earlier>(batches) + get<K>(batches);
    }
    /// Scales a gradient, and adds what its destination has.
    template <std::size_t K> XGRAD_INLINE void change(Batches& batches, std::size_t i) const {
        if constexpr (Differentiable<scalar<K>>) {
            auto& g = get<K>(batches);
            if (scales) g = g * factor;
            if (added_to >> K & 1) g = g + gradient_batch<scalar<K>, P>::load(place<K>(i));
        }
    }
};

/// Computes the gradients of all operands for one tile from the gradient of the result. The
/// gradients of the operands in `added_to` are added to what the destination has.
template <class F>
XGRAD_NOINLINE void backward_kernel(void const* expression, BackwardPlan const& plan,
    void* const* arguments, std::size_t n, OperandMask constant, OperandMask added_to) {
    F const f = *static_cast<F const*>(expression);
    using P = compute_precision<F>;
    using Y = typename F::scalar;
    constexpr BackwardLayout layout{F::operand_count};
    void const* in[layout.gradients()];
    copy_pointers(arguments, layout.gradients(), in);
    GradientDestination<P, operand_scalars<F>> destination(plan, added_to);
    destination.set_destinations(plan, arguments + layout.gradients());
    bool const saved = plan.saved_result;
    invariant_operands<F> invariant{constant};
    Values<F, P> v{};
    set_constants(f, v);
    for (std::size_t i = 0; i < n; i += simd::Batch<P>::width) {
        evaluate_again<P>(f, BatchLoader<P>{in, i}, saved, v, invariant.next());
        typename decltype(destination)::Batches batches{};
        backpropagate<0>(f, v, load_batch<Y, P>(in[layout.grad_output()], i), destination.wanted,
            destination.taking(batches, i));
        destination.store(batches, i);
    }
}

/// Pairwise sum: shorter dependency chains than a sequential sum.
template <std::size_t n, class P> XGRAD_INLINE double sum_of_lanes(P const* lanes) {
    if constexpr (n == 1) return static_cast<double>(*lanes);
    else return sum_of_lanes<n / 2>(lanes) + sum_of_lanes<n / 2>(lanes + n / 2);
}

/// The number of batches that a kernel sums in its own precision before it adds the result to a
/// double.
inline constexpr std::size_t summed_batches = 32;

/// The sum of f over n elements and, in the same pass, the gradients of `factor` times that sum
/// (faster than two passes: bench_rational, rows "hand, 1 pass" and "hand, 2 passes"). Values may
/// differ by a rounding, as in any backward pass.
template <class F>
XGRAD_NOINLINE double sum_kernel(void const* expression, BackwardPlan const& plan,
    void* const* arguments, double factor, std::size_t n, OperandMask constant,
    OperandMask added_to) {
    F const f = *static_cast<F const*>(expression);
    using P = compute_precision<F>;
    constexpr std::size_t width = simd::Batch<P>::width;
    void const* in[F::operand_count];
    copy_pointers(arguments, F::operand_count, in);
    GradientDestination<P, operand_scalars<F>> destination(plan, added_to, factor);
    destination.set_destinations(plan, arguments + BackwardLayout{F::operand_count}.gradients());
    simd::Batch<P> const grad_output(1); // a constant: compilers drop products with it
    invariant_operands<F> invariant{constant};
    Values<F, P> v{};
    set_constants(f, v);
    double total = 0;
    for (std::size_t i = 0; i < n;) {
        std::size_t const stop = std::min(n, i + summed_batches * width);
        simd::Batch<P> sum(0);
        for (; i < stop; i += width) {
            evaluate<0, P, Pass::backward>(f, BatchLoader<P>{in, i}, v, invariant.next());
            typename decltype(destination)::Batches batches{};
            backpropagate<0>(f, v, grad_output, ~OperandMask{0}, destination.taking(batches, i));
            destination.store(batches, i);
            sum = sum + v.y;
        }
        P lanes[width];
        sum.store(lanes);
        if (n >= width) total += sum_of_lanes<width>(lanes);
        else
            for (std::size_t lane = 0; lane < n; ++lane) total += static_cast<double>(lanes[lane]);
    }
    return total;
}

} // namespace xgrad::detail

#ifdef XGRAD_IMPLEMENTATION
#    include <xgrad/impl/fuse/kernel.ipp>
#endif
