// FusedSum: computes a full sum and its gradients in one pass, before backward() is called, and
// creates the gradients of every pass of a FusedNode.
// The early gradients save a second evaluation of the expression where backward() follows
// (benchmark: rational). The rule has no state: every full sum of a real expression does it.
#pragma once

#include <xgrad/tensor/fused_operands.hpp>

namespace xgrad::detail {

class FusedSum : public FusedOperands {
public:
    /// True where a full sum that is recorded computes its gradients too.
    static bool sums_at_once(BoundOperands const& in) {
        return in.count() != 0 && !default_packing;
    }
    /// Computes the scaled sum; stores the gradients until backward().
    double sum_at_once(BoundOperands const& in) {
        return sum_->scale * make_ready(in.arrays, in.contiguous);
    }

protected:
    using FusedOperands::FusedOperands;

    /// Computes the early gradients again, bit-identical. Values that they do not read may be
    /// freed: any array of that shape replaces them.
    [[gnu::cold]] void make_ready_again();

    /// Brings the operands to a kernel and creates the gradients. `values` has null for an operand
    /// that is not read. It adds to the gradients of the operands in `added_to`, which are
    /// contiguous. Without a grad_output it computes a full sum too, and returns it.
    double run_loop(AnyArray const* const* values, AnyArray const* grad_output,
        AnyArray const* result, std::span<AnyTensor> gradients, OperandMask added_to = 0) const;

    /// Calls a kernel that computes gradients.
    double run(Pass pass, void* const* at, std::size_t count, OperandMask constant,
        OperandMask added_to) const;

private:
    double make_ready(AnyArray const* const* arrays, bool contiguous);
    double sum_contiguous(AnyArray const* const* arrays);
};

} // namespace xgrad::detail

#ifdef XGRAD_IMPLEMENTATION
#    include <xgrad/impl/tensor/fused_sum.ipp>
#endif
