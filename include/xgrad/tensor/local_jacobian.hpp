// LocalJacobian: the derivatives of each element of an expression by its operands, for
// several tangents or gradients at once. One pass of the backward kernel computes them, and each
// direction then costs one product for each operand: the expression is evaluated once for a batch
// of directions (preaccumulation; benchmark: statistics, rows "jacobian").
//
// Shapes: a batch has a leading axis, which counts its directions.
#pragma once

#include <xgrad/tensor/fused_node.hpp>

namespace xgrad::detail {

class LocalJacobian {
public:
    /// With respect to `operands`; of those that are one tensor it has all or none. Reads the saved
    /// values. Or it writes the derivatives, of the real part, into an array of each operand.
    XGRAD_LAZY LocalJacobian(
        FusedNode const& node, OperandMask operands, AnyArray const* into = nullptr);

    /// The tangents of the result for tangents of the edges.
    XGRAD_LAZY AnyTensor push(std::span<AnyTensor const> tangents) const;
    /// Adds to the gradients of the edges those for gradients of the result.
    XGRAD_LAZY void pull(AnyTensor const& gradients, std::span<AnyTensor> results) const;

private:
    /// The gradients of the real, or of the imaginary parts of the result.
    XGRAD_LAZY void compute(bool imaginary);
    /// The product of the derivatives by operand k with a batch: of tangents of the operand, or of
    /// gradients of the result. It is written, or summed, to arrays of this shape.
    XGRAD_LAZY AnyTensor multiply(
        bool pushes, std::size_t k, AnyArray const& by, Shape const& shape) const;

    FusedNode const& node_;
    KernelTable const& kernels_;
    GradientTargets targets_;
    bool is_complex_;                    // the result
    CachedVector<AnyArray> derivatives_; // by each operand, of the real and the imaginary parts; of
                                         // a sum, times its factor
};

/// The number of directions in a batch of tangents of the edges of a Node, or 0 where they are
/// tangents of one direction.
XGRAD_LAZY std::size_t directions_of(FusedNode const& node, std::span<AnyTensor const> tangents);
/// An array with a leading axis as a loop over batches of `dims` further axes takes it.
XGRAD_LAZY AnyArray aligned_batch(AnyArray a, std::size_t dims);

} // namespace xgrad::detail
