// FusedGradientNode: the recorded backward pass of a FusedNode, as one Node. Its own backward pass
// is one pass over dual numbers (dual_pass.hpp). Where that pass is recorded too, for third
// derivatives, it is replayed operation by operation (traced.hpp).
#pragma once

#include <xgrad/autograd/local_graph.hpp>
#include <xgrad/tensor/dual_pass.hpp>
#include <xgrad/tensor/local_jacobian.hpp>

namespace xgrad::detail {

/// Its outputs are the gradients of the Node `of`. Its inputs are the operands on which they
/// depend, and grad_output.
class FusedGradientNode final : public Node {
public:
    FusedGradientNode(FusedNode& of, AnyTensor const& gradient);

    XGRAD_FUNCTION void apply(
        std::span<AnyTensor> gradients, std::span<AnyTensor> results) override;
    void pushforward(std::span<AnyTensor const> tangents, std::span<AnyTensor> results) override {
        ForwardMode::of(*this).push_gradient(*this, tangents, results);
    }
    ForwardRule forward_rule() const noexcept override { return ForwardRule::fused_gradient; }
    /// The Node whose backward pass this is.
    FusedNode const& of() const noexcept { return of_; }
    [[gnu::cold]] std::string name() const override { return backward_name(of_.name()); }
    [[gnu::cold]] std::string formula() const override { return "Gradient(" + of_.formula() + ")"; }
    void release_saved() noexcept override {
        for (auto& s : saved_) s.release();
    }
    [[gnu::cold]] XGRAD_FUNCTION std::vector<NamedSavedTensor> saved_tensors() override;
    /// Tangents of the gradients: those due to tangents of the operands (the Hessian is symmetric,
    /// so this is a backward pass), plus the gradients of the tangent of grad_output.
    [[gnu::cold]] void push_tangents(
        std::span<AnyTensor const> tangents, std::span<AnyTensor> results);

private:
    std::size_t operand_count() const noexcept { return of_.table().kernels.operand_count; }
    SavedTensor& saved_result() noexcept { return saved_[operand_count()]; }
    SavedTensor& saved_gradient() noexcept { return saved_[operand_count() + 1]; }
    bool is_saved(std::size_t i) const noexcept;

    bool would_record(std::span<AnyTensor const> gradients) const;

    /// Unpacks the saved tensors for a pass, and drops what was unpacked at its end.
    class UnpackGuard {
    public:
        explicit UnpackGuard(FusedGradientNode& n);
        UnpackGuard(UnpackGuard const&) = delete;
        UnpackGuard& operator=(UnpackGuard const&) = delete;
        ~UnpackGuard() { close(); }

    private:
        void close() noexcept;
        FusedGradientNode& node_;
        CachedVector<char> unpacked_;
    };

    /// The pass over dual numbers, of the saved values and tangents of the operands, or of a batch
    /// of so many tangents. Reads a guard.
    DualPass pass_along(std::span<AnyTensor const> tangents, std::size_t directions = 0);
    /// Operands whose gradients (this Node's outputs) depend on its inputs.
    OperandMask dependent_operands() const;

    void apply_fused(std::span<AnyTensor const> tangents, std::span<AnyTensor> results);

    /// Without XGRAD_HIGHER_ORDER: the values, as results whose derivatives are an error.
    [[gnu::cold]] void apply_undifferentiable(
        std::span<AnyTensor const> gradients, std::span<AnyTensor> results);

    /// Recorded: replays the first backward pass on inputs of a local graph, and differentiates
    /// that.
    [[gnu::cold]] void apply_recorded(
        std::span<AnyTensor const> tangents, std::span<AnyTensor> results);

    /// The saved result, as a function of `operands`.
    [[gnu::cold]] AnyTensor result_of(
        std::span<AnyTensor const> operands, AnyTensor const& value) const;

    Ref<Node> keep_;
    FusedNode& of_;
    CachedVector<SavedTensor> saved_; // of the operands, the result and grad_output
    CachedVector<Edge> edges_;
    Shape gradient_shape_;
    OperandMask saved_operands_ = 0;
    OperandMask differentiable_ = 0; // operands with an edge
    bool has_gradient_edge_ = false;
};

} // namespace xgrad::detail

#ifdef XGRAD_IMPLEMENTATION
#    include <xgrad/impl/tensor/fused_gradient_node.ipp>
#endif
