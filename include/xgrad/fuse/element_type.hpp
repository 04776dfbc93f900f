// What the loops, which are compiled once, know of a kernel: a KernelTable of function pointers for
// each expression, and an ElementType for the scalar type of each operand.
#pragma once

#include <xgrad/fuse/gather_scatter.hpp>
#include <xgrad/fuse/kernel.hpp>

namespace xgrad::detail {

/// A scalar type T at run time: how its elements are gathered into tiles of E, and scattered or
/// accumulated from tiles. wide<E> is the type in which sums are accumulated.
struct ElementType {
    std::size_t element, tile_element, wide_element;
    bool in_place; // T is E: a kernel can read the array itself
    Transfer gather, scatter, accumulate;
    /// Writes n sums, times a factor, as elements of T. An array of wide elements has them itself.
    void (*finish)(void* sums, void* to, std::size_t n, double factor);
};

/// Multiplies n elements.
template <class W> void scale(void* elements, std::size_t n, double factor) {
    using P = precision_of<W>;
    auto* const p = static_cast<P*>(elements);
    if constexpr (!std::same_as<P, bool>)
        map_run(
            p, n * (sizeof(W) / sizeof(P)),
            [by = static_cast<P>(factor)]<class V>(V x) XGRAD_LAMBDA_INLINE { return x * V(by); },
            p);
}
template <class W, class T> void finish_sums(void* sums, void* to, std::size_t n, double factor) {
    if (factor != 1) scale<W>(sums, n, factor);
    if constexpr (!std::same_as<T, W>) scatter_strided<T, W>(sums, to, 1, n);
}

/// The ElementType of T in tiles of E. impl/instances.ipp has those of the common pairs, so that
/// they are compiled once where compilation is separate.
template <class T, class E> struct ElementTypeOf {
    static ElementType const table;
};
template <class T, class E>
constinit ElementType const ElementTypeOf<T, E>::table{sizeof(T), sizeof(E), sizeof(wide<E>),
    std::same_as<T, E>, transfer_by<T, E, &gather_strided<T, E>, &gather_rows<T, E>>,
    transfer_by<T, E, &scatter_strided<T, E>>,
    transfer_by<wide<E>, E, &reduce_strided<Sum<E>, wide<E>, E>, &accumulate_rows<wide<E>, E>,
        &accumulate_columns<wide<E>, E>>,
    &finish_sums<wide<E>, T>};
template <class T, class E = T>
inline constexpr ElementType const& element_type = ElementTypeOf<T, E>::table;

#ifdef XGRAD_SEPARATE_COMPILATION
extern template struct ElementTypeOf<bool, std::int64_t>;
extern template struct ElementTypeOf<bool, float>;
extern template struct ElementTypeOf<bool, double>;
extern template struct ElementTypeOf<std::int64_t, std::int64_t>;
extern template struct ElementTypeOf<std::int64_t, double>;
extern template struct ElementTypeOf<float, float>;
extern template struct ElementTypeOf<float, double>;
extern template struct ElementTypeOf<double, double>;
extern template struct ElementTypeOf<std::complex<float>, std::complex<float>>;
extern template struct ElementTypeOf<std::complex<float>, std::complex<double>>;
extern template struct ElementTypeOf<std::complex<double>, std::complex<double>>;
#endif

inline constexpr std::size_t max_operands = 63;
inline constexpr std::size_t max_batch_bytes = 128; // 8 complex numbers, 16 of float

/// All that is compiled for one expression, behind function pointers.
struct KernelTable {
    std::size_t operand_count;
    Vertex const* vertices;
    ElementType const* const* operand; // of each operand
    ElementType const* written;        // the result as a pass of values writes it
    ElementType const* result;         // as other passes read it
    // Call them by KernelCall. The last two are null where the result has no gradient.
    Kernel value, gradient, tangent;
    std::size_t lanes;           // of a batch, a power of two
    std::uint8_t register_bytes; // of a batch of real numbers
    bool is_identity;            // one tensor and no operation, in its own type
    bool in_place;               // a kernel can read the elements of all operands where they are
    bool is_expensive;           // its time is that of computing, whatever the memory does
    bool calls_numbers;          // of elements only: what the program calls may throw for others
    OperandMask differentiable;
};

/// What a kernel of precision P knows of operands of these scalar types.
template <class P, class Operands> struct ElementTypes;
template <class P, class... T> struct ElementTypes<P, Scalars<T...>> {
    static constexpr ElementType const* table[] = {&element_type<T, tile_type<T, P>>...};
    static constexpr bool in_place = (std::same_as<T, tile_type<T, P>> && ...);
    static constexpr OperandMask differentiable = [] {
        OperandMask mask = 0, bit = 1;
        ((mask |= Differentiable<T> ? bit : 0, bit <<= 1), ...);
        return mask;
    }();
};

template <class F> struct KernelTableOf {
    using P = compute_precision<F>;
    using Y = typename F::scalar;

    static_assert(F::operand_count <= max_operands);
    static_assert(
        simd::Batch<P>::width * std::max(sizeof(Y), sizeof(std::complex<P>)) <= max_batch_bytes);
    using Elements = ElementTypes<P, operand_scalars<F>>;
    template <Pass pass> static constexpr Kernel gradient_kernel() {
        if constexpr (Differentiable<Y>) return &run_block<F, pass>;
        else return nullptr;
    }
    static constexpr KernelTable table{F::operand_count, vertices_of<F>.data(), Elements::table,
        &element_type<Y>, &element_type<Y, tile_type<Y, P>>, &run_block<F, Pass::value>,
        gradient_kernel<Pass::gradient>(), gradient_kernel<Pass::tangent>(), simd::Batch<P>::width,
        simd::Batch<P>::width * sizeof(P), !has_operation<F> && std::same_as<Y, tile_type<Y, P>>,
        Elements::in_place, is_expensive<F>, calls_numbers<F>, Elements::differentiable};
};

} // namespace xgrad::detail
