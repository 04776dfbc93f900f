// Calls of kernels. A kernel computes whole batches. The tail, the elements after the last whole
// batch of a tile, is one more batch on padded copies. All kernels share this code, which is
// compiled once.
//
// Invariant: a lane of the padding is never written to an operand.
#pragma once

#include <xgrad/fuse/element_type.hpp>

namespace xgrad::detail {

/// The last n elements of a kernel's arguments, after the first `whole`; n is less than `lanes`.
struct TailRange {
    void* const* arguments;
    std::size_t whole, n, lanes;

    std::byte* first(std::size_t k, std::size_t element) const noexcept {
        return static_cast<std::byte*>(arguments[k]) + whole * element;
    }
};

/// Padded copies of a tail: each is a whole batch. (The range is no member, so that compilers keep
/// it in registers.)
class TailCopies {
public:
    TailCopies() noexcept {} // leaves the copies to be filled
    TailCopies(TailCopies const&) = delete;
    TailCopies& operator=(TailCopies const&) = delete;

    /// The kernel reads argument k, whose elements have this many bytes. A null argument stays
    /// null.
    void read(TailRange range, std::size_t k, std::size_t element) noexcept;
    /// The kernel writes argument k.
    void write(TailRange range, std::size_t k) noexcept;
    /// Copies what the kernel wrote.
    void copy_back(TailRange range, std::size_t k, std::size_t element) const noexcept;
    /// What the kernel takes.
    void* const* arguments() const noexcept { return arguments_; }

private:
    static constexpr std::size_t most = DualLayout{max_operands}.total();

    void* arguments_[most];
    alignas(64) std::byte copies_[most][max_batch_bytes];
};

// Each calls a kernel on n elements. Arguments as for the kernel. In a tail, which is one batch, no
// operand has the values of an earlier batch.

void run_forward_tail(KernelTable const& kernels, void const* expression, TailRange range);
void run_backward_tail(KernelTable const& kernels, void const* expression, BackwardPlan const& plan,
    TailRange range, OperandMask added_to);
double run_sum_tail(KernelTable const& kernels, SumKernel sum, void const* expression,
    BackwardPlan const& plan, TailRange range, double factor, OperandMask added_to);
void run_dual(KernelTable const& kernels, void const* expression, DualPlan const& plan,
    void* const* arguments, std::size_t n);

inline void run_forward(KernelTable const& kernels, void const* expression, void* const* arguments,
    std::size_t n, OperandMask constant) {
    auto const whole = kernels.in_whole_batches(n);
    if (whole) kernels.forward(expression, arguments, whole, constant);
    if (whole != n)
        run_forward_tail(kernels, expression, {arguments, whole, n - whole, kernels.lanes});
}
inline void run_backward(KernelTable const& kernels, void const* expression,
    BackwardPlan const& plan, void* const* arguments, std::size_t n, OperandMask constant,
    OperandMask added_to) {
    auto const whole = kernels.in_whole_batches(n);
    if (whole) kernels.backward(expression, plan, arguments, whole, constant, added_to);
    if (whole != n)
        run_backward_tail(
            kernels, expression, plan, {arguments, whole, n - whole, kernels.lanes}, added_to);
}
inline double run_sum(KernelTable const& kernels, SumKernel sum, void const* expression,
    BackwardPlan const& plan, void* const* arguments, double factor, std::size_t n,
    OperandMask constant, OperandMask added_to) {
    auto const whole = kernels.in_whole_batches(n);
    double total = 0;
    if (whole) total = sum(expression, plan, arguments, factor, whole, constant, added_to);
    if (whole != n)
        total += run_sum_tail(kernels, sum, expression, plan,
            {arguments, whole, n - whole, kernels.lanes}, factor, added_to);
    return total;
}

} // namespace xgrad::detail

#ifdef XGRAD_IMPLEMENTATION
#    include <xgrad/impl/fuse/run_kernel.ipp>
#endif
