// KernelCall: one pass of the kernel of an expression over an index space. The caller binds an
// array to each argument of the kernel, in the order of KernelLayout; run() alone decides how the
// kernel gets the elements.
//
// An argument is plain where its array is contiguous, as large as the index space, and of the type
// that the kernel computes with: it is one pointer. A pass is one call of the kernel where all
// arguments are plain and small, or one element, which a buffer repeats, or to which it is reduced.
// Where an array does not end in a whole batch, the last batch is one more call, on copies.
// Else it is an NdLoop. An output whose array is smaller than the index space is summed, in double
// precision as all sums are.
// Invariant: the arrays, their shapes and their strides stay where they are until run() returns.
//
// bench_rational measures it. Read next: impl/fuse/kernel_call.ipp, then nd_loop.hpp.
#pragma once

#include <xgrad/core/parallel.hpp>
#include <xgrad/fuse/element_type.hpp>

namespace xgrad::detail {

/// The most operands of an expression whose gradients can be added to arrays.
inline constexpr std::size_t max_added = 31;

class KernelCall {
public:
    /// A pass over an index space of so many elements.
    KernelCall(KernelTable const& kernels, void const* expression, Pass pass, Shape const& space,
        std::size_t count);
    KernelCall(KernelCall const&) = delete;
    KernelCall& operator=(KernelCall const&) = delete;

    KernelLayout const layout;

    /// Binds argument k. An output overwrites its array, or is summed into a row-major one that is
    /// smaller than the index space; sums are multiplied by a factor.
    XGRAD_INLINE void bind(std::size_t k, ArraySpan a, double factor = 1) {
        at_[k] = a.data;
        if (a.numel != plain_ || a.strides || a.padded_to < padding_) [[unlikely]]
            bind_other(k, a, factor);
    }
    /// `are_plain`: the caller knows that all of them are.
    XGRAD_INLINE void bind_operands(AnyArray const* const* operands, bool are_plain = false) {
        for (std::size_t k = 0; are_plain && k < layout.operand_count; ++k)
            bind_plain(k, operands[k]->data);
        for (std::size_t k = 0; !are_plain && k < layout.operand_count; ++k) bind(k, *operands[k]);
    }
    /// Binds an argument that is plain.
    XGRAD_INLINE void bind_plain(std::size_t k, std::byte* data) { at_[k] = data; }
    /// Binds an input whose values do not matter.
    void bind_zeros(std::size_t k);
    /// Binds the tangent of an operand; without an array it is zero.
    void bind_tangent(std::size_t operand, AnyArray const* tangent) {
        if (!tangent) return bind_zeros(layout.tangents() + operand);
        block_.moving |= OperandMask{1} << operand;
        bind(layout.tangents() + operand, *tangent);
    }
    /// Adds the gradient of an operand to a plain array. All operands are plain, too.
    void add_gradient(std::size_t operand, AnyArray const& to) {
        block_.added_to |= OperandMask{1} << operand;
        bind_plain(layout.gradients() + operand, to.data);
    }
    /// Reduces the result into an array that has the initial values of the reduction.
    void reduce(AnyArray const& to, Transfer const& reduction) {
        at_[layout.result()] = nullptr;
        others_[other_count_++] = {
            layout.result(), LoopOperand(to, reduction, Role::reduction), nullptr, 1};
    }
    /// The gradients that a pass computes: each of them is bound or added. Those of a sum need its
    /// kernel, and are multiplied by a factor.
    void differentiate(GradientTargets const& targets, Kernel sum = nullptr, double factor = 1) {
        block_.targets = &targets;
        block_.factor = factor;
        if (sum) kernel_ = sum;
    }

    /// Runs the pass, once. Returns the sum of Pass::value_and_gradient.
    XGRAD_INLINE double run() {
        if (other_count_ || block_.n > part_size) [[unlikely]]
            return run_others();
        return run_kernel(block_, is_padded_ && may_pad());
    }

private:
    /// An argument that is not plain. A sum is accumulated in a wider type where there is one, and
    /// is written, times a factor, after the pass.
    struct Other {
        std::size_t argument;
        LoopOperand operand;
        std::byte* sums_of; // the elements of the array of a sum; else null
        double factor;
    };
    static constexpr std::size_t max_arguments = KernelLayout{max_operands}.total();
    static constexpr std::size_t buffer_bytes = 64 << 10;

    bool is_output(std::size_t k) const {
        return block_.pass == Pass::value ? k == layout.result()
                                          : k >= layout.gradients() && k <= layout.tangent();
    }
    /// True where padding may be computed, too. What a program traps comes from elements.
    bool may_pad() const { return !padding_ || !(kernels_.calls_numbers || traps_exceptions()); }
    /// Calls the kernel on a block, whose arguments end in whole batches where it is `padded`.
    double run_kernel(KernelBlock& block, bool padded) const {
        if (padded || !(block.n & (kernels_.lanes - 1))) [[likely]]
            kernel_(block);
        else run_unpadded(block);
        return block.sum;
    }
    void run_unpadded(KernelBlock& block) const;
    ElementType const& type(std::size_t k) const;
    void bind_other(std::size_t k, ArraySpan a, double factor);
    double run_others();
    double run_in_loop();

    KernelTable const& kernels_;
    Kernel kernel_;
    Shape const& space_;
    KernelBlock block_;
    std::size_t const arguments_; // of this pass
    std::size_t const plain_; // elements of a plain array; no array has so many where none is plain
    std::uint8_t const padding_; // of a plain array: see AnyArray; 0 for whole batches
    bool is_padded_ = true;      // all plain arrays that are bound
    std::size_t other_count_ = 0;
    void* at_[max_arguments]; // plain arguments
    Other others_[max_arguments];
};

} // namespace xgrad::detail
