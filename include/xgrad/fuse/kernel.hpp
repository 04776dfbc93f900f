// The kernel: the loop over the batches of a block. Only this header and expr/walk.hpp are compiled
// for each expression.
// Data: a KernelBlock says what one call computes. run_block<F, pass>() computes it. A kernel
// computes whole batches: where n is no multiple of the lanes of a batch, the arguments end in a
// whole batch, whose other lanes have any values. Read next: kernel_call.hpp, which brings arrays
// to a kernel, and nd_loop.hpp, which calls it on blocks. Both are compiled once.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>

#include <xgrad/core/vector.hpp>
#include <xgrad/expr/walk.hpp>
#include <xgrad/simd/load_store.hpp>

namespace xgrad::detail {

/// What a kernel computes. `value_and_gradient`: a full sum, and the gradients of that sum.
/// `tangent`: second derivatives and forward mode, by dual numbers (forward over reverse). The
/// tangent of the result is the derivative of the gradients with respect to grad_output; the
/// tangents of the operands' gradients are the derivatives with respect to the operands, since
/// second derivatives are symmetric.
enum class Pass : std::uint8_t { value, gradient, value_and_gradient, tangent };

/// The order of the arguments of a kernel: the operands; the result, which a pass of values writes,
/// or its gradient, which other passes read; the saved result; a destination for the gradient of
/// each operand; one for the tangent of the result; the tangents of the operands.
struct KernelLayout {
    std::size_t operand_count;
    constexpr std::size_t result() const { return operand_count; }
    constexpr std::size_t grad_output() const { return operand_count; }
    constexpr std::size_t saved_result() const { return operand_count + 1; }
    constexpr std::size_t gradients() const { return operand_count + 2; }
    constexpr std::size_t tangent() const { return 2 * operand_count + 2; }
    constexpr std::size_t tangents() const { return 2 * operand_count + 3; }
    constexpr std::size_t total() const { return 3 * operand_count + 3; }
};

/// Which gradients a kernel computes. `wanted`: the operands with a gradient. Operand k adds its
/// gradient to that of operand target[k], the first one that is the same tensor; its own gradient,
/// where target[k] is k, has a destination.
struct GradientTargets {
    static constexpr std::uint8_t none = 63; // target of an operand that is not wanted

    OperandMask wanted = 0;
    std::array<std::uint8_t, 64> target{};

    bool makes_gradient(std::size_t k) const noexcept { return target[k] == k; }
    /// The targets of some operands: of those that are one tensor, all or none.
    GradientTargets only(OperandMask operands) const noexcept {
        GradientTargets some = *this;
        some.wanted &= operands;
        for (std::size_t k = 0; k < none; ++k)
            if (!(operands >> k & 1)) some.target[k] = none;
        return some;
    }
};

/// One call of a kernel.
struct KernelBlock {
    void const* expression;
    void* const* arguments; // see KernelLayout
    std::size_t n;          // the number of elements
    Pass pass;
    OperandMask constant = 0; // the operands that have one value in the block
    // Read by a pass that computes gradients.
    GradientTargets const* targets = nullptr;
    OperandMask added_to = 0;   // operands whose gradient is added to what its destination has
    OperandMask moving = 0;     // the operands with a tangent
    double factor = 1, sum = 0; // value_and_gradient: a factor of the gradients; the result
};
using Kernel = void (*)(KernelBlock&);

/// Loads the operands at the batch that begins at i. A named type, and no lambda: functions that
/// take it are instantiated once for all kernels.
template <class V> struct BatchLoader {
    void* const* at;
    KernelLayout layout;
    OperandMask moving;
    std::size_t i;

    template <class T, std::size_t K> XGRAD_INLINE auto operator()() const {
        auto const value = load_batch<T, typename V::precision>(at[K], i);
        if constexpr (is_dual<V> && Differentiable<T>)
            return Dual<std::remove_const_t<decltype(value)>>{
                value, load_batch<T, typename V::precision>(at[layout.tangents() + K], i)};
        else return value;
    }
    template <class T> XGRAD_INLINE auto saved_result() const {
        return load_batch<T, typename V::precision>(at[layout.saved_result()], i);
    }
    XGRAD_INLINE bool moves(OperandMask operands) const { return moving & operands; }
};

template <class T, class P>
using gradient_batch =
    std::conditional_t<Differentiable<T>, simd::batch_of<tile_type<T, P>, P>, NoPartial>;
/// The gradients of operands of these scalar types at one batch.
template <class Indices, class P, class... T> struct GradientsAt;
template <std::size_t... K, class P, class... T>
struct GradientsAt<std::index_sequence<K...>, P, T...> : OperandAt<K, gradient_batch<T, P>>... {
    template <std::size_t I> XGRAD_INLINE void operator()(auto g) { get<I>(*this) = g; }
};

/// Where the gradients of operands of these scalar types go. The branches on it never change within
/// a block: they are predicted, and cost less than the code of one kernel for each combination.
/// Of so many batches at once, whose first elements have the indices i.
template <class P, std::size_t batches, class Operands, class Indices = typename Operands::indices>
struct GradientDestinations;
template <class P, std::size_t batches, class... T, std::size_t... I>
struct GradientDestinations<P, batches, Scalars<T...>, std::index_sequence<I...>> {
    static constexpr std::size_t count = sizeof...(T);
    /// Gradients of one tensor are added in registers, which takes a branch for each two operands.
    /// Those of more operands are added in memory.
    static constexpr bool merges = count <= 8;
    using Gradients = GradientsAt<std::index_sequence<I...>, P, T...>;
    template <std::size_t K> using scalar = std::tuple_element_t<K, std::tuple<T...>>;
    template <std::size_t K> using At = OperandAt<K, gradient_batch<scalar<K>, P>>;

    void* to[count];           // a local copy: no store can alias it
    std::uint8_t route[count]; // K: stored; an earlier operand: added to the gradient of that
    OperandMask added_to;      // operands whose gradient is added to what its destination has
    simd::Batch<P> const factor;
    bool const changes; // gradients are multiplied or added

    XGRAD_INLINE explicit GradientDestinations(KernelBlock const& block)
        : added_to(block.added_to), factor(block.factor),
          changes(block.added_to || block.factor != 1 || !merges) {
        auto* const target = block.targets->target.data();
        auto* const gradient = block.arguments + KernelLayout{count}.gradients();
        std::memcpy(route, target, count);
#pragma GCC unroll 8
        for (std::size_t k = 0; k < count; ++k) to[k] = gradient[k];
        for (std::size_t k = 0; !merges && k < count; ++k)
            if (target[k] < k) {
                to[k] = gradient[target[k]];
                route[k] = std::uint8_t(k);
                added_to |= OperandMask{1} << k;
            }
    }
    XGRAD_INLINE void write(Gradients (&g)[batches], std::size_t const (&i)[batches]) const {
        if constexpr (!merges) return ((change<I>(g, i), write<I>(g, i)), ...);
        if (changes) [[unlikely]]
            (change<I>(g, i), ...);
        // From the last operand to the first: a gradient is complete when it is stored.
        (write<count - 1 - I>(g, i), ...);
    }

private:
    /// Multiplies a gradient, and adds what its destination has.
    template <std::size_t K>
    XGRAD_INLINE void change(Gradients (&g)[batches], std::size_t const (&i)[batches]) const {
        if constexpr (Differentiable<scalar<K>>)
#pragma GCC unroll 2
            for (std::size_t b = 0; b < batches; ++b) {
                auto& of = g[b].At<K>::operand;
                of = of * factor;
                if (added_to >> K & 1) of = of + gradient_batch<scalar<K>, P>::load(place<K>(i[b]));
            }
    }
    /// Stores the gradient of operand K, or adds it to that of an earlier operand. The first batch
    /// is stored last: where there is one only, both have its index.
    template <std::size_t K>
    XGRAD_INLINE void write(Gradients (&g)[batches], std::size_t const (&i)[batches]) const {
        if constexpr (Differentiable<scalar<K>>) {
            if (route[K] == K) {
                if constexpr (batches > 1) g[1].At<K>::operand.store(place<K>(i[1]));
                g[0].At<K>::operand.store(place<K>(i[0]));
            } else if constexpr (merges && K > 0) static_cast<void>((merge<I, K>(g) || ...));
        }
    }
    template <std::size_t J, std::size_t K> XGRAD_INLINE bool merge(Gradients (&g)[batches]) const {
        if constexpr (J < K && std::same_as<scalar<J>, scalar<K>>)
            if (route[K] == J) {
#pragma GCC unroll 2
                for (auto& of : g) of.At<J>::operand = of.At<J>::operand + of.At<K>::operand;
                return true;
            }
        return false;
    }
    template <std::size_t K> XGRAD_INLINE auto* place(std::size_t i) const {
        return static_cast<tile_type<scalar<K>, P>*>(to[K]) + i;
    }
};
struct NoDestinations {
    using Gradients = NoPartial;
    XGRAD_INLINE explicit NoDestinations(KernelBlock const&) {}
};

/// Pairwise sum: shorter dependency chains than a sequential sum.
template <std::size_t n, class P> XGRAD_INLINE double sum_of_lanes(P const* lanes) {
    if constexpr (n == 1) return static_cast<double>(*lanes);
    else return sum_of_lanes<n / 2>(lanes) + sum_of_lanes<n / 2>(lanes + n / 2);
}

/// The number of batches that a kernel sums in its own precision before it adds the result to a
/// double.
inline constexpr std::size_t summed_batches = 32;

/// Adds a batch, of which n lanes are elements, to a sum.
template <class P>
XGRAD_INLINE void add_elements(simd::Batch<P>& sum, simd::Batch<P> y, std::size_t n) {
    if (n < simd::Batch<P>::width) [[unlikely]]
        y = where(simd::first_lanes<P>(n), y, simd::Batch<P>(0));
    sum = sum + y;
}

/// Computes a block of the expression F. All passes use one index for all arguments. A pass of
/// values and gradients takes half the time of two passes (bench_rational, rows "hand, 1 pass" and
/// "hand, 2 passes").
template <class F, Pass pass>
XGRAD_NO_SLP_VECTORIZER XGRAD_NOINLINE void run_block(KernelBlock& block) {
    using P = compute_precision<F>;
    using Y = typename F::scalar;
    using V = std::conditional_t<pass == Pass::tangent, Dual<simd::Batch<P>>, simd::Batch<P>>;
    constexpr std::size_t operands = F::operand_count, width = simd::Batch<P>::width;
    constexpr bool sums = pass == Pass::value_and_gradient, gradients = pass != Pass::value;
    constexpr bool has_invariants = pass != Pass::tangent && operands > 1 && has_invariant_parts<F>;
    constexpr KernelLayout layout{operands};
    constexpr std::size_t arguments = pass == Pass::value      ? layout.result() + 1
                                      : pass == Pass::gradient ? layout.gradients()
                                      : pass == Pass::tangent  ? layout.total()
                                                               : operands;
    // Local copies, which no output can alias.
    F const f = *static_cast<F const*>(block.expression);
    std::size_t const n = block.n;
    void* at[arguments];
#pragma GCC unroll 8
    for (std::size_t k = 0; k < arguments; ++k) at[k] = optimisation_barrier(block.arguments[k]);
    // Two batches at once: the branches of the destinations are taken once for both, and a sum has
    // two chains of additions. An expensive expression would only be compiled twice.
    constexpr std::size_t batches = sums && !is_expensive<F> ? 2 : 1;
    using Destinations = std::conditional_t<gradients,
        GradientDestinations<P, batches, operand_scalars<F>>, NoDestinations>;
    Destinations const destinations(block);
    OperandMask const moving = block.moving, constant = block.constant;
    [[maybe_unused]] OperandMask const wanted = gradients ? block.targets->wanted : 0;
    bool saved = false;
    if constexpr (gradients && !sums) saved = at[layout.saved_result()];
    OperandMask invariant = 0; // the operands that have the values of the previous batch
    Values<F, V> v[batches] = {};
    for (auto& values : v) values.set_constants(f);
    for (std::size_t i = 0; i < n;) {
        std::size_t const stop = sums ? std::min(n, i + summed_batches * width) : n;
        simd::Batch<P> sum[batches] = {};
        for (; i < stop; i += batches * width) {
            [[maybe_unused]] typename Destinations::Gradients g[batches] = {};
            BatchLoader<V> load{at, layout, moving, i};
            std::size_t index[batches] = {i};
            v[0].template evaluate<0, gradients>(f, load, invariant, saved);
            if constexpr (sums) {
                // A gradient of 1 is a constant: compilers drop products with it.
                v[0].template backpropagate<0>(f, simd::Batch<P>(1), ~OperandMask{0}, g[0]);
                add_elements(sum[0], v[0].y, stop - i);
                if constexpr (batches > 1)
                    if (index[1] = i, i + width < stop) {
                        index[1] = load.i = i + width;
                        v[1].template evaluate<0, gradients>(f, load, invariant);
                        v[1].template backpropagate<0>(f, simd::Batch<P>(1), ~OperandMask{0}, g[1]);
                        add_elements(sum[1], v[1].y, stop - load.i);
                    }
            } else if constexpr (gradients)
                if (!is_dual<V> || wanted)
                    v[0].template backpropagate<0>(
                        f, load_batch<Y, P>(at[layout.grad_output()], i), wanted, g[0]);
            if constexpr (has_invariants)
                invariant = optimisation_barrier(constant); // stops loop unswitching
            if constexpr (pass == Pass::value)
                store_batch(static_cast<Y*>(at[layout.result()]) + i, v[0].y);
            if constexpr (is_dual<V>)
                if (auto* const tangent = static_cast<tile_type<Y, P>*>(at[layout.tangent()]))
                    tangent_of(v[0].y).store(tangent + i);
            if constexpr (gradients) destinations.write(g, index);
        }
        if constexpr (sums) {
            if constexpr (batches > 1) sum[0] = sum[0] + sum[1];
            P lanes[width];
            sum[0].store(lanes);
            block.sum += sum_of_lanes<width>(lanes);
        }
    }
}

/// False for a tensor that stands alone.
template <class F> inline constexpr bool has_operation = requires { typename F::operation; };
/// The kernel of a sum and its gradients; only expressions that are summed have one.
/// The gradient of a sum of a tensor is one element, so that a pass has nothing to compute early.
template <class F> constexpr Kernel sum_kernel_of() {
    if constexpr (has_operation<F> && RealScalar<typename F::scalar>)
        return &run_block<F, Pass::value_and_gradient>;
    else return nullptr;
}

} // namespace xgrad::detail
