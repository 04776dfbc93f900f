// Calls of kernels. A kernel computes whole batches. The tail, the elements after the last whole
// batch of a tile, is one more batch on padded copies. All kernels share this code, which is
// compiled once.
//
// Invariant: a lane of the padding is never written to an operand.
#pragma once

#include <xgrad/fuse/element_type.hpp>

namespace xgrad::detail {

/// Padded copies of the last elements of a kernel's arguments: each is a whole batch.
class Tail {
public:
    /// The last n elements after the first `whole`.
    Tail(void* const* arguments, std::size_t count, std::size_t whole, std::size_t n,
        std::size_t lanes)
        : from_(arguments), whole_(whole), n_(n), lanes_(lanes) {
        std::fill_n(arguments_, count, nullptr);
    }
    Tail(Tail const&) = delete;
    Tail& operator=(Tail const&) = delete;

    /// The kernel reads argument k, whose elements have this many bytes. An argument may be null.
    void read(std::size_t k, std::size_t element) noexcept;
    /// The kernel writes argument k.
    void write(std::size_t k, std::size_t element) noexcept;
    /// What the kernel takes.
    void* const* arguments() const noexcept { return arguments_; }
    /// Copies what the kernel wrote.
    void copy_back() const noexcept;

private:
    static constexpr std::size_t most = 3 * 64; // arguments, of a dual kernel
    static constexpr std::size_t bytes = 128;   // of a batch: 8 complex numbers, or 16 of floats

    void* const* from_;
    std::size_t whole_, n_, lanes_;
    std::size_t written_ = 0; // arguments
    std::uint8_t index_[64 + 1], element_[64 + 1];
    void* arguments_[most];
    alignas(64) std::byte copies_[most][bytes];
};

// Each calls a kernel on n elements. Arguments as for the kernel.

void run_forward_tail(KernelTable const& kernels, void const* expression, void* const* arguments,
    std::size_t n, OperandMask constant);
void run_backward_tail(KernelTable const& kernels, void const* expression, BackwardPlan const& plan,
    void* const* arguments, std::size_t n, OperandMask constant, OperandMask added_to);
double run_sum_tail(KernelTable const& kernels, SumKernel sum, void const* expression,
    BackwardPlan const& plan, void* const* arguments, double factor, std::size_t n,
    OperandMask constant, OperandMask added_to);
void run_dual(KernelTable const& kernels, void const* expression, DualPlan const& plan,
    void* const* arguments, std::size_t n);

inline void run_forward(KernelTable const& kernels, void const* expression, void* const* arguments,
    std::size_t n, OperandMask constant) {
    if (auto const whole = kernels.in_whole_batches(n))
        kernels.forward(expression, arguments, whole, constant);
    if (!kernels.is_whole(n)) run_forward_tail(kernels, expression, arguments, n, constant);
}
inline void run_backward(KernelTable const& kernels, void const* expression,
    BackwardPlan const& plan, void* const* arguments, std::size_t n, OperandMask constant,
    OperandMask added_to) {
    if (auto const whole = kernels.in_whole_batches(n))
        kernels.backward(expression, plan, arguments, whole, constant, added_to);
    if (!kernels.is_whole(n))
        run_backward_tail(kernels, expression, plan, arguments, n, constant, added_to);
}
inline double run_sum(KernelTable const& kernels, SumKernel sum, void const* expression,
    BackwardPlan const& plan, void* const* arguments, double factor, std::size_t n,
    OperandMask constant, OperandMask added_to) {
    double total = 0;
    if (auto const whole = kernels.in_whole_batches(n))
        total = sum(expression, plan, arguments, factor, whole, constant, added_to);
    if (!kernels.is_whole(n))
        total +=
            run_sum_tail(kernels, sum, expression, plan, arguments, factor, n, constant, added_to);
    return total;
}

} // namespace xgrad::detail

#ifdef XGRAD_IMPLEMENTATION
#    include <xgrad/impl/fuse/run_kernel.ipp>
#endif
