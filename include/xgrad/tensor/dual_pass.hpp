// DualPass: evaluates the expression of a FusedNode over dual numbers: from tangents of its
// operands, the tangent of its result and the tangents of its gradients; the latter also for a
// batch of tangents, which have a leading axis.
#pragma once

#include <xgrad/tensor/fused_node.hpp>

namespace xgrad::detail {

class DualPass {
public:
    DualPass(DualPass const&) = delete; // it has pointers to its own members
    DualPass& operator=(DualPass const&) = delete;
    /// Takes the saved value of each operand that is read, and the tangent of each edge, or a batch
    /// of so many.
    XGRAD_LAZY DualPass(FusedNode const& node, AnyArray const* const* values,
        AnyArray const* result, std::span<AnyTensor const> tangents, std::size_t directions = 0);

    /// Requests the tangent of the result; not of a batch.
    XGRAD_LAZY void want_tangent();
    /// Requests the tangents of the gradients of these operands; `gradient` is grad_output.
    XGRAD_LAZY void want_gradients(OperandMask wanted, AnyTensor const& gradient);

    XGRAD_LAZY void run();

    XGRAD_LAZY AnyTensor tangent();
    /// The tangent of the gradient of operand k. Undefined where another operand has it, or it was
    /// not requested.
    XGRAD_LAZY AnyTensor gradient(std::size_t k);

private:
    bool makes_gradient(std::size_t k) const { return targets_.makes_gradient(k); }
    /// A shape, of each direction in a batch.
    XGRAD_LAZY Shape shape_of(Shape const& one) const;

    FusedNode const& node_;
    KernelTable const& kernels_;
    KernelLayout layout_;
    std::size_t directions_;         // 0: no batch
    Shape space_;                    // of the loop
    CachedVector<AnyArray> aligned_; // tangents of a batch
    LocalArray<LoopOperand, 21> operands_;
    OperandMask moving_ = 0;  // the operands with a tangent
    GradientTargets targets_; // the gradients that are requested
    AnyArray grad_outputs_, tangent_;
    CachedVector<AnyArray> gradients_;
};

} // namespace xgrad::detail
